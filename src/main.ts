#!/usr/bin/env node
import { runProgram } from "./cli/program.js";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}
// A terminal that is closed ends what ran in it; a service is asked to read its configuration again.
let reload: (() => void) | null = null;
process.on("SIGHUP", () => {
  if (reload === null || process.stderr.isTTY) stop.abort();
  else reload();
});
// A closed pipe (`| head`) ends the output, not the world.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runProgram(process.argv, {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: process.stderr,
  isTerminal: process.stdout.isTTY,
  stop: stop.signal,
  onReload: (listener) => {
    reload = listener;
  },
});
