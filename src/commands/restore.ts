import { msg, type Text } from "../language/text.js";
import type { Command, Interrupted, Target } from "./command.js";
import { laneKey, type Restored } from "./book.js";
import type { Commander } from "./commander.js";
import { type Abandoned, type Ending, refused, unsentEnding } from "./endings.js";
import { ownIdMs } from "./intake.js";
import { type Known, laneFrom, targetIn } from "./memory.js";
import { controllerTopicId } from "../settings/controllers.js";
import { targetSent } from "../greenhouse/command/words.js";
import type { Journal } from "../journal/journal.js";
import { type LimitsLeft, noLimits } from "../limits/restored-limits.js";
import { newestRecords, readRecentCommands } from "../journal/reader.js";
import { type RecentCommand, undeliveredResults } from "../journal/recent.js";
import {
  aboutKey,
  type Checkpoint,
  type JournalRecord,
  type OpenCommand,
  type RememberedLane,
  wholeAbout,
} from "../journal/records.js";
import { JournalUnreadable } from "../journal/segments.js";
import { lanesUnderWay, overMs } from "../journal/under-way.js";
import { mostResults, resultsKeptMs } from "../mqtt/outbox.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { CommandService } from "./service.js";

/** Null if the configuration no longer has it. */
function knownTarget(about: Target, store: GreenhouseStore): Known | null {
  const controller = store.get(about.code);
  if (!controller) return null;
  const addressed = { ...about, controllerId: controller.info.id };
  const settings = targetSent(controller, addressed);
  return settings && { ...addressed, settings };
}

type Limits = LimitsLeft["limits"];

/** Every lane with something left by an earlier run, and its open commands, oldest first. */
function* lanesLeft({ lanes, open }: Pick<Checkpoint, "lanes" | "open">, limits: Limits) {
  const all = new Map<string, { readonly lane: RememberedLane; readonly open: OpenCommand[] }>();
  for (const lane of lanes) all.set(aboutKey(lane), { lane, open: [] });
  for (const { now: entry } of limits.values()) {
    const about = entry && wholeAbout({ controller: entry.code, actuator: entry.id });
    if (about !== null && !all.has(aboutKey(about)))
      all.set(aboutKey(about), { lane: { ...about, memory: {} }, open: [] });
  }
  for (const one of open) {
    const key = aboutKey(one.taken);
    const entry = all.get(key) ?? { lane: { ...wholeAbout(one.taken), memory: {} }, open: [] };
    entry.open.push(one);
    all.set(key, entry);
  }
  yield* all.values();
}

/** The lanes with which the book begins. */
export function lanesFrom(
  history: Pick<Checkpoint, "lanes" | "open">,
  limits: Limits,
  store: GreenhouseStore,
  clock: Pick<Clock, "now" | "monotonic">,
): readonly Restored[] {
  const now = { at: clock.now(), mono: clock.monotonic() };
  return [...lanesLeft(history, limits)].map(({ lane, open }) => {
    const target = targetIn(lane);
    const left = limits.get(laneKey(target)) ?? noLimits;
    return laneFrom(lane, open, knownTarget(target, store), left, now);
  });
}

/** The end of an open command that is not read back, because it cannot be or nothing was to be sent. */
export function abandonedFrom(open: OpenCommand, store: GreenhouseStore): Abandoned {
  const { taken, sent } = open;
  const controller = store.get(taken.controller)?.info.id ?? controllerTopicId(taken.controller);
  return {
    about: targetIn(taken),
    ownId: taken.own_id === true,
    asked: {
      id: taken.id,
      controller,
      actuator: taken.actuator,
      command: taken.command,
      value: taken.value,
      by: taken.by,
      via: taken.via,
      received_at: taken.received_at,
    },
    ending: {
      ...endingOf(open),
      requestId: sent?.request_id ?? null,
      sentAt: sent?.sent_at ? Date.parse(sent.sent_at) : null,
      steps: sent?.steps ?? [],
    },
  };
}

function endingOf({ taken, sent }: OpenCommand): Ending {
  const { dry_run: isDryRun, max_age_ms: maxAgeMs, steps } = taken;
  const endUnsent = (message: Text) => refused("shutting_down", message);
  const unknown = (message: Text): Ending => ({ outcome: "unknown", reason: null, message });
  if (isDryRun === true)
    return endUnsent(
      msg`The bridge stopped while it checked this dry run. It sent nothing; send it again if the answer is still wanted.`,
    );
  if (sent !== null)
    return unknown(
      msg`The bridge stopped during the command, and the configuration no longer has its target. So it cannot read anything back. Check the actuator.`,
    );
  const isStop = steps.at(-1)?.purpose === "stop";
  // A rule's command is sent even without the journal. But a disk seldom fails just then, and the rule sends again.
  return maxAgeMs === 0 && !isStop
    ? endUnsent(
        msg`The bridge was stopped, and its journal says of nothing that was sent of this command. The rule sends it again where it is still called for.`,
      )
    : unsentEnding(isStop);
}

const postRecords = new Set(["start", "stop", "phase", "step_sent", "step_answered", "result"] as const);
const mostPostRecords = 5_000;
/** How far the clock of an old record may have been wrong, for instance by its time zone. */
const wrongByMs = 3_900_000;

/**
 * Takes up what earlier runs left in the journal: open commands, unread POSTs, problems, ids, undelivered results, and
 * values that may still come. All of it is read before this run writes results of its own. If records cannot be read,
 * nothing of them is taken up, published or marked as delivered.
 */
export async function restoreCommands(commands: Commands, past: Past): Promise<void> {
  const { journal, clock, store } = past;
  const { commander } = commands;
  const records = await readPast(past);
  // Taken up in one instant without awaiting: a clock set in between would go unnoticed.
  const limits = commands.limits.restore();
  if (records === null || journal.readProblem !== null) commands.leaveDeliveryMarks();
  if (records !== null) {
    rememberIds(commander, records.recent, clock.now());
    for (const { about, id } of records.recent) commands.isRecorded(targetIn(about), id);
    for (const one of undeliveredResults(records.told, mostResults)) commands.restoreResult(one);
  }
  const history = journal.history();
  const lanes = lanesFrom(history, limits, store, clock);
  takeUp(commands, past, records === null ? lanes.map(untold) : lanes, records?.recent ?? []);
  const taken = new Set(
    lanes.flatMap(({ interrupted }) => interrupted.map(({ command }) => commandKeyOf(command))),
  );
  for (const one of history.open)
    if (!taken.has(commandKeyOf({ ...targetIn(one.taken), id: one.taken.id })))
      abandon(commands, abandonedFrom(one, store));
}

const commandKeyOf = (command: Target & Pick<Command, "id">): string => `${laneKey(command)} ${command.id}`;

/** If a lane's journal has gaps, it is unknown which values are ours, so none counts as late. */
const untold = (lane: Restored): Restored => ({ ...lane, awaited: null, secondLook: null });

type Commands = Pick<
  CommandService,
  "commander" | "leaveDeliveryMarks" | "isRecorded" | "restoreResult" | "endedBefore"
> & {
  readonly limits: Pick<CommandService["limits"], "restore">;
  readonly phases: Pick<CommandService["phases"], "overtaken">;
};

interface Past {
  readonly journal: Pick<Journal, "directory" | "files" | "newestAt" | "readProblem" | "history">;
  readonly store: GreenhouseStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told to which targets a POST of an earlier owner may be under way. */
  readonly ownership?: {
    readonly controlMs: number;
    readonly foundUnderWay: (lanes: ReadonlySet<string>) => void;
  } | null;
  /** Called for a journal file that turns out to be unreadable. */
  readonly onUnreadable: (problem: JournalUnreadable) => void;
}

interface Records {
  readonly recent: readonly RecentCommand[];
  /** Records that show which results were published and delivered. */
  readonly told: readonly JournalRecord[];
}

/** Null if a file cannot be read; this run then only mirrors. */
async function readPast({ journal, clock, onUnreadable, ownership = null }: Past): Promise<Records | null> {
  const { directory, files } = journal;
  const now = clock.now();
  const types = new Set(["result", "refusal", "delivered"] as const);
  const tellable = { types, sinceMs: now - resultsKeptMs, limit: 2 * mostResults };
  try {
    if (ownership !== null) {
      // A clock that was ahead for a while may have dated the newest record after now.
      const sinceMs = Math.min(journal.newestAt, now) - overMs - wrongByMs;
      const posts = { types: postRecords, sinceMs, limit: mostPostRecords };
      const found = await newestRecords(directory, posts, files);
      ownership.foundUnderWay(lanesUnderWay(found, ownership.controlMs));
    }
    return {
      recent: await readRecentCommands(directory, now - ownIdMs, files),
      told: await newestRecords(directory, tellable, files),
    };
  } catch (error) {
    if (!(error instanceof JournalUnreadable)) throw error;
    if (journal.readProblem === null) onUnreadable(error);
    return null;
  }
}

function takeUp(
  { commander, phases }: Commands,
  { log }: Past,
  lanes: readonly Restored[],
  recent: readonly RecentCommand[],
): void {
  const interrupted: readonly Interrupted[] = lanes.flatMap((lane) => lane.interrupted);
  if (interrupted.length > 0)
    log.warn({ commands: interrupted.length }, "reading back commands that the last run did not finish");
  for (const { command } of interrupted) if (isOvertaken(command, recent)) phases.overtaken(command);
  for (const lane of lanes) commander.feed({ type: "restored", key: laneKey(lane.about), lane });
}

function abandon(commands: Commands, one: Abandoned): void {
  const { about, asked } = one;
  commands.commander.feed({ type: "abandoned", one });
  commands.endedBefore({ ...about, controllerId: asked.controller }, asked);
}

/**
 * Whether a newer command to the same target was accepted, and shown, before the last run ended. A superseded one does
 * not count, as it was the older.
 */
function isOvertaken({ id, code, target, targetId }: Command, recent: readonly RecentCommand[]): boolean {
  const ofTarget = recent.filter(
    ({ about, isTaken }) =>
      isTaken && about.controller === code && about.target === target && about.actuator === targetId,
  );
  const own = ofTarget.findIndex((one) => one.id === id);
  return ofTarget.slice(own + 1).some(({ result }) => result !== null && result.outcome !== "superseded");
}

function rememberIds(commander: Commander, recent: readonly RecentCommand[], now: number): void {
  for (const { about, isTaken, taken, result } of recent) {
    // Without the record of acceptance it is unknown who chose the id; nobody repeats one of ours.
    if (!isTaken || taken?.own_id === false || result === null) continue;
    const agoMs = Math.max(0, now - Date.parse(result.finished_at));
    commander.feed({ type: "ended_before", about: targetIn(about), result, agoMs });
  }
}
