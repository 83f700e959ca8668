import { randomUUID } from "node:crypto";
import anyAscii from "any-ascii";
import { laneKey } from "../commands/book.js";
import type { CommandOutput, CommandRequest, Phase } from "../commands/command.js";
import { Commander } from "../commands/commander.js";
import { lanesFrom } from "../commands/restore.js";
import { LiveSettings } from "../config/live-settings.js";
import type { BridgeOptions } from "../bridge.js";
import { mirrorSettings } from "../sync/settings.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Journal } from "../journal/journal.js";
import { LimitEngine } from "../limits/engine.js";
import { openJournal } from "../journal/open.js";
import { createPlatform, type PlatformClient } from "../platform/client.js";
import type { Clock } from "../runtime/clock.js";
import { GreenhouseStore } from "../sync/store.js";

type DirectRequest = Pick<CommandRequest, "controllerId" | "target" | "targetId" | "payload" | "by" | "via">;

/**
 * One command without a running bridge: the same path and the same journal, whose directory must be free. Rejects with
 * DirectoryInUse when a bridge works there.
 */
export async function commandDirectly(
  context: BridgeOptions,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { configuration, random, log } = context;
  const over = new AbortController();
  const clock = endingWith(over.signal, context.clock);
  const ports = { clock, random, log, dataDir: configuration.data_dir };
  const opened = await openJournal(ports);
  const platform = createPlatform(configuration.platform, ports);
  const { journal } = opened;
  journal.compareClock(platform.clockSkewMs);
  const store = configuredStore(configuration, clock);
  try {
    return await resultOf({ configuration, clock, log, platform, journal, store }, request, onPhase);
  } finally {
    over.abort();
    await platform.close();
    await opened.close();
  }
}

interface Parts extends Pick<BridgeOptions, "configuration" | "clock" | "log"> {
  readonly platform: PlatformClient;
  readonly journal: Journal;
  readonly store: GreenhouseStore;
}

/** The result of the command that is asked for, once what is owed to the disk is written. */
function resultOf(
  { configuration, clock, log, platform, journal, store }: Parts,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    let asked: string | null = null;
    let isTold = false;
    const limits = limitsOf(configuration, { clock, store, journal, book: () => commander });
    const commander: Commander = new Commander({
      platform,
      store,
      journal,
      clock,
      log,
      newId: randomUUID,
      limits,
      rules: rulesOf(configuration),
      clockSkewMs: platform.clockSkewMs,
      output: outputOf(onPhase, (result) => {
        if (asked !== null && result.id !== asked) return;
        isTold = true;
        resolve(result);
      }),
    });
    takeUpLanes(commander, request, limits, { journal, store, clock });
    asked = commander.submit({ ...request, retained: false, expiryMs: null, response: null }).id;
    untilTold(commander, { journal, clock, isTold: () => isTold }).catch(reject);
  });
}

/** A command of an earlier run that is read back beside it is not what was asked for. */
const outputOf = (onPhase: (phase: Phase) => void, result: CommandOutput["result"]): CommandOutput => ({
  phase: (command, phase) => {
    if (!command.isRecovered) onPhase(phase);
  },
  result,
  event: () => undefined,
});

/**
 * What an earlier run left goes on. Commands that it left open are read back for its target alone, and left to the next start where
 * they have no end by then.
 */
function takeUpLanes(
  commander: Commander,
  request: DirectRequest,
  limits: LimitEngine,
  {
    journal,
    store,
    clock,
  }: { readonly journal: Journal; readonly store: GreenhouseStore; readonly clock: Clock },
): void {
  const code = store.byId(request.controllerId)?.info.code ?? request.controllerId;
  const asked = laneKey({ ...request, code });
  const history = journal.history();
  const left = limits.limitsLeft(history, journal.newestAt).limits;
  for (const lane of lanesFrom(history, left, store, clock)) {
    const key = laneKey(lane.about);
    const interrupted = key === asked ? lane.interrupted : [];
    commander.feed({ type: "restored", key, lane: { ...lane, interrupted } });
  }
}

/** What a bridge would look at later, such as a window at the end of its way, is left to the next start of one. */
const endingWith = (end: AbortSignal, clock: Clock): Clock => ({
  ...clock,
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
  wait: (ms, signal) => clock.wait(ms, signal === undefined ? end : AbortSignal.any([signal, end])),
});

function configuredStore(configuration: BridgeOptions["configuration"], clock: Clock): GreenhouseStore {
  const settings = mirrorSettings(configuration);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  return store;
}

interface LimitParts extends Pick<Parts, "clock" | "store" | "journal"> {
  readonly book: () => Commander;
}

/** As an earlier run left them: a lock and a hold count here too. Nothing is measured here, so every guard holds. */
const limitsOf = (
  { weather, polling, commands }: BridgeOptions["configuration"],
  parts: LimitParts,
): LimitEngine =>
  new LimitEngine({
    ...parts,
    weather,
    staleAfterMs: polling.stale_after,
    run: randomUUID(),
    readOnly: () => ({ commands: commands.read_only, rules: commands.read_only }),
    onEvent: () => undefined,
    alarms: { set: () => undefined },
  });

const rulesOf = (configuration: BridgeOptions["configuration"]) => () =>
  new LiveSettings(configuration).commandRules();

const toldWithinMs = 5_000;

interface Telling {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly isTold: () => boolean;
}

/** Rejects where the outcome is held back because the journal cannot take it; a next start would find out another one. */
async function untilTold(commander: Commander, { journal, clock, isTold }: Telling): Promise<void> {
  for (let heldSince = Infinity; clock.monotonic() < heldSince + toldWithinMs;) {
    await clock.wait(200);
    if (isTold()) return;
    commander.journalAgain();
    const isHeld = commander.isTelling || commander.heldBack > 0;
    heldSince = isHeld ? Math.min(heldSince, clock.monotonic()) : Infinity;
  }
  const why = journal.state().reason ?? "the disk does not answer.";
  throw new Error(
    `The command has ended, but its outcome is not told before the journal has it: ${why} The next start of the bridge finds out what became of the command.`,
  );
}
