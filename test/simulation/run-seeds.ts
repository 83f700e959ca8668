import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { simulate } from "./simulate.js";
import { alwaysSeen } from "./sometimes.js";

/** How the files share the seeds: each takes every fourth, so that any number of processors up to four is busy. */
export const shards = 4;

/** `--seeds` and the like come as environment variables, as the test runner has arguments of its own. */
export interface SeedRange {
  readonly from: number;
  readonly seeds: number;
  readonly hours: number;
}

const number = (name: string, otherwise: number): number => {
  const text = process.env[name];
  return text === undefined || text === "" ? otherwise : Number(text);
};

export function seedRange(): SeedRange {
  const single = number("SEED", 0);
  if (single > 0) return { from: single, seeds: 1, hours: number("HOURS", 6) };
  return { from: number("FROM", 1), seeds: number("SEEDS", 500), hours: number("HOURS", 6) };
}

/** Fewer seeds than this may miss a rare path by bad luck. */
const enoughSeeds = 500;

const tallies = (): string => join(tmpdir(), `simulation-${process.env["SIMULATION_RUN"] ?? "0"}`);

/** Runs every fourth seed of the range as one test. */
export function shard(index: number): void {
  const { from, seeds, hours } = seedRange();
  const own = Array.from({ length: seeds }, (_, n) => from + n).filter((seed) => seed % shards === index);
  const title = `no rule is broken in ${own.length} seeds x ${hours} h (of ${seeds} from ${from})`;
  it.runIf(own.length > 0)(title, async () => {
    const failures: string[] = [];
    const sometimes = new Map<string, number>();
    for (const seed of own) {
      const run = await simulate(seed, hours);
      for (const [name, count] of run.sometimes) sometimes.set(name, (sometimes.get(name) ?? 0) + count);
      if (run.failure === null) continue;
      failures.push(run.failure);
      if (failures.length >= number("FAILURES", 3)) break;
    }
    mkdirSync(tallies(), { recursive: true });
    writeFileSync(join(tallies(), `${index}.json`), JSON.stringify([...sometimes]));
    expect(failures.join("\n\n")).toBe("");
  });
}

/** Adds up what all shards have seen; returns the rare paths that never occurred. */
export function missingPaths(): readonly string[] {
  const { seeds } = seedRange();
  if (!existsSync(tallies())) return [];
  const sum = new Map<string, number>();
  for (const file of readdirSync(tallies())) {
    const seen = JSON.parse(readFileSync(join(tallies(), file), "utf8")) as [string, number][];
    for (const [name, count] of seen) sum.set(name, (sum.get(name) ?? 0) + count);
  }
  rmSync(tallies(), { recursive: true });
  if (process.env["SOMETIMES"])
    for (const [name, count] of [...sum].sort((one, other) => one[1] - other[1]))
      console.log(`${count} x ${name}`);
  return seeds < enoughSeeds ? [] : alwaysSeen.filter((name) => !sum.has(name));
}
