import { parseArgs } from "node:util";
import { processesOfThisMachine, runSeeds } from "./seed-pool.js";
import { simulate } from "./simulate.js";
import { tallyOf, tell } from "./tally.js";

const usage = `node test/simulation/simulate-seeds.mjs [options]
  --seeds N       how many (500)
  --from F        the first (1)
  --hours H       simulated hours of each (6)
  --seed S        this one alone, with its whole history; the same as in the run that told of it
  --processes P   side by side (one for each processor)
  --failures K    stop after so many (3)`;

function numbers(): Record<string, number> & { readonly help?: never } {
  const number = { type: "string" } as const;
  const options = {
    seeds: number,
    from: number,
    hours: number,
    seed: number,
    processes: number,
    failures: number,
  };
  const found: Record<string, number> = {};
  for (const [name, text] of Object.entries(parseArgs({ options }).values)) {
    if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`--${name} takes a number, not "${text}"\n${usage}`);
    found[name] = Number(text);
  }
  return found;
}

async function replay(seed: number, hours: number): Promise<boolean> {
  process.setSourceMapsEnabled(true);
  const run = await simulate(seed, hours, (line) => console.log(line));
  console.log(run.failure?.split("\n").slice(0, 3).join("\n") ?? `seed ${seed}: no rule is broken`);
  return run.failure === null;
}

async function many(asked: Record<string, number>): Promise<boolean> {
  const { seeds: count = 500, from = 1, hours = 6, failures: mostFailures = 3 } = asked;
  const { processes = processesOfThisMachine() } = asked;
  const startedAt = performance.now();
  let done = 0;
  const runs = await runSeeds({
    seeds: Array.from({ length: count }, (_, n) => from + n),
    hours,
    processes,
    mostFailures,
    onRun: ({ failure }) => {
      done += 1;
      if (failure !== null) console.log(`${failure}\n`);
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count} seeds `);
    },
  });
  const tally = tallyOf(runs, { hours, processes, minutes: (performance.now() - startedAt) / 60_000 });
  tell(tally, (line) => console.log(line));
  return tally.violations === 0 && tally.missing.length === 0;
}

try {
  const asked = numbers();
  const { seed, hours = 6 } = asked;
  const isFine = seed === undefined ? await many(asked) : await replay(seed, hours);
  process.exitCode = isFine ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
