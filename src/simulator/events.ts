import type { Random } from "../runtime/clock.js";
import { type AddressRow, takesDegrees } from "./addresses.js";
import { documentedValues } from "./control-values.js";
import type { SimulatedController } from "./device.js";
import { type DueEvent, type FaultName, type FaultSpec, outages, pushModes } from "./faults.js";
import type { Platform } from "./platform.js";

/** A key of the platform's `silent`: all sensors of the station. */
export const wholeStation = "";

const usualGustMs = 16;
const switchGapMs = 30_000;
const mostSwitches = 1_000;
const minuteMs = 60_000;

/** How long a condition lasts if the fault does not say; a minute for events without an entry. */
const usualMs: Partial<Record<FaultName<"event">, number>> = {
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

/** An event at the platform's present time. */
interface Happening {
  readonly platform: Platform;
  readonly spec: FaultSpec;
  readonly random: Random;
  /** The controller that the fault names, else any one of the account. */
  readonly controller: () => SimulatedController | null;
  readonly lastsMs: number;
  /** When the condition ends, in real and simulated time. */
  readonly realEnd: number;
  readonly end: number;
}

type Event = (happening: Happening) => void;

/** Bad weather; in some of it the local controllers close their roofs. */
const weather =
  (kind: "storm" | "rain" | "showers" | "gusts"): Event =>
  ({ platform, spec: { controller, value }, end }) => {
    const windMs = kind === "gusts" ? Number(value ?? usualGustMs) : 0;
    const closesRoofs = kind === "storm" || kind === "rain";
    if (controller === undefined || !closesRoofs)
      platform.sky.force(kind, platform.simulatedNow, end, windMs);
    if (closesRoofs) platform.protect(kind, controller);
  };

const events: Record<FaultName<"event">, Event> = {
  offline: ({ controller, end }) => controller()?.disconnect(end),
  freeze_sensors: ({ controller, end }) => controller()?.freeze(end),
  bad_sensor: ({ spec: { sensor, value = "--" }, random, controller, end }) => {
    const device = controller();
    const broken = sensor ?? pick(device?.sample().items ?? [], random)?.sensor.factor;
    if (broken !== undefined) device?.breakSensor(broken, value, end);
  },
  moved_by_hand: ({ spec, random, controller }) => {
    const device = controller();
    const row = device && rowOf(device, spec, random);
    const value = typeof spec.value === "string" ? spec.value : row && pick(handValues(row), random);
    if (row && value !== null && value !== undefined) device.put(row.address, value, "hand");
  },
  somebody: ({ platform, spec, controller, lastsMs }) => {
    const code = spec.controller ?? controller()?.device.code;
    const gapMs = Math.max(1_000, spec.delay ?? switchGapMs);
    const times = Math.min(mostSwitches, Math.ceil(lastsMs / gapMs));
    const { address, value } = spec;
    const moved: FaultSpec = {
      fault: "moved_by_hand",
      ...(code !== undefined && { controller: code }),
      ...(address !== undefined && { address }),
      ...(value !== undefined && { value }),
    };
    for (let nth = 0; nth < times; nth++) platform.faults.arm({ ...moved, at: nth * gapMs }, platform.now);
  },
  storm: weather("storm"),
  rain: weather("rain"),
  showers: weather("showers"),
  gusts: weather("gusts"),
  station_silent: ({ platform, spec, realEnd }) => {
    platform.silent.set(spec.sensor ?? wholeStation, realEnd);
  },
  host_down: ({ platform, spec, realEnd: until }) => {
    const how = outages.find((outage) => outage === spec.how) ?? "refuse";
    for (const host of ["business", "realtime"] as const)
      if (spec.host === undefined || spec.host === host) platform.outages.set(host, { until, how });
  },
  expire_tokens: ({ platform }) => platform.tokens.expireAll(),
  push: ({ platform, spec, realEnd }) => {
    const mode = pushModes.find((one) => one === spec.how) ?? "drop";
    platform.setPush(mode, mode === "drop" ? Infinity : realEnd);
  },
};

function happen(platform: Platform, { spec, random }: DueEvent): void {
  const lastsMs = spec.for ?? usualMs[spec.fault] ?? minuteMs;
  const controllers = () =>
    [...platform.devices.values()].flatMap((one) => (one.isController ? one.code : []));
  events[spec.fault]({
    platform,
    spec,
    random,
    lastsMs,
    controller: () => platform.controller(spec.controller ?? pick(controllers(), random) ?? ""),
    realEnd: platform.now + lastsMs,
    end: platform.simulatedNow + lastsMs * platform.timeline.speed,
  });
}

/** Lets events happen up to a real time; an earlier time changes nothing. */
export function advance(platform: Platform, now: number): void {
  for (let event = platform.faults.nextEvent(now); event !== null; event = platform.faults.nextEvent(now)) {
    platform.now = Math.max(platform.now, event.at);
    happen(platform, event);
  }
  platform.now = Math.max(platform.now, now);
}

const pick = <T>(all: readonly T[], random: Random): T | undefined => all[Math.floor(random() * all.length)];

function rowOf({ table }: SimulatedController, spec: FaultSpec, random: Random): AddressRow | undefined {
  if (spec.address !== undefined) return table.get(spec.address);
  return pick(
    [...table.values()].filter((row) => handValues(row).length > 0),
    random,
  );
}

/** Values that a person could choose at a wall switch or another screen. */
export function handValues({ kind }: AddressRow): readonly string[] {
  if (kind === "mode") return [];
  const values = Object.keys(documentedValues(kind)).filter((value) => value !== positionMode);
  const degrees = takesDegrees(kind) ? ["25", "60"] : [];
  const custom = kind === "custom" ? ["0110", "1001"] : [];
  return [...values, ...degrees, ...custom];
}

/** Nobody chooses a mode that waits for a degree. */
const positionMode = "10100";
