import { ignored } from "../runtime/failures.js";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import type { Core } from "../feature/core.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords } from "../journal/reader.js";
import { type RecordBody, type RecordedStart, runEvents } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { readTextSync } from "../runtime/file-system.js";
import { withoutSecrets } from "../runtime/redaction.js";
import { stackText } from "../runtime/stack-trace.js";

/** A run of this age is no part of a crash loop, whatever ends it later. */
const provenMs = 900_000;
const crashLoop = "crash_loop";

/** Whether a run that began at `startedAt` has worked long enough (monotonic ms). */
const isProven = (startedAt: number, now: number): boolean => now - startedAt >= provenMs;

/**
 * Waits until this run is proven and notes that in the journal, so that the next start does not count it as a crash,
 * even after a clock set back. Resolves to whether this ended a read-only crash loop; false if the signal aborts first.
 */
export async function awaitProven(
  { clock, log, journal }: Pick<Core, "clock" | "log" | "journal">,
  live: Pick<LiveSettings, "readOnlyBecause">,
  startedAt: number,
  signal: AbortSignal,
): Promise<boolean> {
  const wasCareful = live.readOnlyBecause === crashLoop;
  while (!isProven(startedAt, clock.monotonic())) {
    await clock.wait(startedAt + provenMs - clock.monotonic(), signal).catch(ignored);
    if (signal.aborted) return false;
  }
  const message = "This run has worked for 15 minutes.";
  const record = { type: "event", event: runEvents.ranWell, severity: "info", message } as const;
  journal.append(record, { durable: false }).catch(ignored);
  if (wasCareful)
    log.warn(
      {},
      "the bridge has run for 15 minutes after a crash loop: it is no longer read-only for that. Find the cause in the log",
    );
  return wasCareful;
}

const journalUnread = "journal_unread";

/**
 * Makes the bridge read-only when records of earlier runs cannot be read, as their open commands and ids are unknown.
 * It stays so until the next start, even if the journal recovers. `problem`: of a file that the journal opens without;
 * by default the journal's own, also one found later.
 */
export function refuseUnread(
  journal: Pick<Journal, "state" | "readProblem" | "onUnread">,
  log: Logger,
  live: LiveSettings,
  problem = journal.readProblem,
): void {
  const refuse = () => live.forceReadOnly(journalUnread, () => journal.state().available);
  if (problem === null) {
    journal.onUnread(refuse);
    return;
  }
  refuse();
  log.error(
    { reason: problem.message },
    "what earlier runs left in the journal cannot be read, so this run takes no commands; restart the bridge when it can be read",
  );
}

const crashesUntilReadOnly = 5;
const crashWindowMs = 600_000;

/**
 * How many runs in a row crashed within the last ten minutes; `runs` is oldest first. A clean stop ends the row, and so
 * does a run that worked until something outside, such as a power cut, ended it.
 */
export function crashesBefore(runs: readonly Omit<RecordedStart, "boot">[], now: number): number {
  let crashes = 0;
  for (const { at, stopped, worked = false, failed = false } of runs.toReversed()) {
    // A start in the future was written under another time, so its age is unknown.
    const agoMs = now - Date.parse(at);
    const isRecent = agoMs <= crashWindowMs && agoMs >= -crashWindowMs;
    if (stopped || (worked && !failed) || !isRecent) break;
    crashes += 1;
  }
  return crashes;
}

const mostFrames = 6;
const mostTold = 1_000;

/** The alarm's text for a crash loop: number and versions of the runs, and the newest error with its place. */
export function crashLoopText(runs: readonly Pick<RecordedStart, "version">[], error: string | null): string {
  const versions = [...new Set(runs.flatMap(({ version }) => version ?? []))].join(", ") || "unknown";
  const [first = "", ...frames] = (error ?? "").split("\n").map((line) => line.trim());
  const why =
    error === null
      ? "None of them left an error behind: they were killed, or memory or power ran out."
      : `The newest error: ${[first, ...frames.slice(0, mostFrames)].join(" ")}`;
  const text = `The last ${runs.length} runs (version ${versions}) ended without being asked to, so this one refuses commands. ${why}`;
  return text.length > mostTold ? `${text.slice(0, mostTold - 1)}…` : text;
}

/** The newest uncaught error within the time of a crash loop; null where no run left one. */
async function newestError({ directory, files }: Journal, now: number): Promise<string | null> {
  const filter = { types: new Set(["event"] as const), sinceMs: now - crashWindowMs, limit: 1_000 };
  const events = await newestRecords(directory, filter, files).catch(() => []);
  const found = events.findLast((one) => one.type === "event" && one.event === runEvents.uncaughtError);
  return found?.type === "event" ? found.message : null;
}

interface Around {
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  readonly configuration: Pick<Configuration, "data_dir">;
}

/**
 * Notes the start and the end of the last run in the journal, and makes this run read-only after too many crashes.
 * Returns the text about the crash loop; null for none.
 */
export async function beginLife(
  journal: Journal,
  around: Around,
  live: LiveSettings,
): Promise<() => string | null> {
  const { clock, log, version, configuration } = around;
  const note = (body: RecordBody) => journal.append(body, { durable: true }).catch(ignored);
  const lastError = takeLastError(configuration.data_dir);
  if (lastError !== null) await note(lastError);
  const { starts } = journal.history();
  const crashes = crashesBefore(starts, clock.now());
  const startedAt = clock.monotonic();
  const isLoop = () => crashes >= crashesUntilReadOnly && !isProven(startedAt, clock.monotonic());
  if (isLoop()) {
    live.forceReadOnly(crashLoop, isLoop);
    log.error(
      { crashes },
      "the last runs all ended without being asked to, so this one is read-only and refuses commands. Find the cause in the log; it takes commands again when it has run for 15 minutes, or after it was stopped once in order (SIGTERM)",
    );
  }
  refuseUnread(journal, log, live);
  const error = isLoop() ? await newestError(journal, clock.now()) : null;
  await note({ type: "start", version, read_only: live.current.commands.read_only });
  return () => (isLoop() ? crashLoopText(starts.slice(-crashes), error) : null);
}

/** Notes that this run ended on request. */
export async function endLife(journal: Pick<Journal, "append">): Promise<void> {
  await journal.append({ type: "stop", reason: "asked to" }, { durable: true }).catch(ignored);
}

/** The members of `process` that the guard needs. */
interface GuardedProcess {
  on(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  off(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

interface GuardOptions {
  readonly process: GuardedProcess;
  readonly dataDir: string;
  readonly now: () => number;
  /** Secrets, which the log and the file must not show. */
  readonly secrets: () => readonly string[];
  /** Whether the error belongs to a part that ends alone and handles it itself. */
  readonly isContained?: (error: unknown) => boolean;
  readonly fatal: (facts: { readonly err: unknown }, message: string) => void;
}

const fileName = "last-error.json";
const mostCharacters = 4_000;
const exitCode = 1;

/**
 * Ends the process at the first uncaught error, after writing it to disk. Nothing is awaited: after such an error no
 * part can be trusted for even one more turn, least of all one that sends commands. Returns how to remove the guard.
 */
export function guardProcess(options: GuardOptions): () => void {
  const { process } = options;
  const onDeath = (error: unknown) => {
    if (options.isContained?.(error) === true) return;
    // Whatever fails here, the process has to end.
    try {
      writeLastError(options, error);
      options.fatal({ err: error }, "an error that nobody caught ends the bridge; please report it");
    } finally {
      process.exit(exitCode);
    }
  };
  process.on("uncaughtException", onDeath);
  process.on("unhandledRejection", onDeath);
  return () => {
    process.off("uncaughtException", onDeath);
    process.off("unhandledRejection", onDeath);
  };
}

export function writeLastError(
  { dataDir, now, secrets }: Pick<GuardOptions, "dataDir" | "now" | "secrets">,
  error: unknown,
): void {
  const hide = withoutSecrets(secrets);
  const text = stackText(error);
  const written = JSON.stringify({
    at: new Date(now()).toISOString(),
    error: hide(text).slice(0, mostCharacters),
  });
  try {
    writeFileSync(join(dataDir, fileName), written, { mode: 0o600, flush: true });
  } catch {
    // On a disk that cannot be written, the log alone has the error.
  }
}

const lastError = z.object({ at: z.string(), error: z.string() });

/** The error that ended the last run, as a journal record; null for none. Removes its file. */
export function takeLastError(dataDir: string): RecordBody | null {
  const path = join(dataDir, fileName);
  try {
    const found: unknown = JSON.parse(readTextSync(path, 4 * mostCharacters));
    rmSync(path, { force: true });
    const { at, error } = lastError.parse(found);
    const message = `The last run ended at ${at} by an error that nobody caught: ${error}`;
    return { type: "event", event: runEvents.uncaughtError, severity: "error", message };
  } catch {
    return null;
  }
}
