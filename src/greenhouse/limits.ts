import type { Text } from "../language/text.js";
/*
 * What narrows the commands of an actuator: as the configuration says it, and as it is shown. The rules themselves are in
 * `src/limits`. They are not a safety layer: they need this computer, the internet and the platform.
 */

/** Where a guard's value comes from. `controller` is a topic id or a device code; null for the guard's own. */
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

/** What stays allowed; `stop` always is. */
export interface Allowance {
  /** Command words of the kind. */
  readonly words: readonly string[];
  readonly degrees: DegreeRange | null;
}

/** `blind: act`: a value that is not good also sends what the guard sends. */
export interface Guard {
  readonly name: string;
  readonly input: GuardInput;
  /** The input as it was configured. */
  readonly from: string;
  readonly condition: GuardCondition;
  readonly clearAfterMs: number;
  readonly allow: Allowance;
  /** The command that is sent when the condition begins to hold. */
  readonly sends: string | null;
  readonly actsBlind: boolean;
}

export interface Limits {
  readonly restMs: number;
  readonly reversalMs: number;
  readonly startsPerHour: number | null;
  /** How long each command lasts that names no time of its own. */
  readonly forMs: number | null;
  readonly atMostMs: number | null;
  /** The word that ends a lease; null for the kind's own. */
  readonly endsWith: string | null;
  readonly guards: readonly Guard[];
}

type Shown = string | number | boolean;

/** Which rule keeps something back, and its numbers. `until` is an ISO time. */
export interface Interlock {
  readonly rule: string;
  readonly input: string | null;
  readonly value: Shown | null;
  readonly limit: Shown | readonly Shown[] | null;
  readonly quality: "good" | "uncertain" | "stale" | "bad" | null;
  readonly until: string | null;
}

/** Rules that have no name of their own; no guard has one of these. */
const ruleNames = new Set(["lock", "hold", "rest", "reversal", "starts_per_hour", "read_only"]);

/** Whether what keeps something back is a guard. */
export const isGuard = (rule: string): boolean => !ruleNames.has(rule);

/** What may be commanded now, and why no more. */
export interface Allowed {
  readonly words: readonly string[];
  readonly degrees: DegreeRange | null;
  readonly because: readonly Interlock[];
}

export interface LockShown {
  readonly by: string;
  /** As a result has it. */
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

/** What is in force for an actuator. */
export interface Restrictions {
  readonly allowed: Allowed;
  readonly lock: LockShown | null;
  readonly lease: LeaseShown | null;
}

/** The newest value of a `weather` topic; `quality` is `stale` before there is one. */
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

/** What a reading was beyond, and how it is read since. */
export interface ReadingFact {
  readonly name: Readonly<Record<"en" | "zh", string>>;
  readonly value: number;
  readonly limit: number;
  readonly unit: string | null;
  /** Of the newest reading; only of a good one is known whether it is so still. */
  readonly quality: "good" | "uncertain" | "stale" | "bad";
  /** Answers have not listed its sensor for a day, which ended the alarm. */
  readonly gone?: true;
}

/** What an alarm's message names, for who tells it in another language. */
export interface AlarmFacts {
  /** Guards without a value, or not obeyed; `sends` is the command of one that was not. */
  readonly guards?: readonly {
    readonly rule: string;
    readonly input: string;
    readonly quality: Interlock["quality"];
    readonly sends: string | null;
  }[];
  /** The owner of the lock that keeps back what a guard sends. */
  readonly locked_by?: string;
  /** A command that ended as it should not, or whose time is over. */
  readonly command?: string | null;
  readonly outcome?: string;
  readonly ends_with?: string;
  /** Reads, and topics below the controller's. */
  readonly late?: readonly string[];
  readonly reading?: ReadingFact;
  /** Why settings were taken back. */
  readonly why?: Text;
  /** An earlier run raised it, and this one has not judged yet whether it is so still. */
  readonly carried?: boolean;
}

export interface Alarm {
  readonly id: string;
  readonly type: AlarmType;
  readonly state: "active" | "acknowledged" | "cleared";
  /** ISO time at which it was raised. */
  readonly since: string;
  readonly severity: "info" | "warning" | "error";
  readonly controller: string | null;
  readonly actuator: string | null;
  /** Of an alarm on a reading; absent in all others. */
  readonly sensor?: string | undefined;
  readonly message: string;
  readonly remedy: string;
  /** Who acknowledged it. */
  readonly by: string | null;
  /** Epoch ms; null while it is on. Not shown. */
  readonly clearedAt: number | null;
  /** Shown by the page alone; absent where the message names nothing. */
  readonly facts?: AlarmFacts | undefined;
}

/** Stands for an actuator's id where a lock is one of the whole controller. */
export const wholeController = "";

/** What an alarm is about that no controller has. */
export const bridgeItself = { controller: null, actuator: null } as const;
