import type { LogLevel } from "../runtime/log-levels.js";
import { anyOf } from "../runtime/signals.js";
import { CommandFailure, exitCodes } from "../runtime/ending.js";
import { msg } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { readFileSync } from "node:fs";
import { systemClock, untilAborted } from "../runtime/clock.js";
import type { Speech } from "./speech.js";

/** The process that a command runs in. */
export interface ProgramProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  /** Writes our own colours and cursor moves; the caller has to make foreign text harmless. */
  readonly draw?: (text: string) => void;
  readonly err: {
    readonly isTTY?: boolean;
    write(text: string): unknown;
    draw?(text: string): unknown;
  };
  readonly isTerminal: boolean;
  /** Aborts on the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  /** Aborts when nobody reads the output any more; a command that runs until stopped then ends. */
  readonly outputEnded?: AbortSignal;
  /** Ends the program as a first signal does, with an exit code at which a service manager starts it again. */
  readonly restart?: () => void;
  /** The supervisor of Home Assistant, which restarts its app; null elsewhere. */
  readonly supervisor?: { readonly url: string; readonly token: string } | null;
  /** Calls the listener at each SIGHUP of a service. Without a listener, or in a terminal, SIGHUP stops the command. */
  readonly onReload?: (listener: () => void) => void;
}

/** The parts of the process that a command may use, and its language. */
export interface ProcessContext extends ProgramProcess {
  readonly speech: Speech;
}

/** The reason of `stop` for a restart: a service manager may leave a service alone that ended well. */
export const toBeStartedAgain = new DOMException("the program is started again", "AbortError");

/** The exit code of a program that ended in order. */
export const exitCodeAfter = (stop: AbortSignal): number =>
  stop.reason === toBeStartedAgain ? exitCodes.failed : exitCodes.done;

export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  const version =
    typeof parsed === "object" && parsed !== null && "version" in parsed ? parsed.version : null;
  return typeof version === "string" ? version : "unknown";
}

/** A disk that answers at all answers within this time. */
const graceMs = 2_000;

/**
 * The result of reading files, unless the program has to end meanwhile: a disk that does not answer must not hold a
 * command for ever.
 */
export async function unlessStopped<Result>(
  work: Promise<Result>,
  { stop }: Pick<ProcessContext, "stop">,
): Promise<Result> {
  const done = new AbortController();
  const stopped = untilAborted(anyOf(stop, done.signal))
    .then(() => systemClock.wait(graceMs, done.signal))
    .then(() => {
      throw new CommandFailure(msg`stopped`);
    });
  stopped.catch(ignored);
  return Promise.race([work, stopped]).finally(() => done.abort());
}

/** Standard error as a screen, for coloured logs, redrawn lines and dialogues. */
export const screenOf = ({ err }: Pick<ProcessContext, "err">) => ({
  isTTY: err.isTTY === true,
  write: (text: string) => (err.draw === undefined ? err.write(text) : err.draw(text)),
});

/** Aborts for a command that only has output to offer: when it is stopped, or nobody reads its output. */
export const endOfUse = ({ stop, outputEnded }: ProcessContext): AbortSignal =>
  outputEnded === undefined ? stop : anyOf(stop, outputEnded);

export interface CommonOptions {
  readonly config: string;
  /** The account of a fleet; `config` then is the fleet's file. */
  readonly account?: string;
  readonly logLevel?: LogLevel;
  readonly dataDir?: string;
}

/** Loads a command's code only when it is called, as start-up has to be fast on a small computer. */
export const lazily =
  <Args extends unknown[]>(load: () => Promise<(context: ProcessContext, ...args: Args) => unknown>) =>
  (context: ProcessContext): ((...args: Args) => Promise<void>) =>
  async (...args) => {
    await (
      await load()
    )(context, ...args);
  };
