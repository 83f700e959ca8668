import type { JournalRecord, RecordType } from "./records.js";

/*
 * What a line must have before it is believed to be a record. The checksum already proves that the bridge wrote it; this
 * guards against another version having meant something else by the same type.
 */

type Check = (value: unknown) => boolean;
type FieldsOf<T extends RecordType> = Omit<Extract<JournalRecord, { type: T }>, "type">;
type Checks<T extends RecordType> = { readonly [K in keyof FieldsOf<T>]?: Check };

const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Check = (value) => typeof value === "boolean";
const list: Check = Array.isArray;
const textOrNull: Check = (value) => value === null || text(value);
const object = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const result: Check = (value) =>
  object(value) && text(value["id"]) && text(value["outcome"]) && text(value["finished_at"]);

const about = { controller: text, actuator: text };
const aboutCommand = { ...about, id: text };

const checks: { readonly [T in RecordType]: Checks<T> } = {
  command_taken: { ...aboutCommand, command: text, value: text, steps: list, received_at: text },
  phase: { ...aboutCommand, phase: text },
  step_sent: { ...aboutCommand, purpose: text, address: text, value: text, attempt: number },
  step_answered: { ...aboutCommand, address: text, attempt: number, code: textOrNull, sent: flag },
  read_back: { ...about, id: textOrNull, address: text, value: text },
  result: { ...about, result },
  refusal: { ...about, result },
  refusals_counted: { controller: textOrNull, actuator: textOrNull, count: number, reasons: object },
  confirmed_late: { ...aboutCommand, value: text },
  reverted: { ...aboutCommand, value: text },
  changed_elsewhere: { ...about, from: textOrNull, to: textOrNull },
  acknowledged: { controller: text, actuator: textOrNull },
  delivered: { through: number },
  start: { version: text },
  stop: { reason: text },
  clock_jump: { by_ms: number },
  login_failed: { listener: text },
  other_bridge: { present: flag },
  configuration_changed: { changes: list },
  event: { event: text, severity: text, message: text },
  journal_damaged: { unreadable: number, truncated_bytes: number, corrupt_files: list },
  journal_resumed: { reason: text, since: text, lost: number },
  carried: { open: list, unread: list, problems: list, starts: list },
};

export const recordTypes: ReadonlySet<string> = new Set(Object.keys(checks));

const stamp: Readonly<Record<string, Check>> = {
  seq: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  at: text,
  mono: number,
  boot: text,
  clock_synced: (value) => value === null || flag(value),
};

export function isRecord(value: unknown): value is JournalRecord {
  if (!object(value)) return false;
  const type = value["type"];
  if (typeof type !== "string" || !recordTypes.has(type)) return false;
  return passes(value, stamp) && passes(value, checks[type as RecordType]);
}

function passes(value: Readonly<Record<string, unknown>>, rules: Readonly<Record<string, Check>>): boolean {
  for (const field in rules) if (!rules[field]?.(value[field])) return false;
  return true;
}
