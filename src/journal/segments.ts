import { keptOf, keptText, msg, Sentence, sentenceOf, type Text, TextError } from "../language/text.js";
import type { AlarmFacts } from "../greenhouse/limits.js";
import { fieldsOf } from "../runtime/objects.js";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { isRecord, type JournalRecord } from "./records.js";

/*
 * A line is a record as JSON with a CRC-32 of everything before it as the last field; otherwise a flipped bit could
 * turn one command into another. The form `{"seq":…,"crc":"xxxxxxxx"}` also finds whole records in a line that lost its
 * newline. It never appears inside a record, as quotes in texts are escaped.
 */

const opening = '{"seq":';
const mark = ',"crc":"';
const closingBytes = mark.length + 8 + 2;

/** The longest line written or read; longer ones are damage. */
export const longestLineBytes = 4 * 1024 * 1024;
/**
 * Senders fill the journal, and their records push older ones out, so most are bounded. Checkpoints have to hold
 * everything.
 */
const longestRecordBytes = 2_048;
/** Further bytes for each member in a group's record; each member has records of its own besides. */
const memberBytes = 512;
/** Texts are cut to so many characters, and lists to an eighth of that, until the record is short enough. */
const textLimits = [512, 256, 128, 64, 32, 16, 8] as const;
/**
 * Keys that are never cut: ids and addresses link records, and a shortened list of starts would allow further starts.
 */
const neverCut: ReadonlySet<string> = new Set([
  ...[
    "id",
    "name",
    "took_over",
    "payload_hash",
    "controller",
    "actuator",
    "steps",
    "starts",
    "members",
    "missed",
  ],
]);

/** Only texts for people are cut below this; other texts are times, words, values, and who may unlock. */
const leastOfOthers = 64;
const told: ReadonlySet<string> = new Set([
  ...["message", "remedy", "error", "client", "user", "request_id", "rule", "input"],
]);

interface DecodedLine {
  readonly records: readonly JournalRecord[];
  /** Intact records of a type that this version does not know. */
  readonly foreign: number;
  /** Whether some bytes belong to no record. */
  readonly unreadable: boolean;
  /** End of the last intact record, without its newline; null for none. */
  readonly goodEndAt: number | null;
}

/**
 * Encodes a record as a line with its newline. Texts and lists of a record above 2 KiB are cut, which the record
 * states. One too long to be read again becomes an event that says so.
 */
export function encodeLine(record: JournalRecord): Buffer {
  const most = mostBytesOf(record);
  const told = encode(withSentence(record));
  const whole = told.length <= most ? told : encode(record);
  if (whole.length <= most) return whole;
  const line = record.type === "carried" ? whole : fitting(record);
  return line.length > longestLineBytes ? encode(tooLong(record)) : line;
}

/** Keeps the translatable sentences of a result, or of an alarm's facts, beside their English text. */
function withSentence(record: JournalRecord): JournalRecord {
  if ("result" in record && record.result.message instanceof Sentence)
    return { ...record, ...{ said: keptOf(record.result.message) } };
  if (record.type !== "alarm_kept" || record.alarm?.facts === undefined) return record;
  const said = keptFacts(record.alarm.facts);
  return said === null ? record : { ...record, ...{ said } };
}

/** The facts that hold sentences, in their stored form; null where none does. */
function keptFacts({ why, ways }: AlarmFacts): object | null {
  const isTold = [why, ...(ways ?? []).map(({ problem }) => problem)].some((one) => one instanceof Sentence);
  if (!isTold) return null;
  const problems = ways?.map(({ problem }) => keptText(problem));
  return { ...(why !== undefined && { why: keptText(why) }), ...(problems !== undefined && { problems }) };
}

function factsWith(facts: AlarmFacts, said: unknown): AlarmFacts {
  const { why, problems } = fieldsOf(said);
  const texts: readonly unknown[] = Array.isArray(problems) ? problems : [];
  const ways = facts.ways?.map((way, at) => ({ ...way, problem: sentenceOf(texts[at]) ?? way.problem }));
  const because = sentenceOf(why);
  return { ...facts, ...(because !== null && { why: because }), ...(ways !== undefined && { ways }) };
}

function withoutSaid(read: JournalRecord & { readonly said?: unknown }): JournalRecord {
  const { said, ...record } = read;
  if (said !== undefined && record.type === "alarm_kept" && record.alarm?.facts !== undefined)
    return { ...record, alarm: { ...record.alarm, facts: factsWith(record.alarm.facts, said) } };
  const sentence = said === undefined ? null : sentenceOf(said);
  if (!("result" in record) || sentence === null) return record;
  return { ...record, result: { ...record.result, message: sentence } };
}

function mostBytesOf(record: JournalRecord): number {
  if (record.type === "group_taken") return longestRecordBytes + memberBytes * record.group.members.length;
  if (record.type !== "group_ended") return longestRecordBytes;
  return longestRecordBytes + memberBytes * record.group.told.members.length;
}

function fitting(record: JournalRecord): Buffer {
  const short = withShortMemory(record);
  const most = mostBytesOf(record);
  let line = encode({ ...short, cut: true });
  for (const limit of textLimits) {
    if (line.length <= most) break;
    line = encode({ ...short, cut: true }, cutTo(limit));
  }
  return line;
}

/** Cuts the memory's message first, as it mostly repeats that of the result. */
function withShortMemory(record: JournalRecord): JournalRecord {
  if (!("memory" in record) || record.memory?.problem === undefined) return record;
  const { memory } = record;
  const message = memory.problem?.message?.slice(0, leastOfOthers) ?? null;
  const problem = { ...record.memory.problem, message: message === null ? null : `${message}…` };
  return { ...record, memory: { ...memory, problem } };
}

function encode(record: JournalRecord, replacer?: (key: string, value: unknown) => unknown): Buffer {
  const body = Buffer.from(JSON.stringify(record, replacer).slice(0, -1));
  return Buffer.concat([body, Buffer.from(`${closing(body)}\n`)]);
}

const closing = (body: Buffer): string => `${mark}${crc32(body).toString(16).padStart(8, "0")}"}`;

function tooLong({ type, seq, at, mono, boot, clock_synced }: JournalRecord): JournalRecord {
  const message = `A record of type ${type} was too long for the journal and was left out.`;
  const event = { type: "event", event: "record_too_long", severity: "error", message } as const;
  return { seq, at, mono, boot, clock_synced, ...event };
}

const cutTo =
  (limit: number) =>
  (key: string, value: unknown): unknown => {
    if (neverCut.has(key)) return value;
    // The original result of a duplicate has a record of its own.
    if (key === "original") return null;
    const most = told.has(key) ? limit : Math.max(leastOfOthers, limit);
    if (typeof value === "string") return value.length > most ? `${value.slice(0, most)}…` : value;
    return Array.isArray(value) ? value.slice(0, limit / 8) : value;
  };

/**
 * Decodes the bytes between two newlines, which begin at `startAt`, and finds every whole record in them. Never throws.
 */
export function decodeLine(bytes: Buffer, startAt = 0): DecodedLine {
  // Nearly every line is one record and needs no search; for two records without a newline the checksum would be wrong.
  const only = decodeExactly(bytes);
  if (only !== null) {
    const isForeign = only === "foreign";
    const goodEndAt = startAt + bytes.length;
    return { records: isForeign ? [] : [only], foreign: Number(isForeign), unreadable: false, goodEndAt };
  }
  const records: JournalRecord[] = [];
  let foreign = 0;
  let from = 0;
  let good = 0;
  let goodEndAt: number | null = null;
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, from)) {
    const start = from + bytes.subarray(from, at).lastIndexOf(opening);
    const end = at + closingBytes;
    const piece = start < from ? null : decodeExactly(bytes.subarray(start, end));
    from = piece === null ? at + mark.length : end;
    if (piece === null) continue;
    good += end - start;
    goodEndAt = startAt + end;
    if (piece === "foreign") foreign += 1;
    else records.push(piece);
  }
  return { records, foreign, unreadable: good < bytes.length, goodEndAt };
}

function decodeExactly(bytes: Buffer): JournalRecord | "foreign" | null {
  if (bytes.length <= closingBytes || bytes[0] !== brace || bytes.at(-1) !== closingBrace) return null;
  const body = bytes.subarray(0, -closingBytes);
  if (bytes.toString("latin1", body.length) !== closing(body)) return null;
  try {
    const parsed: unknown = JSON.parse(`${body.toString("utf8")}}`);
    return isRecord(parsed) ? withoutSaid(parsed) : "foreign";
  } catch {
    return null;
  }
}

/** A file of the journal, named after the first sequence number that it may hold. */
export interface SegmentName {
  readonly path: string;
  readonly first: number;
}

export const segmentMode = 0o640;

const pattern = /^journal-(\d{1,16})\.jsonl$/;
const corruptPattern = /^journal-\d{1,16}\.jsonl\.corrupt-\d+$/;

export const isSegmentName = (name: string): boolean => pattern.test(name);

/** Padded, so that a shell's `cat journal-*.jsonl` keeps the order. */
export const segmentPath = (directory: string, first: number): string =>
  join(directory, `journal-${String(first).padStart(12, "0")}.jsonl`);

/** Files of the journal, oldest first; none where the directory does not exist yet. */
export async function listSegments(files: FileSystem, directory: string): Promise<readonly SegmentName[]> {
  const found: SegmentName[] = [];
  for (const name of await files.list(directory).catch(noneIfAbsent)) {
    const first = Number(pattern.exec(name)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(first)) found.push({ path: join(directory, name), first });
  }
  return found.sort((a, b) => a.first - b.first);
}

function noneIfAbsent(error: unknown): readonly string[] {
  if (errorCode(error) === "ENOENT") return [];
  throw error;
}

/** Files that were set aside as corrupt, oldest first. */
export async function listCorrupt(files: FileSystem, directory: string): Promise<readonly string[]> {
  const names = (await files.list(directory)).filter((name) => corruptPattern.test(name));
  return names.sort().map((name) => join(directory, name));
}

/** Renames a corrupt file to `<path>.corrupt-<n>` and resolves to the new path. */
export async function setAside(files: FileSystem, path: string): Promise<string> {
  const taken = new Set(await listCorrupt(files, dirname(path)));
  let n = 1;
  while (taken.has(`${path}.corrupt-${n}`)) n += 1;
  await files.rename(path, `${path}.corrupt-${n}`);
  return `${path}.corrupt-${n}`;
}

/** The content of one line, or of the bytes after the last newline. Offsets count from the start of the file. */
export interface Line extends DecodedLine {
  /** False for the bytes after the last newline. */
  readonly isWhole: boolean;
  readonly startAt: number;
  readonly endAt: number;
}

const always = () => true;
const chunkBytes = 256 * 1024;
const newline = 0x0a;
const brace = 0x7b;
const closingBrace = 0x7d;

/**
 * The lines of a file from offset `from`, with only a part of it in memory. `isAsked` skips lines by their bytes, which
 * costs next to nothing. Damage is returned, not thrown. Errors of the file system are thrown as JournalUnreadable,
 * except ENOENT: the file was just deleted.
 */
export async function* readLines(
  files: FileSystem,
  path: string,
  from = 0,
  isAsked: (line: Buffer) => boolean = always,
): AsyncGenerator<Line> {
  try {
    const file = await files.open(path, "r");
    try {
      // Each line is a copy, so the same memory serves the whole file.
      let [piece, held, restAt, lineAt] = [Buffer.allocUnsafe(chunkBytes), 0, from, from];
      for (;;) {
        if (piece.length - held < chunkBytes / 2) piece = larger(piece, held);
        const read = await file.read(piece.subarray(held), restAt + held);
        if (read === 0) break;
        const bytes = piece.subarray(0, held + read);
        let start = 0;
        // The bytes held before contain no newline.
        for (let end = bytes.indexOf(newline, held); end !== -1; end = bytes.indexOf(newline, start)) {
          const line = bytes.subarray(start, end);
          if (isAsked(line)) yield lineOf(line, restAt + start, lineAt, true);
          start = end + 1;
          lineAt = restAt + start;
        }
        // The beginning of a line longer than any record is dropped.
        if (bytes.length - start > longestLineBytes) start = bytes.length;
        bytes.copyWithin(0, start);
        held = bytes.length - start;
        restAt += start;
      }
      if (lineAt < restAt + held) yield lineOf(piece.subarray(0, held), restAt, lineAt, false);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fileProblem(path, error);
  }
}

function larger(piece: Buffer, held: number): Buffer<ArrayBuffer> {
  const next = Buffer.allocUnsafe(2 * piece.length);
  piece.copy(next, 0, 0, held);
  return next;
}

/** `bytes` begin at `at`; the line, whose beginning may have been dropped, began at `startAt`. */
function lineOf(bytes: Buffer, at: number, startAt: number, isWhole: boolean): Line {
  const { records, foreign, unreadable, goodEndAt } = decodeLine(bytes, at);
  const endAt = at + bytes.length + Number(isWhole);
  return { records, foreign, goodEndAt, unreadable: unreadable || startAt < at, isWhole, startAt, endAt };
}

const remedies: Readonly<Record<string, Text>> = {
  ENOTDIR: msg`a part of the path is a file, not a directory; name the data directory of the bridge`,
  EACCES: msg`it may not be read; do this as the bridge's user, or give permission to read the directory`,
  EPERM: msg`it may not be read; do this as the bridge's user, or give permission to read the directory`,
  ELOOP: msg`a symbolic link in the path leads to itself; correct that link`,
  EISDIR: msg`a directory is where a file of the journal should be; move it away`,
  EIO: msg`the disk reports input/output errors; replace the disk or SD card`,
  ESTALE: msg`the network disk has gone; check that it is mounted`,
};

/** Some records cannot be read. `message` is a sentence with the remedy, `code` is Node's. */
export class JournalUnreadable extends TextError {
  override name = "JournalUnreadable" as const;
  readonly code: string;

  constructor(directory: string, cause: unknown, file?: string) {
    const code = errorCode(cause) || "UNKNOWN";
    const which = file === undefined ? "" : ` (${file})`;
    super(msg`The journal in ${directory} cannot be read${which}: ${remedies[code] ?? msg`error ${code}`}.`, {
      cause,
    });
    this.code = code;
  }
}

/** Turns an error in one file into one of the journal. */
export const fileProblem = (path: string, error: unknown): unknown =>
  error instanceof JournalUnreadable || errorCode(error) === "ENOENT"
    ? error
    : new JournalUnreadable(dirname(path), error, basename(path));

/** Why the files cannot be listed; null where they can, or the directory does not exist yet. */
export const listingProblem = (
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<JournalUnreadable | null> =>
  listSegments(files, directory).then(
    () => null,
    (error: unknown) => new JournalUnreadable(directory, error),
  );
