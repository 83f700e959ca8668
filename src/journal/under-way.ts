import { driftAllowance } from "../runtime/clock.js";
import { type About, aboutKey, commandKey, type JournalRecord, type RecordBody } from "./records.js";

/*
 * Finds POSTs of a former owner that may still be under way, from its journal. Its POSTs waited for an acknowledged
 * record, except stops and commands of rules.
 */

/** A POST is over when records of its own and later runs show that this much time has passed. */
export const overMs = 600_000;

interface Sending {
  /** The run, by its place in the order of runs, and the time of the record by that run's monotonic clock. */
  readonly run: number;
  readonly mono: number;
  readonly lane: string;
  /** Whether its last POST has no answer that shows the outcome. */
  readonly isOut: boolean;
  /** Whether another step may follow without an awaited record. */
  readonly isOpen: boolean;
}

interface Span {
  readonly boot: string;
  readonly from: number;
  until: number;
}

/**
 * The targets, by `aboutKey`, to which a POST may be under way. A run begins only when earlier ones can begin no POST,
 * so these are over once later runs together have lasted longer than a POST may take (`controlMs`). Wall clocks do not
 * count, as each run may have another one.
 */
export function lanesUnderWay(records: Iterable<JournalRecord>, controlMs: number): ReadonlySet<string> {
  const sendings = new Map<string, Sending>();
  const spans: Span[] = [];
  for (const record of records) {
    const { boot, mono } = record;
    if (spans.at(-1)?.boot !== boot) spans.push({ boot, from: mono, until: mono });
    const span = spans.at(-1);
    if (span !== undefined) span.until = mono;
    const about = aboutOf(record);
    if (about === null) continue;
    const key = commandKey(about, about.id);
    const before = sendings.get(key) ?? null;
    const after = afterRecord(before, record, { run: spans.length - 1, mono, lane: aboutKey(about) });
    if (after === null) sendings.delete(key);
    else sendings.set(key, after);
  }
  const left = [...sendings.values()].filter((one) => !isOver(one, spans, controlMs));
  return new Set(left.map(({ lane }) => lane));
}

function isOver({ run, mono }: Sending, spans: readonly Span[], controlMs: number): boolean {
  const ownMs = (spans[run]?.until ?? mono) - mono;
  const laterMs = spans.slice(run + 1).reduce((sum, { from, until }) => sum + until - from, 0);
  return laterMs >= controlMs * driftAllowance || ownMs + laterMs >= overMs;
}

function aboutOf(record: RecordBody): (About & { readonly id: string }) | null {
  if (record.type === "result") return { ...record, id: record.result.id };
  const isOfPost = record.type === "phase" || record.type === "step_sent" || record.type === "step_answered";
  return isOfPost ? record : null;
}

/** The state of a command after a record; null where nothing of it is under way. */
function afterRecord(
  before: Sending | null,
  record: RecordBody,
  sending: Pick<Sending, "run" | "mono" | "lane">,
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
