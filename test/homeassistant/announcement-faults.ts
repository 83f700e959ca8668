import { platforms } from "../../src/homeassistant/identity.js";

/*
 * What would cost a whole device in Home Assistant 2024.11 and newer, or entities of two messages; thin, because a real
 * Home Assistant judges the rest: its own schemas, units and templates see every golden and every live message in
 * test/homeassistant-live.
 */

type Fields = Readonly<Record<string, unknown>>;

/** Unknown ones are refused with the whole message. */
const known = {
  root: ["device", "origin", "availability", "availability_mode", "components"],
  device: [
    ...["identifiers", "name", "manufacturer", "model", "model_id", "serial_number", "sw_version"],
    ...["suggested_area", "via_device", "configuration_url"],
  ],
  origin: ["name", "sw_version", "support_url"],
};

/** Faults of all messages of an account, by topic, as sentences; an empty message is a removal. */
export function announcementFaults(messages: ReadonlyMap<string, string>): string[] {
  const owners = new Map<string, string>();
  const bridges = new Map<string, string>();
  const faults = [...messages].flatMap(([topic, payload]) => {
    if (payload === "") return [];
    const document = fieldsOf(JSON.parse(payload));
    const bridge = fieldsOf(document["device"])["via_device"];
    if (typeof bridge === "string") bridges.set(topic, `device ${bridge}`);
    const shared = idsOf(document).flatMap((id) => {
      const first = owners.get(id);
      owners.set(id, topic);
      return first === undefined ? [] : [`${topic}: ${id} is already that of ${first}`];
    });
    return [...faultsOf(topic, payload), ...shared];
  });
  const lost = [...bridges].filter(([, bridge]) => !owners.has(bridge));
  return [...faults, ...lost.map(([topic, bridge]) => `${topic}: nobody announces ${bridge}`)];
}

/** Those of one message. */
export function faultsOf(topic: string, payload: string): string[] {
  const document = fieldsOf(JSON.parse(payload));
  const { device, origin } = document;
  const unknown = Object.entries({ root: document, device, origin }).flatMap(([where, part]) => {
    const own: readonly string[] = known[where as keyof typeof known];
    const keys = Object.keys(fieldsOf(part)).filter((key) => !own.includes(key));
    return keys.map((key) => `${where}: unknown key ${key}`);
  });
  const noTexts = Object.entries({ ...fieldsOf(device), ...fieldsOf(origin) })
    .filter(([, text]) => [text].flat().some((one) => typeof one !== "string" || one === ""))
    .map(([key]) => `${key} is not a text`);
  const faults = [
    ...(/^[^#+\0]+\/device\/[a-zA-Z0-9_-]+\/config$/.test(topic) ? [] : ["illegal topic"]),
    ...(Buffer.byteLength(payload) < 256 * 1024 ? [] : ["too large"]),
    ...(/\\u[dD][89abAB]/.test(payload) ? ["a lone surrogate"] : []),
    ...(device === undefined || origin === undefined ? ["no device or origin"] : []),
    ...unknown,
    ...noTexts,
    ...componentsOf(document).flatMap(([key, component]) =>
      componentFaults(key, component).map((fault) => `${key}: ${fault}`),
    ),
  ];
  return faults.map((fault) => `${topic}: ${fault}`);
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

const componentsOf = (document: Fields) =>
  Object.entries(fieldsOf(document["components"])).map(([key, value]) => [key, fieldsOf(value)] as const);

/** Of the device and of its entities; each may be there once. */
const idsOf = (document: Fields): string[] => [
  ...[fieldsOf(document["device"])["identifiers"]].flat().map((id) => `device ${String(id)}`),
  ...componentsOf(document).flatMap(([, { unique_id: id }]) =>
    typeof id === "string" ? [`entity ${id}`] : [],
  ),
];

function componentFaults(key: string, component: Fields): string[] {
  const { platform, unique_id: id } = component;
  const isRemoval = Object.keys(component).length === 1;
  const availability = [component["availability"] ?? []].flat().map(fieldsOf);
  const topics = [
    ...Object.entries(component).flatMap(([key, value]) => (/(^|_)topic$/.test(key) ? [value] : [])),
    ...availability.map(({ topic }) => topic),
  ];
  return [
    ...(/^[a-zA-Z0-9_-]+$/.test(key) ? [] : ["key"]),
    ...(platforms.some((one) => one === platform) ? [] : [`platform ${String(platform)}`]),
    ...(isRemoval || (typeof id === "string" && id !== "") ? [] : ["no unique_id"]),
    ...topics.filter((one) => !isTopic(one)).map((one) => `${JSON.stringify(one)} is no topic`),
    ...Object.keys(component).flatMap((field) =>
      component[field] === null && field !== "payload_stop" ? [`${field} is null`] : [],
    ),
  ];
}

const isTopic = (topic: unknown) => typeof topic === "string" && topic !== "" && !/[#+\0]/.test(topic);
