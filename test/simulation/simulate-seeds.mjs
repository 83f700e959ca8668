import { register } from "node:module";
import { parseArgs } from "node:util";

register("./hooks.mjs", import.meta.url);
const { processesOfThisMachine, runSeeds, tallyOf, tell } = await import("./seeds.ts");
const { simulate } = await import("./world.ts");

const usage = `node test/simulation/simulate-seeds.mjs [options]
  --seeds N       how many (500)
  --from F        the first (1)
  --hours H       simulated hours of each (6)
  --seed S        this one alone, with its whole history; the same as in the run that told of it
  --processes P   side by side (one for each processor)
  --failures K    stop after so many (3)`;

const number = { type: "string" };

function numbers() {
  const names = ["seeds", "from", "hours", "seed", "processes", "failures"];
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, number])) });
  for (const [name, text] of Object.entries(values))
    if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`--${name} takes a number, not "${text}"\n${usage}`);
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)]));
}

async function replay(seed, hours) {
  process.setSourceMapsEnabled(true);
  const run = await simulate(seed, hours, (line) => console.log(line));
  console.log(run.failure?.split("\n").slice(0, 3).join("\n") ?? `seed ${seed}: no rule is broken`);
  return run.failure === null;
}

async function many({ seeds: count = 500, from = 1, hours = 6, failures = 3, processes }) {
  const startedAt = performance.now();
  const aside = processes ?? processesOfThisMachine();
  let done = 0;
  const runs = await runSeeds({
    seeds: Array.from({ length: count }, (_, n) => from + n),
    hours,
    processes: aside,
    mostFailures: failures,
    onRun: ({ failure }) => {
      done += 1;
      if (failure !== null) console.log(`${failure}\n`);
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count} seeds `);
    },
  });
  const minutes = (performance.now() - startedAt) / 60_000;
  const tally = tallyOf(runs, { hours, processes: aside, minutes });
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
