export type Redact = (text: string) => string;

/** Bytes of an answer or frame without our own tokens, which a platform may repeat anywhere, even as a device's name. */
export type Blank = (bytes: Buffer) => Buffer;

/** Shorter secrets would blot out ordinary words; the configuration warns about them. */
const shortest = 4;

/** Shorter tokens could be a value, an address or a code by chance. */
const shortestBlanked = 16;

const placeholder = "[hidden]";

/** Replaces every known secret in a text. `secrets` is asked each time, as tokens are learned while running. */
export function withoutSecrets(secrets: () => readonly string[]): Redact {
  let known: readonly string[] = [];
  let hidden: readonly string[] = [];
  return (text) => {
    const now = secrets();
    if (now.length !== known.length || now.some((secret, place) => secret !== known[place])) {
      known = [...now];
      hidden = secretSpellings(now);
    }
    return hidden.reduce((clean, secret) => clean.replaceAll(secret, placeholder), text);
  };
}

/**
 * Secrets as they stand and as JSON, a URL, a header or bytes would write them; longest first, so that none is hidden
 * only in part. Half a character cannot be encoded and leaves as U+FFFD.
 */
export function secretSpellings(secrets: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < shortest) continue;
    const sent = secret.replace(/\p{Surrogate}/gu, "\ufffd");
    found.add(secret).add(sent).add(JSON.stringify(secret).slice(1, -1));
    found.add(encodeURIComponent(sent)).add(Buffer.from(sent).toString("base64"));
  }
  return [...found].sort((one, other) => other.length - one.length || (one < other ? -1 : 1));
}

/** The same buffer when no token is in it. `tokens` is asked each time, as they change. */
export function blanker(tokens: () => readonly string[]): Blank {
  return (bytes) => {
    const found = tokens().filter((token) => token.length >= shortestBlanked && bytes.includes(token));
    if (found.length === 0) return bytes;
    return Buffer.from(
      found.reduce((text, token) => text.replaceAll(token, placeholder), bytes.toString("utf8")),
    );
  };
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
