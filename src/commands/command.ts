import type { Configuration } from "../config/schema.js";
import type { CommandResult, Refusal, Via } from "../greenhouse/command/outcomes.js";
import type { Wanted } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { PlatformReader, PlatformWriter } from "../greenhouse/ports.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { About, RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";

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
  readonly target: "actuator" | "parameter" | "address";
  readonly targetId: string;
}

/** The same with the controller's topic id. */
export interface Addressed extends Target {
  readonly controllerId: string;
}

/** A command as it arrives, before anything is known of it. */
export interface CommandRequest extends CommandSource, Omit<Addressed, "code"> {
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly expiryMs: number | null;
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
  readonly receivedAt: number;
  readonly receivedMono: number;
  /** The first POST must have begun by then. */
  readonly deadlineMono: number;
}

export type Phase = "waiting" | "checking" | "sending" | "confirming" | "done";

export const laneKey = ({ code, target, targetId }: Target) => `${code} ${target} ${targetId}`;

interface CommandJournal {
  append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  state(): { readonly available: boolean; readonly reason: string | null };
  /** Whether the journal holds the command without a result, so that a next start would end it. */
  isOpen(about: About, id: string): boolean;
}

export interface CommandPlatform extends Pick<PlatformReader, "connection" | "value">, PlatformWriter {
  /** One new sign-in after a refusal; whether there is another credential to try. */
  renewCredential(signal: AbortSignal): Promise<boolean>;
}

export type ResultAddressee = Pick<CommandRequest, "controllerId" | "target" | "targetId" | "response">;

/** Where a command's life is shown. Nothing here may throw. */
export interface CommandAudience {
  phase(command: Command, phase: Phase): void;
  /** `sequence` is the journal's number of the result; null when it could not be journaled or was only counted. */
  result(result: CommandResult, about: ResultAddressee, sequence: number | null): void;
  event(event: BridgeEvent): void;
  /** After a refused or failed command whoever showed the asked state has to see the true one again. */
  showAgain(about: Target): void;
}

export interface CommanderPorts {
  readonly platform: CommandPlatform;
  readonly store: GreenhouseStore;
  readonly journal: CommandJournal;
  readonly audience: CommandAudience;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newId: () => string;
  /** Takes a line of each command taken and of each result. */
  readonly commandLog?: Pick<Logger, "info"> | undefined;
  readonly clockTrusted: () => boolean;
  readonly otherBridge: () => boolean;
  /** Looked up for every command, so that a reloaded configuration counts at once. */
  readonly rules: () => CommandRules;
}

export type CommandRules = Configuration["commands"];

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
  readonly otherBridge: boolean;
  readonly journal: ReturnType<CommandJournal["state"]>;
}
