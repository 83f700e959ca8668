import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/*
 * A second platform, after the interface document, that shares no line with the simulated one or with the program: other shapes,
 * other addresses, other ways to fill in what the document leaves open. What both get wrong alike would have to be wrong twice.
 */

export interface Manners {
  /** `GET /api/get-value` tells how far a window is ("after allowing time for mechanical movement"), not what was set. */
  readonly tellsPosition: boolean;
}

type Values = Readonly<Record<string, string>>;
type Group = "window" | "machine" | "fans" | "plan" | "light" | "motor" | "setting";

interface Register {
  /** Control-parameter type (code system 2); null where the document has none. */
  readonly type: number | null;
  readonly group: Group;
  value: string;
  /** What is set and not reached yet, and when it is. */
  next: { readonly value: string; readonly at: number } | null;
  /** How far a window is. */
  position: number;
}

/** The tables under "Control values", by the first words above them. */
const takes: Readonly<Record<Group, Values>> = {
  machine: { "1010": "manual on", "1001": "manual off", "1100": "automatic" },
  window: {
    "10010": "manual open",
    "10001": "manual close",
    "11000": "automatic",
    "10100": "specified-position mode",
  },
  fans: { "11110": "all on", "11100": "1 2 3", "11000": "1 2", "10000": "1", "00000": "all off" },
  plan: { "1010": "manual on", "1001": "manual off", "1100": "automatic", "11111111": "rotation" },
  light: { "1010": "manual on", "1001": "manual off", "1100": "automatic" },
  motor: { "00000100": "stops the motor", "00010000": "forwards", "00001000": "backwards" },
  setting: {},
};

const register = (type: number | null, group: Group, value: string): Register => ({
  ...{ type, group, value, next: null },
  position: value === "10010" ? 100 : 0,
});

const greenhouse = (): Map<string, Register> =>
  new Map([
    ["D10", register(2, "window", "10001")],
    ["D11", register(4, "window", "10001")],
    ["D12", register(3, "window", "10010")],
    ["D13", register(146, "window", "10001")],
    ["D14", register(157, "window", "10001")],
    ["D15", register(7, "window", "10001")],
    ["D20", register(10, "fans", "00000")],
    ["D21", register(11, "machine", "1001")],
    ["D22", register(12, "light", "1001")],
    ["D30", register(190, "plan", "1001")],
    ["D31", register(191, "plan", "1100")],
    ["D40", register(null, "machine", "1001")],
    ["D41", register(null, "motor", "00000100")],
    ["D50", register(212, "setting", "180")],
  ]);

const code = "8C4B14A0F2";
const movesMs = 400;
const settlesMs = 150;

interface Post {
  readonly address: string;
  readonly value: string;
  readonly isTaken: boolean;
}

/** Both hosts at one port; resolves when it listens. */
export async function startSecondPlatform(manners: Manners) {
  const registers = greenhouse();
  const posts: Post[] = [];
  let wasLit = false;
  const settle = (one: Register) => {
    if (one.next === null || Date.now() < one.next.at) return;
    const { value } = one.next;
    one.next = null;
    one.value = value;
    if (value === "10010") one.position = 100;
    if (value === "10001") one.position = 0;
    if (/^\d{1,3}$/.test(value)) one.position = Number(value);
  };
  const shown = (one: Register): string => {
    settle(one);
    return manners.tellsPosition && one.group === "window" && one.value !== "10100" && one.value !== "11000"
      ? String(one.position)
      : one.value;
  };
  const set = (address: string, value: string): string | null => {
    const one = registers.get(address);
    if (one === undefined) return "no such address";
    settle(one);
    const isDegree = one.group === "window" && /^(?:\d{1,2}|100)$/.test(value);
    const isMode = one.value === "10100" || /^\d{1,3}$/.test(one.value) || one.next?.value === "10100";
    const isEffective = isDegree ? isMode : value in takes[one.group];
    const isUnlit = one.group === "light" && value !== "1010" && !wasLit;
    if (one.group === "light" && value === "1010") wasLit = true;
    posts.push({ address, value, isTaken: isEffective && !isUnlit });
    // "A successful response means the command was accepted, not that the device has finished acting."
    if (isEffective && !isUnlit) {
      const afterMs = one.group === "window" && value !== "10100" ? movesMs : settlesMs;
      one.next = { value, at: Date.now() + afterMs };
    }
    return null;
  };
  const answers: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
    "/api/station": () => [{ stationId: 31, stationName: "East farm" }],
    "/api/device": () => [item()],
    "/api/control/mqtt": () => [{ ...item(), online: true }],
    "/api/mqtt-client-status": (query) =>
      query.get("deviceCode") === code
        ? { status: 1, type: 2, version: 4, description: null, latest_online_datetime: "" }
        : null,
    "/api/sensor-data": () => ({
      deviceCode: code,
      sensors: [reading("棚内温度", 21.4, "℃"), reading("棚内湿度", 63, "%"), reading("CO2浓度", 655, "ppm")],
    }),
    "/api/device_status": () => [
      { name: "first-stage fan", deviceTypeNumber: 16, status: Number(shown(at("D20"))[0]) },
      { name: "wet curtain", deviceTypeNumber: 19, status: Number(shown(at("D20"))[3]) },
    ],
    "/api/get-value": (query) => {
      const address = query.get("address") ?? "";
      const one = registers.get(address);
      return one === undefined ? {} : { [address]: shown(one) };
    },
    "/api/set-value/flush": (query) =>
      Object.fromEntries(
        [...registers]
          .filter(([, { type }]) => String(type) === query.get("deviceTypeId"))
          .map(([address, one]) => [address, shown(one)]),
      ),
    "/api/weather-data/list": () => [],
    "/api/weather-data/avg": () => [],
    "/api/video-data/list": () => [],
  };
  const at = (address: string): Register => registers.get(address) ?? register(null, "setting", "");
  const server = createServer((request, response) => {
    answer(request, { answers, set }).then(
      ([status, body]) => end(response, status, body),
      () => end(response, 500, { code: 500, message: "?" }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url,
    code,
    posts,
    close,
    value: (address: string) => shown(at(address)),
    position: (address: string) => at(address).position,
  };
}

const item = () => ({
  ...{ id: 7, code, name: "House 1", deviceTypeId: "C001", deviceTypeName: "sunlight greenhouse controller" },
  ...{ stationId: 31, stationName: "East farm", customerId: 99, sortOrder: 1, deviceBrand: "", hls: "" },
  ...{ channel: 1, number: 1, version: 4, tag: "", prefix: "", type: "" },
});

const reading = (sensorName: string, sensorValue: number, sensorUnit: string) => ({
  ...{ sensorName, sensorValue, sensorUnit },
  // Of the real-time data the document says no more than that each item carries it.
  dateTime: new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19).replace("T", " "),
});

interface Parts {
  readonly answers: Readonly<Record<string, (query: URLSearchParams) => unknown>>;
  readonly set: (address: string, value: string) => string | null;
}

async function answer(
  request: IncomingMessage,
  { answers, set }: Parts,
): Promise<readonly [status: number, body: unknown]> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://platform");
  const isBusiness = /station|device$|control|weather|video/.test(pathname);
  if (isBusiness && request.headers.authorization === undefined)
    return [403, { error: "Forbidden", message: "Access Denied" }];
  if (request.method === "POST" && pathname === "/api/set-value") {
    const { address, value, deviceCode } = JSON.parse(await text(request)) as Record<string, unknown>;
    const why = set(String(address), String(value));
    if (why !== null) return [200, { code: 40001, message: why, requestId: "9f0c" }];
    return [200, { code: 200, message: "ok", data: { address: String(address), deviceCode, value } }];
  }
  const found = answers[pathname];
  if (request.method !== "GET" || found === undefined) return [404, { code: 404, message: "not found" }];
  const data = found(searchParams);
  if (pathname === "/api/mqtt-client-status" && data === null)
    return [
      200,
      {
        code: 200,
        message: { code: "CLIENTID_NOT_FOUND", message: "not found" },
        data: { status: 0, type: 2 },
      },
    ];
  return [
    200,
    {
      requestId: "0b7e6f6e-5b0c-4d0c-8a51-6f1c0f6f0f11",
      code: 200,
      message: "success",
      data,
      success: true,
      timestamp: Date.now(),
    },
  ];
}

function end(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json;charset=UTF-8" });
  response.end(JSON.stringify(body));
}
