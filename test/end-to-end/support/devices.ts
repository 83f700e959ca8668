import type { Device } from "../../judge/history.js";
import type { Configuration } from "./stage.js";

/** `100ms`, `3s` and `10m` of a configuration, in ms. */
function durationMs(text: unknown, otherwise: number): number {
  const [, number, unit = ""] = /^(\d+)(ms|s|m|h)$/.exec(typeof text === "string" ? text : "") ?? [];
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  return number === undefined ? otherwise : Number(number) * (units[unit] ?? 1);
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** An actuator of a configuration as the judge has to know it. */
function deviceOf(section: Configuration, minIntervalMs: number): Device {
  const modeAddress = textOf(section["mode_address"]);
  const positionAddress = textOf(section["position_address"]);
  return {
    kind: String(section["kind"]),
    address: String(section["address"]),
    ...(modeAddress === undefined ? {} : { modeAddress }),
    ...(positionAddress === undefined ? {} : { positionAddress }),
    values: (section["values"] ?? {}) as Device["values"],
    leadIn: textOf(section["lead_in"]) ?? "when_not_on",
    travelMs: durationMs(section["travel_time"], 0),
    minIntervalMs: durationMs(section["min_interval"], minIntervalMs),
    tolerance: Number(section["tolerance"] ?? 0),
  };
}

/** All actuators of a configuration, by code and id. */
export function devicesIn(configuration: Configuration): (code: string, actuator: string) => Device | null {
  const controllers = configuration["controllers"] as Readonly<
    Record<string, { readonly actuators?: Readonly<Record<string, Configuration>> }>
  >;
  const commands = configuration["commands"] as Configuration | undefined;
  const minIntervalMs = durationMs(commands?.["min_interval"], 2_000);
  return (code, actuator) => {
    const section = controllers[code]?.actuators?.[actuator];
    return section === undefined ? null : deviceOf(section, minIntervalMs);
  };
}
