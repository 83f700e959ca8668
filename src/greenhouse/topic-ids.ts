/*
 * Makes topic ids: `[a-z0-9_-]{1,64}` for any text of the platform, the same in every run, as only the text and its set
 * decide. Collisions get a suffix made from the text, never a counter.
 */

const idLength = 64;
const hashLength = 8;
const suffixedLength = idLength - hashLength - 1;
/** Without `__proto__`: ids are keys in documents, and many programs lose that one. */
export const topicIdPattern = /^(?!__proto__$)[a-z0-9_-]{1,64}$/;

export type Transliterate = (text: string) => string;

/** Eight characters `[0-9a-z]` as a hash of any text; well spread, not for secrets. */
export function hash8(text: string): string {
  let low = 0x9e3779b1;
  let high = 0x85ebca77;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  low = stir(low ^ text.length) ^ stir(high);
  high = stir(high ^ Math.imul(low, 0x27d4eb2f));
  const number = (high >>> 0) * 2 ** 21 + (low >>> 11);
  return (number % 36 ** hashLength).toString(36).padStart(hashLength, "0");
}

function stir(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/**
 * A text as part of a topic, possibly empty. `exact`: only letter case, outer white space and spaces (now `_`) changed.
 * Other scripts stay readable where `transliterate` has an ASCII form.
 */
function slug(
  text: string,
  transliterate: Transliterate = (foreign) => foreign,
): { readonly text: string; readonly exact: boolean } {
  const short = text.length <= 4 * idLength;
  const plain = short ? text.trim() : "";
  const small = plain.toLowerCase().replaceAll(" ", "_");
  if (/^[A-Za-z0-9_ -]+$/.test(plain) && topicIdPattern.test(small)) return { text: small, exact: true };
  const ascii = transliterate(text.slice(0, 4 * idLength).normalize("NFKC"));
  const words = ascii
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_")
    .replace(/[^A-Za-z0-9-]+/g, "_");
  const cut = words
    .replace(/^[_-]+/, "")
    .slice(0, suffixedLength)
    .replace(/[_-]+$/, "");
  return { text: cut.toLowerCase(), exact: false };
}

/** The id of a text: its slug where that lost nothing, else slug and hash. */
export function topicId(raw: string, transliterate?: Transliterate): string {
  const { text, exact } = slug(raw, transliterate);
  return exact ? text : `${text === "" ? "s" : text}_${hash8(raw)}`;
}

/** Ids that no controller may have, as the bridge's own topics have these names. */
export const reservedControllerIds: ReadonlySet<string> = new Set([
  ...["bridge", "response", "alarm", "weather"],
  ...["group", "scene"],
]);

/** An ending that could be the hash of another code. */
const looksHashed = /_(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{8}$/;

/**
 * The default topic id of a controller, a function of its code alone, so that neither other controllers nor the order
 * of a list change it: `GH-0001` becomes `gh-0001`. Codes of capitals, digits, `_` and `-` only become lower case; all
 * others get a hash, as two codes could otherwise become equal.
 */
export function controllerTopicId(code: string, transliterate: Transliterate): string {
  const small = code.toLowerCase();
  const isPlain = /^[A-Z\d_-]{1,64}$/.test(code) && !looksHashed.test(code);
  if (isPlain && topicIdPattern.test(small) && !reservedControllerIds.has(small)) return small;
  const { text } = slug(code, transliterate);
  let salt = code;
  // A hash of only digits or only letters could look like the end of a plain code.
  while (!/(?=[a-z]*\d)(?=\d*[a-z])/.test(hash8(salt))) salt += `_${code}`;
  return `${text === "" ? "s" : text.slice(0, suffixedLength)}_${hash8(salt)}`;
}

/** The id if it is free, else one with the hash of the key. */
export const freeId = (id: string, key: string, isTaken: (id: string) => boolean): string =>
  isTaken(id) ? withHash(id, key, isTaken) : id;

interface WantedId {
  /** Identity; it decides between equal wishes. */
  readonly key: string;
  /** Any text, from which the id is made. */
  readonly wanted: string;
}

/**
 * A valid, unique and unreserved id for each key. Of equal wishes a text spelt like the id wins, else the first key in
 * plain string order; the others get `_` and the hash of their key.
 */
export function assignIds(
  all: readonly WantedId[],
  {
    reserved,
    transliterate,
  }: { reserved?: ReadonlySet<string>; transliterate?: Transliterate | undefined } = {},
): ReadonlyMap<string, string> {
  const candidates = all
    .toSorted((one, other) => byText(one.key, other.key) || byText(one.wanted, other.wanted))
    .map((one) => ({ ...one, id: topicId(one.wanted, transliterate) }));
  const spelt = candidates.filter(({ id, wanted }) => id === wanted);
  const ids = new Map<string, string>();
  const used = new Set(reserved);
  const give = (key: string, id: string) => {
    used.add(id);
    ids.set(key, id);
  };
  for (const { key, id } of [...spelt, ...candidates]) if (!ids.has(key) && !used.has(id)) give(key, id);
  for (const { key, id } of candidates)
    if (!ids.has(key))
      give(
        key,
        withHash(id, key, (other) => used.has(other)),
      );
  return ids;
}

// Independent of the locale, so the order is the same on every machine.
export const byText = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

function withHash(id: string, key: string, isTaken: (id: string) => boolean): string {
  for (let salt = key; ; salt += `_${key}`) {
    const free = `${id.slice(0, suffixedLength)}_${hash8(salt)}`;
    if (!isTaken(free)) return free;
  }
}
