import { createServer } from "node:http";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWebSocketStream, WebSocketServer } from "ws";
import { testCertificate } from "../broker/certificate.js";
import { connect, testBroker, testMosquitto, until, tempFolder } from "./support.js";
import { portFor } from "../support/free-port.js";

describe("the way to the broker", () => {
  it.each([5, 4] as const)("is mqtts with the certificate from a file, with MQTT %i", async (version) => {
    const folder = await tempFolder();
    const ca = join(folder, "ca.pem");
    await writeFile(ca, testCertificate.cert);
    const mosquitto = await testMosquitto({ tls: testCertificate });
    const { connection, online } = connect({ url: mosquitto.url, protocolVersion: version, tls: { ca } });
    await online();
    await connection.publish("a", "b");
  });

  it("is mqtts with a host name and the certificate as text", async () => {
    const mosquitto = await testMosquitto({ tls: testCertificate });
    const url = `mqtts://localhost:${mosquitto.port}`;
    await connect({ url, tls: { ca: testCertificate.cert } }).online();
  });

  it.each(["mqtts", "wss"] as const)(
    "is refused for a self-signed certificate with %s, whatever NODE_TLS_REJECT_UNAUTHORIZED says",
    async (scheme) => {
      vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
      onTestFinished(() => {
        vi.unstubAllEnvs();
      });
      const server = tls.createServer(testCertificate);
      server.on("tlsClientError", () => undefined);
      const port = await portFor(server);
      onTestFinished(() => {
        server.close();
      });
      const { lines } = connect({ url: `${scheme}://127.0.0.1:${port}` });
      await until(() => lines.some((line) => line.includes("mqtt.tls.ca")), "the remedy told", lines);
    },
  );

  it.each([
    ["a self-signed certificate", {}, "mqtt.tls.ca"],
    ["a file that does not exist", { ca: "/nowhere/ca.pem" }, "'/nowhere/ca.pem': check mqtt.tls.ca"],
  ])("is refused for %s, with the remedy", async (_, tls, remedy) => {
    const mosquitto = await testMosquitto({ tls: testCertificate });
    const { connection, lines } = connect({ url: mosquitto.url, tls });
    await until(() => connection.lastFailure !== null, "failed", lines);
    expect(connection.lastFailure).toContain(remedy);
  });

  it("is mqtts unverified only where the configuration says so", async () => {
    const mosquitto = await testMosquitto({ tls: testCertificate });
    await connect({ url: mosquitto.url, tls: { rejectUnauthorized: false } }).online();
  });

  it.each([
    ["a web server", () => createServer((_, answer) => answer.end("hello"))],
    ["a shell", () => net.createServer((socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"))],
  ])("names the likely cause where %s answers instead of a broker", async (_, make) => {
    const server: net.Server = make();
    const port = await portFor(server);
    onTestFinished(() => void server.close());
    const { connection, lines } = connect({ url: `mqtt://127.0.0.1:${port}` });
    await until(() => connection.lastFailure !== null, "failed", lines);
    expect(connection.lastFailure).toMatch(
      /^mqtt:\/\/127\.0\.0\.1:\d+: what answers there does not speak MQTT, .*check the port in mqtt\.url/,
    );
  });

  it("asks about the port where what answers closes without a word, as a TLS port does", async () => {
    const server = tls.createServer({ cert: testCertificate.cert, key: testCertificate.key });
    const port = await portFor(server);
    onTestFinished(() => void server.close());
    const { connection, lines } = connect({ url: `mqtt://127.0.0.1:${port}` });
    await until(() => connection.lastFailure !== null, "failed", lines);
    expect(connection.lastFailure).toMatch(/is this the port of an MQTT broker, without TLS/);
  });

  it("tells a port without TLS from one with", async () => {
    const mosquitto = await testMosquitto();
    const { connection } = connect({ url: `mqtts://127.0.0.1:${mosquitto.port}` });
    await until(() => connection.lastFailure !== null, "failed");
    expect(connection.lastFailure).toMatch(/TLS|reset|closed/);
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
    const port = await portFor(server);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { connection, online, stop } = connect({
      ...broker.credential,
      url: `wss://localhost:${port}/mqtt`,
      tls: { ca: testCertificate.cert },
    });
    await online();
    await connection.publish("a", "b");
    await stop();
    const wrong = connect({
      url: `wss://localhost:${port}/other`,
      tls: { ca: testCertificate.cert },
    });
    await until(() => wrong.connection.lastFailure !== null, "failed");
    expect(wrong.connection.lastFailure).toContain("HTTP 400");
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
    expect(first.connection.lastFailure).toContain("check mqtt.username and mqtt.password");
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
