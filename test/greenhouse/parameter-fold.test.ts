import { describe, expect, it } from "vitest";
import { foldParameter } from "../../src/greenhouse/fold-registers.js";
import type { Parameter } from "../../src/greenhouse/model.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ParameterSettings } from "../../src/greenhouse/settings.js";
import { register } from "../support/folding.js";

const unread = (over: Partial<ParameterSettings> = {}): Parameter => ({
  settings: { id: "ec", address: "501", scale: 1, ...over },
  register: null,
  value: null,
  quality: "stale",
});
const shown = (over: Partial<ParameterSettings>, raw: RawValue) =>
  foldParameter(unread(over), "501", register(raw)).value;

describe("a parameter shows its address, scaled", () => {
  it.each<[string, Partial<ParameterSettings>, RawValue, number | string]>([
    ["as it is", {}, 250, 250],
    ["a text that is a number", {}, "250", 250],
    ["white space around", {}, " 250 ", 250],
    ["a number as the platform pads it", {}, "250.0", 250],
    ["scaled", { scale: 0.01 }, 250, 2.5],
    ["scaled without a binary tail", { scale: 0.1 }, 3, 0.3],
    ["rounded to its decimals", { scale: 0.01, decimals: 1 }, 256, 2.6],
    ["0", { scale: 0.01 }, "0", 0],
    ["leading zeros", { scale: 0.01 }, "0250", 2.5],
    ["below 0", { scale: 0.5 }, "-3", -1.5],
    ["a text is shown as it is", { scale: 0.01 }, "auto", "auto"],
    ["a flag is a text", { scale: 0.01 }, true, "true"],
    ["an exponent is no number the platform was seen to write", {}, "1e3", "1e3"],
    ["empty", {}, "", ""],
  ])("%s", (_, over, raw, value) => expect(shown(over, raw)).toBe(value));

  it("another address changes nothing", () => {
    const one = unread();
    expect(foldParameter(one, "502", register(1))).toBe(one);
  });

  it("a read begun before the one held changes nothing", () => {
    const held = foldParameter(unread(), "501", register(5, 100));
    expect(foldParameter(held, "501", register(6, 99))).toBe(held);
    expect(foldParameter(held, "501", register(6, 101)).value).toBe(6);
  });
});
