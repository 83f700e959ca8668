import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PushChannel, PushNews } from "../../../src/greenhouse/ports.js";
import { frameDecoder } from "../../../src/platform/push/frames.js";
import type { ShapeSettings } from "../../../src/platform/settings.js";
import { type ProfileName, profileNames } from "../../../src/simulator/dialects.js";
import { PushFeed } from "../../../src/simulator/push.js";
import { Asking, minuteMs } from "../../simulator/asking.js";
import { anyAnswer, framing, register, scalarsOf } from "../support/decoding.js";

const ours = ["GH-1", "GH-2", "WS-1"];

function decoded(channel: PushChannel, frame: unknown, shapes: ShapeSettings = {}) {
  const around = framing(...ours);
  const data = Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame));
  return { news: frameDecoder(channel, shapes)(data, around), problems: around.problems };
}

const setValue: PushChannel = { type: "set-value" };
const status: PushChannel = { type: "device-status" };
const station: PushChannel = { type: "weather-station", code: "WS-1" };

/** Registers as `code address=value`. */
const registers = (news: readonly PushNews[]): readonly string[] =>
  news.flatMap((one) =>
    one.type === "registers"
      ? [...one.values].map(([address, raw]) => `${one.code} ${address}=${JSON.stringify(raw)}`)
      : [],
  );

/** Registers of a device. */
const of = (deviceCode: string, address: string | number, value: unknown) => ({
  deviceCode,
  ...register(address, value),
});

describe("frames of set-value", () => {
  it.each<[string, unknown, ...registers: string[]]>([
    ["flat", of("GH-1", "101", "10010"), 'GH-1 101="10010"'],
    ["numbers", of("GH-1", 101, 10010), "GH-1 101=10010"],
    ["other spellings", { device_code: "GH-1", addr: "101", currentValue: "1" }, 'GH-1 101="1"'],
    ["under data", { type: "x", data: of("GH-1", "101", 1) }, "GH-1 101=1"],
    ["the code outside", { deviceCode: "GH-1", data: register("101", 1) }, "GH-1 101=1"],
    ["keyed", { deviceCode: "GH-1", data: { "101": 1, "102": "0" } }, "GH-1 101=1", 'GH-1 102="0"'],
    ["keyed, with {value}", { deviceCode: "GH-1", data: { "101": { value: 7 } } }, "GH-1 101=7"],
    ["addresses beside the code", { deviceCode: "GH-1", "101": 5 }, "GH-1 101=5"],
    [
      "a list of items",
      { deviceCode: "GH-1", data: { list: [register("1", 1), register("2", 2)] } },
      ...["GH-1 1=1", "GH-1 2=2"],
    ],
    ["a bare list about several", [of("GH-1", "1", 1), of("GH-2", "1", 2)], "GH-1 1=1", "GH-2 1=2"],
    ["JSON once more", { deviceCode: "GH-1", payload: '{"101":1}' }, "GH-1 101=1"],
    [
      "JSON once more, with the code in it",
      { topic: "up", body: JSON.stringify(of("GH-1", "101", 1)) },
      "GH-1 101=1",
    ],
    ["the code in a topic", { topic: "up/GH-1/set", payload: '{"101":1}' }, "GH-1 101=1"],
    ["keyed by device", { data: { "GH-1": { "1": 1 }, "GH-2": { "1": 2 } } }, "GH-1 1=1", "GH-2 1=2"],
    ["`code` as the device", { code: "GH-1", address: "1", value: 1 }, "GH-1 1=1"],
    ["an envelope's code", { code: 200, data: { deviceCode: "GH-1", "1": 1 } }, "GH-1 1=1"],
    ["its own time", { ...of("GH-1", "1", 1), dateTime: "2026-03-01 16:00:00" }, "GH-1 1=1"],
    ["a time of the frame", { timestamp: 1_772_352_000_000, data: of("GH-1", "1", 1) }, "GH-1 1=1"],
    // What is known or named is nobody else's, and what nobody wants to know about is no riddle.
    ["another device", of("GH-9", "1", 1)],
    ["other devices in a list", [of("GH-8", "1", 1), of("GH-9", "1", 1)]],
  ])("%s", (_name, frame, ...expected) => {
    const { news, problems } = decoded(setValue, frame);
    expect(registers(news)).toEqual(expected);
    expect(problems).toEqual([]);
  });

  const noJson = "text that is no JSON, or broken JSON";
  it.each<[string, unknown, string]>([
    ["no device", register("1", 1), "a frame that names no device"],
    ["no address", { deviceCode: "GH-1", value: 1 }, "an item without the fields it needs"],
    ["no value", of("GH-1", "1", "--"), "a frame without an address and its value"],
    ["an unknown word", { type: "weather" }, "a frame that names no device"],
    ["a number", "7", "a frame that is neither object nor list"],
    ["broken JSON", '{"deviceCode":"GH-1","addr', noJson],
    ["text", "window open", noJson],
    ["endless nesting", "[".repeat(600) + "]".repeat(600), noJson],
    [
      "two values of one address",
      { deviceCode: "GH-1", data: [register("1", 1), register("1", 2)] },
      "an address that stands there twice with different values",
    ],
    [
      "a device inside another one",
      { deviceCode: "GH-1", data: { "GH-2": { "1": 2 } } },
      "a device inside another one, which is left out",
    ],
  ])("reports %s and takes nothing from it", (_name, frame, problem) => {
    const { news, problems } = decoded(setValue, frame);
    expect(registers(news).filter((one) => !one.startsWith("GH-2"))).toEqual([]);
    expect(problems).toContain(problem);
  });

  it.each<[string, unknown, boolean]>([
    ["too many values", [...Array.from({ length: 20_002 }, () => 1)], true],
    ["no JSON", "window open", true],
    ["a number", "7", true],
    ["more devices than one frame may bring", Array.from({ length: 501 }, () => of("GH-1", "1", 1)), true],
    ["no device", register("1", 1), false],
    ["no value", of("GH-1", "1", "--"), false],
  ])("%s: a shape in the configuration helps, or is not spoken of", (_name, frame, isLeftOut) => {
    const around = framing(...ours);
    const data = Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame));
    frameDecoder(setValue, {})(data, around);
    expect(around.problems).not.toEqual([]);
    expect(around.leftOut).toEqual(isLeftOut ? around.problems : []);
  });

  it.each<[string, unknown]>([
    ["a heartbeat", { type: "heartbeat" }],
    ["a heartbeat with its time", { cmd: "heart_beat", timestamp: 1_772_352_000_000 }],
    ["a heartbeat in a word of its own", { type: "hb", ts: 1_772_352_000_000 }],
    ["a kind of frame and nothing else", { event: "IDLE", seq: 7, time: "2026-03-01 16:00:00" }],
    ["an answer to a ping", "pong"],
    ["a greeting", { code: 200, message: "connected", data: {} }],
    ["a greeting in Chinese", { code: 200, msg: "连接成功", data: null }],
    ["nothing", ""],
  ])("takes %s for what it is", (_name, frame) => {
    const { news, problems } = decoded(setValue, frame);
    expect([news, problems]).toEqual([[], []]);
  });

  it.each<[string, unknown]>([
    ["an event of a device", { type: "connected", deviceCode: "GH-1", value: 1 }],
    ["what holds more", { message: "success", data: [{ what: 1 }] }],
    ["a kind of frame with a number beside it", { type: "hb", level: 3 }],
    ["a time alone", { ts: 1_772_352_000_000 }],
  ])("takes %s for no greeting", (_name, frame) => {
    expect(decoded(setValue, frame).problems).not.toEqual([]);
  });

  it("never gives one device the value of another that is known or named", () => {
    const data = [{ deviceCode: "GH-2", "1": 2 }, { deviceCode: "GH-9", "1": 9 }, { "1": 1 }];
    const mixed = { deviceCode: "GH-1", data };
    expect([...registers(decoded(setValue, mixed).news)].sort()).toEqual(["GH-1 1=1", "GH-2 1=2"]);
    const otherTopic = { topic: "up/GH-2/set", payload: of("GH-1", "101", 1) };
    expect(registers(decoded(setValue, otherTopic).news)).toEqual(["GH-1 101=1"]);
  });

  it("bounds what one frame may bring", () => {
    const many = Array.from({ length: 2_000 }, (_, n) => of(n % 2 === 0 ? "GH-1" : "GH-2", "1", n));
    const { news, problems } = decoded(setValue, many);
    expect(news.length).toBe(500);
    expect(problems).toContain("more than 500 devices in one frame; the rest is left out");
    const values = Object.fromEntries(Array.from({ length: 20_002 }, (_, n) => [n, "1"]));
    const told = { news: [], problems: ["a frame of more than 20000 values"] };
    expect(decoded(setValue, { "GH-1": values })).toEqual(told);
    expect(decoded(status, `[${"[],".repeat(300_000)}[]]`)).toEqual(told);
  });

  it("bounds what a frame may bring whose data is JSON once more, however its commas are written", () => {
    const many = JSON.stringify(Array.from({ length: 20_002 }, (_, n) => register(n, 1)));
    const told = { news: [], problems: ["a frame of more than 20000 values"] };
    const escaped = many.replaceAll('"', '\\"').replaceAll(",", "\\u002c");
    expect(escaped).not.toContain(",");
    expect(decoded(setValue, `{"deviceCode":"GH-1","data":"${escaped}"}`)).toEqual(told);
    const few = JSON.stringify([register("1", 1), register("2", 2)]);
    const own = `{"deviceCode":"GH-1","data":"${few.replaceAll('"', '\\"').replaceAll(",", "\\u002c")}"}`;
    expect(registers(decoded(setValue, own).news)).toEqual(["GH-1 1=1", "GH-1 2=2"]);
  });

  it("is read where platform.shapes says things are", () => {
    const shapes = { "ws/set-value": { items: "body.changes", value: "now", code: "where" } };
    const body = { changes: [{ where: "1", now: 5 }], old: [{ where: "1", now: 4 }] };
    expect(registers(decoded(setValue, { deviceCode: "GH-1", body }, shapes).news)).toEqual(["GH-1 1=5"]);
  });
});

const statuses = (news: readonly PushNews[]): readonly string[] =>
  news.flatMap((one) => {
    if (one.type === "connection") return [`${one.code} ${one.online ? "online" : "offline"}`];
    if (one.type !== "statuses") return [];
    return one.items.map(
      ({ name, number, value }) => `${one.code} ${number ?? "-"} ${name}=${String(value)}`,
    );
  });

describe("frames of device-status", () => {
  const on = { deviceCode: "GH-1" };
  const fan = { name: "fan", deviceTypeNumber: 16 };
  it.each<[string, unknown, ...statuses: string[]]>([
    ["one status", { ...on, ...fan, status: 1 }, "GH-1 16 fan=1"],
    ["as an event", { type: "S", data: { ...on, name: "fan", status: true } }, "GH-1 - fan=true"],
    [
      "several, and the connection",
      { ...on, data: [{ online: true }, { ...fan, deviceTypeNumber: "16", status: "0" }] },
      ...["GH-1 online", "GH-1 16 fan=0"],
    ],
    ["keyed by number", { ...on, data: { "16": 1 } }, "GH-1 16 =1"],
    ["the connection alone", { ...on, online: false, dateTime: "x" }, "GH-1 offline"],
    ["the connection as the single status shows it", { ...on, status: 0, type: 1 }, "GH-1 offline"],
    ["the same under data", { ...on, data: { status: 1, version: 2 } }, "GH-1 online"],
    ["as the list shows them", { data: [{ code: "GH-1", name: "East", online: true }] }, "GH-1 online"],
  ])("%s", (_name, frame, ...expected) => {
    const { news, problems } = decoded(status, frame);
    expect(statuses(news)).toEqual(expected);
    expect(problems).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["a contradiction", { ...on, data: [{ online: true }, { online: false }] }],
    ["a flag that is none", { ...on, online: "maybe" }],
    ["a device alone", on],
  ])("%s says nothing", (_name, frame) => {
    const { news, problems } = decoded(status, frame);
    expect(news).toEqual([]);
    expect(problems.length).toBeGreaterThan(0);
  });
});

/* Nothing says which of the two channels tells what, so each is read from either. */
describe("registers on the channel of statuses, and statuses on that of registers", () => {
  const on = { deviceCode: "GH-1" };
  it.each<[string, PushChannel, unknown, ...told: string[]]>([
    ["a register", status, of("GH-1", "101", "10010"), 'GH-1 101="10010"'],
    ["a register that is 1", status, of("GH-1", "101", 1), "GH-1 101=1"],
    ["a register with a name", status, { ...of("GH-1", 101, "1"), name: "roof" }, 'GH-1 101="1"'],
    [
      "keyed registers",
      status,
      { ...on, data: { "101": "10010", "102": "1001" } },
      'GH-1 101="10010"',
      'GH-1 102="1001"',
    ],
    ["as an event", status, { type: "S", data: of("GH-1", "101", "10010") }, 'GH-1 101="10010"'],
    [
      "a register and the connection",
      status,
      { ...on, online: true, data: { "101": "10010" } },
      'GH-1 101="10010"',
      "GH-1 online",
    ],
    [
      "keyed registers with {value}",
      status,
      { ...on, data: { "101": { value: "10010" }, "102": { value: "1" } } },
      'GH-1 101="10010"',
      'GH-1 102="1"',
    ],
    [
      "keyed registers of which one could be a flag",
      status,
      { ...on, data: { "101": 1, "102": "10010" } },
      "GH-1 101=1",
      'GH-1 102="10010"',
    ],
    [
      "keyed words of statuses with a name",
      status,
      { ...on, data: { "16": { name: "fan", value: "1010" } } },
      "GH-1 16 fan=1010",
    ],
    ["a status", setValue, { ...on, name: "fan", deviceTypeNumber: 16, status: 1 }, "GH-1 16 fan=1"],
    [
      "several statuses",
      setValue,
      {
        ...on,
        data: [
          { name: "fan", status: 1 },
          { deviceTypeNumber: 17, status: "0" },
        ],
      },
      "GH-1 - fan=1",
      "GH-1 17 =0",
    ],
    ["the connection", setValue, { ...on, online: false }, "GH-1 offline"],
    ["keyed flags are statuses where statuses are told", status, { ...on, data: { "16": 1 } }, "GH-1 16 =1"],
    [
      "keyed flags are registers where registers are told",
      setValue,
      { ...on, data: { "16": 1 } },
      "GH-1 16=1",
    ],
  ])("%s", (_name, channel, frame, ...told) => {
    const { news, problems } = decoded(channel, frame);
    expect([...registers(news), ...statuses(news)]).toEqual(told);
    expect(problems).toEqual([]);
  });
});

const readings = (news: readonly PushNews[]): readonly string[] =>
  news.flatMap((one) =>
    one.type === "sensors"
      ? one.items.map(({ name, factor, value }) => `${one.code} ${name || (factor ?? "")}=${String(value)}`)
      : [],
  );

describe("frames of a weather station", () => {
  const item = { name: "wind", value: "3.5", unit: "m/s", dateTime: "2026-03-01 16:00:00" };
  const { dateTime } = item;
  it.each<[string, unknown, ...readings: string[]]>([
    ["a list", { deviceCode: "WS-1", data: [item] }, "WS-1 wind=3.5"],
    ["a bare list", [item], "WS-1 wind=3.5"],
    ["without a device", { rows: [item] }, "WS-1 wind=3.5"],
    ["one item", { deviceCode: "WS-1", ...item }, "WS-1 wind=3.5"],
    ["one object", { deviceCode: "WS-1", wind: 3.5, rain: 0, dateTime }, "WS-1 wind=3.5", "WS-1 rain=0"],
  ])("%s", (_name, frame, ...expected) => {
    const { news, problems } = decoded(station, frame);
    expect(readings(news)).toEqual(expected);
    expect(problems).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    [
      "about another device",
      { deviceCode: "WS-2", data: [item] },
      "a frame about another device than the channel's",
    ],
    ["without readings", { deviceCode: "WS-1", hello: "you" }, "an item without the fields it needs"],
  ])("%s are left out and reported", (_name, frame, problem) =>
    expect(decoded(station, frame)).toEqual({ news: [], problems: [problem] }),
  );

  it.each(["timestamp", "ts", "dateTime"])("are dated by their own %s", (name) => {
    const measuredAt = 1_772_352_000_000;
    const frame = { deviceCode: "WS-1", [name]: measuredAt, sensors: [{ ...item, dateTime: undefined }] };
    const { news, problems } = decoded(station, frame);
    expect(news).toMatchObject([{ type: "sensors", items: [{ measuredAt }] }]);
    expect(problems).toEqual([]);
  });

  it("are read as platform.shapes reads the sensor data, where it says nothing of the channel", () => {
    const shapes = { "sensor-data": { items: "payload.points", name: "what", value: "now" } };
    const frame = { payload: { points: [{ what: "wind", now: 3 }] } };
    expect(readings(decoded(station, frame, shapes).news)).toEqual(["WS-1 wind=3"]);
  });
});

describe("frames nobody thought of", () => {
  const codes = fc.constantFrom("GH-1", "GH-2", "WS-1", "GH-9", "__proto__", "constructor", "");
  const named = fc
    .tuple(codes, anyAnswer, anyAnswer)
    .map(([deviceCode, data, extra]) => ({ deviceCode, data, extra }));
  const keyed = fc
    .tuple(codes, anyAnswer)
    .map(([code, data]) => JSON.parse(`{${JSON.stringify(code)}:${JSON.stringify(data)}}`) as unknown);
  const frames = fc.oneof(anyAnswer, named, keyed, fc.array(named, { maxLength: 3 }));
  const channels = fc.constantFrom(setValue, status, station);

  it("never crash, never invent a value, never touch a prototype (2,000)", () =>
    fc.assert(
      fc.property(channels, frames, (channel, frame) => {
        const { news } = decoded(channel, frame);
        const there = scalarsOf(frame);
        for (const one of news) {
          expect(ours).toContain(one.code);
          for (const value of valuesOf(one)) expect(there).toContain(value);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 2_000 },
    ));

  it("never crash when they are cut or any bytes (5,000)", () => {
    const cut = fc
      .tuple(frames, fc.nat(200))
      .map(([frame, end]) => Buffer.from(JSON.stringify(frame)).subarray(0, end));
    const bytes = fc.uint8Array({ maxLength: 200 }).map((data) => Buffer.from(data));
    fc.assert(
      fc.property(channels, fc.oneof(cut, bytes), (channel, data) => {
        frameDecoder(channel, {})(data, { ...framing(), knows: () => true });
      }),
      { numRuns: 5_000 },
    );
  });
});

/** Every value of one piece of news, as the frame wrote it. */
function valuesOf(news: PushNews): readonly string[] {
  const text = (raw: unknown) => String(raw).trim();
  switch (news.type) {
    case "registers":
      return [...news.values].flatMap(([address, raw]) => [address, text(raw)]);
    case "statuses":
      return news.items.flatMap(({ name, value }) => [
        ...(name === "" ? [] : [name]),
        ...(value === null ? [] : [text(value)]),
      ]);
    case "sensors":
      return news.items.flatMap(({ raw }) => (raw === null ? [] : [text(raw)]));
    case "connection":
      return [];
  }
}

const code = "GH-0001";
const everybody = { statuses: true, stations: new Set(["WS-0001"]) };
const channels = {
  "set-value": { type: "set-value" },
  "device-status": { type: "device-status" },
  "weather-station-data": { type: "weather-station", code: "WS-0001" },
} as const satisfies Record<string, PushChannel>;
const odd: ShapeSettings = {
  "sensor-data": { items: "payload.points", name: "what", value: "now", unit: "scale", time: "dateTime" },
};

/** What is made of the frames of an opened skylight, a started fan, a lost controller and a new weather sample. */
function newsOf(profile: ProfileName) {
  const asking = new Asking({ profile });
  const feed = new PushFeed(asking.state);
  asking.control.moveByHand(code, "101", "10001");
  feed.registerFrames();
  feed.changeFrames(everybody);
  asking.control.moveByHand(code, "101", "10010");
  const frames = [...feed.registerFrames()];
  asking.post(code, "140", "10000");
  asking.pass(2 * minuteMs).decide({ path: "/api/station" });
  frames.push(...feed.changeFrames(everybody));
  asking.control.setOnline(code, false);
  frames.push(...feed.changeFrames(everybody));
  const around = { ...framing(code, "WS-0001"), receivedAt: asking.now };
  const news = frames.flatMap(({ channel, text }) =>
    frameDecoder(channels[channel], profile === "odd" ? odd : {})(Buffer.from(text), around),
  );
  return { news, problems: around.problems };
}

describe.each(profileNames)("the push frames of the simulator's profile %s", (profile) => {
  const { news, problems } = newsOf(profile);
  const only = <Type extends PushNews["type"]>(type: Type) =>
    news.filter((one): one is Extract<PushNews, { type: Type }> => one.type === type);

  it("tell the register, the running status, the connection and the readings that changed, and leave nothing unread", () => {
    expect(problems).toEqual([]);
    expect(registers(news)).toEqual([expect.stringMatching(/^GH-0001 101="?10010"?$/)]);
    expect(statuses(news)).toContainEqual(expect.stringMatching(/^GH-0001 16 /));
    expect(statuses(news).at(-1)).toBe("GH-0001 offline");
    const [sample] = only("sensors");
    expect(sample?.items).toHaveLength(11);
    expect(sample?.items.every(({ measuredAt }) => measuredAt !== null)).toBe(true);
  });
});
