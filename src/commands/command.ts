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

/** Where a command came from and where else its answer goes. */
interface CommandSource {
  /** The claim of who asks. */
  readonly by: string | null;
  /** What the bridge knows of the sender. */
  readonly via: Via;
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

/** What a command is for, by the controller's device code. */
export interface Target {
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
}

/** The same with the controller's topic id. */
export interface Addressed extends Target {
  readonly controllerId: string;
}

/** The target of commands for a controller that were only counted: nobody looked which of its actuators they name. */
export const forAnyActuator = (code: string, controllerId: string): Addressed => ({
  ...{ code, controllerId, target: "actuator", targetId: "*" },
});

/** A command as it arrives, before anybody has read its payload. */
export interface CommandRequest extends CommandSource, Omit<Addressed, "code"> {
  readonly payload: Uint8Array;
  /** That it goes by where its payload has none; a new one where absent. */
  readonly givenId?: string;
  readonly retained: boolean;
  readonly expiryMs: number | null;
  /** How old it may be already, ms, where the process stood still before it was read. */
  readonly ageMs?: number | undefined;
  /** The broker kept it, and may have given it before to whoever ran the account then. */
  readonly isKept?: boolean;
  /** Epoch ms at which its sender made it, where that does not stand in the payload. */
  readonly at?: number | null;
  /** Why its edge could not read a command out of what came. */
  readonly unreadable?: string | undefined;
  /** A rule of the limits sends it: it grows not old, waits for no pause, and 200 ms for the disk. */
  readonly rule?: "guard" | "lease";
}

/** A command that was taken. `…Mono` instants are monotonic ms, `receivedAt` is epoch ms. */
export interface Command extends CommandSource, Addressed {
  readonly id: string;
  readonly ownId: boolean;
  readonly settings: ActuatorSettings;
  readonly wanted: Wanted;
  readonly payloadKey: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** A stop above the target's allowance: taken all the same, but one of too many to be journaled each. */
  readonly isOfFlood?: boolean;
  /** Taken by an earlier run of the program; it is only read back. */
  readonly isRecovered?: true;
  /** For how long it counts; null where it has no time of its own. */
  readonly term: Term | null;
  /** As in the request; null where a sender asked for it. */
  readonly rule: "guard" | "lease" | null;
  readonly receivedAt: number;
  readonly receivedMono: number;
  /** The first POST must have begun by then. */
  readonly deadlineMono: number;
}

export type Phase = "waiting" | "checking" | "sending" | "confirming" | "done";

/** What the journal knows of a command the last run did not finish. */
export interface Interrupted {
  readonly command: Command;
  /** The last step planned: what was asked for. */
  readonly step: Step;
  /** The mode or lead-in, where it had been sent. */
  readonly earlier: readonly StepReport[];
  /** Recorded POSTs of the last step. */
  readonly attempts: number;
  /** The platform's code for the last POST; null when no answer was recorded. */
  readonly code: string | null;
  /** It was answered, and taken; an answer may say so without a code. */
  readonly isAccepted?: boolean;
  readonly requestId: string | null;
  /** Epoch ms of the first recorded POST; null when none was recorded, although one may have begun. */
  readonly sentAt: number | null;
}

/** What an actuator was last known to rest at, and a degree or foreign value that may only be passing. */
export interface Resting {
  /** `unknown`: a foreign value. */
  readonly state: string;
  readonly position: number | null;
  readonly passing: number | string | null;
}

interface CommandJournal {
  append(record: RecordBody, options: { readonly durable: Durable }): Promise<number>;
  state(): { readonly available: boolean; readonly reason: Text | null };
  /** Whether the journal holds the command without a result, so that a next start would end it. */
  isOpen(about: About, id: string): boolean;
  /** Whether it also has a record that it began to be checked, by which the next start tells whether the machine ended since. */
  isChecked(about: About, id: string): boolean;
}

export interface CommandPlatform extends Pick<PlatformReader, "connection" | "value">, PlatformWriter {
  /** One new sign-in after a refusal; whether there is another credential to try. */
  renewCredential(signal: AbortSignal): Promise<boolean>;
}

export type ResultAddressee = Addressed & Pick<CommandRequest, "response">;

/** Where a command's life is shown. Nothing here may throw. */
export interface CommandOutput {
  phase(command: Command, phase: Phase): void;
  /** `sequence` is the journal's number of the result; null when it could not be journaled or was only counted. */
  result(
    result: CommandResult,
    about: ResultAddressee,
    sequence: number | null,
    /** Of a message that was not taken. */
    isRefusal: boolean,
  ): void;
  event(event: BridgeEvent): void;
}

export interface CommanderPorts {
  readonly platform: CommandPlatform;
  readonly store: GreenhouseStore;
  readonly journal: CommandJournal;
  /** Why no commands are taken here for a target, by its key in the journal, of a member of a cluster; null where they are. */
  readonly notTaking?: ((lane: string) => string | null) | undefined;
  readonly output: CommandOutput;
  /** Told once it is kept that a command was taken; where absent nothing waits for that. */
  readonly onRecorded?: ((command: CommandTaken) => void) | undefined;
  readonly clock: Clock;
  /** Whether the process stood still; where absent it never did. */
  readonly gaps?: Pick<Gaps, "newest"> | undefined;
  readonly log: Logger;
  readonly newId: () => string;
  /** Takes a line of each command taken and of each result. */
  readonly commandLog?: Pick<Logger, "info"> | undefined;
  /** How far the platform's clock is ahead, ms; null while that is not known. */
  readonly clockSkewMs: () => number | null;
  /** Looked up for every command, so that a reloaded configuration counts at once. */
  readonly rules: () => CommandRules;
  /** What limits the commands of actuators. */
  readonly limits?: CommandLimits | undefined;
}

/** How actuators are limited, and who shows it. */
interface CommandLimits {
  readonly settings: LimitSettings;
  /** Whether the bridge has begun to send what rules ask for. */
  readonly mayRulesSend: boolean;
  /** What limits a lane has changed. */
  onLimitsChange(key: string): void;
}

export type CommandRules = CoreConfiguration["commands"] & {
  /** `read_only` as it is configured: what the program gave itself keeps back no lease's end and nothing that a guard sends. */
  readonly readOnlyForRules: boolean;
  /** Why it is read-only, where that is not configured. */
  readonly readOnlyBecause?: string | null;
  /** Another bridge works for the same account, so that nothing but a stop is taken. */
  readonly otherBridge: boolean;
};

/** A request with all that is known at its arrival. */
export interface Arrived {
  readonly request: CommandRequest;
  readonly code: string;
  /** How the target is commanded, or why it cannot be. */
  readonly target: ActuatorSettings | Refusal;
  /** The id it goes by where its sender gave none. */
  readonly id: string;
  readonly rules: CommandRules;
  readonly clockTrusted: boolean;
  readonly journal: ReturnType<CommandJournal["state"]>;
  /** A sentence, where another member of a cluster may be the one that takes commands; null where none is. */
  readonly notTaking?: string | null;
}
