import type { Via } from "../greenhouse/command/outcomes.js";
import type { Wanted } from "../greenhouse/command/words.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";

/** Where a command came from and where else its answer goes. */
export interface CommandSource {
  /** The claim of who asks. */
  readonly by: string | null;
  /** What the bridge knows of the sender. */
  readonly via: Via;
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

/** A command as it arrives, before anything is known of it. */
export interface CommandRequest extends CommandSource {
  readonly controllerId: string;
  readonly target: "actuator" | "parameter" | "address";
  readonly targetId: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly expiryMs: number | null;
}

/** A command that was taken. `…Mono` instants are monotonic ms, `receivedAt` is epoch ms. */
export interface Command extends CommandSource {
  readonly id: string;
  readonly ownId: boolean;
  readonly code: string;
  readonly controllerId: string;
  readonly target: CommandRequest["target"];
  readonly targetId: string;
  readonly settings: ActuatorSettings;
  readonly wanted: Wanted;
  readonly payloadKey: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** A stop above the target's allowance: taken all the same, but one of too many to be journaled each. */
  readonly isOfFlood?: true;
  readonly receivedAt: number;
  readonly receivedMono: number;
  /** The first POST must have begun by then. */
  readonly deadlineMono: number;
}

export type Phase = "waiting" | "checking" | "sending" | "confirming" | "done";

export const laneKey = (command: Pick<Command, "code" | "target" | "targetId">) =>
  `${command.code} ${command.target} ${command.targetId}`;
