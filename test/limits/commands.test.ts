import { describe, expect, it } from "vitest";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { bench, blow, guard, ignored, keptIn, limits, lockOf, skylight, valve, weather } from "./bench.js";

const allowed = (one: CommandBench, id = "roof") =>
  one.store.get("GH-0001")?.actuators.get(id)?.restrictions?.allowed;

const wind = guard({ clearAfterMs: 60_000, allow: { words: ["close"], degrees: { min: 0, max: 10 } } });

describe("a guard", () => {
  it("refuses what it does not allow, with the rule and its numbers, and nothing is sent", async () => {
    const one = await bench({ actuators: [skylight({ limits: limits({ guards: [wind] }) })] });
    await one.play(blow(14));
    const result = await one.run("open");
    expect(result).toMatchObject({ outcome: "refused", reason: "interlock", steps: [], sent_at: null });
    expect(result.interlock).toMatchObject({ rule: "wind", input: "weather/wind", value: 14, limit: 12 });
    expect(one.platform.posts).toEqual([]);
  });

  it("holds while its value was never read, and is let go by the first good one only after clear_after", async () => {
    const one = await bench({ actuators: [skylight({ limits: limits({ guards: [wind] }) })] });
    expect(allowed(one)).toMatchObject({ words: ["close"], degrees: { min: 0, max: 10 } });
    await one.play(blow(3), 59_000, blow(3), 0);
    expect(allowed(one)?.words).toEqual(["close"]);
    await one.clock.advance(1_000);
    expect(allowed(one)?.words).toEqual(["open", "close", "auto"]);
  });

  it("whose value alone changes is shown with the newest one 5 s after the last", async () => {
    const one = await bench({ actuators: [skylight({ limits: limits({ guards: [wind] }) })] });
    const shown = () => allowed(one)?.because.map(({ value }) => value);
    await one.play(blow(14), 1_000, blow(15), 1_000, blow(16), 2_900);
    expect(shown()).toEqual([14]);
    await one.clock.advance(200);
    expect(shown()).toEqual([16]);
  });

  it("whose value comes back to what was published before the change was shown has nothing to show late", async () => {
    const one = await bench({ actuators: [skylight({ limits: limits({ guards: [wind] }) })] });
    const shown = () => allowed(one)?.because.map(({ value }) => value);
    await one.play(blow(14), 1_000, blow(15), 1_000);
    expect(shown()).toEqual([14]);
    await one.play(blow(14), 20_000);
    expect(shown()).toEqual([14]);
  });

  it("holds between its thresholds after a value that was too old, also where nobody looked meanwhile", async () => {
    const one = new CommandBench({ weather, actuators: [skylight({ limits: limits({ guards: [wind] }) })] });
    await one.play(blow(3), 60_000, blow(3), 0);
    expect(allowed(one)?.words).toContain("open");
    await one.play(61_000, blow(10), 0);
    expect(allowed(one)?.words).toEqual(["close"]);
  });

  it("is judged as it is at that moment, also where nobody had looked at it since", async () => {
    const limited = skylight({ limits: limits({ guards: [wind] }) });
    const one = new CommandBench({ weather, actuators: [limited], registers: { "101": "10001" } });
    await one.play(blow(3), 60_000, '{"command":"open","dry_run":true}', 0);
    expect(one.results).toMatchObject([{ outcome: "dry_run" }]);
    expect(allowed(one)?.words).toContain("open");
  });

  it("lets pass what it allows, and stop always", async () => {
    const stop = { address: "101", value: "00000" };
    const one = await bench({ actuators: [skylight({ stop, limits: limits({ guards: [wind] }) })] });
    await one.play(blow(14));
    one.platform.registers.set("101", "10010");
    await one.play("close", 0);
    expect(one.results).toEqual([]);
    await one.play("stop", 10_000);
    expect(one.results.filter(({ reason }) => reason === "interlock")).toEqual([]);
  });

  it("names stop as allowed only where the actuator has one, and so does a lock", async () => {
    const told = async (own: Partial<ActuatorSettings>) => {
      const one = await bench({ actuators: [skylight({ limits: limits({ guards: [wind] }), ...own })] });
      await one.play(blow(14));
      const guarded = (await one.run("open")).message;
      await one.engine.change("GH-0001", ["roof"], { lock: lockOf(one) });
      return [guarded, (await one.run("close")).message];
    };
    expect(await told({})).toEqual([
      expect.stringMatching(/Allowed: close, 0 to 10\.$/),
      expect.stringMatching(/; nothing passes until it is unlocked\.$/),
    ]);
    expect(await told({ stop: { address: "101", value: "00000" } })).toEqual([
      expect.stringMatching(/Allowed: close, 0 to 10, stop\.$/),
      expect.stringMatching(/; only stop passes until it is unlocked\.$/),
    ]);
  });
});

it("a degree that a guard keeps back is no step that was sent, also where the mode's POST had no answer", async () => {
  const clear = { ...wind, clearAfterMs: 0 };
  const one = await bench({ actuators: [skylight({ limits: limits({ guards: [clear] }) })] });
  one.platform.onWrite = async (post) => {
    await one.platform.accept(post);
    throw platformError({});
  };
  await one.play(blow(3), "60", 1_000, blow(14), 60_000);
  expect(one.values()).toEqual(["101=10100"]);
  expect(one.results.at(-1)).toMatchObject({ outcome: "failed", reason: "interlock" });
  expect(one.results.at(-1)?.steps.map(({ value }) => value)).toEqual(["10100"]);
});

describe("a light that gets on first", () => {
  const dark = { ...wind, allow: { words: ["off"], degrees: null } };
  const light = (state: string) =>
    bench({
      actuators: [valve({ kind: "light", leadIn: "when_not_on", limits: limits({ guards: [dark] }) })],
      registers: { "210": state },
    });

  it("is not said to take a word before which the guard forbids that on, and its refusal says why", async () => {
    const one = await light("1100");
    await one.play(blow(14), 1_000);
    expect(allowed(one, "valve")?.words).toEqual([]);
    const result = await one.run("off");
    expect(result).toMatchObject({ outcome: "refused", reason: "interlock" });
    expect(String(result.message)).toContain('"on" first (lead_in)');
    expect(one.values()).toEqual([]);
  });

  it("takes the word while it shows on, or what the word leads to", async () => {
    const one = await light("1010");
    await one.play(blow(14), 1_000);
    expect(allowed(one, "valve")?.words).toEqual(["off"]);
    expect(await one.run("off")).toMatchObject({ outcome: "confirmed" });
    await one.clock.advance(1_000);
    expect(allowed(one, "valve")?.words).toEqual(["off"]);
    expect(one.values()).toEqual(["210=1001"]);
  });

  it("is said to take it as soon as somebody switches it on elsewhere", async () => {
    const one = await light("1100");
    await one.play(blow(14), 1_000);
    expect(allowed(one, "valve")?.words).toEqual([]);
    one.polled("210", "1010");
    await one.clock.advance(0);
    expect(allowed(one, "valve")?.words).toEqual(["off"]);
  });
});

it("a guard on another actuator judges what is read there, whoever moved it", async () => {
  const shut = guard({
    ...{ name: "screen", input: { type: "actuator", controller: null, id: "screen" }, from: "screen" },
    ...{ condition: { type: "is", words: ["open"] }, clearAfterMs: 0 },
  });
  const one = await bench({
    actuators: [skylight({ limits: limits({ guards: [shut] }) }), skylight({ id: "screen", address: "102" })],
  });
  expect(allowed(one)?.words).toEqual(["open", "close", "auto"]);
  one.polled("102", "10010");
  await one.clock.advance(0);
  expect(allowed(one)?.words).toEqual(["close"]);
});

const closing = { ...wind, sends: "close" };
const open = { "101": "10010" };

describe("a guard that sends", () => {
  const storm = () =>
    bench({ actuators: [skylight({ limits: limits({ guards: [closing] }) })], registers: open });

  it("sends nothing because its input was lost, unless it is told to act blind", async () => {
    const one = await storm();
    await one.clock.advance(400_000);
    expect(one.platform.posts).toEqual([]);
    expect(one.alarms.has("guard_blind")).toBe(true);
    expect(one.alarmFacts.get("guard_blind")).toEqual({
      guards: [{ rule: "wind", input: "weather/wind", sends: null, quality: "stale" }],
      said: expect.stringMatching(
        /^Wind has no good value \(stale\), so the guard "wind" holds\. Until/,
      ) as unknown,
    });
    expect(one.alarms.get("guard_blind")).toMatch(/^weather\/wind has no good value \(stale\)/);
    const blind = await bench({
      actuators: [skylight({ limits: limits({ guards: [{ ...closing, actsBlind: true }] }) })],
    });
    blind.platform.registers.set("101", "10010");
    await blind.clock.advance(59_000);
    expect(blind.platform.posts).toEqual([]);
    await blind.clock.advance(30_000);
    expect(blind.platform.posts.map(({ value }) => value)).toEqual(["10001"]);
  });
});

const isOf = ({ records }: CommandBench, at: number, command: string) => {
  const record = records[at];
  return record?.type === "result" && record.result.command === command;
};

describe("a lease", () => {
  /** It ran out a minute ago, and the platform was not asked for anything yet. */
  const overdueAtStart = (shown: string | null = "1010") =>
    bench({
      actuators: [valve({ limits: limits({ forMs: 600_000 }) })],
      ...(shown === null ? { isUnread: true } : { registers: { "210": shown } }),
      kept: {
        lease: {
          ...{ id: "x", by: null, command: "on", ends_with: "off" },
          until: new CommandBench().clock.now() - 60_000,
        },
      },
      isUnasked: true,
    });

  it("that another command ends is over on disk before that command's result: a power cut brings back both or none", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 10_000, "auto", 10_000);
    const ended = one.records.findIndex((_, at) => isOf(one, at, "auto"));
    const before = keptIn(one.records.slice(0, ended)).at(-1);
    expect(one.results.at(-1)).toMatchObject({ outcome: "confirmed", command: "auto" });
    expect(before?.lease ?? null).toBeNull();
  });

  it("is in force as soon as its command takes over the read-backs of an equal one, whatever they show", async () => {
    const one = await bench({ actuators: [valve()] });
    one.platform.onWrite = ignored;
    await one.play("on", 1_500, '{"command":"on","for":"5m"}', 501);
    expect(keptIn(one.records).at(-1)).toMatchObject({ lease: { command: "on", ends_with: "off" } });
    await one.clock.advance(100_000);
    expect(one.results.map(({ outcome }) => outcome)).toEqual(["superseded", "unconfirmed"]);
    one.platform.registers.set("210", "1010");
    await one.clock.advance(300_000);
    expect(one.values()).toContain("210=1001");
  });

  it("counts where its POST could not be read back in time, and shows only later", async () => {
    const one = await bench({ actuators: [valve()] });
    one.platform.onWrite = (post) => {
      one.platform.onRead = () => platformError({ kind: "server", status: 500 });
      return one.platform.accept(post);
    };
    await one.play('{"command":"on","for":"20m"}', 300_000);
    expect(one.results).toMatchObject([{ outcome: "unknown" }]);
    one.platform.onRead = null;
    one.platform.onWrite = (post) => one.platform.accept(post);
    one.polled("210", "1010");
    await one.clock.advance(1_000_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
  });

  it.each([
    ["within seconds", 20_000],
    ["within the hour", 500_000],
  ])("counts where its command was rejected, and is carried out late: %s", async (_, afterMs) => {
    const one = await bench({ actuators: [valve()] });
    one.platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
    await one.play('{"command":"on","for":"20m"}', afterMs);
    expect(one.results).toMatchObject([{ outcome: "rejected" }]);
    one.platform.onWrite = (post) => one.platform.accept(post);
    one.platform.registers.set("210", "1010");
    one.polled("210", "1010");
    await one.clock.advance(1_000);
    expect(one.events.map(({ type }) => type)).toEqual(["command_rejected", "late_execution"]);
    await one.clock.advance(1_200_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
  });

  it("is not over because of what was shown before its own steps, where its end was never sent", async () => {
    const one = await bench({ actuators: [skylight()] });
    one.platform.onWrite = (post) => (post.value === "25" ? ignored() : one.platform.accept(post));
    one.platform.connects = (nth) => (nth > 2 ? platformError({ kind: "unreachable", sent: false }) : null);
    await one.play('{"command":"25","for":"40s"}', 50_000);
    expect(one.results.at(-1)).toMatchObject({ command: "close", outcome: "failed", reason: "not_sent" });
    expect(one.alarms.has("lease_overrun")).toBe(true);
    one.platform.connects = () => null;
    one.platform.onWrite = (post) => one.platform.accept(post);
    await one.clock.advance(60_000);
    expect(one.results.at(-1)).toMatchObject({ command: "close", outcome: "confirmed" });
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("whose end finds what somebody else has set meanwhile is over, and nothing is sent", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 300_000, () => one.platform.registers.set("210", "1100"), 330_000);
    expect(one.values()).toEqual(["210=1010"]);
    expect(one.events.map(({ type }) => type)).toEqual(["ended_by_itself"]);
    expect(one.results.at(-1)).toMatchObject({ outcome: "refused", reason: "expired" });
    expect(one.store.get("GH-0001")?.actuators.get("valve")?.restrictions?.lease).toBeNull();
  });

  it("is renewed by the same command that names a time, and by no other", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ atMostMs: 3_600_000 }) })] });
    const until = () => one.store.get("GH-0001")?.actuators.get("valve")?.restrictions?.lease?.until;
    await one.play('{"command":"on","for":"20m"}', 60_000);
    const first = until();
    await one.play('{"command":"on","id":"2"}', 60_000);
    expect(until()).toBe(first);
    await one.play('{"command":"on","for":"20m","id":"3"}', 60_000);
    expect(Date.parse(until() ?? "") - Date.parse(first ?? "")).toBe(120_000);
  });

  it.each([
    ['{"command":"on","for":"2h"}', "out_of_range"],
    ['{"command":"off","for":"5m"}', "bad_payload"],
    ['{"command":"on","for":"500ms"}', "bad_payload"],
    ['{"command":"on","hold":"25h"}', "bad_payload"],
    ['{"command":"on","for":null}', "bad_payload"],
    ['{"command":"on","hold":null}', "bad_payload"],
    ['{"command":"on","for":""}', "bad_payload"],
  ])("refuses %s as %s", async (payload, reason) => {
    const one = await bench({ actuators: [valve({ limits: limits({ atMostMs: 3_600_000 }) })] });
    expect(await one.run(payload)).toMatchObject({ outcome: "refused", reason });
  });

  it("that is not confirmed is alarmed and ended again after 30 s, 2 min and 10 min", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 500_000);
    one.platform.onWrite = ignored;
    await one.clock.advance(1_500_000);
    expect(one.alarms.has("lease_overrun")).toBe(true);
    expect(one.alarmFacts.get("lease_overrun")).toEqual({ command: "on", ends_with: "off" });
    expect(one.platform.posts.filter(({ value }) => value === "1001").length).toBe(4);
    one.platform.onWrite = (post) => one.platform.accept(post);
    await one.clock.advance(700_000);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("that the platform keeps back ends as soon as it answers again", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 300_000);
    one.store.setReachable(false);
    await one.clock.advance(400_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["1010"]);
    expect(one.alarms.has("lease_overrun")).toBe(true);
    one.store.setReachable(true);
    await one.clock.advance(10_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["1010", "1001"]);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("that is overdue at a start is no alarm before the platform had the time to answer", async () => {
    const one = await overdueAtStart();
    await one.clock.advance(29_000);
    expect(one.alarms.has("lease_overrun")).toBe(false);
    await one.clock.advance(2_000);
    expect(one.alarms.get("lease_overrun")).toContain("The platform cannot be reached.");
    one.store.setReachable(true);
    await one.clock.advance(10_000);
    expect(one.values()).toEqual(["210=1001"]);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("that is overdue at a start ends as soon as the platform answers", async () => {
    const one = await overdueAtStart();
    await one.clock.advance(2_000);
    one.store.setReachable(true);
    await one.clock.advance(5_000);
    expect(one.values()).toEqual(["210=1001"]);
  });

  it("that is overdue at a start is not ended where the first read shows that somebody moved it meanwhile", async () => {
    const one = await overdueAtStart("1100");
    one.store.setReachable(true);
    await one.clock.advance(60_000);
    expect(one.values()).toEqual([]);
    const { events, records } = one;
    expect(events.filter(({ type }) => type === "ended_by_itself")).toMatchObject([
      { severity: "info", facts: { controller: "gh-0001", actuator: "valve", from: "on", to: "auto" } },
    ]);
    expect(records).toContainEqual(
      expect.objectContaining({ type: "ended_by_itself", from: "on", to: "auto" }),
    );
    expect(keptIn(records).at(-1)?.lease ?? null).toBeNull();
  });

  it("that is overdue at a start is ended only once it was read", async () => {
    const one = await overdueAtStart(null);
    one.store.setReachable(true);
    await one.clock.advance(20_000);
    expect(one.values()).toEqual([]);
    one.platform.registers.set("210", "1010");
    one.polled("210", "1010");
    await one.clock.advance(5_000);
    expect(one.values()).toEqual(["210=1001"]);
  });

  it("that is overdue at a start and cannot be read is alarmed half a minute after the platform answers, and ended once it can be", async () => {
    const one = await overdueAtStart(null);
    one.platform.onRead = () => platformError({ sent: false });
    await one.clock.advance(2_000);
    one.store.setReachable(true);
    await one.clock.advance(29_000);
    expect(one.results).toEqual([]);
    await one.clock.advance(5_000);
    expect(one.alarms.get("lease_overrun")).toContain("Address 210 could not be read before sending");
    expect(one.values()).toEqual([]);
    one.platform.registers.set("210", "1010");
    one.platform.onRead = null;
    await one.clock.advance(60_000);
    expect(one.values()).toEqual(["210=1001"]);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("that is overdue at a start is not ended either where only the read before its end shows that somebody moved it", async () => {
    const one = await overdueAtStart(null);
    one.platform.registers.set("210", "1100");
    one.store.setReachable(true);
    await one.clock.advance(60_000);
    expect(one.values()).toEqual([]);
    expect(one.results.at(-1)).toMatchObject({ outcome: "refused", reason: "expired" });
    expect(one.events.map(({ type }) => type)).toContain("ended_by_itself");
  });

  it("that is overdue at a start is read before it is ended, also where the platform comes back only after hours", async () => {
    const one = await overdueAtStart(null);
    await one.clock.advance(3 * 3_600_000);
    expect(one.alarms.get("lease_overrun")).toContain("The platform cannot be reached.");
    one.platform.registers.set("210", "1100");
    one.store.setReachable(true);
    await one.clock.advance(10_000);
    one.polled("210", "1100");
    await one.clock.advance(120_000);
    expect(one.values()).toEqual([]);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("that is overdue at a start is ended as soon as its own value is read, also where the platform comes back only after hours", async () => {
    const one = await overdueAtStart(null);
    await one.clock.advance(3 * 3_600_000);
    one.platform.registers.set("210", "1010");
    one.store.setReachable(true);
    await one.clock.advance(2_000);
    one.polled("210", "1010");
    await one.clock.advance(3_000);
    expect(one.values()).toEqual(["210=1001"]);
  });

  it("that is overdue at a start is ended half a minute after the platform came back where nothing is known of it", async () => {
    const one = await overdueAtStart(null);
    await one.clock.advance(3 * 3_600_000);
    one.platform.registers.set("210", "1010");
    one.store.setReachable(true);
    await one.clock.advance(20_000);
    expect(one.values()).toEqual([]);
    await one.clock.advance(20_000);
    expect(one.values()).toEqual(["210=1001"]);
  });

  it("is taken over by whoever else moves it", async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 60_000);
    one.polled("210", "1100");
    await one.clock.advance(700_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["1010"]);
  });
});

describe("what a rule sends", () => {
  const running = async (over: Partial<ActuatorSettings> = {}) => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }), ...over })] });
    await one.run("on");
    return one;
  };

  it("is alarmed and sent again where it is refused at the door", async () => {
    const one = await running();
    one.otherBridge = true;
    await one.clock.advance(400_000);
    expect(one.alarms.has("lease_overrun")).toBe(true);
    one.otherBridge = false;
    await one.clock.advance(60_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
    expect(one.alarms.has("lease_overrun")).toBe(false);
  });

  it("kept back after an attempt that was not confirmed is alarmed", async () => {
    const limited = limits({ guards: [closing] });
    const one = await bench({ actuators: [skylight({ limits: limited })], registers: open });
    one.platform.onWrite = ignored;
    await one.play(blow(14), 70_000);
    expect(one.results.map(({ outcome }) => outcome)).toEqual(["unconfirmed"]);
    expect(one.alarms.has("guard_unmet")).toBe(false);
    await one.engine.change("GH-0001", ["roof"], { lock: lockOf(one) });
    await one.clock.advance(60_000);
    expect(one.alarms.has("guard_unmet")).toBe(true);
  });

  it("is not sent again against what somebody else has moved meanwhile", async () => {
    const quick = { travelMs: 5_000, confirmWithinMs: 10_000 };
    const limited = limits({ guards: [closing] });
    const one = await bench({ actuators: [skylight({ ...quick, limits: limited })], registers: open });
    one.platform.onWrite = ignored;
    await one.play(blow(14), 25_000);
    expect(one.results.map(({ outcome }) => outcome)).toEqual(["unconfirmed"]);
    await one.play(() => one.polled("101", "11000"), 10);
    await one.clock.advance(60_000);
    expect(one.values()).toEqual(["101=10001"]);
  });

  it("is sent blind after a start only once its input is overdue, also where it was due before", async () => {
    const limited = limits({ guards: [{ ...closing, actsBlind: true }] });
    const kept = { guards: { wind: { phase: "held", sending: "due", id: null, tries: 0 } } } as const;
    const one = await bench({ actuators: [skylight({ limits: limited })], registers: open, kept });
    await one.clock.advance(59_000);
    expect(one.values()).toEqual([]);
    await one.clock.advance(30_000);
    expect(one.values()).toEqual(["101=10001"]);
  });

  it("keeps an alarm of an earlier run on until this one can tell that it is over", async () => {
    const until = new CommandBench().clock.now() - 60_000;
    const one = await bench({
      actuators: [skylight({ limits: limits({ guards: [wind] }) })],
      registers: open,
      kept: { lease: { id: "x", by: null, command: "open", ends_with: "close", until } },
      alarms: { guard_blind: "of the run before", lease_overrun: "of the run before" },
    });
    await one.clock.advance(1_000);
    expect([...one.alarms.keys()]).toEqual(["guard_blind", "lease_overrun"]);
    await one.play(blow(3), 30_000);
    expect(one.values()).toEqual(["101=10001"]);
    expect([...one.alarms.keys()]).toEqual([]);
  });

  it("as a dry run is no end of a lease, and is not tried without a pause", async () => {
    const until = new CommandBench().clock.now() - 60_000;
    const one = await bench({
      actuators: [valve({ limits: limits({ forMs: 600_000 }) })],
      ...{ registers: { "210": "1010" }, dryRun: true },
      kept: { lease: { id: "x", by: null, command: "on", ends_with: "off", until } },
    });
    await one.clock.advance(20_000);
    expect(one.results.map(({ outcome }) => outcome)).toEqual(["dry_run"]);
    expect(one.alarms.has("lease_overrun")).toBe(true);
  });
});

it("a dry run begins no lease and no hold, also where it ends already", async () => {
  const one = await bench({ actuators: [valve()] });
  await one.run("on");
  const dry = '{"command":"on","for":"20m","hold":"1h","dry_run":true}';
  expect((await one.run(dry)).outcome).toBe("already");
  expect(one.store.get("GH-0001")?.actuators.get("valve")?.restrictions ?? null).toBeNull();
  expect((await one.run("off")).outcome).toBe("confirmed");
});

describe("read-only", () => {
  const guarded = () =>
    bench({ actuators: [skylight({ limits: limits({ guards: [closing] }) })], registers: open });
  const leased = async () => {
    const one = await bench({ actuators: [valve({ limits: limits({ forMs: 600_000 }) })] });
    await one.play("on", 30_000);
    return one;
  };
  const becomes = (readOnly: boolean | "own") => (one: CommandBench) => {
    one.readOnly = readOnly;
    one.engine.readOnlyChanged();
  };

  it("that the program gave itself refuses what others ask for and keeps back no guard", async () => {
    const one = await guarded();
    await one.play(becomes("own"), "open", 0);
    expect(one.results).toMatchObject([{ outcome: "refused", reason: "read_only" }]);
    expect(allowed(one)).toMatchObject({ words: [], because: [{ rule: "read_only" }] });
    await one.play(blow(14), 30_000);
    expect(one.results.at(-1)).toMatchObject({ outcome: "confirmed", by: "rule wind" });
    expect(one.alarms.size).toBe(0);
  });

  it("that the program gave itself keeps back no lease's end", async () => {
    const one = await leased();
    await one.play(becomes("own"), 600_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
    expect(one.alarms.size).toBe(0);
  });

  it.each([
    ["guard", guarded, "guard_unmet", ["101=10001"]],
    ["lease's end", leased, "lease_overrun", ["210=1010", "210=1001"]],
  ])(
    "by the user's setting keeps back a %s, with its alarm, for as long",
    async (_, scene, alarm, values) => {
      const one = await scene();
      await one.play(becomes(true), blow(14), 30_000, blow(14), 30_000, blow(14), 600_000);
      expect(one.values()).toEqual(values.slice(0, -1));
      expect(one.alarms.get(alarm)).toContain("read-only");
      await one.play(becomes("own"), blow(14), 40_000);
      expect(one.values()).toEqual(values);
    },
  );
});

describe("on disk", () => {
  const kept = (one: CommandBench) => keptIn(one.records).at(-1);

  it("nothing is left of a lease whose command was never sent", async () => {
    const one = await bench({ actuators: [skylight({ stop: { address: "101", value: "00000" } })] });
    one.send('{"command":"open","for":"20m"}');
    for (let turns = 0; turns < 200 && kept(one) === undefined; turns++) await Promise.resolve();
    expect(kept(one)).toMatchObject({ lease: { command: "open" } });
    await one.play("stop", 60_000);
    expect(one.values()).toEqual(["101=00000"]);
    expect(kept(one)).toBeNull();
  });

  it("is what the journal could not take, once it can", async () => {
    const one = await bench({
      actuators: [skylight({ limits: limits({ guards: [{ ...wind, clearAfterMs: 0 }] }) })],
    });
    await one.play(blow(3), 1_000);
    one.journalProblem = "the disk is full";
    await one.play(blow(14), 1_000);
    one.journalProblem = null;
    await one.journalAgain();
    expect(kept(one)).toMatchObject({ guards: { wind: { phase: "held", tripped: true } } });
  });
});

describe("pauses", () => {
  it("are shown from the movement that they follow from until they end", async () => {
    const rested = limits({ restMs: 20_000, startsPerHour: 1 });
    const one = await bench({ actuators: [skylight({ travelMs: 10_000, limits: rested })] });
    const shown = () => allowed(one)?.because.map(({ rule }) => rule);
    await one.play("open", 1_000);
    expect(shown()).toEqual(["starts_per_hour", "rest"]);
    await one.clock.advance(60_000);
    expect(shown()).toEqual(["starts_per_hour"]);
    await one.clock.advance(3_600_000);
    expect(shown()).toEqual([]);
  });

  it("hold up no dry run, which holds up nothing that waits", async () => {
    const rested = limits({ restMs: 20_000, reversalMs: 60_000 });
    const one = await bench({ actuators: [skylight({ travelMs: 1_000, limits: rested })] });
    await one.run("20");
    await one.play("30", 12_000, '{"command":"60","max_age":"30s"}', 1_000);
    await one.play('{"command":"close","dry_run":true}', 100);
    expect(one.results.at(-1)).toMatchObject({ command: "close", outcome: "dry_run" });
    await one.clock.advance(30_000);
    expect(one.results.at(-1)).toMatchObject({ command: "60", outcome: "confirmed" });
  });

  it("let a command wait where they end within its max_age, else it is refused at once", async () => {
    const one = await bench({
      actuators: [skylight({ travelMs: 20_000, limits: limits({ restMs: 10_000, reversalMs: 40_000 }) })],
    });
    await one.play("open", 15_000, "close", 10_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["10010"]);
    await one.clock.advance(40_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["10010", "10001"]);
    await one.play("open", 0);
    expect(one.results.at(-1)).toMatchObject({ outcome: "confirmed" });
  });

  it.each([
    ["a skylight", skylight({ travelMs: 10_000 }), ["10010", "10010"]],
    [
      "a motor, whose words may mean anything,",
      { kind: "motor", values: { open: "10010" }, travelMs: 10_000 } as const,
      ["10010"],
    ],
  ])("open again is the same way for %s", async (_, actuator, posts) => {
    const one = await bench({ actuators: [{ ...actuator, limits: limits({ reversalMs: 40_000 }) }] });
    await one.play("open", 15_000, '{"command":"open","force":true}', 5_000);
    expect(one.platform.posts.map(({ value }) => value)).toEqual(posts);
  });

  it("refuse a lease that would be over before they end, and none begins after its own end", async () => {
    const one = await bench({
      actuators: [skylight({ travelMs: 10_000, limits: limits({ reversalMs: 40_000 }) })],
    });
    await one.run("open");
    await one.play(60_000, "close", 15_000);
    const lease = '{"command":"open","for":"20s"}';
    await one.play(lease, 0);
    expect(one.results.at(-1)).toMatchObject({ reason: "interlock", interlock: { rule: "reversal" } });
    await one.clock.advance(60_000);
    one.diskMs = 30_000;
    expect(await one.run(lease)).toMatchObject({ outcome: "refused", reason: "expired" });
    expect(one.platform.posts.map(({ value }) => value)).toEqual(["10010", "10001"]);
  });
});

it("of two actuators that exclude each other, commanded at once, one is refused", async () => {
  const twin = (id: string, other: string, address: string) =>
    skylight({
      ...{ id, address },
      limits: limits({
        guards: [
          guard({
            ...{ name: "twin", input: { type: "actuator", controller: null, id: other }, from: other },
            ...{ condition: { type: "moving" }, clearAfterMs: 0, allow: { words: [], degrees: null } },
          }),
        ],
      }),
    });
  const one = await bench({ actuators: [twin("left", "right", "101"), twin("right", "left", "102")] });
  one.send("open", { targetId: "left" });
  one.send("open", { targetId: "right" });
  await one.clock.advance(60_000);
  expect(one.results).toMatchObject([
    { actuator: "right", reason: "interlock", interlock: { rule: "twin" } },
    { actuator: "left", outcome: "confirmed" },
  ]);
});

it("the number of starts within the hour is shown as it is, also while it still pauses", async () => {
  const one = await bench({ actuators: [valve({ limits: limits({ startsPerHour: 1 }) })] });
  const shown = () => {
    const { restrictions } = one.store.get("GH-0001")?.actuators.get("valve") ?? {};
    return restrictions?.allowed.because.map(({ value }) => value);
  };
  const polled = (raw: string) => (bench: CommandBench) => bench.polled("210", raw);
  await one.play("on", 60_000, "off", 60_000, polled("1010"), 600_000, polled("1001"), 10_000);
  await one.play(polled("1010"), 600_000);
  const began = one.clock.monotonic();
  expect(shown()).toEqual([3]);
  await one.clock.advance(3_610_000 - began);
  expect(shown()).toEqual([2]);
  await one.clock.advance(300_000);
  expect(shown()).toEqual([1]);
});
