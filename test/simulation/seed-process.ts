import { simulate } from "./simulate.js";

/** What one process is asked: one seed at a time, answered with its `Run`. */
export interface SeedAsked {
  readonly seed: number;
  readonly hours: number;
}

// Nobody reads the traces of the thousands of failed requests; a replay has them.
Error.stackTraceLimit = 0;

// Nobody waits for the answer any more.
process.on("disconnect", () => {
  process.exit();
});

process.on("message", ({ seed, hours }: SeedAsked) => {
  void simulate(seed, hours).then((run) => process.send?.(run));
});
