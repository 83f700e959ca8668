import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordBody } from "../journal/records.js";
import { withoutSecrets } from "../runtime/redaction.js";

/** The part of `process` that the guard needs. */
interface GuardedProcess {
  on(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  off(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

interface GuardOptions {
  readonly process: GuardedProcess;
  readonly dataDir: string;
  readonly now: () => number;
  /** Never shown, wherever they stand. */
  readonly secrets: () => readonly string[];
  readonly fatal: (facts: { readonly err: unknown }, message: string) => void;
}

/** The word for it in the journal. */
export const uncaughtError = "uncaught_error";

const fileName = "last-error.json";
const mostCharacters = 4_000;
const exitCode = 1;

/**
 * Ends the process at the first error that nobody caught, having put it on disk. Nothing is awaited: after such an error no
 * part can be trusted to go on for even one more turn, least of all one that sends commands. Returns how to take it off.
 */
export function guardProcess(options: GuardOptions): () => void {
  const { process } = options;
  const died = (error: unknown) => {
    // Whatever fails here, the process must end.
    try {
      writeLastError(options, error);
      options.fatal({ err: error }, "an error that nobody caught ends the bridge; please report it");
    } finally {
      process.exit(exitCode);
    }
  };
  process.on("uncaughtException", died);
  process.on("unhandledRejection", died);
  return () => {
    process.off("uncaughtException", died);
    process.off("unhandledRejection", died);
  };
}

function writeLastError({ dataDir, now, secrets }: GuardOptions, error: unknown): void {
  const hide = withoutSecrets(secrets);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const written = JSON.stringify({
    at: new Date(now()).toISOString(),
    error: hide(text).slice(0, mostCharacters),
  });
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, fileName), written, { mode: 0o600, flush: true });
  } catch {
    // A disk that cannot be written leaves the log.
  }
}

/** What ended the last run, as a record for the journal; null when nothing was left behind. Removes what it found. */
export function takeLastError(dataDir: string): RecordBody | null {
  const path = join(dataDir, fileName);
  try {
    const found: unknown = JSON.parse(readFileSync(path, "utf8"));
    rmSync(path, { force: true });
    if (typeof found !== "object" || found === null || !("at" in found) || !("error" in found)) return null;
    const { at, error } = found;
    if (typeof at !== "string" || typeof error !== "string") return null;
    return {
      type: "event",
      event: uncaughtError,
      severity: "error",
      message: `The last run ended at ${at} by an error that nobody caught: ${error}`,
    };
  } catch {
    return null;
  }
}
