import { describe, expect, it } from "vitest";
import { DailyReport } from "../../src/notify/daily.js";
import { dailyMessage, isDailyDue, moved, newDay, seen } from "../../src/notify/day.js";
import type { ShownAlarm } from "../../src/notify/plan.js";
import type { Message } from "../../src/notify/message.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { silentLog } from "../../src/runtime/log.js";
import { actuator, controller, controllerSettings, item } from "../support/builders.js";
import { after, sensorsRead, start } from "../support/folding.js";
import { VirtualClock } from "../support/virtual-clock.js";

const kinds = ["temperature", "humidity"] as const;
const wording = (language: "en" | "zh") => ({
  ...{ name: null, language, timeZone: "UTC" },
  nameOf: (house: string) => house,
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

describe("the message of a day", () => {
  const day = [house(12, 600), house(4.2, 600), house(27.06, 3120)].reduce(
    (book, one) => seen(book, one, kinds),
    newDay(0),
  );
  const book = ["rule wind", "rule wind", "anna", "lease 1"].reduce(moved, day);

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
      "  Water: Bed 1 42 min",
      "Guards: wind 2×",
      "Moved by: anna 1×",
    ]);
  });

  it("says in Chinese what is wrong first", () => {
    const { text } = dailyMessage({ book, houses: [house(5)], kinds, alarms: [alarm] }, 0, wording("zh"));
    expect(text.split("\n")[0]).toBe("当前异常: east: 控制器离线");
    expect(text).toContain("空气温度 4.2…27.1 °C, 现在 5 °C");
  });

  it("says once what did not change", () => {
    const book = seen(newDay(0), house(5, 600), kinds);
    const { text } = dailyMessage({ book, houses: [house(5, 600)], kinds, alarms: [] }, 0, wording("en"));
    expect(text).toContain("East: Air temperature 5 °C");
    expect(text).not.toContain("…");
  });

  it("stays short with many houses", () => {
    const houses = Array.from({ length: 40 }, () => house(5));
    const { text } = dailyMessage({ book, houses, kinds, alarms: [] }, 0, wording("en"));
    expect(text.length).toBeLessThan(1_500);
    expect(text).toContain("and 28 more houses");
  });
});

it.each([
  [null, 420, true],
  [null, 419, false],
  [null, 600, false],
  ["2026-03-01", 420, false],
  ["2026-02-28", 425, true],
])("last told on %s, it is due in minute %d: %s", (toldOn, minute, due) =>
  expect(isDailyDue(newDay(0, toldOn), 420, minute, "2026-03-01")).toBe(due),
);

it("is said once a day, also over a restart right after it", async () => {
  const clock = new VirtualClock(Date.parse("2026-03-01T06:59:00Z"));
  const kept: { text: string | null } = { text: null };
  const said: Message[] = [];
  const run = () => {
    const end = new AbortController();
    const report = new DailyReport({
      ...{ clock, log: silentLog, at: "07:00", wording: wording("en"), kinds },
      ...{ controllers: () => [house(5)], alarms: () => [], say: (message) => said.push(message) },
      memory: {
        read: () => Promise.resolve(kept.text),
        write: (text) => Promise.resolve(void (kept.text = text)),
      },
    });
    return { ended: report.run(end.signal), end };
  };
  const first = run();
  await clock.advance(30_000);
  expect(said).toHaveLength(0);
  await clock.advance(60_000);
  expect(said.map(({ kind }) => kind)).toEqual(["daily"]);
  first.end.abort();
  await first.ended;
  const second = run();
  await clock.advance(600_000);
  expect(said).toHaveLength(1);
  await clock.advance(24 * 3_600_000);
  expect(said).toHaveLength(2);
  second.end.abort();
});
