import { it } from "vitest";
import { simulate } from "./simulate.js";
const list = (process.env["S"] ?? "1").split(",").map(Number);
it("runs", async () => {
  const from = list[0] ?? 1, to = list[1] ?? from;
  for (let seed = from; seed <= to; seed++) {
    const t = performance.now();
    const run = await simulate(seed, Number(process.env["H"] ?? 6));
    console.log(seed, run.lines, Math.round(performance.now() - t) + "ms", run.failure ?? "ok");
    if (process.env["SOME"]) console.log(run.sometimes);
  }
}, 600_000);
