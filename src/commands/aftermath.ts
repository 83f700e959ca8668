import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { shows, type Step, stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, Register } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";
import { type Awaited, type HeldCommand, type Lane, note, isOpen, type Turn } from "./book.js";
import { aboutOf, type Addressed, type Command } from "./command.js";
import { clearProblem, raiseProblem } from "./problems.js";
import { spelled } from "./report.js";
import { seeActuator, sightOf } from "./rest.js";

/* After commands have ended: our own value that comes late or is set back, and values somebody else set. */

/** Whether the value may still come after the command has ended so. */
export const isAwaited = ({ outcome, reason }: CommandResult): boolean =>
  outcome === "unconfirmed" && reason === null;

/** What to look for after this end; the newest command sent counts. */
export function awaitedAfter({ awaited }: Lane, command: Command, result: CommandResult): Awaited | null {
  const step = stepsOf(command.settings, command.wanted, null).at(-1);
  if (isAwaited(result) && step)
    return { command, settings: command.settings, word: canonical(command.wanted), step };
  return result.sent_at === null ? awaited : null;
}

/** A read has shown the target. A parameter or raw address has no state of rest: only our own value matters. */
export function shown(turn: Turn, about: Addressed, target: Actuator | Register): void {
  if ("settings" in target) shownActuator(turn, about, target);
  else if (turn.lane.awaited && shows(turn.lane.awaited.settings, turn.lane.awaited.step, target.raw))
    late(turn, turn.lane.awaited);
}

function shownActuator(turn: Turn, about: Addressed, actuator: Actuator): void {
  const { awaited } = turn.lane;
  const register = awaited && actuator.registers[awaited.step.address];
  if (awaited && register && shows(actuator.settings, awaited.step, register.raw)) {
    const { state, position } = actuator;
    turn.lane = { ...turn.lane, rest: { state: state ?? "unknown", position, passing: null } };
    late(turn, awaited);
  }
  const isOurs = isMoving(turn.lane, actuator.settings.travelMs, turn.now.mono);
  const { rest, moved } = seeActuator(turn.lane.rest, sightOf(actuator), isOurs);
  if (rest !== turn.lane.rest) turn.lane = { ...turn.lane, rest };
  if (moved) movedElsewhere(turn, about, actuator, moved);
}

/** Whether a command is open, or one of ours may still be moving the actuator. */
const isMoving = (lane: Lane, travelMs: number, now: number): boolean =>
  isOpen(lane) || lane.held !== null || (lane.posts.endedAt !== null && now - lane.posts.endedAt < travelMs);

function tell(turn: Turn, event: Omit<BridgeEvent, "at">): void {
  turn.effects.push({ type: "event", event: { ...event, at: turn.now.at } });
}

function late(turn: Turn, { command, word, step }: Awaited): void {
  turn.lane = { ...turn.lane, awaited: null };
  const { id, controllerId, targetId } = command;
  note(turn, { type: "confirmed_late", ...aboutOf(command), id, value: step.value }, { quiet: true });
  clearProblem(turn, command);
  tell(turn, {
    type: "confirmed_late",
    severity: "info",
    message: `${controllerId}/${targetId} shows ${word} now, after the command had ended unconfirmed.`,
    facts: { id, controller: controllerId, actuator: targetId },
  });
}

/** Confirmed, and set back before its travel time was over. */
export function reverted(turn: Turn, command: HeldCommand, step: Step, raw: RawValue): void {
  const { id, controllerId, targetId, settings } = command;
  const value = spelled(settings, raw);
  note(turn, { type: "reverted", ...aboutOf(command), id, value: value ?? "" }, { quiet: true });
  const message = `${controllerId}/${targetId} was confirmed at ${step.value} and shows ${value ?? "nothing"} now that its travel time is over: another user, a wall switch, or the controller's own protection set it back. Nothing is sent again: check the actuator.`;
  raiseProblem(turn, command, {
    ...{ command: null, outcome: "reverted", reason: null, message },
    at: turn.now.at,
  });
  tell(turn, {
    type: "reverted",
    severity: "error",
    message,
    facts: { id, controller: controllerId, actuator: targetId, value: step.value, read_back: value },
  });
}

function movedElsewhere(
  turn: Turn,
  { code, controllerId }: Addressed,
  { settings, value }: Actuator,
  { from, to }: { readonly from: string; readonly to: string },
): void {
  note(
    turn,
    { type: "changed_elsewhere", controller: code, actuator: settings.id, from, to },
    { quiet: true },
  );
  const shows = to === "unknown" ? `a value in no table of its kind, ${value ?? ""},` : to;
  tell(turn, {
    type: "changed_elsewhere",
    severity: "warning",
    message: `${controllerId}/${settings.id} went from ${from} to ${shows} without a command of this bridge: another user, a wall switch, or the controller's own protection.`,
    facts: { controller: controllerId, actuator: settings.id, from, to },
  });
}
