import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { countFrom, rounded, tellFigures } from "../proof/figures.js";
import type { Look } from "./world.js";

/*
 * DAYS simulated days of one run (30 without it, some six minutes of a processor), by the draws of SEED: 150 commands, four cut links, two
 * starts of Home Assistant, a full disk and a set clock each day, beside a platform of which one answer in twenty is none.
 */

const days = countFrom("DAYS", 30);
const seed = countFrom("SEED", 1);
const warmDay = 2;
/** Heap of the newest day by that of the second. */
const mostGrowth = days < 30 ? 1.1 : 1.05;

interface Day extends Look {
  readonly heap: number;
  readonly signals: number;
  readonly listeners: number;
}

async function daysOf(count: number): Promise<readonly Day[]> {
  const script = join(import.meta.dirname, "run-days.mjs");
  // What is compiled anew for days is code of the machine, and nothing that the program keeps.
  const child = spawn(process.execPath, ["--no-opt", script, String(count), String(seed)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const seen: Day[] = [];
  for await (const line of createInterface({ input: child.stdout })) seen.push(JSON.parse(line) as Day);
  expect(await ended).toEqual([0, null]);
  return seen;
}

it(`memory, timers, listeners and files after day ${warmDay} and day ${days} are the same`, async () => {
  const seen = await daysOf(days);
  const [warm, last] = [seen[warmDay - 1], seen.at(-1)];
  if (warm === undefined || last === undefined) throw new Error(`only ${seen.length} days were simulated`);
  await tellFigures("days", days < 30, {
    days: seen.length,
    commands: last.asked,
    results: last.results,
    "heap after day 2, MB": rounded(warm.heap / 1e6),
    "heap at the end, MB": rounded(last.heap / 1e6),
    "timers, day 2 and the end": `${warm.timers}, ${last.timers}`,
    "listeners, day 2 and the end": `${warm.listeners}, ${last.listeners}`,
    "largest journal, bytes": Math.max(...seen.map(({ journal }) => journal.bytes)),
    "retained topics, day 2 and the end": `${warm.retained}, ${last.retained}`,
  });
  expect(last.heap / warm.heap).toBeLessThan(mostGrowth);
  // What is under way at that moment has some of its own.
  expect(last.timers - warm.timers).toBeLessThanOrEqual(5);
  expect(last.listeners - warm.listeners).toBeLessThanOrEqual(10);
  expect(last.signals - warm.signals).toBeLessThanOrEqual(10);
  expect(Math.max(...seen.map(({ journal }) => journal.bytes / journal.most))).toBeLessThan(1.25);
  expect(last.retained - warm.retained).toBeLessThanOrEqual(5);
  expect(last.results).toBeGreaterThanOrEqual(last.asked);
});
