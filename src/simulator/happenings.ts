import { kindRows } from "../greenhouse/actuator-kinds.js";
import type { Random } from "../runtime/random.js";
import { takesDegrees } from "./actuators.js";
import type { AddressRow } from "./address-table.js";
import type { SimulatedController } from "./device.js";
import { type DueEvent, type EventFault, type FaultSpec, outages, pushModes } from "./faults.js";
import type { PlatformState } from "./platform-state.js";

/** What happens at the platform's present instant; `controller` is the one the fault names, else any of the account. */
type Happening = (
  state: PlatformState,
  spec: FaultSpec,
  random: Random,
  controller: () => SimulatedController | null,
) => void;

/** In `silent`: all that the station measures. */
export const wholeStation = "";

const usualGustMs = 16;
const switchGapMs = 30_000;
const mostSwitches = 1_000;
const minuteMs = 60_000;

/** How long a condition lasts when the fault does not say; a minute where nothing stands here. */
const usualMs: Partial<Record<FaultSpec["fault"], number>> = {
  offline: 10 * minuteMs,
  freeze_sensors: 30 * minuteMs,
  bad_sensor: 10 * minuteMs,
  storm: 20 * minuteMs,
  rain: 20 * minuteMs,
  showers: 20 * minuteMs,
  gusts: 2 * minuteMs,
  station_silent: 2 * minuteMs,
  somebody: 3 * minuteMs,
};

/** In real ms. */
const lastingMs = ({ fault, forMs }: FaultSpec): number => forMs ?? usualMs[fault] ?? minuteMs;

const realEnd = (state: PlatformState, spec: FaultSpec): number => state.now + lastingMs(spec);
const simulatedEnd = (state: PlatformState, spec: FaultSpec): number =>
  state.simulatedNow + lastingMs(spec) * state.timeline.speed;

/** Weather that the local controllers do not close for. */
const roughWeather =
  (kind: "showers" | "gusts", usualWindMs = 0): Happening =>
  (state, spec) => {
    const windMs = Number(spec.value ?? usualWindMs);
    state.sky.force(kind, state.simulatedNow, simulatedEnd(state, spec), kind === "gusts" ? windMs : 0);
  };

const badWeather =
  (kind: "storm" | "rain"): Happening =>
  (state, spec) => {
    if (spec.controller === undefined) state.sky.force(kind, state.simulatedNow, simulatedEnd(state, spec));
    state.protect(kind, spec.controller ?? null);
  };

const happenings: Record<EventFault, Happening> = {
  offline: (state, spec, _random, controller) => controller()?.disconnect(simulatedEnd(state, spec)),
  freeze_sensors: (state, spec, _random, controller) => controller()?.freeze(simulatedEnd(state, spec)),
  bad_sensor: (state, spec, random, controller) => {
    const device = controller();
    const sensor = spec.sensor ?? pick(device?.sample().items ?? [], random)?.sensor.factor;
    if (sensor === undefined) return;
    device?.breakSensor(sensor, spec.value === undefined ? "--" : spec.value, simulatedEnd(state, spec));
  },
  moved_by_hand: (_state, spec, random, controller) => {
    const device = controller();
    const row = device && rowOf(device, spec, random);
    const value = typeof spec.value === "string" ? spec.value : row && pick(handValues(row), random);
    if (row && value !== null && value !== undefined) device.put(row.address, value, "hand");
  },
  somebody: (state, spec, _random, controller) => {
    const code = spec.controller ?? controller()?.device.code;
    const gapMs = Math.max(1_000, spec.delayMs ?? switchGapMs);
    const times = Math.min(mostSwitches, Math.ceil(lastingMs(spec) / gapMs));
    const { address, value } = spec;
    const moved: FaultSpec = {
      fault: "moved_by_hand",
      ...(code !== undefined && { controller: code }),
      ...(address !== undefined && { address }),
      ...(value !== undefined && { value }),
    };
    for (let nth = 0; nth < times; nth++) state.faults.arm({ ...moved, atMs: nth * gapMs }, state.now);
  },
  storm: badWeather("storm"),
  rain: badWeather("rain"),
  showers: roughWeather("showers"),
  gusts: roughWeather("gusts", usualGustMs),
  station_silent: (state, spec) => {
    state.silent.set(spec.sensor ?? wholeStation, realEnd(state, spec));
  },
  host_down: (state, spec) => {
    const how = outages.find((outage) => outage === spec.how) ?? "refuse";
    for (const host of ["business", "realtime"] as const)
      if (spec.host === undefined || spec.host === host)
        state.outages.set(host, { until: realEnd(state, spec), how });
  },
  expire_tokens: (state) => state.tokens.expireAll(),
  push: (state, spec) => {
    const mode = pushModes.find((one) => one === spec.how) ?? "drop";
    state.setPush(mode, mode === "drop" ? Infinity : realEnd(state, spec));
  },
};

/** Lets one event of the fault book happen at the platform's present instant. */
export function fireEvent(state: PlatformState, { spec, random }: DueEvent): void {
  happenings[spec.fault](state, spec, random, () => {
    const codes = [...state.devices.values()]
      .filter(({ isController }) => isController)
      .map(({ code }) => code);
    return state.controller(spec.controller ?? pick(codes, random) ?? "");
  });
}

const pick = <T>(all: readonly T[], random: Random): T | undefined => all[Math.floor(random() * all.length)];

function rowOf(controller: SimulatedController, spec: FaultSpec, random: Random): AddressRow | undefined {
  const { table } = controller.registers;
  if (spec.address !== undefined) return table.get(spec.address);
  return pick(
    [...table.values()].filter((row) => handValues(row).length > 0),
    random,
  );
}

/** Values that a person at a wall switch or another screen could choose. */
export function handValues(row: AddressRow): readonly string[] {
  const values: Readonly<Record<string, string>> =
    new Map(Object.entries(kindRows)).get(row.kind)?.values ?? {};
  const degrees = takesDegrees(row.kind) ? ["25", "60"] : [];
  const custom = row.kind === "custom" ? ["0110", "1001"] : [];
  return [...Object.values(values), ...degrees, ...custom];
}
