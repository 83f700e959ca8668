// The ratios to the bare loop at the previous landing. A figure that got worse by more than a tenth fails the run; `--
// --keep` writes those of this run, as part of a landing that is meant to cost more, or costs less.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("./kept.json", import.meta.url);
const mostWorse = 1.1;

export const readKept = () => JSON.parse(readFileSync(file, "utf8"));

export function writeKept(figures) {
  const kept = { ...readKept(), ...ratiosOf(figures) };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

const ratiosOf = (figures) =>
  Object.fromEntries(
    figures.filter(({ isKept }) => isKept).map(({ name, ratio }) => [name, Number(ratio.toFixed(3))]),
  );

/** Figures that got worse, each as a sentence. */
export const worseThan = (kept, figures) =>
  Object.entries(ratiosOf(figures)).flatMap(([name, ratio]) => {
    const before = kept[name];
    if (before === undefined || ratio <= before * mostWorse) return [];
    return [`${name}: ${ratio} times the bare loop, ${before} at the landing before`];
  });

/** A controller of the larger account may cost at most this many times as much as one of the smaller account. */
export const mostGrowth = 1.3;
/** Smaller costs are not compared, as clock resolution and background work are of the same size. */
const leastSeconds = 0.03;

/** How the cost per controller grows from one size to the next: {from, to, times}. */
export function growthOf(rows) {
  return rows.slice(1).map((row, n) => {
    const before = rows[n];
    const each = ({ cost, controllers }) => Math.max(cost, leastSeconds) / controllers;
    return { from: before.controllers, to: row.controllers, times: each(row) / each(before) };
  });
}

/**
 * The number of topics that a broker holds of such an account at rest: of the bridge itself, and of each controller.
 */
export const topicsHeld = (controllers) => 8 + 44 * controllers;

/** Costs that grow faster than the account, and missing or superfluous topics, each as a sentence. */
export const outOfLine = (figures) =>
  figures.flatMap(({ part, name, value, unit, met, target }) => {
    if (part !== "q" || met !== false) return [];
    return unit === "topics"
      ? [`${name}: ${value} topics, and not ${target.atLeast}`]
      : [`${name}: ${value.toFixed(2)} times; n for one thing became more than n for all`];
  });
