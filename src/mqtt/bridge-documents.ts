import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { Controller } from "../greenhouse/model.js";

/** Above this size the list only says how many there are: brokers and clients refuse large packets. */
const maxControllersBytes = 256 * 1024;

export function controllersDocument(controllers: Iterable<Controller>): string {
  const items = [...controllers].map(({ info }) => ({
    code: info.code,
    id: info.id,
    name: info.name,
    type: info.type,
    type_name: info.record?.typeName ?? null,
    station: info.record?.stationName ?? null,
    station_id: info.record?.stationId ?? null,
  }));
  const text = JSON.stringify(items);
  if (Buffer.byteLength(text) <= maxControllersBytes) return text;
  return JSON.stringify({ count: items.length, truncated: true });
}

export function eventDocument(event: BridgeEvent): string {
  const { type, severity, message } = event;
  return JSON.stringify({ ...event.facts, type, severity, message, at: new Date(event.at).toISOString() });
}
