import { crc32 } from "node:zlib";
import { isRecord, type JournalRecord } from "./records.js";

/*
 * A line is the record as JSON with a CRC-32 of everything before it as last field. Without it a flipped bit inside a
 * value would read as another command. The shape `{"seq":…,"crc":"xxxxxxxx"}` also lets whole records be found in a
 * line whose newline was lost; it appears nowhere inside a record, because quotes inside texts are escaped.
 */

const opening = '{"seq":';
const mark = ',"crc":"';
const closingBytes = mark.length + 8 + 2;

/** Longest line ever written or read; longer ones are damage. */
export const longestLineBytes = 4 * 1024 * 1024;
/** Whoever sends commands fills the journal, and what is in it pushes older records out. Checkpoints hold what they must. */
const longestRecordBytes = 2_048;
/** Texts are cut to so many characters, and lists to an eighth of that, until the record is short enough. */
const textLimits = [512, 256, 128, 64] as const;
/** By these a later record finds the one it belongs to, or the platform the address; and starts that are not counted allow more. */
const neverCut: ReadonlySet<string> = new Set([
  ...["id", "took_over", "controller", "actuator", "steps", "starts"],
]);

interface DecodedLine {
  readonly records: readonly JournalRecord[];
  /** Intact lines of a type this version does not know. */
  readonly foreign: number;
  /** Some bytes belong to no record. */
  readonly unreadable: boolean;
  /** Where the last intact record ends; 0 without one. */
  readonly goodBytes: number;
}

/**
 * One line with its newline. Texts and lists of a record that would pass 2 KiB are cut, which it says; one that nobody could
 * read again is replaced by an event that says so.
 */
export function encodeLine(record: JournalRecord): Buffer {
  const line = fitting(record);
  return line.length > longestLineBytes ? encode(tooLong(record)) : line;
}

function fitting(record: JournalRecord): Buffer {
  let line = encode(record);
  if (record.type === "carried") return line;
  for (const limit of textLimits) {
    if (line.length <= longestRecordBytes) break;
    line = encode({ ...record, cut: true }, cutTo(limit));
  }
  return line;
}

function encode(record: JournalRecord, replacer?: (key: string, value: unknown) => unknown): Buffer {
  const json = JSON.stringify(record, replacer);
  const body = Buffer.from(json.slice(0, -1));
  const checksum = crc32(body).toString(16).padStart(8, "0");
  return Buffer.concat([body, Buffer.from(`${mark}${checksum}"}\n`)]);
}

function tooLong({ seq, at, mono, boot, clock_synced, type }: JournalRecord): JournalRecord {
  const message = `A record of type ${type} was too long for the journal and was left out.`;
  return {
    seq,
    at,
    mono,
    boot,
    clock_synced,
    type: "event",
    event: "record_too_long",
    severity: "error",
    message,
  };
}

const cutTo =
  (limit: number) =>
  (key: string, value: unknown): unknown => {
    if (neverCut.has(key)) return value;
    // The first result of a duplicate has a record of its own.
    if (key === "original") return null;
    if (typeof value === "string") return value.length > limit ? `${value.slice(0, limit)}…` : value;
    return Array.isArray(value) ? value.slice(0, limit / 8) : value;
  };

/** Bytes between two newlines; never throws. */
export function decodeLine(bytes: Buffer): DecodedLine {
  if (bytes.length === 0) return { records: [], foreign: 0, unreadable: false, goodBytes: 0 };
  const whole = decodeExactly(bytes);
  if (whole === null) return salvage(bytes);
  const records = whole === "foreign" ? [] : [whole];
  return { records, foreign: 1 - records.length, unreadable: false, goodBytes: bytes.length };
}

function decodeExactly(bytes: Buffer): JournalRecord | "foreign" | null {
  const bodyEnd = bytes.length - closingBytes;
  if (bodyEnd < opening.length) return null;
  const closing = bytes.toString("latin1", bodyEnd);
  if (!closing.startsWith(mark) || !closing.endsWith('"}')) return null;
  const body = bytes.subarray(0, bodyEnd);
  if (crc32(body).toString(16).padStart(8, "0") !== closing.slice(mark.length, -2)) return null;
  try {
    const parsed: unknown = JSON.parse(`${body.toString("utf8")}}`);
    return isRecord(parsed) ? parsed : "foreign";
  } catch {
    return null;
  }
}

function salvage(bytes: Buffer): DecodedLine {
  const records: JournalRecord[] = [];
  let foreign = 0;
  let goodBytes = 0;
  let from = 0;
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, from)) {
    const start = bytes.subarray(from, at).lastIndexOf(opening);
    const end = at + closingBytes;
    const piece = start === -1 ? null : decodeExactly(bytes.subarray(from + start, end));
    from = piece === null ? at + mark.length : end;
    if (piece === null) continue;
    goodBytes = end;
    if (piece === "foreign") foreign += 1;
    else records.push(piece);
  }
  return { records, foreign, unreadable: true, goodBytes };
}
