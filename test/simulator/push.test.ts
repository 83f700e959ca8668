import net from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { PushFeed } from "../../src/simulator/push.js";
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

it("on /ws/device-status is told what somebody did to a device nobody had looked at, and what undid it at once", async () => {
  const simulator = await running({ pushIntervalMs: 20 });
  const socket = new WebSocket(`${simulator.realtimeUrl.replace("http", "ws")}/ws/device-status`);
  await once(socket, "open");
  const heard: unknown[] = [];
  socket.on("message", (data: Buffer) => heard.push(json(data.toString("utf8"))["online"]));
  for (const online of [false, true]) simulator.control.setOnline(code, online);
  await expect.poll(() => heard).toEqual([false, true]);
  socket.terminate();
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
