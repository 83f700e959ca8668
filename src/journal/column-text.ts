/*
 * Names and senders come from outside: a terminal must neither obey their control characters nor lose its columns to
 * characters two cells wide.
 */

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const combining = /\p{M}/u;
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

const cellsOf = (character: string): number => (combining.test(character) ? 0 : wide.test(character) ? 2 : 1);

/** The text made harmless and cut to `most` terminal cells, with the cells it takes. */
export function fit(text: string, most: number): { readonly text: string; readonly width: number } {
  const characters = Array.from(text.slice(0, most * 8).replace(unprintable, "\ufffd"));
  const total = characters.reduce((sum, character) => sum + cellsOf(character), 0);
  if (total <= most) return { text: characters.join(""), width: total };
  let kept = "";
  let width = 0;
  for (const character of characters) {
    if (width + cellsOf(character) > most - 1) break;
    kept += character;
    width += cellsOf(character);
  }
  return { text: `${kept}…`, width: width + 1 };
}
