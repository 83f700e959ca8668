export type Redact = (text: string) => string;

/** Shorter secrets would blot out anything. */
const shortest = 4;

/** Stands where a secret was. */
export const placeholder = "[hidden]";

/** Replaces every known secret in a text that comes from outside. `secrets` is asked each time, as tokens are learned while running. */
export const withoutSecrets = (secrets: () => readonly string[]): Redact =>
  redactor(secrets, (all) => {
    const hidden = secretSpellings(all);
    return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, placeholder), text);
  });

/**
 * The same for lines of our own. A secret that is an ordinary word or a short number is hidden there only where it stands as a secret:
 * a bridge with the token `wrong` may still say that something is wrong. Texts of others have lost it before they come here.
 */
export const linesWithoutSecrets = (secrets: () => readonly string[]): Redact =>
  redactor(secrets, (all) => {
    const hideOthers = withoutSecrets(() => all.filter((secret) => !isOrdinary(secret)));
    const spelled = all
      .filter(isOrdinary)
      .flatMap((secret) => secretSpellings([secret]).filter((one) => one !== secret));
    const asSecret = standingAsSecret(all.filter(isOrdinary));
    return (text) =>
      spelled
        .reduce((clean, one) => clean.replaceAll(one, placeholder), hideOthers(text))
        .replace(asSecret, placeholder);
  });

function redactor(secrets: () => readonly string[], make: (all: readonly string[]) => Redact): Redact {
  let known: readonly string[] = [];
  let hide = make(known);
  return (text) => {
    const now = secrets();
    if (now.length !== known.length || now.some((secret, place) => secret !== known[place])) {
      known = [...now];
      hide = make(known);
    }
    return hide(text);
  };
}

/** As people write words and numbers, so that a log is full of it. */
const isOrdinary = (secret: string): boolean =>
  /^(?:\p{Lu}?\p{Ll}{1,11}|\p{Lu}{2,12}|\d{1,8})$/u.test(secret);

const keys =
  "tokens?|passwords?|passwd|pass|pwd|pin|secrets?|keys?|credentials?|authorization|口令|密码|令牌";

/** Behind a key that says so, in an address, or behind the name of an authorization. */
function standingAsSecret(words: readonly string[]): RegExp {
  if (words.length === 0) return /(?!)/g;
  const word = `(?:${words.toSorted((one, other) => other.length - one.length).join("|")})(?![\\p{L}\\p{N}])`;
  const behindKey = `(?<=(?:${keys})["'\\\\]*\\s*[:=：]\\s*["'\\\\]*)${word}`;
  const inHeader = `(?<=\\b(?:bearer|basic)\\s+)${word}`;
  const inAddress = `(?<=://[^\\s/@"]*:|[?&][^=&\\s"]*=)${word}`;
  return new RegExp([behindKey, inHeader, inAddress].join("|"), "giu");
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

/** Every text inside a value of the configuration that is sent as it stands. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Shorter ones, and words without a digit, are likely to be no secret but a path's ordinary part. */
const secretPart = /[\w.~-]{12,}/g;

/**
 * A secret and the parts that may show without the rest: what stands behind `Bearer `, and in an address its path and query.
 * Ordinary words are left out, so that a log stays readable.
 */
export function secretParts(text: string): readonly string[] {
  const isAddress = /^https?:\/\//.test(text);
  if (!isAddress && !/^[A-Za-z]+ \S+$/.test(text)) return [text];
  const behind = isAddress ? text.replace(/^https?:\/\/[^/?#]*/, "") : text.slice(text.indexOf(" ") + 1);
  const parts = (behind.match(secretPart) ?? []).filter((part) => /\d/.test(part));
  return [text, ...parts];
}

/** A text that says where something is, whose it is or how to get in, with the word for what it is. */
export type PrivateText = readonly [kind: string, text: string];

/** Texts of one kind, as far as they are given. */
export const privateAs = (
  kind: string,
  texts: readonly (string | null | undefined)[],
): readonly PrivateText[] =>
  texts.flatMap((text): readonly PrivateText[] =>
    text === null || text === undefined || text === "" ? [] : [[kind, text]],
  );

/** What everybody calls it who says nothing. */
const usualNames: ReadonlySet<string> = new Set(["greenhouse2mqtt", "greenhouse", "greenhouses"]);

/** Names that the bridge goes by, where somebody chose them. */
export const privateOwnNames = (texts: readonly (string | undefined)[]): readonly PrivateText[] =>
  privateAs(
    "name",
    texts.filter((text) => !usualNames.has(text ?? "")),
  );

/** `data` alone tells nothing, and stands in many a sentence. */
export const privatePath = (path: string | undefined): readonly PrivateText[] =>
  path?.includes("/") === true ? [["path", path]] : [];

/** `https://a.example:8443` as messages may write it. */
export function privateHost(address: string): readonly PrivateText[] {
  const { host, hostname, origin, protocol } = new URL(address);
  const all = [address, origin, `${protocol}//${host}`, host, hostname.replace(/^\[|\]$/g, "")];
  return privateAs(
    "host",
    [...new Set(all)].filter((text) => text !== "null"),
  );
}

/**
 * Gives each text of a kind the same placeholder, numbered in the order of their first use. `write`: how one looks, such as
 * `<host-1>`. `replaced` is a text without every known one inside it; those of one character have to stand alone.
 */
export function pseudonyms(write: (kind: string, number: number) => string) {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  let anyOfThem: RegExp | null = null;
  return {
    of: (kind: string, text: string): string => {
      const before = known.get(text);
      if (before !== undefined) return before;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      const placeholder = write(kind, number);
      known.set(text, placeholder);
      anyOfThem = null;
      return placeholder;
    },
    replaced: (text: string): string => {
      anyOfThem ??= anyOf([...known.keys()].filter((one) => one.length > 1));
      return known.get(text) ?? text.replace(anyOfThem, (found) => known.get(found) ?? found);
    },
  };
}

/** A name inside a longer word is another word; Chinese has no blanks between words, so there it counts anywhere. */
function anyOf(texts: readonly string[]): RegExp {
  const patterns = texts
    .toSorted((one, other) => other.length - one.length)
    .map((text) => {
      const escaped = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
      const before = /^[A-Za-z0-9]/.test(text) ? "(?<![A-Za-z0-9])" : "";
      const after = /[A-Za-z0-9]$/.test(text) ? "(?![A-Za-z0-9])" : "";
      return `${before}${escaped}${after}`;
    });
  return new RegExp(patterns.length === 0 ? "(?!)" : patterns.join("|"), "gu");
}

/** What looks like an address of a machine or a person, in any text. */
const telling: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["url", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>,;)]+/gi],
  ["mail", /[\w.+-]+@[\w-]+\.[\w.-]+/g],
  ["host", /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\d.])/g],
  ["host", /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])/gi],
  ["number", /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi],
];

export interface StrangerSafe {
  /** The placeholder of this text. */
  of(kind: string, text: string): string;
  learn(texts: readonly PrivateText[]): void;
  /** The same text without what was learnt and without what looks like an address. */
  text(written: string): string;
  /** The same for all texts of a document, keys too. */
  document(value: unknown): unknown;
}

/** Makes texts fit for a bug report: what is private becomes placeholders that are the same throughout one report. */
export function strangerSafe(
  write = (kind: string, number: number): string => `<${kind}-${number}>`,
): StrangerSafe {
  const names = pseudonyms(write);
  const text = (written: string) =>
    telling.reduce(
      (left, [kind, pattern]) => left.replace(pattern, (found) => names.of(kind, found)),
      names.replaced(written),
    );
  const document = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(document);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), document(inner)]));
  };
  const learn = (texts: readonly PrivateText[]) => {
    for (const [kind, one] of texts) names.of(kind, one);
  };
  return { of: (kind, one) => names.of(kind, one), learn, text, document };
}
