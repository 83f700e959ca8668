import type { Text } from "../language/text.js";
/*
 * Limits of an actuator's commands, as configured and as shown; their rules are in `src/limits`. They are no safety
 * layer, as they need this computer, the internet and the platform.
 */

/** The source of a guard's value. `controller`: topic id or device code; null for the guard's own controller. */
export type GuardInput =
  | { readonly type: "weather"; readonly name: string }
  | {
      readonly type: "sensor" | "actuator" | "status";
      readonly controller: string | null;
      readonly id: string;
    };

export type GuardCondition =
  | { readonly type: "above" | "below"; readonly limit: number; readonly clearAt: number }
  | { readonly type: "is" | "is_not"; readonly words: readonly string[] }
  | { readonly type: "moving" };

export interface DegreeRange {
  readonly min: number;
  readonly max: number;
}

/** A degree or range of degrees as a guard has it, such as `45` or `0..10`; null for anything else. */
export function degreesIn(text: string): DegreeRange | null {
  const [, from, to = from] = /^(\d{1,3})(?:\.\.(\d{1,3}))?$/.exec(text) ?? [];
  return from === undefined ? null : { min: Number(from), max: Number(to) };
}

/** The commands that stay allowed; `stop` always is. */
export interface Allowance {
  /** Command words of the kind. */
  readonly words: readonly string[];
  readonly degrees: DegreeRange | null;
}

/** `blind: act`: a value that is not good also makes the guard send its command. */
export interface Guard {
  readonly name: string;
  readonly input: GuardInput;
  /** The input as it was configured. */
  readonly from: string;
  readonly condition: GuardCondition;
  readonly clearAfterMs: number;
  readonly allow: Allowance;
  /** The command sent when the condition becomes true. */
  readonly sends: string | null;
  readonly actsBlind: boolean;
}

export interface Limits {
  readonly restMs: number;
  readonly reversalMs: number;
  readonly startsPerHour: number | null;
  /** The duration of a command that names none. */
  readonly forMs: number | null;
  readonly atMostMs: number | null;
  /** The word that ends a lease; null for the kind's default. */
  readonly endsWith: string | null;
  readonly guards: readonly Guard[];
}

type Shown = string | number | boolean;

/** The rule that stops something, with its numbers. `until` is an ISO time. */
export interface Interlock {
  readonly rule: string;
  readonly input: string | null;
  readonly value: Shown | null;
  readonly limit: Shown | readonly Shown[] | null;
  readonly quality: "good" | "uncertain" | "stale" | "bad" | null;
  readonly until: string | null;
}

/** Built-in rules; no guard may have one of these names. */
const ruleNames = new Set(["lock", "hold", "rest", "reversal", "starts_per_hour", "read_only"]);

export const isGuard = (rule: string): boolean => !ruleNames.has(rule);

/** What may be commanded now, and why nothing else. */
export interface Allowed {
  readonly words: readonly string[];
  readonly degrees: DegreeRange | null;
  readonly because: readonly Interlock[];
}

export interface LockShown {
  readonly by: string;
  /** As in a result. */
  readonly via: string | Readonly<Record<string, string | null>> | null;
  readonly reason: string | null;
  readonly since: string;
  readonly until: string | null;
}

export interface LeaseShown {
  readonly command: string;
  readonly until: string;
  readonly ends_with: string;
  readonly id: string;
  readonly by: string | null;
}

/** The limits in force for an actuator. */
export interface Restrictions {
  readonly allowed: Allowed;
  readonly lock: LockShown | null;
  readonly lease: LeaseShown | null;
}

/** The newest value of a `weather` topic; `quality` is `stale` before the first. */
export interface WeatherShown {
  readonly value: Shown | null;
  readonly unit: string | null;
  readonly quality: "good" | "stale" | "bad";
  readonly received_at: string | null;
}

export type AlarmType =
  | "reading_low"
  | "reading_high"
  | "guard_blind"
  | "guard_unmet"
  | "lease_overrun"
  | "command_problem"
  | "not_running"
  | "readings_overdue"
  | "controller_offline"
  | "platform_unreachable"
  | "unauthorized"
  | "journal_unavailable"
  | "cluster"
  | "other_bridge"
  | "state_lost"
  | "crash_loop"
  | "notify_failed"
  | "settings_returned"
  | "birth_too_large"
  | "duplicate_node"
  | "flood";

export const isOfReading = (type: AlarmType): type is "reading_low" | "reading_high" =>
  type === "reading_low" || type === "reading_high";

/** The value of a reading beyond its limit, and its quality since. */
export interface ReadingFact {
  readonly name: Readonly<Record<"en" | "zh", string>>;
  readonly value: number;
  readonly limit: number;
  readonly unit: string | null;
  /** Quality of the newest reading; only a good one shows whether it is still so. */
  readonly quality: "good" | "uncertain" | "stale" | "bad";
  /** The sensor was missing in answers for a day, which ended the alarm. */
  readonly gone?: true;
}

/** The facts in an alarm's message, for other languages. */
export interface AlarmFacts {
  /** Guards without a value, or not obeyed; `sends` is the command of one that was not obeyed. */
  readonly guards?: readonly {
    readonly rule: string;
    readonly input: string;
    readonly quality: Interlock["quality"];
    readonly sends: string | null;
  }[];
  /** The message with the names of what guards look at, for people; absent where it names none. */
  readonly said?: string;
  /** The owner of the lock that stops a guard's command. */
  readonly locked_by?: string;
  /** A command that ended badly, or whose time is over. */
  readonly command?: string | null;
  readonly outcome?: string;
  readonly ends_with?: string;
  /** Late reads, and late topics below the controller's. */
  readonly late?: readonly string[];
  readonly reading?: ReadingFact;
  /** Ways of the section notify by which messages do not get out, and why. */
  readonly ways?: readonly { readonly name: string; readonly service: string; readonly problem: Text }[];
  /** Why settings were undone. */
  readonly why?: Text;
  /** Raised by an earlier run, and not judged by this one yet. */
  readonly carried?: boolean;
}

/** The worst first. */
export const severities = ["error", "warning", "info"] as const;

export interface Alarm {
  readonly id: string;
  readonly type: AlarmType;
  readonly state: "active" | "acknowledged" | "cleared";
  /** When it was raised, ISO time. */
  readonly since: string;
  readonly severity: (typeof severities)[number];
  readonly controller: string | null;
  readonly actuator: string | null;
  /** Only for an alarm on a reading. */
  readonly sensor?: string | undefined;
  readonly message: string;
  readonly remedy: string;
  /** Who acknowledged it. */
  readonly by: string | null;
  /** Epoch ms; null while it is on. Not published. */
  readonly clearedAt: number | null;
  /** Only the page shows it; absent where the message names nothing. */
  readonly facts?: AlarmFacts | undefined;
}

/** The actuator id of a lock of the whole controller. */
export const wholeController = "";

/** The subject of alarms about no controller. */
export const bridgeItself = { controller: null, actuator: null } as const;
