// The ratios to the bare loop at the landing before. A figure that got worse by more than a tenth fails the run; `-- --keep` writes those of
// this run, which belongs to a landing that is meant to cost more, or costs less.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("./kept.json", import.meta.url);
export const mostWorse = 1.1;

export const readKept = () => JSON.parse(readFileSync(file, "utf8"));

export function writeKept(figures) {
  const kept = { ...readKept(), ...ratiosOf(figures) };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

const ratiosOf = (figures) =>
  Object.fromEntries(
    figures.filter(({ isKept }) => isKept).map(({ name, ratio }) => [name, Number(ratio.toFixed(3))]),
  );

/** What got worse, each as a sentence. */
export const worseThan = (kept, figures) =>
  Object.entries(ratiosOf(figures)).flatMap(([name, ratio]) => {
    const before = kept[name];
    if (before === undefined || ratio <= before * mostWorse) return [];
    return [`${name}: ${ratio} times the bare loop, ${before} at the landing before`];
  });
