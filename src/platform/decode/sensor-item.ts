import type { SensorItem } from "../../greenhouse/ports.js";
import { measurement } from "../measurement.js";
import type { Decoding } from "./decoding.js";
import { inGroups, type Group, type Place } from "./items.js";
import type { ReadRoles, Roles } from "./roles.js";
import type { SensorRole } from "./sensors.js";
import { isContainer, own, scalarOf, textOf, type Fields } from "./wire.js";

interface Naming {
  readonly name: string | null;
  readonly factor: string | null;
  readonly channel: string | null;
}

type Reading = Pick<SensorItem, "value" | "raw" | "unit" | "measuredAt">;

/** One item of the platform as ours; null when nothing says what it measures. */
export function sensorItem(
  found: Roles<SensorRole>,
  place: Place,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): SensorItem | null {
  const { name, factor, channel } = naming(found, place, roles);
  if (name === null && factor === null && channel === null) return null;
  const { value, raw, unit, measuredAt } = reading(found.value, found, place, roles, decoding);
  return { name: name ?? "", factor, channel, value, raw, unit, measuredAt };
}

/** What a key in an object of items means depends on how it looks: digits are a channel, ASCII a factor, the rest a name. */
function naming(found: Roles<SensorRole>, place: Place, roles: ReadRoles<SensorRole>): Naming {
  const outer = place.key === null ? nestedIn(place, roles) : null;
  if (outer !== null) return naming({ ...roles(outer.fields), ...found }, outer, roles);
  const ownName = textOf(found.name);
  const ownFactor = textOf(found.factor);
  const key = place.key ?? (ownName === null && ownFactor === null ? (place.group?.key ?? null) : null);
  const keyed = namedByKey(key);
  return {
    name: ownName ?? keyed.name,
    factor: ownFactor ?? keyed.factor,
    channel: textOf(found.channel) ?? keyed.channel ?? groupChannel(place, roles, key),
  };
}

const isAscii = (key: string): boolean => /^[\x21-\x7e]{1,64}$/.test(key);

const unnamed: Naming = { name: null, factor: null, channel: null };

function namedByKey(key: string | null): Naming {
  const text = key?.trim() ?? "";
  if (text === "") return unnamed;
  if (/^\d{1,4}$/.test(text)) return { name: null, factor: null, channel: text };
  return isAscii(text)
    ? { name: null, factor: text, channel: null }
    : { name: text, factor: null, channel: null };
}

/** `{name, value: {value, unit}}`: the inner object is the reading, the outer one says of what. */
function nestedIn(place: Place, roles: ReadRoles<SensorRole>): Group | null {
  const outer = place.group;
  if (outer === null || outer.isFrame || !isContainer(own(outer.fields, "value"))) return null;
  return "value" in roles(outer.fields) ? null : outer;
}

/** Channel of the group an item stands in, or what tells the group from its neighbours; not the key already used as its name. */
function groupChannel(place: Place, roles: ReadRoles<SensorRole>, used: string | null): string | null {
  return inGroups(place, (group) => {
    if (group.isFrame) return null;
    const found = roles(group.fields);
    const key = group.key === used ? null : group.key;
    return textOf(found.channel) ?? key ?? textOf(found.name) ?? textOf(found.factor);
  });
}

/** A number that stands under its name. */
export function rowItem(
  key: string,
  raw: unknown,
  fields: Fields,
  place: Place,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): SensorItem {
  const found = roles(fields);
  const isFactor = isAscii(key);
  const told = place.isFrame ? null : (textOf(found.name) ?? place.key);
  return {
    name: isFactor ? "" : key,
    factor: isFactor ? key : null,
    channel: textOf(found.channel) ?? told ?? groupChannel(place, roles, null),
    ...reading(raw, { time: found.time }, place, roles, decoding),
  };
}

function reading(
  given: unknown,
  found: Roles<SensorRole>,
  place: Place,
  roles: ReadRoles<SensorRole>,
  { readTime, receivedAt, report }: Decoding,
): Reading {
  const raw = scalarOf(given);
  const unit = textOf(found.unit);
  const time = found.time ?? groupTime(place, roles);
  const measuredAt = readTime(time, receivedAt);
  if (measuredAt === null && time !== null && time !== "") report("a time that cannot be read", { time });
  const measured = typeof raw === "string" ? measurement(raw, unit) : { value: plain(raw), unit: null };
  return { value: measured.value, raw, unit: unit ?? measured.unit, measuredAt };
}

const groupTime = (place: Place, roles: ReadRoles<SensorRole>): unknown =>
  inGroups(place, ({ fields }) => roles(fields).time ?? null);

const plain = (raw: number | boolean | null): number | string | null =>
  typeof raw === "boolean" ? String(raw) : raw;
