import { distance } from "fastest-levenshtein";

const plain = (word: string) => word.toLowerCase().replace(/[-_\s]/g, "");

/** The candidate a person most likely meant by `word`, or null when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const wanted = plain(word.slice(0, 100));
  const limit = Math.min(3, Math.max(1, Math.ceil(wanted.length / 3)));
  let best: { readonly candidate: string; readonly steps: number } | null = null;
  for (const candidate of candidates) {
    const steps = distance(wanted, plain(candidate));
    if (steps <= limit && (best === null || steps < best.steps)) best = { candidate, steps };
  }
  return best?.candidate ?? null;
}

/** `, did you mean "address"?` or nothing; appended to a message. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const candidate = nearest(word, candidates);
  return candidate === null ? "" : `, did you mean "${candidate}"?`;
}
