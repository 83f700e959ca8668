import { oursUntil } from "./aftermath.js";
import type { Awaited, ProblemReason } from "./book.js";
import { type Command, type Interrupted, laneKey, type Target } from "./command.js";
import type { Commander } from "./commander.js";
import { recordedKey } from "./admission.js";
import { type Abandoned, type Ending, refused } from "./endings.js";
import { controllerTopicId } from "../config/schema.js";
import { isToldWhenLate, type StepReport } from "../greenhouse/command/outcomes.js";
import { readWanted, targetSent } from "../greenhouse/command/words.js";
import { type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords, readRecentCommands } from "../journal/reader.js";
import { type RecentCommand, undeliveredResults } from "../journal/history.js";
import type { About, HistoryParts, JournalRecord, OpenCommand, Unsettled } from "../journal/records.js";
import { JournalUnreadable } from "../journal/segments.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { CommandService } from "./service.js";

const lookedForMs = 24 * 3_600_000;

/** For a day, and for as long as its problem is open. */
export const isLookedFor = (one: Unsettled, problems: HistoryParts["problems"], now: number): boolean =>
  Date.parse(one.at) >= now - lookedForMs || problems.some(({ id }) => id === one.id);

/** What to look for in later reads; null when the configuration no longer knows the target. */
export function awaitedFrom(one: Unsettled, store: GreenhouseStore, clock: Clock): Awaited | null {
  const { id, word, step, outcome, reason = null, at } = one;
  const known = knownTarget(targetIn(one), store);
  if (known === null) return null;
  const command = { id, ...known };
  const endedAt = clock.monotonic() - Math.max(0, clock.now() - Date.parse(at));
  const isTold = isToldWhenLate({ outcome, reason });
  return { command, word, step, isTold, until: oursUntil(outcome, command, endedAt) };
}

/** Null when the configuration no longer has it. */
function knownTarget(about: Target, store: GreenhouseStore) {
  const controller = store.get(about.code);
  if (!controller) return null;
  const addressed = { ...about, controllerId: controller.info.id };
  const settings = targetSent(controller, addressed);
  return settings && { ...addressed, settings };
}

/**
 * An open command of the journal as the commander can take it up; null when there is nothing to read back: the
 * configuration no longer knows its target, or nothing of it was sent.
 */
export function interruptedFrom(open: OpenCommand, store: GreenhouseStore, clock: Clock): Interrupted | null {
  const { taken, steps } = open;
  const known = knownTarget(targetIn(taken), store);
  const step = taken.steps.at(-1);
  if (known === null || !step || !maySend(open)) return null;
  const wanted = readWanted(taken.command, known.settings);
  if ("reason" in wanted) return null;
  const command: Command = {
    ...known,
    id: taken.id,
    ownId: taken.own_id === true,
    wanted,
    payloadKey: recordedKey(taken.payload_hash),
    by: taken.by,
    via: taken.via,
    response: null,
    force: taken.force === true,
    dryRun: false,
    isRecovered: true,
    ...{ term: null, rule: null },
    receivedAt: Date.parse(taken.received_at),
    receivedMono: clock.monotonic(),
    deadlineMono: clock.monotonic(),
  };
  return { command, step, ...sentSoFar(steps, step) };
}

/** Whether anything of it may have been sent: `sending` is on disk before the first POST. */
const maySend = ({ taken, phase, steps }: OpenCommand): boolean =>
  taken.dry_run !== true && (phase === "sending" || steps.length > 0);

function sentSoFar(
  steps: OpenCommand["steps"],
  planned: OpenCommand["taken"]["steps"][number],
): Omit<Interrupted, "command" | "step"> {
  const sent = steps.findLast(({ address, value }) => address === planned.address && value === planned.value);
  const first = steps[0];
  const earlier = steps.findLast(({ purpose }) => purpose !== planned.purpose);
  return {
    earlier: earlier ? [reported(earlier)] : [],
    attempts: sent?.attempt ?? 0,
    code: sent?.answered?.code ?? null,
    isAccepted: sent?.answered !== undefined && sent.answered !== null && sent.answered.error === null,
    requestId: sent?.answered?.request_id ?? null,
    sentAt: first ? Date.parse(first.sent_at) : null,
  };
}

const reported = ({
  purpose,
  address,
  value,
  attempt,
  answered,
}: OpenCommand["steps"][number]): StepReport => ({
  purpose,
  address,
  value,
  attempts: attempt,
  code: answered?.code ?? null,
  read_back: null,
});

/** The end of an open command that is not read back: it cannot be any more, or nothing was to be sent. */
export function abandonedFrom(open: OpenCommand, store: GreenhouseStore): Abandoned {
  const { taken, steps } = open;
  const controller = store.get(taken.controller)?.info.id ?? controllerTopicId(taken.controller);
  const last = steps.at(-1);
  const first = steps[0];
  return {
    about: targetIn(taken),
    ownId: taken.own_id === true,
    asked: {
      ...{ id: taken.id, controller, actuator: taken.actuator, command: taken.command, value: taken.value },
      ...{ by: taken.by, via: taken.via, received_at: taken.received_at },
    },
    ending: {
      ...endingOf(open),
      requestId: last?.answered?.request_id ?? null,
      sentAt: first ? Date.parse(first.sent_at) : null,
      steps: steps.map(reported),
    },
  };
}

function endingOf(open: OpenCommand): Ending {
  const { dry_run: isDryRun, max_age_ms: maxAgeMs, steps } = open.taken;
  const ended = (message: string) => refused("shutting_down", message);
  const unknown = (message: string): Ending => ({ outcome: "unknown", reason: null, message });
  if (isDryRun === true)
    return ended(
      "The bridge was stopped while it checked this dry run. Nothing was sent; send it again if the answer is still wanted.",
    );
  if (maySend(open))
    return unknown(
      "The bridge was stopped during the command, and the configuration no longer has what it was for, so it cannot be read back. Check the actuator.",
    );
  // A stop is also sent when the journal cannot be written, so that nothing there proves that it was not.
  if (steps.at(-1)?.purpose === "stop")
    return unknown(
      "The bridge was stopped before its journal could tell whether this stop was sent. Check the actuator.",
    );
  // What a rule sends goes without the journal too, but a disk that fails just then is rare, and the rule sends it again.
  return maxAgeMs === 0
    ? ended(
        "The bridge was stopped, and its journal says of nothing that was sent of this command. The rule sends it again where it is still called for.",
      )
    : ended(
        "The bridge was stopped before it sent anything of this command. Send it again if it is still wanted.",
      );
}

const ownIdsMs = 12 * 3_600_000;
const undeliveredMs = 24 * 3_600_000;
const mostUndelivered = 1_000;

/**
 * Takes up what earlier runs left in the journal: open commands, unread POSTs, problems, ids seen, results not delivered,
 * values that may still come. All of it is read before this run writes outcomes of its own there. Where records cannot be read,
 * nothing of them is taken up or told, nor counted as told.
 */
export async function restoreCommands(commands: CommandService, past: Past): Promise<void> {
  const { journal } = past;
  const { unread, problems, unsettled = [] } = journal.history();
  const { commander } = commands;
  commands.limits.restore();
  for (const one of unread) commander.feed({ type: "unread", key: laneKey(targetIn(one)) });
  for (const one of problems) commander.feed({ type: "problem", about: targetIn(one), why: whyOf(one) });
  const records = await readPast(past);
  if (records === null || journal.readProblem !== null) commands.leaveDeliveryMarks();
  if (records !== null) {
    rememberIds(commander, records.recent, past.clock.now());
    for (const one of undeliveredResults(records.told, mostUndelivered)) commands.restoreResult(one);
    for (const one of unsettled)
      if (isLookedFor(one, problems, past.clock.now())) takeUpUnsettled(commander, past, one);
  }
  takeUpOpen(commands, past, records?.recent ?? []);
}

interface Past {
  readonly journal: Journal;
  readonly store: GreenhouseStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** A file of the journal cannot be read, which was not known until now. */
  readonly onUnreadable: (problem: JournalUnreadable) => void;
  readonly files?: FileSystem;
}

interface Records {
  readonly recent: readonly RecentCommand[];
  /** What says which results were told, and which not. */
  readonly told: readonly JournalRecord[];
}

/** Null where a file cannot be read: this run then mirrors only. */
async function readPast({
  journal,
  clock,
  onUnreadable,
  files = nodeFileSystem,
}: Past): Promise<Records | null> {
  const { directory } = journal;
  const now = clock.now();
  const types = new Set(["result", "refusal", "delivered"] as const);
  const tellable = { types, sinceMs: now - undeliveredMs, limit: 2 * mostUndelivered };
  try {
    return {
      recent: await readRecentCommands(directory, now - ownIdsMs, files),
      told: await newestRecords(directory, tellable, files),
    };
  } catch (error) {
    if (!(error instanceof JournalUnreadable)) throw error;
    if (journal.readProblem === null) onUnreadable(error);
    return null;
  }
}

function takeUpUnsettled(commander: Commander, { store, clock }: Past, one: Unsettled): void {
  const awaited = awaitedFrom(one, store, clock);
  if (awaited === null) return;
  const { command, step } = awaited;
  const key = laneKey(command);
  if (one.outcome === "confirmed") commander.feed({ type: "second_look", key, command, step });
  else commander.feed({ type: "awaiting", key, awaited });
}

function takeUpOpen(
  commands: CommandService,
  { journal, store, clock, log }: Past,
  recent: readonly RecentCommand[],
): void {
  const { commander, phases } = commands;
  const interrupted: Interrupted[] = [];
  for (const one of journal.history().open) {
    const known = interruptedFrom(one, store, clock);
    if (known === null) abandon(commands, abandonedFrom(one, store));
    else interrupted.push(known);
  }
  if (interrupted.length > 0)
    log.warn({ commands: interrupted.length }, "reading back commands that the last run did not finish");
  for (const { command } of interrupted) if (isOvertaken(command, recent)) phases.overtaken(command);
  for (const one of interrupted) commander.feed({ type: "interrupted", key: laneKey(one.command), one });
}

function abandon(commands: CommandService, one: Abandoned): void {
  const { about, asked } = one;
  commands.commander.feed({ type: "abandoned", one });
  commands.endedBefore({ ...about, controllerId: asked.controller }, asked);
}

/**
 * Whether a newer command to the same target was taken, and shown, before the last run ended. One that was superseded
 * meanwhile was the older.
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
    // Of a command that was never about to be sent no record tells whose id it is; nobody repeats one of ours.
    if (!isTaken || taken?.own_id === false || result === null) continue;
    const agoMs = Math.max(0, now - Date.parse(result.finished_at));
    commander.feed({ type: "ended_before", about: targetIn(about), result, agoMs });
  }
}

/** As people were told by the run of then. */
function whyOf(problem: HistoryParts["problems"][number]): ProblemReason {
  const { command = null, outcome, reason, message = null, finished_at: at } = problem;
  const ended = reason === "reverted" ? { outcome: reason, reason: null } : { outcome, reason };
  return { command, ...ended, message, at: Date.parse(at) };
}

const targetIn = ({ controller, target, actuator }: About): Target => ({
  code: controller,
  target: target ?? "actuator",
  targetId: actuator,
});
