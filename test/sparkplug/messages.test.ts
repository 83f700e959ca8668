import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deviceCommands, nodeCommands } from "../../src/sparkplug/commands.js";
import { hostWord } from "../../src/sparkplug/topics.js";
import {
  aliasesOf,
  bdSeqOf,
  birthPayload,
  dataPayload,
  deviceDeathPayload,
  nodeBirthPayload,
  nodeDeathPayload,
  readPayload,
} from "../../src/sparkplug/messages.js";
import type { Metric } from "../../src/sparkplug/metrics.js";
import { codec, type HostMetric, type Payload } from "./host.js";

const now = Date.parse("2026-03-01T08:00:00Z");
const stamp = { seq: 7, now };
const metrics: readonly Metric[] = [
  {
    name: "sensor/air",
    type: "Double",
    value: 21.5,
    quality: 192,
    at: now - 5_000,
    properties: { engUnit: "°C" },
  },
  { name: "actuator/roof/state", type: "String", value: "open", quality: 500, at: now - 9_000 },
  { name: "actuator/roof/position", type: "Double", value: null, quality: 0, at: null },
];
const aliases = aliasesOf("gh-0001", metrics);

/** As somebody else reads it; 64-bit numbers as numbers. */
const decoded = (bytes: Uint8Array) =>
  JSON.parse(JSON.stringify(codec.decodePayload(bytes), plain)) as Payload;
const plain = (_: string, value: unknown) =>
  typeof value === "object" && value !== null && "low" in value ? Number(value) : value;

describe("payloads, as an independent decoder reads them", () => {
  it("a birth names every metric with type, alias, time, value and properties, in the order of their times", () => {
    expect(decoded(birthPayload(metrics, aliases, stamp))).toMatchObject({
      timestamp: now,
      seq: 7,
      metrics: [
        { name: "actuator/roof/state", type: "String", value: "open", timestamp: now - 9_000 },
        {
          name: "sensor/air",
          type: "Double",
          value: 21.5,
          timestamp: now - 5_000,
          alias: Number(aliases.get("sensor/air")),
          properties: { Quality: { type: "Int32", value: 192 }, engUnit: { type: "String", value: "°C" } },
        },
        { name: "actuator/roof/position", type: "Double", value: null, timestamp: now },
      ],
    });
  });

  it("data have the alias alone, no type, and the quality", () => {
    const { metrics: told } = decoded(dataPayload(metrics.slice(0, 1), aliases, stamp));
    expect(told).toMatchObject([{ alias: Number(aliases.get("sensor/air")), timestamp: now - 5_000 }]);
    expect(told?.[0]).not.toHaveProperty("name");
    expect(told?.[0]).not.toHaveProperty("datatype");
    expect(told?.[0]?.properties).toEqual({ Quality: { type: "Int32", value: 192 } });
  });

  it("a node's birth has bdSeq, and the metric to ask for a rebirth, which alone has no alias", () => {
    const { metrics: told, seq } = decoded(nodeBirthPayload(250, [], { seq: 0, now }));
    expect([seq, told]).toMatchObject([
      0,
      [
        { name: "bdSeq", type: "Int64", value: 250 },
        { name: "Node Control/Rebirth", type: "Boolean", value: false },
      ],
    ]);
    expect(told?.map((metric) => "alias" in metric)).toEqual([true, false]);
  });

  it("a node's death has its bdSeq alone and no number; a device's has a number and no metric", () => {
    const death = decoded(nodeDeathPayload(255, now));
    expect(death).toMatchObject({ metrics: [{ name: "bdSeq", type: "Int64", value: 255 }] });
    expect(death).not.toHaveProperty("seq");
    expect(decoded(deviceDeathPayload(stamp))).toEqual({ timestamp: now, seq: 7, metrics: [] });
  });

  it("an alias is of device and name alone, and differs from every other", () => {
    expect(aliasesOf("gh-0001", metrics)).toEqual(aliases);
    const many = Array.from({ length: 500 }, (_, device) => [
      ...aliasesOf(`gh-${device}`, metrics).values(),
    ]).flat();
    expect(new Set(many).size).toBe(many.length);
    expect(many.every((alias) => alias > 0n && alias < 2n ** 53n)).toBe(true);
  });
});

type Written = Partial<HostMetric> & { readonly value: unknown };

/** What a host wrote, with the time of now on each metric. */
const written = (...some: readonly Written[]) => {
  const payload = { timestamp: now, metrics: some.map((one) => ({ timestamp: now, ...one })) };
  const read = readPayload(codec.encodePayload(payload as Payload));
  if (read === null) throw new Error("unreadable");
  return read;
};
const names = new Map([...aliases].map(([name, alias]) => [alias, name]));
const asked = (...some: readonly Written[]) => deviceCommands(written(...some), names, null);
const word = { name: "actuator/roof/command", type: "String", value: "open" } as const;

describe("a device command", () => {
  it.each<[string, Written, object]>([
    ["a word", word, { target: "actuator", targetId: "roof", payload: "open", at: now, by: null }],
    [
      "a word with its conditions",
      { ...word, value: '{"command":"on","for":"20m"}' },
      { payload: '{"command":"on","for":"20m"}' },
    ],
    ["a degree", { name: "actuator/roof/position", type: "Double", value: 45 }, { payload: "45" }],
    [
      "a fraction of one, for the target to refuse",
      { name: "actuator/roof/position", type: "Double", value: 45.5 },
      { payload: "45.5" },
    ],
    [
      "no number at all, for the target to refuse",
      { name: "actuator/roof/position", type: "Double", value: NaN },
      { payload: "NaN" },
    ],
    [
      "a parameter",
      { name: "parameter/ec", type: "Double", value: 0.1 + 0.2 },
      { target: "parameter", targetId: "ec", payload: "0.3" },
    ],
    ["its own time", { ...word, timestamp: now - 40_000 }, { at: now - 40_000 }],
    [
      "its sender",
      { ...word, properties: { by: { type: "String", value: "scada1" } } },
      { by: "sparkplug:scada1" },
    ],
    [
      "an alias",
      { alias: Number(aliases.get("actuator/roof/position")), type: "Double", value: 45 },
      { targetId: "roof", payload: "45" },
    ],
  ])("takes %s", (_, metric, expected) => {
    const [read] = asked(metric);
    const told =
      read?.type === "command"
        ? { ...read.asked, payload: Buffer.from(read.asked.payload).toString() }
        : read;
    expect(told).toMatchObject({ ...expected });
    expect(told).not.toMatchObject({ unreadable: expect.anything() as unknown });
  });

  it.each<[string, Written, RegExp]>([
    ["historical", { ...word, isHistorical: true }, /historical/],
    ["null", { ...word, value: null, isNull: true }, /null/],
    ["of another type", { ...word, type: "Boolean", value: true }, /another type than String/],
    ["a number where a word belongs", { ...word, type: "Double", value: 1 }, /another type than String/],
    [
      "a degree as an integer",
      { name: "actuator/roof/position", type: "Int32", value: 45 },
      /another type than Double/,
    ],
    ["of two names", { ...word, alias: Number(aliases.get("sensor/air")) }, /two metrics/],
    ["of no time", { ...word, timestamp: 9e15 }, /no time/],
  ])("that is %s is handed on with the reason", (_, metric, why) => {
    expect(asked(metric)).toMatchObject([
      { type: "command", asked: { unreadable: expect.stringMatching(why) as unknown } },
    ]);
  });

  it.each([
    "sensor/air",
    "actuator/roof/state",
    "actuator/roof",
    "actuator//command",
    "a/b/c/d",
    "Node Control/Rebirth",
  ])("to %s is none", (name) =>
    expect(asked({ name, type: "String", value: "x" })).toEqual([{ type: "unknown", name }]),
  );

  it("with an alias of no birth is none, and several metrics are several commands", () => {
    expect(asked({ alias: 5, type: "String", value: "x" }, word, word).map(({ type }) => type)).toEqual([
      "unknown",
      "command",
      "command",
    ]);
  });
});

describe("what a host says", () => {
  it.each<[string, boolean, object | null]>([
    ['{"online":true,"timestamp":5}', false, { isOnline: true, timestamp: 5 }],
    ['{"timestamp":6,"online":false,"more":1}', false, { isOnline: false, timestamp: 6 }],
    ["ONLINE", true, { isOnline: true, timestamp: null }],
    ["OFFLINE", true, { isOnline: false, timestamp: null }],
    ["ONLINE", false, null],
    ['{"online":true,"timestamp":5}', true, null],
    ['{"online":"true","timestamp":5}', false, null],
    ['{"online":true}', false, null],
    ['{"online":true,"timestamp":-1}', false, null],
    ["null", false, null],
    ["{", false, null],
  ])("%s (of version 2: %s)", (text, isOld, word) =>
    expect(hostWord(Buffer.from(text), isOld)).toEqual(word),
  );

  it("a node command asks for a rebirth by that metric and true alone", () => {
    const rebirth = (value: boolean) => written({ name: "Node Control/Rebirth", type: "Boolean", value });
    expect(nodeCommands(rebirth(true))).toEqual({ isRebirth: true, unknown: [] });
    expect(nodeCommands(rebirth(false))).toEqual({ isRebirth: false, unknown: [] });
    const other = written({ name: "Node Control/Reboot", type: "Boolean", value: true });
    expect(nodeCommands(other)).toEqual({ isRebirth: false, unknown: ["Node Control/Reboot"] });
  });

  it("whatever bytes come, they are read as something or nothing, and never throw", () => {
    const birth = birthPayload(metrics, aliases, stamp);
    const mutated = fc
      .tuple(fc.nat(birth.length - 1), fc.uint8Array({ maxLength: 20 }))
      .map(([at, bytes]) => Buffer.concat([birth.subarray(0, at), bytes, birth.subarray(at + bytes.length)]));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), mutated), (bytes) => {
        hostWord(bytes, false);
        const payload = readPayload(bytes);
        if (payload === null) return;
        bdSeqOf(payload);
        nodeCommands(payload);
        for (const read of deviceCommands(payload, names, null))
          if (read.type === "command" && typeof read.asked.at === "number")
            new Date(read.asked.at).toISOString();
      }),
      { numRuns: 2_000 },
    );
  });

  it("templates within templates stay unread, however deep", () => {
    let nested = Buffer.from([0x08, 1]);
    for (let depth = 0; depth < 10_000; depth += 1) {
      // A template whose metric holds the next one.
      const field = (tag: readonly number[], inner: Buffer) => {
        const length: number[] = [];
        for (let rest = inner.length; ; rest >>= 7) {
          length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
          if (rest <= 0x7f) break;
        }
        return Buffer.concat([Buffer.from([...tag, ...length]), inner]);
      };
      nested = field([0x12], field([0x92, 0x01], nested));
      if (nested.length > 60_000) break;
    }
    expect(readPayload(nested)?.metrics).toHaveLength(1);
  });
});
