export type Redact = (text: string) => string;

const shortest = 4;

/** Replaces every secret in a text, also where it came percent-encoded. `secrets` is asked each time, as tokens change. */
export function redactor(secrets: () => readonly string[]): Redact {
  return (text) => {
    let clean = text;
    for (const secret of secrets()) {
      if (secret.length < shortest) continue;
      for (const form of spellings(secret)) clean = clean.replaceAll(form, "***");
    }
    return clean;
  };
}

const spellings = (secret: string): readonly string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  ...(isWellFormed(secret) ? [encodeURIComponent(secret)] : []),
];

/** One line that fits into a log: at most `max` characters, control characters become blanks. */
export function oneLine(text: string, max: number): string {
  const line = text.slice(0, max).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return text.length > max ? `${line}…` : line;
}

/** Every text inside a value of the configuration that is sent as it stands. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Text without half surrogate pairs, which cannot be encoded. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);
