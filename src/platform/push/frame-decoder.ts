import type { PushChannel, PushNews } from "../../greenhouse/push.js";
import type { Decoding } from "../decode/decoding.js";
import { withoutHostileNames } from "../decode/hostile-names.js";
import { at, isContainer } from "../decode/wire.js";
import { parseJson, UnreadableJson } from "../http/json.js";
import type { ReadTime } from "../platform-time.js";
import type { OperationShape, ShapeSettings } from "../settings.js";
import { registersFrame } from "./registers-frame.js";
import { readingsFrame } from "./readings-frame.js";
import { scopeRoles, scopesIn, type Scope, type Scopes } from "./scopes.js";
import { statusFrame } from "./status-frame.js";

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
