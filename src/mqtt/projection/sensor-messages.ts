import type { Quality, Sensor } from "../../greenhouse/model.js";
import type { Topics } from "../topics.js";
import { clear, isoOrNull, type Message, valueText } from "./message.js";

export function sensorJson(sensor: Sensor): string {
  const { definition } = sensor;
  return JSON.stringify({
    value: sensor.value,
    raw: sensor.raw,
    unit: definition.unit,
    kind: definition.kind,
    measured_at: isoOrNull(sensor.measuredAt),
    received_at: isoOrNull(sensor.receivedAt),
    quality: sensor.quality,
    source: sensor.source,
    name: definition.platformName,
    factor: definition.factor,
    channel: definition.channel,
  });
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
    before && sameForJson(before, after) ? [] : [{ topic: topic.json, payload: sensorJson(after) }];
  return isUsable(after.quality) ? [...value, ...quality, ...json] : [...quality, ...value, ...json];
}

export function clearedSensor(topics: Topics, controllerId: string, id: string): Message[] {
  const topic = topics.sensor(controllerId, id);
  return [clear(topic.quality), clear(topic.value), clear(topic.json)];
}

// A reader must never hold a new bad value under the old good quality, nor a good quality over the old bad value.
const isUsable = (quality: Quality) => quality === "good" || quality === "uncertain";

function textChange(topic: string, before: number | string | null, after: number | string | null): Message[] {
  if (before === after) return [];
  // Nothing known in the sensor's present unit: what stands there would be read in the wrong one.
  if (after === null || after === "") return before === null ? [] : [clear(topic)];
  return [{ topic, payload: valueText(after) }];
}

const sameForJson = (before: Sensor, after: Sensor) =>
  before.value === after.value &&
  before.raw === after.raw &&
  before.quality === after.quality &&
  before.measuredAt === after.measuredAt &&
  before.definition === after.definition;
