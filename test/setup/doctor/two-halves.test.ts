import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import { msg, row } from "../../../src/language/text.js";
import { lineOf } from "../../../src/setup/doctor/finding.js";
import { platformVerdict } from "../../../src/setup/doctor/platform-checks.js";
import { inChinese } from "../../support/chinese.js";

const facts = { kind: "timeout", host: "business", operation: "GET /x", sent: true } as const;
const slow = msg`no whole answer within ${15} s; the platform is slow or the line is bad`;

describe("what the platform did not do", () => {
  it("is told apart from what to do about it, in each language", () => {
    const { summary, remedy } = platformVerdict(new PlatformError(slow, facts)) ?? {};
    expect([summary, remedy].map(String)).toEqual([
      "no whole answer within 15 s",
      "the platform is slow or the line is bad",
    ]);
    expect([summary ?? "", remedy ?? ""].map(inChinese).join("；")).toBe(inChinese(slow));
    expect(inChinese(summary ?? "")).not.toBe(String(summary));
  });

  it("a semicolon of the platform's own sentence is none of ours", () => {
    const platformMessage = "busy; wait；please";
    const text = row`"${platformMessage}"; ${slow}`;
    const verdict = platformVerdict(new PlatformError(text, { ...facts, platformMessage }));
    expect(String(verdict?.summary)).toBe(`"${platformMessage}"`);
    expect(inChinese(verdict?.remedy ?? "")).toBe(inChinese(slow));
  });

  it("is one line, whatever the platform has put into it, with the joint of the language", () => {
    const finding = { check: "token", status: "failed", summary: "one\ntwo", remedy: "three" } as const;
    expect(lineOf(finding, String)).toMatch(/^failed {3}token +one two; three$/);
    expect(lineOf(finding, inChinese)).toMatch(/^失败 +token +one two；three$/);
  });
});
