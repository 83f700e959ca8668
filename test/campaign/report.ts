import type { Breach } from "./history.js";
import type { Mode } from "./plan.js";
import type { LaneRun } from "./run-lane.js";
import type { RowRun } from "./run-row.js";

/** One line of the report: a fault over all lanes it ran in. */
interface ReportRow {
  readonly fault: string;
  readonly times: number;
  readonly commands: number;
  readonly lostCommands: number;
  readonly wrongStates: number;
  readonly badPosts: number;
  readonly recoveryMinMs: number | null;
  readonly recoveryMedianMs: number | null;
  readonly recoveryMaxMs: number | null;
  readonly limitMs: number;
  readonly problems: readonly string[];
}

export interface Report {
  readonly startedAt: string;
  readonly mode: Mode;
  readonly tookS: number;
  readonly rows: readonly ReportRow[];
  readonly lanes: readonly Omit<LaneRun, "rows">[];
  readonly totals: Readonly<Record<string, number>>;
}

export function reportOf(
  runs: readonly LaneRun[],
  facts: Pick<Report, "startedAt" | "mode" | "tookS">,
): Report {
  const names = [...new Set(runs.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const rows = names.map((name) => reportRow(name, runs));
  const sum = (figure: (run: LaneRun) => number) => runs.reduce((total, run) => total + figure(run), 0);
  const breaches = (invariant: Breach["invariant"]) => (run: LaneRun) =>
    run.breaches.filter((one) => one.invariant === invariant).length;
  return {
    ...facts,
    rows,
    lanes: runs.map(({ lane, commands, breaches: all, problems, settledMs, figures }) => ({
      ...{ lane, commands, breaches: all, problems, settledMs, figures },
    })),
    totals: {
      faults: sum(({ rows: own }) => own.length),
      commands: sum(({ commands }) => commands.sent),
      undelivered: sum(({ commands }) => commands.undelivered),
      lostCommands: sum(breaches("lost command")),
      wrongStates: sum(breaches("wrong state")),
      badPosts: sum(breaches("POST")),
      posts: sum(({ figures }) => figures["posts"] ?? 0),
      messages: sum(({ figures }) => figures["messages"] ?? 0),
      problems: sum((run) => run.problems.length + run.rows.flatMap(({ problems }) => problems).length),
    },
  };
}

function reportRow(name: string, lanes: readonly LaneRun[]): ReportRow {
  const runs = lanes.flatMap(({ rows }) => rows.filter((row) => row.name === name));
  const within = (invariant: Breach["invariant"]) =>
    lanes.reduce(
      (count, { rows, breaches }) =>
        count +
        breaches.filter((one) => one.invariant === invariant && rowAt(rows, one.at)?.name === name).length,
      0,
    );
  const times = runs
    .flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]))
    .sort((a, b) => a - b);
  return {
    fault: name,
    times: runs.length,
    commands: runs.reduce((total, { commands }) => total + commands, 0),
    lostCommands: within("lost command"),
    wrongStates: within("wrong state"),
    badPosts: within("POST"),
    recoveryMinMs: times[0] ?? null,
    recoveryMedianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
    recoveryMaxMs: times.at(-1) ?? null,
    limitMs: runs[0]?.limitMs ?? 0,
    problems: runs.flatMap(({ lane, problems }) => problems.map((problem) => `${lane}: ${problem}`)),
  };
}

/** The fault whose time an instant belongs to: the newest that had begun. */
const rowAt = (rows: readonly RowRun[], at: number): RowRun | undefined =>
  rows.findLast(({ startedAt }) => startedAt <= at) ?? rows[0];

const seconds = (ms: number | null): string => (ms === null ? "never" : (ms / 1_000).toFixed(1));

export function tableOf({ rows, totals, lanes, tookS, mode }: Report): string {
  const head = [
    ...["fault", "times", "commands", "lost", "wrong", "POSTs"],
    ...["min s", "median s", "max s", "limit s"],
  ];
  const lines = rows.map((row) => [
    ...[row.fault, String(row.times), String(row.commands)],
    ...[String(row.lostCommands), String(row.wrongStates), String(row.badPosts)],
    ...[row.recoveryMinMs, row.recoveryMedianMs, row.recoveryMaxMs, row.limitMs].map(seconds),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ");
  const settled = lanes.map(({ lane, settledMs }) => `${lane} ${seconds(settledMs)} s`).join(", ");
  const outcomes = new Map<string, number>();
  for (const { commands } of lanes)
    for (const [outcome, count] of Object.entries(commands.outcomes))
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
  return [
    `fault campaign, ${mode}: ${rows.length} faults, ${totals["faults"] ?? 0} times, ${lanes.length} worlds, in ${tookS} s`,
    line(head),
    line(widths.map((width) => "-".repeat(width))),
    ...lines.map(line),
    "",
    `commands sent ${totals["commands"] ?? 0}, of which never delivered ${totals["undelivered"] ?? 0}; lost ${totals["lostCommands"] ?? 0}`,
    `outcomes: ${[...outcomes]
      .sort((a, b) => b[1] - a[1])
      .map(([outcome, count]) => `${outcome} ${count}`)
      .join(", ")}`,
    `messages ${totals["messages"] ?? 0}, wrong states ${totals["wrongStates"] ?? 0}; POSTs ${totals["posts"] ?? 0}, of which wrong ${totals["badPosts"] ?? 0}`,
    `retained topics equal to the platform after the last fault: ${settled}`,
  ].join("\n");
}
