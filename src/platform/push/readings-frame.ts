import type { SensorItem } from "../../greenhouse/ports.js";
import type { PushNews } from "../../greenhouse/push.js";
import { type Decoding, UnreadableShape } from "../decode/decoding.js";
import { sensorReader } from "../decode/sensors.js";
import { isFields, textOf } from "../decode/wire.js";
import type { OperationShape } from "../settings.js";
import type { FrameSurroundings } from "./frame-decoder.js";
import { scopeRoles } from "./scopes.js";

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
