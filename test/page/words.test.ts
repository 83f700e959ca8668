import { afterEach, describe, expect, it } from "vitest";
import { type CommandResult, outcomes, refusalReasons } from "../../src/greenhouse/command/outcomes.js";
import type { AlarmFacts, AlarmType, Interlock } from "../../src/greenhouse/limits.js";
import { alarmTitles } from "../../src/greenhouse/alarms.js";
import { words as englishCodes } from "../../locales/en.json";
import { words as chineseCodes } from "../../locales/zh.json";
import { saidFor } from "../../src/page/wording.js";
import { patchWith } from "../../src/page/live.js";
import {
  alarmText,
  errorSentence,
  findingText,
  limitReasons,
  resultSentences,
  ruleText,
  whoText,
} from "../../src/page/sentences.js";
import { ageText, language, lengthText, t, weatherText } from "../../src/page/words.js";

afterEach(() => (language.value = "en"));

describe("the texts of the page", () => {
  it("tell ages in the largest unit that is over, and none of what is ahead", () => {
    const now = Date.parse("2026-07-01T12:00:00Z");
    expect(ageText("2026-07-01T11:59:30Z", now)).toMatch(/^30 ?s/);
    expect(ageText("2026-07-01T10:30:00Z", now)).toMatch(/^1 ?h/);
    expect(ageText("2026-06-28T11:00:00Z", now)).toMatch(/^3 ?d/);
    expect(ageText("2026-07-01T11:59:51Z", now)).toBe("now");
    expect(ageText("2026-07-01T12:00:09Z", now)).toBe("now");
    expect(ageText(null, now)).toBe("never");
  });
});

const ended = (over: Partial<CommandResult>): CommandResult => ({
  ...{ id: "1", controller: "east", actuator: "roof", command: "open", value: "10010", outcome: "refused" },
  ...{ reason: null, message: "The bridge says why.", request_id: null, by: null, via: null, steps: [] },
  ...{ read_back: "10001", received_at: "", sent_at: null, finished_at: "", duration_ms: 0, repeated: false },
  ...{ interlock: null, ...over },
});

const isChinese = (text: string) => /\p{Script=Han}/u.test(text) && !/\{|undefined|null/.test(text);

describe("what the bridge says in codes", () => {
  const reasons = [
    ...refusalReasons.filter((one) => one !== "interlock"),
    ...["before_sending", "after_sending", "unauthorized", "mode_not_confirmed", "lead_in_not_confirmed"],
    ...["not_sent", "expired_midway"],
  ];

  it("is one word in either language, also as a result's outcome", () => {
    expect(Object.entries(englishCodes).filter(([, word]) => word === "" || isChinese(word))).toEqual([]);
    expect(Object.entries(chineseCodes).filter(([, word]) => !isChinese(word))).toEqual([]);
    expect(outcomes.filter((one) => !(one in englishCodes))).toEqual([]);
  });

  it.each(outcomes)("tells a result that is %s in Chinese, for each reason", (outcome) => {
    language.value = "zh";
    for (const reason of [null, ...reasons]) {
      const [first, ...more] = resultSentences(ended({ outcome, reason }));
      expect([reason, isChinese(first?.text ?? "")]).toEqual([reason, true]);
      // What the code does not say follows in English, and is marked as such.
      expect(more.every(({ isForeign }) => isForeign === true)).toBe(true);
    }
  });

  it("is in Chinese the bridge's own sentence, where that came in Chinese: it says the most", () => {
    language.value = "zh";
    const said = "450 超出 0 到 100。";
    expect(resultSentences(ended({ reason: "out_of_range", message: said }))).toEqual([{ text: said }]);
  });

  it("stands in English as the bridge has written it", () => {
    expect(resultSentences(ended({}))).toEqual([{ text: "The bridge says why.", isForeign: false }]);
    expect(resultSentences(ended({ outcome: "confirmed", message: null }))[0]?.text).toMatch(/shows it/);
  });

  it("of the platform's refusal keeps the platform's own words beside its code", () => {
    language.value = "zh";
    const step = {
      purpose: "value",
      address: "1",
      value: "1",
      attempts: 1,
      code: "500",
      read_back: null,
    } as const;
    expect(resultSentences(ended({ outcome: "rejected", steps: [step] }))).toEqual([
      { text: "平台拒绝了命令（代码 500）。" },
      { text: "The bridge says why.", isForeign: true },
    ]);
  });

  it.each([
    ["rain", "on", "raining", "有雨"],
    ["rain", "off", "dry", "无雨"],
    ["roof", "on", "On", "开启"],
  ])("says of the input %s that is %s what a grower says", (name, value, english, inChinese) => {
    language.value = "en";
    expect(weatherText(name, value)).toBe(english);
    language.value = "zh";
    expect(weatherText(name, value)).toBe(inChinese);
  });

  it("names the rule that keeps something back, its input and its number", () => {
    language.value = "zh";
    const wind: Interlock = {
      ...{ rule: "wind", input: "weather/wind", value: 17.9, limit: 12, quality: "good", until: null },
    };
    const rain: Interlock = { ...wind, rule: "rain", input: "weather/rain", value: "on", limit: "on" };
    const blind: Interlock = { ...wind, value: null, quality: "stale" };
    const allowed = { words: [], degrees: null, because: [wind, rain, blind] };
    expect(limitReasons({ allowed })).toEqual([
      "风速为 17.9，限值 12。",
      "正在下雨。",
      "风速没有可靠数值（过期），限制一直有效。",
    ]);
    language.value = "en";
    expect(limitReasons({ allowed })[0]).toBe("Wind is 17.9, and the limit is 12.");
  });

  describe("of a guard, as a person would say it", () => {
    const until = new Date(2026, 6, 1, 15, 57).toISOString();
    expect(ruleText({ rule: "hold", value: null })).toBe("Held by another command.");
    const wind = { rule: "wind", input: "weather/wind", limit: 12, quality: "good", until: null } as const;
    const rain = { rule: "rain", input: "weather/rain", limit: "on", quality: "good" } as const;
    const frost = { rule: "frost", input: "outside", limit: 2, quality: "good", until: null } as const;
    const named = {
      weather: { wind: { value: 1, unit: "m/s", quality: "good", received_at: null } },
      sensors: { outside: { label: { en: "Outside", zh: "室外" }, unit: "°C" } },
      actuators: { twin: { name: "Right skylight" } },
    } as never;
    const guards = {
      wind: { condition: "above", clear_at: 9, clear_after_s: 600 },
      frost: { condition: "below", clear_at: 4, clear_after_s: 600 },
      rain: { condition: "is", clear_after_s: 300 },
      twin: { condition: "moving", clear_after_s: 60 },
    } as const;
    it.each([
      [{ ...wind, value: 17.9 }, "Wind is 17.9 m/s, above the limit of 12 m/s."],
      [{ ...wind, value: 10.2 }, "Wind is 10.2 m/s; waiting until it is down to 9 m/s."],
      [
        { ...wind, value: 3, until },
        /^Wind is 3 m\/s again; waiting 10 mins at 9 m\/s or less, until .*15:57\.$/,
      ],
      [{ ...frost, value: 1 }, "Outside is 1 °C, below the limit of 2 °C."],
      [{ ...frost, value: 3 }, "Outside is 3 °C; waiting until it is up to 4 °C."],
      [{ ...rain, value: "on", until: null }, "It is raining."],
      [{ ...rain, value: "off", until }, /^It rained; waiting 5 mins without rain, until .*15:57\.$/],
      [{ ...wind, value: 3, quality: "stale" }, "Wind: no value to rely on (stale), so this stays limited."],
      [{ rule: "twin", input: "twin", value: true, limit: true }, "Right skylight is moving."],
    ] as const)("%j", (law, sentence) => {
      const said = ruleText(law, named, guards);
      if (typeof sentence === "string") expect(said).toBe(sentence);
      else expect(said).toMatch(sentence);
      language.value = "zh";
      expect(isChinese(ruleText(law, named, guards))).toBe(true);
    });

    it("names what stays allowed, and stop only where the actuator has one", () => {
      const allowed = { words: ["close"], degrees: { min: 0, max: 10 }, because: [{ ...wind, value: 18 }] };
      const reasons = (stop: boolean) => {
        const of = { allowed, words: ["open", "close", "auto"], degrees: true, guards, stop };
        return limitReasons(of as never, named);
      };
      expect(reasons(false)).toContain("Allowed now: Close, 0 to 10 %.");
      expect(reasons(true)).toContain("Allowed now: Close, 0 to 10 %, Stop.");
    });
  });

  describe("of an alarm", () => {
    const guard = { rule: "wind", input: "weather/wind", quality: "stale", sends: null } as const;
    const reading = {
      ...{ name: { en: "Air temperature", zh: "空气温度" }, value: 2.1, limit: 5, unit: "°C" },
      quality: "good",
    } as const;
    /** What each type names, the Chinese for it, and whether the bridge's own sentence says more. */
    const rows: Readonly<Record<AlarmType, readonly [facts: AlarmFacts, names: string, isMore: boolean]>> = {
      guard_blind: [{ guards: [guard] }, "风速没有可靠数值（过期），限制一直有效。", false],
      guard_unmet: [{ guards: [{ ...guard, sends: "close" }] }, "限制“wind”要发送“关闭”。", true],
      lease_overrun: [{ command: "on", ends_with: "off" }, "“开启”应以“关闭”结束。", true],
      command_problem: [{ command: "45", outcome: "unconfirmed" }, "“45 %”：未确认。", false],
      not_running: [{}, "", true],
      reading_low: [{ reading }, "空气温度 2.1 °C，低于 5 °C。", false],
      reading_high: [
        { reading: { ...reading, value: 36, limit: 35, quality: "stale" } },
        "空气温度 36 °C，高于 35 °C。最新读数为“过期”，目前是否仍然如此无法判断。",
        false,
      ],
      readings_overdue: [{ late: ["sensors", "actuator/roof"] }, "迟到：读数、执行机构 / roof。", false],
      controller_offline: [{}, "", false],
      platform_unreachable: [{}, "", false],
      unauthorized: [{}, "", false],
      journal_unavailable: [{}, "", true],
      cluster: [{}, "", true],
      other_bridge: [{}, "", false],
      state_lost: [{}, "", true],
      crash_loop: [{}, "", true],
      notify_failed: [
        { ways: [{ name: "phone", service: "ntfy", problem: "它拒绝消息" }] },
        "“phone”（ntfy）：它拒绝消息。",
        false,
      ],
      settings_returned: [{}, "", true],
      birth_too_large: [{}, "", true],
      duplicate_node: [{}, "", true],
      flood: [{}, "", false],
    };
    const told = (type: AlarmType, facts?: AlarmFacts) =>
      alarmText({
        ...{ id: type, type, state: "active", since: "", severity: "error", controller: null, name: null },
        ...{ actuator: null, by: null, message: "The message.", remedy: "The remedy.", facts },
      });
    const types = Object.keys(rows) as readonly AlarmType[];

    it("a reading within the deadband says in Chinese that it is back", () => {
      language.value = "zh";
      const [first] = told("reading_low", { reading: { ...reading, value: 5 } }).sentences;
      expect(first?.text).toBe("空气温度 已回到 5 °C，限值 5 °C。");
    });

    it("a reading that ended with its sensor says so in Chinese", () => {
      language.value = "zh";
      const [first] = told("reading_low", {
        reading: { ...reading, quality: "stale", gone: true },
      }).sentences;
      expect(first?.text).toBe(
        "空气温度 2.1 °C，低于 5 °C。报警就此结束：控制器应答已有一天不再列出这个传感器，它被改名、移除或不再显示。",
      );
    });

    it.each(types)("%s has a title in both languages, and in English the bridge's own sentences", (type) => {
      const { title, sentences } = told(type, rows[type][0]);
      expect([title, isChinese(title)]).toEqual([alarmTitles[type], false]);
      expect(sentences).toEqual([
        { text: "The message.", isForeign: false },
        { text: "The remedy.", isForeign: false },
      ]);
      language.value = "zh";
      expect(isChinese(told(type).title)).toBe(true);
    });

    it.each(types)("%s names in Chinese what it is about, and what to do", (type) => {
      language.value = "zh";
      const [facts, names, isMore] = rows[type];
      const { sentences } = told(type, facts);
      const own = sentences.filter(({ isForeign }) => !isForeign).map(({ text }) => text);
      expect(own.slice(0, -1)).toEqual(names === "" ? [] : [names]);
      expect(own.every(isChinese)).toBe(true);
      expect(sentences.some(({ isForeign }) => isForeign)).toBe(isMore);
    });

    it.each(types)("%s that names nothing, as an earlier version kept it, tells the bridge's own", (type) => {
      language.value = "zh";
      const [facts, , isMore] = rows[type];
      const { sentences } = told(type);
      expect(sentences.some(({ isForeign }) => isForeign)).toBe(isMore || Object.keys(facts).length > 0);
    });

    it("of before a restart says so in Chinese, and not what follows of it", () => {
      language.value = "zh";
      const { sentences } = told("other_bridge", { carried: true });
      expect(sentences).toEqual([{ text: saidFor("zh", "carried") }]);
    });

    it("about a command keeps the platform's own words", () => {
      language.value = "zh";
      const { sentences } = told("command_problem", { command: "open", outcome: "rejected" });
      expect(sentences.at(-1)).toEqual({ text: "The message.", isForeign: true });
    });
  });

  it("of doctor has a title, and is marked as English where Chinese was wanted and not had", () => {
    const finding = { check: "shapes.device", status: "failed", summary: "No.", remedy: "Do." } as const;
    expect(findingText(finding)).toEqual({
      title: "Answers can be read (device)",
      sentences: [{ text: "No.; Do.", isForeign: false }],
    });
    language.value = "zh";
    expect(findingText(finding).sentences).toEqual([{ text: "No.；Do.", isForeign: true }]);
    expect(findingText({ ...finding, summary: "没有", remedy: "请做" })).toEqual({
      title: "平台数据格式 (device)",
      sentences: [{ text: "没有；请做", isForeign: false }],
    });
  });

  it("is a reason why something was not done; what has no code is marked as English", () => {
    language.value = "zh";
    expect(errorSentence({ error: "busy", message: "Too many." })).toEqual({
      text: "请求太多，请稍后再试。",
    });
    expect(errorSentence({ error: "ben has locked it." })).toEqual({
      text: "ben has locked it.",
      isForeign: true,
    });
    expect(errorSentence(null).text).toBe(t("not_sent"));
  });

  it("says who gave a command that nobody gave", () => {
    expect(["anna", "rule wind", "lease 142cd2cc"].map(whoText)).toEqual([
      "anna",
      "guard “wind”",
      "end of its time",
    ]);
  });

  it("tells lengths of time in the units of the language", () => {
    expect([lengthText(102_840), lengthText(60), lengthText(5)]).toEqual([
      "1 day 4 hrs 34 mins",
      "1 min",
      "5 secs",
    ]);
    // Nobody sends 90 seconds for a minute.
    expect([lengthText(90), lengthText(3_661)]).toEqual(["1 min 30 secs", "1 hr 1 min"]);
    language.value = "zh";
    expect(lengthText(102_840)).toBe("1天 4小时 34分钟");
  });
});

describe("a patched document", () => {
  it("is another where it changed, and the same object where it did not", () => {
    const before = { a: { x: 1, gone: 2 }, b: { y: 1 } };
    const after = patchWith(before, { a: { x: 3, gone: null } });
    expect(after).toEqual({ a: { x: 3 }, b: { y: 1 } });
    expect((after as typeof before).b).toBe(before.b);
  });
});
