import type { Text } from "../language/text.js";
import type { TargetKind } from "../greenhouse/model.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { CommandResult, Refusal, StepReport, Via } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import type { Wanted } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { PlatformReader, PlatformWriter } from "../greenhouse/ports.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { About, CommandTaken, Durable, RecordBody } from "../journal/records.js";
import type { Term } from "../limits/rules/entry.js";
import type { Clock } from "../runtime/clock.js";
import type { Gaps } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { LimitSettings } from "../limits/rules/settings.js";

/** The origin of a command, and where else its answer goes. */
interface CommandSource {
  /** The sender's own claim. */
  readonly by: string | null;
  /** The sender as the bridge knows it. */
  readonly via: Via;
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

/** The target of a command, by the controller's device code. */
export interface Target {
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
}

/** The same with the controller's topic id. */
export interface Addressed extends Target {
  readonly controllerId: string;
}

/** The target of commands to a controller that were only counted, without reading which actuator they name. */
export const forAnyActuator = (code: string, controllerId: string): Addressed => ({
  ...{ code, controllerId, target: "actuator", targetId: "*" },
});

/** A command as it arrives, before its payload is read. */
export interface CommandRequest extends CommandSource, Omit<Addressed, "code"> {
  readonly payload: Uint8Array;
  /** The id if its payload has none; a new one if absent. */
  readonly givenId?: string;
  readonly retained: boolean;
  readonly expiryMs: number | null;
  /** The greatest possible age in ms, if the process stood still before it was read. */
  readonly ageMs?: number | undefined;
  /** Whether the broker kept it, and may have given it to an earlier owner of the account. */
  readonly isKept?: boolean;
  /** Epoch ms at which its sender made it, if the payload does not say so. */
  readonly at?: number | null;
  /** Why no command could be read from the message. */
  readonly unreadable?: string | undefined;
  /** Set if a rule of the limits sends it: it never becomes too old, waits for no pause, and 200 ms for the disk. */
  readonly rule?: "guard" | "lease";
}

/** An accepted command. `…Mono` instants are monotonic ms, `receivedAt` is epoch ms. */
export interface Command extends CommandSource, Addressed {
  readonly id: string;
  readonly ownId: boolean;
  readonly settings: ActuatorSettings;
  readonly wanted: Wanted;
  readonly payloadKey: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** A stop above the target's allowance: accepted, but one of too many to be journaled each. */
  readonly isOfFlood?: boolean;
  /** Accepted by an earlier run; it is only read back. */
  readonly isRecovered?: true;
  /** How long it counts; null for no time. */
  readonly term: Term | null;
  /** As in the request; null for a sender's command. */
  readonly rule: "guard" | "lease" | null;
  readonly receivedAt: number;
  readonly receivedMono: number;
  /** The latest time for the first POST to begin. */
  readonly deadlineMono: number;
}

export type Phase = "waiting" | "checking" | "sending" | "confirming" | "done";

/** The journal's facts about a command that the last run did not finish. */
export interface Interrupted {
  readonly command: Command;
  /** The last planned step, which was asked for. */
  readonly step: Step;
  /** The mode or lead-in, if it was sent. */
  readonly earlier: readonly StepReport[];
  /** Recorded POSTs of the last step. */
  readonly attempts: number;
  /** The platform's code for the last POST; null if no answer was recorded. */
  readonly code: string | null;
  /** Whether the answer accepted it; an answer may say so without a code. */
  readonly isAccepted?: boolean;
  readonly requestId: string | null;
  /** Epoch ms of the first recorded POST; null if none was recorded, although one may have begun. */
  readonly sentAt: number | null;
}

/** The actuator's last known resting state, with a degree or foreign value that may be only passing. */
export interface Resting {
  /** `unknown` for a foreign value. */
  readonly state: string;
  readonly position: number | null;
  readonly passing: number | string | null;
}

interface CommandJournal {
  append(record: RecordBody, options: { readonly durable: Durable }): Promise<number>;
  state(): { readonly available: boolean; readonly reason: Text | null };
  /** Whether the journal has the command without a result, so that the next start would end it. */
  isOpen(about: About, id: string): boolean;
  /** Whether it also has the record of its check, by which the next start knows whether the machine ended since. */
  isChecked(about: About, id: string): boolean;
}

export interface CommandPlatform extends Pick<PlatformReader, "connection" | "value">, PlatformWriter {
  /** Signs in once more after a refusal; resolves to whether there is another credential to try. */
  renewCredential(signal: AbortSignal): Promise<boolean>;
}

export type ResultAddressee = Addressed & Pick<CommandRequest, "response">;

/** Receives the life of commands. Nothing here may throw. */
export interface CommandOutput {
  phase(command: Command, phase: Phase): void;
  /** `sequence`: the result's number in the journal; null if it was not journaled or only counted. */
  result(
    result: CommandResult,
    about: ResultAddressee,
    sequence: number | null,
    /** Whether the message was not accepted as a command. */
    isRefusal: boolean,
  ): void;
  event(event: BridgeEvent): void;
}

export interface CommanderPorts {
  readonly platform: CommandPlatform;
  readonly store: GreenhouseStore;
  readonly journal: CommandJournal;
  /** Why a cluster member accepts no commands for a target, by its key in the journal; null if it does. */
  readonly notTaking?: ((lane: string) => string | null) | undefined;
  readonly output: CommandOutput;
  /** Called once the record of an accepted command is saved; if absent, nothing waits for that. */
  readonly onRecorded?: ((command: CommandTaken) => void) | undefined;
  readonly clock: Clock;
  /** The times when the process stood still; absent for never. */
  readonly gaps?: Pick<Gaps, "newest"> | undefined;
  readonly log: Logger;
  readonly newId: () => string;
  /** Gets a line for each accepted command and each result. */
  readonly commandLog?: Pick<Logger, "info"> | undefined;
  /** The platform's clock minus ours, in ms; null if unknown. */
  readonly clockSkewMs: () => number | null;
  /** Called for every command, so that a reloaded configuration counts at once. */
  readonly rules: () => CommandRules;
  /** Limits of actuators, if the bridge has them. */
  readonly limits?: CommandLimits | undefined;
}

/** The limits of actuators, and the part that shows them. */
interface CommandLimits {
  readonly settings: LimitSettings;
  /** Whether the bridge has begun to send for rules. */
  readonly mayRulesSend: boolean;
  /** To be called when the limits of a lane have changed. */
  onLimitsChange(key: string): void;
}

export type CommandRules = CoreConfiguration["commands"] & {
  /**
   * `read_only` as configured: read-only by the program's own decision stops neither the end of a lease nor a guard.
   */
  readonly readOnlyForRules: boolean;
  /** Why it is read-only without being configured so. */
  readonly readOnlyBecause?: string | null;
  /** Another bridge works for the same account, so only stops are accepted. */
  readonly otherBridge: boolean;
};

/** A request with everything known at its arrival. */
export interface Arrived {
  readonly request: CommandRequest;
  readonly code: string;
  /** The target's settings, or why it takes no commands. */
  readonly target: ActuatorSettings | Refusal;
  /** The id if its sender gave none. */
  readonly id: string;
  readonly rules: CommandRules;
  readonly clockTrusted: boolean;
  readonly journal: ReturnType<CommandJournal["state"]>;
  /** Why another member of a cluster may be the one that accepts commands; null for none. */
  readonly notTaking?: string | null;
}
