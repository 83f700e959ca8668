import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Planted } from "../planted/plant.mjs";
import type { SeedAsked } from "./seed-process.js";
import type { Run } from "./simulate.js";

export interface SeedsAsked {
  readonly seeds: readonly number[];
  readonly hours: number;
  /** Processes side by side. */
  readonly processes: number;
  /** After so many failures nothing more is begun. */
  readonly mostFailures: number;
  readonly planted?: Planted;
  readonly onRun?: (run: Run) => void;
}

/** Far more than any seed takes on any machine: one that is still running then never ends. */
const mostPerSeedMs = 15 * 60_000;

export const processesOfThisMachine = (): number => availableParallelism();

/** Runs seeds in processes of their own, each taking the next one when it has done one; resolves with the runs by seed. */
export async function runSeeds(asked: SeedsAsked): Promise<readonly Run[]> {
  const left = [...asked.seeds];
  const runs: Run[] = [];
  const next = (): number | undefined =>
    runs.filter(({ failure }) => failure !== null).length < asked.mostFailures ? left.shift() : undefined;
  const done = (run: Run) => {
    runs.push(run);
    asked.onRun?.(run);
  };
  const processes = Math.min(asked.processes, asked.seeds.length);
  await Promise.all(Array.from({ length: processes }, () => seedAfterSeed(asked, next, done)));
  return runs.sort((one, other) => one.seed - other.seed);
}

async function seedAfterSeed(
  { hours, planted }: SeedsAsked,
  next: () => number | undefined,
  done: (run: Run) => void,
): Promise<void> {
  let child: ChildProcess | null = null;
  for (let seed = next(); seed !== undefined; seed = next()) {
    child ??= seedProcess(planted ?? null);
    done(await asProcess(child, { seed, hours }));
    if (child.exitCode !== null || child.signalCode !== null) child = null;
  }
  child?.kill();
}

const seedProcess = (planted: Planted | null): ChildProcess =>
  fork(join(import.meta.dirname, "seed-process.mjs"), [], {
    execArgv: [],
    env: { ...process.env, SIMULATION_PLANTED: JSON.stringify(planted) },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });

/** One seed in one process; a process that dies or never answers is a failure of the seed. */
function asProcess(child: ChildProcess, asked: SeedAsked): Promise<Run> {
  return new Promise((resolve) => {
    let complaints = "";
    const listen = (bytes: Buffer) => {
      complaints = `${complaints}${bytes.toString()}`.slice(-4_000);
    };
    const end = (run: Run) => {
      clearTimeout(limit);
      child.stderr?.off("data", listen);
      child.off("message", answered);
      child.off("exit", died);
      resolve(run);
    };
    const answered = (run: unknown) => end(run as Run);
    const died = () => end(brokenRun(asked, `its process ended: ${complaints}`));
    const limit = setTimeout(() => {
      complaints = "it did not end";
      child.kill("SIGKILL");
    }, mostPerSeedMs);
    child.stderr?.on("data", listen);
    child.on("message", answered);
    child.on("exit", died);
    child.send(asked);
  });
}

const brokenRun = ({ seed, hours }: SeedAsked, message: string): Run => ({
  seed,
  digest: "",
  lines: 0,
  commands: 0,
  posts: 0,
  boots: 0,
  sometimes: {},
  failure: `seed ${seed}: ${message}\nreplay: node test/simulation/simulate-seeds.mjs --seed ${seed} --hours ${hours}`,
  invariant: "crash",
});
