// node test/days/run-days.mjs DAYS [SEED]
// Simulates so many days of the program and writes a line of JSON at the end of each: what is left after a garbage collection.
import { getEventListeners } from "node:events";
import { register } from "node:module";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/* Each signal that is made, as long as anybody has it: what listens to one for longer than it should is found there. */
let signals = [];
const { any } = AbortSignal;
AbortSignal.any = (given) => {
  const signal = any.call(AbortSignal, given);
  signals.push(new WeakRef(signal));
  return signal;
};
globalThis.AbortController = class extends AbortController {
  constructor() {
    super();
    signals.push(new WeakRef(this.signal));
  }
};

function countListeners() {
  signals = signals.filter((one) => one.deref() !== undefined);
  const counts = signals.map((one) => getEventListeners(one.deref(), "abort").length);
  return { signals: signals.length, listeners: counts.reduce((sum, count) => sum + count, 0) };
}

register("../simulation/hooks.mjs", import.meta.url);
const { runDays } = await import("./world.ts");

// Nobody reads the traces of the thousands of failed requests.
Error.stackTraceLimit = 0;
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const [days = 30, seed = 1] = process.argv.slice(2).map(Number);

await runDays(days, seed, async (look) => {
  // What is freed by finalizers and in the next turn goes with the second one.
  for (let n = 0; n < 2; n += 1) {
    collect();
    await turn();
  }
  const listening = countListeners();
  await turn();
  collect();
  console.log(JSON.stringify({ ...look, ...listening, heap: process.memoryUsage().heapUsed }));
});
