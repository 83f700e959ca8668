import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { PayloadRules } from "../greenhouse/command/payload.js";
import type { TargetRules } from "../greenhouse/command/targets.js";
import type { PlatformReader, PlatformWriter } from "../greenhouse/ports.js";
import type { About, RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { GreenhouseStore } from "../bridge/store.js";
import type { Command, CommandRequest, Phase } from "./command.js";

export interface CommandJournal {
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
  showAgain(about: Pick<Command, "code" | "target" | "targetId">): void;
}

export interface CommandPorts {
  readonly platform: CommandPlatform;
  readonly store: GreenhouseStore;
  readonly journal: CommandJournal;
  readonly audience: CommandAudience;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newId: () => string;
}

export interface CommanderPorts extends CommandPorts {
  /** Takes a line of each command taken and of each result. */
  readonly commandLog?: Pick<Logger, "info"> | undefined;
  readonly clockTrusted: () => boolean;
  readonly otherBridge: () => boolean;
}

export interface CommanderSettings {
  readonly rules: CommandRules;
  readonly text: PayloadRules;
}

export interface CommandRules extends TargetRules {
  readonly readOnly: boolean;
  readonly dryRun: boolean;
  readonly maxAgeMs: number;
  readonly requireAge: boolean;
  readonly requireBy: boolean;
}
