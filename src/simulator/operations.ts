import type { PlatformHost } from "../greenhouse/ports.js";
import { keysOf } from "../runtime/objects.js";

/** Method, host, path below `/api/`, and the query parameters that an operation requires. */
type Route = readonly ["GET" | "POST", host: PlatformHost, path: string, ...needs: string[]];

/** All HTTP operations of the interface, by their name in faults, counters and logs. */
export const routes = {
  "sign-in": ["POST", "business", "account/sign-in"],
  station: ["GET", "business", "station"],
  device: ["GET", "business", "device"],
  "weather-data/avg": ["GET", "business", "weather-data/avg"],
  "weather-data/list": ["GET", "business", "weather-data/list"],
  "video-data/list": ["GET", "business", "video-data/list"],
  "control/mqtt": ["GET", "business", "control/mqtt"],
  "sensor-data": ["GET", "realtime", "sensor-data", "deviceCode"],
  "mqtt-client-status": ["GET", "realtime", "mqtt-client-status", "deviceCode"],
  device_status: ["GET", "realtime", "device_status", "deviceCode"],
  "get-value": ["GET", "realtime", "get-value", "deviceCode", "address"],
  "set-value/flush": ["GET", "realtime", "set-value/flush", "deviceCode", "deviceTypeId"],
  "set-value": ["POST", "realtime", "set-value"],
  // An undescribed read beside the control POST; here only to be counted.
  "GET set-value": ["GET", "realtime", "set-value"],
} as const satisfies Record<string, Route>;

export type OperationName = keyof typeof routes;

export const operationNames = keysOf(routes);

/** The operation that a request asks for on this host; null if the host has none. */
export const operationOf = (method: string, path: string, host: PlatformHost): OperationName | null =>
  operationNames.find((name) => {
    const [ownMethod, ownHost, ownPath] = routes[name];
    return path === `/api/${ownPath}` && method === ownMethod && host === ownHost;
  }) ?? null;

/** The host of a path, for a server with one port for both. */
export const hostOf = (path: string): PlatformHost =>
  Object.values(routes).find(([, , own]) => path === `/api/${own}`)?.[1] ?? "realtime";
