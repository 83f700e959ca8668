import type { PushChannel, PushNews, SensorItem } from "../../greenhouse/ports.js";
import { type Decoding, UnreadableShape, withoutHostileNames } from "../decode/decoding.js";
import { roleReader } from "../decode/items.js";
import { readFlag } from "../decode/lists.js";
import { manyValuesReader } from "../decode/registers.js";
import { sensorReader } from "../decode/sensors.js";
import { runningStatusReader } from "../decode/statuses.js";
import { at, type Fields, isContainer, isFields, textOf } from "../decode/wire.js";
import { parseJson, UnreadableJson } from "../http/body.js";
import type { OperationShape, ShapeSettings } from "../settings.js";
import type { ReadTime } from "../time.js";
import { type Scope, scopeRoles, type Scopes, scopesIn } from "./scopes.js";

const mostLooked = 2_000;

/**
 * When a scope's values were so, epoch ms of the platform's clock: the oldest time anywhere in it, else the time nearest
 * around it; null where none can be read. The oldest, because a value must never pass for newer than it is.
 */
export function scopeTime(
  path: string | undefined,
): (scope: Scope, decoding: Pick<Decoding, "readTime" | "receivedAt">) => number | null {
  const roles = scopeRoles(path);
  return ({ node, time }, { readTime, receivedAt }) => {
    let oldest: number | null = null;
    const open: object[] = [node];
    for (let looked = 0; looked < mostLooked; looked += 1) {
      const next = open.pop();
      if (next === undefined) break;
      const own = isFields(next) ? readTime(roles(next).time, receivedAt) : null;
      if (own !== null && (oldest === null || own < oldest)) oldest = own;
      for (const child of Object.values(next)) if (isContainer(child)) open.push(child);
    }
    return oldest ?? readTime(time, receivedAt);
  };
}

/** Values of addresses: `{address, value}`, a list of these, or an object keyed by address, as the batch read answers. */
export function registersFrame(shape: OperationShape): DecodeScope {
  const read = manyValuesReader(shape);
  const timeOf = scopeTime(shape.time);
  return (scope, decoding) => {
    let problems = 0;
    const report = (problem: string, found: unknown) => {
      problems += 1;
      decoding.report(problem, found);
    };
    try {
      const values = read({ data: scope.node }, scope.code, { ...decoding, report });
      if (values.size > 0)
        return [{ type: "registers", code: scope.code, values, at: timeOf(scope, decoding) }];
    } catch (error) {
      if (!(error instanceof UnreadableShape)) throw error;
    }
    if (problems === 0) report("a frame without an address and its value", scope.node);
    return [];
  };
}

/** Readings of the station the channel is about, in any shape of the real-time sensor data, or as one object. */
export function readingsFrame(code: string, shape: OperationShape) {
  const read = sensorReader(shape);
  const roles = scopeRoles(undefined);
  return (frame: object, _around: FrameSurroundings, decoding: Decoding): readonly PushNews[] => {
    const named = isFields(frame) ? textOf(roles(frame).device) : null;
    if (named !== null && named !== code) {
      decoding.report("a frame about another device than the channel's", frame);
      return [];
    }
    let problems = 0;
    const report = (problem: string, found: unknown) => {
      problems += 1;
      decoding.report(problem, found);
    };
    const readFrom = (answer: unknown): readonly SensorItem[] => {
      try {
        return read(answer, code, { ...decoding, report });
      } catch (error) {
        if (!(error instanceof UnreadableShape)) throw error;
        return [];
      }
    };
    let items = readFrom(frame);
    if (items.length === 0 && problems === 0 && shape.items === undefined) items = readFrom({ data: frame });
    if (items.length > 0) return [{ type: "sensors", code, items }];
    if (problems === 0) report("a frame without readings", frame);
    return [];
  };
}

const roles = roleReader(
  {
    online: ["online", "isOnline", "onlineStatus"],
    status: ["status"],
    name: ["name", "statusName", "title", "label", "deviceTypeNumber", "deviceTypeNo", "typeNumber"],
    device: ["deviceCode", "deviceSn", "devCode"],
  },
  {},
);

/** Running statuses as `device_status` answers them, and whether the device is connected: `online`, or a bare `status`. */
export function statusFrame(shape: OperationShape): DecodeScope {
  const read = runningStatusReader(shape);
  const timeOf = scopeTime(shape.time);
  return (scope, decoding) => {
    const { code, node } = scope;
    const news: PushNews[] = [];
    let problems = 0;
    const online = connectionIn(scope);
    const report = (problem: string, found: unknown) => {
      // What says that a device came or went holds no running status, and is no riddle either.
      if (online !== null) return;
      problems += 1;
      decoding.report(problem, found);
    };
    if (online !== null) news.push({ type: "connection", code, online });
    try {
      const items = read({ data: node }, code, { ...decoding, report });
      if (items.length > 0) news.push({ type: "statuses", code, items, at: timeOf(scope, decoding) });
    } catch (error) {
      if (!(error instanceof UnreadableShape)) throw error;
    }
    if (news.length === 0 && problems === 0)
      decoding.report("a frame without a running status or connection", node);
    return news;
  };
}

const maxLooked = 2_000;

/** The connection a scope tells of; null when it does not, or contradicts itself. */
function connectionIn({ code, node }: Scope): boolean | null {
  const flags = new Set<boolean>();
  const open: object[] = [node];
  for (let looked = 0; looked < maxLooked; looked += 1) {
    const next = open.pop();
    if (next === undefined) break;
    if (isFields(next)) {
      const { device } = roles(next);
      if (typeof device === "string" && device.trim() !== code) continue;
      const flag = flagOf(next);
      if (flag !== null) flags.add(flag);
    }
    for (const child of Object.values(next)) if (isContainer(child)) open.push(child);
  }
  const [only] = flags;
  return flags.size === 1 && only !== undefined ? only : null;
}

/** A `status` beside a name or a number is a running status; alone it is the device's own, as its single status is. */
function flagOf(fields: Fields): boolean | null {
  const found = roles(fields);
  if ("online" in found) return readFlag(found.online);
  return "name" in found || !("status" in found) ? null : readFlag(found.status);
}

export interface FrameSurroundings {
  readonly knows: (code: string) => boolean;
  readonly report: (problem: string, found: unknown) => void;
  readonly readTime: ReadTime;
  /** Epoch ms. */
  readonly receivedAt: number;
}

export type DecodeFrame = (data: Buffer, around: FrameSurroundings) => readonly PushNews[];

/** What one scope of a frame says. */
export type DecodeScope = (scope: Scope, decoding: Decoding) => readonly PushNews[];

/**
 * The decoder of a channel's frames, as tolerant as those of the answers. It never throws; what cannot be read is
 * reported and left out.
 */
export function frameDecoder(channel: PushChannel, shapes: ShapeSettings): DecodeFrame {
  const decode = whole(channel, shapes);
  return (data, around) => {
    const { report, readTime, receivedAt } = around;
    let frame: unknown;
    try {
      frame = withoutHostileNames(parseJson(data));
    } catch (error) {
      if (!(error instanceof UnreadableJson)) throw error;
      report("text that is no JSON, or broken JSON", data.toString("utf8", 0, 200));
      return [];
    }
    if (!isContainer(frame)) {
      report("a frame that is neither object nor list", frame);
      return [];
    }
    return decode(frame, around, { report, readTime, receivedAt });
  };
}

type DecodeWhole = (frame: object, around: FrameSurroundings, decoding: Decoding) => readonly PushNews[];

function whole(channel: PushChannel, shapes: ShapeSettings): DecodeWhole {
  switch (channel.type) {
    case "set-value":
      return byScope(shapes["ws/set-value"] ?? {}, registersFrame);
    case "device-status":
      return byScope(shapes["ws/device-status"] ?? shapes.device_status ?? {}, statusFrame);
    case "weather-station": {
      const shape = shapes["ws/sensor-data"] ?? shapes["sensor-data"] ?? {};
      return readingsFrame(channel.code, shape);
    }
  }
}

/** Splits a frame by device; with `items` configured only what stands there is looked at. */
function byScope(shape: OperationShape, decoderOf: (shape: OperationShape) => DecodeScope): DecodeWhole {
  const { items: path, ...rest } = shape;
  const decode = decoderOf(rest);
  const roles = scopeRoles(shape.time);
  return (frame, { knows }, decoding) => {
    const found = scopesIn(frame, path === undefined ? frame : at(frame, path), knows, roles);
    reportScopes(found, frame, decoding);
    return found.list.flatMap((scope) => decode(scope, decoding));
  };
}

function reportScopes({ list, foreign, cut, mixed }: Scopes, frame: object, { report }: Decoding): void {
  if (mixed) report("a device inside another one, which is left out", frame);
  if (cut) report("more than 500 devices in one frame; the rest is left out", frame);
  if (list.length === 0 && !foreign && !mixed) report("a frame that names no device", frame);
}
