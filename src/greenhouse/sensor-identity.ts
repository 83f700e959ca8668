import { catalogueWord } from "./sensor-names.js";
import { assignIds, hash8, type Transliterate } from "./topic-ids.js";

/** What tells one sensor of an answer from another. */
export interface SensorTraits {
  readonly name: string;
  readonly factor: string | null;
  readonly channel: string | null;
}

interface SensorIdentity {
  /** `factor:ecfii`, `channel:3`, `name:空气温度`; where that is shared `factor:t@2` or `channel:1~空气湿度`. */
  readonly key: string;
  readonly id: string;
}

/** The first the platform gives of code, channel and name: what a sensor is known by while nothing shares it. */
export function sensorKey({ name, factor, channel }: SensorTraits): string {
  if (given(factor)) return `factor:${keyPart(factor.trim())}`;
  return given(channel) ? `channel:${keyPart(channel.trim())}` : `name:${keyPart(name)}`;
}

/**
 * Key and id of every item of one answer, in the items' order; null for an item that nothing tells from an earlier one.
 * Items that share a code are told apart by channel, then by name, never by place: their order does not matter.
 */
export function identifySensors(
  items: readonly SensorTraits[],
  transliterate?: Transliterate,
): readonly (SensorIdentity | null)[] {
  const codes = distinctBy(items, sensorKey, (item) => (given(item.factor) ? channelOf(item) : ""));
  const withChannel = (item: SensorTraits) =>
    sensorKey(item) + (isShared(codes, sensorKey(item)) ? channelOf(item) : "");
  const channels = distinctBy(items, withChannel, (item) => item.name);
  const wanted = new Map<string, string>();
  const keys = items.map((item) => {
    const code = withChannel(item);
    const needsName = isShared(channels, code);
    const key = needsName ? `${code}~${keyPart(item.name)}` : code;
    if (wanted.has(key)) return null;
    wanted.set(key, wantedId(item, isShared(codes, sensorKey(item)), needsName));
    return key;
  });
  const asked = Array.from(wanted, ([key, text]) => ({ key, wanted: text }));
  const ids = assignIds(asked, { transliterate });
  return keys.map((key) => {
    const id = key === null ? undefined : ids.get(key);
    return key === null || id === undefined ? null : { key, id };
  });
}

type Distinct = ReadonlyMap<string, ReadonlySet<string>>;

function distinctBy(
  items: readonly SensorTraits[],
  groupOf: (item: SensorTraits) => string,
  traitOf: (item: SensorTraits) => string,
): Distinct {
  const groups = new Map<string, Set<string>>();
  for (const item of items) {
    const group = groups.get(groupOf(item)) ?? new Set();
    groups.set(groupOf(item), group.add(traitOf(item)));
  }
  return groups;
}

const isShared = (groups: Distinct, group: string): boolean => (groups.get(group)?.size ?? 0) > 1;

const given = (code: string | null): code is string => code !== null && code.trim() !== "";
const channelOf = ({ channel }: SensorTraits): string =>
  given(channel) ? `@${keyPart(channel.trim())}` : "";

function wantedId(
  { name, factor, channel }: SensorTraits,
  sharesFactor: boolean,
  needsName: boolean,
): string {
  const ownName = catalogueWord(name) ?? name;
  const parts: string[] = [];
  if (given(factor)) parts.push(factor.trim());
  else if (given(channel)) parts.push("channel");
  else return ownName;
  if (given(channel) && (sharesFactor || !given(factor))) parts.push(channel.trim());
  if (needsName && name !== "") parts.push(ownName);
  return parts.join("_");
}

/** A text inside a key: kept where it cannot be mistaken for something else and every outlet can carry it, else hashed. */
function keyPart(text: string): string {
  if (/^[^\p{Cc}\p{Cs}@~%]{0,64}$/u.test(text)) return text;
  const readable = Array.from(text.slice(0, 128))
    .slice(0, 40)
    .join("")
    .replace(/[\p{Cc}\p{Cs}@~%]/gu, "_");
  return `${readable}%${hash8(text)}`;
}
