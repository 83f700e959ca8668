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
  /** For colours and moves of the cursor of our own: whoever draws makes harmless what comes from outside. */
  readonly draw?: (text: string) => void;
  readonly err: {
    readonly isTTY?: boolean;
    write(text: string): unknown;
    draw?(text: string): unknown;
  };
  readonly isTerminal: boolean;
  /** Aborts on the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  /** Aborts when the output is not read any more; a command that goes on until stopped ends then too. */
  readonly outputEnded?: AbortSignal;
  /** Ends it as a first signal does, with a code at which a service manager starts it again. */
  readonly restart?: () => void;
  /** Of Home Assistant, which restarts its app; null where this is none. */
  readonly supervisor?: { readonly url: string; readonly token: string } | null;
  /** Calls the listener at each SIGHUP of a service; without a listener, or in a terminal, a SIGHUP stops the command. */
  readonly onReload?: (listener: () => void) => void;
}

/** What a command may touch of it, and how it speaks to the person. */
export interface ProcessContext extends ProgramProcess {
  readonly speech: Speech;
}

/** Why `stop` aborts where the program is to be started again: a service that ended well may be left alone. */
export const toBeStartedAgain = new DOMException("the program is started again", "AbortError");

/** Of a program that ended in order. */
export const exitCodeAfter = (stop: AbortSignal): number =>
  stop.reason === toBeStartedAgain ? exitCodes.failed : exitCodes.done;

export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  const version =
    typeof parsed === "object" && parsed !== null && "version" in parsed ? parsed.version : null;
  return typeof version === "string" ? version : "unknown";
}

/** A disk that answers at all answers sooner. */
const graceMs = 2_000;

/** What came of reading some files, unless the program is to end meanwhile: a disk that does not answer holds no command for ever. */
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

/** Standard error for what draws on it: the log with its colours, a line that is drawn over itself, a dialogue. */
export const screenOf = ({ err }: Pick<ProcessContext, "err">) => ({
  isTTY: err.isTTY === true,
  write: (text: string) => (err.draw === undefined ? err.write(text) : err.draw(text)),
});

/** When a command that only has output to offer ends: it was stopped, or its output is not read. */
export const endOfUse = ({ stop, outputEnded }: ProcessContext): AbortSignal =>
  outputEnded === undefined ? stop : anyOf(stop, outputEnded);

export interface CommonOptions {
  readonly config: string;
  /** The account of a fleet that is meant; `config` then is the file of the fleet. */
  readonly account?: string;
  readonly logLevel?: string;
  readonly dataDir?: string;
}

/** Each command is a file that is loaded only when it is called: start-up time is a feature on a small computer. */
export const lazily =
  <Args extends unknown[]>(load: () => Promise<(context: ProcessContext, ...args: Args) => unknown>) =>
  (context: ProcessContext): ((...args: Args) => Promise<void>) =>
  async (...args) => {
    await (
      await load()
    )(context, ...args);
  };
