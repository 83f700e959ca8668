import { mkdir, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import net from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Faults } from "../../src/http/faults.js";
import { serveOwner } from "../../src/http/owner.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import { ownerSocket, socketPath } from "../../src/runtime/socket-file.js";
import { capturedLog, tempFolder } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { emptyService } from "./support.js";

async function folderFor(name: string): Promise<string> {
  const folder = join(await tempFolder(), name);
  await mkdir(folder, { recursive: true });
  return folder;
}

function serve(dataDir: string, clock: Clock = systemClock) {
  const end = new AbortController();
  const { log, lines } = capturedLog();
  const made = { count: 0 };
  const service = () => {
    made.count += 1;
    return Promise.resolve(emptyService());
  };
  const inPlace = () => Promise.resolve();
  const parts = { dataDir, inPlace, brokerPort: 1883, clock, log, faults: new Faults(log, clock) };
  const running = serveOwner({ ...parts, service }, end.signal);
  const over = () => {
    end.abort();
    return running;
  };
  onTestFinished(over);
  return { made, lines, over };
}

async function ask(dataDir: string, path: string, body?: object): Promise<readonly [number, unknown]> {
  const place = await socketPath(dataDir, ownerSocket);
  const headers = { host: "anything", "content-type": "application/json" };
  try {
    return await new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const call = request({ socketPath: place.path, path, method, headers, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve([response.statusCode ?? 0, JSON.parse(text)]));
      });
      call.on("error", reject);
      call.end(body && JSON.stringify(body));
    });
  } finally {
    await place.release();
  }
}

const answers = (dataDir: string, path: string) => ask(dataDir, path).catch(() => null);

describe("the bridge's socket in its data directory", () => {
  it.each([
    ["", "short"],
    ["whose path is longer than the kernel takes", "d".repeat(120)],
  ])("is its user's alone, and gives him what an operator has %s", async (_, name) => {
    const dataDir = await folderFor(name);
    const { made } = serve(dataDir);
    await expect.poll(() => stat(join(dataDir, ownerSocket)).catch(() => null)).not.toBeNull();
    await expect.poll(() => stat(join(dataDir, ownerSocket)).then(({ mode }) => mode & 0o777)).toBe(0o600);
    expect(made.count).toBe(0);
    expect(await ask(dataDir, "/api/broker")).toEqual([200, { port: 1883 }]);
    expect(await ask(dataDir, "/api/alarms")).toMatchObject([200, {}]);
    expect(await ask(dataDir, "/api/commands", {})).toMatchObject([400, { error: "bad_request" }]);
    expect(await ask(dataDir, "/api/login", { username: "a", password: "b" })).toMatchObject([404, {}]);
    expect(made.count).toBe(1);
  });

  it("takes the place of one that a killed run left, and is gone with the bridge", async () => {
    const dataDir = await folderFor("data");
    const dead = net.createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => dead.listen(join(dataDir, ownerSocket), resolve));
    // As after a kill: the file is there, and nobody behind it.
    const { over } = serve(dataDir);
    await expect.poll(() => answers(dataDir, "/api/broker")).toEqual([200, { port: 1883 }]);
    await over();
    await expect(stat(join(dataDir, ownerSocket))).rejects.toMatchObject({ code: "ENOENT" });
    dead.close();
  });

  it("is there again with the data directory that was away", async () => {
    const dataDir = await folderFor("data");
    const clock = new VirtualClock();
    serve(dataDir, clock);
    // Time goes on until the question is answered or cannot be asked, as what reads the socket waits for it too.
    const passes = async () => {
      const asked = { isOver: false };
      const answer = answers(dataDir, "/api/broker").finally(() => (asked.isOver = true));
      while (!asked.isOver) await clock.advance(100);
      return answer;
    };
    await expect.poll(passes).toEqual([200, { port: 1883 }]);
    await rm(dataDir, { recursive: true });
    await clock.advance(15_000);
    expect(await passes()).toBeNull();
    await mkdir(dataDir);
    await expect.poll(passes).toEqual([200, { port: 1883 }]);
  });

  it("that cannot be made ends nothing", async () => {
    const { over } = serve("/proc/self/nowhere");
    await over();
  });
});
