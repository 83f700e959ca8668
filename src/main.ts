#!/usr/bin/env node
import { isatty } from "node:tty";

/* A signal kills the process until it has a listener, so all else is loaded after these. */

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}
// A terminal that is closed ends what was started in it, and is none any more; a service reads its configuration again.
const endsWithTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
let reload: (() => void) | null = null;
let isLoading = true;
let isHungUp = false;
const hangUp = () => {
  if (isLoading) isHungUp = true;
  else if (reload === null || endsWithTerminal) stop.abort();
  else reload();
};
process.on("SIGHUP", hangUp);

const { guardStreams, runProgram } = await import("./cli/program.js");
const { out, err, outputEnded, exitCode } = guardStreams(process.stdout, process.stderr);
// Only by then is it known that the last words could not be written either.
process.on("exit", (code) => {
  process.exitCode = exitCode(code);
});
const ended = runProgram(process.argv, {
  env: process.env,
  out,
  err,
  isTerminal: process.stdout.isTTY,
  stop: stop.signal,
  outputEnded,
  onReload: (listener) => {
    reload = listener;
  },
});
// By its next turn a command that reloads has said so.
setImmediate(() => {
  isLoading = false;
  if (isHungUp) hangUp();
});
process.exitCode = await ended;
// What a stopped command has given up may go on in the background, and would hold the process for minutes.
if (stop.signal.aborted) process.stdout.write("", () => process.stderr.write("", () => process.exit()));
