import { kindRows } from "../greenhouse/actuator-kinds.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { shows, type Step, stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Actuator, Controller, Register } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { RecordBody } from "../journal/records.js";
import type { Effect } from "./book.js";
import { type Command, type CommandPorts, laneKey } from "./command.js";
import type { Problems } from "./problems.js";
import { spelled } from "./report.js";

/** What an actuator was last known to rest at, and a degree or foreign value that may only be passing. */
export interface Rest {
  /** `unknown`: a foreign value. */
  readonly state: string;
  readonly position: number | null;
  readonly passing: number | string | null;
}

/** What a read shows. */
export interface Sight extends Pick<Actuator, "state" | "position"> {
  /** A readable value that is in no table of the kind. */
  readonly foreign?: string | null;
}

export interface Seen {
  readonly rest: Rest | null;
  /** Set when somebody else moved it. */
  readonly moved: { readonly from: string; readonly to: string } | null;
}

/**
 * Kinds whose tables the configuration makes list only what is to be sent, so that another value may be anything; and
 * what is no digits is no control value but something unreadable.
 */
export function sightOf({ settings, state, position, value }: Actuator): Sight {
  const isForeign =
    state === "unknown" && !kindRows[settings.kind].configured && value !== null && /^\d+$/.test(value);
  return { state, position, foreign: isForeign ? value : null };
}

const nameOf = ({ state, position }: Pick<Rest, "state" | "position">) =>
  position === null ? state : String(position);

/**
 * Judges one more read of an actuator. `ours` means a command of ours is open or its travel time is not over: then
 * whatever is read is taken for its doing. A degree or a foreign value counts only when two reads in a row show it,
 * because a window on its way shows degrees it does not stop at.
 */
export function seeActuator(rest: Rest | null, sight: Sight, ours: boolean): Seen {
  const { state, position, foreign = null } = sight;
  if (state === null || (state === "unknown" && foreign === null)) return { rest, moved: null };
  const now: Rest = { state, position, passing: null };
  if (ours || rest === null) return { rest: now, moved: null };
  if (rest.state === state && rest.position === position) return { rest: now, moved: null };
  const maybePassing = foreign ?? position;
  if (maybePassing !== null && rest.passing !== maybePassing)
    return { rest: { ...rest, passing: maybePassing }, moved: null };
  if (!isSettled(rest) || isModeOnly(rest, state)) return { rest: now, moved: null };
  return { rest: now, moved: { from: nameOf(rest), to: nameOf(now) } };
}

const isSettled = ({ state }: Rest) => state !== "auto" && state !== "unknown";

const isModeOnly = (rest: Rest, state: string) =>
  rest.state === "position" && rest.position === null && state === "position";

export interface AftermathPorts extends Pick<CommandPorts, "audience" | "journal" | "clock"> {
  /** Whether a command of ours is open or its travel time is not over. */
  readonly isOurs: (actuator: Actuator, code: string) => boolean;
  readonly problems: Problems;
}

/** A value of ours that ended unconfirmed and may still come. */
export interface Awaited {
  readonly command: Pick<Command, "id" | "code" | "controllerId" | "target" | "targetId">;
  readonly settings: ActuatorSettings;
  /** The command's word or degree. */
  readonly word: string;
  readonly step: Step;
}

/** Whether the value may still come after the command has ended so. */
export const isAwaited = ({ outcome, reason }: CommandResult): boolean =>
  outcome === "unconfirmed" && reason === null;

/** Looks at every read after commands have ended: our own value that comes late, and values somebody else set. */
export class Aftermath {
  readonly #ports: AftermathPorts;
  readonly #rests = new Map<string, Rest>();
  readonly #awaited = new Map<string, Awaited>();

  constructor(ports: AftermathPorts) {
    this.#ports = ports;
  }

  ended(command: Command, result: CommandResult): void {
    const key = laneKey(command);
    if (result.sent_at !== null) this.#awaited.delete(key);
    const step = stepsOf(command.settings, command.wanted, null).at(-1);
    if (isAwaited(result) && step)
      this.await({ command, settings: command.settings, word: canonical(command.wanted), step });
  }

  await(awaited: Awaited): void {
    this.#awaited.set(laneKey(awaited.command), awaited);
  }

  changed(before: Controller | undefined, after: Controller | undefined): void {
    if (!after) return;
    if (before?.actuators !== after.actuators) {
      for (const [id, actuator] of after.actuators)
        if (before?.actuators.get(id)?.registers !== actuator.registers) this.#read(after, actuator);
    }
    if (before?.parameters !== after.parameters) {
      for (const [id, { register }] of after.parameters) this.#seen(after, "parameter", id, register);
    }
    if (before?.addresses !== after.addresses) {
      for (const [id, { register }] of after.addresses) this.#seen(after, "address", id, register);
    }
  }

  /** A parameter or raw address has no state of rest; only our own value coming late matters. */
  #seen({ info }: Controller, target: Command["target"], targetId: string, register: Register | null): void {
    const key = laneKey({ code: info.code, target, targetId });
    const late = this.#awaited.get(key);
    if (late && register && shows(late.settings, late.step, register.raw)) this.#late(key, late);
  }

  #read(controller: Controller, actuator: Actuator): void {
    const { code } = controller.info;
    const key = laneKey({ code, target: "actuator", targetId: actuator.settings.id });
    const late = this.#awaited.get(key);
    const register = late && actuator.registers[late.step.address];
    if (late && register && shows(actuator.settings, late.step, register.raw)) {
      this.#rests.set(key, {
        state: actuator.state ?? "unknown",
        position: actuator.position,
        passing: null,
      });
      this.#late(key, late);
    }
    const { rest, moved } = seeActuator(
      this.#rests.get(key) ?? null,
      sightOf(actuator),
      this.#ports.isOurs(actuator, code),
    );
    if (rest) this.#rests.set(key, rest);
    if (moved) this.#moved(controller, actuator, moved);
  }

  #late(key: string, { command, word, step }: Awaited): void {
    this.#awaited.delete(key);
    const { id, code, controllerId, target, targetId } = command;
    this.#note({
      type: "confirmed_late",
      controller: code,
      actuator: targetId,
      target,
      id,
      value: step.value,
    });
    // Not within the change that told us: a listener of the store must not dispatch.
    queueMicrotask(() => {
      this.#ports.problems.clear(command);
    });
    const message = `${controllerId}/${targetId} shows ${word} now, after the command had ended unconfirmed.`;
    this.#ports.audience.event({
      type: "confirmed_late",
      severity: "info",
      message,
      at: this.#ports.clock.now(),
      facts: { id, controller: controllerId, actuator: targetId },
    });
  }

  /** Confirmed, and set back before its travel time was over. */
  reverted({ command, step, raw }: Extract<Effect, { type: "reverted" }>): void {
    const { id, code, controllerId, target, targetId, settings } = command;
    const value = spelled(settings, raw);
    this.#note({ type: "reverted", controller: code, actuator: targetId, target, id, value: value ?? "" });
    this.#ports.problems.raise(command);
    const message = `${controllerId}/${targetId} was confirmed at ${step.value} and shows ${value ?? "nothing"} now that its travel time is over: another user, a wall switch, or the controller's own protection set it back. Nothing is sent again: check the actuator.`;
    this.#ports.audience.event({
      type: "reverted",
      severity: "error",
      message,
      at: this.#ports.clock.now(),
      facts: { id, controller: controllerId, actuator: targetId, value: step.value, read_back: value },
    });
  }

  #moved(
    { info }: Controller,
    { settings, value }: Actuator,
    { from, to }: { readonly from: string; readonly to: string },
  ): void {
    this.#note({ type: "changed_elsewhere", controller: info.code, actuator: settings.id, from, to });
    const shown = to === "unknown" ? `a value in no table of its kind, ${value ?? ""},` : to;
    const message = `${info.id}/${settings.id} went from ${from} to ${shown} without a command of this bridge: another user, a wall switch, or the controller's own protection.`;
    this.#ports.audience.event({
      type: "changed_elsewhere",
      severity: "warning",
      message,
      at: this.#ports.clock.now(),
      facts: { controller: info.id, actuator: settings.id, from, to },
    });
  }

  #note(record: RecordBody): void {
    void this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
  }
}
