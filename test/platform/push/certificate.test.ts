import { once } from "node:events";
import https from "node:https";
import type net from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocketServer } from "ws";
import { PushConnection } from "../../../src/platform/push/connection.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { selfSignedCertificate, selfSignedKey } from "../support/self-signed.js";

it("no channel is opened to a host whose certificate nobody trusts, whatever NODE_TLS_REJECT_UNAUTHORIZED says", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const server = https.createServer({ cert: selfSignedCertificate, key: selfSignedKey });
  const channels = new WebSocketServer({ server });
  const seen: unknown[] = [];
  channels.on("connection", (_, request) => seen.push(request.headers.authorization));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  const end = new AbortController();
  const opened = () => end.abort();
  const events = { opened, frame: () => undefined, unusable: () => undefined };
  const handshake = {
    url: `wss://127.0.0.1:${port}/ws/set-value`,
    headers: { authorization: "Bearer s3cr3t" },
  };
  const connection = new PushConnection(handshake, events, systemClock);
  await connection.run(end.signal);
  expect(seen).toEqual([]);
  expect(end.signal.aborted).toBe(false);
});
