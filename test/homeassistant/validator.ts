import { componentFaults, record, topicFaults } from "./validator-components.js";
import {
  deviceKeys,
  originKeys,
  otherPlatforms,
  platformRows,
  rootKeys,
  sharedKeys,
} from "./validator-tables.js";

/*
 * Says what Home Assistant would refuse, drop or misread in discovery messages (2024.11 and newer). Used by the tests
 * of this folder and by the end-to-end tests on what really arrived at the broker.
 */

const maxBytes = 256 * 1024;

/** Faults of one message on `<prefix>/device/<id>/config`, as sentences; empty for a good one. */
export function discoveryFaults(topic: string, payload: string): string[] {
  const faults: string[] = [];
  if (!/^[^#+\0]+\/device\/[a-zA-Z0-9_-]+\/config$/.test(topic))
    faults.push(`illegal discovery topic ${topic}`);
  const bytes = Buffer.byteLength(payload);
  if (bytes >= maxBytes) faults.push(`${bytes} bytes are too many`);
  let document: Record<string, unknown> | null = null;
  try {
    document = record(JSON.parse(payload));
  } catch {
    return [...faults, "not JSON"];
  }
  if (document === null) return [...faults, "not a JSON object"];
  if (/\\u[dD][89abAB]/.test(payload)) faults.push("a lone surrogate");
  faults.push(...unknownKeys("root", document, rootKeys));
  faults.push(...deviceFaults(document["device"]), ...originFaults(document["origin"]));
  const components = record(document["components"]);
  // None at all is a device that shows nothing there, as a camera without a client does.
  if (components === null) return [...faults, "no components"];
  for (const [key, value] of Object.entries(components)) {
    const component = record(value);
    if (!/^[a-zA-Z0-9_-]+$/.test(key)) faults.push(`component key ${JSON.stringify(key)}`);
    if (component === null) faults.push(`${key}: not an object`);
    else faults.push(...wholeMessageFaults(key, component), ...mergedFaults(key, component, document));
  }
  return faults;
}

/** The same for all messages of an account: topic → payload, empty payloads being removals. */
export function discoveryFaultsOfAll(messages: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const unique = new Map<string, string>();
  const identifiers = new Map<string, string>();
  const bridges = new Map<string, string>();
  for (const [topic, payload] of messages) {
    if (payload === "") continue;
    const own = discoveryFaults(topic, payload);
    faults.push(...own.map((fault) => `${topic}: ${fault}`));
    if (own.includes("not JSON") || own.includes("not a JSON object")) continue;
    const document = record(JSON.parse(payload)) ?? {};
    const device = record(document["device"]) ?? {};
    for (const identifier of [device["identifiers"]].flat()) {
      if (typeof identifier === "string") taken(identifiers, identifier, topic, faults);
    }
    if (typeof device["via_device"] === "string") bridges.set(topic, device["via_device"]);
    for (const [key, value] of Object.entries(record(document["components"]) ?? {})) {
      const id = record(value)?.["unique_id"];
      if (typeof id === "string") taken(unique, id, `${topic} ${key}`, faults);
    }
  }
  for (const [topic, bridge] of bridges) {
    if (!identifiers.has(bridge)) faults.push(`${topic}: via_device ${bridge} was never announced`);
  }
  return faults;
}

function taken(known: Map<string, string>, id: string, where: string, faults: string[]): void {
  const first = known.get(id);
  if (first !== undefined) faults.push(`${where}: ${id} is already used by ${first}`);
  known.set(id, where);
}

const unknownKeys = (where: string, object: Record<string, unknown>, known: ReadonlySet<string>): string[] =>
  Object.keys(object)
    .filter((key) => !known.has(key))
    .map((key) => `${where}: unknown key ${key}`);

function deviceFaults(value: unknown): string[] {
  const device = record(value);
  if (device === null) return ["no device"];
  const faults = unknownKeys("device", device, deviceKeys);
  const identifiers = [device["identifiers"] ?? []].flat();
  const connections = [device["connections"] ?? []].flat();
  if (identifiers.length + connections.length === 0)
    faults.push("device: neither identifiers nor connections");
  if (identifiers.some((one) => typeof one !== "string" || one === "")) faults.push("device: identifiers");
  for (const [key, text] of Object.entries(device)) {
    const isText = typeof text === "string" && text !== "";
    if (key !== "identifiers" && key !== "connections" && !isText)
      faults.push(`device: ${key} is not a text`);
  }
  if (!("name" in device)) faults.push("device: no name");
  return faults;
}

function originFaults(value: unknown): string[] {
  const origin = record(value);
  if (origin === null) return ["no origin"];
  const faults = unknownKeys("origin", origin, originKeys);
  if (typeof origin["name"] !== "string" || origin["name"] === "") faults.push("origin: no name");
  for (const [key, text] of Object.entries(origin)) {
    if (typeof text !== "string") faults.push(`origin: ${key} is not a text`);
  }
  return faults;
}

/** What costs the whole message, not only the component. */
function wholeMessageFaults(key: string, component: Record<string, unknown>): string[] {
  const platform = component["platform"];
  if (typeof platform !== "string") return [`${key}: no platform`];
  const isEntity = Object.hasOwn(platformRows, platform);
  if (!isEntity && !otherPlatforms.has(platform)) return [`${key}: platform ${platform} is not in 2024.11`];
  if (isRemoval(component) || !isEntity) return [];
  const id = component["unique_id"];
  return typeof id === "string" && id !== "" ? [] : [`${key}: no unique_id`];
}

/** Rules of the component with what it inherits from the root. */
function mergedFaults(
  key: string,
  component: Record<string, unknown>,
  root: Record<string, unknown>,
): string[] {
  if (isRemoval(component)) return [];
  const inherited = sharedKeys
    .filter((shared) => shared in root)
    .map((shared) => [shared, root[shared]] as const);
  const merged = { ...Object.fromEntries(inherited), ...component };
  return [...componentFaults(component, merged), ...topicFaults(merged)].map((fault) => `${key}: ${fault}`);
}

const isRemoval = (component: Record<string, unknown>) =>
  Object.keys(component).length === 1 && "platform" in component;
