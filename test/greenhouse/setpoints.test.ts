import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readNumberSetpoint, readRawSetpoint } from "../../src/greenhouse/command/setpoints.js";

const ec = { type: "number", min: 0, max: 5, step: 0.1, scale: 0.01 } as const;
const percent = { type: "number", min: 10, max: 90, step: 5, scale: 1 } as const;

describe("a writable parameter", () => {
  it.each([
    ["2.5", ec, "2.5", "250"],
    ["2.50", ec, "2.5", "250"],
    ["0", ec, "0", "0"],
    ["-0", ec, "0", "0"],
    ["5", ec, "5", "500"],
    ["0.3", ec, "0.3", "30"],
    ["4.1", ec, "4.1", "410"],
    ["0.30000000000000004", ec, "0.3", "30"],
    ["2.1999999999999997", ec, "2.2", "220"],
    ["10", percent, "10", "10"],
    ["85.0", percent, "85", "85"],
  ])("%s is sent as round(x / scale) in digits", (text, range, canonical, value) =>
    expect(readNumberSetpoint(text, range)).toEqual({ text: canonical, value }),
  );

  it.each([
    ["5.1", ec],
    ["-0.1", ec],
    ["2.55", ec],
    ["12", percent],
    ["95", percent],
    ["1000000000000000", percent],
    ["-9007199254740991", percent],
    ["1".repeat(400), percent],
    ["2000000000000000", { ...percent, max: 1e16, scale: 0.01 }],
    ["-5", { ...percent, min: -10 }],
  ])(
    "%s is out of range: outside the limits, of whatever size, between two steps, or without exact digits",
    (text, range) => expect(readNumberSetpoint(text, range)).toMatchObject({ reason: "out_of_range" }),
  );

  it.each(["", "open", "01", "1e1", "0x1", "1,5", "+1", ".5", "5.", "NaN", "Infinity", "1 ", "2.5 mS"])(
    "%j is a bad payload: no plain number",
    (text) => expect(readNumberSetpoint(text, ec)).toMatchObject({ reason: "bad_payload" }),
  );

  it("whatever is sent reads back, scaled, as a value within the limits", () =>
    fc.assert(
      fc.property(
        fc.constantFrom(0.01, 0.1, 1, 2, 10),
        fc.integer({ min: 0, max: 50 }),
        fc.constantFrom(0.1, 0.5, 1, 5),
        fc.oneof(
          fc.double({ min: -200, max: 400, noNaN: true }).map((x) => x.toFixed(2)),
          fc.string(),
          fc.integer({ min: -20, max: 400 }).map(String),
        ),
        (scale, min, step, text) => {
          const read = readNumberSetpoint(text, { type: "number", min, max: min + 100 * step, step, scale });
          if ("reason" in read) return;
          expect(read.value).toMatch(/^\d{1,9}$/);
          const shown = Number(read.value) * scale;
          expect(Math.abs(shown - Number(text))).toBeLessThanOrEqual(scale / 2 + 1e-9);
        },
      ),
      { numRuns: 5_000 },
    ));
});

describe("a raw address", () => {
  it("takes one control value as it is written", () =>
    expect(readRawSetpoint("00000100")).toEqual({ text: "00000100", value: "00000100" }));

  it.each(["open", "null", "true", "OFF", "on_1"])("takes no word: %s", (text) =>
    expect(readRawSetpoint(text)).toMatchObject({ reason: "unknown_command" }),
  );

  it.each(["", "a b", "开", "1".repeat(65), "1\u0000", "-1", "1.5", "0x10", "#1"])(
    "%j is a bad payload",
    (text) => expect(readRawSetpoint(text)).toMatchObject({ reason: "bad_payload" }),
  );
});
