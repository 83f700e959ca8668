import type { KeyReading, OverviewRow } from "./protocol.js";

/* Which greenhouse needs somebody first. */

export const countOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, one) => sum + one, 0);

type Seen = Pick<OverviewRow, "availability" | "quality">;

export const isOld = ({ availability, quality }: Seen): boolean =>
  availability !== "offline" && quality !== null && quality !== "good";

/** How far a reading is beyond its limits; 0 if within. The alarm comes only after its delay. */
export const stepsBeyond = ({ beyond }: Pick<KeyReading, "beyond">): number =>
  beyond ? (beyond.includes("_") ? 2 : 1) : 0;

export const countBeyond = ({ readings }: Pick<OverviewRow, "readings">): number =>
  Object.values(readings).filter((one) => stepsBeyond(one) > 0).length;

const mostBeyond = ({ readings }: Pick<OverviewRow, "readings">): number =>
  Math.max(0, ...Object.values(readings).map(stepsBeyond));

const severities = { error: 64, warning: 8, info: 1 } as const;

/** An error or a failed command outweighs all warnings and limits together. */
export const urgency = (row: Seen & Pick<OverviewRow, "problem" | "worst" | "limits" | "readings">): number =>
  (row.problem ? 64 : 0) +
  (row.worst ? severities[row.worst] : 0) +
  (row.availability === "offline" ? 16 : 0) +
  4 * mostBeyond(row) +
  (countOf(row.limits.guards) > 0 ? 4 : 0) +
  (countOf(row.limits.locks) > 0 ? 2 : 0) +
  (isOld(row) ? 2 : 0) +
  (countOf(row.limits.holds) > 0 ? 1 : 0);
