import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished } from "vitest";
import { PublishError } from "../../src/mqtt/connection/publish.js";
import { controllerMessages } from "../../src/mqtt/projection.js";
import type { StateGate } from "../../src/mqtt/retained.js";
import { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import type { Logger } from "../../src/runtime/log.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { actuator, controllerSettings, item, record, silentLog } from "../support/builders.js";
import { registersRead, sensorsRead, start } from "../support/folding.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { RetainedBroker } from "../support/retained-broker.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const topics = topicsUnder("greenhouse");
const air = (code: string) => `greenhouse/${code.toLowerCase()}/sensor/air_temperature`;

/** States that go on being published until the test is over. */
function running(gate?: StateGate, log?: Logger) {
  const one = world(gate, log);
  const run = one.output.run(one.abort.signal);
  onTestFinished(async () => {
    one.abort.abort();
    await one.broker.release();
    await run;
  });
  return one;
}

const openGate: StateGate = { visible: (_, after) => after, mayClear: () => true };

function world(gate: StateGate = openGate, log: Logger = silentLog) {
  const known = controllerSettings({ code: "A", parameters: [{ id: "ec", address: "501", scale: 1 }] });
  const roofed = controllerSettings({ code: "D", actuators: [actuator({ id: "roof" })] });
  const clock = new VirtualClock(start);
  const store = new GreenhouseStore(mirrorSettings([known, roofed]), clock, anyAscii);
  store.setReachable(true);
  const broker = new RetainedBroker();
  const scans: (readonly string[])[] = [];
  const context = { topics, view: store, gate, qos: 0, isLeftOut: () => false } as const;
  const link = {
    publish: (topic: string, payload: string) => broker.publish(topic, payload),
    scan: (filters: readonly string[], found: (topic: string, payload: Buffer) => void) => {
      scans.push(filters);
      for (const [topic, payload] of broker.kept) found(topic, Buffer.from(payload));
      return Promise.resolve(true);
    },
  };
  const output = new RetainedTopics(context, link, clock, log);
  store.onChange((before, after) => output.onChange(before, after));
  let n = 0;
  /** A new reading of a controller, the first of which makes it appear. */
  const read = (code: string, value: number) => {
    store.admit(code);
    const measuredAt = start + n++;
    store.dispatch(code, sensorsRead([item({ value, raw: value, measuredAt })], measuredAt));
  };
  const connect = async () => {
    await output.onLinked();
    output.online();
    await settled();
  };
  return { store, clock, broker, scans, output, read, connect, abort: new AbortController() };
}

/** States of controllers that were read once and published; what was published by then does not count. */
async function shown(gate?: StateGate, codes: readonly string[] = ["A"], log?: Logger) {
  const one = running(gate, log);
  for (const code of codes) one.read(code, 20);
  await one.connect();
  one.broker.taken();
  return one;
}

describe("what is published", () => {
  it("on connecting and where a gate asks for it everything, once; then only what differs, as it is then", async () => {
    const { store, broker, output, read, connect } = running();
    for (const code of ["A", "B", "C"]) read(code, 20);
    await settled();
    expect(broker.taken()).toEqual([]);
    await connect();
    const all = (code: string) =>
      controllerMessages(topics, undefined, store.get(code)).map(({ topic }) => topic);
    expect(broker.taken().sort()).toEqual(["A", "B", "C"].flatMap(all).sort());
    expect(broker.inFlight).toBe(0);
    for (let value = 21; value < 40; value++) read("A", value);
    await settled();
    expect(broker.taken()).toEqual([air("A"), `${air("A")}/json`]);
    expect(broker.kept.get(air("A"))).toBe("39");
    store.dispatch("A", { type: "time_passed" });
    store.dispatch("A", { type: "problem", open: [] });
    await settled();
    expect(broker.taken()).toEqual([]);
    output.release("A", true);
    await settled();
    expect(broker.taken().sort()).toEqual(all("A").sort());
  });
});

describe("a gate before it", () => {
  function closable(isOpen: boolean) {
    const state = { isOpen, mayClear: true };
    const gate: StateGate = {
      visible: (_, after) => (state.isOpen ? after : null),
      mayClear: () => state.mayClear,
    };
    return { state, gate };
  }

  it("keeps everything back until it opens, but what a result has to follow from nobody", async () => {
    const { state, gate } = closable(false);
    const { broker, output, read } = await shown(gate);
    for (const value of [21, 22]) {
      read("A", value);
      await settled();
      expect(broker.taken()).toEqual([]);
      // The gate kept this one back before the result came.
      output.hasten("A");
      await settled();
      expect(broker.kept.get(air("A"))).toBe(String(value));
      broker.taken();
    }
    read("A", 23);
    state.isOpen = true;
    output.release("A", false);
    await settled();
    expect(broker.kept.get(air("A"))).toBe("23");
    broker.taken();
    output.release("A", false);
    await settled();
    expect(broker.taken()).toEqual([]);
  });

  it("keeps no parameter back that a result has to follow, and still everything else", async () => {
    const known = { isOpen: true };
    const gate: StateGate = {
      visible: (shown, after) =>
        known.isOpen ? after : { ...after, sensors: shown?.sensors ?? new Map(), parameters: new Map() },
      mayClear: () => true,
    };
    const { store, broker, output, read } = await shown(gate);
    known.isOpen = false;
    read("A", 21);
    store.dispatch("A", registersRead({ "501": "70" }));
    output.hasten("A", { target: "parameter", targetId: "ec" });
    await settled();
    expect(broker.kept.get("greenhouse/a/parameter/ec")).toBe("70");
    expect(broker.kept.get(air("A"))).toBe("20");
  });

  it("empties no topic of a removed controller before it may", async () => {
    const { state, gate } = closable(true);
    const { store, broker, output, connect } = await shown(gate);
    state.mayClear = false;
    store.remove("A");
    await settled();
    await connect();
    expect(broker.taken()).toEqual([]);
    state.mayClear = true;
    output.release("A", true);
    await settled();
    expect(broker.kept.get(air("A")) ?? "").toBe("");
    expect(broker.taken()).toContain(air("A"));
  });
});

it("without a broker nothing is published or queued, and after the link is back the latest alone, once", async () => {
  const { broker, output, read, connect } = await shown();
  output.onUnlinked();
  for (let value = 2; value <= 1_000; value++) {
    read("A", (value % 50) + 1);
    if (value % 100 === 0) await settled();
  }
  read("A", 33);
  expect(broker.taken()).toEqual([]);
  await connect();
  expect(broker.log.filter(({ topic }) => topic === air("A"))).toEqual([{ topic: air("A"), payload: "33" }]);
});

describe("a publish that fails", () => {
  it("is published again after a pause that grows, as it is by then, with nothing else beside it", async () => {
    const { clock, broker, read } = await shown(openGate, ["A", "B"]);
    broker.refuses = (topic) => topic === air("A");
    read("A", 21);
    for (let n = 0; n < 50; n++) await settled();
    expect(broker.taken()).toEqual([air("A"), `${air("A")}/json`]);
    await clock.advance(1_000);
    expect(broker.taken()).toEqual([air("A")]);
    await clock.advance(1_999);
    expect(broker.taken()).toEqual([]);
    await clock.advance(1);
    expect(broker.taken()).toEqual([air("A")]);
    read("A", 22);
    await settled();
    broker.taken();
    broker.refuses = () => false;
    await clock.advance(60_000);
    expect(broker.taken()).toEqual([air("A")]);
    expect(broker.kept.get(air("A"))).toBe("22");
    await clock.advance(600_000);
    expect(broker.taken()).toEqual([]);
  });

  it("and a newer one that did not, of the same topic, leave nothing to do", async () => {
    const { clock, broker, read } = await shown();
    broker.holds = true;
    read("A", 21);
    await settled();
    read("A", 22);
    await settled();
    broker.holds = false;
    await broker.releaseFirst(2, new Error("not acknowledged"));
    await broker.release();
    broker.taken();
    await clock.advance(600_000);
    expect(broker.taken()).toEqual([]);
  });

  it.each([
    [
      "is told in one line with their number, however many fail together",
      new Error("not acknowledged"),
      [{ count: 240 }],
    ],
    ["because the link went is not told at all: that it went is", new PublishError("offline", "gone"), []],
  ])("%s", async (_, error, told) => {
    const lines: unknown[] = [];
    const log = { ...silentLog, warn: (facts: unknown) => lines.push(facts) };
    const { broker, read, connect } = running(openGate, log);
    for (let n = 0; n < 30; n++) read(`GH-${n}`, 20);
    broker.holds = true;
    await connect();
    await broker.release(error);
    expect(lines).toMatchObject(told);
    expect(lines).toHaveLength(told.length);
  });

  it.each<[what: string, act: (one: Awaited<ReturnType<typeof shown>>) => void, kept: string | undefined]>([
    ["a change", ({ read }) => read("A", 21), "21"],
    ["a clearing", ({ store }) => store.remove("A"), undefined],
  ])("in the last moment of a link is made good by the next link: %s", async (_, act, kept) => {
    const one = await shown();
    one.broker.holds = true;
    act(one);
    await settled();
    one.output.onUnlinked();
    await one.broker.release(new Error("link lost"));
    one.broker.holds = false;
    await one.connect();
    expect(one.broker.kept.get(air("A"))).toBe(kept);
    expect(one.broker.kept.size > 0).toBe(kept !== undefined);
  });
});

describe("a lock that ends", () => {
  const lock = { by: "anna", via: null, reason: null, since: "2026-01-01T00:00:00.000Z", until: null };
  const allowed = { words: [], degrees: null, because: [] };
  const lease = { command: "open", until: "2026-01-01T00:00:02.000Z", ends_with: "close", id: "1", by: null };
  const roof = "greenhouse/d/actuator/roof/lock";

  /** A controller behind a gate, and a broker that shows whether its lock and its lease are there. */
  function gated(isOpen: boolean) {
    const state = { isOpen };
    const one = running({ visible: (_, after) => (state.isOpen ? after : null), mayClear: () => true });
    const topicsOf = [roof, "greenhouse/d/actuator/roof/lease"];
    const restrict = async (isHeld: boolean) => {
      const restrictions = { allowed, lock: isHeld ? lock : null, lease: isHeld ? lease : null };
      one.store.dispatch("D", { type: "restricted", id: "roof", restrictions });
      await settled();
    };
    const open = async () => {
      state.isOpen = true;
      one.output.release("D", false);
      await settled();
    };
    const there = () => topicsOf.map((topic) => one.broker.kept.has(topic));
    one.read("D", 20);
    return { ...one, topicsOf, restrict, open, there };
  }

  it.each([
    ["`online`", true],
    ["a gate opens", false],
  ])("or a lease, before %s is emptied although it was shown first of all", async (_, isOpen) => {
    const { output, restrict, open, there } = gated(isOpen);
    await restrict(true);
    await output.onLinked();
    if (!isOpen) output.online();
    await settled();
    expect(there()).toEqual([true, true]);
    await restrict(false);
    if (isOpen) output.online();
    else await open();
    await settled();
    expect(there()).toEqual([false, false]);
  });

  it("or a lease, before a gate opens is emptied although another run has shown it", async () => {
    const { broker, output, restrict, connect, open, there, topicsOf } = gated(false);
    await connect();
    output.onUnlinked();
    for (const topic of topicsOf) broker.kept.set(topic, "{}");
    await restrict(true);
    await connect();
    await restrict(false);
    expect(there()).toEqual([true, true]);
    await open();
    expect(there()).toEqual([false, false]);
  });

  it.each([
    ["while the link is down", true],
    ["in the last moment of a link", false],
  ])("%s is emptied by the next link", async (_, isDown) => {
    const { store, broker, output, read, connect } = running();
    const show = async (now: typeof lock | null) => {
      const restrictions = { allowed, lock: now, lease: null };
      store.dispatch("D", { type: "restricted", id: "roof", restrictions });
      await settled();
    };
    read("D", 20);
    await show(lock);
    await connect();
    expect(broker.kept.get(roof)).toBe(JSON.stringify(lock));
    if (isDown) output.onUnlinked();
    broker.holds = true;
    await show(null);
    output.onUnlinked();
    await broker.release(new PublishError("offline", "link lost"));
    broker.holds = false;
    await connect();
    expect(broker.kept.has(roof)).toBe(false);
    broker.taken();
    await show(lock);
    output.sweep("all");
    await settled();
    expect(broker.kept.get(roof)).toBe(JSON.stringify(lock));
  });
});

describe("a removed controller", () => {
  it.each([
    ["at once", false],
    ["also when it was removed while the link was down", true],
  ])(
    "is cleared %s, the others are not touched; one that comes back is published whole",
    async (_, isDown) => {
      const { store, broker, output, read, connect } = await shown(openGate, ["A", "B"]);
      if (isDown) output.onUnlinked();
      store.remove("A");
      await settled();
      if (isDown) await connect();
      expect([...broker.kept.keys()].filter((topic) => !topic.startsWith("greenhouse/b/"))).toEqual([]);
      expect(broker.kept.has(air("B"))).toBe(true);
      if (!isDown) expect(broker.taken().filter((topic) => topic.startsWith("greenhouse/b/"))).toEqual([]);
      read("A", 22);
      await settled();
      expect(broker.kept.get(air("A"))).toBe("22");
      expect(broker.kept.has("greenhouse/a/info")).toBe(true);
    },
  );

  it("that came back before it could be cleared leaves no topic the new one does not have", async () => {
    const { store, broker, output, connect } = await shown();
    output.onUnlinked();
    store.remove("A");
    store.admit("A");
    store.dispatch("A", { type: "listed", record: record({ code: "A" }), availability: "online" });
    await connect();
    expect([...broker.kept.keys()].filter((topic) => topic.startsWith(air("A")))).toEqual([]);
    expect(broker.kept.get("greenhouse/a/availability")).toBe("online");
  });
});

describe("publishes waiting for the broker", () => {
  it("are bounded, however many controllers there are; all is published in the end", async () => {
    const { store, broker, read, connect } = running();
    for (let n = 0; n < 2_000; n++) read(`GH-${n}`, 20);
    broker.holds = true;
    await connect();
    expect(broker.inFlight).toBeLessThanOrEqual(512 + 6);
    for (let n = 0; n < 100 && broker.inFlight > 0; n++) await broker.release();
    expect(broker.inFlight).toBe(0);
    expect(broker.mostInFlight).toBeLessThanOrEqual(512 + 6);
    for (const { info } of store.controllers()) expect(broker.kept.get(air(info.code))).toBe("20");
  });

  it("keep nobody from being shown what is so after a command that failed", async () => {
    const { store, broker, output, read, connect } = running();
    store.admit("D");
    store.dispatch("D", registersRead({ "101": "10010" }));
    await connect();
    broker.taken();
    broker.holds = true;
    for (let n = 0; n < 200; n++) read(`GH-${n}`, 20);
    await settled();
    output.showAgain({ code: "D", target: "actuator", targetId: "roof" });
    for (let n = 0; n < 100 && broker.inFlight > 0; n++) await broker.release();
    expect(broker.taken()).toContain("greenhouse/d/actuator/roof/state");
  });

  it("are bounded also where 2,000 announcements ask for everything again; a value that changes once meanwhile is right in the end", async () => {
    const { store, broker, output, read, connect } = running();
    for (let n = 0; n < 2_000; n++) read(`GH-${n}`, 20);
    await connect();
    broker.holds = true;
    broker.room = 8_192;
    for (const { info } of [...store.controllers()]) output.release(info.code, true);
    read("GH-1999", 21);
    await settled();
    for (let n = 0; n < 200 && broker.inFlight > 0; n++) await broker.release();
    expect(broker.refusedForRoom).toBe(0);
    expect(broker.mostInFlight).toBeLessThanOrEqual(512 + 12);
    expect(broker.kept.get(air("GH-1999"))).toBe("21");
  });

  it("keep an end from nothing", async () => {
    const one = world();
    const run = one.output.run(one.abort.signal);
    one.read("A", 20);
    one.broker.holds = true;
    await one.connect();
    one.abort.abort();
    await run;
    expect(one.broker.inFlight).toBeGreaterThan(0);
  });
});

describe("a link", () => {
  it("is looked at once, for all parts together, and is told through only where it lasted", async () => {
    const { broker, scans, output, connect } = running();
    const seen: string[] = [];
    output.onFound(["greenhouse/alarm/+"], {
      onFound: (topic, payload) => seen.push(`${topic}=${payload.toString()}`),
      onLooked: (isWhole) => seen.push(`looked ${isWhole}`),
    });
    broker.kept.set("greenhouse/alarm/x", "on");
    await connect();
    expect(scans).toEqual([[...topics.retained, "greenhouse/alarm/+"]]);
    expect(seen).toEqual(["greenhouse/alarm/x=on", "looked true"]);
    output.onUnlinked();
    seen.length = 0;
    void output.onLinked();
    output.onUnlinked();
    await settled();
    expect(seen).toEqual(["greenhouse/alarm/x=on"]);
  });

  it("shows what may be commanded before the first `online` of a run, and only then", async () => {
    const { store, broker, output } = running();
    store.admit("D");
    const topic = "greenhouse/d/actuator/roof/allowed";
    expect(await output.onLinked()).toBe(true);
    expect(broker.taken()).toEqual([topic]);
    output.online();
    await settled();
    output.onUnlinked();
    broker.taken();
    expect(await output.onLinked()).toBe(true);
    expect(broker.taken()).toEqual([]);
  });

  it("that goes before all of that is shown is not told to be online", async () => {
    const { store, broker, output } = running();
    store.admit("D");
    broker.holds = true;
    const isLinked = output.onLinked();
    output.onUnlinked();
    expect(await isLinked).toBe(false);
  });
});

describe("an announcement", () => {
  const topic = "homeassistant/device/a/config";

  it.each<[string, string, (one: ReturnType<typeof running>) => unknown]>([
    ["that the broker acknowledges is", "taken", ({ broker }) => broker.release()],
    [
      "that the broker answers with a refusal is",
      "refused",
      ({ broker }) => broker.release(new PublishError("refused", "not allowed")),
    ],
    ["on its way when the link goes has its", "link lost", ({ output }) => output.onUnlinked()],
    ["on its way when the program ends has its", "link lost", ({ abort }) => abort.abort()],
  ])("%s %s", async (_, outcome, act) => {
    const one = running();
    await one.connect();
    one.broker.holds = true;
    const ended = one.output.announce(topic, "text");
    await act(one);
    expect(await ended).toBe(outcome);
  });
});
