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

/** What a rule has the bridge send. */
export interface RuleCommand extends DueSend {
  readonly controllerId: string;
  readonly actuator: string;
}

/** The book of commands, whose lanes limits are part of. */
interface LimitBook {
  /** Within this task, unless it deals with something else just now. */
  feedSoon(input: LimitInput): void;
  /** What limits the actuator of a lane now; null for one that the configuration does not have, unless an earlier run left something. */
  limitsOf(key: string): Entry | null;
  /** All that a lane must remember, as a record. */
  laneRecord(key: string): RecordBody;
  /** Of every lane that has something to be remembered of it. */
  readonly limited: readonly Entry[];
  /** What limits of a controller's actuators look at now; null for one that is not there. */
  context(code: string): LimitContext | null;
}

/** What no part tells of by itself, looked at now and then. */
export interface WatchedFacts {
  /** Why the journal cannot be written; null while it can. */
  readonly journalProblem: string | null;
  /** Null while this run cannot know yet. */
  readonly otherBridge: boolean | null;
  /** What is to be told of a crash loop; null for none. */
  readonly crashLoop: string | null;
  /** By controller (topic id); null for the account's own list. What is in neither list is not known yet. */
  readonly overdue: () => {
    readonly late: readonly { readonly controller: string | null; readonly what: string }[];
    readonly upToDate: ReadonlySet<string | null>;
  };
  /** Whether it is certain that there is no such controller (topic id) any more. */
  readonly isGone: (controller: string) => boolean;
}

export interface LimitPorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly configuration: Pick<CoreConfiguration, "weather"> & {
    readonly polling: Pick<CoreConfiguration["polling"], "stale_after">;
  };
  readonly readOnly: () => LimitContext["readOnly"];
  /** An id of this run, with which those of what rules send begin. */
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
  /** The keeper of retained topics. */
  readonly retained: { wanted(topic: string, payload: string): void };
  readonly onEvent: (event: BridgeEvent) => void;
  readonly topics: {
    alarm(id: string): string;
    readonly bridge: { readonly alarms: string };
    readonly alarms: string;
  };
  /** Whether the platform has listed the controllers since the start. */
  readonly isAccountKnown: () => boolean;
  /** Whether another bridge works for the same account; null while that cannot be known. */
  readonly otherBridge: () => WatchedFacts["otherBridge"];
  /** What is to be told of a crash loop; null for none. */
  readonly crashLoop?: () => WatchedFacts["crashLoop"];
  /** What is read too late. */
  readonly overdue: WatchedFacts["overdue"];
  /** What the next run has to know of readings beside their alarms. */
  readonly readingsKept: TextFile;
  readonly log: Logger;
  /** When the newest answer about a controller's readings came, monotonic ms; null before the first. */
  readonly readingsAnsweredAt?: (code: string) => number | null;
  /** The journal is a cluster's, so that its records may be by the clock of another computer. */
  readonly isOfCluster?: boolean;
}
