import type { CommandResult, Outcome } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { at, having } from "../runtime/table.js";
import { laneKey, type LaneProblem, note, type ProblemReason, type Turn } from "./book.js";
import type { Target } from "./command.js";

/* What the outcomes of commands mean for people: an event with what to check, and the problem of a target. */

interface Consequence {
  /** What people are told with. */
  readonly event: BridgeEvent["type"] | null;
  /** Whether it turns the problem of its target on or off; null leaves that as it is. */
  readonly problem: boolean | null;
}

const nothing: Consequence = { event: null, problem: null };
const solved: Consequence = { event: null, problem: false };

/** Whether an outcome says that the command went wrong. */
export const isProblem = (outcome: Outcome): boolean => consequences[outcome].problem === true;

const consequences: Readonly<Record<Outcome, Consequence>> = {
  confirmed: solved,
  already: solved,
  dry_run: nothing,
  refused: nothing,
  superseded: nothing,
  rejected: { event: "command_rejected", problem: true },
  unconfirmed: { event: "command_unconfirmed", problem: true },
  failed: { event: "command_failed", problem: true },
  unknown: { event: "command_unconfirmed", problem: true },
};

/** What a person should be told of a command's end, with what to check; null when it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  const { event: type } = consequences[result.outcome];
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

const targets = ["actuator", "parameter", "address"] as const;

/* Which targets' newest sent command ended badly; a controller's flag is on while any of its targets is among them. */

export function problemEnded(turn: Turn, about: Target, result: CommandResult): void {
  const { problem } = consequences[result.outcome];
  // The problem is that of the newest command sent; of one that failed before that nothing was.
  if (problem === true && result.outcome === "failed" && result.steps.length === 0) return;
  if (problem === true) raiseProblem(turn, about, { ...reasonOf(result), at: turn.now.at });
  else if (problem === false) clearProblem(turn, about);
}

const reasonOf = ({ command, outcome, reason, message }: CommandResult) => ({
  command,
  outcome,
  reason,
  message,
});

export function raiseProblem(turn: Turn, about: Target, why: ProblemReason): void {
  const lane = laneKey(about);
  const others = (at(turn.book.problems, about.code) ?? []).filter((one) => one.lane !== lane);
  replaceProblems(turn, about.code, [...others, { lane, problem: { actuator: about.targetId, ...why } }]);
}

export function clearProblem(turn: Turn, about: Target): void {
  const open = at(turn.book.problems, about.code) ?? [];
  if (open.length === 0) return;
  replaceProblems(
    turn,
    about.code,
    open.filter(({ lane }) => lane !== laneKey(about)),
  );
}

/** A person has seen it: one target's problem, or all of the controller's. */
export function acknowledge(turn: Turn, code: string, targetId: string | null): void {
  const seen = targetId === null ? null : targets.map((target) => laneKey({ code, target, targetId }));
  const open = at(turn.book.problems, code) ?? [];
  replaceProblems(turn, code, seen === null ? [] : open.filter(({ lane }) => !seen.includes(lane)));
  const record = { type: "acknowledged", controller: code, actuator: targetId, by: null, via: null } as const;
  note(turn, record, { quiet: true });
}

function replaceProblems(turn: Turn, code: string, open: readonly LaneProblem[]): void {
  for (const { lane } of [...(at(turn.book.problems, code) ?? []), ...open]) turn.touched.add(lane);
  turn.book.problems = having(turn.book.problems, code, open);
  showProblem(turn, code);
}

/** Brings the controller's flag up to date, also when it was only just admitted. */
export function showProblem(turn: Turn, code: string): void {
  const open = (at(turn.book.problems, code) ?? []).map(({ problem }) => problem);
  turn.effects.push({ type: "problem", code, open });
}
