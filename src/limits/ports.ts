import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { AlarmFacts, AlarmType } from "../greenhouse/limits.js";
import type { DiskPorts } from "./on-disk.js";
import type { Around } from "./rules/guards.js";
import type { DueSend } from "./rules/upkeep.js";

/** What a rule has the bridge send. */
export interface RuleCommand extends DueSend {
  readonly controllerId: string;
  readonly actuator: string;
}

export interface EnginePorts extends DiskPorts {
  readonly weather: Configuration["weather"];
  /** How old a reading of the platform may be, ms. */
  readonly staleAfterMs: number;
  readonly readOnly: () => Around["readOnly"];
  /** How far the platform's clock is ahead, ms; null while that is not known. */
  readonly clockSkewMs: () => number | null;
  readonly newId: () => string;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Raises an alarm about an actuator, or with null takes it back. */
  readonly alarm: (
    type: AlarmType,
    about: { readonly controller: string; readonly actuator: string },
    message: string | null,
    facts?: AlarmFacts,
  ) => void;
  readonly submit: (command: RuleCommand) => void;
  /** What waits at the actuator is judged anew. */
  readonly recheck: (key: string) => void;
  /** Calls back once requests begun by now are out; within this task when absent. */
  readonly later?: (tell: () => void) => void;
}
