import type { PlatformHost } from "../greenhouse/platform-error.js";

export interface Operation {
  readonly host: PlatformHost;
  readonly method: "GET" | "POST";
  readonly path: string;
  /** As configuration and command line write it. */
  readonly name: string;
  /** As messages write it. */
  readonly label: string;
  /** Longer answers are refused; the same bound holds after inflation. */
  readonly maxAnswerMiB: number;
}

function operation(
  host: PlatformHost,
  method: Operation["method"],
  name: string,
  maxAnswerMiB = 2,
): Operation {
  const path = `/api/${name}`;
  return { host, method, path, name, label: `${method} ${path}`, maxAnswerMiB };
}

/** The lists of a whole account: 10,000 devices take 3 to 5 MiB. */
const listMiB = 16;

/** Every HTTP operation of the interface document. `GET /api/set-value` is left out on purpose: it is never called. */
export const operations = {
  signIn: operation("business", "POST", "account/sign-in"),
  stations: operation("business", "GET", "station"),
  devices: operation("business", "GET", "device", listMiB),
  weatherAverage: operation("business", "GET", "weather-data/avg"),
  weatherList: operation("business", "GET", "weather-data/list"),
  videoList: operation("business", "GET", "video-data/list"),
  controllers: operation("business", "GET", "control/mqtt", listMiB),
  connection: operation("realtime", "GET", "mqtt-client-status"),
  sensors: operation("realtime", "GET", "sensor-data"),
  runningStatuses: operation("realtime", "GET", "device_status"),
  value: operation("realtime", "GET", "get-value"),
  values: operation("realtime", "GET", "set-value/flush"),
  setValue: operation("realtime", "POST", "set-value"),
} as const satisfies Record<string, Operation>;

/** The operations `get` accepts: reads only. */
export const readOnlyOperations: readonly Operation[] = Object.values(operations).filter(
  ({ method }) => method === "GET",
);

/** The read-only operation of this name (`weather-data/list`, `api/weather-data/list`, `/api/device`), or null. */
export function readOnlyOperation(name: string): Operation | null {
  const short = name.replace(/^\/?(?:api\/)?/, "");
  return readOnlyOperations.find((one) => one.name === short) ?? null;
}
