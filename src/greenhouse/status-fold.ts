import { hash8, topicId } from "./ids.js";
import type { RunningStatus } from "./model.js";
import type { RunningStatusItem } from "./ports.js";
import type { Transliterate } from "./sensor-layout.js";

const onWords = new Set(["1", "true", "on", "开", "开启", "运行"]);
const offWords = new Set(["0", "false", "off", "关", "关闭", "停止"]);

/** `on` and `off` where the value says so, else the value as text; `unknown` when there is none. */
export function statusState(value: RunningStatusItem["value"]): string {
  const text = value === null ? "" : String(value).trim();
  if (text === "") return "unknown";
  const word = text.toLowerCase();
  if (onWords.has(word)) return "on";
  return offWords.has(word) ? "off" : text;
}

/** A number may repeat within one device, so number and name identify a status together. */
export function statusIdentity(
  item: RunningStatusItem,
  transliterate: Transliterate,
): { key: string; id: string } {
  const key = keyOf(item);
  return {
    key,
    id: topicId(item.number === null ? item.name : `${item.number} ${item.name}`, transliterate),
  };
}

export function foldStatuses(
  held: ReadonlyMap<string, RunningStatus>,
  items: readonly RunningStatusItem[],
  receivedAt: number,
  transliterate: Transliterate,
): ReadonlyMap<string, RunningStatus> {
  const known = new Map([...held.values()].map((status) => [status.key, status]));
  const seen = new Set<string>();
  let changed: Map<string, RunningStatus> | null = null;
  for (const item of inKeyOrder(items)) {
    const key = keyOf(item);
    const old = known.get(key);
    if (seen.has(key)) continue;
    seen.add(key);
    if (old !== undefined && old.value === item.value) continue;
    changed ??= new Map(held);
    const id = old?.id ?? uniqueStatusId(changed, statusIdentity(item, transliterate).id, key);
    const { name, number, value } = item;
    changed.set(id, { id, key, name, number, value, state: statusState(value), receivedAt });
  }
  return changed ?? held;
}

const keyOf = (item: RunningStatusItem): string => `status:${item.number ?? ""}:${item.name}`;

// Ids must not depend on the order of an answer; the first of two items with one key counts.
const inKeyOrder = (items: readonly RunningStatusItem[]): readonly RunningStatusItem[] =>
  items.length < 2
    ? items
    : items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : keyOf(one) > keyOf(other) ? 1 : 0));

/** Two names that clean to one id are told apart by a hash of the whole name. */
function uniqueStatusId(taken: ReadonlyMap<string, RunningStatus>, id: string, key: string): string {
  const holder = taken.get(id);
  return holder === undefined || holder.key === key ? id : `${id.slice(0, 55)}_${hash8(key)}`;
}
