import type { JournalRecord, RecordType } from "./records.js";

/** All that is given must hold. */
export interface RecordFilter {
  /** Device codes or topic ids; a record matches when any of its own is among them. */
  readonly controllers?: ReadonlySet<string>;
  readonly types?: ReadonlySet<RecordType>;
  /** Epoch ms. */
  readonly sinceMs?: number;
}

/** What a person means by "past commands". */
export const commandOutcomes: ReadonlySet<RecordType> = new Set([
  "result",
  "refusal",
  "refusals_counted",
  "confirmed_late",
  "reverted",
]);

export function matches(record: JournalRecord, { controllers, types, sinceMs }: RecordFilter): boolean {
  if (types !== undefined && !types.has(record.type)) return false;
  if (sinceMs !== undefined && !(Date.parse(record.at) >= sinceMs)) return false;
  return controllers === undefined || controllersOf(record).some((id) => controllers.has(id));
}

function controllersOf(record: JournalRecord): readonly string[] {
  const own = "controller" in record && typeof record.controller === "string" ? [record.controller] : [];
  return "result" in record ? [...own, record.result.controller] : own;
}
