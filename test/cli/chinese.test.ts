import fc from "fast-check";
import { describe, expect, it } from "vitest";
import en from "../../locales/en.json" with { type: "json" };
import { wordsOf } from "../../src/language/languages.js";
import { refusalText } from "../../src/cli/wording.js";
import { outcomes, refusalReasons } from "../../src/greenhouse/command/outcomes.js";
import { endedText } from "../../src/greenhouse/wording.js";
import { wordFiles } from "../../src/language/languages.js";
import { languageOf, Speech } from "../../src/terminal/speech.js";
import { check } from "../../src/cli/configuration.js";
import { alarmSentences } from "../../src/config/rules/alarms.js";
import { groupSentences } from "../../src/groups/judge.js";
import { limitSentences } from "../../src/config/rules/limit-rules.js";
import type { Configuration } from "../../src/config/schema.js";
import { curtainSentences } from "../../src/homeassistant/section.js";
import { sparkplugSentences } from "../../src/sparkplug/section.js";
import { journalTable } from "../../src/journal/timeline-table.js";
import type { TimelineEntry } from "../../src/journal/timeline.js";
import { widthOf } from "../../src/runtime/text-table.js";
import { type ParameterGroup, typeName } from "../../src/greenhouse/device-types.js";
import { likenessOf } from "../../src/greenhouse/addresses-seen.js";
import { loaded } from "../config/loading.js";
import { inChinese } from "../support/chinese.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

const isChinese = (text: string): boolean => /\p{Script=Han}/u.test(text);

describe("the language", () => {
  it.each([
    [{}, "en"],
    [{ LANG: "C.UTF-8" }, "en"],
    [{ LANG: "zh_CN.UTF-8" }, "zh"],
    [{ LANG: "zh-Hans" }, "zh"],
    [{ LANG: "zha_CN" }, "en"],
    [{ LANG: "zh_TW", LC_ALL: "en_GB.UTF-8" }, "en"],
    [{ LANG: "de_DE", LC_MESSAGES: "zh_CN" }, "zh"],
    [{ LANG: "zh_CN", LC_ALL: "" }, "zh"],
  ] as const)("of an environment with %j is %s", (env, language) => expect(languageOf(env)).toBe(language));

  it("of an environment is any that there are words for", () => {
    const files = { ...wordFiles, xx: () => Promise.resolve({}) };
    expect(["xx_XX.UTF-8", "xy_XX"].map((LANG) => languageOf({ LANG }, files))).toEqual(["xx", "en"]);
  });

  const hosts = "platform: { business_url: 'https://b', realtime_url: 'https://r', token: t }\n";
  const zh = { LANG: "zh_CN.UTF-8" };

  it("of the configuration goes before that of the environment", async () => {
    const chinese = await greenhouse2mqtt(["check", await fileWith(`${hosts}language: zh\n`)]);
    expect(chinese.out).toMatch(/: 正常\n$/);
    const english = await greenhouse2mqtt(["check", await fileWith(`${hosts}language: en\n`)], { env: zh });
    expect(english.out).toMatch(/: ok\n$/);
  });

  it("may be one that nobody has thought of, with one file of words", async () => {
    const mirrored = Object.entries(wordsOf(en)).map(
      ([template, words]) => [template, `»${words}«`] as const,
    );
    const speech = new Speech({ xx: () => Promise.resolve(Object.fromEntries(mirrored)) });
    await speech.choose("xx");
    let out = "";
    const context = {
      ...{ env: {}, isTerminal: false, speech, stop: new AbortController().signal },
      out: (text: string) => void (out += text),
      err: { write: () => true },
    };
    const file = await fileWith(
      `${hosts}controllers: { GH-0001: { actuators: { roof: { kind: skylight } } } }\n`,
    );
    await expect(check(context, [file], { config: file })).rejects.toMatchObject({ exitCode: 2 });
    await check(context, [await fileWith(hosts)], { config: "" });
    const said = out.split("\n").filter((line) => line !== "");
    expect(said.length).toBeGreaterThan(2);
    expect(said.filter((line) => !/: »/.test(line))).toEqual([]);
  });

  it.each([
    [["nonsense"], /^没有命令“nonsense”；greenhouse2mqtt --help 列出所有命令\n$/],
    [["jurnal"], /^没有命令“jurnal”；您是指“journal”吗？\n$/],
    [["journal", "--limit", "0"], /^错误：选项 '--limit <n>' 的值 '0' 无效。应为 1 到 1000000 的整数\n/],
    [["journal", "--josn"], /^错误：没有选项 '--josn'\n（您是指 --json 吗？）\n（greenhouse2mqtt --help/],
    [["journal", "--since"], /^错误：选项 '--since <time>' 缺少值\n/],
    [["read"], /^错误：缺少参数 'controller'\n/],
    [["cleanup", "all", "of", "it"], /^错误：'cleanup' 的参数太多：应为 0 个，得到 3 个。\n/],
    [["simulate", "--profile", "x"], /^错误：选项 '--profile <name>' 的值 'x' 无效。可选：default, list/],
    [["config", "add", "x"], /^错误：参数 'action' 的值 'add' 无效。应为 get, set, unset 之一\n/],
    [["check", "no-such.yaml"], /^发现 1 个问题\n$/],
    [
      ["set", "GH-0001", "roof", "open", "-c", "no-such.yaml"],
      /^no-such\.yaml: 没有这个文件；`greenhouse2mqtt init`/,
    ],
  ])("is that of what is wrong with %j", async (argv, said) => {
    const { err, code } = await greenhouse2mqtt(argv, { env: zh });
    expect(err).toMatch(said);
    expect(code).toBe(2);
  });

  it("changes nothing of what programs read", async () => {
    const file = await fileWith(hosts);
    for (const argv of [["schema"], ["schema", "--example"], ["journal", "--json"], ["doctor", "--json"]]) {
      const call = [...argv, "-c", file, "--data-dir", `${file}.data`];
      const stop = AbortSignal.abort();
      const plain = (text: string) => text.replace(/"at": "[^"]*"/, "");
      const english = await greenhouse2mqtt(call, { stop });
      const chinese = await greenhouse2mqtt(call, { stop, env: zh });
      expect(plain(chinese.out)).toBe(plain(english.out));
    }
  });

  it("is that of every help, whose columns stay in line", async () => {
    const { out } = await greenhouse2mqtt(["--help"], { env: zh });
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(20);
    for (const name of ["", ...commands.filter((one) => one !== "help")]) {
      const { out: help } = await greenhouse2mqtt([name, "--help"].filter(Boolean), { env: zh });
      const rows = [...help.matchAll(/^( {2}\S.*? {2,})(\S.*)$/gm)];
      expect(
        rows.filter(([, , text = ""]) => /[a-z]{3,} [a-z]{3,} [a-z]{3,}/.test(text) && !isChinese(text)),
      ).toEqual([]);
      const options = rows.filter(([line]) => /^ {2}-/.test(line));
      expect(new Set(options.map(([, term = ""]) => widthOf(term))).size).toBeLessThanOrEqual(1);
    }
  });
});

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
        for (const sentence of limitSentences(configuration as unknown as Configuration).map(inChinese)) {
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
        const all = alarmSentences(configuration as unknown as Configuration).map(inChinese);
        expect(all.flatMap((one) => english(one.replace(/alarms?\b|sensors/g, "")))).toEqual([]);
      }),
    );
  });

  it("of what a type and the values of an address look like", () => {
    const alike = likenessOf(["11000"]);
    expect(inChinese(alike.text)).toMatch(/，或/);
    expect([alike.text, typeName(2 as ParameterGroup)].map(inChinese).flatMap(english)).toEqual([]);
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
      about(configuration).map(inChinese),
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
    ["a quote that does not end", `${head}mqtt: { url: "x\n`],
    ["a tab", `${head}mqtt:\n\turl: x\n`],
    ["a key that stands twice", `${head}mirror: all\nmirror: all\n`],
    ["an alias, a tag and a second document", `${head}mirror: *a\nlog: !x {}\n---\na: b\n`],
    ["a letter of another alphabet", `${head}log：{ level: info }\n`],
    [
      "a variable and a secret that are not there",
      `${head}mqtt: { url: !env NOT_SET, password: !secret none }\n`,
    ],
    [
      "words, numbers and times",
      `${head}mirror: some\nlog: { level: loud }\nhttp: { port: 99999999, users: { a: b } }\n`,
    ],
    [
      "durations and flags",
      `${head}polling: { sensors: 60, controllers: 1s }\ncommands: { read_only: "yes", max_age: -1s }\n`,
    ],
    [
      "the broker",
      `${head}broker: { host: 0.0.0.0, users: [{ username: a }, 5], limits: { clients: -1 }, tls: { cert: a } }\n`,
    ],
    ["bands", `${head}alarms: { warmth: { low: 1 }, temperature: { low: 10, high: 5, deadband: -1 } }\n`],
    [
      "kinds",
      `${head}kinds: { sky: {}, skylight: { reads: { open: ["1"], close: ["1"] }, values: { fly: "x y" } } }\n`,
    ],
    ["a cluster without broker", `${head}cluster: { nats: [nats://a:4222], replicas: 9, name: "a b" }\n`],
    [
      "ways of messages",
      `${head}notify:
  time_zone: Mars/One
  daily: { at: 25:00, ways: [nobody] }
  ways: { a: {}, b: { ntfy: { topic: "x y" }, wecom: { key: "5" } }, c: { smtp: { host: "", to: [], from: x } } }\n`,
    ],
    [
      "actuators, sensors and parameters",
      `${head}controllers:
  GH-0001:
    id: East
    actuators:
      a: { kind: skylite, address: 101 }
      b: { kind: motor, address: "a b", travel_time: 5, limits: { for: 1s, at_most: 100h } }
      c: { kind: fan_wet_curtain, address: 6, tolerance: 3, running: x }
    sensors: { s: { kind: warmth, from: x, scale: zero, min: 5, max: 1 }, t: {} }
    parameters: { p: { address: 8, writable: { min: 5, max: 1, step: 0 } }, q: { address: 8 } }\n`,
    ],
    [
      "guards",
      `${head}weather: { wind: { topic: "a/#", field: 5, stale_after: 1 } }
controllers:
  GH-0001:
    actuators:
      a:
        kind: skylight
        address: 101
        limits:
          guards:
            u: { sensor: weather/wind, above: 12, clear_at: 15, allow: [fly, 0..10, 20..30], then: open }
            v: { above: 3 }
            w: { sensor: weather/none, above: 5, below: 3 }
            x: { sensor: weather/wind, moving: true }\n`,
    ],
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

describe("a refusal of the bridge", () => {
  it("is its words in the language, with the sentence that says more, and never an error of its own", () => {
    expect(inChinese(refusalText({ error: "bad_request", message: '"at" is no time.' }))).toBe(
      '请求内容有误。"at" is no time.',
    );
    expect(inChinese(refusalText({ error: "busy", message: "Too many." }))).toBe("请求太多，请稍后再试。");
    for (const error of [...refusalReasons, ...outcomes, "not_found", "role", "too_large"])
      expect(inChinese(refusalText({ error, message: "It was refused." }))).not.toBe("");
  });

  it("says of a result whose words are few what the bridge says", () => {
    const told = (reason: string | null, outcome: "refused" | "unconfirmed") =>
      inChinese(endedText({ outcome, reason, command: "open" })("120 is outside 0 to 100."));
    expect(told("out_of_range", "refused")).toBe("数值或时间超出允许范围。120 is outside 0 to 100.");
    for (const said of [told("no_read_back", "refused"), told(null, "unconfirmed")])
      expect(said).toMatch(/。120 is outside/);
  });
});

describe("the journal", () => {
  it("tells of an alarm what it names", () => {
    const reading = {
      name: { en: "Air temperature", zh: "空气温度" },
      ...{ value: 41, limit: 35, unit: "°C", quality: "good" },
    };
    const entry = {
      ...{
        seq: 1,
        at: "2026-11-28T10:00:00.000Z",
        kind: "alarm",
        type: "alarm_raised",
        controller: "gh-0001",
      },
      ...{
        actuator: null,
        by: null,
        until: null,
        severity: "error",
        alarm: "reading_high",
        facts: { reading },
      },
      what: "Air temperature is 41 °C, above 35 °C.",
    } as unknown as TimelineEntry;
    expect(journalTable([entry], { tell: inChinese }).text).toContain("空气温度 41 °C，高于 35 °C。");
    expect(journalTable([entry]).text).toContain("Air temperature is 41 °C, above 35 °C.");
    const bare = { ...entry, facts: undefined } as unknown as TimelineEntry;
    expect(journalTable([bare], { tell: inChinese }).text).toMatch(/高于限值/);
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
