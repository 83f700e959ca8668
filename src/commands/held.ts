import { stateAddresses } from "../greenhouse/actuator-fold.js";
import { kindRows, type KindRow } from "../greenhouse/actuator-kinds.js";
import { type Step, shows } from "../greenhouse/command/plan.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { ask, type Effect, type Held, type HeldCommand, type Read, type Run, type Turn } from "./book.js";
import type { Ending } from "./report.js";

/*
 * `confirmed` says that the register showed the value. What travels is read once more when its time is over: something else,
 * a protection of the controller or a person, may have set it back meanwhile.
 */

const againMs = 30_000;
/** So long a platform that cannot be read is asked again. */
const giveUpMs = 600_000;

/** A stop with an address of its own says nothing of the state. */
function isHeld(settings: ActuatorSettings, { address }: Pick<Step, "address">): boolean {
  const row: KindRow = kindRows[settings.kind];
  const travels = row.positionMode !== null || settings.kind === "motor";
  return travels && stateAddresses(settings).includes(address);
}

/** A command has ended: where it was confirmed before its travel time is over, its address is read once more then. */
export function hold(turn: Turn, run: Run, { outcome }: Ending): void {
  const { posts, closed } = turn.lane;
  const step = run.stage.at === "recovering" ? run.stage.interrupted.step : run.steps.at(-1);
  const command = run.heir ?? run.command;
  if (outcome !== "confirmed" || closed || step === undefined || posts.endedAt === null) return;
  const at = posts.endedAt + command.settings.travelMs;
  if (turn.now.mono < at) holdUntil(turn, command, step, at);
}

/** Confirmed by an earlier run, which may have ended before it looked again. */
export function holdAgain(turn: Turn, command: HeldCommand, step: Step): void {
  holdUntil(turn, command, step, turn.now.mono);
}

function holdUntil(turn: Turn, command: HeldCommand, step: Step, at: number): void {
  if (!isHeld(command.settings, step)) return;
  turn.lane = { ...turn.lane, held: { command, step, at, until: at + giveUpMs, token: null } };
}

/** A newer command POSTs: what is read from now on is its doing. */
export function letGo(turn: Turn): void {
  const token = turn.lane.held?.token ?? null;
  if (token !== null) turn.effects.push({ type: "forget", token });
  turn.lane = { ...turn.lane, held: null };
}

/** Begins the read, when the travel time is over. */
export function lookWhetherHeld(turn: Turn): void {
  const { held } = turn.lane;
  if (held === null || held.token !== null || turn.now.mono < held.at) return;
  const token = ask(turn);
  const { command, step } = held;
  turn.lane = { ...turn.lane, held: { ...held, token } };
  turn.effects.push({ type: "read", token, command, address: step.address });
}

/** `read` is null where a defect of the bridge ended it. */
export function heldRead(turn: Turn, held: Held, read: Read | null): void {
  const { command, step, until } = held;
  if (read?.type !== "value") {
    const at = turn.now.mono + againMs;
    turn.lane = { ...turn.lane, held: at > until ? null : { ...held, token: null, at } };
    return;
  }
  turn.lane = { ...turn.lane, held: null };
  if (shows(command.settings, step, read.raw)) turn.effects.push(seenToHold(held, read));
  else turn.effects.push({ type: "reverted", command, step, raw: read.raw });
}

/** So that a restart does not look again. */
function seenToHold(
  { command, step }: Held,
  { raw }: Extract<Read, { readonly type: "value" }>,
): Extract<Effect, { readonly type: "journal" }> {
  const { id, code, target, targetId } = command;
  const about = { controller: code, actuator: targetId, target };
  const record = { type: "read_back", ...about, id, address: step.address, value: String(raw) } as const;
  return { type: "journal", record, durable: false, token: null };
}
