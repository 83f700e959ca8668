import { randomUUID } from "node:crypto";
import anyAscii from "any-ascii";
import {
  type CommandAudience,
  type CommandRequest,
  type CommandRules,
  laneKey,
  type Phase,
} from "../commands/command.js";
import { Commander } from "../commands/commander.js";
import { nearest } from "../config/problem.js";
import type { Configuration } from "../config/schema.js";
import { parseDuration } from "../runtime/duration.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Journal } from "../journal/journal.js";
import type { PlatformClient } from "../platform/client.js";
import { type Clock, clockAgrees } from "../runtime/clock.js";
import { GreenhouseStore } from "../sync/store.js";
import type { BridgeSurroundings } from "./surroundings.js";
import type { LiveSettings } from "../config/live-settings.js";
import { mirrorSettings } from "./mirror.js";
import { openJournal } from "../journal/open.js";
import { createPlatform } from "../platform/client.js";
import { platformSettings } from "../platform/settings.js";

export function createCommander(
  { configuration, live, clock, log, commandLog }: BridgeSurroundings,
  {
    otherBridge = () => false,
    ...parts
  }: {
    readonly platform: PlatformClient;
    readonly store: GreenhouseStore;
    readonly journal: Journal;
    readonly otherBridge?: () => boolean;
  },
  audience: CommandAudience,
): Commander {
  const rules = rulesInForce(configuration, live);
  return new Commander(
    { rules, text: { durationMs: parseDuration, nearest } },
    {
      ...parts,
      audience,
      clock,
      log,
      commandLog,
      newId: randomUUID,
      clockTrusted: () => clockAgrees(parts.platform.clockSkewMs()) === true,
      otherBridge,
    },
  );
}

/** Looked up for every command, so that a reloaded configuration counts at once. */
function rulesInForce(configuration: Configuration, live: LiveSettings | undefined): CommandRules {
  const { raw_addresses: rawAddresses, min_interval: minIntervalMs } = configuration.commands;
  const inForce = () => (live?.current ?? configuration).commands;
  return {
    ...{ rawAddresses, minIntervalMs },
    get readOnly() {
      return inForce().read_only;
    },
    get dryRun() {
      return inForce().dry_run;
    },
    get maxAgeMs() {
      return inForce().max_age;
    },
    get requireAge() {
      return inForce().require_age;
    },
    get requireBy() {
      return inForce().require_by;
    },
  };
}

export type DirectRequest = Pick<
  CommandRequest,
  "controllerId" | "target" | "targetId" | "payload" | "by" | "via"
>;

/**
 * One command without a running bridge: the same path and the same journal, whose directory must be free. Rejects with
 * DirectoryInUse when a bridge works there.
 */
export async function commandDirectly(
  around: BridgeSurroundings,
  request: DirectRequest,
  onPhase: (phase: Phase) => void,
): Promise<CommandResult> {
  const { configuration, clock, random, log } = around;
  const dataDir = configuration.data_dir;
  const opened = await openJournal({ dataDir, clock, log });
  const ports = { clock, random, log, dataDir, onLink: () => undefined };
  const platform = createPlatform(platformSettings(configuration.platform), ports);
  opened.compareClock(() => clockAgrees(platform.clockSkewMs()));
  const settings = mirrorSettings(configuration);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const parts = { platform, store, journal: opened.journal };
  try {
    return await new Promise((resolve, reject) => {
      // Whoever waits is told the result itself.
      const commander = createCommander({ ...around, commandLog: undefined }, parts, {
        phase: (_, phase) => {
          onPhase(phase);
          if (phase === "done") void untilTold(commander, opened.journal, clock).catch(reject);
        },
        result: resolve,
        event: () => undefined,
        showAgain: () => undefined,
      });
      commander.restoreUnread(unreadLanes(opened.journal.history()));
      commander.submit({ ...request, retained: false, expiryMs: null, response: null });
    });
  } finally {
    await platform.close();
    await opened.close();
  }
}

const toldWithinMs = 5_000;

/** Rejects where the outcome is held back because the journal cannot take it; a next start would find out another one. */
async function untilTold(commander: Commander, journal: Journal, clock: Clock): Promise<void> {
  const until = clock.monotonic() + toldWithinMs;
  do {
    await clock.wait(200);
    await commander.journalAgain();
    if (!commander.isTelling && commander.heldBack === 0) return;
  } while (clock.monotonic() < until);
  const why = journal.state().reason ?? "the disk does not answer.";
  throw new Error(
    `The command has ended, but its outcome is not told before the journal has it: ${why} The next start of the bridge finds out what became of the command.`,
  );
}

function unreadLanes({
  unread,
}: ReturnType<Awaited<ReturnType<typeof openJournal>>["journal"]["history"]>): readonly string[] {
  return unread.map(({ controller, target, actuator }) =>
    laneKey({ code: controller, target, targetId: actuator }),
  );
}
