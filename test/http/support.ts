import { EventEmitter, once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import type { BridgeOptions } from "../../src/bridge.js";
import type { Listener } from "../../src/http/access.js";
import { Faults } from "../../src/http/faults.js";
import type { LiveViews } from "../../src/http/live.js";
import type { Port } from "../../src/http/port.js";
import { PageService, type PageSources } from "../../src/http/service.js";
import type { LiveMessage, Role } from "../../src/page/protocol.js";
import { systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../../src/runtime/log.js";
import { register, Registry } from "../../src/runtime/metrics.js";
import type { Simulator } from "../../src/simulator/simulator.js";
import { bridge, platform } from "../bridge/support/bridge.js";
import { freePort } from "../support/mosquitto.js";

/* A bridge with its page, asked over real HTTP and WebSocket. */

const actuators = [
  'controllers: { GH-0001: { name: East, actuators: { fan: { kind: circulation_fan, address: "150" },',
  'roof: { kind: skylight, address: "101" } } } }',
].join(" ");

export const users = [
  "users:",
  "    - { username: anna, password: operator-anna, role: operator }",
  "    - { username: ben, password: viewer-ben }",
].join("\n");

/** Status and JSON of an answer. */
type Answered = readonly [number, unknown];

export interface PageScene {
  readonly url: string;
  readonly simulator: Simulator;
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answered>;
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answered>;
  /** The cookie of a login. */
  readonly login: (username: string, password: string) => Promise<string>;
}

/** `http` are further keys of its section, each line indented by two. */
export async function pageScene(http = "", over: Partial<BridgeOptions> = {}): Promise<PageScene> {
  const [port, broker] = [await freePort(), await freePort()];
  const simulator = await platform();
  const text = [
    `broker: { port: ${broker} }`,
    `http:\n  port: ${port}${http === "" ? "" : `\n  ${http}`}`,
    "homeassistant: { enabled: false }",
    actuators,
  ].join("\n");
  await bridge(text, simulator, over);
  const url = `http://127.0.0.1:${port}`;
  await vi.waitUntil(
    () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    { timeout: 20_000 },
  );
  const answerOf = async (answer: Response): Promise<Answered> => {
    const text = await answer.text();
    return [answer.status, text === "" ? null : (JSON.parse(text) as unknown)];
  };
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    answerOf(
      await fetch(`${url}/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
  const login = async (username: string, password: string) => {
    const body = JSON.stringify({ username, password });
    const headers = { "content-type": "application/json" };
    const { headers: answered } = await fetch(`${url}/api/login`, { method: "POST", headers, body });
    return answered.get("set-cookie")?.split(";")[0] ?? "";
  };
  const get = async (path: string, headers = {}) => answerOf(await fetch(`${url}/${path}`, { headers }));
  return { url, simulator, get, post, login };
}

/** A field of a document. */
export function field(document: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    document,
  );
}

export interface Viewer {
  readonly socket: WebSocket;
  readonly messages: readonly LiveMessage[];
  readonly subscribe: (...views: readonly string[]) => void;
  /** The first message that fits, as soon as there is one. */
  readonly next: (fits: (message: LiveMessage) => boolean) => Promise<LiveMessage>;
}

export async function viewer(url: string, options: ClientOptions = {}, path = "/api/live"): Promise<Viewer> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, options);
  onTestFinished(() => socket.terminate());
  const messages: LiveMessage[] = [];
  socket.on("message", (data) => messages.push(JSON.parse((data as Buffer).toString()) as LiveMessage));
  await once(socket, "open");
  return {
    socket,
    messages,
    subscribe: (...views) => socket.send(JSON.stringify({ subscribe: views })),
    next: (fits) => vi.waitUntil(() => messages.find(fits), { timeout: 20_000 }),
  };
}

/** The status with which an upgrade is refused. */
export function refusedUpgrade(url: string, options: ClientOptions, path = "/api/live"): Promise<number> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, options);
  socket.on("error", () => undefined);
  return new Promise((resolve) => {
    socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode ?? 0));
    socket.on("open", () => resolve(101));
  });
}

/** RFC 7396, as whoever follows a view applies it. */
export function patched(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries<unknown>(isObject(target) ? { ...target } : {}));
  for (const [key, value] of Object.entries<unknown>({ ...patch }))
    if (value === null) result.delete(key);
    else result.set(key, patched(result.get(key), value));
  return Object.fromEntries(result);
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Status = PageSources["status"] & Port["status"];

export const everythingFine: Pick<
  Status,
  "isHealthy" | "isReady" | "refusedLogin" | "loggedIn" | "isClockRight"
> = {
  isHealthy: () => true,
  isReady: () => true,
  refusedLogin: (): void => undefined,
  loggedIn: (): void => undefined,
  isClockRight: () => true,
};

const ingress = { enabled: false, role: "viewer", address: "172.30.32.2" } as const;

/** Where a page is served on this computer. */
export const loopback: Listener = {
  host: "127.0.0.1",
  port: 8099,
  allowed_hosts: ["greenhouse.local"],
  mdns: true,
  settings: true,
  past_readings: false,
  users: [],
  ingress,
  overview: [],
};

const nobodyFirst: Port["firstOperator"] = {
  load: () => Promise.resolve(),
  code: null,
  isOffered: () => false,
  make: () => Promise.resolve(null),
};

const noGroups: PageSources["groups"] = {
  groupsAndScenes: { groups: new Map(), scenes: new Map() },
  stateOf: () => ({ state: "unknown", position: null, quality: "stale" }),
  runningOf: () => null,
  lastOf: () => null,
  find: () => null,
  submit: () => ({ id: "", refused: null }),
};

/** Metrics of one sample. */
export function upAlone(): Registry {
  const all = new Registry();
  register(all, [["up", "It is up", 1]]);
  return all;
}

/** A page of a bridge without controllers, that nobody commanded yet. */
export function emptyService(
  over: Partial<PageSources> = {},
  checked: Partial<typeof everythingFine> = {},
): PageService {
  const store = { controllers: () => [], get: () => undefined, byId: () => undefined, find: () => undefined };
  const facts = {
    version: "test",
    started_at: "",
    platform: null,
    broker: "online",
    read_only: false,
    dry_run: false,
  };
  return new PageService({
    ...{
      clock: systemClock,
      log: silentLog,
      store,
      status: { ...everythingFine, ...checked, facts: () => facts, health: () => ({}) },
    },
    kinds: () => [],
    metrics: { registry: upAlone, note: () => undefined },
    ...{
      journal: { onWritten: () => undefined, history: () => ({ lanes: [] }) },
      past: () => Promise.resolve([]),
    },
    timeline: () => Promise.resolve({ entries: [], next: null }),
    ...{ submit: () => ({ id: "", isTaken: false }), ask: () => Promise.resolve(null), alarms: () => [] },
    groups: noGroups,
    weather: () => ({}),
    seenAddresses: () => [],
    dataDir: join(tmpdir(), "no-trends-are-kept-here"),
    ...over,
  });
}

/** A port of this computer at which nobody has logged in yet. */
export function emptyPort(over: Partial<Port> = {}): Port {
  const { log = silentLog, clock = systemClock } = over;
  return {
    clock,
    log,
    listener: () => loopback,
    status: everythingFine,
    sessions: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
    firstOperator: nobodyFirst,
    faults: new Faults(log, clock),
    ...over,
  };
}

/** The server's end of a connection: what is sent stays in its buffer until the reader takes it. */
export class Reader extends EventEmitter {
  readonly sent: LiveMessage[] = [];
  bufferedAmount = 0;
  isStalled = false;
  closedWith: number | null = null;
  isTerminated = false;

  /** Looks at views as somebody who is welcome. */
  join(live: LiveViews, view: string, isWelcome = () => true, place = "anna", role: Role = "viewer"): this {
    live.add(this as unknown as WebSocket, { place, role }, isWelcome);
    this.subscribe(view);
    return this;
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as LiveMessage);
    if (this.isStalled) this.bufferedAmount += text.length;
  }
  close(code: number): void {
    this.closedWith = code;
  }
  terminate(): void {
    this.isTerminated = true;
  }
  subscribe(...views: string[]): void {
    this.emit("message", Buffer.from(JSON.stringify({ subscribe: views })), false);
  }
}
