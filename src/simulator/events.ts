import { kindRows } from "../greenhouse/actuator-kinds.js";
import type { Random } from "../runtime/random.js";
import type { AddressRow } from "./address-table.js";
import type { DueEvent } from "./fault-book.js";
import { outages, pushModes, type EventFault, type FaultSpec } from "./faults.js";
import type { PlatformState } from "./platform-state.js";
import type { SimulatedController } from "./simulated-controller.js";

const minuteMs = 60_000;

type Happening = (state: PlatformState, spec: FaultSpec, random: Random) => void;

/** How long a condition lasts when the fault does not say. */
const lastingMs = {
  offline: 10 * minuteMs,
  freeze_sensors: 30 * minuteMs,
  bad_sensor: 10 * minuteMs,
  storm: 20 * minuteMs,
  rain: 20 * minuteMs,
  host_down: minuteMs,
  push: minuteMs,
} as const;

const badWeather =
  (kind: "storm" | "rain"): Happening =>
  (state, spec) => {
    const from = state.simulatedNow;
    const forMs = (spec.forMs ?? lastingMs[kind]) * state.timeline.speed;
    if (spec.controller === undefined) state.sky.force(kind, from, from + forMs);
    state.protect(kind, spec.controller ?? null);
  };

const happenings: Record<EventFault, Happening> = {
  offline: (state, spec, random) =>
    picked(state, spec, random)?.disconnect(endOf(state, spec, lastingMs.offline)),
  freeze_sensors: (state, spec, random) =>
    picked(state, spec, random)?.freeze(endOf(state, spec, lastingMs.freeze_sensors)),
  bad_sensor: (state, spec, random) => {
    const controller = picked(state, spec, random);
    const items = controller?.sample().items ?? [];
    const sensor = spec.sensor ?? items[Math.floor(random() * items.length)]?.sensor.factor;
    if (sensor === undefined) return;
    controller?.breakSensor(
      sensor,
      spec.value === undefined ? "--" : spec.value,
      endOf(state, spec, lastingMs.bad_sensor),
    );
  },
  moved_by_hand: (state, spec, random) => {
    const controller = picked(state, spec, random);
    if (!controller) return;
    const row = rowOf(controller, spec, random);
    const values = row ? handValues(row) : [];
    const value = typeof spec.value === "string" ? spec.value : values[Math.floor(random() * values.length)];
    if (row && value !== undefined) controller.put(row.address, value, "hand");
  },
  storm: badWeather("storm"),
  rain: badWeather("rain"),
  host_down: (state, spec) => {
    const how = outages.find((outage) => outage === spec.how) ?? "refuse";
    const until = state.now + (spec.forMs ?? lastingMs.host_down);
    for (const host of ["business", "realtime"] as const)
      if (spec.host === undefined || spec.host === host) state.outages.set(host, { until, how });
  },
  expire_tokens: (state) => {
    state.tokens.expireAll();
  },
  push: (state, spec) => {
    const mode = pushModes.find((one) => one === spec.how) ?? "drop";
    state.setPush(mode, mode === "drop" ? Infinity : state.now + (spec.forMs ?? lastingMs.push));
  },
};

/** Lets one event of the fault book happen at the platform's present instant. */
export function fireEvent(state: PlatformState, event: DueEvent): void {
  happenings[event.spec.fault](state, event.spec, event.random);
}

const endOf = (state: PlatformState, spec: FaultSpec, usualMs: number): number =>
  state.simulatedNow + (spec.forMs ?? usualMs) * state.timeline.speed;

/** The controller the fault names, else any controller of the account. */
function picked(state: PlatformState, spec: FaultSpec, random: Random): SimulatedController | null {
  if (spec.controller !== undefined) return state.controller(spec.controller);
  const codes = [...state.devices.values()]
    .filter((device) => device.isController)
    .map((device) => device.code);
  return state.controller(codes[Math.floor(random() * codes.length)] ?? "");
}

function rowOf(controller: SimulatedController, spec: FaultSpec, random: Random): AddressRow | null {
  const { table } = controller.registers;
  if (spec.address !== undefined) return table.get(spec.address) ?? null;
  const rows = [...table.values()].filter((row) => handValues(row).length > 0);
  return rows[Math.floor(random() * rows.length)] ?? null;
}

/** Values somebody at a wall switch or another screen could choose. */
export function handValues(row: AddressRow): readonly string[] {
  if (row.kind === "mode" || row.kind === "position" || row.kind === "parameter" || row.kind === "reading")
    return [];
  const kind = kindRows[row.kind];
  const degrees = kind.positionMode === null ? [] : ["25", "60"];
  const custom = row.kind === "custom" ? ["0110", "1001"] : [];
  return [...Object.values(kind.values), ...degrees, ...custom];
}
