import type { CoreConfiguration } from "../settings/sections/core.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { AlarmFacts, AlarmType } from "../greenhouse/limits.js";
import type { RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
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

export interface EnginePorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  };
  readonly weather: CoreConfiguration["weather"];
  /** How old a reading of the platform may be, ms. */
  readonly staleAfterMs: number;
  readonly readOnly: () => LimitContext["readOnly"];
  /** An id of this run, with which those of what rules send begin. */
  readonly run: string;
  readonly alarms: {
    /** Raises an alarm about an actuator, or with null takes it back. */
    set(
      type: AlarmType,
      about: { readonly controller: string; readonly actuator: string },
      message: string | null,
      facts?: AlarmFacts,
    ): void;
  };
  readonly book: () => LimitBook;
  readonly onEvent: (event: BridgeEvent) => void;
}
