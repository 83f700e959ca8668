import type { Run } from "./simulate.js";
import { alwaysSeen } from "./sometimes.js";

/** What a run over many seeds amounts to. */
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
  /** Rare paths that were never taken; empty when the run is too short to demand them. */
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
