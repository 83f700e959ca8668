import type { Outcome } from "../greenhouse/command/outcomes.js";
import type {
  About,
  Acknowledged,
  CommandTaken,
  ConfirmedLate,
  HistoryParts,
  JournalRecord,
  OpenCommand,
  Problem,
  RecordedStart,
  Refusal,
  ResultRecord,
  Reverted,
  SentStep,
  Stamp,
  Started,
  StepAnswered,
  StepSent,
  Stopped,
  UnreadPost,
} from "./records.js";

/** Sets and keeps the newest `most` entries, so that no history grows without end. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** `before`: the equal command whose POSTs it waits for. Without the stamp: it is written again inside another record and must not look like the start of a line. */
export function opened(record: Stamp & CommandTaken, before: OpenCommand | undefined): OpenCommand {
  const { at, boot } = record;
  const { controller, actuator, target, id, command, value } = record;
  const { by, via, payload_hash, received_at, max_age_ms, force, own_id, dry_run } = record;
  const asked = { by, via, payload_hash, received_at, max_age_ms, force, own_id, dry_run };
  const taken: CommandTaken = {
    type: "command_taken",
    controller,
    actuator,
    target,
    id,
    command,
    value,
    steps: record.steps,
    ...asked,
  };
  return { taken, taken_at: at, boot, phase: before?.phase ?? null, steps: before?.steps ?? [] };
}

export function withSent(steps: readonly SentStep[], record: Stamp & StepSent): readonly SentStep[] {
  const { purpose, address, value, attempt, at } = record;
  return [...steps, { purpose, address, value, attempt, sent_at: at, answered: null }];
}

export function withAnswer(steps: readonly SentStep[], record: StepAnswered): readonly SentStep[] {
  const { code, request_id, error, sent } = record;
  const index = steps.findLastIndex(
    (step) => step.address === record.address && step.attempt === record.attempt && step.answered === null,
  );
  return steps.map((step, at) =>
    at === index ? { ...step, answered: { code, request_id, error, sent } } : step,
  );
}

export function unreadPost(record: Stamp & StepSent, before: UnreadPost | undefined): UnreadPost {
  const { controller, actuator, target = "actuator", id, address, value, at } = record;
  return { controller, actuator, target, id, address, value, sent_at: at, earlier: before !== undefined };
}

export function problemOf(record: ResultRecord): Problem {
  const { controller, actuator, target = "actuator", result } = record;
  const { id, outcome, reason, finished_at } = result;
  return { controller, actuator, target, id, outcome, reason, finished_at };
}

/*
 * What a restarted bridge must know: which commands were interrupted, which POSTs nobody has read back, which actuators
 * have a problem. The draft changes in place because every record passes through it; everything handed out is a copy.
 */

export interface HistoryDraft {
  readonly open: Map<string, OpenCommand>;
  readonly unread: Map<string, UnreadPost>;
  readonly problems: Map<string, Problem>;
  starts: readonly RecordedStart[];
}

const mostOpen = 1_000;
const mostPerActuator = 5_000;
const mostStarts = 20;

const bad: ReadonlySet<Outcome> = new Set(["rejected", "unconfirmed", "failed", "unknown"]);

/** One key per thing that can be commanded, the same in every part of the history. */
export const aboutKey = (about: Omit<About, "actuator"> & { readonly actuator: string | null }): string =>
  `${about.controller}/${about.target ?? "actuator"}/${about.actuator ?? ""}`;

/** A sender may use one id for several actuators, as a scene does. */
export const openKey = (about: About, id: string): string => `${aboutKey(about)} ${id}`;

export const emptyHistory = (): HistoryDraft => ({
  open: new Map(),
  unread: new Map(),
  problems: new Map(),
  starts: [],
});

/** Takes the next record into the draft; most types say nothing that outlives them. */
export function addToHistory(draft: HistoryDraft, record: JournalRecord): void {
  const { type } = record;
  if (type === "command_taken") addTaken(draft, record);
  else if (type === "phase")
    changeOpen(draft, openKey(record, record.id), (open) => ({ ...open, phase: record.phase }));
  else if (type === "step_sent") addSent(draft, record);
  else if (type === "step_answered") addAnswer(draft, record);
  else if (type === "read_back") draft.unread.delete(aboutKey(record));
  else if (type === "confirmed_late") addConfirmedLate(draft, record);
  else if (type === "reverted") addReverted(draft, record);
  else if (type === "result") addResult(draft, record);
  else if (type === "refusal") addRefusal(draft, record);
  else if (type === "acknowledged") addAcknowledged(draft, record);
  else if (type === "carried") restore(draft, record);
  else if (type === "start" || type === "stop") draft.starts = withRun(draft.starts, record);
}

function withRun(starts: readonly RecordedStart[], record: Stamp & (Started | Stopped)) {
  const { boot, at } = record;
  if (record.type === "start") return [...starts, { boot, at, stopped: false }].slice(-mostStarts);
  return starts.map((start) => (start.boot === boot ? { ...start, stopped: true } : start));
}

/** What was sent for an equal command before was sent for this one too. */
function addTaken(draft: HistoryDraft, record: Stamp & CommandTaken): void {
  const before =
    record.took_over === undefined ? undefined : draft.open.get(openKey(record, record.took_over));
  setBounded(draft.open, openKey(record, record.id), opened(record, before), mostOpen);
}

function addAcknowledged(draft: HistoryDraft, record: Acknowledged): void {
  for (const [key, problem] of draft.problems) {
    const named = record.actuator === null || problem.actuator === record.actuator;
    if (named && problem.controller === record.controller) draft.problems.delete(key);
  }
}

function addConfirmedLate(draft: HistoryDraft, record: ConfirmedLate): void {
  draft.unread.delete(aboutKey(record));
  draft.problems.delete(aboutKey(record));
}

function addReverted(draft: HistoryDraft, record: Stamp & Reverted): void {
  const { controller, actuator, target = "actuator", id, at } = record;
  const about = { controller, actuator, target, id, finished_at: at };
  const problem: Problem = { ...about, outcome: "confirmed", reason: "reverted" };
  setBounded(draft.problems, aboutKey(record), problem, mostPerActuator);
}

function changeOpen(draft: HistoryDraft, key: string, change: (command: OpenCommand) => OpenCommand): void {
  const command = draft.open.get(key);
  if (command !== undefined) draft.open.set(key, change(command));
}

function addSent(draft: HistoryDraft, record: Stamp & StepSent): void {
  const key = aboutKey(record);
  changeOpen(draft, openKey(record, record.id), (command) => ({
    ...command,
    steps: withSent(command.steps, record),
  }));
  setBounded(draft.unread, key, unreadPost(record, draft.unread.get(key)), mostPerActuator);
}

function addAnswer(draft: HistoryDraft, record: StepAnswered): void {
  changeOpen(draft, openKey(record, record.id), (command) => ({
    ...command,
    steps: withAnswer(command.steps, record),
  }));
  if (!record.sent) forgetUnsent(draft, aboutKey(record));
}

function forgetUnsent(draft: HistoryDraft, key: string): void {
  if (draft.unread.get(key)?.earlier === false) draft.unread.delete(key);
}

function addResult(draft: HistoryDraft, record: ResultRecord & { readonly at: string }): void {
  const { result } = record;
  const key = aboutKey(record);
  draft.open.delete(openKey(record, result.id));
  if (result.outcome === "confirmed" || result.outcome === "already") draft.problems.delete(key);
  else if (bad.has(result.outcome) && !neverSent(result))
    setBounded(draft.problems, key, problemOf(record), mostPerActuator);
  if (readBackProven(record)) draft.unread.delete(key);
  else if (result.reason === "not_sent") forgetUnsent(draft, key);
}

/** Interrupted before anything was sent: no problem of the actuator. */
const neverSent = ({ outcome, steps }: ResultRecord["result"]): boolean =>
  outcome === "failed" && steps.length === 0;

/** The outcomes that rest on a valid read after the last POST. */
function readBackProven({ result }: ResultRecord): boolean {
  switch (result.outcome) {
    case "confirmed":
    case "already":
    case "unconfirmed":
      return true;
    case "rejected":
    case "failed":
      return result.read_back !== null && result.reason !== "not_sent";
    case "dry_run":
    case "refused":
    case "superseded":
    case "unknown":
      return false;
  }
}

/** A command refused because its own record could not be made durable may nevertheless have left that record behind. */
function addRefusal(draft: HistoryDraft, record: Refusal): void {
  if (record.result.reason !== "journal_unavailable") return;
  const key = openKey(record, record.result.id);
  if (draft.open.get(key)?.steps.length === 0) draft.open.delete(key);
}

function restore(draft: HistoryDraft, carried: HistoryParts): void {
  draft.open.clear();
  draft.unread.clear();
  draft.problems.clear();
  for (const command of carried.open) draft.open.set(openKey(command.taken, command.taken.id), command);
  for (const post of carried.unread) draft.unread.set(aboutKey(post), post);
  for (const problem of carried.problems) draft.problems.set(aboutKey(problem), problem);
  draft.starts = carried.starts;
}

/** A copy that later records do not change. */
export const historyOf = (draft: HistoryDraft): HistoryParts => ({
  open: [...draft.open.values()],
  unread: [...draft.unread.values()],
  problems: [...draft.problems.values()],
  starts: draft.starts,
});

function fold(records: Iterable<JournalRecord>): HistoryParts {
  const draft = emptyHistory();
  for (const record of records) addToHistory(draft, record);
  return historyOf(draft);
}

/** Commands taken without a result, oldest first: what a crash interrupted, and what had been sent by then. */
export const openCommands = (records: Iterable<JournalRecord>) => fold(records).open;

/** Actuators whose last POST has not been read back since. */
export const unreadPosts = (records: Iterable<JournalRecord>) => fold(records).unread;

/** Actuators whose newest sent command ended badly and was neither made good nor acknowledged. */
export const newestProblems = (records: Iterable<JournalRecord>) => fold(records).problems;
