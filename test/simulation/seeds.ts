import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Planted } from "../planted/plant.mjs";
import type { Run } from "./world.js";

/** The order to one process: one seed at a time, answered with its `Run`. */
interface SeedAsked {
  readonly seed: number;
  readonly hours: number;
}

export interface SeedsAsked {
  readonly seeds: readonly number[];
  readonly hours: number;
  /** The number of parallel processes. */
  readonly processes: number;
  /** After this many failures no further seed begins. */
  readonly mostFailures: number;
  readonly planted?: Planted;
  readonly onRun?: (run: Run) => void;
}

/** Far more than any seed takes on any machine: one that still runs never ends. */
const mostPerSeedMs = 15 * 60_000;

export const processesOfThisMachine = (): number => availableParallelism();

/** Runs seeds in parallel processes, each taking the next seed when done; resolves to the runs by seed. */
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
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });

/** Runs one seed in one process; a process that dies or never answers is a failure of the seed. */
async function asProcess(child: ChildProcess, asked: SeedAsked): Promise<Run> {
  const [over, limit] = [new AbortController(), setTimeout(() => child.kill("SIGKILL"), mostPerSeedMs)];
  child.send(asked);
  const died = once(child, "exit", over).then(() => [brokenRun(asked)]);
  const [run] = (await Promise.race([once(child, "message", over), died])) as [Run];
  clearTimeout(limit);
  over.abort();
  return run;
}

const brokenRun = ({ seed, hours }: SeedAsked): Run => ({
  seed,
  digest: "",
  lines: 0,
  commands: 0,
  posts: 0,
  boots: 0,
  sometimes: {},
  invariant: "crash",
  failure: `seed ${seed}: its process ended, or never would\nreplay: node test/simulation/simulate-seeds.mjs --seed ${seed} --hours ${hours}`,
});

/** The summary of a run over many seeds. */
export interface Tally {
  readonly seeds: number;
  readonly from: number;
  readonly hoursEach: number;
  readonly processes: number;
  readonly minutes: number;
  readonly commands: number;
  readonly posts: number;
  readonly programStarts: number;
  readonly violations: number;
  /** How often each rare path was taken. */
  readonly sometimes: Readonly<Record<string, number>>;
  /** Rare paths that were never taken; empty if the run is too short to demand them. */
  readonly missing: readonly string[];
}

/** A shorter run may miss a rare path by bad luck. */
const enough = { seeds: 500, hours: 6 };

export function tallyOf(
  runs: readonly Run[],
  { hours, processes, minutes }: { hours: number; processes: number; minutes: number },
): Tally {
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0);
  const sometimes = new Map<string, number>();
  for (const run of runs)
    for (const [name, count] of Object.entries(run.sometimes))
      sometimes.set(name, (sometimes.get(name) ?? 0) + count);
  const isLong = runs.length >= enough.seeds && hours >= enough.hours;
  return {
    seeds: runs.length,
    from: runs[0]?.seed ?? 0,
    hoursEach: hours,
    processes,
    minutes: Math.round(minutes * 100) / 100,
    commands: sum(({ commands }) => commands),
    posts: sum(({ posts }) => posts),
    programStarts: sum(({ boots }) => boots),
    violations: runs.filter(({ failure }) => failure !== null).length,
    sometimes: Object.fromEntries([...sometimes].sort(([one], [other]) => (one < other ? -1 : 1))),
    missing: isLong ? alwaysSeen.filter((name) => !sometimes.has(name)) : [],
  };
}

/** The tally as lines for a person. */
export function tell(tally: Tally, print: (line: string) => void): void {
  const rarest = Object.entries(tally.sometimes).sort(([, one], [, other]) => one - other);
  for (const [name, count] of rarest) print(`${String(count).padStart(8)} x ${name}`);
  for (const name of tally.missing) print(`   never x ${name}`);
  print(
    `${tally.seeds} seeds from ${tally.from} x ${tally.hoursEach} h, ${tally.commands} commands, ${tally.posts} POSTs, ` +
      `${tally.programStarts} starts of the program, ${tally.violations} violations, ` +
      `${tally.minutes} min in ${tally.processes} processes`,
  );
}

/** `prefix one`, `prefix other` for a text that lists them. */
const each = (prefix: string, list: string): readonly string[] =>
  list.split(";").map((one) => `${prefix} ${one.trim()}`);

/** Rare paths. A run of 500 seeds that misses one proves less than it seems to, and fails. */
const alwaysSeen: readonly string[] = [
  "a read between two steps of a command",
  "a second POST",
  "a POST arrives after its command gave up on it",
  "an equal command takes over the read-backs",
  "an id sent again",
  "an id sent again after a restart",
  "a lie was believed",
  "a host is reached while its name is silent",
  "an address that leads nowhere",
  "a stop without the journal",
  "a stop waits for its distance from the last",
  "a result repeated",
  "a command is recovered after a crash",
  "a power cut",
  "a torn tail of the journal",
  "stopped cleanly",
  "a command after SIGTERM",
  "a clock jump during confirming",
  "a command expires while signing in",
  "a duplicate by id",
  "a duplicate by payload",
  "an actuator stale, good and stale again",
  "somebody else moves it while it is confirmed",
  "a confirmed value is looked at again",
  "a POST that a guard forbids at other times",
  "a start where pauses are kept",
  "a lease's end is sent",
  "what a guard sends ends confirmed",
  "what a guard sends ends already",
  "what a rule sends without the journal",
  "weather from the broker's store",
  "an alarm is acknowledged",
  "an acknowledged alarm is shown by a later run",
  ...each(
    "a crash",
    `with nothing open; while waiting; while checking, not journaled; while checking, journaled;
     while posting the mode; while posting the value; while posting again;
     after a POST that may have been lost; while the mode settles; while the mode is read back;
     while the value settles; while the value is read back; while an heir waits for read-backs;
     before a result was delivered; while recovering from the last; while stopping; while starting`,
  ),
  ...each("recovered as", "confirmed; failed; unconfirmed; unknown; superseded"),
  ...each(
    "outcome refused",
    `retained; expired; no_age; clock; duplicate; bad_payload; unknown_actuator; unknown_command;
     out_of_range; overloaded; read_only; controller_offline; platform_unavailable; no_read_back;
     journal_unavailable; shutting_down; interlock`,
  ),
  ...each("outcome superseded", "before_sending; after_sending"),
  ...each("outcome failed", "not_sent; expired_midway; interlock"),
  ...each(
    "outcome",
    `rejected; rejected unauthorized; unknown; unknown mode_not_confirmed; unconfirmed;
     unconfirmed mode_not_confirmed; unconfirmed lead_in_not_confirmed; failed; dry_run`,
  ),
  ...each("event", "confirmed_late; changed_elsewhere; reverted; alarm; alarm_cleared; flood; lease_overrun"),
  ...each("POST", "timeout; interrupted; unauthorized; throttled; protocol; server; unreachable"),
  ...each(
    "an interlock of",
    `a guard; lock; hold; rest; reversal; starts_per_hour; a guard on a running status`,
  ),
  ...each("somebody asks to", "lock; unlock; release"),
  ...each("a lease", "begins"),
  ...each("a guard", "sends; is blind for long"),
];
