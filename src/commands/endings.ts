import { kindRows } from "../greenhouse/actuator-kinds.js";
import { degreeOf, sameValue, textOf } from "../greenhouse/actuator-values.js";
import type { StepReport } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import type { PlatformErrorFacts, RawValue, WriteAccepted } from "../greenhouse/ports.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { type Ending, spelled, superseded } from "./report.js";

export type Answer =
  | { readonly type: "accepted"; readonly answer: WriteAccepted }
  | { readonly type: "error"; readonly message: string; readonly facts: PlatformErrorFacts };

/** How one step ended. */
export type StepEnd =
  | ({ readonly type: "confirmed" } & Evidence)
  | ({ readonly type: "unconfirmed" } & Evidence)
  /** Accepted or ambiguous, and nothing could be read since. */
  | ({ readonly type: "unknown" } & Evidence)
  | ({ readonly type: "rejected"; readonly unauthorized: boolean; readonly message: string } & Evidence)
  | ({ readonly type: "not_sent"; readonly message: string } & Evidence)
  /** Ambiguous, and a valid later read differs. */
  | ({ readonly type: "failed" } & Evidence)
  | ({ readonly type: "interrupted" } & Evidence);

export interface Evidence {
  readonly attempts: number;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly readBack: RawValue | null;
}

interface Refusal {
  readonly message: string;
  readonly facts: PlatformErrorFacts;
}

/** Ends that need no second look: the platform said no, or nothing ever left. */
export function finalError(error: Refusal, facts: Evidence): StepEnd | null {
  const { kind, sent, code } = error.facts;
  // Also without a credential at hand: a renewed one is the one retry.
  if (kind === "unauthorized") return null;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return code !== undefined ? rejected(error, facts) : null;
}

export const rejected = (error: Refusal, facts: Evidence): StepEnd => ({
  type: "rejected",
  unauthorized: error.facts.kind === "unauthorized",
  message: error.message,
  ...facts,
});

export function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}

export function stepReport(settings: ActuatorSettings, step: Step, end: StepEnd): StepReport {
  const { purpose, address, value } = step;
  const read_back = spelled(settings, end.readBack);
  return { purpose, address, value, attempts: end.attempts, code: end.code, read_back };
}

const halfWay = {
  mode: "mode_not_confirmed",
  lead_in: "lead_in_not_confirmed",
  value: null,
  stop: null,
} as const;

/** A controller may go on reading the position mode after a degree: then nothing tells whether it goes there. */
function showsModeOnly(step: Step, { readBack }: StepEnd): boolean {
  const { positionMode } = kindRows.positioner;
  const isDegree = step.purpose === "value" && degreeOf(step.value) !== null;
  return isDegree && positionMode !== null && readBack !== null && sameValue(positionMode, textOf(readBack));
}

const notShown = (step: Step, end: StepEnd, shown: string): string =>
  showsModeOnly(step, end)
    ? `The platform accepted ${step.value} for address ${step.address}, which goes on showing the position mode and no degree: that the mode was read back is all the proof there is. Nothing is sent again: check the actuator.`
    : `The platform accepted ${step.value} for address ${step.address} but shows ${shown}. Nothing is sent again: check the actuator, its local switch and the address.`;

const notTaken = (step: Step, end: StepEnd, shown: string): string =>
  showsModeOnly(step, end)
    ? `Sending ${step.value} to address ${step.address} ended without an answer, and the address goes on showing the position mode and no degree. Check the actuator before sending again.`
    : `Sending ${step.value} to address ${step.address} ended without an answer, and the platform shows ${shown}: it did not happen. Send it again if it is still wanted.`;

/** The command's end once a step did not lead on to the next, or the last one ended; null when the next step may go. */
export function endingAfter(step: Step, end: StepEnd, isLast: boolean): Ending | null {
  const rest = { requestId: end.requestId, readBack: end.readBack };
  const shown = end.readBack === null ? "nothing" : `"${String(end.readBack)}"`;
  switch (end.type) {
    case "confirmed":
      return isLast ? { outcome: "confirmed", reason: null, message: null, ...rest } : null;
    case "unconfirmed":
      return {
        outcome: "unconfirmed",
        reason: halfWay[step.purpose],
        message: notShown(step, end, shown),
        ...rest,
      };
    case "unknown":
      return {
        outcome: "unknown",
        reason: halfWay[step.purpose],
        message: `${step.value} was sent to address ${step.address} but no value could be read since. Check the actuator before sending again.`,
        ...rest,
      };
    case "rejected":
      return {
        outcome: "rejected",
        reason: end.unauthorized ? "unauthorized" : null,
        message: end.message,
        ...rest,
      };
    case "not_sent":
      return { outcome: "failed", reason: "not_sent", message: end.message, ...rest };
    case "failed":
      return {
        outcome: "failed",
        reason: halfWay[step.purpose],
        message: notTaken(step, end, shown),
        ...rest,
      };
    case "interrupted":
      return { ...superseded("after_sending"), ...rest };
  }
}
