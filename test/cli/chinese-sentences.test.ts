import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inChinese } from "../../src/cli/chinese/chinese.js";
import { alarmSentences } from "../../src/config/rules/alarms.js";
import { groupSentences } from "../../src/config/rules/groups.js";
import { limitSentences } from "../../src/config/rules/limit-rules.js";
import type { Configuration } from "../../src/config/schema.js";
import { curtainSentences, sparkplugSentences } from "../../src/config/warnings.js";
import { journalTable } from "../../src/journal/table.js";
import { entryTypes, type TimelineEntry } from "../../src/journal/timeline.js";
import { loaded } from "../config/loading.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

/** Words of a configuration: commands, ids, inputs and durations, which are the same in every language. */
const words = ["close", "open", "stop", "auto", "off", "on", "wet", "20"];
const mine = [
  ...words,
  ...["left_skylight", "right_skylight", "valve", "weather/wind", "rain", "wind", "twin", "vents", "night"],
  ...["0..10", "10s", "1m", "5m", "10m", "1h", "GH-0001", "gh-0001", "controllers", "actuators", "groups"],
  ...["scenes", "sparkplug", "greenhouses/greenhouse2mqtt", "greenhouse2mqtt-sparkplug", "MQTT", "DCMD"],
  ...["gh-0001/left_skylight", "gh-0001/right_skylight", "GH-0001/left_skylight"],
  ...["homeassistant", "inverted", "true", "false", "spBv1.0/greenhouses/DCMD/greenhouse2mqtt/<controller>"],
];
const inside = new RegExp(
  [...mine]
    .sort((one, other) => other.length - one.length)
    .map((word) => `(?<![\\w/])${word.replace(/[.\\/<>]/g, "\\$&")}(?![\\w/])`)
    .join("|"),
  "g",
);

/** What of a Chinese text is still English. */
const english = (text: string): readonly string[] => text.replace(inside, "").match(/[A-Za-z]{2,}/g) ?? [];

const duration = fc.constantFrom(0, 10_000, 60_000, 300_000, 3_600_000);
const guard = fc
  .record({
    input: fc.constantFrom(
      { sensor: "weather/wind", above: 12 },
      { sensor: "weather/wind", above: 12, clear_at: 9 },
      { sensor: "weather/wind", below: 3, clear_at: 4 },
      { sensor: "rain", is: ["on", "wet"] },
      { sensor: "rain", is: "on" },
      { actuator: "right_skylight", is_not: "close" },
      { actuator: "right_skylight", moving: true },
      { status: "rain", is_not: ["on", "off"] },
    ),
    clear_after: duration,
    allow: fc.uniqueArray(fc.constantFrom("close", "stop", "0..10", "open"), { maxLength: 4 }),
    then: fc.constantFrom(undefined, "close"),
    blind: fc.constantFrom("narrow", "act"),
  })
  .map(({ input, ...others }) => ({ ...input, ...others }));
const limits = fc.record({
  rest: duration,
  reversal: duration,
  starts_per_hour: fc.constantFrom(undefined, 6),
  not_running_after: fc.constantFrom(undefined, 300_000),
  for: fc.constantFrom(undefined, 300_000),
  at_most: fc.constantFrom(undefined, 3_600_000),
  ends_with: fc.constantFrom(undefined, "off"),
  guards: fc.dictionary(fc.constantFrom("wind", "rain", "twin"), guard),
});
const actuator = fc.record({
  kind: fc.constantFrom("skylight", "irrigation", "machine"),
  read_only: fc.boolean(),
  limits,
  stop: fc.constantFrom(undefined, { address: "7", value: "1" }),
  values: fc.constant({}),
});

describe("a sentence that is put together of the configuration is Chinese to its end", () => {
  it("of what limits mean, in every form", () =>
    fc.assert(
      fc.property(actuator, fc.boolean(), (left_skylight, read_only) => {
        const controllers = { "GH-0001": { actuators: { left_skylight }, ignore: false } };
        const configuration = { controllers, commands: { read_only }, kinds: {} };
        for (const sentence of limitSentences(configuration as unknown as Configuration, inChinese)) {
          expect([english(sentence), sentence]).toEqual([[], sentence]);
          expect(sentence).not.toMatch(/持续 \d+\w，只|[^\s。]\s+[，。；]|，，|；；/);
        }
      }),
      { numRuns: 400 },
    ));

  it("of limits of readings, in every form", () => {
    const settings = fc.record(
      {
        low_low: fc.constant(2),
        low: fc.constant(5),
        high: fc.constant(35),
        high_high: fc.constant(40),
        delay: duration,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(settings, fc.constantFrom(undefined, "°C"), (alarm, unit) => {
        const sensors = { rain: { alarm, unit, from: "b", ignore: false } };
        const configuration = {
          controllers: { "GH-0001": { sensors, ignore: false } },
          alarms: { wind: false },
        };
        const all = alarmSentences(configuration as unknown as Configuration, inChinese);
        expect(all.flatMap((one) => english(one.replace(/alarms?\b|sensors/g, "")))).toEqual([]);
      }),
    );
  });

  it("of groups, scenes, curtains and Sparkplug", async () => {
    const { configuration } = await loaded(`platform:
  business_url: https://b
  realtime_url: https://r
  token: !env TOKEN
sparkplug: { enabled: true, primary_host: night }
groups: { vents: { members: [GH-0001/left_skylight, GH-0001/right_skylight] } }
scenes: { night: { commands: { GH-0001/left_skylight: close, GH-0001/right_skylight: 20 } } }
controllers:
  GH-0001:
    actuators:
      left_skylight: { kind: skylight, address: 101 }
      right_skylight: { kind: skylight, address: 102 }
      valve: { kind: shade_curtain, address: 103 }
`);
    const all = [groupSentences, curtainSentences, sparkplugSentences].flatMap((about) =>
      about(configuration, inChinese),
    );
    expect(all).toHaveLength(4);
    expect(all.flatMap(english)).toEqual([]);
    expect(all.join("\n")).not.toContain("持续");
  });
});

describe("what is wrong with a file that asks for Chinese is told in Chinese", () => {
  const head = "language: zh\nplatform: { business_url: 'https://b', realtime_url: 'https://r', token: t }\n";
  it.each([
    ["a key that is misspelt", `${head}mqtt: { ulr: x }\n`],
    ["what is no YAML", `${head}mqtt: [\n`],
    [
      "a group of what is read-only",
      `${head}groups: { vents: { members: [GH-0001/a] } }
controllers: { GH-0001: { actuators: { a: { kind: skylight, address: 1, read_only: true } } } }\n`,
    ],
  ])("%s", async (_, text) => {
    for (const command of ["check", "run"]) {
      const { out, err, code } = await greenhouse2mqtt([command, "-c", await fileWith(text)]);
      expect(code).toBe(2);
      const told = `${out}${err}`.split("\n").map((line) => line.replace(/^.*?: /, ""));
      expect(told.join("\n")).toMatch(/\p{Script=Han}/u);
      expect(
        told.flatMap(
          (line) => line.replace(/[“"].*?[”"]|\burl\b/g, "").match(/[A-Za-z]{4,} [a-z]{2,}/g) ?? [],
        ),
      ).toEqual([]);
    }
  });
});

describe("the journal", () => {
  it("has a Chinese word for everything that can happen", () => {
    expect(entryTypes.length).toBeGreaterThan(20);
    expect(entryTypes.filter((type) => !/\p{Script=Han}/u.test(inChinese(`journal ${type}`)))).toEqual([]);
  });

  it("shows them", () => {
    const entry = {
      seq: 1,
      at: "2026-11-28T10:00:00.000Z",
      kind: "guard",
      controller: "gh-0001",
      actuator: "valve",
    };
    const entries = [
      { ...entry, type: "guard_holds", what: "wind", by: null, until: null, alarm: null, severity: null },
      { ...entry, type: "logged_in", kind: "login", user: "anna", address: "10.0.0.2" },
      { ...entry, type: "refusals_counted", count: 3, reasons: { locked: 3 } },
      { ...entry, type: "locked", kind: "lock", what: null, by: "anna", until: "2026-11-28T11:00:00.000Z" },
      { ...entry, type: "stop", kind: "system", reason: "asked to" },
    ] as unknown as readonly TimelineEntry[];
    const { text } = journalTable(entries, { timeZone: "UTC", tell: inChinese });
    expect(english(text.replace(/anna|locked 3|TZ?/g, ""))).toEqual([]);
  });
});

it.each(["waiting", "checking", "sending", "confirming", "done"])(
  "the phase %s of `set` is Chinese",
  (phase) => expect(inChinese(`${phase}…`)).toMatch(/^\p{Script=Han}+…$/u),
);
