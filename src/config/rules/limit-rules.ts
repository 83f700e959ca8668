import type { Finding, Path } from "../problem.js";
import { entriesOf, numberOf, sectionOf, type Draft } from "./draft.js";

/** A range nothing fits into would make every value bad, or refuse every command. */
export function orderedLimits(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => [
    ...entriesOf(controller, "sensors").flatMap(([id, sensor]) =>
      ordered(sensor, ["controllers", code, "sensors", id]),
    ),
    ...entriesOf(controller, "parameters").flatMap(([id, parameter]) =>
      ordered(sectionOf(parameter, "writable"), ["controllers", code, "parameters", id, "writable"]),
    ),
  ]);
}

function ordered(limits: Draft, path: Path): Finding[] {
  const [min, max] = [numberOf(limits, "min"), numberOf(limits, "max")];
  if (min === null || max === null) return [];
  if (min >= max) return [{ path: [...path, "max"], on: "value", message: `expected a number above min` }];
  const step = numberOf(limits, "step");
  return step !== null && step > max - min
    ? [{ path: [...path, "step"], on: "value", message: "expected a step that fits between min and max" }]
    : [];
}
