import { pseudonyms, type Pseudonyms } from "./pseudonyms.js";

type Scalar = string | number | boolean | null;

/** The replacements of one recording; ids are kept apart, as a small number is no name wherever else it stands. */
export interface ScrubBook {
  readonly names: Pseudonyms;
  readonly ids: Pseudonyms;
}

/** Placeholders that decoders take like the originals: a device code stays one, an id stays digits. */
export const scrubBook = (): ScrubBook => ({
  names: pseudonyms((kind, number) => `${kind.toUpperCase()}-${number}`),
  ids: pseudonyms((_, number) => String(900_000 + number)),
});

type Rule = (value: Scalar, book: ScrubBook) => Scalar;

const as =
  (kind: string): Rule =>
  (value, { names }) =>
    value === null || value === "" || typeof value !== "string" ? value : names.of(kind, value);

const asId: Rule = (value, { ids, names }) => {
  if (typeof value === "number") return Number(ids.of("id", String(value)));
  if (typeof value !== "string" || value === "") return value;
  return /^\d+$/.test(value) ? ids.of("id", value) : names.of("id", value);
};

/** What a field's name says about what it holds; the first that fits decides. */
const rules: readonly (readonly [pattern: RegExp, rule: Rule])[] = [
  [/^deviceType(Id|Code|Name|Number)$|^type(Name|Number)?$|^dataType$/i, (value) => value],
  [/token|authorization|password|passwd|secret|appkey|accesskey|credential|cookie/i, as("token")],
  [/^(requestId|traceId|uuid|guid)$/i, () => "00000000-0000-4000-8000-000000000000"],
  [/^(lat|lng|lon|latitude|longitude)$/i, (value) => (typeof value === "number" ? 0 : "0")],
  [/^deviceCode$/i, as("controller")],
  [/^(device)?(sn|imei|iccid|mac|serial(no|number)?)$/i, (value, book) => asId(value, book)],
  [/^(id|ID|[A-Za-z]*Id|[a-z_]+_id)$/, asId],
  [
    /^(phone|mobile|tel|telephone|e?mail|account|nick_?name|real_?name|user_?name|user|customer(_?name)?|owner|contacts?|company|province|city|county|location|detail_?address|remark|desc(ription)?|(create|update)_?by|tag|prefix)$/i,
    (value, book) => (typeof value === "number" ? asId(value, book) : as("text")(value, book)),
  ],
];

const personal: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["url", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi],
  ["mail", /[\w.+-]+@[\w-]+\.[\w.-]+/g],
  ["host", /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\d.])/g],
  ["token", /\b(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[\w-]{24,}(?:\.[\w-]+)*\b/g],
];

/** Names in these operations are those of people, places and devices; elsewhere they say what is measured. */
const namesAreOwn = new Set(["control/mqtt", "device", "station", "video-data/list"]);

/** The same answer with codes, names, tokens and whereabouts replaced, and every measured value as it was. */
export function scrubbed(value: unknown, operation: string, book: ScrubBook, field = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => scrubbed(one, operation, book, field));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
      keyOf(key, book),
      scrubbed(inner, operation, book, key),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  return scrubbedScalar(value, operation, book, field);
}

/** A short number is a channel or an address and a lower-case word a field, whatever else is called the same. */
const keyOf = (key: string, { names }: ScrubBook): string =>
  /^(?:\d{1,5}|[a-z]+)$/.test(key) ? key : names.replaced(key);

function scrubbedScalar(value: Scalar, operation: string, book: ScrubBook, field: string): Scalar {
  const rule = rules.find(([pattern]) => pattern.test(field));
  if (rule !== undefined) return rule[1](value, book);
  if (typeof value !== "string") return value;
  const { names } = book;
  if (namesAreOwn.has(operation)) {
    if (/name$|^title$/i.test(field)) return as("name")(value, book);
    // The envelope's own code is a status of three digits.
    if (/^code$/i.test(field) && !/^\d{1,3}$/.test(value)) return as("controller")(value, book);
  }
  if (/^[\d.+-]*$/.test(value)) return value;
  return personal.reduce(
    (text, [kind, pattern]) => text.replace(pattern, (found) => names.of(kind, found)),
    names.replaced(value),
  );
}
