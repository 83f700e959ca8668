import type { Breach } from "./history.js";
import type { Mode } from "./plan.js";
import type { LaneRun } from "./run-lane.js";
import type { RowRun } from "./run-row.js";

/** One line of the report: a fault over all lanes it ran in. */
interface ReportRow {
  readonly fault: string;
  readonly times: number;
  readonly commands: number;
  readonly lost: number;
  readonly wrong: number;
  readonly POSTs: number;
  /** Null if it never recovered. */
  readonly slowestMs: number | null;
  readonly limitMs: number;
  readonly problems: readonly string[];
}

export interface Report {
  readonly startedAt: string;
  readonly mode: Mode;
  readonly tookS: number;
  readonly rows: readonly ReportRow[];
  readonly lanes: readonly LaneRun[];
  readonly totals: Readonly<Record<string, number>>;
}

const sum = <Thing>(things: readonly Thing[], figure: (thing: Thing) => number): number =>
  things.reduce((total, thing) => total + figure(thing), 0);

export function reportOf(
  runs: readonly LaneRun[],
  facts: Pick<Report, "startedAt" | "mode" | "tookS">,
): Report {
  const names = new Set(runs.flatMap(({ rows }) => rows.map(({ name }) => name)));
  const breaches = (invariant: Breach["invariant"]) =>
    runs.flatMap((run) => run.breaches).filter((one) => one.invariant === invariant).length;
  return {
    ...facts,
    rows: [...names].map((name) => reportRow(name, runs)),
    lanes: runs,
    totals: {
      faults: sum(runs, ({ rows }) => rows.length),
      commands: sum(runs, ({ commands }) => commands.sent),
      undelivered: sum(runs, ({ commands }) => commands.undelivered),
      lostCommands: breaches("lost command"),
      wrongStates: breaches("wrong state"),
      badPosts: breaches("POST"),
      posts: sum(runs, ({ figures }) => figures["posts"] ?? 0),
      messages: sum(runs, ({ figures }) => figures["messages"] ?? 0),
      problems: sum(runs, (run) => run.problems.length + sum(run.rows, ({ problems }) => problems.length)),
    },
  };
}

function reportRow(name: string, lanes: readonly LaneRun[]): ReportRow {
  const runs = lanes.flatMap(({ rows }) => rows.filter((row) => row.name === name));
  const found = lanes.flatMap(({ rows, breaches }) =>
    breaches.filter(({ at }) => rowAt(rows, at)?.name === name),
  );
  const breaches = (invariant: Breach["invariant"]) =>
    found.filter((one) => one.invariant === invariant).length;
  const times = runs.flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]));
  return {
    ...{ fault: name, times: runs.length, commands: sum(runs, ({ commands }) => commands) },
    ...{ lost: breaches("lost command"), wrong: breaches("wrong state"), POSTs: breaches("POST") },
    slowestMs: times.length === runs.length ? Math.max(...times) : null,
    limitMs: runs[0]?.limitMs ?? 0,
    problems: runs.flatMap(({ lane, problems }) => problems.map((problem) => `${lane}: ${problem}`)),
  };
}

/** The row that an instant belongs to: the newest one begun by then. */
const rowAt = (rows: readonly RowRun[], at: number): RowRun | undefined =>
  rows.findLast(({ startedAt }) => startedAt <= at) ?? rows[0];

export function printed({ rows, totals, lanes, tookS, mode }: Report): void {
  console.table(rows.map(({ problems, ...row }) => ({ ...row, problems: problems.length })));
  const outcomes: Record<string, number> = {};
  for (const [outcome, count] of lanes.flatMap(({ commands }) => Object.entries(commands.outcomes)))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  const settled = Object.fromEntries(lanes.map(({ lane, settledMs }) => [lane, settledMs]));
  console.log(`fault campaign, ${mode}: ${rows.length} faults, ${lanes.length} worlds, in ${tookS} s`);
  console.log("totals", totals, "outcomes", outcomes);
  console.log("ms until retained topics equalled the platform after the last fault", settled);
}
