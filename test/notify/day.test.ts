import { describe, expect, it } from "vitest";
import { DailyReport } from "../../src/notify/daily.js";
import {
  bookIn,
  dailyMessage,
  type DayBook,
  dayDue,
  withMove,
  newDay,
  withReadings,
} from "../../src/notify/day.js";
import type { ShownAlarm } from "../../src/notify/plan.js";
import { minuteIn, minutesOf } from "../../src/notify/notify.js";
import type { Via } from "../../src/greenhouse/command/outcomes.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { silentLog } from "../../src/runtime/log.js";
import { actuator, controller, controllerSettings, item } from "../support/builders.js";
import { after, sensorsRead, start } from "../support/folding.js";
import { inChinese } from "../support/chinese.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const kinds = ["temperature", "humidity"] as const;
const wording = (language: "en" | "zh") => ({
  ...{ name: null, language, tell: language === "zh" ? inChinese : String, timeZone: "UTC" },
  nameOf: (house: string, one: string | null) => [house, one].filter(Boolean).join(" / "),
});

const house = (temperature: number | null, onS = 0) => {
  const settings = controllerSettings({ name: "East", actuators: [] });
  const read = after(
    controller(settings),
    start,
    sensorsRead([item({ value: temperature, raw: temperature, measuredAt: start })]),
  );
  const valve = unreadActuator(actuator({ id: "valve_1", name: "Bed 1", kind: "irrigation" }));
  const runTime = { on_s: onS, starts: 1, today_on_s: onS, today_starts: 1, since: "" };
  return { ...read, actuators: new Map([["valve_1", { ...valve, runTime }]]) };
};

const alarm: ShownAlarm = {
  ...{
    id: "controller_offline.east",
    type: "controller_offline",
    state: "active",
    since: "",
    severity: "warning",
  },
  ...{ controller: "east", actuator: null, message: "", remedy: "", by: null },
};

const moves = (all: readonly (readonly [by: string | null, what: string, via?: Via])[]) =>
  all.map(([by, what, via = "mqtt"]) => ({ by, what, via }));

describe("the message of a day", () => {
  const day = [house(12, 600), house(4.2, 600), house(27.06, 3120)].reduce(
    (book, one) => withReadings(book, one, kinds),
    newDay(0),
  );
  const book = moves([
    ["rule wind", "east/roof"],
    ["anna", "east/roof"],
    ["rule wind", "west/roof"],
    ["lease 1", "east/valve_1"],
    ["rule wind", "east/roof"],
  ]).reduce(withMove, day);

  it("says of each house its lowest, highest and present readings and its water, what guards did, who moved what", () => {
    const { title, text } = dailyMessage(
      { book, houses: [house(27.06, 3120)], kinds, alarms: [] },
      0,
      wording("en"),
    );
    expect(title).toBe("Daily report");
    expect(text.split("\n")).toEqual([
      "Nothing is wrong.",
      "East: Air temperature 4.2…27.1 °C, now 27.1 °C",
      "  Water: Bed 1 (42 min)",
      "Guards: wind (east / roof 2×, west / roof)",
      "Moved by: anna (east / roof)",
      "From 1970-01-01 00:00 to 1970-01-01 00:00.",
    ]);
  });

  it("says in Chinese what is wrong first", () => {
    const { text } = dailyMessage({ book, houses: [house(5)], kinds, alarms: [alarm] }, 0, wording("zh"));
    expect(text.split("\n")[0]).toBe("当前异常：east：控制器离线");
    expect(text).toContain("空气温度 4.2…27.1 °C，现在 5 °C");
  });

  it("says once what did not change", () => {
    const book = withReadings(newDay(0), house(5, 600), kinds);
    const { text } = dailyMessage({ book, houses: [house(5, 600)], kinds, alarms: [] }, 0, wording("en"));
    expect(text).toContain("East: Air temperature 5 °C");
    expect(text).not.toContain("…");
  });

  it.each<[string, ReturnType<typeof moves>, string]>([
    ["its way in", moves([[null, "east/roof", "mqtt"]]), "mqtt (east / roof)"],
    ["its user", moves([[null, "east/roof", { client: "c1", user: "hmi" }]]), "hmi (east / roof)"],
    ["its client", moves([[null, "east/roof", { client: "c1", user: null }]]), "c1 (east / roof)"],
    [
      "MQTT, where each connection has another id",
      moves(
        ["aeecbe9e-7689-4879-bcdb-398c69976ad8", "548d5888-8fd2-4ea1-a9cd-55f5cd1ddcc8"].map(
          (id) => [null, "east/roof", { client: `aedes_${id}`, user: null }] as const,
        ),
      ),
      "MQTT (east / roof 2×)",
    ],
    ["nothing that is known", moves([[null, "east/roof", null]]), "? (east / roof)"],
    [
      "what it moved most, and the rest as a number",
      moves(Array.from("aaabbcde").map((one) => ["anna", `east/${one}`] as const)),
      "anna (east / a 3×, east / b 2×, east / c, +2)",
    ],
    ["a long name in short", moves([["x".repeat(5_000), "east/roof"]]), `${"x".repeat(40)} (east / roof)`],
    [
      "those who moved most, and the others as a number",
      moves(Array.from("aaabbcde").map((one) => [one, "east/roof"] as const)),
      "a (east / roof 3×); b (east / roof 2×); c (east / roof); +2",
    ],
  ])("names of who moved something %s", (_, all, expected) => {
    const { text } = dailyMessage(
      { book: all.reduce(withMove, newDay(0)), houses: [], kinds, alarms: [] },
      0,
      wording("en"),
    );
    expect(text).toContain(`\nMoved by: ${expected}\n`);
  });

  it("grows by no senders, nor by what they move", () => {
    const one = (by: number, what: number) => ({ by: `sender ${by}`, what: `east/v${what}`, via: null });
    const many = Array.from({ length: 3_000 }, (_, n) => one(n, n % 100));
    const flooded = many.reduce(withMove, newDay(0));
    expect(JSON.stringify(flooded).length).toBeLessThan(4_000);
    const { text } = dailyMessage({ book: flooded, houses: [], kinds, alarms: [] }, 0, wording("zh"));
    expect(text).toContain("操作人：其他 (east / v");
    expect(text.length).toBeLessThan(400);
    expect(bookIn(JSON.parse(JSON.stringify(flooded)))).toEqual(flooded);
  });

  it("names six valves of a house, those with the most water first", () => {
    const east = house(5);
    const valves = (onS: number) => {
      const [, valve] = [...house(5).actuators][0] ?? [];
      const all = Array.from({ length: 9 }, (_, n) => {
        const settings = actuator({ id: `v${n}`, name: `Bed ${n}`, kind: "irrigation" });
        const runTime = { on_s: onS * n, starts: 1, today_on_s: 0, today_starts: 0, since: "" };
        return valve === undefined ? [] : [[`v${n}`, { ...valve, settings, runTime }] as const];
      });
      return { ...east, actuators: new Map(all.flat()) };
    };
    const book = withReadings(newDay(0), valves(0), kinds);
    const { text } = dailyMessage({ book, houses: [valves(60)], kinds, alarms: [] }, 0, wording("en"));
    expect(text).toContain(
      "  Water: Bed 8 (8 min), Bed 7 (7 min), Bed 6 (6 min), Bed 5 (5 min), Bed 4 (4 min), Bed 3 (3 min), +2\n",
    );
  });

  it("tells how long heaters, CO2 and lights were on, and nothing of fans", () => {
    const east = house(5);
    const running = (onS: number) => {
      const kinds = ["heating_blower", "co2_supply", "light", "circulation_fan", "irrigation"] as const;
      const all = kinds.map((kind, n) => {
        const settings = actuator({ id: kind, kind, address: String(n) });
        const runTime = { on_s: onS * (n + 1), starts: 1, today_on_s: 0, today_starts: 0, since: "" };
        return [kind, { ...unreadActuator(settings), runTime }] as const;
      });
      return { ...east, actuators: new Map(all) };
    };
    const book = withReadings(newDay(0), running(0), ["temperature"]);
    const { text } = dailyMessage(
      { book, houses: [running(600)], kinds: ["temperature"], alarms: [] },
      0,
      wording("en"),
    );
    expect(text.split("\n").slice(2, 4)).toEqual([
      "  Water: irrigation (50 min)",
      "  Run time: light (30 min), co2_supply (20 min), heating_blower (10 min)",
    ]);
  });

  it("leaves out houses where it would be too long for a service, and says how many", () => {
    const named = controllerSettings({ name: "第一号日光温室（东侧，番茄和黄瓜）".repeat(4), actuators: [] });
    const long = after(
      controller(named),
      start,
      sensorsRead([item({ value: 5, raw: 5, measuredAt: start })]),
    );
    const houses = Array.from({ length: 40 }, () => long);
    const windy = moves([["rule wind", "east/roof"]]).reduce(withMove, newDay(0));
    for (const language of ["en", "zh"] as const) {
      const { text } = dailyMessage({ book: windy, houses, kinds, alarms: [] }, 0, wording(language));
      const lines = text.split("\n");
      expect(Buffer.byteLength(text)).toBeLessThan(1_900);
      const more = 40 - (lines.length - 4);
      expect(more).toBeGreaterThan(28);
      expect(lines.at(-3)).toBe(language === "zh" ? `另有 ${more} 个温室` : `and ${more} more houses`);
      expect(lines.at(-2)).toContain("wind (east / roof)");
    }
  });

  it("stays short with many houses", () => {
    const houses = Array.from({ length: 40 }, () => house(5));
    const { text } = dailyMessage({ book, houses, kinds, alarms: [] }, 0, wording("en"));
    expect(text.length).toBeLessThan(1_500);
    expect(text).toContain("and 28 more houses");
  });
});

const day = (text: string) => Date.parse(text);
it.each<[string, string | null, string, string, string, string | null]>([
  ["at its minute", null, "2026-02-01T00:00:00Z", "07:00", "2026-03-01T07:00:20Z", "2026-03-01"],
  ["not before it", null, "2026-02-01T00:00:00Z", "07:00", "2026-03-01T06:59:59Z", null],
  ["not three hours later", null, "2026-02-01T00:00:00Z", "07:00", "2026-03-01T10:00:00Z", null],
  ["not twice a day", "2026-03-01", "2026-03-01T07:00:10Z", "07:00", "2026-03-01T07:05:00Z", null],
  ["late", "2026-02-28", "2026-02-28T07:00:10Z", "07:00", "2026-03-01T07:05:00Z", "2026-03-01"],
  ["late, beyond midnight", null, "2026-02-01T00:00:00Z", "23:30", "2026-03-02T00:10:00Z", "2026-03-01"],
  ["once, beyond midnight", "2026-03-01", "2026-03-01T23:30:05Z", "23:30", "2026-03-02T00:10:00Z", null],
  ["not of what began after it", null, "2026-03-01T08:00:00Z", "07:00", "2026-03-01T08:00:10Z", null],
  ["not of what began with it", null, "2026-03-01T07:00:10Z", "07:00", "2026-03-01T07:00:20Z", null],
  ["of what began before it", null, "2026-03-01T06:30:00Z", "07:00", "2026-03-01T07:00:20Z", "2026-03-01"],
  ["with a clock set back", null, "2030-01-01T00:00:00Z", "07:00", "2026-03-01T07:00:20Z", "2026-03-01"],
])("it is due %s", (_, toldOn, since, at, now, due) => {
  const minute = minuteIn("UTC", day(now));
  const dayOf = (instant: number) => new Date(instant).toISOString().slice(0, 10);
  expect(dayDue(newDay(day(since), toldOn), minutesOf(at), { now: day(now), minute, dayOf })).toBe(due);
});

/** A report with a disk and a way that keeps what it is given, unless the disk is full. */
function reporting(startAt: string, at: string | null) {
  const clock = new VirtualClock(Date.parse(startAt));
  const disk = { text: null as string | null, isFull: false };
  const said: string[] = [];
  const run = () => {
    const end = new AbortController();
    const memory = {
      read: () => Promise.resolve(disk.text),
      write: (text: string) =>
        disk.isFull ? Promise.reject(new Error("full")) : Promise.resolve(void (disk.text = text)),
    };
    const core = {
      ...{ clock, log: silentLog, file: () => memory, page: { kinds } },
      mirror: { store: { controllers: () => [house(5)], find: () => house(5) } },
      commands: { limits: { alarms: { list: [] } } },
    };
    const report = new DailyReport(core, at, wording("en"), (_, of) => {
      if (!disk.isFull) said.push(of);
      return Promise.resolve(!disk.isFull);
    });
    const ended = report.run(end.signal);
    const stop = async () => {
      end.abort();
      await ended;
    };
    return { report, end: stop };
  };
  const book = () => JSON.parse(disk.text ?? "null") as DayBook;
  return { clock, disk, said, run, book };
}

it("is said once a day, also over a restart right after it", async () => {
  const { clock, said, run } = reporting("2026-03-01T06:59:00Z", "07:00");
  const first = run();
  await clock.advance(30_000);
  expect(said).toEqual([]);
  await clock.advance(60_000);
  expect(said).toEqual(["2026-03-01"]);
  await first.end();
  const second = run();
  await clock.advance(600_000);
  expect(said).toHaveLength(1);
  await clock.advance(24 * 3_600_000);
  expect(said).toEqual(["2026-03-01", "2026-03-02"]);
  await second.end();
});

it.each<[string, string, string]>([
  ["goes on over a restart", "2026-03-02T05:00:00Z", "From 2026-03-01 07:00 to 2026-03-02 05:00."],
  [
    "begins anew where nothing ran for days",
    "2026-03-09T05:00:00Z",
    "From 2026-03-09 05:00 to 2026-03-09 05:00.",
  ],
])("its day %s", async (_, now, expected) => {
  const { disk, run } = reporting(now, "07:00");
  disk.text = JSON.stringify(newDay(Date.parse("2026-03-01T07:00:00Z"), "2026-03-01"));
  const { report, end } = run();
  await settled();
  expect(report.message().text).toContain(expected);
  await end();
});

it("is said, and its day ends, only once the disk has that", async () => {
  const { clock, disk, said, run, book } = reporting("2026-03-01T06:50:00Z", "07:00");
  const { end } = run();
  await clock.advance(120_000);
  disk.isFull = true;
  await clock.advance(15 * 60_000);
  expect([said, book().toldOn]).toEqual([[], null]);
  disk.isFull = false;
  await clock.advance(20_000);
  expect([said, book().toldOn]).toEqual([["2026-03-01"], "2026-03-01"]);
  await end();
});

it("is about the day so far where only people ask for it", async () => {
  const { clock, said, run } = reporting("2026-03-01T20:00:00Z", null);
  const { report, end } = run();
  report.onResult({
    outcome: "confirmed",
    sent_at: "x",
    controller: "e",
    actuator: "roof",
    ...{ by: "a", via: null },
  });
  await clock.advance(3_600_000);
  expect(report.message().text).toContain("From 2026-03-01 20:00 to 2026-03-01 21:00.");
  expect(report.message().text).toContain("a (gh-0001 / roof)");
  await clock.advance(6 * 3_600_000);
  expect(report.message().text).toContain("From 2026-03-02 00:00 to 2026-03-02 03:00.");
  expect(report.message().text).not.toContain("roof");
  expect(said).toEqual([]);
  await end();
});
