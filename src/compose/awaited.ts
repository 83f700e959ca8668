import { type Awaited, isAwaited } from "../commands/aftermath.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { targetOf } from "../greenhouse/command/targets.js";
import type { HistoryParts } from "../journal/history-parts.js";
import type { CommandTarget, JournalRecord, RecordType } from "../journal/records.js";
import type { CommandResult } from "../journal/results.js";

const dayMs = 24 * 3_600_000;
/** A clock that was set back a little must not hide the record of a problem. */
const slackMs = 60_000;

export interface LateResult {
  readonly code: string;
  readonly target: CommandTarget;
  readonly result: CommandResult;
}

/** How far back, epoch ms, the results may lie whose value may still come: a day, or the oldest open problem of this kind. */
export function awaitedSince(problems: HistoryParts["problems"], now: number): number {
  const open = problems.flatMap(({ outcome, reason, finished_at }) =>
    outcome === "unconfirmed" && reason === null ? Date.parse(finished_at) - slackMs : [],
  );
  return Math.min(now - dayMs, ...open.filter((at) => !Number.isNaN(at)));
}

/** The newest sent command of each target where it ended unconfirmed and its value has not come since; as while running. */
export function lateResults(records: Iterable<JournalRecord>): readonly LateResult[] {
  const late = new Map<string, LateResult>();
  for (const record of records) {
    if (record.type !== "result" && record.type !== "confirmed_late") continue;
    const { controller: code, target = "actuator", actuator } = record;
    const key = `${code} ${target} ${actuator}`;
    if (record.type === "confirmed_late" || record.result.sent_at !== null) late.delete(key);
    if (record.type === "result" && isAwaited(record.result))
      late.set(key, { code, target, result: record.result });
  }
  return [...late.values()];
}

/** What to look for in later reads; null when the configuration no longer knows the target. */
export function awaitedFrom({ code, target, result }: LateResult, store: GreenhouseStore): Awaited | null {
  const controller = store.get(code);
  const sent = result.steps.at(-1);
  if (!controller || !sent) return null;
  const addressee = { controllerId: controller.info.id, target, targetId: result.actuator };
  const settings = targetOf(controller, addressee, { rawAddresses: true, minIntervalMs: 0 });
  if ("reason" in settings) return null;
  const { purpose, address, value } = sent;
  return {
    command: { id: result.id, code, ...addressee },
    settings,
    word: result.command ?? value,
    step: { purpose, address, value, confirmWithinMs: settings.confirmWithinMs },
  };
}

/** What says whether a confirmed value was looked at again. */
export const heldTypes = new Set(["result", "step_sent", "read_back", "reverted"] as const);

const isHeldType = (
  record: JournalRecord,
): record is Extract<JournalRecord, { readonly type: "result" | "step_sent" | "read_back" | "reverted" }> =>
  (heldTypes as ReadonlySet<RecordType>).has(record.type);

/** The newest sent command of each target where it was confirmed and nobody has looked again since; as while running. */
export function heldResults(records: Iterable<JournalRecord>): readonly LateResult[] {
  const held = new Map<string, LateResult>();
  for (const record of records) {
    if (!isHeldType(record)) continue;
    const { controller: code, target = "actuator", actuator } = record;
    const key = `${code} ${target} ${actuator}`;
    const id = held.get(key)?.result.id;
    if (record.type === "step_sent") held.delete(key);
    else if ((record.type === "read_back" || record.type === "reverted") && record.id === id)
      held.delete(key);
    else if (record.type === "result" && record.result.outcome === "confirmed")
      held.set(key, { code, target, result: record.result });
  }
  return [...held.values()];
}
