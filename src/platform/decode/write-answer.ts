import type { WriteAccepted } from "../../greenhouse/ports.js";
import type { ReportShape } from "../shape-reports.js";
import type { Envelope } from "./envelope.js";
import { at, isFields, own, textOf } from "./wire.js";

/** What was sent, to be compared with the echo of the answer. */
export interface Sent {
  readonly deviceCode: string;
  readonly address: string;
  readonly value: string;
}

/**
 * The answer to an accepted `POST /api/set-value`; the three echoed fields stand under `data` or beside the code. Null when the body has
 * no code, for then nothing says that the value was accepted. An echo that differs is only reported: the read-back decides.
 */
export function readWriteAnswer(
  answer: unknown,
  envelope: Envelope,
  sent: Sent,
  report: ReportShape,
): WriteAccepted | null {
  if (envelope.code === null) return null;
  const data = at(answer, "data");
  const echo = isFields(data) ? data : isFields(answer) ? answer : {};
  for (const name of ["deviceCode", "address", "value"] as const) {
    const echoed = textOf(own(echo, name));
    if (echoed !== null && echoed !== sent[name] && Number(echoed) !== Number(sent[name]))
      report(`a set-value answer that echoes another ${name}`, echo);
  }
  return { requestId: envelope.requestId, code: envelope.code };
}
