import { type KindRow, kindRows } from "../greenhouse/actuator-kinds.js";
import { shows, showsModeOfDegree, type Step } from "../greenhouse/command/plan.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import type { RawValue } from "../greenhouse/ports.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { raiseProblem } from "./aftermath.js";
import { ask, note, type Run, type SecondLook, type SentCommand, tell, type Turn } from "./book.js";
import { recordOf } from "./command.js";
import type { Read } from "./confirm.js";
import { type Ending, spelled } from "./endings.js";

/*
 * `confirmed` says that the register showed the value. What travels is read once more when its time is over: something else,
 * a protection of the controller or a person, may have set it back meanwhile.
 */

const againMs = 30_000;
/** So long a platform that cannot be read is asked again. */
const giveUpMs = 600_000;

/** A stop with an address of its own says nothing of the state. */
function isLookedAtTwice(settings: ActuatorSettings, { address }: Pick<Step, "address">): boolean {
  const row: KindRow = kindRows[settings.kind];
  const travels = row.positionMode !== null || settings.kind === "motor";
  return travels && stateAddresses(settings).includes(address);
}

type Look = Pick<SecondLook, "command" | "step" | "endedAt">;

/** A command has ended: where it was confirmed before its travel time is over, its address is read once more then. */
export function planSecondLook(turn: Turn, run: Run, { outcome }: Ending): void {
  const { posts } = turn.lane;
  const step = run.steps.at(-1);
  const { command } = run;
  if (outcome !== "confirmed" || turn.book.closed || step === undefined || posts.endedAt === null) return;
  const at = posts.endedAt + command.settings.travelMs;
  if (turn.now.mono < at) lookAgainAt(turn, { command, step, endedAt: turn.now.at }, at);
}

/** Confirmed by an earlier run, which may have ended before it looked again. */
export function takeUpSecondLook(turn: Turn, look: Look): void {
  lookAgainAt(turn, look, turn.now.mono);
  // How long ago the last run sent it, no clock tells: until its travel time is over nothing is there already.
  turn.lane.posts = { ...turn.lane.posts, endedAt: turn.now.mono };
}

function lookAgainAt(turn: Turn, { command, step, endedAt }: Look, at: number): void {
  if (!isLookedAtTwice(command.settings, step)) return;
  turn.lane.secondLook = { command, step, endedAt, at, until: at + giveUpMs, token: null };
}

/** A newer command POSTs: what is read from now on is its doing. */
export function dropSecondLook(turn: Turn): void {
  leaveSecondLook(turn);
  turn.lane.secondLook = null;
}

/** It is left to the next start. */
export function leaveSecondLook(turn: Turn): void {
  const { secondLook } = turn.lane;
  if (secondLook === null) return;
  if (secondLook.token !== null) turn.effects.push({ type: "forget", token: secondLook.token });
  turn.lane.secondLook = { ...secondLook, at: Infinity, token: null };
}

/** Begins the read, when the travel time is over. */
export function beginSecondLook(turn: Turn): void {
  const { secondLook } = turn.lane;
  if (secondLook === null || secondLook.token !== null || turn.now.mono < secondLook.at) return;
  const { command, step } = secondLook;
  const token = ask(turn, { type: "read", command, address: step.address });
  turn.lane.secondLook = { ...secondLook, token };
}

/** `read` is null where a defect of the bridge ended it. */
export function secondLookRead(turn: Turn, secondLook: SecondLook, read: Read | null): void {
  const { command, step, until } = secondLook;
  if (read?.type !== "value") {
    const at = turn.now.mono + againMs;
    turn.lane.secondLook = at > until ? null : { ...secondLook, token: null, at };
    return;
  }
  turn.lane.secondLook = null;
  const { raw } = read;
  const isThere = shows(command.settings, step, raw) || showsModeOfDegree(command.settings, step, raw);
  if (!isThere) reverted(turn, command, step, raw);
  // So that a restart does not look again.
  else note(turn, { type: "read_back", ...recordOf(command), address: step.address, value: String(raw) });
}

/** Confirmed, and set back before its travel time was over. */
function reverted(turn: Turn, command: SentCommand, step: Step, raw: RawValue): void {
  const { id, controllerId, targetId, settings } = command;
  const value = spelled(settings, raw);
  const message = `${controllerId}/${targetId} was confirmed at ${step.value} and shows ${value ?? "nothing"} now that its travel time is over: another user, a wall switch, or the controller's own protection set it back. Nothing is sent again: check the actuator.`;
  note(turn, { type: "reverted", ...recordOf(command), value: value ?? "", message }, { quiet: true });
  raiseProblem(turn, command, {
    command: null,
    outcome: "reverted",
    reason: null,
    message,
    at: turn.now.at,
  });
  tell(turn, {
    type: "reverted",
    severity: "error",
    message,
    facts: { id, controller: controllerId, actuator: targetId, value: step.value, read_back: value },
  });
}
