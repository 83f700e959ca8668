import { laneKey } from "../../src/commands/book.js";
import { lanesFrom } from "../../src/commands/restore.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { LimitService } from "../../src/limits/service.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import type { LimitsEntry, RecordBody } from "../../src/journal/records.js";
import { silentLog, restored } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import {
  acknowledge,
  type AlarmState,
  alarmSummary,
  change,
  clear,
  noAlarms,
  passTime,
  raise,
} from "../../src/limits/rules/alarms.js";

const of = (controller: string) => ({ controller, actuator: null });
const minute = 60_000;

function raised(count: number, apartMs: number) {
  let book: AlarmState = noAlarms;
  const told: string[] = [];
  for (let n = 0; n < count; n++) {
    const news = raise(book, "controller_offline", of(`c${n}`), "gone", n * apartMs);
    book = news.state;
    told.push(...news.events.map(({ type }) => type));
  }
  return { book, told };
}

describe("an alarm", () => {
  it("is told once when it is raised and once when it clears, and is shown for an hour after", () => {
    const first = raise(noAlarms, "journal_unavailable", { controller: null, actuator: null }, "full", 0);
    const again = raise(first.state, "journal_unavailable", { controller: null, actuator: null }, "full", 1);
    const over = clear(again.state, "journal_unavailable", minute);
    const twice = clear(over.state, "journal_unavailable", 2 * minute);
    expect([first, again, over, twice].map(({ events }) => events.map(({ type }) => type))).toEqual([
      ["alarm"],
      [],
      ["alarm_cleared"],
      [],
    ]);
    expect(passTime(over.state, 60 * minute).changed.size).toBe(0);
    expect([...passTime(over.state, 61 * minute).changed]).toEqual([["journal_unavailable", null]]);
  });

  it("that comes again is active with a new since", () => {
    const first = raise(noAlarms, "controller_offline", of("east"), "gone", 0);
    const seen = acknowledge(first.state, ["controller_offline.east"], "anna");
    const over = clear(seen?.state ?? noAlarms, "controller_offline.east", minute);
    const again = raise(over.state, "controller_offline", of("east"), "gone", 2 * minute);
    expect(again.state.alarms.get("controller_offline.east")).toMatchObject({
      ...{ state: "active", since: "1970-01-01T00:02:00.000Z", by: null },
    });
  });

  it("that comes and goes is on for 10 s at least: raised at once, cleared once it was gone when they were over", () => {
    let book: AlarmState = noAlarms;
    const told: string[] = [];
    for (let s = 0; s < 76; s += 1) {
      const message = s % 2 === 0 ? "offline" : null;
      const news = change(book, [{ type: "controller_offline", about: of("east"), message }], s * 1_000);
      const later = passTime(news.state, s * 1_000 + 500);
      book = later.state;
      for (const { type } of [...news.events, ...later.events]) told.push(`${type} ${s}`);
    }
    expect(told.slice(0, 4)).toEqual(["alarm 0", "alarm_cleared 11", "alarm 12", "alarm_cleared 23"]);
    expect(told.length).toBeLessThan(15);
    // It is gone for good, and nobody says so once more.
    expect(passTime(book, 90_000).state.alarms.get("controller_offline.east")?.state).toBe("cleared");
  });

  it("that somebody saw, and that is back before it was cleared, is seen by nobody yet", () => {
    const on = raise(noAlarms, "command_problem", of("east"), "not sent", 0).state;
    const seen = acknowledge(on, ["command_problem.east"], "anna")?.state ?? noAlarms;
    const over = change(seen, [{ type: "command_problem", about: of("east"), message: null }], 5_000).state;
    const back = change(over, [{ type: "command_problem", about: of("east"), message: "not sent" }], 6_000);
    expect(back.state.alarms.get("command_problem.east")).toMatchObject({ state: "active", by: null });
  });

  it("that is gone and comes back before it was cleared is still the same one", () => {
    const on = raise(noAlarms, "guard_blind", of("east"), "no wind", 0).state;
    const over = change(on, [{ type: "guard_blind", about: of("east"), message: null }], 5_000);
    const back = change(over.state, [{ type: "guard_blind", about: of("east"), message: "no wind" }], 6_000);
    expect([...over.events, ...back.events, ...passTime(back.state, 60_000).events]).toEqual([]);
  });

  it("acknowledged is still on; one that is not on cannot be acknowledged", () => {
    const { state: book } = raise(noAlarms, "controller_offline", of("east"), "gone", 0);
    const seen = acknowledge(book, ["controller_offline.east"], "anna");
    expect(seen?.state.alarms.get("controller_offline.east")).toMatchObject({
      state: "acknowledged",
      by: "anna",
    });
    expect(acknowledge(book, ["controller_offline.west"], "anna")).toBeNull();
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

  it.each([
    ["ten that become worse are told one by one", 10, 0],
    ["the eleventh that becomes worse makes a flood of them", 11, 1],
  ])("%s", (_, count, floods) => {
    const calm = { ...raised(10, 0).book, raised: [] };
    const { book } = { book: count > 10 ? raise(calm, "state_lost", of("x"), "x", 0).state : calm };
    const ids = Array.from({ length: 10 }, (__, n) => `c${n}`);
    const changes = ids.map((id) => ({
      ...{ type: "controller_offline" as const, about: of(id), message: "worse" },
      severity: "error" as const,
    }));
    const { events, state } = change(book, changes, minute);
    expect(events.filter(({ type }) => type === "flood")).toHaveLength(floods);
    expect(events.filter(({ type, severity }) => type === "alarm" && severity === "error")).toHaveLength(
      10 - floods,
    );
    // No worse than they are, they are no news.
    const again = change(
      state,
      changes.map((one) => ({ ...one, message: "still" })),
      minute,
    );
    expect(again.events).toEqual([]);
  });

  it("ends when no more than ten came within ten minutes", () => {
    const { book } = raised(11, 1_000);
    expect(passTime(book, 9 * minute).events).toEqual([]);
    expect(passTime(book, 11 * minute).events.map(({ type }) => type)).toEqual(["alarm_cleared"]);
  });
});

it("alarms from before the clock was set back make no flood of later ones", () => {
  const { book } = raised(11, 1_000);
  const set = -7 * 24 * 60 * minute;
  const cleared = [...book.alarms.keys()].reduce((one, id) => clear(one, id, set).state, book);
  expect(passTime(cleared, set).state.alarms.get("flood")?.state).toBe("cleared");
  const { events } = raise(cleared, "unauthorized", { controller: null, actuator: null }, "refused", set);
  expect(events.map(({ type }) => type)).toEqual(["alarm"]);
});

describe("all alarms in one", () => {
  it("counts those that are on, and begins with what nobody has seen, then the worst, then the newest", () => {
    const { book } = raised(3, minute);
    const itself = { controller: null, actuator: null };
    const worse = raise(book, "journal_unavailable", itself, "full", 2.5 * minute).state;
    const seen = acknowledge(worse, ["journal_unavailable"], "anna")?.state ?? noAlarms;
    const one = clear(seen, "controller_offline.c0", 3 * minute).state;
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

interface Left {
  /** Kept on disk. */
  readonly alarms?: AlarmState;
  /** This run's own among them. */
  readonly starts?: number;
  readonly unreadable?: number;
  /** Retained on the broker. */
  readonly topics?: readonly string[];
  readonly isAccountKnown?: boolean;
  readonly otherBridge?: () => boolean | null;
  readonly upToDate?: ReadonlySet<string | null>;
  readonly late?: readonly { readonly controller: string | null; readonly what: string }[];
  readonly limits?: readonly LimitsEntry[];
}

/** A bridge that has just started, with what an earlier run left; what it sends to topics is in `sent`. */
function started({ alarms = noAlarms, starts = 2, unreadable = 0, topics = [], ...left }: Left) {
  const { clock, store, events, commander } = new CommandBench();
  const polling = { controllers: 0, sensors: 0, running_status: 0, actuators: 0, stale_after: 900_000 };
  const history = { open: [], lanes: [] };
  const began = { boot: "b", at: "", stopped: false };
  const sent: string[] = [];
  const payloads: string[] = [];
  const records: RecordBody[] = [];
  const disk: { problem: string | null } = { problem: null };
  const journal = {
    append: (record: RecordBody) =>
      disk.problem === null ? Promise.resolve(records.push(record)) : Promise.reject(new Error(disk.problem)),
    state: () => ({ reason: disk.problem }),
    facts: () => ({ unreadable }),
    ...{ readProblem: null, newestAt: 0 },
    history: () => ({
      ...{ ...history, alarms: [...alarms.alarms.values()] },
      lanes: (left.limits ?? []).map(({ kept, ...about }) => ({
        ...about,
        target: "actuator" as const,
        memory: { limits: kept },
      })),
      starts: Array.from({ length: starts }, () => began),
    }),
  };
  const limits = new LimitService({
    ...{
      clock,
      store,
      readOnly: () => ({ commands: false, rules: false }),
      clockSkewMs: () => 0,
      run: "1",
      book: () => commander,
    },
    ...{ configuration: { weather: {}, polling }, log: silentLog },
    journal,
    readingsKept: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
    retained: {
      wanted: (topic, payload) => {
        payloads.push(payload);
        sent.push(`${topic} ${payload === "" ? "emptied" : "set"}`);
      },
    },
    ...{ onEvent: (event) => events.push(event), topics: topicsUnder("greenhouse") },
    ...{ otherBridge: left.otherBridge ?? (() => false), isAccountKnown: () => left.isAccountKnown ?? true },
    overdue: () => ({ late: left.late ?? [], upToDate: left.upToDate ?? new Set() }),
  });
  for (const lane of lanesFrom(journal.history(), limits.restore(), store, clock))
    commander.feed({ type: "restored", key: laneKey(lane.about), lane });
  /** The broker shows what it holds. */
  const look = () => {
    for (const topic of topics) limits.onFound(topic, Buffer.from("{}"));
    limits.onLooked(true);
  };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const run = () => void limits.run(stop.signal);
  return { limits, look, sent, payloads, clock, store, events, records, disk, run, commander };
}

const states = ({ alarms }: LimitService) => alarms.list.map(({ id, state }) => `${id} ${state}`);

it("alarms that the disk did not take are on it as they are once it takes them again", async () => {
  const { limits, clock, records, disk, run } = started({});
  run();
  disk.problem = "the disk is full";
  limits.alarms.onPlatformState("unreachable");
  await clock.advance(60_000);
  expect(records).toEqual([]);
  disk.problem = null;
  await clock.advance(10_000);
  expect(records).toMatchObject([
    { name: "journal_unavailable", alarm: { state: "cleared" } },
    { name: "platform_unreachable", alarm: { state: "active" } },
  ]);
});

it("what an alarm's message names goes to the page and the disk, and not to the broker", async () => {
  const items = Array.from({ length: 12 }, (_, n) => ({ controller: "gh-0001", what: `sensor/t${n}` }));
  const { limits, payloads, records, clock, run } = started({ late: items });
  run();
  await clock.advance(60_000);
  const facts = { late: items.slice(0, 10).map(({ what }) => what) };
  expect(limits.alarms.list).toMatchObject([{ type: "readings_overdue", facts }]);
  expect(records).toMatchObject([{ alarm: { facts } }]);
  expect(payloads.filter((payload) => payload.includes("facts"))).toEqual([]);
  expect(Object.keys(JSON.parse(payloads.find((text) => text.startsWith('{"id"')) ?? "") as object)).toEqual([
    ...["id", "type", "state", "since", "severity", "controller", "actuator", "message", "remedy", "by"],
  ]);
});

it("of thousands of late readings every house has its alarm, in turns", async () => {
  const late = Array.from({ length: 300 }, (_, n) => `gh-${n}`).flatMap((controller) =>
    Array.from({ length: 150 }, (_, n) => ({ controller, what: `sensor/t${n}` })),
  );
  const { limits, clock, run } = started({ late });
  run();
  await clock.advance(60_000);
  const told = limits.alarms.list.filter(({ type }) => type === "readings_overdue");
  expect(told).toHaveLength(300);
  expect(told.at(-1)?.message.length).toBeLessThan(310);
});

it("an alarm whose hour ended is wanted nowhere any more, and again once it is on again", async () => {
  const { state: book } = raise(noAlarms, "controller_offline", of("gh-0001"), "offline", 0);
  const alarms = clear(book, "controller_offline.gh-0001", 0).state;
  const { limits, sent, clock, run } = started({ alarms });
  run();
  await clock.advance(61 * minute);
  expect(sent).toContain("greenhouse/alarm/controller_offline.gh-0001 emptied");
  sent.length = 0;
  limits.alarms.set("controller_offline", of("gh-0001"), "offline");
  expect(sent).toEqual(["greenhouse/alarm/controller_offline.gh-0001 set", "greenhouse/bridge/alarms set"]);
});

it("alarms of limits that are configured no more are cleared by the next start", () => {
  const alarms = raise(noAlarms, "guard_blind", { controller: "gh-0001", actuator: "roof" }, "", 0).state;
  expect(states(started({ alarms }).limits)).toEqual(["guard_blind.gh-0001.roof cleared"]);
});

it("a start that does not know yet whether a controller is back clears nothing, and tells nothing again", () => {
  const { state: book } = raise(noAlarms, "controller_offline", of("gh-0003"), "offline", 0);
  const alarms = acknowledge(book, ["controller_offline.gh-0003"], "anna")?.state ?? noAlarms;
  const { limits, store, events } = started({ alarms });
  store.admit("GH-0003");
  expect(limits.alarms.list).toMatchObject([{ state: "acknowledged", by: "anna" }]);
  expect(events).toEqual([]);
});

const why = { command: "open", outcome: "unconfirmed", reason: null, message: "Look.", at: 0 } as const;

it("a start that takes up the problems of several actuators clears none, tells none again and keeps their words", async () => {
  const ids = ["roof", "fan", "shade"];
  const on = ids.reduce(
    (book, actuator) =>
      raise(
        book,
        "command_problem",
        { controller: "gh-0001", actuator },
        `gh-0001/${actuator} open: Look.`,
        0,
      ).state,
    noAlarms,
  );
  const alarms = acknowledge(on, ["command_problem.gh-0001.shade"], "anna")?.state ?? noAlarms;
  const { limits, store, events, commander } = started({ alarms });
  const before = limits.alarms.list;
  store.admit("GH-0001");
  for (const targetId of ids)
    commander.feed(restored({ code: "GH-0001", target: "actuator", targetId }, { problem: why }));
  await Promise.resolve();
  expect(store.get("GH-0001")?.problems).toHaveLength(3);
  expect(limits.alarms.list).toEqual(before);
  expect(events).toEqual([]);
});

it("an alarm of a command is cleared where its controller has no such problem, as after two exchanged their ids", async () => {
  const names = [
    ["gh-0001", "roof"],
    ["gh-0002", "roof"],
    ["gh-0009", "roof"],
  ] as const;
  const alarms = names.reduce(
    (book, [controller, actuator]) =>
      raise(book, "command_problem", { controller, actuator }, "open: look", 0).state,
    noAlarms,
  );
  const { limits, clock, run, store, commander } = started({ alarms, isAccountKnown: false });
  for (const code of ["GH-0001", "GH-0002"]) store.admit(code);
  commander.feed(restored({ code: "GH-0002", target: "actuator", targetId: "roof" }, { problem: why }));
  run();
  await clock.advance(6_000);
  expect(states(limits)).toEqual([
    "command_problem.gh-0001.roof cleared",
    "command_problem.gh-0002.roof active",
    "command_problem.gh-0009.roof active",
  ]);
});

it.each([
  [true, "cleared"],
  [false, "active"],
])(
  "an alarm of a controller that vanished while the bridge was down: list known %s",
  async (isKnown, state) => {
    const one = raise(noAlarms, "controller_offline", of("gh-0007"), "gone", 0).state;
    const alarms = raise(one, "controller_offline", of("gh-0001"), "gone", 0).state;
    const { limits, clock, run } = started({ alarms, isAccountKnown: isKnown });
    run();
    await clock.advance(6_000);
    expect(states(limits)).toEqual([
      `controller_offline.gh-0007 ${state}`,
      "controller_offline.gh-0001 active",
    ]);
  },
);

it("what a start cannot know yet is neither cleared nor told again", async () => {
  const one = raise(noAlarms, "other_bridge", { controller: null, actuator: null }, "another", 0).state;
  const alarms = raise(one, "readings_overdue", of("gh-0001"), "late", 0).state;
  const upToDate = new Set<string>();
  let otherBridge: boolean | null = null;
  const { limits, clock, events, run, store } = started({ alarms, upToDate, otherBridge: () => otherBridge });
  store.admit("GH-0001");
  run();
  await clock.advance(60_000);
  expect(states(limits)).toEqual(["other_bridge active", "readings_overdue.gh-0001 active"]);
  expect(events).toEqual([]);
  otherBridge = false;
  upToDate.add("gh-0001");
  await clock.advance(60_000);
  expect(states(limits)).toEqual(["other_bridge cleared", "readings_overdue.gh-0001 cleared"]);
});

it("says of a condition that this run has not judged yet that it was so before the restart, and what it is once it has", async () => {
  const nothing = { controller: null, actuator: null };
  const words = "Another bridge is connected for the same account.";
  const { state: book } = raise(noAlarms, "other_bridge", nothing, words, 0);
  const alarms = acknowledge(book, ["other_bridge"], "anna")?.state ?? noAlarms;
  let otherBridge: boolean | null = null;
  const { limits, clock, events, run, payloads } = started({ alarms, otherBridge: () => otherBridge });
  run();
  await clock.advance(60_000);
  expect(payloads.join()).not.toContain("nothing but a stop is sent");
  expect(payloads.join()).toContain(`Before the restart: ${words}`);
  expect(limits.alarms.list).toMatchObject([{ state: "acknowledged", facts: { carried: true } }]);
  otherBridge = true;
  await clock.advance(6_000);
  expect(limits.alarms.list).toMatchObject([{ state: "acknowledged", message: words, facts: undefined }]);
  expect(events).toEqual([]);
});

it("a lease of an actuator that is configured no more is one alarm over all starts, until it is forgotten", () => {
  const nothing = { guards: {}, starts: [], moved_until: null, direction: null, lock: null, hold: null };
  const lease = { id: "1", by: null, command: "on", ends_with: "off", until: new CommandBench().clock.now() };
  const limits = [{ controller: "GH-0001", actuator: "pump", kept: { ...nothing, lease } }];
  const first = started({ limits });
  expect(first.limits.alarms.list).toMatchObject([{ id: "lease_overrun", state: "active" }]);
  expect(first.limits.alarms.list[0]?.message).toContain("GH-0001/pump");
  const message = first.limits.alarms.list[0]?.message ?? "";
  const alarms = raise(noAlarms, "lease_overrun", { controller: null, actuator: null }, message, 0).state;
  expect(started({ limits, alarms }).events).toEqual([]);
  expect(states(started({ alarms }).limits)).toEqual(["lease_overrun cleared"]);
});

describe("what the configuration has no more is told until nobody has to see to it", () => {
  const nothing = { guards: {}, starts: [], moved_until: null, direction: null, lock: null, hold: null };
  const now = new CommandBench().clock.now();

  it("a lease for a day past its end, also in a run that goes on", async () => {
    const lease = { id: "1", by: null, command: "on", ends_with: "off", until: now };
    const { limits, clock, run } = started({
      limits: [{ controller: "GH-0001", actuator: "pump", kept: { ...nothing, lease } }],
    });
    run();
    await clock.advance(23 * 60 * minute);
    expect(states(limits)).toEqual(["lease_overrun active"]);
    await clock.advance(61 * minute);
    expect(states(limits)).toEqual(["lease_overrun cleared"]);
  });

  it.each([
    ["is lifted", null],
    ["runs out", now + 30 * minute],
  ])("a lock until it %s", async (_, until) => {
    const lock = { by: "anna", via: null, reason: null, since: now, until };
    const { limits, clock, run, store } = started({
      limits: [{ controller: "GH-0001", actuator: "pump", kept: { ...nothing, lease: null, lock } }],
    });
    run();
    await clock.advance(20 * minute);
    expect(states(limits)).toEqual(["state_lost active"]);
    const pump = store.get("GH-0001");
    if (until === null && pump !== undefined) await limits.engine.change("GH-0001", ["pump"], { lock: null });
    await clock.advance(12 * minute);
    expect(states(limits)).toEqual(["state_lost cleared"]);
  });
});

describe("what earlier runs left on the broker", () => {
  const topics = [
    "greenhouse/alarm/flood",
    "greenhouse/alarm/controller_offline.gh-0001",
    "greenhouse/gh-0001/actuator/roof/lock",
  ];

  it("is cleared where it is an alarm that this run does not know", () => {
    const alarms = raise(noAlarms, "controller_offline", of("gh-0001"), "gone", 0).state;
    const { limits, look, sent } = started({ alarms, topics });
    look();
    expect(sent.filter((line) => line.endsWith("emptied"))).toEqual(["greenhouse/alarm/flood emptied"]);
    expect(states(limits)).toEqual(["controller_offline.gh-0001 active"]);
  });

  it("says at a first start that state is lost", () => {
    const { limits, look } = started({ starts: 1, topics });
    look();
    expect(limits.alarms.list).toMatchObject([{ id: "state_lost", state: "active" }]);
    expect(limits.alarms.list[0]?.message).toContain("greenhouse/gh-0001/actuator/roof/lock");
    const fresh = started({ starts: 1 });
    fresh.look();
    expect(states(fresh.limits)).toEqual([]);
  });
});

it("state is lost where lines of the journal cannot be read, until a start that can read all of it", () => {
  const { limits } = started({ unreadable: 2 });
  expect(states(limits)).toEqual(["state_lost active"]);
  const alarms = raise(noAlarms, "state_lost", { controller: null, actuator: null }, "", 0).state;
  expect(states(started({ alarms }).limits)).toEqual(["state_lost cleared"]);
});
