import { describe, expect, it } from "vitest";
import type { Alarm, AlarmType } from "../../src/greenhouse/limits.js";
import {
  afterNotice,
  afterSent,
  isQuiet,
  isTryDue,
  meanwhile,
  noticeDue,
  type Outage,
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

  it("is not waited for until a time that a clock set back has moved far away", () => {
    const trouble = { failures: 1, notBefore: 3 * 3_600_000, problem: null };
    expect([isTryDue(trouble, 0), isTryDue(trouble, 2.5 * 3_600_000)]).toEqual([true, false]);
  });
});
