import { textOf } from "../greenhouse/actuator-kinds.js";
import { allowedOf } from "../greenhouse/command/words.js";
import {
  actuatorDocument,
  isoOrNull,
  controllerItem,
  infoDocument,
  parameterDocument,
  sensorDocument,
  statusDocument,
} from "../greenhouse/documents.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type {
  Actuator,
  Controller,
  Parameter,
  RawAddress,
  RunningStatus,
  Sensor,
  TargetKind,
} from "../greenhouse/model.js";
import { qualityCodes, statesOf, unknownCode, wordCode } from "./codes.js";
import { tagsKey, tagsOf } from "./tags.js";
import type { Topics } from "./topics.js";

/** One retained message; an empty payload clears the topic. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

const clear = (topic: string): Message => ({ topic, payload: "" });

/** A number without exponent, as plain-text consumers expect it. */
export function valueText(value: number | string): string {
  if (typeof value === "string") return value;
  const text = String(value);
  if (!text.includes("e")) return text;
  return Math.abs(value) < 1 ? value.toFixed(12).replace(/\.?0+$/, "") : String(BigInt(Math.trunc(value)));
}

/** What one retained topic of a thing shows. */
interface Leaf {
  readonly topic: string;
  /** A document is made when it is published. Null: nothing, and of what an earlier run left there nothing is known. */
  readonly shows: string | (() => unknown) | null;
  /** A document is published again when one of these differs. */
  readonly key?: readonly unknown[];
}

const noKey: readonly unknown[] = [];

/** What changes on the broker between two views of a thing; `before` is empty where nothing is there yet. */
function changes(before: readonly Leaf[], after: readonly Leaf[]): Message[] {
  const messages: Message[] = [];
  for (const { topic, shows, key = noKey } of after) {
    let old: Leaf | undefined;
    for (const leaf of before) if (leaf.topic === topic) old = leaf;
    const oldKey = old?.key ?? noKey;
    let isSame = typeof shows === "function" ? old !== undefined : shows === (old?.shows ?? null);
    isSame &&= oldKey.length === key.length;
    for (const [place, part] of oldKey.entries()) isSame &&= part === key[place];
    if (!isSame)
      messages.push({
        topic,
        payload: typeof shows === "function" ? JSON.stringify(shows()) : (shows ?? ""),
      });
  }
  return messages;
}

type LeavesOf<Item> = (topics: Topics, controllerId: string, item: Item, id: string) => readonly Leaf[];

/** The same for all things of a sort. */
function changesOfAll<Item>(
  topics: Topics,
  controllerId: string,
  before: ReadonlyMap<string, Item> | undefined,
  after: ReadonlyMap<string, Item>,
  leaves: LeavesOf<Item>,
): Message[] {
  const messages: Message[] = [];
  if (before === after) return messages;
  for (const [id, item] of after) {
    const old = before?.get(id);
    if (old === item) continue;
    const leavesBefore = old === undefined ? [] : leaves(topics, controllerId, old, id);
    messages.push(...changes(leavesBefore, leaves(topics, controllerId, item, id)));
  }
  return messages;
}

/** Nothing known in the sensor's present unit empties its topic: what stands there would be read in the wrong one. */
const sensorLeaves: LeavesOf<Sensor> = (topics, controllerId, sensor) => {
  const { definition, value, raw, quality, measuredAt } = sensor;
  const topic = topics.sensor(controllerId, definition.id);
  const scalars = [
    { topic: topic.value, shows: value === null || value === "" ? null : valueText(value) },
    ...(topics.plainTimes ? [{ topic: topic.measured_at, shows: isoOrNull(measuredAt) }] : []),
    { topic: topic.quality, shows: quality },
    ...(topics.codes ? [{ topic: topic.quality_code, shows: String(qualityCodes[quality]) }] : []),
  ];
  const document = {
    topic: topic.json,
    shows: () => sensorDocument(sensor),
    key: [value, raw, quality, measuredAt, definition],
  };
  // A reader must never hold a new bad value under the old good quality, nor a good quality over the old bad value.
  const isUsable = quality === "good" || quality === "uncertain";
  return [...(isUsable ? scalars : scalars.reverse()), document];
};

const statusLeaves: LeavesOf<RunningStatus> = (topics, controllerId, status) => {
  const { id, missed, state, value, changedAt, quality } = status;
  const topic = topics.status(controllerId, id);
  const code = missed > 0 ? unknownCode : wordCode(state);
  const scalars = [
    { topic: topic.value, shows: (missed > 0 ? "stale" : state) || null },
    ...(topics.codes ? [{ topic: topic.state_code, shows: String(code) }] : []),
  ];
  const document = {
    topic: topic.json,
    shows: () => statusDocument(status),
    key: [value, changedAt, quality],
  };
  return quality === "good" ? [...scalars, document] : [document, ...scalars];
};

/** None while it was never read. */
const actuatorLeaves: LeavesOf<Actuator> = (topics, controllerId, actuator) => {
  const { settings, position, value, state, quality, readAt, runs, runTime } = actuator;
  if (readAt === null || state === null) return [];
  const topic = topics.actuator(controllerId, settings.id);
  const codes = topics.codes && [
    { topic: topic.state_code, shows: String(statesOf(settings).get(state) ?? unknownCode) },
    { topic: topic.quality_code, shows: String(qualityCodes[quality]) },
  ];
  return [
    { topic: topic.position, shows: position === null ? "" : String(position) },
    { topic: topic.value, shows: value },
    { topic: topic.state, shows: state },
    ...(codes || []),
    {
      topic: topic.json,
      shows: () => actuatorDocument(actuator),
      key: [state, position, value, quality, runs],
    },
    ...(runTime === undefined ? [] : [{ topic: topic.run_time, shows: JSON.stringify(runTime) }]),
  ];
};

/** What limits an actuator; there also while it was never read. */
const restrictionLeaves: LeavesOf<Actuator> = (topics, controllerId, actuator) => {
  const { restrictions, settings } = actuator;
  const { lock = null, lease = null } = restrictions ?? {};
  const topic = topics.actuator(controllerId, settings.id);
  return [
    { topic: topic.allowed, shows: () => allowedOf(actuator), key: [restrictions] },
    { topic: topic.lock, shows: lock && JSON.stringify(lock) },
    { topic: topic.lease, shows: lease && JSON.stringify(lease) },
  ];
};

const parameterLeaves: LeavesOf<Parameter> = (topics, controllerId, parameter) => {
  const { settings, register, value, quality } = parameter;
  if (register === null || value === null) return [];
  const topic = topics.parameter(controllerId, settings.id);
  return [
    { topic: topic.value, shows: valueText(value) },
    { topic: topic.json, shows: () => parameterDocument(parameter), key: [value, quality] },
  ];
};

const addressLeaves: LeavesOf<RawAddress> = (topics, controllerId, { register }, address) =>
  register === null
    ? []
    : [{ topic: topics.address(controllerId, address).value, shows: textOf(register.raw) || null }];

function ownLeaves(topics: Topics, controller: Controller, withTags: boolean): readonly Leaf[] {
  const { info, availability, problem, problems, readingAlarms } = controller;
  const topic = topics.controller(info.id);
  return [
    { topic: topic.info, shows: () => infoDocument(info), key: [info] },
    ...(withTags
      ? [{ topic: topic.tags, shows: () => tagsOf(topics, controller), key: tagsKey(controller) }]
      : []),
    { topic: topic.availability, shows: availability },
    // What it is before that there is one, so that a subscriber that is told of it finds it.
    { topic: topic.problems, shows: () => problemsDocument(problems), key: [problems] },
    { topic: topic.problem, shows: problem ? "on" : "off" },
    // Before readings were judged, what an earlier run left there is as good.
    ...(readingAlarms === undefined
      ? []
      : [
          {
            topic: topic.reading_alarms,
            shows: () => readingAlarmsDocument(readingAlarms),
            key: [readingAlarms],
          },
        ]),
  ];
}

/** Tags are made of names and settings: what was read or commanded changes none. */
function mayDifferInTags(
  before: Controller,
  { info, sensors, statuses, actuators, parameters }: Controller,
): boolean {
  if (before.info.id !== info.id || before.info.name !== info.name) return true;
  if (before.sensors !== sensors || before.statuses !== statuses || before.parameters !== parameters)
    return true;
  if (before.actuators.size !== actuators.size) return true;
  for (const [id, { settings, runTime }] of actuators) {
    const old = before.actuators.get(id);
    if (old?.settings !== settings || (old.runTime === undefined) !== (runTime === undefined)) return true;
  }
  return false;
}

/**
 * The retained messages that take the broker from one view of a controller to the next: everything when there was
 * none, empty payloads when there is none any more, and nothing for what did not change.
 */
export function controllerMessages(
  topics: Topics,
  before: Controller | undefined,
  after: Controller | undefined,
): Message[] {
  if (before === after) return [];
  if (after === undefined) return before === undefined ? [] : clearedController(topics, before);
  const { id } = after.info;
  const withTags = before === undefined || mayDifferInTags(before, after);
  const gone: Message[] = [];
  if (before?.statuses !== after.statuses)
    for (const status of before?.statuses.keys() ?? [])
      if (!after.statuses.has(status)) gone.push(...emptyAll(topics, topics.status(id, status)));
  return [
    ...changes(before ? ownLeaves(topics, before, withTags) : [], ownLeaves(topics, after, withTags)),
    ...changesOfAll(topics, id, before?.sensors, after.sensors, sensorLeaves),
    ...changesOfAll(topics, id, before?.statuses, after.statuses, statusLeaves),
    ...gone,
    ...changesOfAll(topics, id, before?.actuators, after.actuators, actuatorLeaves),
    ...changesOfAll(topics, id, before?.actuators, after.actuators, restrictionLeaves),
    ...changesOfAll(topics, id, before?.parameters, after.parameters, parameterLeaves),
    ...changesOfAll(topics, id, before?.addresses, after.addresses, addressLeaves),
  ];
}

/** What limits the actuators of a controller of which nothing was published yet. */
export const restrictionMessages = (topics: Topics, { info, actuators }: Controller): Message[] =>
  changesOfAll(topics, info.id, undefined, actuators, restrictionLeaves);

/** All retained messages of the state of one thing that takes commands; none while it was never read. */
export function targetMessages(
  topics: Topics,
  { info: { id }, actuators, parameters, addresses }: Controller,
  target: TargetKind,
  targetId: string,
): readonly Message[] {
  const only = <Item>(kind: TargetKind, all: ReadonlyMap<string, Item>) =>
    new Map([...all].filter(([one]) => kind === target && one === targetId));
  return [
    ...changesOfAll(topics, id, undefined, only("actuator", actuators), actuatorLeaves),
    ...changesOfAll(topics, id, undefined, only("parameter", parameters), parameterLeaves),
    ...changesOfAll(topics, id, undefined, only("address", addresses), addressLeaves),
  ];
}

/** Which commands are a problem, and the newest of them as a sentence. */
function problemsDocument(problems: Controller["problems"]) {
  const newest = problems.at(-1);
  const { actuator, command, outcome, message } = newest ?? {};
  const said = newest && `${actuator} ${command ?? ""}: ${message ?? outcome}`.replace(" :", ":");
  return {
    message: said ?? null,
    problems: problems.map((one) => ({ ...one, at: new Date(one.at).toISOString() })),
  };
}

/** Which readings are beyond a limit, and the worst of them as a sentence. */
const readingAlarmsDocument = (readings: NonNullable<Controller["readingAlarms"]>) => ({
  count: readings.length,
  message: readings[0]?.message ?? null,
  readings,
});

/** Empties every retained topic of a controller; never a `.../set`. */
function clearedController(topics: Topics, controller: Controller): Message[] {
  const { id } = controller.info;
  const each = (things: ReadonlyMap<string, unknown>, of: (id: string, thing: string) => object) =>
    [...things.keys()].map((thing) => of(id, thing));
  return [
    topics.controller(id),
    ...each(controller.sensors, topics.sensor),
    ...each(controller.statuses, topics.status),
    ...each(controller.actuators, topics.actuator),
    ...each(controller.parameters, topics.parameter),
    ...each(controller.addresses, topics.address),
  ].flatMap((group) => emptyAll(topics, group));
}

/** Of a group of topics by their leaf: commands and results are never retained, and some only stand where they are asked for. */
const emptyAll = ({ hasLeaf }: Topics, group: object): Message[] =>
  Object.entries(group).flatMap(([leaf, topic]: [string, string]) =>
    leaf === "set" || leaf === "result" || !hasLeaf(leaf) ? [] : [clear(topic)],
  );

/** Above this size the list only says how many there are: brokers and clients refuse large packets. */
const maxControllersBytes = 256 * 1024;

export function controllersDocument(controllers: Iterable<Controller>): string {
  const items = [...controllers].map(({ info }) => controllerItem(info));
  const text = JSON.stringify(items);
  if (Buffer.byteLength(text) <= maxControllersBytes) return text;
  return JSON.stringify({ count: items.length, truncated: true });
}

/** As the lists of devices tell; in the order of their ids. Above the same size it only says how many there are. */
export function stationsDocument(controllers: Iterable<Controller>): string {
  const stations = new Map<string, { id: string; name: string | null; controllers: string[] }>();
  for (const { info } of controllers) {
    const { stationId: id = null, stationName: name = null } = info.record ?? {};
    if (id === null) continue;
    const known = stations.get(id) ?? { id, name, controllers: [] };
    known.controllers.push(info.id);
    stations.set(id, known);
  }
  const items = [...stations.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const one of items) one.controllers.sort();
  const text = JSON.stringify(items);
  if (Buffer.byteLength(text) <= maxControllersBytes) return text;
  return JSON.stringify({ count: items.length, truncated: true });
}

export function eventDocument(event: BridgeEvent): object {
  const { type, severity, message } = event;
  return { ...event.facts, type, severity, message, at: new Date(event.at).toISOString() };
}
