// Loaded into a program that is watched (NODE_OPTIONS=--import=…): on SIGUSR2 collects garbage and writes to the file
// PROOF_PROBE what memory, handles and listeners are left.
import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const file = process.env.PROOF_PROBE;
let count = 0;

process.on("SIGUSR2", () => {
  collect();
  // What is freed by finalizers and in the next turn goes with the second one.
  setImmediate(() => {
    collect();
    const handles = {};
    for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
    const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    count += 1;
    writeFileSync(`${file}.new`, JSON.stringify({ count, ...process.memoryUsage(), handles, listeners }));
    renameSync(`${file}.new`, file);
  });
});
