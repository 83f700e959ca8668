import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPayload } from "../../src/commands/payload.js";
import { kindRows, valueTable } from "../../src/greenhouse/actuator-kinds.js";
import { readNumberSetpoint, readRawSetpoint } from "../../src/greenhouse/command/setpoints.js";
import { readWanted, type Target, targetOf } from "../../src/greenhouse/command/words.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";

const skylight: Target = { kind: "skylight", values: {}, address: "101" };
const fan: Target = { kind: "fan_wet_curtain", values: {}, address: "140" };
const motor: Target = { kind: "motor", values: { open: "00000001" }, address: "300" };
const stoppable: Target = { ...skylight, stop: { address: "109", value: "00000100" } };
const bytes = (text: string) => new TextEncoder().encode(text);

const understood = (text: string, target: Target) => {
  const payload = readPayload(bytes(text));
  return "reason" in payload ? payload : readWanted(payload.command, target);
};

const word = (value: string, name: string) => ({ type: "word", word: name, value });

describe("a command's text", () => {
  it.each<[Target, string, unknown]>([
    [skylight, "open", word("10010", "open")],
    [skylight, "OPEN", word("10010", "open")],
    [skylight, "closed", word("10001", "close")],
    [skylight, "10010", word("10010", "open")],
    [skylight, "auto", word("11000", "auto")],
    [skylight, "0", { type: "position", degree: 0 }],
    [skylight, "100", { type: "position", degree: 100 }],
    [fan, "00000", word("00000", "off")],
    [fan, "11000", word("11000", "fans_1_2")],
    [motor, "stop", { type: "stop", address: "300", value: "00000100" }],
    [{ ...fan, values: { auto: "11111" } }, "auto", word("11111", "auto")],
    [{ ...skylight, values: { vent: "10011" } }, "VENT", word("10011", "vent")],
    [{ ...skylight, values: { vent: "10011" } }, "10011", word("10011", "vent")],
    [stoppable, "STOP", { type: "stop", address: "109", value: "00000100" }],
  ])("%# %s is taken as it says", (target, text, wanted) => expect(readWanted(text, target)).toEqual(wanted));

  it.each<[Target, string, string[]]>([
    [skylight, "out_of_range", ["101", "-5"]],
    [skylight, "bad_payload", ["-0", "050", "45.5", "1e1", "0x32", "+5"]],
    [skylight, "unknown_command", ["position", "10100", "stop", "toggle", "NaN"]],
    [fan, "unknown_command", ["45", "0"]],
    [fan, "out_of_range", ["101", "-5"]],
    [fan, "bad_payload", ["0000", "45.5"]],
  ])("%# is refused as %s: %j", (target, reason, texts) => {
    for (const text of texts) expect(readWanted(text, target), text).toMatchObject({ reason });
  });
});

it("a number is measured against 0 to 100 only where degrees are taken", () => {
  const told = (text: string, target: Target) => {
    const found = readWanted(text, target);
    return "message" in found ? String(found.message) : found;
  };
  expect(told("101", skylight)).toEqual("101 is outside 0 to 100.");
  expect(told("050", skylight)).toContain("send 0 to 100");
  for (const target of [fan, motor])
    for (const text of ["101", "-5", "050", "45.5"])
      expect(told(text, target)).toMatch(/^This actuator takes no degree; it accepts [a-z_0-9, ]+\.$/);
});

describe("of a target that is not there", () => {
  const known = controller(
    controllerSettings({
      actuators: [actuator({ id: "left_skylight" }), actuator({ id: "right_skylight" })],
    }),
  );
  const many = Array.from({ length: 14 }, (_, at) => actuator({ id: `valve_${at}` }));
  const told = (of: Controller | undefined, target: "actuator" | "parameter" = "actuator") => {
    const addressee = { controllerId: "gh-0001", target, targetId: "left_skylite" };
    const found = targetOf(of, addressee, { raw_addresses: false, min_interval: 0 });
    return "message" in found ? String(found.message) : found;
  };

  it("a wrong controller is told from a wrong actuator, with what there is", () => {
    expect(told(undefined)).toEqual(
      'There is no controller "gh-0001"; bridge/controllers lists those there are.',
    );
    expect(told(known)).toEqual(
      'Controller "gh-0001" has no actuator "left_skylite"; it has left_skylight, right_skylight.',
    );
    expect(told(known, "parameter")).toMatch(/; the configuration lists no parameters of it\.$/);
    expect(told(controller(controllerSettings({ actuators: many })))).toMatch(/, valve_11, and 2 more\.$/);
  });
});

describe("a payload", () => {
  it.each([
    ["", "empty"],
    ["   ", "empty"],
    ["{", "broken JSON"],
    ["[]", "object"],
    ['"open"', "object"],
    ['{"comand":"open"}', "did you mean"],
    ["{}", '"command" is missing'],
    ['{"command":true}', "a word or a number"],
    ['{"command":"open","at":"yesterday"}', "ISO time"],
    ['{"command":"open","max_age":30}', "duration"],
    ['{"command":"open","force":"yes"}', "true or false"],
    ['{"command":"open","__proto__":{}}', "Unknown key"],
    ['{"command":"open","by":5}', "must be a text"],
    ['{"command":"open","by":"a\\nb"}', "control characters"],
    ['{"command":"open","id":1234567890123456788}', "more digits than a number keeps; write it in quotes"],
    ['{"command":"open","command":"close"}', '"command" stands there twice'],
    ['{"command":"open","comm\\u0061nd":"open"}', '"command" stands there twice'],
    ['{"command":"open","id":"a\\",\\"id\\":","id":"b"}', '"id" stands there twice'],
    ['{"command":"open","id":"a\\u0000"}', "control characters"],
    ['{"command":"open","id":"\\ud83d"}', "control characters"],
    ['{"command":"open","at":"2026-02-30T06:00:00Z"}', "does not exist"],
    ['{"command":"open","at":"2026-03-01T25:00:00Z"}', "does not exist"],
  ])("%j is bad_payload and says why", (text, why) => {
    const refusal = readPayload(bytes(text));
    expect(refusal).toMatchObject({ reason: "bad_payload" });
    expect("message" in refusal ? refusal.message : "").toContain(why);
  });

  it.each([
    ["out_of_range", ["1e30", "-1e999", "9007199254740993", "1e15", "9007199254740991", "101", "-1"]],
    ["bad_payload", ["45.5", "1e-30"]],
  ])("a JSON number as command is %s, of any size: %j", (reason, numbers) => {
    for (const number of numbers)
      expect(understood(`{"command":${number}}`, skylight), number).toMatchObject({ reason });
  });

  it.each([
    ["4.5e1", 45],
    ["45.0", 45],
    ["-0", 0],
  ])("a JSON number %s within 0 to 100 is the degree it says, however JSON spells it", (number, degree) =>
    expect(understood(`{"command":${number}}`, skylight)).toEqual({ type: "position", degree }),
  );

  it("a JSON number too large to be kept exactly is never sent as another one", () => {
    const raw: Target = { kind: "custom", values: {}, address: "9", accepts: { type: "raw" } };
    expect(understood('{"command":12345678901234567890}', raw)).toMatchObject({
      reason: "out_of_range",
      message: expect.stringContaining("in quotes") as string,
    });
    expect(understood('{"command":"12345678901234567890"}', raw)).toMatchObject({
      value: "12345678901234567890",
    });
  });

  it.each([
    ['{"command":"open","id":"{\\"command\\":1,\\"command\\":2}"}', "open"],
    ['{ "command" : "close" , "by" : "a, \\"by\\": b" }', "close"],
    ['{"command":"open","at":"2028-02-29T06:00:00Z"}', "open"],
  ])("%j has each key once", (text, command) => expect(readPayload(bytes(text))).toMatchObject({ command }));

  it("that is not UTF-8 is bad_payload", () =>
    expect(readPayload(new Uint8Array([0xff, 0xfe, 0x41]))).toMatchObject({ reason: "bad_payload" }));

  it("keeps every field of a JSON command; a numeric id becomes text", () => {
    const text =
      '{"command":" open ","id":7,"by":"ha","at":"2026-03-01T08:00:00Z","max_age":"30s","force":true,"dry_run":true,"for":"20m","hold":"2h"}';
    expect(readPayload(bytes(text))).toEqual({
      command: "open",
      id: "7",
      by: "ha",
      at: Date.parse("2026-03-01T08:00:00Z"),
      maxAgeMs: 30_000,
      force: true,
      dryRun: true,
      forMs: 1_200_000,
      holdMs: 7_200_000,
    });
  });
});

describe("100,000 generated payloads", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    fc.double().map(String),
    fc.integer().map(String),
    fc
      .record({ command: fc.oneof(fc.string(), fc.double(), fc.anything()), id: fc.anything() })
      .map((value) => JSON.stringify(value)),
    fc.constantFrom(..."1e309 -0 NaN {} [] null 0x32 １００ ४५".split(" "), "50 ", '{"__proto__":1}'),
  );
  const targets = fc.constantFrom(skylight, fan, motor, stoppable);

  it("give a declared value or a refusal, and never an error", () =>
    fc.assert(
      fc.property(texts, targets, (text, target) => {
        const payload = readPayload(bytes(text));
        if ("reason" in payload) return;
        const wanted = readWanted(payload.command, target);
        if ("reason" in wanted) return;
        if (wanted.type === "position") {
          expect(kindRows[target.kind].positionMode).not.toBeNull();
          expect(Number.isInteger(wanted.degree) && wanted.degree >= 0 && wanted.degree <= 100).toBe(true);
        } else {
          const declared = [...Object.values(valueTable(target)), target.stop?.value];
          expect(declared).toContain(wanted.value);
        }
      }),
      { numRuns: 20_000 },
    ));
});

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
