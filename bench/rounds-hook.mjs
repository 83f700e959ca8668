// In the bridge: the longest round of its event loop since the last request, in processor time, so that other load on
// the computer does not matter. A message has to wait for the round in progress.
import { openSync, readSync, writeFileSync } from "node:fs";

const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
const buffer = Buffer.alloc(64);
/** Milliseconds for which this thread had a processor. */
const used = () =>
  Number(buffer.toString("latin1", 0, readSync(stat, buffer, 0, 64, 0)).split(" ", 1)[0]) / 1e6;

let before = used();
let longest = 0;
const round = () => {
  const now = used();
  longest = Math.max(longest, now - before);
  before = now;
  setImmediate(round).unref();
};

process.on("SIGUSR2", () => {
  writeFileSync(process.env.BENCH_ROUNDS, String(longest));
  longest = 0;
  before = used();
});
round();
