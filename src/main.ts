#!/usr/bin/env node
import { runProgram } from "./cli/program.js";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}
// A closed pipe (`| head`) ends the output, not the world.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runProgram(process.argv, {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: process.stderr,
  isTerminal: process.stdout.isTTY,
  stop: stop.signal,
});
