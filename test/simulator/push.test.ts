import net from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { PushFeed } from "../../src/simulator/push.js";
import type { SimulatorOptions } from "../../src/simulator/simulator.js";
import { Asking, json, minuteMs } from "./asking.js";
import { running } from "./running.js";

const code = "GH-0001";
const nobody = { statuses: false, stations: new Set<string>() };
const everybody = { statuses: true, stations: new Set(["WS-0001"]) };

describe("push frames", () => {
  it("are made of changes alone: none while nothing moves, none for nobody", () => {
    const asking = new Asking();
    const feed = new PushFeed(asking.state);
    asking.read(code, "101");
    feed.changeFrames(everybody);
    expect(feed.changeFrames(everybody)).toEqual([]);
    expect(feed.registerFrames()).toEqual([]);
    asking.pass(10 * minuteMs).post(code, "140", "11110");
    asking.pass(minuteMs).decide({ path: "/api/station" });
    expect(feed.changeFrames(nobody)).toEqual([]);
  });
});

const opened = (socket: WebSocket) =>
  new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.once("error", reject);
  });

async function listening(path: string, options: SimulatorOptions = {}, headers: Record<string, string> = {}) {
  const simulator = await running({ pushIntervalMs: 20, ...options });
  const connect = () => {
    const socket = new WebSocket(simulator.realtimeUrl.replace("http", "ws") + path, { headers });
    socket.on("error", () => socket.terminate());
    return socket;
  };
  return { simulator, connect };
}

describe("the WebSocket channels", () => {
  it("push on /ws/device-status what somebody did to a device nobody had looked at, and what undid it at once", async () => {
    const { simulator, connect } = await listening("/ws/device-status");
    const socket = connect();
    await opened(socket);
    const heard: unknown[] = [];
    const both = new Promise<void>((resolve) => {
      socket.on("message", (data: Buffer) => {
        heard.push(json(data.toString("utf8"))["online"]);
        if (heard.length === 2) resolve();
      });
    });
    simulator.control.setOnline(code, false);
    simulator.control.setOnline(code, true);
    await both;
    expect(heard).toEqual([false, true]);
  });
});

describe("a push channel that is refused", () => {
  it("may be reset by its client, which ends nothing", async () => {
    const simulator = await running({});
    simulator.control.push("refuse");
    const { port } = new URL(simulator.realtimeUrl);
    const resets = Array.from({ length: 50 }, async () => {
      const socket = net.connect(Number(port), "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      const head = "GET /api/mqtt-client-status HTTP/1.1\r\nHost: 127.0.0.1\r\n";
      socket.write(`${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      socket.once("data", () => socket.resetAndDestroy());
      await once(socket, "close");
    });
    await Promise.all(resets);
    const answer = await fetch(new URL("/api/mqtt-client-status?deviceCode=GH-0001", simulator.realtimeUrl));
    expect(answer.status).toBeLessThan(500);
  });
});
