import { appendFileSync, writeFileSync } from "node:fs";
import { it } from "vitest";
import { simulate } from "./simulate.js";
const list = (process.env["S"] ?? "1").split(",").map(Number);
it("runs", async () => {
  const from = list[0] ?? 1, to = list[1] ?? from;
  const all = new Map<string, number>();
  for (let seed = from; seed <= to; seed++) {
    const t = performance.now();
    const lines: string[] = [];
    const run = await simulate(seed, Number(process.env["H"] ?? 6), process.env["DUMP"] ? (l) => lines.push(l) : undefined);
    if (process.env["DUMP"]) writeFileSync(process.env["DUMP"], lines.join("\n"));
    appendFileSync("/tmp/dst-seeds.txt", `${seed} ${run.lines} ${Math.round(performance.now() - t)}ms ${run.failure?.split("\n")[0] ?? "ok"}\n`);
    if (run.failure) appendFileSync("/tmp/dst-fails.txt", run.failure + "\n\n");
    for (const [k, n] of run.sometimes) all.set(k, (all.get(k) ?? 0) + n);
  }
  writeFileSync("/tmp/dst-some.txt", [...all].map(([k, n]) => `${n} ${k}`).sort().join("\n"));
}, 600_000);
