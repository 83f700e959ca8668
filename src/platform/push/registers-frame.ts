import { UnreadableShape } from "../decode/decoding.js";
import { manyValuesReader } from "../decode/many-values.js";
import type { OperationShape } from "../settings.js";
import type { DecodeScope } from "./frame-decoder.js";
import { scopeTime } from "./scope-time.js";

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
