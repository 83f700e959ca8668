import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { nameOf } from "../../src/greenhouse/documents.js";
import type { Interlock, Restrictions } from "../../src/greenhouse/limits.js";
import { type Happening, happenedMessage, isCollected, isHappening } from "../../src/notify/happenings.js";
import { unlockedEvent } from "../../src/commands/lane-limits.js";
import { HappeningsWatch } from "../../src/notify/happenings-watch.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { inChinese } from "../support/chinese.js";
import { silentLog } from "../../src/runtime/log.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { actuator, controller, controllerSettings, item } from "../support/builders.js";
import { after, sensorsRead } from "../support/folding.js";

const wording = (language: "en" | "zh") => ({
  ...{ name: null, language, tell: language === "zh" ? inChinese : String, timeZone: "UTC" },
  nameOf: (house: string, one: string | null) => [`House ${house}`, one].filter(Boolean).join(" / "),
});
const skylight = (house: string, id: string) => ({
  ...{ at: 0, controller: house, actuator: id, kind: "skylight" as const },
});
const wind = { name: "wind", value: 14, unit: "m/s" };
const moved = (house: string, id: string): Happening => ({
  ...skylight(house, id),
  ...{ of: "guards", rule: "wind", command: "close", measure: wind },
});
const over = (house: string, id: string): Happening => ({
  ...skylight(house, id),
  ...{ of: "guards", rule: "wind", command: null },
});

describe("what happened, as one message", () => {
  it.each<[rule: string, happened: Happening[], english: string, chinese: string]>([
    [
      "of one window by its name",
      [moved("1", "left")],
      "Wind 14 m/s: House 1 / left closed",
      "风速 14 m/s：House 1 / left已关闭",
    ],
    [
      "of several houses by their number",
      [moved("1", "left"), moved("1", "right"), moved("2", "left"), moved("3", "left")],
      "Wind 14 m/s: 4 windows of 3 houses closed",
      "风速 14 m/s：3 个温室的 4 扇窗已关闭",
    ],
    [
      "of what a sensor measures by the name that people read",
      [
        {
          ...{ ...skylight("1", "left"), of: "guards", rule: "storm", command: "30" },
          measure: { name: { en: "Wind speed", zh: "风速" }, value: 14, unit: "m/s" },
        },
      ],
      "Wind speed 14 m/s: House 1 / left set to 30 %",
      "风速 14 m/s：House 1 / left已设为 30 %",
    ],
    [
      "of what is on by its name alone, and of a command in the reader's word",
      [
        {
          ...{ ...skylight("1", "left"), of: "guards", rule: "storm", command: "auto" },
          measure: { name: "rain", value: "on", unit: null },
        },
      ],
      "Rain: House 1 / left set to auto",
      "降雨：House 1 / left已设为 自动",
    ],
    [
      "of what a guard lets go",
      [over("1", "left"), over("2", "left")],
      "Wind over: 2 windows of 2 houses free again",
      "限制“Wind”已解除：2 个温室的 2 扇窗恢复正常",
    ],
    [
      "of a command that ended badly",
      [{ ...skylight("1", "left"), of: "commands", command: "open", outcome: "unconfirmed" }],
      "House 1 / left: “open” was not confirmed",
      "House 1 / left：“打开”未确认",
    ],
    [
      "of a degree that ended badly",
      [{ ...skylight("1", "left"), of: "commands", command: "45", outcome: "failed" }],
      "House 1 / left: “45 %” was not carried out",
      "House 1 / left：“45 %”没有执行",
    ],
    [
      "of a parameter that ended badly, which is no degree",
      [{ ...skylight("1", "setpoint"), kind: null, of: "commands", command: "45", outcome: "failed" }],
      "House 1 / setpoint: “45” was not carried out",
      "House 1 / setpoint：“45”没有执行",
    ],
    [
      "of settings that somebody changed",
      [{ of: "people", what: "settings", at: 0, by: "anna", keys: "polling.readings" }],
      "anna changed the settings: polling.readings",
      "anna修改了设置：polling.readings",
    ],
    [
      "of who made the bridge read-only, where that is not known too",
      [{ of: "people", what: "read_only", at: 0, by: null, isReadOnly: true }],
      "Somebody made the bridge read-only for this run: every command is refused.",
      "有人已把网桥设为只读（仅本次运行）：所有命令都被拒绝。",
    ],
    [
      "of who let commands pass",
      [{ of: "people", what: "read_only", at: 0, by: "anna", isReadOnly: false }],
      "anna let commands pass for this run; commands.read_only counts again after a restart.",
      "anna已允许命令（仅本次运行）；重启后仍以 commands.read_only 为准。",
    ],
    [
      "of a whole house that somebody locked",
      [
        { ...skylight("1", "left"), of: "people", what: "locked", by: "anna", reason: null },
        { ...skylight("1", "right"), of: "people", what: "locked", by: "anna", reason: null },
      ],
      "House 1: 2 windows locked by anna",
      "House 1：2 扇窗已被 anna 锁定",
    ],
    [
      "of a lock with its reason, as who stands in the house must be known",
      [{ ...skylight("1", "left"), of: "people", what: "locked", by: "ben", reason: "on the roof" }],
      "House 1 / left locked by ben: on the roof",
      "House 1 / left已被 ben 锁定：on the roof",
    ],
    [
      "of a lock that has run out",
      [{ ...skylight("1", "left"), of: "people", what: "ran_out", by: "anna", reason: null }],
      "House 1 / left: the lock of anna has run out",
      "House 1 / left：anna 的锁定已到期",
    ],
  ])("%s", (_, happened, english, chinese) => {
    expect(happenedMessage(happened, 0, wording("en"))).toMatchObject({ title: english, text: english });
    expect(happenedMessage(happened, 0, wording("zh")).title).toBe(chinese);
  });

  it("in lines, and no more than fit on a phone", () => {
    const happened = Array.from(
      { length: 12 },
      (_, n) => ({ ...moved("1", "left"), rule: `rule ${n}` }) as Happening,
    );
    const { title, text } = happenedMessage(happened, 0, wording("en"));
    expect(title).toBe("12 events");
    expect(text.split("\n")).toHaveLength(9);
    expect(text).toContain("and 4 more");
  });

  it.each<[unknown, boolean]>([
    [moved("1", "left"), true],
    [over("1", "left"), true],
    [{ ...moved("1", "left"), measure: null }, true],
    [{ ...moved("1", "left"), measure: "wind 14 m/s" }, false],
    [{ ...skylight("1", "left"), of: "commands", command: "open", outcome: "failed" }, true],
    [{ ...skylight("1", "left"), of: "commands", outcome: "failed" }, false],
    [{ ...skylight("1", "left"), of: "people", what: "locked", by: "anna", reason: null }, true],
    [{ of: "people", at: 0, what: "settings", by: null, keys: "a" }, true],
    [{ of: "people", at: 0, what: "settings", by: null }, false],
    [{ of: "people", at: 0, what: "read_only", by: null, isReadOnly: false }, true],
    [{ of: "people", at: 0, what: "read_only", by: null }, false],
    [{ of: "guards", at: 0, rule: "wind" }, false],
    [{ of: "nonsense", at: 0 }, false],
    ["text", false],
    [null, false],
  ])("as an earlier run kept it: %j is one: %s", (kept, expected) =>
    expect(isHappening(JSON.parse(JSON.stringify(kept)))).toBe(expected),
  );

  it("once the first is half a minute old", () => {
    expect(isCollected([], 100_000)).toBe(false);
    expect(isCollected([moved("1", "left")], 29_999)).toBe(false);
    expect(isCollected([moved("1", "left")], 30_000)).toBe(true);
  });
});

describe("the watch of what happens", () => {
  const restrictions = (rules: readonly string[], by: string | null = null): Restrictions => ({
    allowed: {
      words: [],
      degrees: null,
      because: rules.map((rule) => ({
        ...{ rule, input: "weather/wind", value: 14, limit: 12, quality: "good", until: null },
      })),
    },
    lock: by === null ? null : { by, via: null, reason: "roof", since: "", until: null },
    lease: null,
  });
  const house = controller(controllerSettings({ actuators: [actuator()] }));
  const shown = (of: Restrictions | null) => ({
    ...house,
    actuators: new Map([["roof", { ...unreadActuator(actuator()), restrictions: of }]]),
  });
  const seen = (clock = new VirtualClock(), disk: { text: string | null } = { text: null }) => {
    const happened: Happening[] = [];
    const now: { house: Controller } = { house: shown(restrictions(["wind"])) };
    const memory = {
      read: () => Promise.resolve(disk.text),
      write: (text: string) => Promise.resolve(void (disk.text = text)),
    };
    const core = {
      ...{ clock, log: silentLog, file: () => memory },
      mirror: { store: { find: () => now.house } },
      configuration: { weather: { wind: { unit: "m/s" } } },
    };
    const watch = new HappeningsWatch(core, (one) => happened.push(one));
    const result = (over: Partial<CommandResult>) =>
      watch.onResult({
        ...{
          controller: "gh-0001",
          actuator: "roof",
          command: "close",
          outcome: "confirmed",
          by: "rule wind",
        },
        ...{ sent_at: "x", message: null, ...over },
      });
    const run = () => {
      const end = new AbortController();
      const ended = watch.run(end.signal);
      return async () => {
        end.abort();
        await ended;
      };
    };
    return { happened, watch, result, run, now, disk, clock };
  };

  it.each<[string, readonly (Restrictions | null | undefined)[], number]>([
    ["in the next run too", [undefined, restrictions(["wind"]), restrictions([])], 1],
    ["also where that was so before it looked", [restrictions([])], 1],
    ["not before it is shown what is in force", [undefined, undefined], 0],
    ["not while it holds", [undefined, restrictions(["wind", "rain"]), restrictions(["wind"])], 0],
  ])("tells that a guard lets go %s", async (_, shows, expected) => {
    const first = seen();
    const end = first.run();
    first.result({});
    await first.clock.advance(5_000);
    await end();
    const next = seen(first.clock, first.disk);
    const views = shows.map((one) => shown(one as Restrictions | null));
    next.now.house = views[0] ?? next.now.house;
    const endNext = next.run();
    await first.clock.advance(1_000);
    views.forEach((view, n) => n > 0 && next.watch.onChange(views[n - 1], view));
    expect(next.happened).toMatchObject(
      Array.from({ length: expected }, () => ({ of: "guards", rule: "wind", command: null })),
    );
    await endNext();
    expect(next.disk.text).toBe(expected === 0 ? '[["gh-0001/roof",["wind"]]]' : "[]");
  });

  it("tells of each of two guards that moved the same when it lets go", () => {
    const { happened, watch, result } = seen();
    result({});
    result({ by: "rule rain" });
    watch.onChange(shown(restrictions(["wind", "rain"])), shown(restrictions(["rain"])));
    watch.onChange(shown(restrictions(["rain"])), shown(restrictions([])));
    expect(happened.slice(2)).toMatchObject([
      { rule: "wind", command: null },
      { rule: "rain", command: null },
    ]);
  });

  it("tells what a guard moved with its number, and once when it lets go", () => {
    const { happened, watch, result } = seen();
    result({});
    watch.onChange(shown(restrictions(["wind"])), shown(restrictions([])));
    watch.onChange(shown(restrictions([])), shown(null));
    expect(happened).toMatchObject([
      { of: "guards", rule: "wind", command: "close", measure: wind },
      { of: "guards", rule: "wind", command: null },
    ]);
  });

  it("tells nothing of what a guard found done, nor of what a person commanded well", () => {
    const { happened, result } = seen();
    result({ outcome: "already", sent_at: null });
    result({ by: "anna" });
    expect(happened).toEqual([]);
  });

  it("tells what ended badly, whoever sent it", () => {
    const { happened, result } = seen();
    result({ by: "anna", outcome: "unconfirmed" });
    result({ by: "anna", outcome: "refused" });
    expect(happened).toMatchObject([{ of: "commands", kind: "skylight", outcome: "unconfirmed" }]);
  });

  it("tells of parameters and raw addresses too what ended badly", () => {
    const { happened, result, now } = seen();
    const setpoint = { id: "setpoint", address: "301", name: "Set point", unit: "°C", scale: 1 };
    now.house = controller(controllerSettings({ parameters: [setpoint] }));
    result({ by: "anna", actuator: "setpoint", command: "25", outcome: "unconfirmed" });
    result({ by: "anna", actuator: "210", command: "1", outcome: "failed" });
    expect(happened).toMatchObject([
      { of: "commands", actuator: "setpoint", kind: null, command: "25 °C", outcome: "unconfirmed" },
      { of: "commands", actuator: "210", kind: null, command: "1", outcome: "failed" },
    ]);
    expect(["setpoint", "210"].map((id) => nameOf(now.house, id))).toEqual([
      "GH-0001 / Set point",
      "GH-0001 / 210",
    ]);
  });

  it("tells what people set by its facts, to be said in the language of whoever reads it", () => {
    const { happened, watch } = seen();
    const told = { severity: "info", message: "", at: 7 } as const;
    watch.onEvent({ ...told, type: "settings_changed", facts: { by: "anna", keys: "a, b" } });
    watch.onEvent({ ...told, type: "read_only_changed", facts: { read_only: true, by: null } });
    expect(happened).toEqual([
      { of: "people", what: "settings", by: "anna", keys: "a, b", at: 7 },
      { of: "people", what: "read_only", by: null, isReadOnly: true, at: 7 },
    ]);
  });

  it.each<[string, string, number | string | boolean, unknown]>([
    ["a weather topic", "weather/wind", 14, { name: "wind", value: 14, unit: "m/s" }],
    [
      "a sensor, by its names",
      "air_temperature",
      31,
      { name: { en: "Air temperature", zh: "空气温度" }, value: 31, unit: "°C" },
    ],
    ["nothing that it can name", "gone", "on", { name: "gone", value: "on", unit: null }],
    ["what moves, which has no number", "left", true, null],
  ])("tells what a guard looked at: %s", (_, input, value, measure) => {
    const { happened, result, now } = seen();
    const [law] = restrictions(["wind"]).allowed.because;
    const because = [{ ...law, input, value } as Interlock];
    const view = shown({ ...restrictions([]), allowed: { words: [], degrees: null, because } });
    const { sensors } = after(view, 0, sensorsRead([item({ name: "空气温度", unit: "℃" })]));
    now.house = { ...view, sensors };
    result({});
    expect(happened).toMatchObject([{ of: "guards", measure }]);
  });

  it("tells of each lock by its event: of the first of an actuator too, and not of one that an earlier run left", () => {
    const { happened, watch } = seen();
    const first = { ...house, actuators: new Map([["roof", unreadActuator(actuator())]]) };
    const about = { controller: "gh-0001", actuator: "roof" };
    const info = { severity: "info", message: "", at: 7 } as const;
    watch.onChange(first, shown(restrictions([], "ben")));
    expect(happened).toEqual([]);
    watch.onChange(first, shown(restrictions([], "anna")));
    watch.onEvent({ ...info, type: "locked", facts: { ...about, by: "anna", reason: "roof", until: null } });
    watch.onChange(shown(restrictions([], "anna")), shown(restrictions([])));
    watch.onEvent({ ...info, type: "unlocked", facts: { ...about, by: "ben" } });
    watch.onEvent(unlockedEvent({ by: "carla" }, about, 8));
    expect(happened).toMatchObject([
      { of: "people", what: "locked", by: "anna", reason: "roof", at: 7 },
      { of: "people", what: "unlocked", by: "ben", reason: null, at: 7 },
      { of: "people", what: "ran_out", by: "carla", at: 8 },
    ]);
  });
});
