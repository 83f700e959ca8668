import { allowedOf, vocabulary } from "../greenhouse/command/words.js";
import {
  actuatorDocument,
  isoOrNull,
  ownNameOf,
  parameterDocument,
  sensorDocument,
  sensorName,
  statusDocument,
} from "../greenhouse/documents.js";
import { type ActuatorFamily, type ActuatorKind, kindRows } from "../greenhouse/actuator-kinds.js";
import { type BandLimit, beyondOf, leastSpan } from "../greenhouse/bands.js";
import { type DeviceType, isCamera, isDevice } from "../greenhouse/device-types.js";
import { type Language, readable } from "../greenhouse/labels.js";
import { type Guard, type Interlock, isGuard, severities } from "../greenhouse/limits.js";
import {
  type Actuator,
  type Controller,
  type Sensor,
  type SensorDefinition,
  worstQualities,
} from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { translatedStatusName } from "../greenhouse/sensor-names.js";
import { nameById } from "../greenhouse/names-by-id.js";
import { keySensors } from "../greenhouse/summary.js";
import type { Text } from "../language/text.js";
import type {
  ActuatorView,
  Alarm,
  ControllerView,
  GuardView,
  KeyReading,
  Label,
  OverviewRow,
  RowKind,
  RowLimits,
  Untold,
  Weather,
} from "../page/protocol.js";
import type { CommandBoard } from "./board.js";

/** A controller that changes becomes a new object, so rows of the others are used again. */
const rows = new WeakMap<Controller, Untold<OverviewRow>>();

export type AlarmsOn = Pick<OverviewRow, "alarms" | "worst">;
export const noneOn: AlarmsOn = { alarms: 0, worst: null };

/** Alarms by controller; null stands for the bridge itself. */
export function alarmsOn(
  all: readonly Pick<Alarm, "controller" | "state" | "severity">[],
): ReadonlyMap<string | null, AlarmsOn> {
  const on = new Map<string | null, AlarmsOn>();
  for (const { controller, state, severity } of all) {
    if (state === "cleared") continue;
    const { alarms, worst: worstYet } = on.get(controller) ?? noneOn;
    const worst = severities.find((one) => one === severity || one === worstYet) ?? null;
    on.set(controller, { alarms: alarms + 1, worst });
  }
  return on;
}

/** `command`: the newest under way. `kinds`: the row shows one reading of each. */
export function overviewRow(
  controller: Controller,
  command: OverviewRow["command"],
  { alarms, worst: worstAlarm }: AlarmsOn,
  kinds: readonly SensorKind[],
): Untold<OverviewRow> {
  const held = rows.get(controller);
  if (held?.command === command && held.alarms === alarms && held.worst === worstAlarm) return held;
  const { info, availability, problem, actuators } = controller;
  const sensors = [...controller.sensors.values()].filter(({ definition }) => !definition.average);
  const qualities = new Set(sensors.map(({ quality }) => quality));
  const oldest = Math.min(...sensors.map(({ measuredAt }) => measuredAt ?? Infinity));
  const row: Untold<OverviewRow> = {
    name: info.name,
    kind: rowKind(info.type, controller),
    station: info.record?.stationName ?? null,
    place: controller.settings?.place ?? null,
    order: orderOf(info.record?.extra["sortOrder"]),
    availability,
    readings: Object.fromEntries(
      keySensors(controller, kinds).map((sensor) => [sensor.definition.kind, keyReading(sensor)] as const),
    ),
    actuators: statesByGroup([...actuators.values()]),
    named: namedByGroup([...actuators.values()]),
    last: lastByGroup([...actuators.values()]),
    limits: rowLimits([...actuators.values()]),
    quality: worstQualities.find((one) => qualities.has(one)) ?? null,
    oldest_reading_at: isoOrNull(oldest === Infinity ? null : oldest),
    problem,
    command,
    alarms,
    worst: worstAlarm,
  };
  rows.set(controller, row);
  return row;
}

const orderOf = (text: string | undefined): number | null =>
  text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : null;

function rowKind(type: DeviceType | null, { sensors, actuators, statuses }: Controller): RowKind {
  if (isCamera(type) && sensors.size + actuators.size + statuses.size === 0) return "silent";
  return isDevice(type) ? "device" : "greenhouse";
}

const keyReading = (sensor: Sensor): KeyReading => ({
  sensor: sensor.definition.id,
  value: sensor.value,
  unit: sensor.definition.unit,
  quality: sensor.quality,
  at: sensor.quality === "good" ? null : isoOrNull(sensor.measuredAt ?? sensor.receivedAt),
  beyond: beyond(sensor),
});

/** The limit that a good value is beyond now; an alarm comes only after a while. */
const beyond = ({ definition: { bands }, value, quality }: Sensor): BandLimit | null =>
  bands !== undefined && quality === "good" && typeof value === "number" ? beyondOf(bands, value) : null;

const countOf = (words: readonly string[]): Readonly<Record<string, number>> => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
};

/** A state that is not good may be over, and a position that was not read may have changed. */
function stateWord(actuator: Actuator): string {
  const { state, quality } = actuator;
  if (state !== null && quality === "uncertain") return "uncertain";
  return state === null || quality !== "good" ? "stale" : shownState(actuator);
}

const shownState = ({ state, position }: Actuator): string =>
  state === "position" && position !== null ? String(position) : (state ?? "unknown");

function byGroup(actuators: readonly Actuator[]): ReadonlyMap<ActuatorFamily, readonly Actuator[]> {
  const found = new Map<ActuatorFamily, Actuator[]>();
  for (const actuator of actuators) {
    const group = kindRows[actuator.settings.kind].family;
    found.set(group, [...(found.get(group) ?? []), actuator]);
  }
  return found;
}

const statesByGroup = (actuators: readonly Actuator[]): OverviewRow["actuators"] =>
  Object.fromEntries([...byGroup(actuators)].map(([group, all]) => [group, countOf(all.map(stateWord))]));

/** Heaters, CO2 and mist form one group, of which "2 on" says little. */
const mixed: ReadonlySet<ActuatorFamily> = new Set(["climate"]);

const namedByGroup = (actuators: readonly Actuator[]): Untold<OverviewRow["named"]> =>
  Object.fromEntries(
    [...byGroup(actuators)].flatMap(([group, all]) => (mixed.has(group) ? [[group, namedStates(all)]] : [])),
  );

const kindName = (kind: ActuatorKind): Text => nameById(kind, readable(kindRows[kind].name));

function namedStates(actuators: readonly Actuator[]): Readonly<Record<string, Text>> {
  const states = [...new Set(actuators.map(stateWord))];
  return Object.fromEntries(
    states.flatMap((state) => {
      const all = actuators.filter((one) => stateWord(one) === state).map(({ settings }) => settings);
      const [first] = all;
      if (first === undefined || all.some(({ kind }) => kind !== first.kind)) return [];
      return [[state, all.length === 1 ? ownNameOf(first) : kindName(first.kind)] as const];
    }),
  );
}

/** The states seen before an outage, which are no longer known to hold. */
function lastByGroup(actuators: readonly Actuator[]): OverviewRow["last"] {
  const seen = actuators.filter((one) => one.state !== null && stateWord(one) === "stale");
  return Object.fromEntries(
    [...byGroup(seen)].map(([group, all]) => {
      const oldest = Math.min(...all.map(({ readAt }) => readAt ?? Infinity));
      return [
        group,
        { states: countOf(all.map(shownState)), read_at: isoOrNull(oldest === Infinity ? null : oldest) },
      ];
    }),
  );
}

function rowLimits(actuators: readonly Actuator[]): Untold<RowLimits> {
  const because = actuators.flatMap(({ restrictions }) => restrictions?.allowed.because ?? []);
  const ofRule = (rule: string) => because.filter((one) => one.rule === rule);
  const by = ({ value }: Interlock) => String(value ?? "");
  const leases = actuators.flatMap(({ settings, restrictions }) => {
    const until = restrictions?.lease?.until;
    const { id, kind } = settings;
    const name = ownNameOf(settings);
    return until === undefined ? [] : [[id, { name, group: kindRows[kind].family, until }] as const];
  });
  return {
    guards: countOf(because.flatMap(({ rule }) => (isGuard(rule) ? [rule] : []))),
    locks: countOf(ofRule("lock").map(by)),
    holds: countOf(ofRule("hold").map(by)),
    leases: Object.fromEntries(leases),
  };
}

export function controllerView(
  controller: Controller,
  board: CommandBoard,
  weather: Weather,
): Untold<ControllerView> {
  const { info, availability, problem, sensors, actuators, statuses, parameters } = controller;
  const { id, code, name } = info;
  return {
    id,
    code,
    name,
    availability,
    station: info.record?.stationName ?? null,
    last_online_at: isoOrNull(info.client?.lastOnlineAt ?? null),
    video: info.stream !== null,
    problem,
    weather,
    sensors: each(sensors, (sensor) => ({
      ...sensorDocument(sensor),
      label: sensorLabel(sensor),
      beyond: beyond(sensor),
      limits: sensor.definition.bands?.limits ?? null,
      least_span: leastSpan(sensor.definition.kind, sensor.definition.unit),
    })),
    actuators: each(actuators, (actuator, key) => ({
      ...actuatorView(actuator),
      ...board.newestOf(id, "actuator", key),
    })),
    status: each(statuses, (status) => ({
      ...statusDocument(status),
      label: labelOf((language) => translatedStatusName(status.name, language) ?? status.name),
    })),
    parameters: each(parameters, (parameter, key) => ({
      ...parameterDocument(parameter),
      name: ownNameOf(parameter.settings),
      writable: parameter.settings.writable ?? null,
      ...board.newestOf(id, "parameter", key),
    })),
  };
}

const each = <Item, Shown>(items: ReadonlyMap<string, Item>, show: (item: Item, id: string) => Shown) =>
  Object.fromEntries([...items].map(([id, item]) => [id, show(item, id)]));

const labelOf = (inWords: (language: Language) => string): Label => ({
  en: inWords("en"),
  zh: inWords("zh"),
});

/** Cached, as looking the name up in the catalogue takes longer than the rest of a sensor's view. */
const labels = new WeakMap<SensorDefinition, Label>();

function sensorLabel({ definition }: Sensor): Label {
  const label = labels.get(definition) ?? labelOf((language) => sensorName(definition, language));
  labels.set(definition, label);
  return label;
}

/** An actuator with what may be commanded, who locked it, and what ends by itself. */
function actuatorView(actuator: Actuator): Untold<Omit<ActuatorView, "command" | "result">> {
  const { settings, restrictions } = actuator;
  const { words, degrees } = vocabulary(settings);
  return {
    ...actuatorDocument(actuator),
    name: ownNameOf(settings),
    kind: settings.kind,
    group: kindRows[settings.kind].family,
    guards: Object.fromEntries(
      (settings.limits?.guards ?? []).map((guard) => [guard.name, guardView(guard)]),
    ),
    words: words.filter((word) => word !== "stop"),
    degrees: degrees !== null,
    stop: words.includes("stop"),
    read_only: settings.readOnly,
    allowed: allowedOf(actuator),
    lock: restrictions?.lock ?? null,
    lease: restrictions?.lease ?? null,
    run_time: actuator.runTime ?? null,
    for_s: settings.limits?.forMs ? settings.limits.forMs / 1000 : null,
    at_most_s: settings.limits?.atMostMs ? settings.limits.atMostMs / 1000 : null,
  };
}

function guardView({ condition, clearAfterMs }: Guard): GuardView {
  const clearAt = "clearAt" in condition ? condition.clearAt : null;
  return { condition: condition.type, clear_at: clearAt, clear_after_s: clearAfterMs / 1000 };
}
