import { Document } from "yaml";
import { msg, row, type Text } from "../../language/text.js";
import type { ShapedOperation } from "../../settings/sections/platform.js";
import type { DeviceRecord, SensorItem } from "../../greenhouse/ports.js";
import { catalogueWord } from "../../greenhouse/sensor-names.js";
import { type Decoding, type Fields, isFields, UnreadableShape } from "../../platform/decode/decoding.js";
import { fieldNames, lookOf, placeIn } from "../../platform/decode/place.js";
import { historyReader } from "../../platform/decode/history.js";
import { deviceReader, stationReader, videoReader } from "../../platform/decode/lists.js";
import { manyValuesReader, oneValueReader } from "../../platform/decode/registers.js";
import { averageReader, measurement, sensorReader } from "../../platform/decode/sensors.js";
import { connectionReader, runningStatusReader } from "../../platform/decode/statuses.js";
import type { OperationShape, ShapeSettings } from "../../platform/settings.js";
import { timeReader } from "../../platform/time.js";
import { zoneOffset } from "../../runtime/zone.js";
import { pairOf, sectionOf, yamlText } from "../../saving/yaml-text.js";
import type { RawAnswer } from "./context.js";

type Read = (body: unknown, shape: OperationShape, decoding: Decoding) => readonly unknown[];

const unless = <T>(value: T, nothing: T): readonly T[] => (value === nothing ? [] : [value]);

/** Decoders of the operations whose answers the bridge reads. */
export const decoders = {
  "control/mqtt": (body, shape, decoding) => deviceReader(shape)(body, decoding),
  device: (body, shape, decoding) => deviceReader(shape)(body, decoding),
  station: (body, shape, decoding) => stationReader(shape)(body, decoding),
  "mqtt-client-status": (body, shape, decoding) =>
    unless(connectionReader(shape)(body, decoding).state, "unknown"),
  "sensor-data": (body, shape, decoding) => sensorReader(shape)(body, decoding),
  device_status: (body, shape, decoding) => runningStatusReader(shape)(body, decoding),
  "get-value": (body, shape, decoding) => unless(oneValueReader(shape)(body, decoding), null),
  "set-value/flush": (body, shape, decoding) => [...manyValuesReader(shape)(body, decoding)],
  "video-data/list": (body, shape, decoding) => videoReader(shape)(body, decoding),
  "weather-data/avg": (body, shape, decoding) => averageReader(shape)(body, decoding),
  "weather-data/list": (body, _shape, decoding) => historyReader()(body, decoding).points,
} as const satisfies Partial<Record<ShapedOperation, Read>>;

export type DecodedOperation = keyof typeof decoders;

/** What a decoder reads from an answer, with times in this zone. */
function decode<Item>(
  { query, receivedAt, body }: RawAnswer,
  timeZone: string,
  read: (body: unknown, decoding: Decoding) => readonly Item[],
) {
  const problems = new Map<string, Text>();
  const add = (problem: Text): void => void problems.set(String(problem), problem);
  const decoding: Decoding = {
    code: query["deviceCode"] ?? "",
    address: query["address"] ?? "",
    report: (problem, sample) => add(row`${problem}${placeOf(body, sample)}${fieldNames(sample)}`),
    readTime: timeReader(zoneOffset(timeZone)),
    receivedAt,
  };
  try {
    return { found: read(body, decoding), problems: [...problems.values()] };
  } catch (error) {
    if (!(error instanceof UnreadableShape)) throw error;
    add(row`${error.text}${fieldNames(body)}`);
    return { found: [], problems: [...problems.values()] };
  }
}

/**
 * Reads an answer as the bridge would with this shape. `found`: devices, readings, values …, one word for a connection
 * status. `problems`: what could not be read, each once, with its field names.
 */
export const decodedAnswer = (
  answer: RawAnswer,
  operation: DecodedOperation,
  shape: OperationShape,
  timeZone: string,
): { readonly found: readonly unknown[]; readonly problems: readonly Text[] } =>
  decode<unknown>(answer, timeZone, (body, decoding) => decoders[operation](body, shape, decoding));

/** The devices of an answer, as far as they can be read. */
export const devicesIn = (answer: RawAnswer, shapes: ShapeSettings): readonly DeviceRecord[] =>
  decode(answer, "UTC", deviceReader(shapes["control/mqtt"] ?? {})).found;

/** The readings of an answer, with times in this zone. */
export const readingsIn = (
  answer: RawAnswer,
  shapes: ShapeSettings,
  timeZone: string,
): readonly SensorItem[] => decode(answer, timeZone, sensorReader(shapes["sensor-data"] ?? {})).found;

/** Where an unreadable item stood and what it was, without its values. */
function placeOf(body: unknown, sample: unknown): Text {
  const place = placeIn(body, sample);
  return place === null || sample === body ? "" : msg` at ${place}: ${lookOf(sample)}`;
}

/** Objects that stand together in an answer, as a list or under keys of their own. */
interface Collection {
  /** Path from the root of the answer, with dots; empty for the answer itself. */
  readonly path: string;
  readonly items: readonly Fields[];
}

const maxDepth = 5;
const mostItems = 200;

/** Every collection of an answer, outer ones first. */
function collectionsIn(body: unknown, path: readonly string[] = []): readonly Collection[] {
  if (typeof body !== "object" || body === null || path.length > maxDepth) return [];
  const items = Object.values(body).filter(isFields).slice(0, mostItems);
  const isCollection = Array.isArray(body) ? items.length > 0 : items.length > 1;
  const inner = Array.isArray(body)
    ? []
    : Object.entries(body).flatMap(([key, child]) =>
        key.includes(".") ? [] : collectionsIn(child, [...path, key]),
      );
  return [...(isCollection ? [{ path: path.join("."), items }] : []), ...inner];
}

type Role = "name" | "value" | "unit" | "time" | "code";
type Column = readonly [field: string, values: readonly unknown[]];
/** How well a column fits a role; 0: not at all. */
type Fitness = (values: readonly unknown[], answer: RawAnswer) => number;

const yearMs = 366 * 86_400_000;

const text = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
const isNumeric = (value: unknown): boolean =>
  typeof value === "number" ||
  (typeof value === "string" && typeof measurement(value, null).value === "number");
const share = (values: readonly unknown[], test: (value: unknown) => boolean): number =>
  values.filter(test).length / values.length;
const variety = (values: readonly unknown[]): number => new Set(values.map(String)).size / values.length;

const isUnit = (value: unknown): boolean =>
  text(value) !== "" && measurement(`1${text(value)}`, null).unit !== null;

const time: Fitness = (values, { receivedAt }) => {
  const read = timeReader(zoneOffset("UTC"));
  const isNear = (value: unknown) => Math.abs((read(value, receivedAt) ?? 0) - receivedAt) < yearMs;
  return share(values, isNear) > 0.9 ? 1 : 0;
};
const name: Fitness = (values, answer) => {
  const isName = (value: unknown) => text(value) !== "" && !isNumeric(value);
  return share(values, isName) > 0.9 && time(values, answer) === 0
    ? variety(values) + share(values, isSpoken) / 4
    : 0;
};
/** A word of people rather than a code: of two columns with distinct values, this is the name. */
const isSpoken = (value: unknown): boolean =>
  catalogueWord(text(value)) !== null || !/^[\x21-\x7e]*$/.test(text(value));
const unit: Fitness = (values) => {
  const given = values.filter((value) => text(value) !== "");
  return given.length > 0 && share(given, isUnit) > 0.9 ? 1 : 0;
};
/** Fractions are measured values; small whole numbers may be counts or references. */
const value: Fitness = (values, answer) => {
  if (share(values, isNumeric) < 0.5 || time(values, answer) > 0) return 0;
  const isFraction = (one: unknown) => !Number.isInteger(measurement(String(one), null).value);
  return 1 + variety(values) + share(values, isFraction);
};
const code: Fitness = (values) => {
  const isCode = (one: unknown) =>
    /^[A-Za-z0-9._-]{1,64}$/.test(typeof one === "number" ? String(one) : text(one));
  return share(values, isCode) === 1 ? variety(values) : 0;
};
/** A short word for what is measured (`airTemp`); a number may be a limit or a count. */
const factor: Fitness = (values, answer) => {
  const isWord = (one: unknown) => typeof one === "string" && !isNumeric(one);
  return variety(values) === 1 && share(values, isWord) === 1 ? code(values, answer) : 0;
};
const flag: Fitness = (values) =>
  share(values, (one) => ["0", "1", "true", "false", "on", "off"].includes(String(one).toLowerCase())) === 1
    ? 1
    : 0;

const roles: Readonly<Partial<Record<DecodedOperation, Readonly<Partial<Record<Role, Fitness>>>>>> = {
  "sensor-data": { time, unit, name, value, code: factor },
  "control/mqtt": { code, name },
  device: { code, name },
  station: { code, name },
  device_status: { name, value: flag },
  "set-value/flush": { code, value },
};

/**
 * A shape with which the bridge's own decoder reads this answer, with no more keys than needed; null if none was found.
 * It is a guess from the fields' contents, and called one.
 */
export function suggestedShape(
  answer: RawAnswer,
  operation: DecodedOperation,
  timeZone: string,
): OperationShape | null {
  const wanted = roles[operation];
  if (wanted === undefined) return null;
  const read = (shape: OperationShape) => decodedAnswer(answer, operation, shape, timeZone).found;
  // A shape must keep what is understood already: a code is not replaced by something similar.
  const known = codesIn(read({}));
  let best: OperationShape | null = null;
  let most = known.size;
  for (const collection of collectionsIn(answer.body)) {
    const shape = shapeOf(collection, wanted, answer);
    const found = read(shape);
    const codes = codesIn(found);
    const keepsKnown = [...known].every((one) => codes.has(one));
    if (keepsKnown && found.length > most) [best, most] = [shape, found.length];
  }
  return best === null ? null : withoutIdle(best, read);
}

/** Codes of items that were read as devices; empty for others. */
const codesIn = (found: readonly unknown[]): ReadonlySet<string> =>
  new Set(found.flatMap((one) => (isFields(one) && typeof one["code"] === "string" ? [one["code"]] : [])));

function shapeOf(
  { path, items }: Collection,
  wanted: Readonly<Partial<Record<Role, Fitness>>>,
  answer: RawAnswer,
): OperationShape {
  const fields = [...new Set(items.flatMap((item) => Object.keys(item)))];
  let columns: readonly Column[] = fields.map((field) => [
    field,
    items
      .map((item) => item[field])
      .filter((one) => one !== null && one !== undefined && typeof one !== "object"),
  ]);
  columns = columns.filter(([, values]) => values.length > 0);
  const shape: Record<string, string> = path === "" ? {} : { items: path };
  for (const [role, fitness] of Object.entries(wanted)) {
    const ranked = columns
      .map(([field, values]) => ({ field, score: fitness(values, answer) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score);
    const [best] = ranked;
    if (best === undefined) continue;
    shape[role] = best.field;
    columns = columns.filter(([field]) => field !== best.field);
  }
  return shape;
}

/** Drops keys without which the decoder finds the same. */
function withoutIdle(
  shape: OperationShape,
  read: (shape: OperationShape) => readonly unknown[],
): OperationShape {
  let kept: Readonly<Record<string, string>> = { ...(shape as Record<string, string>) };
  const wanted = JSON.stringify(read(shape));
  for (const key of Object.keys(kept)) {
    const rest = Object.fromEntries(Object.entries(kept).filter(([name]) => name !== key));
    if (JSON.stringify(read(rest)) === wanted) kept = rest;
  }
  return kept;
}

/** The line to paste: `platform: { shapes: { sensor-data: { items: payload.points } } }`. */
export function shapeLine(operation: string, shape: OperationShape): string {
  const line = new Document().createNode({ shapes: { [operation]: shape } }, { flow: true });
  return yamlText(sectionOf([pairOf("platform", line)])).trimEnd();
}
