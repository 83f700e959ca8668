import type { Actuator, Parameter } from "../../greenhouse/model.js";
import type { Topics } from "../topics.js";
import { clear, isoOrNull, type Message, valueText } from "./message.js";

export const actuatorJson = (actuator: Actuator): string =>
  JSON.stringify({
    state: actuator.state,
    position: actuator.position,
    value: actuator.value,
    read_at: isoOrNull(actuator.readAt),
    source: actuator.source,
    quality: actuator.quality,
  });

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
  if (!before || !sameForJson(before, after))
    messages.push({ topic: topic.json, payload: actuatorJson(after) });
  return messages;
}

const sameForJson = (before: Actuator, after: Actuator) =>
  before.state === after.state &&
  before.position === after.position &&
  before.value === after.value &&
  before.quality === after.quality &&
  before.readAt !== null;

export function clearedActuator(topics: Topics, controllerId: string, id: string): Message[] {
  const topic = topics.actuator(controllerId, id);
  return [topic.state, topic.position, topic.value, topic.json, topic.command].map(clear);
}

export function parameterMessages(
  topics: Topics,
  controllerId: string,
  before: Parameter | undefined,
  after: Parameter,
): Message[] {
  if (before === after || after.register === null || after.value === null) return [];
  const topic = topics.parameter(controllerId, after.settings.id);
  const changed = before?.value !== after.value;
  const json = JSON.stringify({
    value: after.value,
    raw: after.register.raw,
    unit: after.settings.unit ?? null,
    read_at: isoOrNull(after.register.readAt),
    source: after.register.source,
    quality: after.quality,
  });
  return [
    ...(changed ? [{ topic: topic.value, payload: valueText(after.value) }] : []),
    ...(changed || before.quality !== after.quality ? [{ topic: topic.json, payload: json }] : []),
  ];
}

export function clearedParameter(topics: Topics, controllerId: string, id: string): Message[] {
  const topic = topics.parameter(controllerId, id);
  return [topic.value, topic.json, topic.command].map(clear);
}
