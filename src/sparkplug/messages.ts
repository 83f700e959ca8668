import { createHash } from "node:crypto";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Metric, Scalar } from "./metrics.js";
import { rebirthName } from "./topics.js";
import { type Datatype, datatypes, payloadSchema, type WirePayload, type WireValue } from "./schema.js";

/*
 * Encodes metrics as payloads of births, data and deaths. Pure: a payload depends on the metrics, the sequence number
 * and the time.
 */

const bdSeqName = "bdSeq";

export interface Stamp {
  readonly seq: number;
  /** Epoch ms. */
  readonly now: number;
}

type WireInit = Exclude<
  NonNullable<Exclude<MessageInitShape<typeof payloadSchema>, WirePayload>["metrics"]>[number],
  { readonly $typeName: string }
>;

const bytesOf = (timestamp: number, metrics: readonly WireInit[], seq?: number): Buffer =>
  Buffer.from(
    toBinary(
      payloadSchema,
      create(payloadSchema, {
        timestamp: BigInt(timestamp),
        metrics: [...metrics],
        ...(seq !== undefined && { seq: BigInt(seq) }),
      }),
    ),
  );

export type Aliases = ReadonlyMap<string, bigint>;

/**
 * Aliases of a device's metrics, made from their names alone, so that they survive restarts and a host that missed a
 * birth never hits another metric. They have 48 bits, which every host keeps exactly; equal ones are not to be
 * expected.
 */
export const aliasesOf = (device: string, metrics: readonly Metric[]): Aliases =>
  new Map(metrics.map(({ name }) => [name, aliasOf(device, name)]));

const aliasOf = (device: string, name: string): bigint =>
  BigInt(createHash("sha256").update(`${device}/${name}`).digest().readUIntBE(0, 6)) + 1n;

function wireValue(type: Datatype, value: Scalar): WireValue {
  if (typeof value === "string") return { case: "stringValue", value };
  if (typeof value === "boolean") return { case: "booleanValue", value };
  if (type === "Int64") return { case: "longValue", value: BigInt(value) };
  return type === "Int32" ? { case: "intValue", value } : { case: "doubleValue", value };
}

const property = (value: string | number, type: Datatype) => ({
  type: datatypes[type],
  value: wireValue(type, value),
});

function propertySet(quality: number | null, others: NonNullable<Metric["properties"]>) {
  const entries = [
    ...(quality === null ? [] : [["Quality", property(quality, "Int32")] as const]),
    ...Object.entries(others).map(
      ([key, value]) => [key, property(value, typeof value === "string" ? "String" : "Double")] as const,
    ),
  ];
  if (entries.length === 0) return {};
  return { properties: { keys: entries.map(([key]) => key), values: entries.map(([, value]) => value) } };
}

/** Instants before 1970 become 0, as the field is unsigned. */
const instant = (at: number) => BigInt(Math.max(0, Math.round(at)));

const wireFields = ({ type, value }: Metric) =>
  value === null ? { isNull: true } : { value: wireValue(type, value) };

const inOrder = (metrics: readonly Metric[], now: number) =>
  metrics.map((metric) => ({ metric, at: metric.at ?? now })).sort((one, other) => one.at - other.at);

/** The metrics of a birth: each with name, type and all properties. */
const born = (metrics: readonly Metric[], aliases: Aliases, now: number): readonly WireInit[] =>
  inOrder(metrics, now).map(({ metric, at }) => ({
    name: metric.name,
    alias: aliases.get(metric.name),
    timestamp: instant(at),
    datatype: datatypes[metric.type],
    ...wireFields(metric),
    ...propertySet(metric.quality, metric.properties ?? {}),
  }));

export const birthPayload = (metrics: readonly Metric[], aliases: Aliases, { seq, now }: Stamp): Buffer =>
  bytesOf(now, born(metrics, aliases, now), seq);

/** The changed metrics by alias, with only those properties that change with the value. */
export function dataPayload(metrics: readonly Metric[], aliases: Aliases, { seq, now }: Stamp): Buffer {
  const told = inOrder(metrics, now).map(({ metric, at }) => {
    const message = metric.properties?.["message"];
    return {
      alias: aliases.get(metric.name),
      timestamp: instant(at),
      ...wireFields(metric),
      ...propertySet(metric.quality, message === undefined ? {} : { message }),
    };
  });
  return bytesOf(now, told, seq);
}

/** The node's birth. `Node Control/Rebirth` has no alias, as hosts have to use it without a birth. */
export function nodeBirthPayload(bdSeq: number, metrics: readonly Metric[], stamp: Stamp): Buffer {
  const aliased = [...metrics, bdSeqMetric(bdSeq)];
  return birthPayload([...aliased, rebirthMetric], aliasesOf("", aliased), stamp);
}

const plain = { quality: null, at: null } as const;
const rebirthMetric: Metric = { ...plain, name: rebirthName, type: "Boolean", value: false };
const bdSeqMetric = (bdSeq: number): Metric => ({ ...plain, name: bdSeqName, type: "Int64", value: bdSeq });

/** The node's death, also its will; it has no sequence number. */
export const nodeDeathPayload = (bdSeq: number, now: number): Buffer =>
  bytesOf(now, born([bdSeqMetric(bdSeq)], new Map(), now));

export const deviceDeathPayload = ({ seq, now }: Stamp): Buffer => bytesOf(now, [], seq);

/** Larger commands are not read. */
export const largestCommandBytes = 64 * 1024;

/** Decodes a payload; null for anything else. */
export function readPayload(bytes: Uint8Array): WirePayload | null {
  try {
    return fromBinary(payloadSchema, bytes);
  } catch {
    return null;
  }
}

/** The `bdSeq` of a birth or death; null without one. */
export function bdSeqOf(payload: WirePayload): number | null {
  const value = payload.metrics.find(({ name }) => name === bdSeqName)?.value;
  return value?.case === "longValue" || value?.case === "intValue" ? Number(value.value) : null;
}
