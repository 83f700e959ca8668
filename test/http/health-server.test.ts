import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { serveHealth } from "../../src/http/health-server.js";
import { freePort } from "../support/mosquitto.js";
import { silentLog } from "../support/builders.js";

function ask(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", path, method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on("error", reject);
    call.end();
  });
}

async function listening(port: number): Promise<void> {
  for (;;) {
    if (
      await ask(port, "/").then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the health checks", () => {
  it("say what they see, and answer only to their own names and origin", async () => {
    const port = await freePort();
    const stop = new AbortController();
    const state = { healthy: true, ready: false };
    const view = { isHealthy: () => state.healthy, isReady: () => state.ready };
    const served = serveHealth(
      { host: "127.0.0.1", port, allowedHosts: ["greenhouse.local"] },
      view,
      silentLog,
      stop.signal,
    );
    await listening(port);
    expect(await ask(port, "/healthz")).toBe(200);
    expect(await ask(port, "/readyz")).toBe(503);
    state.ready = true;
    expect(await ask(port, "/readyz")).toBe(200);
    state.healthy = false;
    expect(await ask(port, "/healthz")).toBe(503);
    expect(await ask(port, "/healthz", { host: "evil.example" })).toBe(421);
    expect(await ask(port, "/healthz", { host: "greenhouse.local:8099" })).toBe(503);
    expect(await ask(port, "/healthz", { origin: "https://evil.example" })).toBe(403);
    expect(await ask(port, "/healthz", {}, "POST")).toBe(405);
    expect(await ask(port, "/metrics")).toBe(404);
    stop.abort();
    await served;
    await expect(ask(port, "/healthz")).rejects.toThrow();
  });

  it("a busy port is a warning, not a failure", async () => {
    const port = await freePort();
    const stop = new AbortController();
    const settings = { host: "127.0.0.1", port, allowedHosts: [] };
    const view = { isHealthy: () => true, isReady: () => true };
    const first = serveHealth(settings, view, silentLog, stop.signal);
    await listening(port);
    await expect(serveHealth(settings, view, silentLog, stop.signal)).resolves.toBeUndefined();
    stop.abort();
    await first;
  });
});
