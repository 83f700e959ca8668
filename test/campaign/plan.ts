import { answerRows } from "./rows/answer-rows.js";
import { brokerRows } from "./rows/broker-rows.js";
import { deliveryRows } from "./rows/delivery-rows.js";
import { diskRows } from "./rows/disk-rows.js";
import { exposedRows } from "./rows/exposed-rows.js";
import { messageRows } from "./rows/message-rows.js";
import { platformRows } from "./rows/platform-rows.js";
import { postRows } from "./rows/post-rows.js";
import { processRows } from "./rows/process-rows.js";
import { pushRows } from "./rows/push-rows.js";
import { stateRows } from "./rows/state-rows.js";
import { type Row, usuallyMs } from "./row.js";
import { lanes } from "./support/lanes.js";
import type { Lane } from "./support/world.js";

/** All faults there are, in the order of the report. */
export const table: readonly Row[] = [
  ...stateRows,
  ...brokerRows,
  ...deliveryRows,
  ...messageRows,
  ...exposedRows,
  ...platformRows,
  ...answerRows,
  ...pushRows,
  ...postRows,
  ...processRows,
  ...diskRows,
];

/** `full`: every row in every lane that can have it. `reduced`: every row once, held shorter, shared out over the lanes. */
export type Mode = "full" | "reduced";

/** The rows of one world; a lane may have several worlds side by side. */
export interface WorldPlan {
  readonly lane: Lane;
  readonly rows: readonly { readonly row: Row; readonly holdMs: number }[];
}

export interface Choice {
  readonly mode: Mode;
  readonly rows: RegExp;
  readonly lanes: RegExp;
  readonly worldsPerLane: number;
}

interface Filling {
  readonly lane: Lane;
  readonly laneName: string;
  readonly rows: Row[];
}

/** Which world runs which rows: the longest first, each to the world with the least to do so far. */
export function planOf({ mode, rows, lanes: chosen, worldsPerLane }: Choice): readonly WorldPlan[] {
  const worlds = lanes
    .filter(({ name }) => chosen.test(name))
    .flatMap((lane) => emptyWorlds(lane, worldsPerLane));
  const wanted = table
    .filter(({ name }) => rows.test(name))
    .toSorted((a, b) => durationMs(b, mode) - durationMs(a, mode));
  for (const row of wanted) {
    const able = worlds.filter(({ lane }) => row.only?.(lane) ?? true);
    for (const group of mode === "reduced" ? [able] : byLane(able))
      group.toSorted((a, b) => loadMs(a.rows, mode) - loadMs(b.rows, mode))[0]?.rows.push(row);
  }
  return worlds
    .filter((world) => world.rows.length > 0)
    .map(({ lane, rows: own }) => ({
      lane,
      rows: inTurn(table.filter((row) => own.includes(row))).map((row) => ({
        row,
        holdMs: holdMsOf(row, mode),
      })),
    }));
}

const emptyWorlds = (lane: Lane, count: number): readonly Filling[] =>
  Array.from({ length: count }, (_, n) => ({
    lane: n === 0 ? lane : { ...lane, name: `${lane.name}.${n + 1}` },
    laneName: lane.name,
    rows: [],
  }));

const byLane = (worlds: readonly Filling[]): readonly (readonly Filling[])[] =>
  [...new Set(worlds.map(({ laneName }) => laneName))].map((name) =>
    worlds.filter(({ laneName }) => laneName === name),
  );

const holdMsOf = ({ holdMs, reducedHoldMs }: Row, mode: Mode): number =>
  mode === "reduced" ? (reducedHoldMs ?? holdMs) : holdMs;

const durationMs = (row: Row, mode: Mode): number => holdMsOf(row, mode) + (row.aboutMs ?? usuallyMs);

const loadMs = (rows: readonly Row[], mode: Mode): number =>
  rows.reduce((total, row) => total + durationMs(row, mode), 0);

/** What the world with the most to do needs, about, ms. */
export const longestMs = (plan: readonly WorldPlan[]): number =>
  Math.max(
    0,
    ...plan.map(({ rows }) =>
      rows.reduce((total, { row, holdMs }) => total + holdMs + (row.aboutMs ?? usuallyMs), 0),
    ),
  );

/** Kinds of faults by turns, so that one kind meets the traces of the others. */
function inTurn(rows: readonly Row[]): readonly Row[] {
  const kinds = [...new Set(rows.map(({ hits }) => hits))].map((kind) =>
    rows.filter(({ hits }) => hits === kind),
  );
  const longest = Math.max(0, ...kinds.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    kinds.flatMap((kind) => kind.slice(index, index + 1)),
  ).flat();
}
