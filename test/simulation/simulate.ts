import { scenarioOf } from "./scenario.js";
import { World } from "./world.js";

export interface Run {
  readonly seed: number;
  readonly digest: string;
  readonly lines: number;
  readonly sometimes: ReadonlyMap<string, number>;
  /** What went wrong, ready to be read; null when nothing did. */
  readonly failure: string | null;
  readonly invariant: string | null;
}

/** Runs one seed from its start to its end, or to the first broken rule. */
export async function simulate(seed: number, hours: number, onLine?: (line: string) => void): Promise<Run> {
  const scenario = await scenarioOf(seed, hours);
  const world = new World(scenario);
  if (onLine) world.journalist.onLine = onLine;
  let error: Error | null = null;
  try {
    await world.run();
  } catch (caught) {
    error = caught instanceof Error ? caught : new Error(String(caught));
  }
  const { journalist } = world;
  const { digest, lines, sometimes } = journalist;
  if (error === null) return { seed, digest, lines, sometimes, failure: null, invariant: null };
  const invariant = "invariant" in error ? String(error.invariant) : "crash";
  const failure = [
    `seed ${seed}: ${error.message}`,
    `faults: ${scenario.exists.join(", ")}`,
    `replay: npm run simulate:seeds -- --seed ${seed} --hours ${hours}`,
    ...(invariant === "crash" ? [error.stack ?? ""] : []),
    ...world.linesAtFailure,
  ].join("\n");
  return { seed, digest, lines, sometimes, failure, invariant };
}
