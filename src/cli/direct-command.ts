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
 * One command without a running bridge: the same core and the same journal, whose directory must be free. Rejects with
 * DirectoryInUse when a bridge works there.
 */
export async function commandDirectly(
  context: BridgeOptions,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { runBridge } = await import("../bridge.js");
  const over = new AbortController();
  // Each timer listens to it.
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

/** The result of the command that is asked for, once what is owed to the disk is written. */
function resultOf(
  core: Core,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { commands, mirror } = core;
  // Nobody asks the platform whether it is there but the command itself.
  mirror.store.setReachable(true);
  return new Promise((resolve, reject) => {
    let asked: string | null = null;
    let isTold = false;
    commands.listen({
      // A command of an earlier run that is read back beside it is not what was asked for.
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
 * What an earlier run left goes on: a lock and a hold count here too. Commands that it left open are read back for this target alone;
 * those that have no end when this one has are left to the next start.
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

/** A bridge would look again later, such as at a window at the end of its way. That is left to the next start of one. */
const endingWith = (end: AbortSignal, clock: Clock): Clock => ({
  ...clock,
  // Made of these timers.
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

/** Rejects where the outcome is held back because the journal cannot take it; a next start would find out another one. */
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
