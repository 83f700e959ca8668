import type { DeviceList, SensorItem } from "../../greenhouse/ports.js";
import type { ShapedOperation } from "../../config/sections/shapes.js";
import { connectionReader } from "../../platform/decode/connection.js";
import { UnreadableShape, type Decoding } from "../../platform/decode/decoding.js";
import { deviceReader } from "../../platform/decode/devices.js";
import { manyValuesReader } from "../../platform/decode/many-values.js";
import { oneValueReader } from "../../platform/decode/one-value.js";
import { runningStatusReader } from "../../platform/decode/running-statuses.js";
import { sensorReader } from "../../platform/decode/sensors.js";
import { stationReader } from "../../platform/decode/stations.js";
import { timeReader } from "../../platform/platform-time.js";
import type { OperationShape, ShapeSettings } from "../../platform/settings.js";
import { zoneOffset } from "../../platform/zone-offset.js";
import type { RawAnswer } from "./answers.js";

/** What the bridge's own decoder makes of an answer. */
export interface Decoded {
  /** Devices, readings, values …; one word for a connection status. */
  readonly found: readonly unknown[];
  /** What could not be read, each once, with the field names it had. */
  readonly problems: readonly string[];
}

type Read = (answer: RawAnswer, shape: OperationShape, decoding: Decoding) => readonly unknown[];

const codeOf = ({ query }: RawAnswer): string => query["deviceCode"] ?? "";
const unless = <T>(value: T, nothing: T): readonly T[] => (value === nothing ? [] : [value]);

/** The operations whose answers the bridge reads. */
const decoders = {
  "control/mqtt": ({ body }, shape, decoding) => deviceReader(shape)(body, decoding),
  device: ({ body }, shape, decoding) => deviceReader(shape)(body, decoding),
  station: ({ body }, shape, decoding) => stationReader(shape)(body, decoding),
  "mqtt-client-status": ({ body }, shape, decoding) =>
    unless(connectionReader(shape)(body, decoding).state, "unknown"),
  "sensor-data": (answer, shape, decoding) => sensorReader(shape)(answer.body, codeOf(answer), decoding),
  device_status: (answer, shape, decoding) =>
    runningStatusReader(shape)(answer.body, codeOf(answer), decoding),
  "get-value": (answer, shape, decoding) =>
    unless(oneValueReader(shape)(answer.body, codeOf(answer), answer.query["address"] ?? "", decoding), null),
  "set-value/flush": (answer, shape, decoding) => [
    ...manyValuesReader(shape)(answer.body, codeOf(answer), decoding),
  ],
} as const satisfies Partial<Record<ShapedOperation, Read>>;

export type DecodedOperation = keyof typeof decoders;

export const isDecoded = (operation: string): operation is DecodedOperation =>
  Object.hasOwn(decoders, operation);

const noTime = () => null;

/** Reads an answer as the bridge would with this shape. */
export function decodedAnswer(
  answer: RawAnswer,
  operation: DecodedOperation,
  shape: OperationShape,
  timeZone: string,
): Decoded {
  const problems = new Set<string>();
  const decoding: Decoding = {
    report: (problem, sample) => problems.add(`${problem}${fieldsOf(sample)}`),
    readTime: timeReader(zoneOffset(timeZone)),
    receivedAt: answer.receivedAt,
  };
  try {
    return { found: decoders[operation](answer, shape, decoding), problems: [...problems] };
  } catch (error) {
    if (!(error instanceof UnreadableShape)) throw error;
    return { found: [], problems: [...problems, `${error.message}${fieldsOf(answer.body)}`] };
  }
}

/** Devices of an answer, as far as they can be read. */
export function devicesIn({ body, receivedAt }: RawAnswer, shapes: ShapeSettings): DeviceList {
  try {
    const decoding = { report: () => undefined, readTime: noTime, receivedAt };
    return deviceReader(shapes["control/mqtt"] ?? {})(body, decoding);
  } catch (error) {
    if (error instanceof UnreadableShape) return [];
    throw error;
  }
}

/** Readings of an answer, with their times read in a zone. */
export function readingsIn(
  answer: RawAnswer,
  shapes: ShapeSettings,
  timeZone: string,
): readonly SensorItem[] {
  const decoding: Decoding = {
    report: () => undefined,
    readTime: timeReader(zoneOffset(timeZone)),
    receivedAt: answer.receivedAt,
  };
  try {
    return sensorReader(shapes["sensor-data"] ?? {})(answer.body, codeOf(answer), decoding);
  } catch (error) {
    if (error instanceof UnreadableShape) return [];
    throw error;
  }
}

/** ` (fields: a, b)`: names only, never values. */
function fieldsOf(sample: unknown): string {
  if (typeof sample !== "object" || sample === null) return "";
  const names = Object.keys(Array.isArray(sample) ? ((sample[0] ?? {}) as object) : sample).slice(0, 12);
  return names.length === 0 ? "" : ` (fields: ${names.map((name) => name.slice(0, 40)).join(", ")})`;
}
