import { stateOfWord } from "../greenhouse/actuator-kinds.js";
import { vocabulary } from "../greenhouse/command/words.js";
import type {
  Actuator,
  Controller,
  Parameter,
  RunningStatus,
  Sensor,
  SensorDefinition,
} from "../greenhouse/model.js";
import { qualityCodes, statesOf, unknownCode, wordCode } from "./codes.js";
import type { Topics } from "./topics.js";

/* Every topic of a controller, for programs that make tags of them: its content, unit and limits. */

export interface Tag {
  readonly topic: string;
  /** Name for people. */
  readonly name: string;
  /** What a sensor measures, or the kind of an actuator. */
  readonly kind?: string;
  readonly unit?: string;
  readonly type: "number" | "integer" | "word" | "text" | "time" | "json";
  /** The possible words, each with its integer. */
  readonly words?: Readonly<Record<string, number>>;
  readonly min?: number;
  readonly max?: number;
  /** A command topic: never read, and never written retained. */
  readonly writable?: true;
}

const onOff = { off: wordCode("off"), on: wordCode("on") };
const availabilities = { online: 1, offline: 0, unknown: unknownCode };
const statusWords = { ...onOff, stale: unknownCode };

const tag = (
  topic: string,
  name: string,
  type: Tag["type"],
  more: Omit<Tag, "topic" | "name" | "type"> = {},
): Tag => ({
  topic,
  name,
  type,
  ...more,
});

const orUndefined = (text: string | null | undefined) => text ?? undefined;

function sensorTags(topics: Topics, controllerId: string, { definition }: Sensor): readonly Tag[] {
  const { id, name, kind, unit, numeric, min, max } = definition;
  const topic = topics.sensor(controllerId, id);
  const limits = { min: min ?? undefined, max: max ?? undefined };
  const what = { kind, unit: orUndefined(unit), ...limits };
  return [
    tag(topic.value, name, numeric ? "number" : "text", what),
    tag(topic.quality, `${name} quality`, "word", { words: qualityCodes }),
    ...(topics.codes ? [tag(topic.quality_code, `${name} quality`, "integer", { words: qualityCodes })] : []),
    ...(topics.plainTimes ? [tag(topic.measured_at, `${name} measured at`, "time")] : []),
    tag(topic.json, name, "json", { kind }),
    ...alarmSides(definition).map((side) =>
      tag(topics.alarm(`reading_${side}.${controllerId}.${id}`), `${name} too ${side}`, "json", { kind }),
    ),
  ];
}

/** The sides on which its readings have a limit. */
function alarmSides({ bands }: SensorDefinition): readonly ("low" | "high")[] {
  const { low, low_low: lowLow, high, high_high: highHigh } = bands?.limits ?? {};
  return [
    ...(low === undefined && lowLow === undefined ? [] : (["low"] as const)),
    ...(high === undefined && highHigh === undefined ? [] : (["high"] as const)),
  ];
}

const hasBands = ({ sensors }: Controller): boolean =>
  [...sensors.values()].some(({ definition }) => definition.bands !== undefined);

function statusTags(topics: Topics, controllerId: string, { id, name }: RunningStatus): readonly Tag[] {
  const topic = topics.status(controllerId, id);
  return [
    tag(topic.value, name, "word", { words: statusWords }),
    ...(topics.codes ? [tag(topic.state_code, name, "integer", { words: statusWords })] : []),
    tag(topic.json, name, "json"),
  ];
}

function actuatorTags(topics: Topics, controllerId: string, { settings, runTime }: Actuator): readonly Tag[] {
  const { id, name = id, kind, readOnly } = settings;
  const topic = topics.actuator(controllerId, id);
  const { words: commands, degrees } = vocabulary(settings);
  const states = statesOf(settings);
  const words = Object.fromEntries(states);
  const sent = Object.fromEntries(
    commands.map((word) => [word, states.get(stateOfWord(kind, word)) ?? wordCode(word)]),
  );
  const range = degrees === null ? {} : { unit: "%", min: degrees.min, max: degrees.max };
  const codes = [
    tag(topic.state_code, `${name} state`, "integer", { kind, words }),
    tag(topic.quality_code, `${name} quality`, "integer", { words: qualityCodes }),
  ];
  return [
    tag(topic.state, `${name} state`, "word", { kind, words }),
    ...(topics.codes ? codes : []),
    ...(degrees === null ? [] : [tag(topic.position, `${name} position`, "integer", { kind, ...range })]),
    tag(topic.value, `${name} register`, "text", { kind }),
    tag(topic.json, name, "json", { kind }),
    tag(topic.command, `${name} command`, "json"),
    tag(topic.allowed, `${name} allowed`, "json"),
    tag(topic.lock, `${name} lock`, "json"),
    tag(topic.lease, `${name} lease`, "json"),
    ...(runTime === undefined ? [] : [tag(topic.run_time, `${name} run time`, "json")]),
    tag(topic.result, `${name} result`, "json"),
    ...(readOnly ? [] : [tag(topic.set, name, "word", { kind, words: sent, ...range, writable: true })]),
  ];
}

function parameterTags(topics: Topics, controllerId: string, { settings }: Parameter): readonly Tag[] {
  const { id, name = id, unit, writable } = settings;
  const topic = topics.parameter(controllerId, id);
  const range = { unit, min: writable?.min, max: writable?.max };
  return [
    tag(topic.value, name, "number", range),
    tag(topic.json, name, "json"),
    ...(writable === undefined
      ? []
      : [
          tag(topic.command, `${name} command`, "json"),
          tag(topic.result, `${name} result`, "json"),
          tag(topic.set, name, "number", { ...range, writable: true as const }),
        ]),
  ];
}

/** Without raw addresses, which come and go with the commands sent to them. */
export function tagsOf(topics: Topics, controller: Controller): readonly Tag[] {
  const { info, sensors, statuses, actuators, parameters } = controller;
  const { id, name } = info;
  const own = topics.controller(id);
  return [
    tag(own.availability, `${name} availability`, "word", { words: availabilities }),
    tag(own.problem, `${name} problem`, "word", { words: onOff }),
    tag(own.problems, `${name} problems`, "json"),
    ...(hasBands(controller) ? [tag(own.reading_alarms, `${name} readings beyond limits`, "json")] : []),
    tag(own.info, name, "json"),
    tag(own.result, `${name} results`, "json"),
    ...[...sensors.values()].flatMap((sensor) => sensorTags(topics, id, sensor)),
    ...[...statuses.values()].flatMap((status) => statusTags(topics, id, status)),
    ...[...actuators.values()].flatMap((actuator) => actuatorTags(topics, id, actuator)),
    ...[...parameters.values()].flatMap((parameter) => parameterTags(topics, id, parameter)),
  ];
}

/** What tags are made of; equal keys give equal tags. */
export const tagsKey = ({
  info,
  sensors,
  statuses,
  actuators,
  parameters,
}: Controller): readonly unknown[] => [
  info.name,
  sensors.size,
  statuses.size,
  ...[...sensors.values()].map(({ definition }) => definition),
  ...[...statuses.values()].map(({ name }) => name),
  ...[...actuators.values()].flatMap(({ settings, runTime }) => [settings, runTime === undefined]),
  ...[...parameters.values()].map(({ settings }) => settings),
];
