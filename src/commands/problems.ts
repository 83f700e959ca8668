import type { CommandResult, Outcome } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { type LaneProblem, note, type ProblemReason, type Turn } from "./book.js";
import { laneKey, type Target } from "./command.js";
import { at, having } from "../runtime/table.js";

const eventTypes = {
  confirmed: null,
  already: null,
  dry_run: null,
  refused: null,
  superseded: null,
  rejected: "command_rejected",
  unconfirmed: "command_unconfirmed",
  failed: "command_failed",
  unknown: "command_unconfirmed",
} as const satisfies Record<Outcome, BridgeEvent["type"] | null>;

/** What a person should be told of a command's end, with what to check; null when it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  const type = eventTypes[result.outcome];
  if (type === null) return null;
  const { controller, actuator, command, id, reason, request_id, read_back } = result;
  const message = `${controller}/${actuator} ${command ?? ""}: ${result.message ?? result.outcome}`;
  return {
    type,
    severity: "error",
    message,
    at,
    facts: { controller, actuator, command, id, reason, request_id, read_back },
  };
}

/** Whether the end turns the controller's problem flag on or off for this actuator; null leaves it as it is. */
function problemAfter({ outcome, steps }: Pick<CommandResult, "outcome" | "steps">): boolean | null {
  switch (outcome) {
    case "rejected":
    case "unconfirmed":
    case "unknown":
      return true;
    case "failed":
      // The problem is that of the newest command sent; of this one nothing was.
      return steps.length > 0 ? true : null;
    case "confirmed":
    case "already":
      return false;
    case "dry_run":
    case "refused":
    case "superseded":
      return null;
  }
}

const targets = ["actuator", "parameter", "address"] as const;

/* Which targets' newest sent command ended badly; a controller's flag is on while any of its targets is among them. */

export function problemEnded(turn: Turn, about: Target, result: CommandResult): void {
  const problem = problemAfter(result);
  if (problem === true) raiseProblem(turn, about, { ...toldOf(result), at: turn.now.at });
  else if (problem === false) clearProblem(turn, about);
}

const toldOf = ({ command, outcome, reason, message }: CommandResult) => ({
  command,
  outcome,
  reason,
  message,
});

export function raiseProblem(turn: Turn, about: Target, why: ProblemReason): void {
  const lane = laneKey(about);
  const others = (at(turn.book.problems, about.code) ?? []).filter((one) => one.lane !== lane);
  leave(turn, about.code, [...others, { lane, problem: { actuator: about.targetId, ...why } }]);
}

export function clearProblem(turn: Turn, about: Target): void {
  const open = at(turn.book.problems, about.code) ?? [];
  leave(
    turn,
    about.code,
    open.filter(({ lane }) => lane !== laneKey(about)),
  );
}

/** A person has seen it: one target's problem, or all of the controller's. */
export function acknowledge(turn: Turn, code: string, targetId: string | null): void {
  const seen = targetId === null ? null : targets.map((target) => laneKey({ code, target, targetId }));
  const open = at(turn.book.problems, code) ?? [];
  leave(turn, code, seen === null ? [] : open.filter(({ lane }) => !seen.includes(lane)));
  const record = { type: "acknowledged", controller: code, actuator: targetId, by: null, via: null } as const;
  note(turn, record, { quiet: true });
}

function leave(turn: Turn, code: string, open: readonly LaneProblem[]): void {
  turn.book.problems = having(turn.book.problems, code, open);
  showProblem(turn, code);
}

/** Brings the controller's flag up to date, also when it was only just admitted. */
export function showProblem(turn: Turn, code: string): void {
  const open = (at(turn.book.problems, code) ?? []).map(({ problem }) => problem);
  turn.effects.push({ type: "problem", code, open });
}
