import { decodeValue, textOf } from "../greenhouse/actuator-values.js";
import type {
  CommandResult,
  Outcome,
  RefusalReason,
  StepReport,
  Via,
} from "../greenhouse/command/outcomes.js";
import { canonical, type Wanted } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { RawValue } from "../greenhouse/ports.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Command } from "./command.js";

/** How a command ended, in the words of the result. */
export interface Ending {
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly message: string | null;
  readonly requestId?: string | null;
  readonly steps?: readonly StepReport[];
  readonly readBack?: RawValue | null;
  /** Epoch ms of the first POST. */
  readonly sentAt?: number | null;
  /** Its turn never came, so that the journal has no record of it to be closed. */
  readonly waited?: true;
  /** The rule of the limits that kept it back. */
  readonly interlock?: Interlock | undefined;
}

/** What a command that gives way has to tell of its POSTs. */
export type SentSoFar = Pick<Ending, "steps" | "sentAt" | "requestId">;

/** `requestId`: the platform's, where it is the platform that stands in the way. */
export const refused = (reason: RefusalReason, message: string, requestId: string | null = null): Ending => ({
  outcome: "refused",
  reason,
  message,
  requestId,
});

/** Kept back by the limits before anything was sent. */
export const interlocked = (rule: { readonly message: string; readonly interlock: Interlock }): Ending => ({
  ...refused("interlock", rule.message),
  interlock: rule.interlock,
});

export const shuttingDown = (): Ending =>
  refused("shutting_down", "The bridge is shutting down; send the command again when it is back.");

export const dryStop = (): Ending => ({
  outcome: "dry_run",
  reason: null,
  message: "A dry run sends nothing, not even a stop.",
});

export const superseded = (when: "before_sending" | "after_sending"): Ending => ({
  outcome: "superseded",
  reason: when,
  message:
    when === "before_sending"
      ? "A newer command took its place before anything was sent."
      : "A newer command took its place after its value had been sent.",
});

/** Neither takes the place of those that waited with it. */
export const leavesPlace = ({ outcome }: Ending): boolean => outcome === "refused" || outcome === "dry_run";

export const wantedValue = (wanted: Wanted): string =>
  wanted.type === "position" ? String(wanted.degree) : wanted.value;

/** The table's spelling where the kind decodes it. */
export const spelled = (settings: ActuatorSettings, raw: RawValue | null): string | null =>
  raw === null ? null : decodeValue(settings, raw).value || textOf(raw);

export interface Asked {
  readonly id: string;
  readonly controllerId: string;
  readonly targetId: string;
  readonly command: string | null;
  readonly value: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly receivedAt: number;
  readonly receivedMono: number;
  readonly settings: ActuatorSettings | null;
}

/** A command of an earlier run that is not read back, with what can still be told of it. */
export interface Abandoned {
  /** Its id came from its sender. */
  readonly ownId: boolean;
  readonly about: Pick<Command, "code" | "target" | "targetId">;
  readonly asked: Asked;
  readonly ending: Ending;
}

export const askedBy = (command: Command): Asked => ({
  id: command.id,
  controllerId: command.controllerId,
  targetId: command.targetId,
  command: canonical(command.wanted),
  value: wantedValue(command.wanted),
  by: command.by,
  via: command.via,
  receivedAt: command.receivedAt,
  receivedMono: command.receivedMono,
  settings: command.settings,
});

export function resultOf(asked: Asked, ending: Ending, now: number, monoNow: number): CommandResult {
  const readBack = ending.readBack ?? null;
  return {
    id: asked.id,
    controller: asked.controllerId,
    actuator: asked.targetId,
    command: asked.command,
    value: asked.value,
    outcome: ending.outcome,
    reason: ending.reason,
    message: ending.message,
    request_id: ending.requestId ?? null,
    by: asked.by,
    via: asked.via,
    steps: ending.steps ?? [],
    read_back: asked.settings
      ? spelled(asked.settings, readBack)
      : readBack === null
        ? null
        : textOf(readBack),
    received_at: iso(asked.receivedAt),
    sent_at: ending.sentAt ? iso(ending.sentAt) : null,
    finished_at: iso(now),
    duration_ms: Math.max(0, Math.round(monoNow - asked.receivedMono)),
    repeated: false,
    interlock: ending.interlock ?? null,
  };
}

const iso = (at: number) => new Date(at).toISOString();

/* What the log says of commands: who asked what of whom, and what became of it. */

export function takenLine(command: Command) {
  const { id, controllerId: controller, targetId: actuator, by, via } = command;
  const { command: word, value } = askedBy(command);
  return { id, controller, actuator, command: word, value, by, via };
}

export function endedLine(result: CommandResult) {
  const { id, controller, actuator, command, value, outcome, reason, by, via } = result;
  return { id, controller, actuator, command, value, outcome, reason, by, via };
}
