import { scenarioOf } from "./scenario.js";
import { World } from "./world.js";

/** What one seed came to; plain data, as it travels between processes. */
export interface Run {
  readonly seed: number;
  /** Of the whole history: the same seed gives the same digest. */
  readonly digest: string;
  readonly lines: number;
  readonly commands: number;
  readonly posts: number;
  readonly boots: number;
  readonly sometimes: Readonly<Record<string, number>>;
  /** What went wrong, ready to be read; null when nothing did. */
  readonly failure: string | null;
  /** `S4` and the like, or `crash`. */
  readonly invariant: string | null;
}

/** Runs one seed from its start to its end, or to the first broken rule. */
export async function simulate(seed: number, hours: number, onLine?: (line: string) => void): Promise<Run> {
  const scenario = await scenarioOf(seed, hours);
  const world = new World(scenario);
  const { journalist } = world;
  if (onLine) journalist.onLine = onLine;
  let error: Error | null = null;
  try {
    await world.run();
  } catch (caught) {
    error = caught instanceof Error ? caught : new Error(String(caught));
  }
  const seen = {
    seed,
    digest: journalist.digest,
    lines: journalist.lines,
    commands: journalist.asks.size,
    posts: journalist.writes.length,
    boots: world.boots,
    sometimes: Object.fromEntries(journalist.sometimes),
  };
  if (error === null) return { ...seen, failure: null, invariant: null };
  const invariant = "invariant" in error ? String(error.invariant) : "crash";
  const failure = [
    `seed ${seed}: ${error.message}`,
    `faults: ${scenario.exists.join(", ")}`,
    `replay: node test/simulation/simulate-seeds.mjs --seed ${seed} --hours ${hours}`,
    ...(invariant === "crash" ? [error.stack ?? ""] : []),
    ...world.linesAtFailure,
  ].join("\n");
  return { ...seen, failure, invariant };
}
