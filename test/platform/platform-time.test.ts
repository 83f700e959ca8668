import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeReader } from "../../src/platform/time.js";
import { zoneOffset } from "../../src/runtime/zone.js";

const near = Date.parse("2026-03-01T08:00:00Z");
const shanghai = timeReader(zoneOffset("Asia/Shanghai"));
const berlin = timeReader(zoneOffset("Europe/Berlin"));
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

describe("times of the platform", () => {
  const spellings =
    "2026-03-01 16:00:00|2026-03-01 16:00|2026/3/1 16:00:00|2026.03.01 16:00:00|2026年03月01日 16:00:00|2026年3月1日16:00|" +
    "2026-03-01T16:00:00|2026-03-01T08:00:00Z|2026-03-01T16:00:00+08:00|2026-03-01T16:00:00.000+0800|2026-03-01 03:00:00 -05|" +
    "20260301160000| 2026-03-01 16:00:00 |1772352000|1772352000000|1772352000000000|1772352000000000000|" +
    "2026-03-01T16:00:00+08:00[Asia/Shanghai]|2026-03-01T08:00:00Z[UTC]|2026-03-01 16:00:00 +0800 CST|2026-03-01 04:00:00 PM|" +
    "Mar 1, 2026, 4:00:00 PM|Mar 1, 2026 4:00:00 PM|March 1, 2026 4:00 PM|Sun, 01 Mar 2026 08:00:00 GMT|1 Mar 2026 16:00:00|" +
    "Sun Mar 01 2026 16:00:00 GMT+0800 (中国标准时间)|01-Mar-2026 16:00:00|/Date(1772352000000)/";
  it.each([...spellings.split("|"), 1_772_352_000, 1_772_352_000_000])("%j is that instant", (value) =>
    expect(shanghai(value, near)).toBe(near),
  );

  it.each([
    ["2026-03-01 16:00:00.250", 250],
    ["2026-03-01 16:00:00,5", 500],
    ["2026-03-01T08:00:00.123456Z", 123],
  ])("%s has its milliseconds", (text, ms) => expect(shanghai(text, near)).toBe(near + ms));

  const none =
    "2026-03-01|16:00:00|2026-02-30 10:00:00|2026-13-01 10:00:00|2026-03-01 25:00:00|0000-00-00 00:00:00||--|yesterday|" +
    "2026-03-01 16:00:00 PM|01/03/2026 16:00:00|Sun Mar 01 16:00:00 CST 2026|Foo 1, 2026 4:00:00 PM";
  const odd = [23.5, 0, Number.NaN, 1e300, null, true, ["2026-03-01 16:00:00"], { time: 1_772_352_000 }];
  it.each([...none.split("|"), ...odd, "2026-03-01 16:00:00".repeat(1_000)])("%j is none", (value) =>
    expect(shanghai(value, near)).toBeNull(),
  );

  it.each([
    ["2026-01-15 12:00:00", near, "2026-01-15T11:00:00.000Z"],
    ["2026-07-15 12:00:00", near, "2026-07-15T10:00:00.000Z"],
    ["2026-03-29 01:59:59", near, "2026-03-29T00:59:59.000Z"],
    ["2026-03-29 03:00:00", near, "2026-03-29T01:00:00.000Z"],
    ["2026-03-29 02:30:00", near, "2026-03-29T01:30:00.000Z"],
    ["2026-10-25 02:30:00", Date.parse("2026-10-25T00:31:00Z"), "2026-10-25T00:30:00.000Z"],
    ["2026-10-25 02:30:00", Date.parse("2026-10-25T01:31:00Z"), "2026-10-25T01:30:00.000Z"],
  ])("around the change of summer time %s is the instant that fits", (text, nearAt, expected) =>
    expect(iso(berlin(text, nearAt))).toBe(expected),
  );

  it("China's zone is what Intl says of it, since and before its last summer time", () => {
    const says = new Intl.DateTimeFormat("en-US", { timeZone: "Asia/Shanghai", timeZoneName: "longOffset" });
    const offset = zoneOffset("Asia/Shanghai");
    const last = Date.UTC(1991, 8, 15);
    const hours = Array.from({ length: 96 }, (_, n) => last + (n - 48) * 3_600_000);
    const years = Array.from({ length: 700 }, (_, n) => Date.UTC(1975, 0, 1) + n * 61 * 86_400_000);
    for (const at of [...hours, ...years])
      expect(says.format(at)).toContain(`GMT+0${offset(at) / 3_600_000}:00`);
  });

  it("any instant written as a zone's wall time is read back, to the hour that exists twice", () => {
    for (const zone of [
      "Asia/Shanghai",
      "Europe/Berlin",
      "America/St_Johns",
      "Australia/Lord_Howe",
      "Asia/Kathmandu",
    ]) {
      const offset = zoneOffset(zone);
      const read = timeReader(offset);
      fc.assert(
        fc.property(fc.integer({ min: 1_500_000_000, max: 1_900_000_000 }), (seconds) => {
          const at = seconds * 1000;
          const text = new Date(at + offset(at)).toISOString().slice(0, 19).replace("T", " ");
          expect(read(text, at)).toBe(at);
        }),
        { numRuns: 300 },
      );
    }
  });

  it("any text is an instant or none, never a crash", () => {
    const unit = fc.constantFrom(...Array.from("0123456789-/:. TZ+年月日,"));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        const at = shanghai(text, near);
        expect(at === null || Number.isSafeInteger(at)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
