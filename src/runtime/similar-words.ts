import { msg, type Text } from "../language/text.js";
import { distance } from "fastest-levenshtein";

/* Guesses the word that a person mistyped. */

const plain = (word: string) => word.toLowerCase().replace(/[-_\s]/g, "");

/** The candidate a person most likely meant by `word`, or null when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const wanted = plain(word.slice(0, 100));
  const limit = Math.min(3, Math.max(1, Math.ceil(wanted.length / 3)));
  let best: { readonly candidate: string; readonly steps: number } | null = null;
  for (const candidate of candidates) {
    const other = plain(candidate);
    const steps = hasNeighboursExchanged(wanted, other) ? 1 : distance(wanted, other);
    if (steps <= limit && (best === null || steps < best.steps)) best = { candidate, steps };
  }
  return best?.candidate ?? null;
}

/**
 * Whether two neighbouring letters are exchanged: one slip of the fingers, but a distance of two. Words of two letters
 * are too short to tell.
 */
function hasNeighboursExchanged(word: string, other: string): boolean {
  if (word.length !== other.length || word.length < 3) return false;
  let at = 0;
  while (at < word.length && word[at] === other[at]) at += 1;
  const pair = `${word.charAt(at + 1)}${word.charAt(at)}`;
  return pair.length === 2 && `${word.slice(0, at)}${pair}${word.slice(at + 2)}` === other;
}

/** `, did you mean "address"?` or nothing; appended to a message. */
export function suggestion(word: string, candidates: readonly string[]): Text {
  const candidate = nearest(word, candidates);
  return candidate === null ? "" : msg`, did you mean "${candidate}"?`;
}
