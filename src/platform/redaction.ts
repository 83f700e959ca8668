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

/** Shorter tokens could be a value, an address or a code by chance. */
const shortestBlanked = 16;

/** Bytes of an answer or frame without our own tokens, which a platform may repeat anywhere, even as a device's name. */
export type Blank = (bytes: Buffer) => Buffer;

/** The same buffer when no token is in it. `tokens` is asked each time, as they change. */
export function blanker(tokens: () => readonly string[]): Blank {
  return (bytes) => {
    const found = tokens().filter((token) => token.length >= shortestBlanked && bytes.includes(token));
    if (found.length === 0) return bytes;
    return Buffer.from(found.reduce((text, token) => text.replaceAll(token, "***"), bytes.toString("utf8")));
  };
}

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
