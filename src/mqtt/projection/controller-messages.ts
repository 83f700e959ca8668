import { textOf } from "../../greenhouse/actuator-values.js";
import type { Controller, ControllerInfo, RawAddress, RunningStatus } from "../../greenhouse/model.js";
import type { TargetKind, Topics } from "../topics.js";
import {
  actuatorMessages,
  clearedActuator,
  clearedParameter,
  parameterMessages,
} from "./actuator-messages.js";
import { clear, isoOrNull, type Message } from "./message.js";
import { clearedSensor, sensorMessages } from "./sensor-messages.js";

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
  if (before?.problem !== after.problem)
    messages.push({ topic: topic.problem, payload: after.problem ? "on" : "off" });
  pushAll(messages, before?.sensors, after.sensors, (old, sensor) => sensorMessages(topics, id, old, sensor));
  pushAll(messages, before?.statuses, after.statuses, (old, status) =>
    statusMessages(topics, id, old, status),
  );
  for (const status of before?.statuses.keys() ?? [])
    if (!after.statuses.has(status)) messages.push(...clearedStatus(topics, id, status));
  pushAll(messages, before?.actuators, after.actuators, (old, actuator) =>
    actuatorMessages(topics, id, old, actuator),
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
export function infoJson(info: ControllerInfo): string {
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
    before && sameForJson(before, after) ? [] : [{ topic: topic.json, payload: statusJson(after) }];
  return after.quality === "good" ? [...state, ...json] : [...json, ...state];
}

const shownState = ({ missed, state }: RunningStatus) => (missed > 0 ? "stale" : state);

const sameForJson = (before: RunningStatus, after: RunningStatus) =>
  before.value === after.value && before.changedAt === after.changedAt && before.quality === after.quality;

const statusJson = ({ name, number, value, state, readAt, changedAt, quality }: RunningStatus): string =>
  JSON.stringify({
    name,
    number,
    value,
    state,
    read_at: isoOrNull(readAt),
    changed_at: isoOrNull(changedAt),
    quality,
  });

const clearedStatus = (topics: Topics, id: string, status: string): Message[] =>
  [topics.status(id, status).value, topics.status(id, status).json].map(clear);

function clearedController(topics: Topics, controller: Controller): Message[] {
  const { id } = controller.info;
  const topic = topics.controller(id);
  return [
    ...[topic.availability, topic.problem, topic.info].map(clear),
    ...[...controller.sensors.keys()].flatMap((sensor) => clearedSensor(topics, id, sensor)),
    ...[...controller.statuses.keys()].flatMap((status) => clearedStatus(topics, id, status)),
    ...[...controller.actuators.keys()].flatMap((actuator) => clearedActuator(topics, id, actuator)),
    ...[...controller.parameters.keys()].flatMap((parameter) => clearedParameter(topics, id, parameter)),
    ...[...controller.addresses.keys()].flatMap((address) =>
      [topics.address(id, address).value, topics.address(id, address).command].map(clear),
    ),
  ];
}
