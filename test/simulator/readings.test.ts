import { describe, expect, it } from "vitest";
import { readingRows } from "../../src/greenhouse/readings.js";
import { readingNames, type ReadingName } from "../../src/simulator/readings.js";
import { PushFeed } from "../../src/simulator/push.js";
import { settingsFor } from "../support/reading-settings.js";
import { Asking, json, list, minuteMs, object } from "./asking.js";

const code = "GH-0001";
const asking = (...readings: ReadingName[]) => new Asking({ readings });
const group = (of: Asking, type: string) =>
  object(of.get("/api/set-value/flush", { deviceCode: code, deviceTypeId: type }).data);
const louvre = [
  ["108", "10100"],
  ["109", "45"],
] as const;
const listens = { statuses: true, stations: new Set<string>() };

/** What the platform says under each reading; without it, the usual. */
const told: Readonly<Record<ReadingName, (of: Asking) => unknown>> = {
  actual_positions: (of) => {
    of.post(code, "101", "10010");
    return [of.pass(45_000).read(code, "101"), of.pass(45_000).read(code, "101")];
  },
  combined_bits: (of) => [of.read(code, "107"), of.read(code, "150")],
  mode_stays: (of) => {
    for (const value of ["10100", "45"]) of.post(code, "101", value);
    return of.pass(minuteMs).read(code, "101");
  },
  degrees_apart: (of) => {
    for (const value of ["10100", "45"]) of.post(code, "101", value);
    const { levels } = of.pass(2 * minuteMs).control.trueState(code, "101");
    of.post(code, "1101", "45");
    const after = of.pass(2 * minuteMs).control.trueState(code, "101");
    return [levels, after.levels, of.read(code, "101"), group(of, "2")];
  },
  group_of_settings: (of) => {
    of.state.readings.has("group_of_settings");
    for (const value of ["10100", "45"]) of.post(code, "101", value);
    return group(of.pass(2 * minuteMs), "2");
  },
  swapped_channels: (of) => {
    const feed = new PushFeed(of.state);
    feed.changeFrames(listens);
    of.read(code, "310");
    feed.changeFrames(listens);
    of.post(code, "310", "1010");
    of.post(code, "140", "10000");
    of.pass(minuteMs).read(code, "140");
    return [
      ...new Set([...feed.registerFrames(), ...feed.changeFrames(listens)].map(({ channel }) => channel)),
    ];
  },
  bare_echo: (of) => json(of.post(code, "101", "10010").body),
  clients_are_controllers: (of) => {
    const station = list(of.get("/api/control/mqtt").data).find(
      ({ deviceTypeId }) => deviceTypeId === "W001",
    );
    const status = of.get("/api/mqtt-client-status", { deviceCode: "WS-0001" });
    return [station?.online, object(status.data).status];
  },
  last_seen: (of) => {
    const { data } = of.pass(10 * minuteMs).get("/api/mqtt-client-status", { deviceCode: code });
    return object(data).latest_online_datetime;
  },
  plans_end: (of) => {
    of.post(code, "210", "1010");
    return [of.pass(minuteMs).read(code, "210"), of.pass(20 * minuteMs).read(code, "210")];
  },
  curtains_spread: (of) => {
    of.post(code, "106", "10010");
    of.post(code, "102", "10010");
    const before = of.pass(30 * minuteMs).number(code, "par");
    of.post(code, "106", "10001");
    of.post(code, "102", "10001");
    return of.pass(30 * minuteMs).number(code, "par") > before ? "open covers" : "open uncovers";
  },
  fan_automatic: (of) => {
    of.post(code, "140", "11111");
    return of.pass(minuteMs).read(code, "140");
  },
  flagged_refusals: (of) => {
    const { code: body, success, data, requestId } = json(of.post(code, "999", "1").body);
    return [body, success, data, typeof requestId];
  },
  unknown_types: (of) => {
    const type = (path: string, code: string) =>
      list(of.get(path).data).find((one) => one.code === code)?.deviceTypeId;
    const pests = list(of.get("/api/sensor-data", { deviceCode: "PM-0001" }).data);
    return [type("/api/control/mqtt", code), type("/api/device", "WS-0001"), pests.length > 0];
  },
  status_words: (of) =>
    list(of.get("/api/device_status", { deviceCode: code }).data).map(({ status }) => status)[0],
  mode_write_only: (of) => {
    for (const [address, value] of louvre) of.post(code, address, value);
    return [of.read(code, "108"), of.read(code, "109"), of.pass(2 * minuteMs).level(code, "109")];
  },
  flush_orders: (of) => {
    of.control.moveByHand(code, "101", "10010");
    const late = () => of.pass(3_000).read(code, "101", "0");
    return [of.read(code, "101", "0"), late(), of.read(code, "101"), late()];
  },
  one_at_a_time: (of) => {
    const codes = ["310", "330"].map((address) => json(of.post(code, address, "1010").body).code);
    return [...codes, json(of.pass(3_000).post(code, "330", "1010").body).code];
  },
  motors_pulse: (of) => {
    of.post(code, "300", "00000001");
    const read = of.read(code, "300");
    return [read, of.pass(1_000).read(code, "300"), of.pass(2 * minuteMs).level(code, "300")];
  },
  channels_ask: (of) => of.state.readings.has("channels_ask"),
  set_points_in_groups: (of) => Object.keys(group(of, "2")).length > 1,
  windows_asked: (of) => {
    const window = { startTime: "2026-05-09 00:00:00", endTime: "2026-05-10 00:00:00" };
    const station = { deviceCode: "WS-0001" };
    return [{}, station, { ...station, ...window }].map(
      (query) => of.get("/api/weather-data/list", query).code,
    );
  },
  twin_sensors: (of) =>
    list(of.get("/api/sensor-data", { deviceCode: code }).data).filter(({ name }) => name === "空气温度")
      .length,
  stations_apart: (of) => {
    const codes = (path: string, key: string) => list(of.get(path).data).map((one) => one[key]);
    return ["/api/device", "/api/control/mqtt"]
      .map((path) => codes(path, "code").includes("WS-0001"))
      .concat(codes("/api/station", "deviceCode").includes("WS-0001"));
  },
  mode_restarts: (of) => {
    for (const value of ["10100", "45"]) of.post(code, "101", value);
    of.pass(2 * minuteMs).post(code, "101", "10100");
    const closed = of.pass(2 * minuteMs).level(code, "101");
    of.post(code, "101", "45");
    return [closed, of.pass(2 * minuteMs).level(code, "101")];
  },
  offline_queues: (of) => {
    of.control.setOnline(code, false);
    const { code: answered } = json(of.post(code, "310", "1010").body);
    of.pass(minuteMs).control.setOnline(code, true);
    return [answered, of.pass(minuteMs).read(code, "310")];
  },
};

const usual: Readonly<Record<ReadingName, unknown>> = {
  actual_positions: ["10010", "10010"],
  combined_bits: ["11000", "1100"],
  mode_stays: "45",
  degrees_apart: [[0.45], [0.45], "45", { "101": "45" }],
  group_of_settings: { "101": "45" },
  swapped_channels: ["set-value", "device-status"],
  bare_echo: expect.objectContaining({ code: 200 }),
  clients_are_controllers: [undefined, 0],
  last_seen: "2026-05-10 08:00:00",
  plans_end: ["1010", "1010"],
  curtains_spread: "open uncovers",
  fan_automatic: "00000",
  flagged_refusals: [404, false, null, "string"],
  unknown_types: ["C001", "W001", false],
  status_words: 0,
  mode_write_only: ["10100", "45", 0.45],
  flush_orders: ["10010", "10010", "10010", "10010"],
  one_at_a_time: [200, 200, 200],
  motors_pulse: ["00000001", "00000001", 1],
  channels_ask: false,
  set_points_in_groups: false,
  windows_asked: [200, 200, 200],
  twin_sensors: 1,
  stations_apart: [true, false, false],
  mode_restarts: [0.45, 0.45],
  offline_queues: [500, "1001"],
};

const otherwise: Readonly<Record<ReadingName, unknown>> = {
  actual_positions: ["50", "100"],
  combined_bits: ["11010", expect.stringMatching(/^1110|1101$/)],
  mode_stays: "10100",
  degrees_apart: [[0], [0.45], "10100", { "101": "10100", "1101": "45" }],
  group_of_settings: { "101": "45" },
  swapped_channels: ["device-status", "set-value"],
  bare_echo: { address: "101", deviceCode: code, value: "10010" },
  clients_are_controllers: [true, 0],
  last_seen: "2026-05-10 08:10:00",
  plans_end: ["1010", "1001"],
  curtains_spread: "open covers",
  fan_automatic: "11111",
  flagged_refusals: [200, false, null, "string"],
  unknown_types: ["W003", "W002", true],
  status_words: "1001",
  mode_write_only: [undefined, "45", 0.45],
  flush_orders: ["10001", "10001", "10001", "10010"],
  one_at_a_time: [200, 500, 200],
  motors_pulse: ["00000001", "00000000", 1],
  channels_ask: true,
  set_points_in_groups: true,
  windows_asked: [400, 400, 200],
  twin_sensors: 2,
  stations_apart: [false, false, true],
  mode_restarts: [0, 0.45],
  offline_queues: [500, "1010"],
};

describe.each(readingNames)("the reading %s", (name) => {
  it("is another than the usual", () => expect(told[name](asking())).toEqual(usual[name]));
  it("is what the platform does with it", () => expect(told[name](asking(name))).toEqual(otherwise[name]));
});

it("a group gives what was set also where get-value gives how far it is", () => {
  const of = asking("actual_positions", "group_of_settings");
  of.post(code, "101", "10010");
  of.pass(2 * minuteMs);
  expect([of.read(code, "101"), group(of, "2")]).toEqual(["100", { "101": "10010" }]);
});

it("each key about how an actuator is read has a simulated platform that needs it", () => {
  const { kinds = {} } = settingsFor(readingNames);
  const needed = new Set(Object.values(kinds).flatMap((section) => Object.keys(section)));
  const keys = Object.values(readingRows).map(({ key }) => key);
  expect(keys.filter((key) => !needed.has(key))).toEqual([]);
});
