import { hash8, topicId } from "./ids.js";
import type { RunningStatus } from "./model.js";
import type { RunningStatusItem } from "./ports.js";
import type { Transliterate } from "./sensor-layout.js";

const onWords = new Set(["1", "true", "on", "开", "开启", "运行"]);
const offWords = new Set(["0", "false", "off", "关", "关闭", "停止"]);

/** `on` and `off` where the value says so, else the value as text; `unknown` when there is none. */
export function statusState(value: RunningStatusItem["value"]): string {
  if (value === null) return "unknown";
  const text = String(value).trim();
  const word = text.toLowerCase();
  if (onWords.has(word)) return "on";
  return offWords.has(word) ? "off" : text;
}

/** A number may repeat within one device, so number and name identify a status together. */
export function statusIdentity(
  item: RunningStatusItem,
  transliterate: Transliterate,
): { key: string; id: string } {
  const key = `status:${item.number ?? ""}:${item.name}`;
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
  const byKey = new Map([...held.values()].map((status) => [status.key, status]));
  let changed: Map<string, RunningStatus> | null = null;
  for (const item of items) {
    const known = byKey.get(`status:${item.number ?? ""}:${item.name}`);
    if (known !== undefined && known.value === item.value) continue;
    const { key, id } = known ?? statusIdentity(item, transliterate);
    changed ??= new Map(held);
    const free = uniqueStatusId(changed, id, key);
    const state = statusState(item.value);
    changed.set(free, {
      id: free,
      key,
      name: item.name,
      number: item.number,
      value: item.value,
      state,
      receivedAt,
    });
  }
  return changed ?? held;
}

/** Two names that clean to one id are told apart by a hash of the whole name. */
function uniqueStatusId(taken: ReadonlyMap<string, RunningStatus>, id: string, key: string): string {
  const holder = taken.get(id);
  return holder === undefined || holder.key === key ? id : `${id.slice(0, 55)}_${hash8(key)}`;
}
