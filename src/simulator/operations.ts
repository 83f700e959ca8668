import type { PlatformHost } from "../greenhouse/ports.js";

interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly host: PlatformHost;
  /** Query parameters without which it answers with an error. */
  readonly needs: readonly string[];
}

const get = (host: PlatformHost, path: string, ...needs: string[]): Route => ({
  method: "GET",
  path: `/api/${path}`,
  host,
  needs,
});
const post = (host: PlatformHost, path: string): Route => ({ ...get(host, path), method: "POST" });

/** Every HTTP operation the interface names, under the word that faults, counters and logs use for it. */
export const routes = {
  "sign-in": post("business", "account/sign-in"),
  station: get("business", "station"),
  device: get("business", "device"),
  "weather-data/avg": get("business", "weather-data/avg"),
  "weather-data/list": get("business", "weather-data/list"),
  "video-data/list": get("business", "video-data/list"),
  "control/mqtt": get("business", "control/mqtt"),
  "sensor-data": get("realtime", "sensor-data", "deviceCode"),
  "mqtt-client-status": get("realtime", "mqtt-client-status", "deviceCode"),
  device_status: get("realtime", "device_status", "deviceCode"),
  "get-value": get("realtime", "get-value", "deviceCode", "address"),
  "set-value/flush": get("realtime", "set-value/flush", "deviceCode", "deviceTypeId"),
  "set-value": post("realtime", "set-value"),
  /** The undescribed read beside the control POST; here only so that its use shows in the counters. */
  "GET set-value": get("realtime", "set-value"),
} as const satisfies Record<string, Route>;

export type OperationName = keyof typeof routes;

export const operationNames = Object.keys(routes) as readonly OperationName[];

/** The operation a request asks for on this host; null where that host has none. */
export const operationOf = (method: string, path: string, host: PlatformHost): OperationName | null =>
  operationNames.find((name) => {
    const route = routes[name];
    return route.path === path && route.method === method && route.host === host;
  }) ?? null;

/** The host that carries a path, for a server where both share one port. */
export const hostOf = (path: string): PlatformHost =>
  Object.values(routes).find((route) => route.path === path)?.host ?? "realtime";
