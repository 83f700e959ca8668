import { describe, expect, it } from "vitest";
import { LimitDesk } from "../../src/limits/limits.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { CommandBench } from "../support/command-bench.js";
import {
  acknowledge,
  type AlarmBook,
  alarmSummary,
  clear,
  noAlarms,
  passTime,
  raise,
} from "../../src/limits/alarms.js";

const of = (controller: string) => ({ controller, actuator: null });
const minute = 60_000;

function raised(count: number, apartMs: number) {
  let book: AlarmBook = noAlarms;
  const told: string[] = [];
  for (let n = 0; n < count; n++) {
    const news = raise(book, "controller_offline", of(`c${n}`), "gone", n * apartMs);
    book = news.book;
    told.push(...news.events.map(({ type }) => type));
  }
  return { book, told };
}

describe("an alarm", () => {
  it("is told once when it is raised and once when it clears, and is shown for an hour after", () => {
    const first = raise(noAlarms, "journal_unavailable", { controller: null, actuator: null }, "full", 0);
    const again = raise(first.book, "journal_unavailable", { controller: null, actuator: null }, "full", 1);
    const over = clear(again.book, "journal_unavailable", minute);
    const twice = clear(over.book, "journal_unavailable", 2 * minute);
    expect([first, again, over, twice].map(({ events }) => events.map(({ type }) => type))).toEqual([
      ["alarm"],
      [],
      ["alarm_cleared"],
      [],
    ]);
    expect(passTime(over.book, 60 * minute).changed.size).toBe(0);
    expect([...passTime(over.book, 61 * minute).changed]).toEqual([["journal_unavailable", null]]);
  });

  it("that comes again is active with a new since", () => {
    const first = raise(noAlarms, "controller_offline", of("east"), "gone", 0);
    const seen = acknowledge(first.book, "controller_offline.east", "anna");
    const over = clear(seen?.book ?? noAlarms, "controller_offline.east", minute);
    const again = raise(over.book, "controller_offline", of("east"), "gone", 2 * minute);
    expect(again.book.alarms.get("controller_offline.east")).toMatchObject({
      ...{ state: "active", since: "1970-01-01T00:02:00.000Z", by: null },
    });
  });

  it("acknowledged is still on; one that is not on cannot be acknowledged", () => {
    const { book } = raise(noAlarms, "controller_offline", of("east"), "gone", 0);
    const seen = acknowledge(book, "controller_offline.east", "anna");
    expect(seen?.book.alarms.get("controller_offline.east")).toMatchObject({
      state: "acknowledged",
      by: "anna",
    });
    expect(acknowledge(book, "controller_offline.west", "anna")).toBeNull();
  });
});

describe("a flood", () => {
  it.each([
    ["ten within ten minutes are told one by one", 10, 1_000, 0],
    ["the eleventh makes a flood of them", 11, 1_000, 1],
    ["however many come, it is told once", 60, 1_000, 1],
    ["slowly they are none", 30, 2 * minute, 0],
  ])("%s", (_, count, apartMs, floods) => {
    const { told, book } = raised(count, apartMs);
    expect(told.filter((type) => type === "flood").length).toBe(floods);
    expect(told.filter((type) => type === "alarm").length).toBe(floods === 1 ? 10 : count);
    expect(book.alarms.size).toBe(count + floods);
  });

  it("ends when no more than ten came within ten minutes", () => {
    const { book } = raised(11, 1_000);
    expect(passTime(book, 9 * minute).events).toEqual([]);
    expect(passTime(book, 11 * minute).events.map(({ type }) => type)).toEqual(["alarm_cleared"]);
  });
});

describe("all alarms in one", () => {
  it("counts those that are on, and begins with what nobody has seen, then the worst, then the newest", () => {
    const { book } = raised(3, minute);
    const itself = { controller: null, actuator: null };
    const worse = raise(book, "journal_unavailable", itself, "full", 2.5 * minute).book;
    const seen = acknowledge(worse, "journal_unavailable", "anna")?.book ?? noAlarms;
    const one = clear(seen, "controller_offline.c0", 3 * minute).book;
    const { alarms, ...rest } = alarmSummary([...one.alarms.values()]);
    expect(alarms.map(({ id }) => id)).toEqual([
      "controller_offline.c2",
      "controller_offline.c1",
      "journal_unavailable",
    ]);
    expect(rest).toEqual({ count: 3, unacknowledged: 2, message: "gone", remedy: alarms[0]?.remedy });
  });

  it("says nothing where nothing is wrong, and lists ten at most", () => {
    const none = { count: 0, unacknowledged: 0, message: null, remedy: null, alarms: [] };
    expect(alarmSummary([])).toEqual(none);
    const { count, alarms } = alarmSummary([...raised(60, 0).book.alarms.values()]);
    expect([count, alarms.length]).toEqual([61, 10]);
  });
});

/** A desk as a start finds it, with the alarms of the run before. */
function deskAfter(bench: CommandBench, { alarms }: AlarmBook) {
  const { clock, store, events } = bench;
  const polling = { controllers: 0, sensors: 0, running_status: 0, actuators: 0, stale_after: 900_000 };
  const history = { open: [], unread: [], problems: [], starts: [], limits: [] };
  const desk = new LimitDesk({
    ...{ clock, store, isReadOnly: () => false, newId: () => "1", submit: () => undefined },
    ...{ recheck: () => undefined, configuration: { weather: {}, polling } },
    journal: {
      ...{ append: () => Promise.resolve(1), state: () => ({ reason: null }), unread: null, newestAt: 0 },
      history: () => ({ ...history, alarms: [...alarms.values()] }),
    },
    ...{ outputs: { send: () => undefined }, topics: topicsUnder("greenhouse") },
    ...{ onEvent: (event) => events.push(event), otherBridge: () => false, overdue: () => [] },
  });
  desk.restore();
  return desk;
}

it("alarms of limits that are configured no more are cleared by the next start", () => {
  const bench = new CommandBench();
  const about = { controller: "gh-0001", actuator: "roof" };
  const { book } = raise(noAlarms, "guard_blind", about, "not good", bench.clock.now());
  expect(deskAfter(bench, book).alarms.list).toMatchObject([
    { id: "guard_blind.gh-0001.roof", state: "cleared" },
  ]);
});

it("a start that does not know yet whether a controller is back clears nothing, and tells nothing again", () => {
  const bench = new CommandBench();
  const { book } = raise(noAlarms, "controller_offline", of("gh-0003"), "offline", bench.clock.now());
  const desk = deskAfter(bench, acknowledge(book, "controller_offline.gh-0003", "anna")?.book ?? noAlarms);
  bench.store.admit("GH-0003");
  expect(desk.alarms.list).toMatchObject([{ state: "acknowledged", by: "anna" }]);
  expect(bench.events).toEqual([]);
});
