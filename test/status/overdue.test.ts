import { describe, expect, it } from "vitest";
import { type Overdue, type OverdueFacts, overdueOf } from "../../src/status/overdue.js";
import type { Controller, Register } from "../../src/greenhouse/model.js";
import { newController } from "../../src/greenhouse/reduce.js";
import type { ControllerSettings } from "../../src/greenhouse/settings.js";
import { actuator, controllerSettings, sensorSettings } from "../support/builders.js";

const minute = 60_000;
const now = 100 * minute;
const intervals = {
  controllers: 5 * minute,
  sensors: minute,
  running_status: 5 * minute,
  actuators: 2 * minute,
};
const wall = Date.parse("2026-03-01T08:00:00Z");
const iso = (mono: number) => new Date(wall - (now - mono)).toISOString();

const east = (settings: Partial<ControllerSettings> = {}, online = true): Controller => ({
  ...newController("GH-0001", "east", controllerSettings(settings), true),
  availability: online ? "online" : "offline",
});

const register = (startedAt: number): Register => ({
  raw: "10010",
  startedAt,
  readAt: 0,
  fresh: true,
  source: "poll",
});

/** Everything was answered a minute ago, but for what a case says: operation → monotonic ms, null for never. */
function overdue(
  answered: Readonly<Record<string, number | null>> = {},
  over: Partial<OverdueFacts> = {},
): readonly Overdue[] {
  return judged(answered, over).late;
}

function judged(
  answered: Readonly<Record<string, number | null>> = {},
  over: Partial<OverdueFacts> = {},
): ReturnType<typeof overdueOf> {
  return overdueOf({
    now,
    wall,
    startedAt: 0,
    awakeSince: -Infinity,
    intervals,
    stretch: 1,
    controllers: [east()],
    hasReadings: () => true,
    answeredAt: (operation) => {
      const at = answered[operation];
      return at === undefined ? now - minute : at;
    },
    knownSince: () => 0,
    ...over,
  });
}

describe("what is overdue", () => {
  it("is nothing while everything answers", () => expect(overdue()).toEqual([]));

  it.each([
    ["three intervals and half a minute are patience", now - 3.5 * minute, []],
    ["a moment more is late", now - 3.5 * minute - 1, [now - 2.5 * minute - 1]],
    ["an hour", now - 60 * minute, [now - 59 * minute]],
    ["never since the start", null, [minute]],
  ])("sensors, last answered: %s", (_, at, since) =>
    expect(overdue({ sensors: at })).toEqual(
      since.map((then) => ({ controller: "east", what: "sensors", since: iso(then) })),
    ),
  );

  it("lists a hundred of them, and knows all", () => {
    const sensors = Array.from({ length: 150 }, (_, n) => sensorSettings({ id: `gone${n}` }));
    const quiet = Array.from({ length: 3 }, (_, n) => ({
      ...newController(
        `GH-000${n}`,
        `house${n}`,
        controllerSettings({ sensors: n === 0 ? sensors : sensors.slice(0, 1) }),
        true,
      ),
      availability: "online" as const,
    }));
    const { late, all } = judged({}, { controllers: quiet });
    expect([late.length, all.length]).toEqual([100, 152]);
    expect(new Set(all.map(({ controller }) => controller))).toEqual(new Set(["house0", "house1", "house2"]));
  });

  it("each read is judged by its own interval, the longest lateness first", () => {
    const at = now - 12 * minute;
    expect(overdue({ sensors: at, running_status: at, controllers: at })).toEqual([
      { controller: "east", what: "sensors", since: iso(at + minute) },
    ]);
    const long = now - 50 * minute;
    expect(
      overdue({ sensors: long, running_status: long, controllers: long }).map(({ what }) => what),
    ).toEqual(["sensors", "controllers", "running_status"]);
  });

  it("the account's own list has no controller", () =>
    expect(overdue({ controllers: null })).toEqual([
      { controller: null, what: "controllers", since: iso(5 * minute) },
    ]));

  it("a controller that came later has its time from then on", () => {
    const knownSince = () => now - minute;
    expect(overdue({ sensors: null, running_status: null }, { knownSince })).toEqual([]);
  });

  it("stretched intervals stretch the patience", () => {
    const at = now - 10 * minute;
    expect(overdue({ sensors: at })).toHaveLength(1);
    expect(overdue({ sensors: at }, { stretch: 4 })).toEqual([]);
  });

  it("an offline controller is read more seldom and may be", () => {
    const at = now - 12 * minute;
    expect(overdue({ sensors: at }, { controllers: [east({}, false)] })).toEqual([]);
  });

  it("a camera has neither readings nor running statuses to be late with", () => {
    const answered = { sensors: null, running_status: null };
    expect(overdue(answered, { hasReadings: () => false })).toEqual([]);
  });

  it("a sensor that was configured and is in no answer", () => {
    const sensors = [sensorSettings({ id: "gone" }), sensorSettings({ id: "unwanted", ignore: true })];
    const controllers = [east({ sensors })];
    expect(overdue({}, { controllers })).toEqual([
      { controller: "east", what: "sensor/gone", since: iso(minute) },
    ]);
    // While the read itself is missing, that says it all.
    expect(overdue({ sensors: null }, { controllers }).map(({ what }) => what)).toEqual(["sensors"]);
  });

  it.each([
    ["read", { "101": now - minute }, 0],
    ["read long ago", { "101": now - 10 * minute }, 1],
    ["of two addresses one not read for long", { "101": now - minute, "102": now - 10 * minute }, 1],
    ["never read", {}, 1],
  ])("an actuator, %s", (_, reads, count) => {
    const controller = east({ actuators: [actuator({ id: "roof" })] });
    const roof = controller.actuators.get("roof");
    if (!roof) throw new Error("no actuator");
    const registers = Object.fromEntries(
      Object.entries(reads).map(([address, at]) => [address, register(at)] as const),
    );
    const controllers = [{ ...controller, actuators: new Map([["roof", { ...roof, registers }]]) }];
    const late = overdue({}, { controllers });
    expect(late.map(({ what }) => what)).toEqual(Array.from({ length: count }, () => "actuator/roof"));
  });

  it.each([
    ["everything was answered", {}, [null, "east"]],
    ["a read is late", { sensors: null }, [null]],
    ["the list is late", { controllers: null }, ["east"]],
    ["nothing was answered yet, just after a start", { controllers: null, sensors: null }, []],
  ])("says who is up to date: %s", (_, answered, expected) => {
    const startedAt = Object.keys(answered).length === 2 ? now : 0;
    const over = { startedAt, knownSince: () => startedAt };
    expect([...judged(answered, over).upToDate]).toEqual(expected);
  });

  describe("after a time in which the process stood still", () => {
    const answered = { sensors: now - 60 * minute };

    it("nothing is late that nobody could ask for, and nobody is up to date before the next answer", () => {
      const over = { awakeSince: now - minute };
      expect(overdue(answered, over)).toEqual([]);
      expect([...judged(answered, over).upToDate]).toEqual([null]);
    });

    it("what stays away is late all the same", () => {
      const [late] = overdue(answered, { awakeSince: now - 4 * minute });
      expect(late).toMatchObject({ what: "sensors", since: iso(now - 59 * minute) });
    });
  });

  it("however much is late, the list stays bounded", () => {
    const controllers = Array.from({ length: 500 }, () => east());
    expect(overdue({ sensors: null }, { controllers })).toHaveLength(100);
  });
});
