import { type About, aboutKey, commandKey, type JournalRecord, type RecordBody } from "./records.js";

/*
 * What of an owner that is gone may still be on its way to the platform, as its journal tells: its POSTs wait for a record that the stream
 * acknowledged, but for a stop and what a rule sends.
 */

/** A POST recorded longer than this before the newest record is over. Clocks of two members with a time server differ by less. */
export const overMs = 600_000;

/** A clock may run so much faster than another. */
const driftAllowance = 1.1;

interface Sending {
  readonly boot: string;
  readonly lane: string;
  readonly at: number;
  /** A POST has no answer that says what became of it. */
  readonly isOut: boolean;
  /** Another step may follow without a record that was waited for. */
  readonly isOpen: boolean;
}

/** The newest record, epoch ms; a clock that was ahead for a while may have written it later than it is now. */
export const newestUntil = (newestAt: number, now: number): number => Math.min(newestAt, now);

/**
 * The targets, as `aboutKey` names them, to which a POST may be under way. A run begins once none before it can begin a POST: where it
 * has lasted for longer than a POST may take (`controlMs`), theirs are over.
 */
export function lanesUnderWay(
  records: Iterable<JournalRecord>,
  now: number,
  controlMs: number,
): ReadonlySet<string> {
  const sendings = new Map<string, Sending>();
  const starts = new Map<string, number>();
  let newest = 0;
  for (const record of records) {
    const { boot, mono } = record;
    const at = Date.parse(record.at);
    newest = Math.max(newest, at);
    if (record.type === "start") starts.set(boot, mono);
    if (mono - (starts.get(boot) ?? mono) >= controlMs * driftAllowance)
      for (const [key, sending] of sendings) if (sending.boot !== boot) sendings.delete(key);
    const about = aboutOf(record);
    if (about === null) continue;
    const key = commandKey(about, about.id);
    const before = sendings.get(key) ?? null;
    const after = afterRecord(before, record, { boot, lane: aboutKey(about), at });
    if (after === null) sendings.delete(key);
    else sendings.set(key, after);
  }
  const until = newestUntil(newest, now);
  const left = [...sendings.values()].filter(({ at }) => until - at < overMs);
  return new Set(left.map(({ lane }) => lane));
}

function aboutOf(record: RecordBody): (About & { readonly id: string }) | null {
  if (record.type === "result") return { ...record, id: record.result.id };
  const isOfPost = record.type === "phase" || record.type === "step_sent" || record.type === "step_answered";
  return isOfPost ? record : null;
}

/** Null where nothing of the command is on its way. */
function afterRecord(
  before: Sending | null,
  record: RecordBody,
  sending: Pick<Sending, "boot" | "lane" | "at">,
): Sending | null {
  if (record.type === "phase")
    return record.phase === "sending" ? { ...sending, isOut: true, isOpen: true } : before;
  if (record.type === "step_sent") return { ...sending, isOut: true, isOpen: before?.isOpen ?? true };
  if (before === null) return null;
  if (record.type === "step_answered") {
    const isAnswered = record.error === null || record.code !== null || !record.sent;
    return { ...before, isOut: !isAnswered };
  }
  return before.isOut ? { ...before, isOpen: false } : null;
}
