import { isatty } from "node:tty";
import { exitCodes } from "./surroundings.js";

/** The part of `process.stdout` and `process.stderr` that is used. */
export interface StandardStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export interface Streams {
  readonly out: (text: string) => void;
  readonly err: { readonly isTTY?: boolean; write(text: string): unknown };
  /** Aborts when the output goes nowhere any more. */
  readonly outputEnded: AbortSignal;
  /** What the process ends with, given what the command ended with. */
  readonly exitCode: (own: number) => number;
}

/**
 * Output and log as a command may use them. An `error` event that nobody listens to would end the process, so here both
 * have a listener: the log's trouble is nobody's fault, and a closed pipe (`| head`) ends the output, not the world.
 */
export function guardStreams(stdout: StandardStream, stderr: StandardStream): Streams {
  const ended = new AbortController();
  let isLost = false;
  // There is nowhere to say it. Each later line is tried anew: a full disk is emptied, a pipe gets another reader.
  stderr.on("error", () => undefined);
  const err = {
    get isTTY() {
      return stderr.isTTY === true;
    },
    write: (text: string) => stderr.write(text),
  };
  stdout.on("error", (error) => {
    if (ended.signal.aborted) return;
    ended.abort();
    if (error.code === "EPIPE") return;
    isLost = true;
    err.write(`the output could not be written: ${error.message}\n`);
  });
  return {
    out: (text) => {
      if (!ended.signal.aborted) stdout.write(text);
    },
    err,
    outputEnded: ended.signal,
    exitCode: (own) => (isLost && own === exitCodes.done ? exitCodes.failed : own),
  };
}

/**
 * Whether somebody started this from a terminal: input, output or log belongs to one. To be asked at the start, as a
 * terminal that is closed is none any more.
 */
export const isOnTerminal = (ask: (descriptor: number) => boolean = isatty): boolean => [0, 1, 2].some(ask);
