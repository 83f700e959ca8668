import type { GivenSetting, SettingNode } from "./protocol.js";

/* How the settings are divided, and what a key contains; pure functions only. */

/** Parts as people think of them, each with keys from the top of the configuration. */
const parts = {
  greenhouses: ["controllers", "mirror", "kinds", "running_status"],
  groups: ["groups", "scenes"],
  limits: ["commands", "weather"],
  messages: ["alarms", "notify"],
  people: ["http"],
  connections: ["platform", "mqtt", "broker", "homeassistant", "sparkplug", "polling"],
  computer: ["language", "http", "data_dir", "log", "updates", "cluster"],
  file: [],
} as const;

export type PartName = keyof typeof parts;
export const partNames = Object.keys(parts) as readonly PartName[];

/** Keys of `http` that belong to the part of people. */
const ofPeople: readonly string[] = ["users", "ingress"];

export function nodesOf(part: PartName, keys: readonly SettingNode[]): readonly SettingNode[] {
  const names: readonly string[] = parts[part];
  return names.flatMap((name) => {
    const node = keys.find((one) => one.name === name);
    if (node === undefined) return [];
    if (name !== "http") return [node];
    const section = node.options?.find(({ type }) => type === "section") ?? node;
    const isOfPeople = part === "people";
    const own = section.keys?.filter((one) => ofPeople.includes(one.name) === isOfPeople) ?? [];
    return [{ ...section, name, type: "section" as const, keys: own }];
  });
}

/** `controllers.*.actuators.*.name`: `*` stands for any name of the user's. */
export type Pattern = string;

/** The pattern by which a key is named, as equal keys stand at several places. */
export const calledAs = (pattern: Pattern): Pattern =>
  pattern
    .replace(/^kinds\.\*\./, "controllers.*.actuators.*.")
    .replace(/^controllers\.\*\.sensors\.\*\.alarm\./, "alarms.*.")
    .replace(/^broker\.users\.\*\.(username|password)$/, "http.users.*.$1");

/** The keys that are set most often, which stand first. */
export const first: Readonly<Record<Pattern, readonly string[]>> = {
  "controllers.*": ["name", "area", "ignore"],
  "controllers.*.actuators.*": ["name", "kind", "address", "travel_time", "read_only", "ignore"],
  "controllers.*.sensors.*": ["name", "from", "unit", "offset", "ignore"],
  "controllers.*.parameters.*": ["name", "address", "unit", "scale", "decimals"],
  "notify.ways.*": ["severity", "events", "cleared"],
  platform: ["business_url", "realtime_url", "token", "time_zone"],
  mqtt: ["url", "username", "password", "base_topic"],
  http: ["host", "port", "settings", "token"],
};

/** Names with dots or blanks stand in quotes, as the bridge reads them. */
export const inKey = (key: string, name: string): string => {
  const part = /^[\p{L}\p{N}\p{M}_°/%-]+$/u.test(name) ? name : JSON.stringify(name);
  return key === "" ? part : `${key}.${part}`;
};

export const itemKey = (key: string, at: number): string => `${key}[${at}]`;

/** Whether the key is shown in another part only. */
export const isElsewhere = (pattern: Pattern): boolean => pattern === "controllers.*.actuators.*.limits";

const named = String.raw`(?:"(?:[^"\\]|\\.)*"|[^."[\]]+)`;
const amounts = "(?:offset|min|max|step|low|low_low|high|high_high|deadband)";
const ofReading = new RegExp(
  String.raw`^(controllers\.${named}\.(?:sensors|parameters)\.${named})\.(?:(?:alarm|writable)\.)?${amounts}$`,
);
const ofGuard = new RegExp(
  String.raw`^((controllers\.${named})\.actuators\.${named}\.limits\.guards\.${named})\.(?:above|below|clear_at)$`,
);

/** The key with the unit of a number; null for a number without one. */
export function unitKey(key: string, textAt: (key: string) => string): string | null {
  const [, reading] = ofReading.exec(key) ?? [];
  if (reading !== undefined) return inKey(reading, "unit");
  const [, guard, controller = ""] = ofGuard.exec(key) ?? [];
  if (guard === undefined) return null;
  const [, weather] = /^weather\/(.+)$/.exec(textAt(inKey(guard, "sensor"))) ?? [];
  const at =
    weather === undefined
      ? inKey(inKey(controller, "sensors"), textAt(inKey(guard, "sensor")))
      : inKey("weather", weather);
  return inKey(at, "unit");
}

type Given = Readonly<Record<string, GivenSetting>>;
export type Draft = Readonly<Record<string, unknown>>;

const below = /^\.(?:("(?:[^"\\]|\\.)*")|([^."[\]]+))/u;

/** The user's names in a section, from the file and the draft, without removed ones. */
export function namesIn(key: string, given: Given, draft: Draft): readonly string[] {
  const names = new Set<string>();
  for (const one of [...Object.keys(given), ...Object.keys(draft)]) {
    if (!one.startsWith(`${key}.`)) continue;
    const [, quoted, plain] = below.exec(one.slice(key.length)) ?? [];
    const name = quoted === undefined ? plain : (JSON.parse(quoted) as string);
    if (name !== undefined && draft[inKey(key, name)] !== null) names.add(name);
  }
  return [...names];
}

export type Orders = Readonly<Record<string, readonly string[]>>;

/** Whether the section's order can be changed and is used elsewhere. */
export const isOrdered = (pattern: Pattern): boolean =>
  pattern === "controllers" || pattern === "controllers.*.actuators";

/** The names in this order; names without a place follow. */
export const inOrder = (names: readonly string[], order: readonly string[] = []): readonly string[] => [
  ...order.filter((name) => names.includes(name)),
  ...names.filter((name) => !order.includes(name)),
];

export function moveName(names: readonly string[], name: string, by: number): readonly string[] {
  const others = names.filter((one) => one !== name);
  const place = Math.max(0, names.indexOf(name) + by);
  return [...others.slice(0, place), name, ...others.slice(place)];
}

/** The names that need a place in the file, without the last ones that it lacks and whose order stays the same. */
export function namesToPlace(
  before: readonly string[],
  after: readonly string[],
  isInFile: (name: string) => boolean,
): readonly string[] {
  let end = after.length;
  for (let place = Infinity; end > 0; end -= 1) {
    const name = after[end - 1] ?? "";
    if (isInFile(name) || before.indexOf(name) > place) break;
    place = before.indexOf(name);
  }
  return after.slice(0, end);
}

/** The orders without removed names. */
export const orderOfKnown = (orders: Orders, given: Given, draft: Draft): Orders =>
  Object.fromEntries(
    Object.entries(orders).map(([at, names]) => {
      const known = new Set(namesIn(at, given, draft));
      return [at, names.filter((name) => known.has(name))];
    }),
  );

/** The number of items in a list, with those being added. */
export function countIn(key: string, given: Given, draft: Draft): number {
  const places = [...Object.keys(given), ...Object.keys(draft)].flatMap((one) => {
    const [, at] = one.startsWith(`${key}[`) ? (/^\[(\d+)\]/.exec(one.slice(key.length)) ?? []) : [];
    return at === undefined ? [] : [Number(at)];
  });
  return places.length === 0 ? 0 : Math.max(...places) + 1;
}

/** Whether the key, or one below it, has a value. */
export const isGiven = (key: string, given: Given, draft: Draft): boolean =>
  [...Object.keys(given), ...Object.keys(draft)].some(
    (one) => one === key || one.startsWith(`${key}.`) || one.startsWith(`${key}[`),
  );

/** The items of a list of single values. */
export const itemsOf = (key: string, given: Given): readonly (string | number | boolean)[] =>
  Array.from({ length: countIn(key, given, {}) }, (_, at) => given[itemKey(key, at)]?.value ?? "");

/** The draft with a change; a value equal to the file's is no change. */
export function withChange(draft: Draft, given: Given, key: string, value: unknown): Draft {
  const others = Object.fromEntries(Object.entries(draft).filter(([one]) => one !== key));
  const isEmpty = value === "" || value === null || value === undefined;
  const isKnown = Object.hasOwn(given, key);
  if (isEmpty) return isKnown || isGiven(key, given, {}) ? { ...others, [key]: null } : others;
  return given[key]?.value === value ? others : { ...others, [key]: value };
}

/** The draft with the whole key removed, and so without changes below it. */
export const without = (draft: Draft, given: Given, key: string): Draft => {
  const others = Object.fromEntries(
    Object.entries(draft).filter(
      ([one]) => one !== key && !one.startsWith(`${key}.`) && !one.startsWith(`${key}[`),
    ),
  );
  return isGiven(key, given, {}) ? { ...others, [key]: null } : others;
};

/** The typed text as a value of its kind. */
export function parseTyped(node: SettingNode, text: string): unknown {
  if (text.trim() === "") return null;
  if (node.type === "number") return Number.isFinite(Number(text)) ? Number(text) : text;
  if (node.type === "flag") return text === "true" ? true : text === "false" ? false : text;
  if (node.type === "choice" && node.words?.some((word) => typeof word === "number") === true)
    return Number(text);
  if (node.type === "either" || node.type === "anything") return parseAnything(text);
  return text;
}

function parseAnything(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Parses a list of single values in one line. */
export const parseList = (entry: SettingNode, text: string): readonly unknown[] =>
  text
    .split(/[,，、\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map((item) => parseTyped(entry, item));

/** Something that was found and can be added. */
export interface FoundThing {
  readonly key: string;
  readonly code: string;
  /** Empty for a controller alone. */
  readonly name: string;
  readonly what: string;
  readonly found: Readonly<Record<string, unknown>>;
}

/** The found controllers, actuators, sensors, statuses and parameters, each by itself. */
export function thingsIn(changes: Readonly<Record<string, unknown>>): readonly FoundThing[] {
  const things = new Map<string, { code: string; name: string; found: Record<string, unknown> }>();
  for (const [key, value] of Object.entries(changes)) {
    const parts = partsOf(key);
    const [top, code = "", section = "", id] = parts;
    if (top !== "controllers" || code === "") continue;
    const house = inKey("controllers", code);
    const isInner = id !== undefined;
    const at = isInner ? inKey(inKey(house, section), id) : house;
    const thing = things.get(at) ?? { code, name: isInner ? id : "", found: {} };
    thing.found[key] = value;
    things.set(at, thing);
  }
  return [...things].map(([key, { code, name, found }]) => {
    const own = (last: string) => {
      const value = found[`${key}.${last}`];
      return typeof value === "string" || typeof value === "number" ? String(value) : "";
    };
    const what = [own("name"), own("kind"), own("from"), own("address")]
      .filter((one) => one !== "")
      .join(", ");
    return { key, code, name, what, found };
  });
}

/** How the platform names a sensor, as the bridge shows it. */
interface ShownSensor {
  readonly name: string;
  readonly factor: string | null;
  readonly channel: string | null;
}

/** By id the `from` that names exactly this sensor. */
export function namesOfSensors(
  sensors: Readonly<Record<string, ShownSensor>>,
): Readonly<Record<string, string>> {
  const all = Object.values(sensors);
  const isAlone = (name: string) => all.filter((one) => [one.name, one.factor].includes(name)).length === 1;
  return Object.fromEntries(
    Object.entries(sensors).map(([id, { name, factor, channel }]) => {
      const names = [
        name,
        factor ?? "",
        ...(channel === null ? [] : [`${name || (factor ?? "")}@${channel}`]),
      ];
      return [id, names.find((one) => one !== "" && (isAlone(one) || one.includes("@"))) ?? id];
    }),
  );
}

export type SensorNames = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** At the key `from` of a sensor its name on the platform; undefined at other keys. */
export function sensorNameAt(key: string, sensors: SensorNames): string | undefined {
  const [top, code = "", section, id = "", last, ...more] = partsOf(key);
  const isOne = top === "controllers" && section === "sensors" && last === "from" && more.length === 0;
  return isOne ? sensors[code]?.[id] : undefined;
}

/** Adds `from` to sensors that the file does not have yet. */
export function withSensorNames(draft: Draft, given: Given, sensors: SensorNames): Draft {
  const added = Object.entries(draft).flatMap(([key, value]) => {
    const [top, code = "", section, id, last] = partsOf(key);
    if (value === null || top !== "controllers" || section !== "sensors" || last === undefined) return [];
    const from = inKey(inKey(inKey(inKey("controllers", code), "sensors"), id ?? ""), "from");
    const name = sensorNameAt(from, sensors);
    return name === undefined || isGiven(from, given, draft) ? [] : [[from, name] as const];
  });
  return added.length === 0 ? draft : { ...Object.fromEntries(added), ...draft };
}

/** The names in a key. */
export function partsOf(key: string): readonly string[] {
  return [...key.matchAll(/(?:^|\.)(?:("(?:[^"\\]|\\.)*")|([^."[\]]+))/gu)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : (JSON.parse(quoted) as string),
  );
}

/** The draft with what was found, for keys that the file does not have. */
export const addedTo = (draft: Draft, given: Given, found: Draft): Draft => ({
  ...draft,
  ...Object.fromEntries(Object.entries(found).filter(([key]) => !Object.hasOwn(given, key))),
});

/** An id that is not taken. */
export function freeId(wanted: string, isTaken: (id: string) => boolean): string {
  const base = wanted.toLowerCase().replace(/[^a-z0-9_-]+/g, "_");
  for (let count = 1; ; count += 1) {
    const id = count === 1 ? base : `${base}_${count}`;
    if (!isTaken(id)) return id;
  }
}
