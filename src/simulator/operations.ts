import type { PlatformHost } from "../greenhouse/ports.js";

interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly host: PlatformHost;
}

const get = (host: PlatformHost, path: string): Route => ({ method: "GET", path, host });
const post = (host: PlatformHost, path: string): Route => ({ method: "POST", path, host });

/** Every HTTP operation the interface names, under the word that faults, counters and logs use for it. */
export const operationNames = [
  "sign-in",
  "station",
  "device",
  "weather-data/avg",
  "weather-data/list",
  "video-data/list",
  "control/mqtt",
  "sensor-data",
  "mqtt-client-status",
  "device_status",
  "get-value",
  "set-value/flush",
  "set-value",
  "GET set-value",
] as const;

export type OperationName = (typeof operationNames)[number];

const routes = {
  "sign-in": post("business", "/api/account/sign-in"),
  station: get("business", "/api/station"),
  device: get("business", "/api/device"),
  "weather-data/avg": get("business", "/api/weather-data/avg"),
  "weather-data/list": get("business", "/api/weather-data/list"),
  "video-data/list": get("business", "/api/video-data/list"),
  "control/mqtt": get("business", "/api/control/mqtt"),
  "sensor-data": get("realtime", "/api/sensor-data"),
  "mqtt-client-status": get("realtime", "/api/mqtt-client-status"),
  device_status: get("realtime", "/api/device_status"),
  "get-value": get("realtime", "/api/get-value"),
  "set-value/flush": get("realtime", "/api/set-value/flush"),
  "set-value": post("realtime", "/api/set-value"),
  /** The undescribed read beside the control POST; here only so that its use shows in the counters. */
  "GET set-value": get("realtime", "/api/set-value"),
} as const satisfies Record<OperationName, Route>;

const byRequest = new Map<string, OperationName>(
  operationNames.map((name) => [`${routes[name].method} ${routes[name].path}`, name]),
);

/** The operation a request asks for on this host; null where that host has none. */
export function operationOf(method: string, path: string, host: PlatformHost): OperationName | null {
  const name = byRequest.get(`${method} ${path}`) ?? null;
  return name !== null && routes[name].host === host ? name : null;
}

/** The host that carries a path, for a server where both share one port. */
export function hostOf(path: string): PlatformHost {
  return Object.values(routes).some((route) => route.path === path && route.host === "business")
    ? "business"
    : "realtime";
}
