import type { Row } from "./row.js";
import { answerRows, postRows } from "./rows/answer-rows.js";
import { controllerRows } from "./rows/controller-rows.js";
import { brokerRows } from "./rows/broker-rows.js";
import { clingingRows } from "./rows/clinging-rows.js";
import { messageRows } from "./rows/message-rows.js";
import { platformRows, stateRows } from "./rows/platform-rows.js";
import { diskRows, processRows } from "./rows/process-rows.js";
import type { Lane } from "./support/world.js";

/** Every broker with both protocol versions, and the embedded broker. */
const lanes: readonly Lane[] = [
  { name: "mosquitto-5", broker: "Mosquitto", version: 5, credential: "token" },
  { name: "mosquitto-4", broker: "Mosquitto", version: 4, credential: "sign_in" },
  { name: "aedes-5", broker: "aedes", version: 5, credential: "sign_in" },
  { name: "aedes-4", broker: "aedes", version: 4, credential: "sign_in" },
  { name: "embedded-5", broker: "embedded", version: 5, credential: "token" },
];

/** All faults, in the order of the report. */
export const table: readonly Row[] = [
  ...stateRows,
  ...brokerRows,
  ...messageRows,
  ...platformRows,
  ...controllerRows,
  ...answerRows,
  ...postRows,
  ...clingingRows,
  ...processRows,
  ...diskRows,
];

/**
 * `full`: every row in every lane that can have it. `reduced`: every row once, held shorter, shared out over the lanes.
 */
export type Mode = "full" | "reduced";

/** The rows of one world; a lane may have several worlds side by side. */
export interface WorldPlan {
  readonly lane: Lane;
  readonly rows: readonly { readonly row: Row; readonly holdMs: number }[];
}

interface Choice {
  readonly mode: Mode;
  readonly rows: RegExp;
  readonly lanes: RegExp;
  readonly worldsPerLane: number;
}

/** The usual time from a fault's end until everything works again and was judged. */
const usuallyMs = 4_500;

/** Distributes rows over worlds: the longest row first, each to the world with the least to do so far. */
export function planOf({ mode, rows, lanes: chosen, worldsPerLane }: Choice): readonly WorldPlan[] {
  const holdMsOf = ({ holdMs, reducedHoldMs = holdMs }: Row) => (mode === "reduced" ? reducedHoldMs : holdMs);
  const worlds = lanes
    .filter(({ name }) => chosen.test(name))
    .flatMap((lane) =>
      Array.from({ length: worldsPerLane }, (_, n) => ({
        lane: n === 0 ? lane : { ...lane, name: `${lane.name}.${n + 1}` },
        group: mode === "reduced" ? "all" : lane.name,
        rows: [] as Row[],
        loadMs: 0,
      })),
    );
  const wanted = table.filter(({ name }) => rows.test(name));
  for (const row of wanted.toSorted((a, b) => holdMsOf(b) - holdMsOf(a))) {
    const able = worlds.filter(({ lane }) => row.only?.(lane) ?? true);
    for (const group of new Set(able.map((world) => world.group))) {
      const [idlest] = able.filter((world) => world.group === group).toSorted((a, b) => a.loadMs - b.loadMs);
      if (idlest === undefined) continue;
      idlest.rows.push(row);
      idlest.loadMs += holdMsOf(row) + usuallyMs;
    }
  }
  return worlds
    .filter((world) => world.rows.length > 0)
    .map(({ lane, rows: own }) => ({
      lane,
      rows: inTurn(table.filter((row) => own.includes(row))).map((row) => ({ row, holdMs: holdMsOf(row) })),
    }));
}

/** The approximate time of the world with the most to do, in ms. */
export const longestMs = (plan: readonly WorldPlan[]): number =>
  Math.max(0, ...plan.map(({ rows }) => rows.reduce((total, { holdMs }) => total + holdMs + usuallyMs, 0)));

/** Alternates kinds of faults, so that one kind meets the aftermath of the others. */
function inTurn(rows: readonly Row[]): readonly Row[] {
  const turn = (row: Row) => rows.filter(({ hits }) => hits === row.hits).indexOf(row);
  return rows.toSorted((a, b) => turn(a) - turn(b));
}
