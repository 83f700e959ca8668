import { digitsSent } from "../../greenhouse/command/setpoints.js";
import type { Finding, Path } from "../problem.js";
import { entriesOf, given, numberOf, sectionOf, type Draft } from "./draft.js";

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

/** The platform's values are digits, so a limit below 0 of them allows what every command would be refused for. */
export function sendableLimits(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) =>
    entriesOf(controller, "parameters").flatMap(([id, parameter]) => {
      const scale = given(parameter, "scale") ? numberOf(parameter, "scale") : 1;
      if (scale === null || scale === 0) return [];
      const path = ["controllers", code, "parameters", id, "writable"];
      return ["min", "max"].flatMap((key) =>
        signed(numberOf(sectionOf(parameter, "writable"), key), scale, [...path, key]),
      );
    }),
  );
}

function signed(limit: number | null, scale: number, path: Path): Finding[] {
  const sent = limit === null ? 0 : digitsSent(limit, scale);
  const remedy = scale > 0 ? "expected 0 or more" : "expected 0 or less";
  const message = `would be sent as ${sent}, and the platform takes digits without a sign; ${remedy}`;
  return sent < 0 ? [{ path, on: "value", message }] : [];
}
