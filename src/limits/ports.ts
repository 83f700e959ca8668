import type { CoreConfiguration } from "../settings/sections/core.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Checkpoint, RecordBody } from "../journal/records.js";
import type { Text } from "../language/text.js";
import type { Clock } from "../runtime/clock.js";
import type { TextFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { Entry, LimitInput } from "./rules/entry.js";
import type { LimitContext } from "./rules/guards.js";
import type { DueSend } from "./rules/due.js";

/** A command that a rule wants sent. */
export interface RuleCommand extends DueSend {
  readonly controllerId: string;
  readonly actuator: string;
}

/** The book of commands, whose lanes contain the limits. */
interface LimitBook {
  /** Feeds the input within this task, unless the book handles another one just now. */
  feedSoon(input: LimitInput): void;
  /** The limits of a lane's actuator; null if it is not configured and an earlier run left nothing of it. */
  limitsOf(key: string): Entry | null;
  /** Everything that a lane must remember, as a record. */
  laneRecord(key: string): RecordBody;
  /** The limits of every lane with something to remember. */
  readonly limited: readonly Entry[];
  /** What a controller's limits look at now; null if there is no such controller. */
  context(code: string): LimitContext | null;
}

/** Facts that no part reports itself, so they are checked at intervals. */
export interface WatchedFacts {
  /** Why the journal cannot be written; null while it can. */
  readonly journalProblem: string | null;
  /** Null while this run cannot know. */
  readonly otherBridge: boolean | null;
  /** The text about a crash loop; null for none. */
  readonly crashLoop: string | null;
  /** By controller (topic id); null for the account's own list. What is in neither list is unknown. */
  readonly overdue: () => {
    readonly late: readonly { readonly controller: string | null; readonly what: string }[];
    readonly upToDate: ReadonlySet<string | null>;
  };
  /** Whether this controller (topic id) certainly exists no more. */
  readonly isGone: (controller: string) => boolean;
}

export interface LimitPorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly configuration: Pick<CoreConfiguration, "weather"> & {
    readonly polling: Pick<CoreConfiguration["polling"], "stale_after">;
  };
  readonly readOnly: () => LimitContext["readOnly"];
  /** An id of this run, with which ids of rules' commands begin. */
  readonly run: string;
  readonly book: () => LimitBook;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
    state(): { readonly reason: Text | null };
    facts(): { readonly unreadable: number };
    history(): Checkpoint;
    readonly readProblem: Error | null;
    readonly newestAt: number;
  };
  /** Keeps retained topics. */
  readonly retained: { wanted(topic: string, payload: string): void };
  readonly onEvent: (event: BridgeEvent) => void;
  readonly topics: {
    alarm(id: string): string;
    readonly bridge: { readonly alarms: string };
    readonly alarms: string;
  };
  /** Whether the platform has listed the controllers since the start. */
  readonly isAccountKnown: () => boolean;
  /** Whether another bridge works for the same account; null while unknown. */
  readonly otherBridge: () => WatchedFacts["otherBridge"];
  /** The text about a crash loop; null for none. */
  readonly crashLoop?: () => WatchedFacts["crashLoop"];
  /** Reads that are late. */
  readonly overdue: WatchedFacts["overdue"];
  /** What the next run needs to know of readings beside their alarms. */
  readonly readingsKept: TextFile;
  readonly log: Logger;
  /** When the newest answer with a controller's readings came, in monotonic ms; null before the first. */
  readonly readingsAnsweredAt?: (code: string) => number | null;
  /** Whether the journal is a cluster's, so that its records may have another computer's times. */
  readonly isOfCluster?: boolean;
}
