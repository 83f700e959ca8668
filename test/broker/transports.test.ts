import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { mayUpgrade } from "../../src/broker/listeners.js";
import { otherClient, received, testBroker, until } from "../mqtt-connection/support.js";
import { testCertificate } from "./certificate.js";

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
