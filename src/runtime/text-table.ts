/*
 * Tables for a terminal. Names and senders come from outside: their control characters must not be obeyed, and
 * characters two cells wide must not shift the columns.
 */

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const combining = /\p{M}/u;
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

const cellsIn = (character: string): number => (combining.test(character) ? 0 : wide.test(character) ? 2 : 1);

/** The width of a text in terminal cells. */
export const widthOf = (text: string): number =>
  Array.from(text).reduce((sum, character) => sum + cellsIn(character), 0);

/** The text with blanks behind it, up to a width in cells. */
export const pad = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

/** The text made harmless and cut to `most` terminal cells, with the cells it takes. */
function fit(text: string, most: number): { readonly text: string; readonly width: number } {
  const characters = Array.from(text.slice(0, most * 8).replace(unprintable, "\ufffd"));
  const total = characters.reduce((sum, character) => sum + cellsIn(character), 0);
  if (total <= most) return { text: characters.join(""), width: total };
  let kept = "";
  let width = 0;
  for (const character of characters) {
    if (width + cellsIn(character) > most - 1) break;
    kept += character;
    width += cellsIn(character);
  }
  return { text: `${kept}…`, width: width + 1 };
}

/** The last column may be longer than its width, as nothing follows it. */
export const longestMessage = 300;

/** `usual` and `most`: the typical and the greatest width of its cells, in terminal cells. */
export interface Column<Field extends string> {
  readonly field: Field;
  readonly title: string;
  readonly usual: number;
  readonly most: number;
}

export interface Table<Item> {
  /** Header and the rows so far, without a newline at the end. */
  readonly text: string;
  /** One more row in the same columns; a longer cell is cut to its column. */
  readonly line: (item: Item) => string;
}

/** Makes each column as wide as its widest cell; in a table that grows, at least as wide as its usual cells. */
export function textTable<Field extends string, Item>(
  columns: readonly Column<Field>[],
  items: readonly Item[],
  rowOf: (item: Item) => Readonly<Record<Field, string>>,
  grows = false,
): Table<Item> {
  const cellsOf = (item: Item) => {
    const row = rowOf(item);
    return columns.map(({ field }) => row[field]);
  };
  const rows = items.map(cellsOf);
  const widths = columns.map(({ title, usual, most }, at) => {
    const cells = rows.map((row) => fit(row[at] ?? "", most).width);
    const least = Math.max(widthOf(title), grows ? usual : 0);
    return Math.min(
      most,
      cells.reduce((one, other) => Math.max(one, other), least),
    );
  });
  const header = columns.map(({ title }) => title);
  return {
    text: [header, ...rows].map((cells) => lineOf(cells, widths)).join("\n"),
    line: (item) => lineOf(cellsOf(item), widths),
  };
}

function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, at) => {
    const isLast = at === cells.length - 1;
    const wanted = widths[at] ?? 0;
    const { text, width } = fit(cell, isLast ? longestMessage : wanted);
    return text + " ".repeat(Math.max(0, wanted - width));
  });
  return padded.join("  ").trimEnd();
}

/** `2026-11-20 08:00:00`; a text that is no time stays as it is. */
export function localTime(iso: string, timeZone?: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString("sv-SE", { timeZone });
}
