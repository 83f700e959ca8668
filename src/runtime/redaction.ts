export type Redact = (text: string) => string;

/** Shorter secrets would match too many ordinary texts. */
const shortest = 4;

/** Replaces a secret. */
export const placeholder = "[hidden]";

/**
 * Hides every known secret in a text from outside. `secrets` is called each time, as tokens become known while running.
 */
export const withoutSecrets = (secrets: () => readonly string[]): Redact =>
  redactor(secrets, (all) => {
    const hidden = secretSpellings(all);
    return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, placeholder), text);
  });

/**
 * The same for lines of our own. A secret that is an ordinary word or short number is hidden only where it stands as a
 * secret: with the token `wrong` the bridge may still say that something is wrong. Texts of others have lost it before.
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

/** Whether a secret looks like a word or number that logs contain anyway. */
const isOrdinary = (secret: string): boolean =>
  /^(?:\p{Lu}?\p{Ll}{1,11}|\p{Lu}{2,12}|\d{1,8})$/u.test(secret);

const keys =
  "tokens?|passwords?|passwd|pass|pwd|pin|secrets?|keys?|credentials?|authorization|口令|密码|令牌";

/** Matches these words after a key that names a secret, in a URL, or after an authorization scheme. */
function standingAsSecret(words: readonly string[]): RegExp {
  if (words.length === 0) return /(?!)/g;
  const word = `(?:${words.toSorted((one, other) => other.length - one.length).join("|")})(?![\\p{L}\\p{N}])`;
  const behindKey = `(?<=(?:${keys})["'\\\\]*\\s*[:=：]\\s*["'\\\\]*)${word}`;
  const inHeader = `(?<=\\b(?:bearer|basic)\\s+)${word}`;
  const inAddress = `(?<=://[^\\s/@"]*:|[?&][^=&\\s"]*=)${word}`;
  return new RegExp([behindKey, inHeader, inAddress].join("|"), "giu");
}

/**
 * Secrets as they are, and as JSON, a URL, a header or base64 would spell them; longest first, so that none is hidden
 * only in part. Half of a surrogate pair cannot be encoded and becomes U+FFFD.
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

/** Every text in a value of the configuration that is sent as it is. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Shorter parts, and words without a digit, are probably ordinary parts of a path. */
const secretPart = /[\w.~-]{12,}/g;

/**
 * A secret and its parts that may appear alone: the text after `Bearer `, and the path and query of an address.
 * Ordinary words are left out, so that a log stays readable.
 */
export function secretParts(text: string): readonly string[] {
  const isAddress = /^https?:\/\//.test(text);
  if (!isAddress && !/^[A-Za-z]+ \S+$/.test(text)) return [text];
  const behind = isAddress ? text.replace(/^https?:\/\/[^/?#]*/, "") : text.slice(text.indexOf(" ") + 1);
  const parts = (behind.match(secretPart) ?? []).filter((part) => /\d/.test(part));
  return [text, ...parts];
}

/** A text that reveals a place, an owner or an access, with a word for its kind. */
export type PrivateText = readonly [kind: string, text: string];

/** The given texts of one kind; absent and empty ones are left out. */
export const privateAs = (
  kind: string,
  texts: readonly (string | null | undefined)[],
): readonly PrivateText[] =>
  texts.flatMap((text): readonly PrivateText[] =>
    text === null || text === undefined || text === "" ? [] : [[kind, text]],
  );

/** Default names, which reveal nothing. */
const usualNames: ReadonlySet<string> = new Set(["greenhouse2mqtt", "greenhouse", "greenhouses"]);

/** The bridge's own names, if somebody chose them. */
export const privateOwnNames = (texts: readonly (string | undefined)[]): readonly PrivateText[] =>
  privateAs(
    "name",
    texts.filter((text) => !usualNames.has(text ?? "")),
  );

/** A path is private only with a slash: `data` alone reveals nothing and occurs in many sentences. */
export const privatePath = (path: string | undefined): readonly PrivateText[] =>
  path?.includes("/") === true ? [["path", path]] : [];

/** The spellings of a host such as `https://a.example:8443` in messages. */
export function privateHost(address: string): readonly PrivateText[] {
  const { host, hostname, origin, protocol } = new URL(address);
  const all = [address, origin, `${protocol}//${host}`, host, hostname.replace(/^\[|\]$/g, "")];
  return privateAs(
    "host",
    [...new Set(all)].filter((text) => text !== "null"),
  );
}

/**
 * Gives equal texts of a kind the same placeholder, numbered by first use. `write` makes one, such as `<host-1>`.
 * `replaced` replaces every known text inside another; a text of one character has to stand alone.
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

/**
 * Matches these texts. A name inside a longer word is another word; Chinese has no blanks between words, so there it
 * counts anywhere.
 */
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

/** Patterns for addresses of machines and persons in any text. */
const telling: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["url", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>,;)]+/gi],
  ["mail", /[\w.+-]+@[\w-]+\.[\w.-]+/g],
  ["host", /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\d.])/g],
  ["host", /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])/gi],
  ["number", /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi],
];

export interface StrangerSafe {
  /** The placeholder for this text. */
  of(kind: string, text: string): string;
  learn(texts: readonly PrivateText[]): void;
  /** The text without known private texts and without anything that looks like an address. */
  text(written: string): string;
  /** The same for all texts of a document, including keys. */
  document(value: unknown): unknown;
}

/** Makes texts fit for a bug report: private texts become placeholders, which stay the same throughout one report. */
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
