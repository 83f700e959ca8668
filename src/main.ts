#!/usr/bin/env node
import { guardStreams, isOnTerminal, runProgram } from "./cli/program.js";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}
// A terminal that is closed ends what was started in it; a service is asked to read its configuration again.
const endsWithTerminal = isOnTerminal();
let reload: (() => void) | null = null;
process.on("SIGHUP", () => {
  if (reload === null || endsWithTerminal) stop.abort();
  else reload();
});
const { out, err, outputEnded, exitCode } = guardStreams(process.stdout, process.stderr);
// Only by then is it known that the last words could not be written either.
process.on("exit", (code) => {
  process.exitCode = exitCode(code);
});

process.exitCode = await runProgram(process.argv, {
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
// What a stopped command has given up may go on in the background, and would hold the process for minutes.
if (stop.signal.aborted) process.stdout.write("", () => process.stderr.write("", () => process.exit()));
