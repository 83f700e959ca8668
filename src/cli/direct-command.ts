import { anyOf } from "../runtime/signals.js";
import { msg, TextError } from "../language/text.js";
import { setMaxListeners } from "node:events";
import { laneKey } from "../commands/book.js";
import type { CommandRequest, Phase } from "../commands/command.js";
import { lanesFrom } from "../commands/restore.js";
import type { BridgeOptions } from "../bridge.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Clock } from "../runtime/clock.js";
import { silentLog } from "../runtime/log.js";

type Core = Parameters<NonNullable<BridgeOptions["only"]>>[0];
type DirectRequest = Pick<CommandRequest, "controllerId" | "target" | "targetId" | "payload" | "by" | "via">;

/**
 * Runs one command without a running bridge, with the same core and journal. Rejects with DirectoryInUse if a bridge
 * works in the data directory.
 */
export async function commandDirectly(
  context: BridgeOptions,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { runBridge } = await import("../bridge.js");
  const over = new AbortController();
  // Each timer adds a listener.
  setMaxListeners(0, over.signal);
  const clock = endingWith(over.signal, context.clock);
  const ended: { result?: CommandResult } = {};
  const only = async (core: Core) => {
    ended.result = await resultOf(core, request, onPhase).finally(() => over.abort());
  };
  await runBridge({ ...context, clock, mirrorLog: silentLog, only }, over.signal);
  const { result } = ended;
  if (result === undefined) throw new Error("the command came to no end");
  return result;
}

/** The command's result, once what is owed to the disk is written. */
function resultOf(
  core: Core,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { commands, mirror } = core;
  // Only the command itself finds out whether the platform is there.
  mirror.store.setReachable(true);
  return new Promise((resolve, reject) => {
    let asked: string | null = null;
    let isTold = false;
    commands.listen({
      // A command of an earlier run may be read back meanwhile; it is not what was asked for.
      phase: (command, phase) => {
        if (!command.isRecovered) onPhase(phase);
      },
      result: (result) => {
        if (asked !== null && result.id !== asked) return;
        isTold = true;
        resolve(result);
      },
    });
    takeUpLanes(core, request);
    asked = commands.commander.submit({ ...request, retained: false, expiryMs: null, response: null }).id;
    untilTold(core, () => isTold).catch(reject);
  });
}

/**
 * Takes up what an earlier run left, since locks and holds count here too. Open commands are read back for this target
 * alone; those still open at the end are left to the next start.
 */
function takeUpLanes({ commands, mirror: { store }, journal, clock }: Core, request: DirectRequest): void {
  const code = store.byId(request.controllerId)?.info.code ?? request.controllerId;
  const asked = laneKey({ ...request, code });
  const history = journal.history();
  const left = commands.limits.engine.limitsLeft(history, journal.newestAt).limits;
  for (const lane of lanesFrom(history, left, store, clock)) {
    const key = laneKey(lane.about);
    const interrupted = key === asked ? lane.interrupted : [];
    commands.commander.feed({ type: "restored", key, lane: { ...lane, interrupted } });
  }
}

/**
 * A clock that ends with the command. A bridge would look again later, such as at a window at the end of its way; that
 * is left to the next start.
 */
const endingWith = (end: AbortSignal, clock: Clock): Clock => ({
  ...clock,
  // Undefined, so that repetition uses the timers below.
  repeat: undefined,
  after: (ms, call) => {
    const over = () => end.removeEventListener("abort", takeBack);
    const takeBack = clock.after(ms, () => {
      over();
      call();
    });
    end.addEventListener("abort", takeBack);
    return () => {
      over();
      takeBack();
    };
  },
  wait: (ms, signal) => clock.wait(ms, signal === undefined ? end : anyOf(signal, end)),
});

const toldWithinMs = 5_000;

/** Rejects if the outcome is held back because the journal cannot take it; the next start would find another one. */
async function untilTold({ commands: { commander }, journal, clock }: Core, isTold: () => boolean) {
  for (let heldSince = Infinity; clock.monotonic() < heldSince + toldWithinMs;) {
    await clock.wait(200);
    if (isTold()) return;
    commander.journalAgain();
    const isHeld = commander.isTelling || commander.heldBack > 0;
    heldSince = isHeld ? Math.min(heldSince, clock.monotonic()) : Infinity;
  }
  const why = journal.state().reason ?? msg`the disk does not answer.`;
  throw new TextError(
    msg`The command has ended; its outcome is not told before the journal has it: ${why} The next start of the bridge finds out what became of the command.`,
  );
}
