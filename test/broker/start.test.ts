import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Aedes } from "aedes";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { startBroker } from "../../src/broker/broker.js";
import { mayUpgrade } from "../../src/broker/listeners.js";
import { reachable } from "../../src/broker/settings.js";
import { demandInsides } from "../../src/broker/wiring.js";
import { systemClock } from "../../src/runtime/clock.js";
import {
  capturedLog,
  otherClient,
  received,
  retainedValue,
  testBroker,
  topics,
  until,
} from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { testCertificate } from "./certificate.js";

const ports = { clock: systemClock, log: capturedLog().log };
const good = { host: "127.0.0.1", port: 0, users: [], topics };
const strong = "correct horse battery";

describe("starting", () => {
  it("tells a taken port, and leaves no other port open behind", async () => {
    const first = await testBroker();
    const other = await freePort();
    await expect(
      startBroker({ ...good, port: other, websocketPort: first.port }, ports),
    ).rejects.toMatchObject({ key: "broker.websocket_port", portInUse: true });
    await expect(startBroker({ ...good, port: first.port }, ports)).rejects.toMatchObject({
      key: "broker.port",
      portInUse: true,
      message: expect.stringContaining("mqtt.url") as string,
    });
    await testBroker({ port: other });
  });

  it("tells a certificate that cannot be used", async () => {
    await expect(
      startBroker({ ...good, tls: { cert: "/nowhere.pem", key: "/nowhere.key", port: 0 } }, ports),
    ).rejects.toMatchObject({
      key: "broker.tls",
      message: expect.stringContaining("broker.tls.cert") as string,
    });
  });

  it("binds the loopback address only, unless told otherwise", async () => {
    const broker = await testBroker();
    expect(broker.url).toBe(`mqtt://127.0.0.1:${broker.port}`);
    const open = await testBroker({ host: "0.0.0.0", users: [{ username: "a", password: strong }] });
    expect(open.url).toBe(`mqtt://127.0.0.1:${open.port}`);
  });

  it("keeps nothing over a restart, frees its ports, and tells its clients", async () => {
    const broker = await startBroker(good, ports);
    const client = await otherClient(broker.url, { ...broker.credential, protocolVersion: 5 });
    let reason: number | undefined;
    client.on("disconnect", (packet) => {
      reason = packet.reasonCode;
    });
    await client.publishAsync("greenhouse/a", "x", { qos: 1, retain: true });
    await broker.close();
    expect(reason).toBe(0x8b);
    const again = await testBroker({ port: broker.port });
    expect(await retainedValue(again.url, "greenhouse/a")).toBeNull();
    expect(again.credential).not.toEqual(broker.credential);
  });
});

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
  ["::1", "[::1]"],
  ["[::1]", "[::1]"],
  ["fd00::5", "[fd00::5]"],
  ["greenhouse.local", "greenhouse.local"],
])("a listener on %s is reached at %s", (host, name) => {
  expect(reachable(host)).toBe(name);
  expect(URL.canParse(`mqtt://${reachable(host)}:1883`)).toBe(true);
});

async function aedes(): Promise<Aedes> {
  const broker = await Aedes.createBroker();
  onTestFinished(() => broker.close());
  return broker;
}

/** The same without a part, as another version of its package might be. */
const without = <T extends object>(from: T, name: string, instead?: unknown): T =>
  Object.create(from, { [name]: { value: instead } }) as T;

function withoutOfStore(broker: Aedes, name: string): Aedes {
  const { persistence } = broker as unknown as { persistence: object };
  return without(broker, "persistence", without(persistence, name));
}

const withoutOfClients = (broker: Aedes, name: string): Aedes =>
  without(broker, "handle", (stream: Parameters<Aedes["handle"]>[0]) => without(broker.handle(stream), name));

describe("the insides of the broker's library", () => {
  it("are as they are known, in the one version that package.json allows", async () => {
    const broker = await aedes();
    expect(() => demandInsides(broker)).not.toThrow();
    const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as { [key: string]: unknown };
    const { version } = read("node_modules/aedes/package.json");
    expect(read("package.json")).toMatchObject({ devDependencies: { aedes: version } });
    expect(read("package-lock.json")).toMatchObject({
      packages: { "": { devDependencies: { aedes: version } } },
    });
  });

  it.each([
    ["clients", (broker: Aedes) => without(broker, "clients")],
    ["clampSessionExpiry", (broker: Aedes) => without(broker, "clampSessionExpiry")],
    ["persistence.addSubscriptions", (broker: Aedes) => withoutOfStore(broker, "addSubscriptions")],
    ["persistence.outgoingUpdate", (broker: Aedes) => withoutOfStore(broker, "outgoingUpdate")],
    ["client.waitForDrain", (broker: Aedes) => withoutOfClients(broker, "waitForDrain")],
    ["client._parser", (broker: Aedes) => withoutOfClients(broker, "_parser")],
  ])("are demanded at the start, with an error that names the cause: %s", async (name, changed) => {
    const broker = changed(await aedes());
    expect(() => demandInsides(broker)).toThrow(
      new RegExp(`^broker: .*lacks ${name},.*aedes 2\\.0\\.0-beta\\.1.*npm ci`),
    );
  });
});

describe("MQTT over WebSocket", () => {
  it.each([5, 4] as const)("works like the other port, MQTT %i", async (protocolVersion) => {
    const broker = await testBroker({ websocketPort: 0 });
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    const seen = received(bridge);
    await bridge.subscribeAsync("greenhouse/#", { qos: 1 });
    const page = await otherClient(`ws://127.0.0.1:${broker.webSocketPort ?? 0}/mqtt`, { protocolVersion });
    await page.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    await page.publishAsync("greenhouse/bridge/state", "offline", { qos: 1 });
    await until(() => seen.length === 1, "arrived");
    page.stream.destroy();
    await until(() => broker.counters().clients === 0, "gone");
    expect(broker.counters().discardedPublishes).toBe(1);
  });

  it("answers a plain request and a foreign web page with a refusal", async () => {
    const broker = await testBroker({ websocketPort: 0 });
    const url = `127.0.0.1:${broker.webSocketPort ?? 0}`;
    expect((await fetch(`http://${url}/`)).status).toBe(426);
    const socket = new WebSocket(`ws://${url}`, ["mqtt"], { origin: "https://evil.example" });
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toContain("403");
  });

  it("closes one that never sends a CONNECT", async () => {
    const broker = await testBroker({ websocketPort: 0, limits: { connectTimeoutMs: 100 } });
    const socket = new WebSocket(`ws://127.0.0.1:${broker.webSocketPort ?? 0}`, ["mqtt"]);
    await once(socket, "close");
    expect(broker.counters().silentClosed).toBe(1);
  });

  it("with one message larger than the limit closes that client only", async () => {
    const broker = await testBroker({ websocketPort: 0 });
    const page = await otherClient(`ws://127.0.0.1:${broker.webSocketPort ?? 0}`);
    const closed = new Promise<void>((resolve) => {
      page.once("close", resolve);
    });
    page.publish("greenhouse/east/actuator/roof/set", Buffer.alloc(5 * 1024 * 1024), { qos: 1 });
    await closed;
    await otherClient(broker.url);
  });
});

describe("a WebSocket upgrade without users", () =>
  it.each([
    ["no origin, as programs have", { host: "127.0.0.1:9001" }, true],
    ["a local page", { host: "localhost:9001", origin: "http://localhost:1880" }, true],
    ["a local page over IPv6", { host: "[::1]:9001", origin: "http://[::1]:1880" }, true],
    ["a foreign page", { host: "127.0.0.1:9001", origin: "https://evil.example" }, false],
    ["a page without a place", { host: "127.0.0.1:9001", origin: "null" }, false],
    [
      "a foreign name that resolves to us",
      { host: "evil.example:9001", origin: "http://evil.example:9001" },
      false,
    ],
    ["a foreign name without origin", { host: "evil.example:9001" }, false],
    ["a name that begins like ours", { host: "localhost.evil.example:9001" }, false],
    ["no host", {}, false],
  ])("%s: %j", (_, headers, allowed) => {
    expect(mayUpgrade(headers, false)).toBe(allowed);
    expect(mayUpgrade(headers, true)).toBe(true);
  }));

describe("MQTT over TLS", () => {
  it.each([5, 4] as const)("works like the other port, MQTT %i", async (protocolVersion) => {
    const broker = await testBroker({ tls: { ...testCertificate, port: 0 } });
    const client = await otherClient(`mqtts://localhost:${broker.tlsPort ?? 0}`, {
      protocolVersion,
      ca: testCertificate.cert,
    });
    await client.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    expect(broker.counters().clients).toBe(1);
  });

  it("survives a client that does not speak TLS, and one that says nothing", async () => {
    const broker = await testBroker({
      tls: { ...testCertificate, port: 0 },
      limits: { connectTimeoutMs: 200 },
    });
    await expect(otherClient(`mqtt://127.0.0.1:${broker.tlsPort ?? 0}`)).rejects.toThrow();
    await otherClient(`mqtts://localhost:${broker.tlsPort ?? 0}`, { ca: testCertificate.cert });
  });
});
