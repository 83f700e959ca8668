import { availabilityItemKeys, platformRows, sensorUnits, stateClasses } from "./validator-tables.js";

type Fields = Readonly<Record<string, unknown>>;

export const record = (value: unknown): Record<string, unknown> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "none" : JSON.stringify(value);

/** Faults of one entity; `merged` holds the shared keys of the root too. */
export function componentFaults(own: Fields, merged: Fields): string[] {
  const platform = text(own["platform"]);
  const row = platformRows[platform];
  if (row === undefined) return [];
  const faults = Object.keys(own)
    .filter((key) => !row.keys.has(key))
    .map((key) => (key === "object_id" ? "object_id is no longer read" : `${platform} does not read ${key}`));
  faults.push(...row.required.filter((key) => !(key in merged)).map((key) => `${key} is required`));
  const deviceClass = own["device_class"];
  if (deviceClass !== undefined && !row.deviceClasses.includes(text(deviceClass)))
    faults.push(`unknown device_class ${text(deviceClass)}`);
  const special = rules[platform];
  return [
    ...faults,
    ...commonFaults(platform, own),
    ...availabilityFaults(merged),
    ...(special?.(merged) ?? []),
  ];
}

function commonFaults(platform: string, own: Fields): string[] {
  const faults: string[] = [];
  const category = own["entity_category"];
  if (category !== undefined && category !== "diagnostic" && category !== "config")
    faults.push("unknown entity_category");
  if (category === "config" && ["sensor", "binary_sensor", "event"].includes(platform))
    faults.push(`${platform} may not be of category config`);
  if (own["icon"] !== undefined && !/^[a-z0-9-]+:[a-z0-9-]+$/.test(text(own["icon"]))) faults.push("icon");
  const entityId = own["default_entity_id"];
  if (entityId !== undefined && !isEntityId(text(entityId), platform))
    faults.push(`default_entity_id ${text(entityId)}`);
  if (own["qos"] !== undefined && ![0, 1, 2].includes(Number(own["qos"]))) faults.push("qos");
  const expiry = own["message_expiry_interval"];
  if (expiry !== undefined && !(Number.isInteger(expiry) && Number(expiry) > 0))
    faults.push("message_expiry_interval");
  for (const [key, value] of Object.entries(own)) {
    if (/_template$/.test(key) && !/^\{\{ [^]* \}\}$/.test(text(value))) faults.push(`${key} is no template`);
    if (value === null && !/^payload_(open|close|stop)$/.test(key) && key !== "name")
      faults.push(`${key} is null`);
  }
  return faults;
}

const isEntityId = (id: string, platform: string) =>
  id.startsWith(`${platform}.`) && /^[a-z_]+\.(?!_)(?!.*__)[a-z0-9_]+(?<!_)$/.test(id) && id.length <= 255;

function availabilityFaults(merged: Fields): string[] {
  const list = merged["availability"];
  const faults: string[] = [];
  if (list !== undefined && merged["availability_topic"] !== undefined)
    faults.push("availability and availability_topic exclude each other");
  const mode = merged["availability_mode"];
  if (mode !== undefined && !["all", "any", "latest"].includes(text(mode))) faults.push("availability_mode");
  if (list === undefined) return faults;
  if (!Array.isArray(list) || list.length === 0) return [...faults, "availability is no list"];
  if (list.length > 1 && mode !== "all") faults.push("several availability topics need mode all");
  for (const value of list) {
    const item = record(value);
    if (item === null || typeof item["topic"] !== "string") faults.push("availability item without topic");
    for (const key of Object.keys(item ?? {})) {
      if (!availabilityItemKeys.has(key)) faults.push(`availability item: unknown key ${key}`);
    }
  }
  return faults;
}

/** Every topic the component names: publishable, without wildcards. */
export function topicFaults(merged: Fields): string[] {
  const lists = Array.isArray(merged["availability"]) ? merged["availability"].map(record) : [];
  const topics = [
    ...Object.entries(merged).filter(([key]) => key.endsWith("_topic")),
    ...lists.map((item) => ["availability", item?.["topic"]] as const),
  ];
  return topics
    .filter(([, topic]) => typeof topic !== "string" || !isTopic(topic))
    .map(([key, topic]) => `${key}: ${JSON.stringify(topic)} is no topic`);
}

const isTopic = (topic: string) => topic !== "" && !/[#+\0]/.test(topic) && Buffer.byteLength(topic) < 65_536;

function sensorFaults(component: Fields): string[] {
  const deviceClass = component["device_class"] as string | undefined;
  const stateClass = component["state_class"];
  const unit = (component["unit_of_measurement"] ?? null) as string | null;
  const options = component["options"];
  const faults: string[] = [];
  const units = deviceClass === undefined ? undefined : sensorUnits[deviceClass];
  if (units !== undefined && !units.includes(unit))
    faults.push(`unit ${text(unit)} for ${text(deviceClass)}`);
  if (unit?.trim() === "") faults.push("blank unit");
  if (stateClass !== undefined && !["measurement", "total", "total_increasing"].includes(text(stateClass)))
    faults.push(`state_class ${text(stateClass)} is not in 2024.11`);
  const possible = deviceClass === undefined ? undefined : (stateClasses[deviceClass] ?? ["measurement"]);
  if (stateClass !== undefined && possible?.includes(text(stateClass)) === false)
    faults.push(`state_class ${text(stateClass)} for ${text(deviceClass)}`);
  if (options !== undefined && deviceClass !== "enum") faults.push("options without class enum");
  if (deviceClass === "enum") faults.push(...optionFaults(options));
  if (options !== undefined && (stateClass !== undefined || unit !== null))
    faults.push("options with class or unit");
  if (component["last_reset_value_template"] !== undefined && stateClass !== "total")
    faults.push("last_reset_value_template without total");
  const precision = component["suggested_display_precision"];
  if (precision !== undefined && !(Number.isInteger(precision) && Number(precision) >= 0))
    faults.push("suggested_display_precision");
  return faults;
}

function optionFaults(options: unknown): string[] {
  if (!Array.isArray(options) || options.length === 0) return ["options are empty"];
  const faults: string[] = [];
  if (new Set(options).size !== options.length) faults.push("options repeat");
  if (options.some((option) => typeof option !== "string" || option === ""))
    faults.push("an option is no text");
  if (options.some((option) => text(option).toLowerCase() === "none")) faults.push("an option named none");
  return faults;
}

const optimisticFaults = (component: Fields): string[] =>
  component["state_topic"] === undefined && component["position_topic"] === undefined
    ? ["without a state topic it is optimistic"]
    : [];

function coverFaults(component: Fields): string[] {
  const faults = optimisticFaults(component);
  const has = (key: string) => component[key] !== undefined;
  if (has("set_position_topic") && !has("position_topic"))
    faults.push("set_position_topic without position_topic");
  if (has("value_template") && !has("state_topic")) faults.push("value_template without state_topic");
  if (has("position_template") && !has("position_topic"))
    faults.push("position_template without position_topic");
  if (has("set_position_template") && !has("set_position_topic"))
    faults.push("set_position_template without set_position_topic");
  return faults;
}

function valveFaults(component: Fields): string[] {
  if (component["reports_position"] !== true) return optimisticFaults(component);
  return ["payload_open", "payload_close", "state_open", "state_closed"]
    .filter((key) => component[key] !== undefined)
    .map((key) => `${key} in a valve that reports its position`);
}

function numberFaults(component: Fields): string[] {
  const faults = optimisticFaults(component);
  const { min = 1, max = 100, step = 1 } = component;
  if (!(Number(min) < Number(max))) faults.push("min is not below max");
  if (!(Number(step) >= 0.001)) faults.push("step below 0.001");
  if (component["mode"] !== undefined && !["auto", "box", "slider"].includes(text(component["mode"])))
    faults.push("mode");
  return faults;
}

const rules: Readonly<Record<string, (component: Fields) => string[]>> = {
  sensor: sensorFaults,
  cover: coverFaults,
  valve: valveFaults,
  number: numberFaults,
  switch: optimisticFaults,
  light: optimisticFaults,
  select: (component) => [...optimisticFaults(component), ...optionFaults(component["options"])],
  event: (component) =>
    Array.isArray(component["event_types"]) && component["event_types"].length > 0
      ? []
      : ["event_types are empty"],
};
