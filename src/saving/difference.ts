/* Shows what changes in a text, in the format of `diff -u`. */

const context = 3;
/** Above so many cells the lines between are shown whole: all old ones, then all new ones. */
const mostCells = 4_000_000;

type Line = readonly [mark: " " | "-" | "+", text: string];

/** The difference of two texts; empty where they are equal. */
export function difference(before: string, after: string, name: string): string {
  if (before === after) return "";
  const lines = align(linesOf(before), linesOf(after));
  return [`--- ${name}`, `+++ ${name}`, ...hunksOf(lines).flatMap(hunkText), ""].join("\n");
}

const linesOf = (text: string): readonly string[] =>
  text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);

function align(before: readonly string[], after: readonly string[]): readonly Line[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (lines: readonly string[]) => lines.map((line): Line => [" ", line]);
  const [old, now] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
  return [...same(before.slice(0, head)), ...between(old, now), ...same(before.slice(before.length - tail))];
}

/** Aligns lines by their longest common subsequence. */
function between(old: readonly string[], now: readonly string[]): readonly Line[] {
  const out = old.map((line): Line => ["-", line]);
  const put = now.map((line): Line => ["+", line]);
  if ((old.length + 1) * (now.length + 1) > mostCells) return [...out, ...put];
  const common = commonLengths(old, now);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [line = "", other = ""] = [old[i], now[j]];
    if (i < old.length && j < now.length && line === other) {
      lines.push([" ", line]);
      i += 1;
      j += 1;
    } else if (
      j >= now.length ||
      (i < old.length && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))
    ) {
      lines.push(["-", line]);
      i += 1;
    } else {
      lines.push(["+", other]);
      j += 1;
    }
  }
  return lines;
}

function commonLengths(old: readonly string[], now: readonly string[]): readonly Uint32Array[] {
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const [row, next] = [common[i], common[i + 1]];
      if (row !== undefined && next !== undefined)
        row[j] = old[i] === now[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  return common;
}

interface Hunk {
  readonly old: number;
  readonly now: number;
  readonly lines: readonly Line[];
}

function hunksOf(lines: readonly Line[]): readonly Hunk[] {
  const isNear = lines.map(() => false);
  for (const [at, [mark]] of lines.entries())
    if (mark !== " ") isNear.fill(true, Math.max(0, at - context), Math.min(lines.length, at + context + 1));
  const hunks: { readonly old: number; readonly now: number; readonly lines: Line[] }[] = [];
  let [old, now] = [1, 1];
  for (const [at, line] of lines.entries()) {
    if (isNear[at] === true && isNear[at - 1] !== true) hunks.push({ old, now, lines: [] });
    if (isNear[at] === true) hunks.at(-1)?.lines.push(line);
    if (line[0] !== "+") old += 1;
    if (line[0] !== "-") now += 1;
  }
  return hunks;
}

function hunkText({ old, now, lines }: Hunk): readonly string[] {
  const count = (mark: "+" | "-") => lines.filter(([one]) => one !== mark).length;
  const [olds, nows] = [count("+"), count("-")];
  const from = (start: number, length: number) => `${length === 0 ? start - 1 : start},${length}`;
  return [`@@ -${from(old, olds)} +${from(now, nows)} @@`, ...lines.map(([mark, text]) => mark + text)];
}
