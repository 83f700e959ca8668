import { describe, expect, it } from "vitest";
import { alarmTitle } from "../../src/greenhouse/wording.js";
import { msg } from "../../src/language/text.js";
import { messageOf, type Wording } from "../../src/notify/message.js";
import type { Notice, ShownAlarm } from "../../src/notify/plan.js";
import { inChinese } from "../support/chinese.js";

const since = "2026-01-19T20:05:00.000Z";
const wording = (language: "en" | "zh"): Wording => ({
  ...{ name: null, language, timeZone: "Asia/Shanghai", tell: language === "zh" ? inChinese : String },
  nameOf: (controller, actuator, sensor) =>
    [
      controller,
      ...(sensor === undefined ? [] : [language === "zh" ? "空气温度" : "Air temperature"]),
      ...(actuator === null ? [] : [actuator]),
    ].join(" / "),
});

const cold = (controller: string, value: number, limit: number): ShownAlarm => ({
  ...{ id: `reading_low.${controller}.air`, type: "reading_low", state: "active", since },
  ...{ severity: limit < 5 ? "error" : "warning", controller, actuator: null, sensor: "air", by: null },
  message: `Air temperature is ${value} °C, below ${limit} °C.`,
  remedy: "Check heating.",
  facts: {
    reading: { name: { en: "Air temperature", zh: "空气温度" }, value, limit, unit: "°C", quality: "good" },
  },
});

const offline: ShownAlarm = {
  ...{
    id: "controller_offline.west",
    type: "controller_offline",
    state: "active",
    since,
    severity: "warning",
  },
  ...{ controller: "west", actuator: null, by: null },
  ...{ message: "The platform says that it is offline.", remedy: "Check its power." },
};
const flood: ShownAlarm = {
  ...{ id: "flood", type: "flood", state: "active", since, severity: "error" },
  ...{ controller: null, actuator: null, by: null },
  ...{ message: "More than 10 alarms came.", remedy: "Look at power first." },
};

const notice = (raised: readonly ShownAlarm[], more: Partial<Notice> = {}): Notice => ({
  ...{ raised, over: [], flood: null, worst: null, missed: null },
  ...more,
});
const said = (language: "en" | "zh", what: Notice, on: readonly ShownAlarm[] = []) => {
  const { title, text } = messageOf(what, on, 0, wording(language));
  return [title, ...text.split("\n")];
};

describe("a message", () => {
  it("of one reading says where, what and what to do", () => {
    expect(said("en", notice([cold("east", 1.5, 2)]))).toEqual([
      "east / Air temperature: Too low",
      "Air temperature is 1.5 °C, below 2 °C. Check heating.",
      "Since 2026-01-20 04:05.",
    ]);
    expect(said("zh", notice([cold("east", 1.5, 2)]))[1]).toMatch(/^空气温度 1.5 °C，低于 2 °C。请/);
  });

  it("of several has a line each, the house first, and says what to do once", () => {
    expect(said("en", notice([cold("east", 1.5, 2), cold("west", 4.1, 5), offline]))).toEqual([
      "3 alarms: east / Air temperature: Too low",
      "• east: Air temperature is 1.5 °C, below 2 °C.",
      "• west: Air temperature is 4.1 °C, below 5 °C.",
      "• west: Controller offline. The platform says that it is offline.",
      "Check heating.",
      "Check its power.",
      "Since 2026-01-20 04:05.",
    ]);
  });

  it("of a flood of readings begins with the worst, and says what to do about them", () => {
    const many = [cold("east", 1.5, 2), ...Array.from({ length: 11 }, (_, n) => cold(`h${n}`, 4.1, 5))];
    const lines = said("en", notice([flood], { flood: 12 }), many);
    expect(lines.slice(0, 4)).toEqual([
      "12 alarms: east / Air temperature: Too low",
      "12 alarms are on. The worst:",
      "• east: Air temperature is 1.5 °C, below 2 °C.",
      "• h0: Air temperature is 4.1 °C, below 5 °C.",
    ]);
    expect(lines.slice(-4)).toEqual([
      "and 4 more",
      "Check heating.",
      "More than 10 alarms came.",
      "Since 2026-01-20 04:05.",
    ]);
  });

  it.each([
    [undefined, "no message got out", "期间消息未能"],
    [true as const, "few messages got out", "期间只有少数消息"],
  ])("of what was missed says whether others got out meanwhile: %s", (hasGaps, english, chinese) => {
    const alarms = [{ ...offline, from: Date.parse(since), until: Date.parse(since) + 60_000 }];
    const missed = { since: Date.parse(since), until: Date.parse(since) + 3_600_000, hasGaps, alarms };
    const end = (language: "en" | "zh") => said(language, notice([], { missed })).at(-1);
    expect(end("en")).toContain(`From 2026-01-20 04:05 to 2026-01-20 05:05 ${english} this way.`);
    expect(end("zh")).toContain(`2026-01-20 04:05 至 2026-01-20 05:05 ${chinese}`);
  });

  it("of alarms with the same words says them once, behind the first names, and calls the weather by its name", () => {
    const blind = (actuator: string): ShownAlarm => ({
      ...{
        id: `guard_blind.east.${actuator}`,
        type: "guard_blind",
        state: "active",
        since,
        severity: "warning",
      },
      ...{ controller: "east", actuator, by: null, remedy: "Check the sensor." },
      message: 'weather/wind has no good value (stale), so the guard "wind" holds.',
      facts: { said: 'Wind has no good value (stale), so the guard "wind" holds.' },
    });
    const all = ["left", "right", "side", "roof", "door"].map(blind);
    const [, ...lines] = said("en", notice([flood], { flood: 6 }), [...all, offline]);
    expect(lines.slice(0, 3)).toEqual([
      "6 alarms are on. The worst:",
      '• east / left, east / right, east / side, and 2 more: A guard has no value. Wind has no good value (stale), so the guard "wind" holds.',
      "• west: Controller offline. The platform says that it is offline.",
    ]);
    expect(said("en", notice(all))[0]).toBe("5 alarms: east / left: A guard has no value");
    expect(said("en", notice(all))).toHaveLength(4);
  });

  it("of messages that do not get out names the ways and the causes in each language", () => {
    const problem = msg`it was not reached (${msg`no answer within 20 s`})`;
    const ways = [
      { name: "phone", service: "ntfy", problem },
      { name: "boss", service: "webhook", problem },
    ];
    const failed: ShownAlarm = {
      ...{ id: "notify_failed", type: "notify_failed", state: "active", since, severity: "warning" },
      ...{ controller: null, actuator: null, by: null, remedy: "Check the network.", facts: { ways } },
      message: `phone (ntfy): ${String(problem)}; boss (webhook): ${String(problem)}.`,
    };
    expect(said("en", notice([failed]))[1]).toBe(
      "phone (ntfy): it was not reached (no answer within 20 s); boss (webhook): it was not reached (no answer within 20 s). Check the network.",
    );
    expect(said("zh", notice([failed]))[1]).toContain(
      "“phone”（ntfy）：无法连接（20 秒内没有回应）。“boss”（webhook）：无法连接（20 秒内没有回应）。",
    );
  });

  it("of a flood of several kinds looks for their one cause", () =>
    expect(said("en", notice([flood], { flood: 2 }), [offline, cold("east", 4, 5)]).slice(-2)).toEqual([
      "More than 10 alarms came. Look at power first.",
      "Since 2026-01-20 04:05.",
    ]));

  it("in Chinese has no Latin letter but those of names and units", () => {
    const texts = [
      said("zh", notice([cold("east", 1.5, 2), offline])),
      said("zh", notice([flood], { flood: 2 }), [cold("east", 1.5, 2), cold("west", 1, 2)]),
      inChinese(alarmTitle("flood")),
    ].flat();
    expect(texts.filter((text) => /[A-Za-z]/.test(text.replace(/east|west|°C/g, "")))).toEqual([]);
  });
});
