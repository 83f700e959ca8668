/** Gives each text of a kind the same placeholder, numbered in the order of their first use. */
export interface Pseudonyms {
  /** The placeholder of this text. */
  of(kind: string, text: string): string;
  /** A text with every known one inside it replaced, longest first. */
  replaced(text: string): string;
}

/** `write`: how a placeholder looks, such as `<host-1>`. Texts of one character are only replaced where they stand alone. */
export function pseudonyms(write: (kind: string, number: number) => string): Pseudonyms {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  let longestFirst: readonly (readonly [pattern: RegExp, text: string])[] | null = null;
  return {
    of: (kind, text) => {
      const before = known.get(text);
      if (before !== undefined) return before;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      const placeholder = write(kind, number);
      known.set(text, placeholder);
      longestFirst = null;
      return placeholder;
    },
    replaced: (text) => {
      longestFirst ??= [...known.keys()]
        .filter((one) => one.length > 1)
        .sort((one, other) => other.length - one.length)
        .map((one) => [patternOf(one), one] as const);
      const whole = known.get(text);
      if (whole !== undefined) return whole;
      let clean = text;
      for (const [pattern, one] of longestFirst)
        if (pattern.test(clean)) clean = clean.replace(pattern, () => known.get(one) ?? "");
      return clean;
    },
  };
}

/** A name inside a longer word is another word; Chinese has no blanks between words, so there it counts anywhere. */
function patternOf(text: string): RegExp {
  const escaped = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const before = /^[A-Za-z0-9]/.test(text) ? "(?<![A-Za-z0-9])" : "";
  const after = /[A-Za-z0-9]$/.test(text) ? "(?![A-Za-z0-9])" : "";
  return new RegExp(`${before}${escaped}${after}`, "gu");
}
