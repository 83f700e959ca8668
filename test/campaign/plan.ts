import { answerRows } from "./rows/answer-rows.js";
import { brokerRows } from "./rows/broker-rows.js";
import { diskRows } from "./rows/disk-rows.js";
import { exposedRows } from "./rows/exposed-rows.js";
import { messageRows } from "./rows/message-rows.js";
import { platformRows } from "./rows/platform-rows.js";
import { postRows } from "./rows/post-rows.js";
import { processRows } from "./rows/process-rows.js";
import { pushRows } from "./rows/push-rows.js";
import { stateRows } from "./rows/state-rows.js";
import type { Row } from "./row.js";
import { lanes } from "./support/lanes.js";
import type { Lane } from "./support/world.js";

/** All faults there are, in the order of the report. */
export const table: readonly Row[] = [
  ...stateRows,
  ...brokerRows,
  ...messageRows,
  ...exposedRows,
  ...platformRows,
  ...answerRows,
  ...pushRows,
  ...postRows,
  ...processRows,
  ...diskRows,
];

export interface LanePlan {
  readonly lane: Lane;
  readonly rows: readonly { readonly row: Row; readonly holdMs: number }[];
}

/** Which lane runs which rows; the reduced run takes those marked with `!` and holds them shorter. */
export function planOf(reduced: boolean, only?: RegExp): readonly LanePlan[] {
  return lanes
    .map((lane) => ({
      lane,
      rows: inTurn(table.filter(({ lanes: names }) => runsIn(names, lane.name, reduced)))
        .filter(({ name }) => only === undefined || only.test(name))
        .map((row) => ({ row, holdMs: reduced ? (row.reducedHoldMs ?? row.holdMs) : row.holdMs })),
    }))
    .filter(({ rows }) => rows.length > 0);
}

const runsIn = (names: readonly string[], lane: string, reduced: boolean): boolean =>
  names.includes(`${lane}!`) || (!reduced && names.includes(lane));

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

/** What the reduced run leaves out, for it to say. */
export const leftOut = (): readonly string[] =>
  table.filter(({ lanes: names }) => !names.some((name) => name.endsWith("!"))).map(({ name }) => name);

/** Requirements of sections C to H that a process alone cannot show, and where they are shown instead. */
export const notRun: readonly string[] = [
  "C30 TLS «not yet valid» at boot: the simulated platform has no TLS (test/platform)",
  "C31, C27: decided on a virtual clock (test/bridge, test/greenhouse)",
  "D34 24 h without broker: npm run soak; here 60 s",
  "E39 paho, E44 30 min of packets: their own commands",
  "E40, E41 logins and listeners: test/broker",
  "G55, G56 wear and memory over a day: npm run soak",
  "G59 watchdog of systemd: test/compose/systemd.test.ts",
  "H62, H64, H65, H66: no faults in time; test/config, test/mqtt-connection, CI, test/journal",
];
