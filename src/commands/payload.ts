import { createHash } from "node:crypto";
import { z } from "zod";
import { nearest } from "../runtime/similar-words.js";
import { instantOf, parseDuration, parseTerm } from "../runtime/duration.js";
import { isOneLine, notOneLine } from "../runtime/plain-text.js";
import type { Refusal } from "../greenhouse/command/outcomes.js";
import { readWanted } from "../greenhouse/command/words.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";

/** A payload as written, before the target decides what its command means. */
export interface CommandPayload {
  readonly command: string;
  readonly id: string | null;
  readonly by: string | null;
  /** Epoch ms at which the sender made the command. */
  readonly at: number | null;
  readonly maxAgeMs: number | null;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** How long until it ends by itself; null if not given. */
  readonly forMs: number | null;
  /** How long it keeps others off; null if not given. */
  readonly holdMs: number | null;
}

const maxBytes = 16 * 1024;
const maxText = 200;

const bad = (message: string): Refusal => ({ reason: "bad_payload", message });

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads plain text or a JSON object. Anything else is `bad_payload` with the reason; a JSON number too large to be
 * exact is `out_of_range`.
 */
export function readPayload(bytes: Uint8Array): CommandPayload | Refusal {
  if (bytes.byteLength > maxBytes)
    return bad(`The payload has ${bytes.byteLength} bytes; a command has at most ${maxBytes}.`);
  const text = decode(bytes);
  if (text === null) return bad("The payload is not valid UTF-8.");
  if (text === "") return bad("The payload is empty; send a command word, a degree, or a JSON object.");
  if (/^[[{"]/.test(text)) return readJson(text);
  const nothingSaid = { id: null, by: null, at: null, maxAgeMs: null, forMs: null, holdMs: null };
  return { command: text, ...nothingSaid, force: false, dryRun: false };
}

/** The id in a payload that is otherwise unreadable, so that its sender finds the answer; null for none. */
export function claimedId(bytes: Uint8Array): string | null {
  const text = bytes.byteLength > maxBytes ? null : decode(bytes);
  if (text?.startsWith("{") !== true) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null || !("id" in parsed)) return null;
    return id.safeParse(parsed.id).data ?? null;
  } catch {
    return null;
  }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes).trim();
  } catch {
    return null;
  }
}

function readJson(text: string): CommandPayload | Refusal {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return bad("The payload is broken JSON; check quotes, commas and brackets.");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return bad('A JSON payload must be an object such as {"command": "open"}.');
  }
  const twice = repeatedKey(text);
  if (twice !== undefined)
    return bad(`The key "${twice.slice(0, 40)}" stands there twice; nobody can tell which one counts.`);
  for (const key of Object.keys(parsed)) {
    if (keys.includes(key)) continue;
    const meant = nearest(key, keys);
    return bad(`Unknown key "${key.slice(0, 40)}"${meant === null ? "" : `, did you mean "${meant}"?`}`);
  }
  return readFields(parsed);
}

/** A key that occurs twice in the outermost object of valid JSON. */
export function repeatedKey(text: string): string | undefined {
  const found = new Set<string>();
  let depth = 0;
  let before = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (token === ":" && depth === 1) {
      const key = String(JSON.parse(before));
      if (found.has(key)) return key;
      found.add(key);
    }
    before = token;
  }
  return undefined;
}

const missing = 'The key "command" is missing.';

const text = (key: string) =>
  z
    .string({
      error: ({ input }) =>
        typeof input === "number" && !isExact(input)
          ? `"${key}" has more digits than a number keeps; write it in quotes.`
          : `"${key}" must be a text.`,
    })
    .max(maxText, { error: `"${key}" is longer than ${maxText} characters.` });

const flag = (key: string) =>
  z
    .boolean({ error: `"${key}" must be true or false.` })
    .nullish()
    .transform((given) => given ?? false);

const command = z
  .unknown()
  .optional()
  .transform((given, context): string => {
    const wrong = (message: string, reason: Refusal["reason"] = "bad_payload") => {
      context.addIssue({ code: "custom", message, params: { reason } });
      return z.NEVER;
    };
    if (typeof given === "string") return given.trim() === "" ? wrong('"command" is empty.') : given.trim();
    if (typeof given !== "number")
      return wrong(given === undefined ? missing : '"command" must be a word or a number.');
    // JSON may have changed so large a number already, and the bridge would send an invented value.
    if (!isExact(given))
      return wrong(
        'The number in "command" is larger than any setting takes; a raw value of so many digits goes in quotes.',
        "out_of_range",
      );
    // The target decides whether it accepts a fraction.
    return Object.is(given, -0) ? "0" : String(given);
  });

/** A text that may stand in a line of a log or table. */
const line = (key: string) =>
  text(key).refine(isOneLine, {
    error: String(notOneLine(key)),
  });

/** JSON may change a larger number, which could make two ids one. */
const isExact = (given: number) => Math.abs(given) <= Number.MAX_SAFE_INTEGER;

const id = z
  .preprocess(
    (given) => (typeof given === "number" && isExact(given) ? String(given) : given),
    line("id").min(1, { error: '"id" is empty; leave it out or give it a value.' }).nullish(),
  )
  .transform((given) => given ?? null);

const isoTime = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const atSentence = '"at" must be an ISO time with its zone, such as 2026-03-01T06:30:00Z.';

const at = z
  .string({ error: atSentence })
  .regex(isoTime, { error: atSentence, abort: true })
  .refine((written) => instantOf(written) !== null, {
    error: ({ input }) => `"at" is ${String(input)}, a time that does not exist.`,
  })
  .transform((written) => Date.parse(written))
  .nullish();

/** Null if not given. */
const maxAge = z
  .string({ error: '"max_age" must be a duration such as "30s".' })
  .nullish()
  .transform((given, context) => {
    const ms = parseDuration(given ?? "");
    if (typeof given === "string" && ms === null)
      context.addIssue({ code: "custom", message: '"max_age" must be a duration such as "30s".' });
    return ms;
  });

/** Null if not given. `null` is an error: a duration that came out empty must not begin something without an end. */
const term = (key: string) =>
  z
    .string({ error: termSentence(key) })
    .optional()
    .transform((given, context) => {
      if (given === undefined) return null;
      const ms = parseTerm(given);
      if (ms === null) context.addIssue({ code: "custom", message: termSentence(key) });
      return ms;
    });

const termSentence = (key: string) => `"${key}" must be a duration from 1s to 24h, such as "20m".`;

/** In the order in which mistakes are reported. */
const fields = z.object({
  command,
  id,
  by: line("by").nullish(),
  at,
  max_age: maxAge,
  force: flag("force"),
  dry_run: flag("dry_run"),
  for: term("for"),
  hold: term("hold"),
});

const keys = Object.keys(fields.shape);

function readFields(json: object): CommandPayload | Refusal {
  const read = fields.safeParse(json);
  if (!read.success) {
    const [first] = read.error.issues;
    const isLarge = first?.code === "custom" && first.params?.["reason"] === "out_of_range";
    return { reason: isLarge ? "out_of_range" : "bad_payload", message: first?.message ?? missing };
  }
  const { by = null, at: madeAt = null, ...given } = read.data;
  const { max_age: maxAgeMs, dry_run: dryRun, for: forMs, hold: holdMs, ...rest } = given;
  return { ...rest, by, at: madeAt, maxAgeMs, dryRun, forMs, holdMs };
}

/** A hash to recognise repeated payloads without storing them; white space around the text does not count. */
export function payloadKey(payload: Uint8Array): string {
  const text = new TextDecoder().decode(payload).trim();
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** The hash in a journal record; earlier versions kept the text itself. */
export const recordedKey = (recorded: string): string =>
  /^sha256:[0-9a-f]{64}$/.test(recorded) ? recorded : payloadKey(new TextEncoder().encode(recorded));

export function isStop(payload: Uint8Array, target: ActuatorSettings): boolean {
  const read = readPayload(payload);
  const wanted = "reason" in read ? read : readWanted(read.command, target);
  return "type" in wanted && wanted.type === "stop";
}
