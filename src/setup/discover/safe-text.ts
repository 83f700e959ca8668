// Line ends, controls, invisible and direction marks, and what YAML cannot hold at all.
const unfit = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{White_Space}]+/gu;

const longest = 80;

/**
 * Any text of the platform as a part of one comment line: nothing in it can end the line or hide the rest of it. Longer
 * texts are cut.
 */
export function commentText(text: string, most = longest): string {
  // Enough for the cut, so that a text of megabytes costs nothing.
  const line = text
    .slice(0, 8 * most)
    .replace(unfit, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length > most || text.length > 8 * most
    ? `${characters.slice(0, most).join("").trim()}…`
    : line;
}

/** A name that may be missing or empty once cleaned. */
export function nameOr(text: string | null, otherwise: string): string {
  const clean = text === null ? "" : commentText(text);
  return clean === "" ? otherwise : clean;
}
