import { type ReadTable, sameValue } from "./actuator-kinds.js";
import type { ControllerEvent } from "./events.js";
import type { StatusNumber } from "./device-types.js";
import type { Running, RunningStatus } from "./model.js";
import type { RunningStatusItem } from "./ports.js";
import { statusWord } from "./sensor-name-tables.js";
import { hash8, topicId, type Transliterate } from "./topic-ids.js";

type StatusesRead = Extract<ControllerEvent, { type: "statuses_read" }>;

/** Values that always mean on and off. */
export const statusWords = {
  on: ["1", "true", "on", "开", "开启", "运行"],
  off: ["0", "false", "off", "关", "关闭", "停止"],
} as const satisfies ReadTable;

const onWords: ReadonlySet<string> = new Set(statusWords.on);
const offWords: ReadonlySet<string> = new Set(statusWords.off);

/** `on`, `off` or a word of `reads`, by the value; else the value as text; `unknown` for none. */
export function statusState(value: RunningStatusItem["value"], reads: ReadTable = {}): string {
  const text = value === null ? "" : String(value).trim();
  if (text === "") return "unknown";
  const word = text.toLowerCase();
  if (onWords.has(word)) return "on";
  if (offWords.has(word)) return "off";
  const given = Object.entries(reads).find(([, values]) =>
    values.some((one) => sameValue(one.toLowerCase(), word)),
  );
  return given?.[0] ?? text;
}

/** A status missing in so many whole answers in a row no longer belongs to the device. */
const mostMissed = 3;

/** The statuses after one answer. What it does not list is missing, and gone with the third in a row. */
export function foldStatuses(
  held: ReadonlyMap<string, RunningStatus>,
  { items, receivedAt }: StatusesRead,
  transliterate: Transliterate,
  reads?: ReadTable,
): ReadonlyMap<string, RunningStatus> {
  const known = new Map([...held.values()].map((status) => [status.key, status]));
  let changed: Map<string, RunningStatus> | null = null;
  const seen = new Set<string>();
  for (const item of inKeyOrder(items)) {
    const key = keyOf(item);
    if (seen.has(key)) continue;
    seen.add(key);
    const old = known.get(key);
    if (
      old !== undefined &&
      old.value === item.value &&
      old.readAt === receivedAt &&
      old.missed === 0 &&
      !old.isDoubted
    )
      continue;
    changed ??= new Map(held);
    const id = old?.id ?? newId(changed, item, transliterate);
    changed.set(
      id,
      foldListed(old, item, { id, key, readAt: receivedAt, state: statusState(item.value, reads) }),
    );
  }
  for (const status of known.values()) {
    if (seen.has(status.key)) continue;
    changed ??= new Map(held);
    const missed = status.missed + 1;
    if (missed < mostMissed) changed.set(status.id, { ...status, missed });
    else changed.delete(status.id);
  }
  return changed ?? held;
}

function foldListed(
  old: RunningStatus | undefined,
  { name, number, value }: RunningStatusItem,
  { id, key, readAt, state }: Pick<RunningStatus, "id" | "key" | "readAt" | "state">,
): RunningStatus {
  const changedAt = old?.value === value ? old.changedAt : readAt;
  const quality = old?.quality ?? "stale";
  return { id, key, name, number, value, state, readAt, changedAt, missed: 0, quality };
}

/** A number may repeat within one device, so number and name identify a status together. */
const keyOf = (item: RunningStatusItem): string => `status:${item.number ?? ""}:${item.name}`;

// Ids must not depend on the order of an answer; of two items with one key the first counts.
const inKeyOrder = (items: readonly RunningStatusItem[]): readonly RunningStatusItem[] =>
  items.length < 2
    ? items
    : items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : keyOf(one) > keyOf(other) ? 1 : 0));

/** The id of a new status; names with the same clean form differ by a hash of the whole name. */
function newId(
  taken: ReadonlyMap<string, RunningStatus>,
  item: RunningStatusItem,
  transliterate: Transliterate,
): string {
  const name = statusWord(item.name) ?? item.name;
  const id = topicId(item.number === null ? name : `${item.number} ${name}`, transliterate);
  const holder = taken.get(id);
  const key = keyOf(item);
  return holder === undefined || holder.key === key ? id : `${id.slice(0, 55)}_${hash8(key)}`;
}

/** Whether pushed items differ from the statuses that reads have shown. */
export const differsFrom = (
  held: ReadonlyMap<string, RunningStatus>,
  items: readonly RunningStatusItem[],
): boolean =>
  items.some((item) => {
    const [status, ...others] = [...held.values()].filter(
      ({ name, number }) =>
        (item.name !== "" || item.number !== null) &&
        (item.name === "" || item.name === name) &&
        (item.number === null || item.number === number),
    );
    return others.length === 0 && status !== undefined && status.value !== item.value;
  });

export const statusesOf = (
  numbers: readonly StatusNumber[],
  statuses: Iterable<RunningStatus>,
): readonly RunningStatus[] =>
  [...statuses].filter(({ number }) => number !== null && numbers.includes(number));

/** `on` while any of the statuses is on. */
export function runningOf(numbers: readonly StatusNumber[], statuses: Iterable<RunningStatus>): Running {
  const own = statusesOf(numbers, statuses);
  const good = own.filter(({ quality }) => quality === "good");
  if (good.some(({ state }) => state === "on")) return "on";
  return own.length > 0 && own.every(({ state, quality }) => quality === "good" && state === "off")
    ? "off"
    : "unknown";
}
