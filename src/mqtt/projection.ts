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

/** One retained topic of a thing, and its content. */
interface Leaf {
  /** Key in the thing's group of topics. */
  readonly name: string;
  /**
   * A text, or a function that makes a document when it is published. Null: nothing. The topic is then emptied if this
   * run has filled it, and what an earlier run left there stays.
   */
  readonly shows: string | (() => unknown) | null;
  /** A document is published again when one of these values differs. */
  readonly key?: readonly unknown[];
}

const noKey: readonly unknown[] = [];
const noLeaves: readonly Leaf[] = [];

/** Whether the broker shows the same already; `old` is absent if nothing was published. */
function isSame(old: Leaf | undefined, { shows, key = noKey }: Leaf): boolean {
  const oldKey = old?.key ?? noKey;
  if (typeof shows === "function" ? old === undefined : shows !== (old?.shows ?? null)) return false;
  if (oldKey.length !== key.length) return false;
  for (let place = 0; place < key.length; place += 1) if (oldKey[place] !== key[place]) return false;
  return true;
}

type Group = Readonly<Record<string, string>>;

/**
 * Adds the messages for what changed between two views of a thing; `before` is empty if nothing was published. Topic
 * names are built only for a change, as most readings are unchanged.
 */
function addChanges(
  messages: Message[],
  before: readonly Leaf[],
  after: readonly Leaf[],
  topicsOfThing: () => Group,
): void {
  let group: Group | null = null;
  for (const leaf of after) {
    const { name, shows } = leaf;
    let old: Leaf | undefined;
    for (const one of before) if (one.name === name) old = one;
    if (isSame(old, leaf)) continue;
    group ??= topicsOfThing();
    const topic = group[name];
    if (topic === undefined) throw new Error(`no topic for ${name}`);
    messages.push({ topic, payload: typeof shows === "function" ? JSON.stringify(shows()) : (shows ?? "") });
  }
}

/** The retained topics of a kind of thing, and their content. */
interface Sort<Item> {
  readonly group: (topics: Topics, controllerId: string, id: string) => Group;
  readonly leaves: (item: Item, topics: Topics) => readonly Leaf[];
}

type Things<Item> = ReadonlyMap<string, Item>;

/** Does the same for all things of one kind. */
function addChangesOfAll<Item>(
  messages: Message[],
  topics: Topics,
  controllerId: string,
  { before, after }: { before: Things<Item> | undefined; after: Things<Item> },
  { leaves, group }: Sort<Item>,
): void {
  for (const [id, item] of after) {
    const old = before?.get(id);
    if (old === item) continue;
    const leavesBefore = old === undefined ? noLeaves : leaves(old, topics);
    addChanges(messages, leavesBefore, leaves(item, topics), () => group(topics, controllerId, id));
  }
}

/** A sensor without a value in its present unit empties its topic, as the old value would be read in the wrong unit. */
const sensors: Sort<Sensor> = {
  group: (topics, controllerId, id) => topics.sensor(controllerId, id),
  leaves(sensor, { codes, plainTimes }) {
    const { definition, value, raw, quality, measuredAt } = sensor;
    const leaves: Leaf[] = [
      { name: "value", shows: value === null || value === "" ? null : valueText(value) },
    ];
    if (plainTimes) leaves.push({ name: "measured_at", shows: isoOrNull(measuredAt) });
    leaves.push({ name: "quality", shows: quality });
    if (codes) leaves.push({ name: "quality_code", shows: String(qualityCodes[quality]) });
    // A reader must never hold a new bad value under the old good quality, nor a good quality over the old bad value.
    if (quality !== "good" && quality !== "uncertain") leaves.reverse();
    const key = [value, raw, quality, measuredAt, definition];
    leaves.push({ name: "json", shows: () => sensorDocument(sensor), key });
    return leaves;
  },
};

const statuses: Sort<RunningStatus> = {
  group: (topics, controllerId, id) => topics.status(controllerId, id),
  leaves(status, { codes }) {
    const { missed, state, value, changedAt, quality } = status;
    const code = missed > 0 ? unknownCode : wordCode(state);
    const scalars = [
      { name: "value", shows: (missed > 0 ? "stale" : state) || null },
      ...(codes ? [{ name: "state_code", shows: String(code) }] : []),
    ];
    const document = { name: "json", shows: () => statusDocument(status), key: [value, changedAt, quality] };
    return quality === "good" ? [...scalars, document] : [document, ...scalars];
  },
};

const actuatorTopics: Sort<Actuator>["group"] = (topics, controllerId, id) =>
  topics.actuator(controllerId, id);

/** No topics until it is first read. */
const actuators: Sort<Actuator> = {
  group: actuatorTopics,
  leaves(actuator, { codes }) {
    const { settings, position, value, state, quality, readAt, runs, runTime } = actuator;
    if (readAt === null || state === null) return noLeaves;
    const integers = codes && [
      { name: "state_code", shows: String(statesOf(settings).get(state) ?? unknownCode) },
      { name: "quality_code", shows: String(qualityCodes[quality]) },
    ];
    return [
      { name: "position", shows: position === null ? "" : String(position) },
      { name: "value", shows: value },
      { name: "state", shows: state },
      ...(integers || []),
      {
        name: "json",
        shows: () => actuatorDocument(actuator),
        key: [state, position, value, quality, runs],
      },
      ...(runTime === undefined ? [] : [{ name: "run_time", shows: JSON.stringify(runTime) }]),
    ];
  },
};

/** Restrictions of an actuator, published even before it is first read. */
const restrictions: Sort<Actuator> = {
  group: actuatorTopics,
  leaves(actuator) {
    const { restrictions: held } = actuator;
    const { lock = null, lease = null } = held ?? {};
    return [
      { name: "allowed", shows: () => allowedOf(actuator), key: [held] },
      { name: "lock", shows: lock && JSON.stringify(lock) },
      { name: "lease", shows: lease && JSON.stringify(lease) },
    ];
  },
};

const parameters: Sort<Parameter> = {
  group: (topics, controllerId, id) => topics.parameter(controllerId, id),
  leaves(parameter) {
    const { register, value, quality } = parameter;
    if (register === null || value === null) return noLeaves;
    return [
      { name: "value", shows: valueText(value) },
      { name: "json", shows: () => parameterDocument(parameter), key: [value, quality] },
    ];
  },
};

const addresses: Sort<RawAddress> = {
  group: (topics, controllerId, address) => topics.address(controllerId, address),
  leaves: ({ register }) =>
    register === null ? noLeaves : [{ name: "value", shows: textOf(register.raw) || null }],
};

function ownLeaves(topics: Topics, controller: Controller, withTags: boolean): readonly Leaf[] {
  const { info, availability, problem, problems, readingAlarms } = controller;
  const leaves: Leaf[] = [{ name: "info", shows: () => infoDocument(info), key: [info] }];
  if (withTags)
    leaves.push({ name: "tags", shows: () => tagsOf(topics, controller), key: tagsKey(controller) });
  leaves.push(
    { name: "availability", shows: availability },
    // Before `problem`, so that a subscriber to `problem` finds the list.
    { name: "problems", shows: () => problemsDocument(problems), key: [problems] },
    { name: "problem", shows: problem ? "on" : "off" },
  );
  // Until readings are judged in this run, an earlier run's topic stays.
  if (readingAlarms !== undefined)
    leaves.push({
      name: "reading_alarms",
      shows: () => readingAlarmsDocument(readingAlarms),
      key: [readingAlarms],
    });
  return leaves;
}

/** Whether none of the controller's own leaves differs, tags aside. */
const isSameOutside = (before: Controller, after: Controller): boolean =>
  before.info === after.info &&
  before.availability === after.availability &&
  before.problem === after.problem &&
  before.problems === after.problems &&
  before.readingAlarms === after.readingAlarms;

/** Whether tags may differ. They are made of names and settings, so readings and commands change none. */
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
 * The retained messages that take the broker from one view of a controller to the next: everything after no view, empty
 * payloads for no controller, nothing for what did not change.
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
  const messages: Message[] = [];
  if (before === undefined || withTags || !isSameOutside(before, after))
    addChanges(
      messages,
      before ? ownLeaves(topics, before, withTags) : noLeaves,
      ownLeaves(topics, after, withTags),
      () => topics.controller(id),
    );
  const add = <Item>(sort: Sort<Item>, old: Things<Item> | undefined, all: Things<Item>) => {
    if (old !== all) addChangesOfAll(messages, topics, id, { before: old, after: all }, sort);
  };
  add(sensors, before?.sensors, after.sensors);
  add(statuses, before?.statuses, after.statuses);
  messages.push(...gone);
  add(actuators, before?.actuators, after.actuators);
  add(restrictions, before?.actuators, after.actuators);
  add(parameters, before?.parameters, after.parameters);
  add(addresses, before?.addresses, after.addresses);
  return messages;
}

/** All messages of things that were not published yet. */
function messagesOfAll<Item>(
  topics: Topics,
  controllerId: string,
  things: ReadonlyMap<string, Item>,
  sort: Sort<Item>,
): Message[] {
  const messages: Message[] = [];
  addChangesOfAll(messages, topics, controllerId, { before: undefined, after: things }, sort);
  return messages;
}

/** Messages for the restrictions of a controller's actuators, before anything of it is published. */
export const restrictionMessages = (topics: Topics, controller: Controller): Message[] =>
  messagesOfAll(topics, controller.info.id, controller.actuators, restrictions);

/** All retained state messages of one target; none before it is first read. */
export function targetMessages(
  topics: Topics,
  controller: Controller,
  target: TargetKind,
  targetId: string,
): readonly Message[] {
  const { id } = controller.info;
  const only = <Item>(kind: TargetKind, all: ReadonlyMap<string, Item>) =>
    new Map([...all].filter(([one]) => kind === target && one === targetId));
  return [
    ...messagesOfAll(topics, id, only("actuator", controller.actuators), actuators),
    ...messagesOfAll(topics, id, only("parameter", controller.parameters), parameters),
    ...messagesOfAll(topics, id, only("address", controller.addresses), addresses),
  ];
}

/** The commands that are a problem, with the newest as a sentence. */
function problemsDocument(problems: Controller["problems"]) {
  const newest = problems.at(-1);
  const { actuator, command, outcome, message } = newest ?? {};
  const said = newest && `${actuator} ${command ?? ""}: ${message ?? outcome}`.replace(" :", ":");
  return {
    message: said ?? null,
    problems: problems.map((one) => ({ ...one, at: new Date(one.at).toISOString() })),
  };
}

/** The readings beyond a limit, with the worst as a sentence. */
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

/** Empties a group of topics. Commands and results are never retained, and some leaves exist only if configured. */
const emptyAll = ({ hasLeaf }: Topics, group: object): Message[] =>
  Object.entries(group).flatMap(([leaf, topic]: [string, string]) =>
    leaf === "set" || leaf === "result" || !hasLeaf(leaf) ? [] : [clear(topic)],
  );

/** Above this size a list gives only its count, as brokers and clients refuse large packets. */
const maxControllersBytes = 256 * 1024;

export function controllersDocument(controllers: Iterable<Controller>): string {
  const items = [...controllers].map(({ info }) => controllerItem(info));
  const text = JSON.stringify(items);
  if (Buffer.byteLength(text) <= maxControllersBytes) return text;
  return JSON.stringify({ count: items.length, truncated: true });
}

/** The stations of the device lists, ordered by id. Above the same size only their count. */
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
