import { msg, type Text, row } from "../../language/text.js";
import type { Interlock } from "../limits.js";

/** Outcomes with the platform showing what was asked for. */
const goodOutcomes = ["confirmed", "already"] as const;
/** Outcomes of commands that were sent or about to be, without the value shown. */
const badOutcomes = ["rejected", "unconfirmed", "failed", "unknown"] as const;

/** All outcomes of a command; a closed list. */
export const outcomes = [...goodOutcomes, "dry_run", "refused", "superseded", ...badOutcomes] as const;
export type Outcome = (typeof outcomes)[number];
export type BadOutcome = (typeof badOutcomes)[number];

const good: ReadonlySet<Outcome> = new Set(goodOutcomes);
const bad: ReadonlySet<Outcome> = new Set(badOutcomes);
export const isGood = (outcome: Outcome): boolean => good.has(outcome);
export const isBad = (outcome: Outcome): outcome is BadOutcome => bad.has(outcome);

export const refusalReasons = [
  "retained",
  "expired",
  "no_age",
  "no_sender",
  "clock",
  "duplicate",
  "bad_payload",
  "unknown_actuator",
  "unknown_command",
  "out_of_range",
  "read_only",
  "controller_offline",
  "platform_unavailable",
  "no_read_back",
  "journal_unavailable",
  "overloaded",
  "other_bridge",
  "interlock",
  "shutting_down",
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** A sentence about what is wrong and what to do. */
  readonly message: Text;
}

export type StepPurpose = "mode" | "lead_in" | "value" | "stop";

/** One value POSTed to one address, as in a result. */
export interface StepReport {
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
  readonly attempts: number;
  readonly code: string | null;
  readonly read_back: string | null;
}

/** What the bridge itself knows about the sender: a text, or named facts such as `{client, user}`. */
export type Via = string | Readonly<Record<string, string | null>> | null;

/** The published and journaled result of a command; every field is always present. */
export interface CommandResult {
  readonly id: string;
  readonly controller: string;
  readonly actuator: string;
  readonly command: string | null;
  readonly value: string | null;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly message: Text | null;
  readonly request_id: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly steps: readonly StepReport[];
  readonly read_back: string | null;
  readonly received_at: string;
  readonly sent_at: string | null;
  readonly finished_at: string;
  readonly duration_ms: number;
  readonly repeated: boolean;
  /** The rule that stopped it, with its numbers; null in all others. */
  readonly interlock: Interlock | null;
  /** `pulse`: its register returned to idle, as configured; absent where the register shows the value. */
  readonly proof?: "pulse";
  /** How many unread commands of a flood ended with this one result. */
  readonly count?: number;
  /** The senders' ids of the first of them; the others are only counted. */
  readonly ids?: readonly string[];
  /** In the answer to a duplicate: the first result, or null while it is open. */
  readonly original?: CommandResult | null;
}

/** The part of a result that people see. */
export type ToldResult = Pick<
  CommandResult,
  "controller" | "actuator" | "command" | "outcome" | "reason" | "message" | "read_back" | "duration_ms"
>;

/**
 * A result as a line on a terminal: `gh-0001/roof 45 → confirmed after 0.9 s, the platform shows 45`. `paint` may
 * colour the outcome; `say` translates its message.
 */
export function resultSentence(
  result: ToldResult,
  paint = (outcome: Outcome): Text => outcome,
  say = (message: Text): Text => message,
): Text {
  const { controller, actuator, command, outcome, reason, message, read_back, duration_ms } = result;
  const what = [`${controller}/${actuator}`, command ?? []].flat().join(" ");
  const why = reason === null ? "" : ` (${reason})`;
  const shows = read_back === null ? "" : msg`, the platform shows ${read_back}`;
  const more = message === null ? "" : msg`: ${say(message)}`;
  const took = msg`after ${(duration_ms / 1000).toFixed(1)} s`;
  return row`${what} → ${paint(outcome)}${why} ${took}${shows}${more}`;
}
