import { describe, expect, it } from "vitest";
import type { AlarmFacts, Interlock } from "../../src/greenhouse/limits.js";
import { endedText, factText, guardInput, withInputNames } from "../../src/greenhouse/wording.js";
import { msg } from "../../src/language/text.js";
import { inChinese } from "../support/chinese.js";

const because = (interlock: Partial<Interlock>): string => {
  const none = { rule: "wind", input: "weather/wind", value: null, limit: null, quality: null, until: null };
  const ended = { outcome: "refused", reason: "interlock", command: "open" } as const;
  return inChinese(endedText({ ...ended, interlock: { ...none, ...interlock } }, "UTC")("It holds."));
};

describe("in Chinese, what keeps a command back", () => {
  const until = "2026-11-28T10:00:00.000Z";
  const wind = { value: 17.9, limit: 12, quality: "good" } as const;
  const rain = { rule: "wet", input: "weather/rain", value: "on", limit: "on", quality: "good" } as const;
  const twin = { rule: "twin", input: "shade", value: "moving", limit: true, quality: "good" } as const;

  it.each([
    [wind, "限制“wind”有效：风速为 17.9，限值 12。"],
    [{ ...wind, value: 8, until }, "限制“wind”有效：风速已变为 8。可在 2026-11-28 10:00:00 后再试。"],
    [rain, "限制“wet”有效：降雨为“开启”。"],
    [{ ...rain, value: "off", until }, "限制“wet”有效：降雨已变为 关闭。可在 2026-11-28 10:00:00 后再试。"],
    [twin, "限制“twin”有效：shade 正在动作。"],
    [
      { ...twin, value: "closed", until },
      "限制“twin”有效：shade 刚动作过。可在 2026-11-28 10:00:00 后再试。",
    ],
    [{ ...wind, quality: "stale" }, "限制“wind”：风速没有可靠数值（过期），限制一直有效。"],
    [{ quality: null }, "限制“wind”：风速没有可靠数值（未知），限制一直有效。"],
  ] as const)("is a guard by its name, what it sees and until when", (interlock, said) =>
    expect(because(interlock)).toBe(said),
  );

  it("is a hold or a lock, of somebody where that is known, and until when", () => {
    expect(because({ rule: "hold", input: null })).toBe("被另一条命令保持。");
    expect(because({ rule: "hold", input: null, value: "anna", until })).toBe(
      "被 anna 的命令保持。可在 2026-11-28 10:00:00 后再试。",
    );
    expect(because({ rule: "lock", input: null, value: "anna" })).toBe("已被 anna 锁定。");
  });
});

describe("in Chinese, an alarm", () => {
  const fact = (facts: AlarmFacts): string =>
    inChinese(factText({ type: "guard_unmet", message: "It was not obeyed.", facts }) ?? "");
  const sends = { input: "weather/wind", quality: "good", sends: "close" } as const;

  it("names every guard, and whose lock keeps back what they send", () =>
    expect(
      fact({
        guards: [
          { rule: "wind", ...sends },
          { rule: "gust", ...sends },
        ],
        locked_by: "anna",
      }),
    ).toBe("限制“wind”要发送“关闭”。限制“gust”要发送“关闭”。已被 anna 锁定。"));

  it("says commands in Chinese words", () => {
    expect(fact({ command: "on", ends_with: "off" })).toBe("“开启”应以“关闭”结束。");
    expect(fact({ command: "open", outcome: "failed" })).toMatch(/^“打开”：/);
    expect(fact({ command: "40", outcome: "failed" })).toMatch(/^“40 %”：/);
  });
});

describe("what a guard looks at", () => {
  const wind = guardInput({ input: { type: "weather", name: "wind_gust" }, from: "weather/wind_gust" });

  it("is called for people by its name, with a capital where the sentence begins, and for programs as configured", () => {
    const said = msg`${wind} is 14, and ${msg`${wind} is not good`}.`;
    expect(String(said)).toBe("weather/wind_gust is 14, and weather/wind_gust is not good.");
    expect(String(withInputNames(said))).toBe("Wind gust is 14, and wind gust is not good.");
    expect(String(withInputNames(msg`The guard "a" sends close: ${said}`))).toBe(
      'The guard "a" sends close: wind gust is 14, and wind gust is not good.',
    );
  });

  it("beside weather is called as it is configured", () =>
    expect(guardInput({ input: { type: "actuator", controller: null, id: "shade" }, from: "shade" })).toBe(
      "shade",
    ));
});
