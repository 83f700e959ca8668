import { msg } from "../../language/text.js";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deviceTexts, privateTexts } from "../../config/private-texts.js";
import { PlatformError, type Query } from "../../greenhouse/ports.js";
import { readOnlyOperations } from "../../platform/operations.js";
import { errorCode, makeDirectories } from "../../runtime/file-system.js";
import { pseudonyms, type StrangerSafe, strangerSafe } from "../../runtime/redaction.js";
import { failed, ok, type Verdict, warning } from "./finding.js";
import { sampleControllers } from "./platform-checks.js";
import { ask, type Check, type RawAnswer, type DoctorContext } from "./context.js";

type Scalar = string | number | boolean | null;

/** The replacements of one recording. Ids are separate, as a small number is a name nowhere else. */
interface ScrubBook {
  readonly names: StrangerSafe;
  readonly ids: Pick<StrangerSafe, "of">;
}

/** Placeholders that decoders accept like the originals: a device code stays one, an id stays digits. */
export const scrubBook = (): ScrubBook => ({
  names: strangerSafe((kind, number) => `${kind.toUpperCase()}-${number}`),
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

/** What a field's name says about its content; the first match decides. */
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

/** Words that look like a token, anywhere. */
const tokenLike = /\b(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[\w-]{24,}(?:\.[\w-]+)*\b/g;

/** Names in these operations belong to people, places and devices; elsewhere they say what is measured. */
const namesAreOwn = new Set(["control/mqtt", "device", "station", "video-data/list"]);

/** The same answer with codes, names, tokens and places replaced, and every measured value unchanged. */
export function scrub(value: unknown, operation: string, book: ScrubBook, field = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => scrub(one, operation, book, field));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
      keyOf(key, book),
      scrub(inner, operation, book, key),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  return scrubbedScalar(value, operation, book, field);
}

/**
 * Short numbers are channels or addresses, and lower-case words are fields, even if something else has the same name.
 */
const keyOf = (key: string, { names }: ScrubBook): string =>
  /^(?:\d{1,5}|[a-z]+)$/.test(key) ? key : names.text(key);

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
  return names.text(value).replace(tokenLike, (found) => names.of("token", found));
}

/** An answer as a file that may be passed on: scrubbed, with what a decoder needs beside it. */
function fixtureText(answer: RawAnswer, timeZone: string, book: ScrubBook): string {
  const { operation, query, receivedAt, body } = answer;
  const fixture = {
    format: "greenhouse2mqtt answer 1",
    operation,
    query: scrub(query, operation, book),
    received_at: new Date(receivedAt).toISOString(),
    time_zone: timeZone,
    body: scrub(body, operation, book),
  };
  return `${JSON.stringify(fixture, null, 1)}\n`;
}

/** Saves the answers of every read operation, scrubbed, as files for tests. Existing files are never touched. */
export const recordCheck = (directory: string): Check => ({
  id: "record",
  needs: [],
  run: (context, signal) => recordVerdict(directory, context, signal),
});

async function recordVerdict(
  directory: string,
  context: DoctorContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const unanswered = await askTheRest(context, signal);
  const answers = [...context.answers.values()];
  if (answers.length === 0)
    return failed(msg`there is no answer to save`, msg`correct what failed above and try again`);
  const files = fileNames(answers);
  try {
    await makeDirectories(directory, 0o700);
    if ((await readdir(directory)).length > 0) return notEmpty(directory);
    const book = knownNames(context);
    const { time_zone: timeZone } = context.configuration.platform;
    for (const [index, answer] of answers.entries())
      await writeFile(join(directory, files[index] ?? ""), fixtureText(answer, timeZone, book), {
        flag: "wx",
        mode: 0o600,
      });
  } catch (error) {
    const code = errorCode(error);
    return code === "EEXIST"
      ? notEmpty(directory)
      : failed(msg`${directory} cannot be written (${code})`, msg`name a folder that can be written`);
  }
  const saved = msg`${answers.length} answers are in ${directory}, with codes, names and tokens replaced; look through them before you pass them on`;
  return unanswered.length === 0
    ? ok(saved)
    : warning(
        msg`${saved}; no answer to ${unanswered.join(", ")}`,
        msg`these operations may need parameters the interface does not name`,
      );
}

const notEmpty = (directory: string): Verdict =>
  failed(msg`${directory} is not empty, and nothing there is overwritten`, msg`name another folder`);

/** Asks the operations that no check has asked. Their parameters are unknown, so a refusal is no fault. */
async function askTheRest(context: DoctorContext, signal: AbortSignal): Promise<readonly string[]> {
  const asked = new Set([...context.answers.values()].map(({ operation }) => operation));
  const [first] = sampleControllers(context, 1);
  const query: Query = first === undefined ? {} : { deviceCode: first.code };
  const unanswered: string[] = [];
  for (const { name } of readOnlyOperations) {
    if (asked.has(name) || name === "get-value" || name === "set-value/flush") continue;
    await ask(context, name, query, signal).catch((error: unknown) => {
      if (!(error instanceof PlatformError)) throw error;
      unanswered.push(name);
    });
  }
  return unanswered;
}

function knownNames({ configuration, evidence }: DoctorContext): ScrubBook {
  const book = scrubBook();
  const texts = [...privateTexts(configuration), ...deviceTexts(evidence)];
  for (const [kind, text] of texts)
    if (kind !== "path" && kind !== "user") book.names.of(kind === "secret" ? "token" : kind, text);
  return book;
}

/** `sensor-data.json`, `sensor-data-2.json`, `set-value-flush.json`. */
function fileNames(answers: readonly RawAnswer[]): readonly string[] {
  const counts = new Map<string, number>();
  return answers.map(({ operation }) => {
    const number = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, number);
    return `${operation.replaceAll("/", "-")}${number === 1 ? "" : `-${number}`}.json`;
  });
}
