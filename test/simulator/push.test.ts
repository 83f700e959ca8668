import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type ProfileName, profileNames } from "../../src/simulator/dialects.js";
import { PushFeed } from "../../src/simulator/push-feed.js";
import type { SimulatorOptions } from "../../src/simulator/simulator.js";
import { Asking, json, type Json, minuteMs } from "./asking.js";
import { anyNumber, anyText } from "./matchers.js";
import { running } from "./running.js";

const code = "GH-0001";
const nobody = { statuses: false, stations: new Set<string>() };
const everybody = { statuses: true, stations: new Set(["WS-0001"]) };

/** Frames of one opened skylight, one started fan and one new weather sample. */
function framesOf(profile: ProfileName): { set: Json; status: Json; weather: Json } {
  const asking = new Asking({ profile });
  const feed = new PushFeed(asking.state);
  asking.read(code, "101");
  feed.registerFrames();
  feed.changeFrames(everybody);
  asking.post(code, "101", "10010");
  const [set] = feed.registerFrames();
  asking.post(code, "140", "10000");
  asking.pass(2 * minuteMs).decide({ path: "/api/station" });
  const later = feed.changeFrames(everybody);
  const first = (channel: string) => json(later.find((frame) => frame.channel === channel)?.text ?? "null");
  return {
    set: json(set?.text ?? "null"),
    status: first("device-status"),
    weather: first("weather-station-data"),
  };
}

describe("push frames", () => {
  it.each<[ProfileName, Json, Json]>([
    [
      "default",
      { deviceCode: code, address: "101", value: "10010", dateTime: anyText },
      { deviceCode: code, name: "一级风机", deviceTypeNumber: 16, status: 1, dateTime: anyText },
    ],
    [
      "list",
      {
        type: "SET_VALUE",
        timestamp: anyNumber,
        data: { deviceCode: code, address: "101", value: 10010 },
      },
      {
        type: "DEVICE_STATUS",
        timestamp: anyNumber,
        data: { deviceCode: code, name: "一级风机", deviceTypeNumber: 16, status: true },
      },
    ],
    [
      "keyed",
      { deviceCode: code, data: { "101": 10010 } },
      { deviceCode: code, data: [{ name: "一级风机", deviceTypeNumber: 16, status: true }] },
    ],
  ])("profile %s", (profile, set, status) => {
    const frames = framesOf(profile);
    expect(frames.set).toEqual(set);
    expect(frames.status).toEqual(status);
  });

  it("carry weather readings in the shape of the profile's sensor data, in every profile", () => {
    for (const profile of profileNames) {
      const { weather } = framesOf(profile);
      expect(weather.deviceCode).toBe("WS-0001");
      expect(weather.data ?? weather.rows ?? weather.payload).toBeTypeOf("object");
    }
  });

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
const message = (socket: WebSocket) =>
  new Promise<Json>((resolve) => {
    socket.once("message", (data) => resolve(json(Buffer.isBuffer(data) ? data.toString("utf8") : "null")));
  });
const pong = (socket: WebSocket) =>
  new Promise<void>((resolve) => {
    socket.once("pong", () => resolve());
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
  it("push register changes on /ws/set-value", async () => {
    const { simulator, connect } = await listening("/ws/set-value");
    const socket = connect();
    await opened(socket);
    const next = message(socket);
    simulator.control.moveByHand(code, "101", "10010");
    expect(await next).toMatchObject({ deviceCode: code, address: "101", value: "10010" });
  });

  it.each([
    ["/ws/other"],
    ["/ws/sensor-data/weather-station-data/"],
    ["/ws/sensor-data/weather-station-data/a/b"],
  ])("%s is no channel", async (path) => {
    const { connect } = await listening(path);
    await expect(opened(connect())).rejects.toThrow("404");
  });

  it("want a credential when the realtime host checks: header or query", async () => {
    const auth = { tokens: "known", accepted: ["good"], checkRealtime: true } as const;
    const bare = await listening("/ws/set-value", { auth });
    await expect(opened(bare.connect())).rejects.toThrow("401");
    const query = await listening("/ws/set-value?token=good", { auth });
    await opened(query.connect());
    const header = await listening("/ws/set-value", { auth }, { authorization: "Bearer good" });
    await opened(header.connect());
  });

  it("answer pings, also while they say nothing", async () => {
    const { simulator, connect } = await listening("/ws/set-value");
    simulator.control.push("silent");
    const socket = connect();
    await opened(socket);
    let frames = 0;
    socket.on("message", () => frames++);
    simulator.control.moveByHand(code, "101", "10010");
    const answered = pong(socket);
    socket.ping();
    await answered;
    simulator.control.push("normal");
    const next = message(socket);
    simulator.control.moveByHand(code, "103", "10010");
    expect(await next).toMatchObject({ address: "103" });
    expect(frames).toBe(1);
  });

  it("can turn into a black hole that answers no ping, and come back", async () => {
    const { simulator, connect } = await listening("/ws/set-value");
    const socket = connect();
    await opened(socket);
    simulator.control.push("black_hole");
    let pongs = 0;
    socket.on("pong", () => pongs++);
    const other = connect();
    await opened(other);
    const otherPong = pong(other);
    socket.ping();
    other.ping();
    const race = await Promise.race([otherPong.then(() => "pong"), closedOrLater(simulator)]);
    expect([race, pongs]).toEqual(["nothing", 0]);
    simulator.control.push("normal");
    await otherPong;
  });
});

/** A dozen rounds of the simulator's own traffic, in which a pong would long have come. */
async function closedOrLater(simulator: { readonly realtimeUrl: string }): Promise<string> {
  for (let n = 0; n < 12; n++)
    await fetch(`${simulator.realtimeUrl}/_simulator/requests`).then((reply) => reply.text());
  return "nothing";
}
