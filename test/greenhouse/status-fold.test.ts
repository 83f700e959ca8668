import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import { foldStatuses, statusState } from "../../src/greenhouse/fold-statuses.js";
import type { Availability, Controller, Parameter } from "../../src/greenhouse/model.js";
import type { RawValue, RunningStatusItem } from "../../src/greenhouse/ports.js";
import { type Connection, foldFlag, foldParameter, hasOwnClient } from "../../src/greenhouse/reduce.js";
import type { ParameterSettings } from "../../src/greenhouse/settings.js";
import { clientStatus, controller, record } from "../support/builders.js";
import { after, register, start, validId } from "../support/folding.js";

const status = (
  name: string,
  number: number | null,
  value: RunningStatusItem["value"] = 1,
): RunningStatusItem => ({
  name,
  number: number === null ? null : statusNumber(number),
  value,
});
const read = (held: Controller["statuses"], items: readonly RunningStatusItem[], at: number) =>
  foldStatuses(held, { type: "statuses_read", items, receivedAt: at }, anyAscii);
const fold = (...answers: RunningStatusItem[][]) =>
  answers.reduce((held, items, place) => read(held, items, start + place), read(new Map(), [], start));
const shown = (...answers: RunningStatusItem[][]) =>
  [...fold(...answers)].map(([id, { state }]) => [id, state]);

describe("a running status", () => {
  it.each<[string, RunningStatusItem["value"][]]>([
    ["on", [1, "1", true, " ON ", "开启"]],
    ["off", [0, "0", false, "关"]],
    ["3", [3]],
    ["自动", ["自动"]],
    ["unknown", [null, ""]],
  ])("is on, off or the raw value: %s is %j", (state, values) =>
    expect(values.map((value) => statusState(value))).toEqual(values.map(() => state)),
  );

  it("is the word that the configuration gives its value", () => {
    const reads = { on: ["1010", "2"], off: ["1001"], waiting: ["AUTO"] };
    const states = ["1010", 2, "1001", "auto", 1, 0, 7].map((value) => statusState(value, reads));
    expect(states).toEqual(["on", "on", "off", "waiting", "on", "off", "7"]);
  });

  it("is named by number and name together, since numbers repeat within one device", () => {
    const ids = shown([status("fan", 16), status("fan 2", 16, 0), status("fan", null)]);
    expect(ids).toEqual([
      ["16_fan", "on"],
      ["16_fan_2", "off"],
      ["fan", "on"],
    ]);
  });

  it("keeps its place and the time of its last change while its value stays", () => {
    const first = fold([status("fan", 16), status("湿帘", 19)]);
    const again = read(first, [status("湿帘", 19), status("fan", 16)], start + 5);
    expect([...again.keys()]).toEqual([...first.keys()]);
    expect(again.get("16_fan")).toMatchObject({ changedAt: start, readAt: start + 5 });
    const changed = read(again, [status("fan", 16, 0), status("湿帘", 19)], start + 9);
    expect(changed.get("16_fan")).toMatchObject({ state: "off", changedAt: start + 9, readAt: start + 9 });
  });

  it("left out of whole answers is missing, and gone with the third in a row", () => {
    const others = [status("b", 17)];
    const missed = (...answers: RunningStatusItem[][]) =>
      fold([status("fan", 16), ...others], ...answers).get("16_fan")?.missed ?? "gone";
    expect(missed(others)).toBe(1);
    expect(missed(others, others)).toBe(2);
    expect(missed(others, others, others)).toBe("gone");
    expect(missed(others, others, [status("fan", 16)], others)).toBe(1);
    expect(missed([], [], [])).toBe("gone");
  });

  it("has the id it had when it comes back, whatever the order of the first answer", () => {
    const first = [status("Fan", 16, 1), status("fan", 16, 0)];
    const ids = new Map(shown(first) as [string, string][]);
    expect(new Map(shown(first, [], [], [], first) as [string, string][])).toEqual(ids);
    expect(new Map(shown([...first].reverse()) as [string, string][])).toEqual(ids);
  });

  it("an unchanged answer brings no news, also where it holds an item twice", () => {
    const twice = [status("fan", 16, 1), status("fan", 16, 0)];
    const first = fold(twice);
    expect(read(first, twice, start)).toBe(first);
  });

  it("whatever it is called its id is valid, and no two share one", () => {
    const odd = ["fan", "Fan", "FAN", "", "/", "+", "#", "\u0000", "x".repeat(70_000), "16 fan", "16_fan"];
    const name = fc.oneof(fc.string({ unit: "binary", maxLength: 10 }), fc.constantFrom(...odd));
    const some = fc.record({ name, number: fc.constantFrom(16, 17, null) });
    fc.assert(
      fc.property(fc.array(fc.array(some, { maxLength: 4 }), { maxLength: 3 }), (answers) => {
        const items = answers.flat().map(({ name, number }) => status(name, number));
        const all = items.reduce((held, _, n) => read(held, items.slice(0, n + 1), start), fold());
        const keys = new Set(answers.flat().map(({ name, number }) => `${number}:${name}`));
        expect(all.size).toBe(keys.size);
        for (const [id, one] of all) {
          expect(id).toMatch(validId);
          expect(one.id).toBe(id);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

type Shown = [Connection["availability"], Connection["availabilityBy"], Connection["doubted"]];

const connection = ([availability, availabilityBy, doubted]: Shown): Connection => ({
  ...{ availability, availabilityBy, doubted },
});

describe("a list's flag", () =>
  it.each<[string, Shown, Availability, Shown]>([
    ["online where nothing is known", ["unknown", "list", null], "online", ["online", "list", null]],
    ["offline where nothing is known", ["unknown", "list", null], "offline", ["unknown", "list", "offline"]],
    ["the same", ["online", "list", null], "online", ["online", "list", null]],
    ["a change to offline", ["online", "list", null], "offline", ["online", "list", "offline"]],
    ["offline again, unread between", ["online", "list", "offline"], "offline", ["offline", "list", null]],
    ["online again, unread between", ["online", "list", "offline"], "online", ["online", "list", null]],
    ["back, after lists alone said offline", ["offline", "list", null], "online", ["online", "list", null]],
    ["online against the status", ["offline", "status", null], "online", ["offline", "status", "online"]],
    ["the same twice, unread", ["offline", "status", "online"], "online", ["online", "list", null]],
    ["offline against the status", ["online", "status", null], "offline", ["online", "status", "offline"]],
    ["none, known from a list", ["online", "list", null], "unknown", ["unknown", "list", null]],
    ["none, known from the status", ["online", "status", null], "unknown", ["online", "status", null]],
  ])("%s", (_, shown, flag, then) => expect(foldFlag(connection(shown), flag)).toEqual(connection(then))));

const listed = (online: boolean | null): ControllerEvent => ({
  type: "listed",
  record: record({ online }),
  availability: online === null ? "unknown" : online ? "online" : "offline",
});
const says = (state: "online" | "offline" | "unknown"): ControllerEvent => ({
  type: "connection",
  status: clientStatus(state),
});
const unseen = controller();
const seen = (...events: ControllerEvent[]) => after(unseen, start, ...events);

describe("the single-device status", () => {
  it.each<[string, ControllerEvent[], Availability]>([
    ["says so too", [listed(true), listed(false), says("offline")], "offline"],
    ["says otherwise", [listed(true), listed(false), says("online")], "online"],
    ["says otherwise, and so does every list", [listed(false), says("online"), listed(false)], "online"],
    ["could not be read, and the next list", [listed(true), listed(false), says("unknown")], "online"],
    [
      "could not be read before the next list",
      [listed(true), listed(false), says("unknown"), listed(false)],
      "offline",
    ],
    ["of a device without a flag", [listed(null), says("online")], "online"],
    ["of one without a flag, after it was seen", [listed(null), says("online"), says("offline")], "offline"],
    ["of one that may have no client at all", [listed(null), says("offline")], "unknown"],
    ["of one that left every list", [listed(true), { type: "absent", forMs: 0 }, says("online")], "offline"],
    ["is older than the list left it", [listed(true), { type: "unflagged" }, says("offline")], "offline"],
  ])("%s", (_, events, availability) => expect(seen(...events).availability).toBe(availability));

  it("has to be asked again only of a device that has a client and no flag", () => {
    expect(hasOwnClient(seen(listed(null), says("online")))).toBe(true);
    expect(hasOwnClient(seen(listed(null), says("offline")))).toBe(false);
    expect(hasOwnClient(seen(listed(true), says("online")))).toBe(false);
  });
});

const unread = (over: Partial<ParameterSettings> = {}): Parameter => ({
  settings: { id: "ec", address: "501", scale: 1, ...over },
  register: null,
  value: null,
  quality: "stale",
});
const scaled = (over: Partial<ParameterSettings>, raw: RawValue) =>
  foldParameter(unread(over), "501", register(raw)).value;

describe("a parameter shows its address, scaled", () => {
  it.each<[string, Partial<ParameterSettings>, RawValue, number | string]>([
    ["as it is", {}, 250, 250],
    ["a text that is a number", {}, "250", 250],
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
  ])("%s", (_, over, raw, value) => expect(scaled(over, raw)).toBe(value));

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
