import { register } from "node:module";

register("./hooks.mjs", import.meta.url);
const { simulate } = await import("./world.ts");

// Nobody reads the traces of thousands of failed requests; a replay has them.
Error.stackTraceLimit = 0;

// Nobody waits for the answer any more.
process.on("disconnect", () => {
  process.exit();
});

process.on("message", ({ seed, hours }) => {
  void simulate(seed, hours).then((run) => process.send?.(run));
});
