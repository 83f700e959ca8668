import { createServer } from "node:http";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWebSocketStream, WebSocketServer } from "ws";
import { testCertificate } from "../broker/certificate.js";
import { connect, testBroker, testMosquitto, until, tempFolder } from "./support.js";
import { portFor } from "../support/free-port.js";

/** The port of a server that is closed with the test. */
async function open(server: net.Server): Promise<number> {
  const port = await portFor(server);
  onTestFinished(() => void server.close());
  return port;
}

/** Why a connection does not come about. */
async function failureOf(settings: Parameters<typeof connect>[0]): Promise<string | null> {
  const { connection, lines } = connect(settings);
  await until(() => connection.lastFailure !== null, "failed", lines);
  return connection.lastFailure === null ? null : String(connection.lastFailure);
}

describe("the way to the broker", () => {
  it.each([
    ["the certificate from a file, with MQTT 5", "127.0.0.1", 5, { ca: "ca.pem" }],
    ["the certificate from a file, with MQTT 4", "127.0.0.1", 4, { ca: "ca.pem" }],
    ["a host name and the certificate as text", "localhost", 5, { ca: testCertificate.cert }],
    ["no check where the configuration says so", "127.0.0.1", 5, { rejectUnauthorized: false }],
  ] as const)("is mqtts with %s", async (_, host, protocolVersion, tls) => {
    const folder = await tempFolder({ "ca.pem": testCertificate.cert });
    const { port } = await testMosquitto({ tls: testCertificate });
    const given = "ca" in tls && tls.ca === "ca.pem" ? { ca: join(folder, tls.ca) } : tls;
    const { connection, online } = connect({ url: `mqtts://${host}:${port}`, protocolVersion, tls: given });
    await online();
    await connection.publish("a", "b");
  });

  it.each(["mqtts", "wss"] as const)(
    "is refused for a self-signed certificate with %s, whatever NODE_TLS_REJECT_UNAUTHORIZED says",
    async (scheme) => {
      vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
      onTestFinished(() => void vi.unstubAllEnvs());
      const port = await open(tls.createServer(testCertificate).on("tlsClientError", () => undefined));
      expect(await failureOf({ url: `${scheme}://127.0.0.1:${port}` })).toContain("mqtt.tls.ca");
    },
  );

  it("is refused for a file of certificates that does not exist, with the remedy", async () => {
    const settings = { url: "mqtts://127.0.0.1:1", tls: { ca: "/nowhere/ca.pem" } };
    expect(await failureOf(settings)).toContain("'/nowhere/ca.pem': check mqtt.tls.ca");
  });

  it.each([
    ["a web server", () => createServer((_, answer) => answer.end("hello"))],
    ["a shell", () => net.createServer((socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"))],
  ])("names the likely cause where %s answers instead of a broker", async (_, make) =>
    expect(await failureOf({ url: `mqtt://127.0.0.1:${await open(make())}` })).toMatch(
      /^mqtt:\/\/127\.0\.0\.1:\d+: what answers there does not speak MQTT, .*check the port in mqtt\.url/,
    ),
  );

  it("asks about the port where what answers closes without a word, as a TLS port does", async () => {
    const port = await open(tls.createServer(testCertificate));
    const failure = await failureOf({ url: `mqtt://127.0.0.1:${port}` });
    expect(failure).toMatch(/is this the port of an MQTT broker, without TLS/);
  });

  it("tells a port without TLS from one with", async () => {
    const { port } = await testMosquitto();
    expect(await failureOf({ url: `mqtts://127.0.0.1:${port}` })).toMatch(/TLS|reset|closed/);
  });

  it.each([5, 4] as const)("is a WebSocket, with MQTT %i", async (version) => {
    const mosquitto = await testMosquitto({ webSocket: true });
    const { connection, online } = connect({ url: mosquitto.webSocketUrl ?? "", protocolVersion: version });
    await online();
    await connection.publish("a", "b");
    await mosquitto.kill();
    await until(() => connection.state !== "online", "the loss noticed");
  });

  it("is a WebSocket over TLS, with a path", async () => {
    const broker = await testBroker();
    const server = https.createServer(testCertificate);
    const sockets = new WebSocketServer({ server, path: "/mqtt", handleProtocols: () => "mqtt" });
    sockets.on("connection", (socket) => {
      const stream = createWebSocketStream(socket);
      const upstream = net.connect(broker.port, "127.0.0.1");
      stream.on("error", () => undefined).on("close", () => upstream.destroy());
      upstream.on("error", () => undefined).on("close", () => stream.destroy());
      stream.pipe(upstream).pipe(stream);
    });
    const port = await open(server);
    onTestFinished(() => server.closeAllConnections());
    const way = { ...broker.credential, tls: { ca: testCertificate.cert } };
    const { connection, online, stop } = connect({ ...way, url: `wss://localhost:${port}/mqtt` });
    await online();
    await connection.publish("a", "b");
    await stop();
    expect(await failureOf({ ...way, url: `wss://localhost:${port}/other` })).toContain("HTTP 400");
  });

  it.each(["http://broker", "not a url", "mqtt//x"])(
    "is not %s, which is told and not fatal",
    async (url) => {
      const { connection } = connect({ url });
      await until(() => connection.lastFailure !== null, "failed");
      expect(connection.state).not.toBe("ended");
    },
  );

  it("shows no password in log, reasons or counters", async () => {
    const mosquitto = await testMosquitto({ users: { ha: "right" } });
    const secret = "canary-7f3a";
    const first = connect({ url: mosquitto.url, username: "ha", password: secret });
    await until(() => first.connection.counters().refused > 0, "refused");
    expect(String(first.connection.lastFailure)).toContain("check mqtt.username and mqtt.password");
    const second = connect({ url: `mqtt://ha:${secret}@127.0.0.1:1` });
    await until(() => second.connection.lastFailure !== null, "failed");
    for (const { lines, connection } of [first, second]) {
      const shown = [...lines, connection.lastFailure, JSON.stringify(connection.counters())].join("\n");
      expect(shown).not.toContain(secret);
    }
  });

  it("takes user name and password from the URL where nothing else is given", async () => {
    const mosquitto = await testMosquitto({ users: { ha: "p@ss word" } });
    await connect({ url: `mqtt://ha:p%40ss%20word@127.0.0.1:${mosquitto.port}` }).online();
  });
});
