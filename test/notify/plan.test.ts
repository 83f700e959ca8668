import { describe, expect, it } from "vitest";
import type { Alarm, AlarmType } from "../../src/greenhouse/limits.js";
import { type AlarmState, change, noAlarms, passTime, shownAlarm } from "../../src/limits/rules/alarms.js";
import {
  afterNotice,
  afterSent,
  goneSince,
  isQuiet,
  meanwhile,
  type Notice,
  noticeDue,
  type Outage,
  outageAfter,
  outageSince,
  remember,
  type ShownAlarm,
  type ToldBefore,
  type Trouble,
  type WayRules,
} from "../../src/notify/plan.js";

const minute = 60_000;
const noon = 12 * 60;
const rules: WayRules = { severity: "warning", cleared: true, quiet: null };
const night = { from: 22 * 60, to: 6 * 60, severity: "error" } as const;

interface Given {
  readonly state?: Alarm["state"];
  readonly severity?: Alarm["severity"];
  readonly since?: number;
  readonly carried?: true;
}

const alarm = (
  id: string,
  { state = "active", severity = "warning", since = 0, carried }: Given = {},
): ShownAlarm => ({
  ...{ id, type: id.split(".")[0] as AlarmType, state, severity, since: new Date(since).toISOString() },
  ...{ controller: null, actuator: null, message: "m", remedy: "r", by: null },
  facts: carried && { carried },
});

/** What a way is told in the course of time, at each look with the alarms that are shown then. */
function told(
  looks: readonly (readonly [atMinute: number, alarms: readonly ShownAlarm[]])[],
  own: WayRules = rules,
  minuteOf: (at: number) => number = () => noon,
): readonly string[] {
  let before: ToldBefore = new Map();
  return looks.flatMap(([at, alarms]) => {
    const now = at * minute;
    before = remember(before, own, alarms, now);
    const notice = noticeDue(own, before, alarms, now, minuteOf(at));
    if (notice === null) return [];
    before = afterNotice(before, notice, now);
    const names = [...notice.raised.map(({ id }) => id), ...notice.over.map(({ id }) => `-${id}`)];
    return [`${at}: ${names.join(" ")}${notice.flood === null ? "" : ` of ${notice.flood}`}`];
  });
}

const on = [alarm("other_bridge")];
const off = [alarm("other_bridge", { state: "cleared" })];

const cold = (...severities: readonly Alarm["severity"][]) =>
  severities.map((severity, n) => alarm(`reading_low.${n}`, { severity }));

describe("a way is told", () => {
  it.each<[string, Parameters<typeof told>[0], readonly string[]]>([
    [
      "once that an alarm is on, and once that it is over",
      [
        [1, on],
        [2, on],
        [20, off],
        [21, off],
      ],
      ["1: other_bridge", "20: -other_bridge"],
    ],
    [
      "nothing in the first ten seconds, as more may come",
      [
        [0, on],
        [0.1, on],
        [0.2, on],
      ],
      ["0.2: other_bridge"],
    ],
    [
      "what came together in one message, the worst first",
      [[1, [...on, alarm("guard_unmet", { severity: "error" })]]],
      ["1: guard_unmet other_bridge"],
    ],
    [
      "of one alarm at most every ten minutes, and then what is so",
      [
        [1, on],
        [3, off],
        [5, on],
        [7, off],
        [10.9, off],
        [11, off],
        [12, on],
      ],
      ["1: other_bridge", "11: -other_bridge"],
    ],
    [
      "nothing of one that came back within the ten minutes",
      [
        [1, on],
        [3, off],
        [5, on],
        [11, on],
        [12, on],
      ],
      ["1: other_bridge"],
    ],
    [
      "nothing of one that was over before it was told",
      [
        [0.1, on],
        [1, off],
        [2, []],
      ],
      [],
    ],
    ["nothing of one that somebody has seen before", [[1, [alarm("flood", { state: "acknowledged" })]]], []],
    [
      "that it is over also when it was forgotten",
      [
        [1, on],
        [200, []],
      ],
      ["1: other_bridge", "200: -other_bridge"],
    ],
    [
      "nothing that an earlier run left and this one has not judged",
      [
        [1, [alarm("other_bridge", { carried: true })]],
        [9, on],
      ],
      ["9: other_bridge"],
    ],
    [
      "again when it comes again later",
      [
        [1, on],
        [20, off],
        [40, on],
      ],
      ["1: other_bridge", "20: -other_bridge", "40: other_bridge"],
    ],
    ["nothing of what is less severe", [[1, [alarm("other_bridge", { severity: "info" })]]], []],
  ])("%s", (_, looks, expected) => expect(told(looks)).toEqual(expected));

  it("of a flood one message, and when it is over what is still so in one", () => {
    const many = Array.from({ length: 30 }, (__, n) =>
      alarm(`controller_offline.c${n}`, { severity: "error" }),
    );
    const flood = alarm("flood", { severity: "error" });
    const looks = [
      [1, [...many, flood]],
      [4, [...many, alarm("guard_unmet", { severity: "error" }), flood]],
      [12, [...many, flood]],
      [20, [...many.slice(0, 2), { ...flood, state: "cleared" as const }]],
    ] as const;
    expect(told(looks)).toEqual(["1: flood of 30", "20: controller_offline.c0 controller_offline.c1 -flood"]);
  });

  it("nothing that is over, where it was told so", () => {
    const quiet = { ...rules, cleared: false };
    expect(
      told(
        [
          [1, on],
          [20, off],
          [40, on],
        ],
        quiet,
      ),
    ).toEqual(["1: other_bridge", "40: other_bridge"]);
  });

  it("in quiet hours what is severe, and at their end in one message what is still so", () => {
    const own = { ...rules, quiet: night };
    const severe = alarm("guard_unmet", { severity: "error" });
    const gone = alarm("readings_overdue");
    const looks = [
      [1, [...on, gone]],
      [2, [...on, gone, severe]],
      [3, [...on, severe]],
      [481, [...on, severe]],
    ] as const;
    // Begins at 22:00.
    const clock = (at: number) => Math.floor((22 * 60 + at) % 1440);
    expect(told(looks, own, clock)).toEqual(["2: guard_unmet", "481: other_bridge"]);
  });

  it.each<[string, Parameters<typeof told>[0], readonly string[]]>([
    [
      "of what became worse one after the other in one message, ten seconds after the first",
      [
        [1, cold("warning", "warning", "warning")],
        [20, cold("error", "warning", "warning")],
        [20.1, cold("error", "error", "warning")],
        [20.2, cold("error", "error", "error")],
        [21, cold("error", "error", "error")],
      ],
      ["1: reading_low.0 reading_low.1 reading_low.2", "20.2: reading_low.0 reading_low.1 reading_low.2"],
    ],
    [
      "nothing of what became worse and better again within ten seconds",
      [
        [1, cold("warning")],
        [20, cold("error")],
        [20.1, cold("warning")],
        [21, cold("error")],
        [21.1, cold("error")],
        [21.2, cold("error")],
      ],
      ["1: reading_low.0", "21.2: reading_low.0"],
    ],
    [
      "of a flood of warnings once more where it became worse, however many do",
      [
        [1, [...cold("warning", "warning"), alarm("flood", { severity: "error" })]],
        [2, [...cold("error", "warning"), alarm("flood", { severity: "error" })]],
        [2.2, [...cold("error", "error"), alarm("flood", { severity: "error" })]],
        [4, [...cold("error", "error", "error"), alarm("flood", { severity: "error" })]],
      ],
      ["1: flood of 2", "2.2: flood of 2"],
    ],
  ])("%s", (_, looks, expected) => expect(told(looks)).toEqual(expected));

  it("after the wall clock was set back, at once and not in an hour", () => {
    const before: ToldBefore = new Map([
      [
        "other_bridge",
        {
          type: "other_bridge",
          severity: "warning",
          controller: null,
          actuator: null,
          isOn: true,
          at: 60 * minute,
        },
      ],
    ]);
    expect(noticeDue(rules, before, [], minute, noon)?.over).toHaveLength(1);
    expect(
      noticeDue(rules, new Map(), [alarm("flood", { since: 60 * minute })], minute, noon)?.raised,
    ).toHaveLength(1);
  });
});

it.each([
  [5, 5],
  [20, 5],
  [45, 5],
])(
  "fifty houses that become worse %i s apart are %i messages, the last of all that is so",
  (apart, count) => {
    const about = (n: number) => ({ controller: `h${n}`, actuator: null, sensor: "air" });
    const changed = (n: number, severity: "warning" | "error") =>
      ({ type: "reading_low", about: about(n), message: severity, severity }) as const;
    const shown = (of: AlarmState) =>
      [...of.alarms.values()].map((one) => ({ ...shownAlarm(one), facts: one.facts }));
    const houses = Array.from({ length: 50 }, (_, n) => n);
    let { state } = change(
      noAlarms,
      houses.map((n) => changed(n, "warning")),
      0,
    );
    let before: ToldBefore = new Map(
      shown(state).map((one) => [one.id, { ...one, isOn: true, at: 0 }] as const),
    );
    const raised: number[] = [];
    for (let s = 3_600; s < 3 * 3_600; s += 5) {
      const due = houses.filter((n) => s - 7_200 >= n * apart && s - 7_200 < n * apart + 5);
      state = passTime(
        change(
          state,
          due.map((n) => changed(n, "error")),
          s * 1_000,
        ).state,
        s * 1_000,
      ).state;
      before = remember(before, rules, shown(state), s * 1_000);
      const notice = noticeDue(rules, before, shown(state), s * 1_000, noon);
      if (notice === null) continue;
      before = afterNotice(before, notice, s * 1_000);
      raised.push(notice.raised.length);
    }
    // That the flood of warnings is over is a message of its own.
    expect(raised.slice(1)).toHaveLength(count);
    expect(raised.at(-1)).toBeGreaterThan(30);
  },
);

/** What a way is told of houses that cross a limit one after the other, as the minute and how many. */
function slowNight(apart: number, severityOf: (house: number) => Alarm["severity"] = () => "warning") {
  const houses = Array.from({ length: 50 }, (_, n) => n);
  const looks = Array.from({ length: 3 * 360 }, (_, n) => n / 6).map((at) => {
    const crossed = houses.filter((n) => (n * apart) / 60 <= at);
    const shown = crossed.map((n) =>
      alarm(`reading_low.h${n}`, { severity: severityOf(n), since: n * apart * 1_000 }),
    );
    return [at, shown] as const;
  });
  return told(looks).map((line) => {
    const [at = "", names = ""] = line.split(": ");
    return [Math.round(Number(at) * 10) / 10, names.split(" ")] as const;
  });
}

describe("of a night that becomes colder more slowly than a flood", () => {
  it("the first three houses are told at once, and the others every ten minutes", () => {
    const messages = slowNight(90);
    expect(messages.slice(0, 5).map(([at, names]) => [at, names.length])).toEqual([
      [0.2, 1],
      [1.7, 1],
      [3.2, 1],
      [13.2, 6],
      [23.2, 7],
    ]);
    expect(messages).toHaveLength(10);
    expect(messages.flatMap(([, names]) => names)).toHaveLength(50);
  });

  it("the first that is beyond the outer limit waits for none of them", () => {
    const messages = slowNight(90, (house) => (house === 5 ? "error" : "warning"));
    expect(messages[3]).toEqual([7.7, ["reading_low.h5", "reading_low.h3", "reading_low.h4"]]);
  });

  it("houses a quarter of an hour apart are told at once", () => {
    expect(slowNight(900).every(([, names]) => names.length === 1)).toBe(true);
  });
});

describe("of an outage of a way is told afterwards", () => {
  /** The looks of an outage that began at 0, and what it is told at the first look behind it. */
  function after(
    looks: readonly (readonly [atMinute: number, alarms: readonly ShownAlarm[]])[],
    own: WayRules = rules,
  ) {
    let outage: Outage = outageSince(0, null);
    let last: readonly ShownAlarm[] = [];
    const told: ToldBefore = new Map();
    const news = { rules: own, told };
    for (const [at, alarms] of looks) {
      outage = meanwhile(outage, { ...news, isOut: true }, alarms, at * minute, noon);
      last = alarms;
    }
    const now = (looks.at(-1)?.[0] ?? 0) * minute + 5_000;
    outage = meanwhile(outage, { ...news, isOut: false }, last, now, noon);
    const notice = noticeDue(own, told, last, now, noon, outage);
    return [
      ...(notice?.raised.map(({ id }) => id) ?? []),
      ...(notice?.missed?.alarms.map(
        ({ id, from, until }) => `${id} ${from / minute}-${(until ?? 0) / minute}`,
      ) ?? []),
    ];
  }
  const severe = alarm("guard_unmet", { severity: "error", since: minute });
  const other = alarm("other_bridge", { since: minute });

  it.each<[string, Parameters<typeof after>[0], readonly string[], WayRules?]>([
    [
      "what came and went, from when to when",
      [
        [2, [other]],
        [9, off],
        [12, off],
      ],
      ["other_bridge 1-9"],
    ],
    [
      "also what is forgotten already",
      [
        [2, [other]],
        [200, []],
      ],
      ["other_bridge 1-200"],
    ],
    [
      "the worst first",
      [
        [2, [other, severe]],
        [9, []],
      ],
      ["guard_unmet 1-9", "other_bridge 1-9"],
    ],
    [
      "what is still on as that alone",
      [
        [2, [other]],
        [9, [other]],
      ],
      ["other_bridge"],
    ],
    [
      "from the first to the last time",
      [
        [2, [other]],
        [3, off],
        [4, [other]],
        [9, off],
      ],
      ["other_bridge 1-9"],
    ],
    [
      "nothing of what is less severe",
      [
        [2, [other]],
        [9, off],
      ],
      [],
      { ...rules, severity: "error" },
    ],
    [
      "also a way that is told of nothing that is over",
      [
        [2, [other]],
        [9, []],
      ],
      ["other_bridge 1-9"],
      { ...rules, cleared: false },
    ],
    [
      "nothing of what is quiet at this time",
      [
        [2, [other]],
        [9, []],
      ],
      [],
      { ...rules, quiet: { from: 0, to: 1439, severity: "error" } },
    ],
    [
      "nothing where nothing came",
      [
        [2, []],
        [9, []],
      ],
      [],
    ],
    [
      "nothing of what somebody has seen and that is on",
      [
        [2, [other]],
        [9, [{ ...other, state: "acknowledged" }]],
      ],
      [],
    ],
  ])("%s", (_, looks, expected, own = rules) => expect(after(looks, own)).toEqual(expected));

  it("what did not get out at its beginning, however soon it was over", () => {
    const notice = noticeDue(rules, new Map(), [other], 2 * minute, noon);
    const outage = meanwhile(
      outageSince(2 * minute, notice),
      { rules, told: new Map(), isOut: true },
      [],
      3 * minute,
      noon,
    );
    expect(noticeDue(rules, new Map(), [], 4 * minute, noon, outage)?.missed).toMatchObject({
      since: 2 * minute,
      alarms: [{ id: "other_bridge", from: minute, until: 3 * minute }],
    });
  });
});

describe("a start during an outage", () => {
  const news = { rules, told: new Map(), isOut: false };
  const outage = outageSince(0, noticeDue(rules, new Map(), on, minute, noon));
  const left = [alarm("other_bridge", { carried: true })];

  it("strikes nothing of what it has not judged yet, so that its end is told", () => {
    const judged = meanwhile(outage, news, left, 2 * minute, noon);
    expect([...judged.came.keys()]).toEqual(["other_bridge"]);
    const over = meanwhile(judged, news, off, 3 * minute, noon);
    expect(noticeDue(rules, new Map(), off, 3 * minute, noon, over)?.missed?.alarms).toMatchObject([
      { id: "other_bridge", from: 0, until: 3 * minute },
    ]);
  });

  it.each<[string, readonly ShownAlarm[], ToldBefore]>([
    ["somebody acknowledged", [alarm("other_bridge", { carried: true, state: "acknowledged" })], new Map()],
    [
      "people were told",
      left,
      new Map([["other_bridge", { ...alarm("other_bridge"), isOn: true, at: 0 }] as const]),
    ],
  ])("strikes what %s", (_, alarms, told) =>
    expect(meanwhile(outage, { ...news, told }, alarms, 2 * minute, noon).came.size).toBe(0),
  );
});

describe("what came and went during the try with which an outage begins", () => {
  const began = 4 * minute;
  const gone = (given: Given = {}, id = "other_bridge") => [
    alarm(id, { state: "cleared", since: began, ...given }),
  ];

  it.each<[string, readonly ShownAlarm[], readonly string[], WayRules?]>([
    ["is told afterwards", gone(), ["other_bridge 4-5"]],
    ["does not count where it came before", gone({ since: began - 1 }), []],
    ["does not count where it is on still, which is told by itself", gone({ state: "active" }), []],
    ["does not count where it is less severe", gone(), [], { ...rules, severity: "error" }],
    ["does not count at a quiet time", gone(), [], { ...rules, quiet: { ...night, from: 0, to: 1439 } }],
    ["does not count beside a flood", [...gone(), alarm("flood")], []],
  ])("%s", (_, alarms, expected, own = rules) => {
    const found = goneSince(began, own, alarms, 5 * minute, noon);
    const after = outageAfter(null, { ...failed, gone: found });
    expect(
      [...(after?.came ?? [])].map(
        ([id, { from, until }]) => `${id} ${from / minute}-${(until ?? 0) / minute}`,
      ),
    ).toEqual(expected);
  });

  const failed = { hasReached: false, notice: null, begunAt: began, now: 5 * minute };
});

describe("what was missed in an outage is untold until a message has it", () => {
  const missed = (id: string, until: number | null) =>
    [id, { ...alarm(id), controller: null, actuator: null, from: 0, until }] as const;
  const before: Outage = { since: 0, until: null, came: new Map([missed("a", 5), missed("b", null)]) };
  const none = { over: [], flood: null, worst: null };
  const notice = (
    raised: readonly string[],
    told: readonly string[],
    flood: number | null = null,
  ): Notice => ({
    ...{ ...none, raised: raised.map((id) => alarm(id)), flood },
    missed: { since: 0, until: null, alarms: told.map((id) => ({ ...alarm(id), from: 0, until: 5 })) },
  });

  it.each<[string, Notice | null, readonly string[]]>([
    ["one about something else has none of it", null, ["a", "b"]],
    ["one that has some of it leaves the rest", notice([], ["a"]), ["b"]],
    ["one that tells what is on still", notice(["b"], []), ["a"]],
    ["a flood tells what is on still", notice(["flood"], [], 12), ["a"]],
    ["one that has another time of it", notice(["b"], ["b"]), ["a"]],
    ["one that has all", notice(["b"], ["a"]), []],
  ])("%s", (_, one, left) => {
    const after = outageAfter(before, { hasReached: true, notice: one, begunAt: 8, now: 9 });
    expect([...(after?.came.keys() ?? [])]).toEqual(left);
    expect(after?.until).toBe(left.length === 0 ? undefined : 9);
  });

  it("came again while it was told, so it is told again", () => {
    const again: Outage = { ...before, came: new Map([missed("a", 7)]) };
    const told = { hasReached: true, notice: notice([], ["a"]), begunAt: 4, now: 9 };
    expect(outageAfter(again, told)?.came.has("a")).toBe(true);
  });

  it("goes on where the next one does not get out", () => {
    const over: Outage = { ...before, until: 9 };
    const failed = { hasReached: false, notice: notice(["c"], []), begunAt: 20, now: 21 };
    const after = outageAfter(over, failed);
    expect([after?.since, after?.until, [...(after?.came.keys() ?? [])]]).toEqual([0, null, ["a", "b", "c"]]);
    expect([after?.hasGaps, outageAfter(after, failed)?.hasGaps]).toEqual([true, true]);
    expect(outageAfter(before, failed)?.hasGaps).toBeUndefined();
    expect(noticeDue(rules, new Map(), [], 30, noon, after)?.missed?.hasGaps).toBe(true);
  });
});

describe("it is quiet", () => {
  it.each([
    ["warning", "21:59", night, false],
    ["warning", "22:00", night, true],
    ["warning", "05:59", night, true],
    ["warning", "06:00", night, false],
    ["error", "23:00", night, false],
    ["info", "13:00", { from: 720, to: 840, severity: "warning" }, true],
    ["info", "14:00", { from: 720, to: 840, severity: "warning" }, false],
    ["info", "14:00", null, false],
  ] as const)("for %s at %s", (severity, time, quiet, expected) => {
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    expect(isQuiet({ ...rules, quiet }, severity, hours * 60 + minutes)).toBe(expected);
  });
});

describe("a message that did not get out", () => {
  const failed = (isRefused: boolean, retryAfterMs?: number) => ({
    ok: false as const,
    problem: "p",
    isRefused,
    retryAfterMs,
  });

  it("is tried again after 30 s, 1, 2, 5, and then every 10 minutes, and is an alarm from the second time on", () => {
    let trouble: Trouble | null = null;
    const tries = Array.from({ length: 6 }, () => {
      const now: number = trouble?.notBefore ?? 0;
      trouble = afterSent(trouble, failed(false), now);
      return [(trouble?.notBefore ?? 0) - now, trouble?.problem];
    });
    expect(tries).toEqual([
      [30_000, null],
      [60_000, "p"],
      [120_000, "p"],
      [300_000, "p"],
      [600_000, "p"],
      [600_000, "p"],
    ]);
  });

  it("and was refused is an alarm at once, as trying again mends nothing", () =>
    expect(afterSent(null, failed(true), 0)).toEqual({ failures: 1, notBefore: 600_000, problem: "p" }));

  it.each([
    [120_000, 120_000],
    [1_000, 30_000],
    [9e9, 3_600_000],
  ])("waits as long as the service asks for, within an hour: %i → %i", (asked, pause) =>
    expect(afterSent(null, failed(false, asked), 0)?.notBefore).toBe(pause),
  );

  it("to some of its readers is an alarm at once, and holds up no message to the others", () => {
    const trouble = afterSent(null, { ...failed(false), missing: ["ben@example.com"] }, 0);
    expect(trouble).toMatchObject({ notBefore: 30_000, problem: "p", isOfSome: true });
  });

  it("is over with the first that gets out", () =>
    expect(afterSent({ failures: 3, notBefore: 9, problem: "p" }, { ok: true }, 0)).toBeNull());
});
