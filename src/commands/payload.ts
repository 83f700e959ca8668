import { nearest } from "../config/problem.js";
import { parseDuration } from "../runtime/duration.js";
import type { Refusal } from "../greenhouse/command/outcomes.js";

/** A payload as it was written, before the target says what its command means. */
export interface CommandPayload {
  readonly command: string;
  readonly id: string | null;
  readonly by: string | null;
  /** Epoch ms at which the sender made the command. */
  readonly at: number | null;
  readonly maxAgeMs: number | null;
  readonly force: boolean;
  readonly dryRun: boolean;
}

const keys = ["command", "id", "by", "at", "max_age", "force", "dry_run"] as const;
const maxBytes = 16 * 1024;
const maxText = 200;

const bad = (message: string): Refusal => ({ reason: "bad_payload", message });

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads plain text or a JSON object; everything else is `bad_payload` with what is wrong about it, and a JSON number too
 * large to be exact `out_of_range`.
 */
export function readPayload(bytes: Uint8Array): CommandPayload | Refusal {
  if (bytes.byteLength > maxBytes)
    return bad(`The payload has ${bytes.byteLength} bytes; a command has at most ${maxBytes}.`);
  const text = decode(bytes);
  if (text === null) return bad("The payload is not valid UTF-8.");
  if (text === "") return bad("The payload is empty; send a command word, a degree, or a JSON object.");
  if (/^[[{"]/.test(text)) return readJson(text);
  return { command: text, id: null, by: null, at: null, maxAgeMs: null, force: false, dryRun: false };
}

/** The id of a payload that could not be read otherwise, so that its sender finds the answer; null without one. */
export function claimedId(bytes: Uint8Array): string | null {
  if (bytes.byteLength > maxBytes) return null;
  try {
    const parsed: unknown = JSON.parse(decode(bytes) ?? "");
    if (typeof parsed !== "object" || parsed === null || !("id" in parsed)) return null;
    const id = idField(parsed.id);
    return id instanceof Wrong ? null : id;
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
  const twice = repeated(outerKeys(text));
  if (twice !== undefined)
    return bad(`The key "${twice.slice(0, 40)}" stands there twice; nobody can tell which one counts.`);
  const fields = new Map(Object.entries(parsed));
  for (const key of fields.keys()) {
    if ((keys as readonly string[]).includes(key)) continue;
    const meant = nearest(key, keys);
    return bad(`Unknown key "${key.slice(0, 40)}"${meant === null ? "" : `, did you mean "${meant}"?`}`);
  }
  return readFields(fields);
}

/** The keys of the outermost object of valid JSON, as often as they stand there. */
function outerKeys(text: string): readonly string[] {
  const found: string[] = [];
  let [depth, before] = [0, ""];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (token === ":" && depth === 1) found.push(String(JSON.parse(before)));
    before = token;
  }
  return found;
}

function repeated(found: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return found.find((key) => seen.size === seen.add(key).size);
}

class Wrong {
  readonly refusal: Refusal;
  constructor(message: string, reason: Refusal["reason"] = "bad_payload") {
    this.refusal = { reason, message };
  }
}

function readFields(fields: ReadonlyMap<string, unknown>): CommandPayload | Refusal {
  const command = commandField(fields.get("command"));
  const id = idField(fields.get("id"));
  const by = textField("by", fields.get("by"));
  const at = atField(fields.get("at"));
  const maxAgeMs = maxAgeField(fields.get("max_age"));
  const force = flagField("force", fields.get("force"));
  const dryRun = flagField("dry_run", fields.get("dry_run"));
  if (command instanceof Wrong) return command.refusal;
  if (id instanceof Wrong) return id.refusal;
  if (by instanceof Wrong) return by.refusal;
  if (at instanceof Wrong) return at.refusal;
  if (maxAgeMs instanceof Wrong) return maxAgeMs.refusal;
  if (force instanceof Wrong) return force.refusal;
  if (dryRun instanceof Wrong) return dryRun.refusal;
  return { command, id, by, at, maxAgeMs, force, dryRun };
}

function commandField(value: unknown): string | Wrong {
  if (value === undefined) return new Wrong('The key "command" is missing.');
  if (typeof value === "string") return value.trim() === "" ? new Wrong('"command" is empty.') : value.trim();
  return typeof value === "number"
    ? numberCommand(value)
    : new Wrong('"command" must be a word or a number.');
}

function numberCommand(value: number): string | Wrong {
  // Read from JSON, such a number may already be another one than was written; passed on it would be an invented value.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return new Wrong(
      'The number in "command" is larger than any setting takes; a raw value of so many digits goes in quotes.',
      "out_of_range",
    );
  // Whether the target takes a fraction is for the target to say.
  return Object.is(value, -0) ? "0" : String(value);
}

function idField(value: unknown): string | null | Wrong {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  const text = textField("id", value);
  if (typeof text === "string" && /[\p{Cc}\p{Cs}]/u.test(text))
    return new Wrong('"id" has control characters, or half of a character, in it.');
  return text === "" ? new Wrong('"id" is empty; leave it out or give it a value.') : text;
}

function textField(key: string, value: unknown): string | null | Wrong {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") return new Wrong(`"${key}" must be a text.`);
  return value.length > maxText ? new Wrong(`"${key}" is longer than ${maxText} characters.`) : value;
}

const isoTime = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

function atField(value: unknown): number | null | Wrong {
  if (value === undefined || value === null) return null;
  const parts = typeof value === "string" ? isoTime.exec(value) : null;
  if (parts === null)
    return new Wrong('"at" must be an ISO time with its zone, such as 2026-03-01T06:30:00Z.');
  const [written, year, month, day] = parts;
  const at = Date.parse(written);
  return Number.isNaN(at) || Number(day) > daysOf(Number(year), Number(month))
    ? new Wrong(`"at" is ${written}, a time that does not exist.`)
    : at;
}

/** A day too many would be read as one of the next month. */
const daysOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();

function maxAgeField(value: unknown): number | null | Wrong {
  if (value === undefined || value === null) return null;
  const ms = typeof value === "string" ? parseDuration(value) : null;
  return ms === null ? new Wrong('"max_age" must be a duration such as "30s".') : ms;
}

function flagField(key: string, value: unknown): boolean | Wrong {
  if (value === undefined || value === null) return false;
  return typeof value === "boolean" ? value : new Wrong(`"${key}" must be true or false.`);
}
