import { textOf } from "../greenhouse/actuator-values.js";
import { allowedOf } from "../greenhouse/command/words.js";
import {
  controllerItem,
  actuatorDocument,
  isoOrNull,
  parameterDocument,
  sensorDocument,
  statusDocument,
} from "../greenhouse/documents.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type {
  Actuator,
  Controller,
  ControllerInfo,
  Parameter,
  Quality,
  RawAddress,
  RunningStatus,
  Sensor,
} from "../greenhouse/model.js";
import type { TargetKind, Topics } from "./topics.js";

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

/** What changes on the broker between two views of a sensor; `before` undefined means nothing is there yet. */
export function sensorMessages(
  topics: Topics,
  controllerId: string,
  before: Sensor | undefined,
  after: Sensor,
): Message[] {
  if (before === after) return [];
  const topic = topics.sensor(controllerId, after.definition.id);
  const value = textChange(topic.value, before?.value ?? null, after.value);
  const quality = before?.quality === after.quality ? [] : [{ topic: topic.quality, payload: after.quality }];
  const json =
    before && sameSensorJson(before, after)
      ? []
      : [{ topic: topic.json, payload: JSON.stringify(sensorDocument(after)) }];
  return isUsable(after.quality) ? [...value, ...quality, ...json] : [...quality, ...value, ...json];
}

// A reader must never hold a new bad value under the old good quality, nor a good quality over the old bad value.
const isUsable = (quality: Quality) => quality === "good" || quality === "uncertain";

function textChange(topic: string, before: number | string | null, after: number | string | null): Message[] {
  if (before === after) return [];
  // Nothing known in the sensor's present unit: what stands there would be read in the wrong one.
  if (after === null || after === "") return before === null ? [] : [clear(topic)];
  return [{ topic, payload: valueText(after) }];
}

const sameSensorJson = (before: Sensor, after: Sensor) =>
  before.value === after.value &&
  before.raw === after.raw &&
  before.quality === after.quality &&
  before.measuredAt === after.measuredAt &&
  before.definition === after.definition;

export function actuatorMessages(
  topics: Topics,
  controllerId: string,
  held: Actuator | undefined,
  after: Actuator,
): Message[] {
  if (held === after || after.readAt === null || after.state === null) return [];
  // What has no state yet was never published.
  const before = held?.state === null ? undefined : held;
  const topic = topics.actuator(controllerId, after.settings.id);
  const messages: Message[] = [];
  const { position, value, state } = after;
  if (before?.position !== position)
    messages.push({ topic: topic.position, payload: position === null ? "" : String(position) });
  if (value !== null && before?.value !== value) messages.push({ topic: topic.value, payload: value });
  if (before?.state !== state) messages.push({ topic: topic.state, payload: state });
  if (!before || !sameActuatorJson(before, after))
    messages.push({ topic: topic.json, payload: JSON.stringify(actuatorDocument(after)) });
  return messages;
}

/** What limits an actuator; there also while it was never read. */
export function restrictionMessages(
  topics: Topics,
  controllerId: string,
  held: Actuator | undefined,
  after: Actuator,
): Message[] {
  if (held !== undefined && held.restrictions === after.restrictions) return [];
  const topic = topics.actuator(controllerId, after.settings.id);
  const document = (payload: unknown) => (payload ? JSON.stringify(payload) : "");
  const before = held?.restrictions;
  const now = after.restrictions;
  const [allowed, lock, lease] = [allowedOf(after), document(now?.lock), document(now?.lease)];
  return [
    { topic: topic.allowed, payload: JSON.stringify(allowed) },
    ...(document(before?.lock) === lock ? [] : [{ topic: topic.lock, payload: lock }]),
    ...(document(before?.lease) === lease ? [] : [{ topic: topic.lease, payload: lease }]),
  ];
}

const sameActuatorJson = (before: Actuator, after: Actuator) =>
  before.state === after.state &&
  before.position === after.position &&
  before.value === after.value &&
  before.quality === after.quality &&
  before.readAt !== null;

export function parameterMessages(
  topics: Topics,
  controllerId: string,
  before: Parameter | undefined,
  after: Parameter,
): Message[] {
  if (before === after || after.register === null || after.value === null) return [];
  const topic = topics.parameter(controllerId, after.settings.id);
  const changed = before?.value !== after.value;
  return [
    ...(changed ? [{ topic: topic.value, payload: valueText(after.value) }] : []),
    ...(changed || before.quality !== after.quality
      ? [{ topic: topic.json, payload: JSON.stringify(parameterDocument(after)) }]
      : []),
  ];
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
  const topic = topics.controller(id);
  const messages: Message[] = [];
  if (before?.info !== after.info) messages.push({ topic: topic.info, payload: infoJson(after.info) });
  if (before?.availability !== after.availability)
    messages.push({ topic: topic.availability, payload: after.availability });
  // What it is before that there is one, so that whoever is told of it finds it.
  if (before?.problems !== after.problems)
    messages.push({ topic: topic.problems, payload: problemsJson(after.problems) });
  if (before?.problem !== after.problem)
    messages.push({ topic: topic.problem, payload: after.problem ? "on" : "off" });
  pushAll(messages, before?.sensors, after.sensors, (old, sensor) => sensorMessages(topics, id, old, sensor));
  pushAll(messages, before?.statuses, after.statuses, (old, status) =>
    statusMessages(topics, id, old, status),
  );
  for (const status of before?.statuses.keys() ?? [])
    if (!after.statuses.has(status)) messages.push(...Object.values(topics.status(id, status)).map(clear));
  pushAll(messages, before?.actuators, after.actuators, (old, actuator) =>
    actuatorMessages(topics, id, old, actuator),
  );
  pushAll(messages, before?.actuators, after.actuators, (old, actuator) =>
    restrictionMessages(topics, id, old, actuator),
  );
  pushAll(messages, before?.parameters, after.parameters, (old, item) =>
    parameterMessages(topics, id, old, item),
  );
  if (before?.addresses !== after.addresses) {
    for (const [address, raw] of after.addresses)
      messages.push(...rawMessages(topics, id, address, before?.addresses.get(address), raw));
  }
  return messages;
}

/** All retained messages of the state of one thing that takes commands; none while it was never read. */
export function targetMessages(
  topics: Topics,
  { info, actuators, parameters, addresses }: Controller,
  target: TargetKind,
  targetId: string,
): readonly Message[] {
  switch (target) {
    case "actuator": {
      const actuator = actuators.get(targetId);
      return actuator ? actuatorMessages(topics, info.id, undefined, actuator) : [];
    }
    case "parameter": {
      const parameter = parameters.get(targetId);
      return parameter ? parameterMessages(topics, info.id, undefined, parameter) : [];
    }
    case "address": {
      const raw = addresses.get(targetId);
      return raw ? rawMessages(topics, info.id, targetId, undefined, raw) : [];
    }
  }
}

function rawMessages(
  topics: Topics,
  id: string,
  address: string,
  before: RawAddress | undefined,
  { register }: RawAddress,
): Message[] {
  if (register === null) return [];
  const payload = textOf(register.raw);
  const isNew = !before?.register || textOf(before.register.raw) !== payload;
  return isNew && payload !== "" ? [{ topic: topics.address(id, address).value, payload }] : [];
}

function pushAll<Item>(
  messages: Message[],
  before: ReadonlyMap<string, Item> | undefined,
  after: ReadonlyMap<string, Item>,
  project: (before: Item | undefined, after: Item) => readonly Message[],
): void {
  if (before === after) return;
  for (const [id, item] of after) {
    const old = before?.get(id);
    if (old !== item) messages.push(...project(old, item));
  }
}

/** The platform's `id` and extension `type` have names of their own here, so that no field hides another. */
function infoJson(info: ControllerInfo): string {
  const { record, client, stream } = info;
  const { id: platformId, type: extensionType, ...extra } = record?.extra ?? {};
  return JSON.stringify({
    ...extra,
    code: info.code,
    id: info.id,
    name: info.name,
    area: info.area,
    type: info.type,
    type_name: record?.typeName ?? null,
    station: record?.stationName ?? null,
    station_id: record?.stationId ?? null,
    brand: record?.brand ?? null,
    platform_id: platformId ?? null,
    extension_type: extensionType ?? null,
    version: record?.version ?? null,
    interface_version: client?.version ?? null,
    description: client?.description ?? null,
    last_online_at: isoOrNull(client?.lastOnlineAt ?? null),
    ...(stream === null ? {} : { stream }),
  });
}

function statusMessages(
  topics: Topics,
  id: string,
  before: RunningStatus | undefined,
  after: RunningStatus,
): Message[] {
  const topic = topics.status(id, after.id);
  const shown = shownState(after);
  const isNew = before === undefined || shownState(before) !== shown;
  const state = isNew && shown !== "" ? [{ topic: topic.value, payload: shown }] : [];
  const json =
    before && sameStatusJson(before, after)
      ? []
      : [{ topic: topic.json, payload: JSON.stringify(statusDocument(after)) }];
  return after.quality === "good" ? [...state, ...json] : [...json, ...state];
}

const shownState = ({ missed, state }: RunningStatus) => (missed > 0 ? "stale" : state);

const sameStatusJson = (before: RunningStatus, after: RunningStatus) =>
  before.value === after.value && before.changedAt === after.changedAt && before.quality === after.quality;

/** Which commands are a problem, and the newest of them as a sentence. */
function problemsJson(problems: Controller["problems"]): string {
  const newest = problems.at(-1);
  const { actuator, command, outcome, message } = newest ?? {};
  const said = newest && `${actuator} ${command ?? ""}: ${message ?? outcome}`.replace(" :", ":");
  return JSON.stringify({
    message: said ?? null,
    problems: problems.map((one) => ({ ...one, at: new Date(one.at).toISOString() })),
  });
}

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
  ].flatMap((group) =>
    Object.entries(group).flatMap(([leaf, topic]: [string, string]) =>
      leaf === "set" || leaf === "result" ? [] : [clear(topic)],
    ),
  );
}

/** Above this size the list only says how many there are: brokers and clients refuse large packets. */
const maxControllersBytes = 256 * 1024;

export function controllersDocument(controllers: Iterable<Controller>): string {
  const items = [...controllers].map(({ info }) => controllerItem(info));
  const text = JSON.stringify(items);
  if (Buffer.byteLength(text) <= maxControllersBytes) return text;
  return JSON.stringify({ count: items.length, truncated: true });
}

export function eventDocument(event: BridgeEvent): string {
  const { type, severity, message } = event;
  return JSON.stringify({ ...event.facts, type, severity, message, at: new Date(event.at).toISOString() });
}
