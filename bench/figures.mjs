/** Median, least and greatest of samples. */
export function spread(samples) {
  const sorted = [...samples].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, least: sorted[0], most: sorted[sorted.length - 1], samples: sorted.length };
}

/** The sample below which this share of all lies. */
export function percentile(samples, share) {
  const sorted = [...samples].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/**
 * One line of the report. `ratio` is value by baseline. `target` is {of: "ratio" | "value", atLeast | atMost}; a figure
 * without one is for information. `isKept`: its ratio must not grow by more than a tenth from one landing to the next.
 */
export function figure(part, name, unit, value, options = {}) {
  const { bare = null, ratio, target = null, range = null, isKept = false } = options;
  const share = ratio === undefined && bare !== null ? value / bare : (ratio ?? null);
  const judged = target === null ? null : target.of === "value" ? value : share;
  const met =
    target === null ? null : judged >= (target.atLeast ?? -Infinity) && judged <= (target.atMost ?? Infinity);
  return { part, name, unit, value, range, bare, ratio: share, target, met, isKept };
}

const rounded = (value) => {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  return value.toFixed(size >= 1000 || value === 0 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3);
};

function row({ part, name, unit, value, range, bare, ratio, target, met }) {
  const bound =
    target === null
      ? ""
      : `${target.of} ${target.atLeast === undefined ? "<=" : target.atLeast === target.atMost ? "=" : ">="} ${target.atLeast ?? target.atMost}`;
  const between = range === null ? "" : `${rounded(range.least)}..${rounded(range.most)} (${range.samples})`;
  const verdict = met === null ? "" : met ? "met" : "missed";
  return [part, name, rounded(value), unit, between, rounded(bare), rounded(ratio), bound, verdict];
}

/** `bare`: the title of the baseline's column. */
export function table(figures, { bare = "bare" } = {}) {
  const titles = ["", "what", "bridge", "unit", "range (n)", bare, "ratio", "target", ""];
  const rows = [titles, ...figures.map(row)];
  const widths = titles.map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  const numeric = new Set([2, 5, 6]);
  const cell = (text, column) =>
    numeric.has(column) ? text.padStart(widths[column]) : text.padEnd(widths[column]);
  return rows.map((cells) => cells.map(cell).join("  ").trimEnd()).join("\n");
}
