import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import {
  announcesTheSame,
  changedGate,
  type Gate,
  visible,
} from "../../src/homeassistant/discovery-output.js";
import type { PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { controllerMessages } from "../../src/mqtt/projection.js";
import {
  type Decision,
  type Input,
  nextWakeAt,
  nothingRetained,
  type Publish,
  type RetainedContext,
  retryMs,
  step,
} from "../../src/mqtt/retained.js";
import { placeOf, topicsUnder } from "../../src/mqtt/topics.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { actuator, controllerSettings, item } from "../support/builders.js";
import { sensorsRead, start } from "../support/folding.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const topics = topicsUnder("greenhouse");
const codes = ["A", "B", "D"];
const allowed = { words: [], degrees: null, because: [] };
const lockOf = (by: string) => ({
  by,
  via: null,
  reason: null,
  since: "2026-01-01T00:00:00.000Z",
  until: null,
});
const leaseOf = (by: string) => ({
  command: "open",
  until: "2026-01-01T01:00:00.000Z",
  ends_with: "close",
  id: "1",
  by,
});

function mirror(): GreenhouseStore {
  const settings = mirrorSettings([controllerSettings({ code: "D", actuators: [actuator({ id: "roof" })] })]);
  const store = new GreenhouseStore(settings, new VirtualClock(start), anyAscii);
  store.setReachable(true);
  return store;
}

const bare: RetainedContext = {
  topics,
  qos: 0,
  view: { controllers: () => [], get: () => undefined, byId: () => undefined },
  gate: null,
  isLeftOut: () => false,
};
const wanted = (topic: string, payload: string): Input => ({ type: "wanted", topic, payload, qos: 0 });
const ended = (publish: Publish, error: PublishErrorKind | null, now = 0): Input => ({
  type: "ended",
  publish,
  error,
  now,
});

/** Folds inputs one after the other; what was to be published after the last. */
function folding() {
  const kept = nothingRetained();
  const all: Publish[] = [];
  const give = (input: Input): Decision => {
    const decision = step(kept, input, bare);
    all.push(...decision.publish);
    return decision;
  };
  const said = (input: Input) => give(input).publish.map(({ topic, payload }) => `${topic}=${payload}`);
  const last = (): Publish => {
    const one = all.at(-1);
    if (one === undefined) throw new Error("nothing was published");
    return one;
  };
  give({ type: "linked" });
  give({ type: "online" });
  return { kept, give, said, last };
}

describe("a topic of its own", () => {
  it("is published at once, and again with each link, as it is by then", () => {
    const { said } = folding();
    expect(said(wanted("g/x", "1"))).toEqual(["g/x=1"]);
    said({ type: "unlinked" });
    expect([...said(wanted("g/x", "2")), ...said(wanted("g/x", "3"))]).toEqual([]);
    expect(said({ type: "linked" })).toEqual([]);
    expect(said({ type: "online" })).toEqual(["g/x=3"]);
    expect(said({ type: "republish" })).toEqual(["g/x=3"]);
  });

  it("is published only where its text changes, however often it is wanted", () => {
    const { said, give, last } = folding();
    expect([...said(wanted("g/x", "1")), ...said(wanted("g/x", "1"))]).toEqual(["g/x=1"]);
    give(ended(last(), null));
    expect([...said(wanted("g/x", "1")), ...said(wanted("g/x", "2"))]).toEqual(["g/x=2"]);
  });

  it("that is to be empty is emptied with each link until the broker has acknowledged that", () => {
    const { said, give, last } = folding();
    said(wanted("g/x", "1"));
    said(wanted("g/x", ""));
    give({ type: "unlinked" });
    give({ type: "linked" });
    expect(said({ type: "online" })).toEqual(["g/x="]);
    give(ended(last(), null));
    expect(said({ type: "republish" })).toEqual([]);
  });

  it("is published once more where that is asked for, whatever its text, but nothing that is not wanted and not without a link", () => {
    const { said, give, last } = folding();
    const again: Input = { type: "repeated", topics: ["g/x", "g/y"] };
    said(wanted("g/x", "1"));
    give(ended(last(), null));
    expect(said(again)).toEqual(["g/x=1"]);
    give({ type: "unlinked" });
    expect(said(again)).toEqual([]);
    give({ type: "linked" });
    expect([...said(again), ...said({ type: "online" })]).toEqual(["g/x=1"]);
  });

  it("that an earlier run left goes once what the configuration decides over may, and not where it is wanted by then", () => {
    const { kept, said, give, last } = folding();
    for (const topic of ["g/old", "g/x"]) expect(said({ type: "unwanted", topic })).toEqual([]);
    expect(said({ type: "swept", extent: "ended" })).toEqual([]);
    said(wanted("g/x", "1"));
    expect(said({ type: "swept", extent: "settled" })).toEqual(["g/old="]);
    expect(kept.unwanted.size).toBe(0);
    give(ended(last(), null));
    expect(said({ type: "republish" })).toEqual(["g/x=1"]);
  });

  it("that is forgotten stays as it is", () => {
    const { said } = folding();
    said(wanted("g/x", "1"));
    expect(said({ type: "forgotten", topic: "g/x" })).toEqual([]);
    expect(said({ type: "republish" })).toEqual([]);
  });

  it.each<[PublishErrorKind, at: number]>([
    ["busy", 1_000],
    ["unacknowledged", 1_000],
    ["refused", 10_000],
    ["invalid", 10_000],
    ["offline", Infinity],
  ])("of which a publish failed as %s is published again after %i ms", (error, at) => {
    const { kept, said, give, last } = folding();
    give(wanted("g/x", "1"));
    give(ended(last(), error, 0));
    expect(nextWakeAt(kept)).toBe(at);
    if (at === Infinity) return;
    expect(said({ type: "woke", now: at - 1 })).toEqual([]);
    expect(said({ type: "woke", now: at })).toEqual(["g/x=1"]);
    give(ended(last(), null));
    expect(nextWakeAt(kept)).toBe(Infinity);
  });

  it("is published again as it is by then, and not at all where a newer publish arrived", () => {
    const { kept, said, give, last } = folding();
    give(wanted("g/x", "1"));
    const first = last();
    give(wanted("g/x", "2"));
    give(ended(first, "busy"));
    give(ended(last(), null));
    expect(nextWakeAt(kept)).toBe(Infinity);
    give(wanted("g/x", "3"));
    give(ended(last(), "busy"));
    give(wanted("g/y", "1"));
    expect(said({ type: "woke", now: 1_000 })).toEqual(["g/x=3"]);
  });

  it.each<[PublishErrorKind, attempts: number, ms: number]>([
    ["busy", 1, 1_000],
    ["unacknowledged", 3, 4_000],
    ["busy", 50, 60_000],
    ["refused", 2, 20_000],
    ["invalid", 50, 600_000],
  ])("%s for the %ith time is tried again after %i ms", (error, attempts, ms) => {
    expect(retryMs(error, attempts)).toBe(ms);
  });
});

describe("announcements", () => {
  const announced = (topic: string): Input => ({ type: "announced", topic, payload: "text" });

  it("go out at once, each with an end of its own; on one topic each after the answer to the one before", () => {
    const { said, give, last } = folding();
    expect(said(announced("h/a"))).toEqual(["h/a=text"]);
    const first = last();
    expect(said(announced("h/b"))).toEqual(["h/b=text"]);
    expect(said({ type: "announced", topic: "h/a", payload: "newer" })).toEqual([]);
    expect(give(ended(last(), null)).outcomes).toEqual([{ topic: "h/b", outcome: "taken" }]);
    const { outcomes, publish } = give(ended(first, null));
    expect([outcomes, publish.map(({ topic, payload }) => [topic, payload])]).toEqual([
      [],
      [["h/a", "newer"]],
    ]);
  });

  it.each<[PublishErrorKind, string[]]>([
    ["refused", ["refused"]],
    ["invalid", ["refused"]],
    ["busy", []],
    ["unacknowledged", []],
  ])("that failed as %s end %j", (error, outcomes) => {
    const { give, last } = folding();
    give(announced("h/a"));
    expect(give(ended(last(), error)).outcomes.map(({ outcome }) => outcome)).toEqual(outcomes);
  });

  it("end with the link", () => {
    const { give } = folding();
    give(announced("h/a"));
    expect(give({ type: "unlinked" }).outcomes).toEqual([{ topic: "h/a", outcome: "link lost" }]);
  });
});

/** A random number generator of its own: the same seed is the same run. */
function chanceOf(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  const one = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error("nothing to choose from");
    return item;
  };
  return { below, one, hits: (share: number) => next() < share };
}

const discoveryOf = (code: string) => `homeassistant/device/${code}/config`;
/** What an announcement says: the sensors that it knows. */
const textOf = (one: Controller) => [...one.sensors.keys()].sort().join();

/**
 * The keeper between a mirror that changes and a broker that loses messages, acknowledgements and what it holds. Home Assistant's
 * part is played by the real gate and by an announcer that opens it with the broker's acknowledgement.
 */
class Interleaving {
  readonly #chance;
  readonly #store = mirror();
  #kept = nothingRetained();
  readonly #around: RetainedContext;
  readonly #gates = new Map<string, Gate>();
  readonly #documents = new Map<string, string>();
  /** Sent and not yet with the broker; with the broker and not yet acknowledged. */
  #wire: Publish[] = [];
  #arrived: Publish[] = [];
  #found: (readonly [string, string])[] = [];
  readonly broker = new Map<string, string>();
  /** What Home Assistant has learnt of announcements, which it keeps when a broker loses them. */
  readonly #learnt = new Map<string, string>();
  #isLinked = false;
  #isOnline = false;
  #now = 0;
  #readings = 0;

  constructor(seed: number) {
    this.#chance = chanceOf(seed);
    const view = this.#store;
    const gate = {
      visible: (shown: Controller | undefined, after: Controller) =>
        visible(this.#gateOf(after.info.code), shown, after),
      mayClear: (code: string) => this.#gateOf(code).type !== "leaving",
    };
    this.#around = { topics, qos: 0, view, gate, isLeftOut: () => false };
    view.onChange((before, after) => this.#changed(before, after));
  }

  act(): void {
    const chance = this.#chance;
    const acts: (() => void)[] = [
      () => this.#read(chance.one(codes), chance.one(["t1", "t2", "t3"])),
      () => this.#read(chance.one(codes), "t1"),
      () => this.#store.remove(chance.one(codes)),
      () => this.#restrict(),
      () => this.#want(`greenhouse/alarm/${chance.one(["x", "y"])}`, chance.one(["", "on", "off"])),
      () => this.#give({ type: "republish" }),
      () => this.#give({ type: "shown_again", about: { code: "D", target: "actuator", targetId: "roof" } }),
      () => this.#give({ type: "swept", extent: chance.one(["ended", "settled", "all"] as const) }),
      () => this.#wake(chance.below(100_000)),
      () => this.#find(),
      ...[1, 2, 3].map(() => () => this.#deliver()),
      ...[1, 2, 3].map(() => () => this.#acknowledge()),
      () => this.#fail(),
      () => (this.#isLinked ? chance.hits(0.3) && this.#cut() : this.#link()),
      () => !this.#isLinked && this.#link(),
      () => this.#isLinked && this.#online(),
      () => this.#chance.hits(0.3) && this.#startAgain(),
    ];
    chance.one(acts)();
  }

  /** Nothing goes wrong any more. */
  settle(): void {
    if (!this.#isLinked) this.#link();
    this.#online();
    for (let n = 0; n < 2_000; n += 1) {
      this.#find();
      while (this.#wire.length > 0) this.#deliver();
      while (this.#arrived.length > 0) this.#acknowledge();
      this.#give({ type: "swept", extent: "all" });
      this.#wake(700_000);
      if (this.#wire.length + this.#found.length === 0) return;
    }
    throw new Error("it never comes to rest");
  }

  /** What the broker should hold. */
  wanted(): Map<string, string> {
    const all = new Map([...this.#documents].filter(([, payload]) => payload !== ""));
    for (const one of this.#store.controllers()) {
      all.set(discoveryOf(one.info.code), textOf(one));
      for (const { topic, payload } of controllerMessages(topics, undefined, one))
        if (payload !== "") all.set(topic, payload);
    }
    return all;
  }

  #gateOf(code: string): Gate {
    return this.#gates.get(code) ?? { type: "shut" };
  }

  #changed(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code ?? "";
    if (!announcesTheSame(before ?? "nobody", after ?? "nobody")) {
      this.#gates.set(code, changedGate(this.#gateOf(code), before, after));
      this.#announce(code);
    }
    this.#give({ type: "changed", before, after });
  }

  #announce(code: string): void {
    if (!this.#isOnline) return;
    const one = this.#store.get(code);
    this.#give({
      type: "announced",
      topic: discoveryOf(code),
      payload: one === undefined ? "" : textOf(one),
    });
  }

  #give(input: Input): void {
    const { publish, outcomes } = step(this.#kept, input, this.#around);
    this.#wire.push(...publish);
    for (const one of publish) if (one.sort !== "announcement") this.#judgeEmptied(one);
    for (const { topic, outcome } of outcomes) {
      const code = topic.split("/").at(-2) ?? "";
      if (outcome !== "taken") continue;
      this.#gates.set(code, { type: this.#store.get(code) === undefined ? "shut" : "open" });
      this.#give({ type: "released", code, anew: this.#chance.hits(0.5) });
    }
  }

  #read(code: string, factor: string): void {
    this.#store.admit(code);
    const measuredAt = start + this.#readings++;
    const value = this.#chance.below(50);
    const known = [...(this.#store.get(code)?.sensors.values() ?? [])];
    const others = known.filter(({ definition }) => definition.id !== factor);
    const kept = others.map(({ definition, value: old }) =>
      item({ name: definition.id, factor: definition.id, value: Number(old), raw: Number(old), measuredAt }),
    );
    const read = [...kept, item({ name: factor, factor, value, raw: value, measuredAt })];
    this.#store.dispatch(code, sensorsRead(read, measuredAt));
  }

  #restrict(): void {
    const lock = this.#chance.one([null, lockOf("anna"), lockOf("ben")]);
    const lease = this.#chance.one([null, leaseOf("anna")]);
    this.#store.dispatch("D", { type: "restricted", id: "roof", restrictions: { allowed, lock, lease } });
  }

  #want(topic: string, payload: string): void {
    this.#documents.set(topic, payload);
    this.#give({ type: "wanted", topic, payload, qos: 0 });
  }

  #wake(ms: number): void {
    this.#now += ms;
    this.#give({ type: "woke", now: this.#now });
  }

  #find(): void {
    for (const [topic, payload] of this.#found.splice(0, 1 + this.#chance.below(20))) {
      if (topic.includes("/alarm/") && (this.#documents.get(topic) ?? "") === "") this.#want(topic, "");
      this.#give({ type: "found", topic, payload });
    }
  }

  #deliver(): void {
    const one = this.#wire.shift();
    if (one === undefined) return;
    this.#arrived.push(one);
    this.#judge(one);
    if (one.sort === "announcement" && one.payload === "") this.#learnt.delete(one.topic);
    else if (one.sort === "announcement") this.#learnt.set(one.topic, one.payload);
    if (one.payload === "") this.broker.delete(one.topic);
    else this.broker.set(one.topic, one.payload);
  }

  /** No state comes before the announcement that knows it. */
  #judge({ topic, payload, sort }: Publish): void {
    const place = placeOf("greenhouse", topic);
    if (place?.folder !== "sensor" || place.controllerId.startsWith("old")) return;
    const code = place.controllerId.toUpperCase();
    const known = this.#learnt.get(discoveryOf(code))?.split(",") ?? [];
    if (payload !== "" && sort !== "leftover")
      expect(known, `${topic} before its announcement`).toContain(place.id);
  }

  /** No topic is emptied while the component that reads it stands. */
  #judgeEmptied({ topic, payload }: Publish): void {
    const place = placeOf("greenhouse", topic);
    const code = place?.controllerId.toUpperCase() ?? "";
    // Nothing of this run has shown t9.
    if (payload === "" && this.#store.get(code) === undefined && place?.id !== "t9")
      expect(this.#gateOf(code).type, `${topic} emptied`).not.toBe("leaving");
  }

  #acknowledge(): void {
    const one = this.#arrived.shift();
    if (one !== undefined) this.#give({ type: "ended", publish: one, error: null, now: this.#now });
  }

  #fail(): void {
    const isArrived = this.#chance.hits(0.5);
    const one = (isArrived ? this.#arrived : this.#wire).shift();
    if (one === undefined) return;
    const error = this.#chance.one(
      one.sort === "announcement" ? (["busy", "unacknowledged"] as const) : (["busy", "refused"] as const),
    );
    this.#give({ type: "ended", publish: one, error, now: this.#now });
  }

  #link(): void {
    this.#isLinked = true;
    this.#found = [...this.broker];
    this.#give({ type: "linked" });
  }

  #online(): void {
    if (this.#isOnline) return;
    this.#isOnline = true;
    this.#give({ type: "online" });
    const announced = [...this.broker.keys()].filter((topic) => topic.startsWith("homeassistant/"));
    for (const code of new Set([...codes, ...announced.map((topic) => topic.split("/").at(-2) ?? "")]))
      if (this.#store.get(code) !== undefined || this.broker.has(discoveryOf(code))) this.#announce(code);
      else if (this.#gateOf(code).type === "leaving") this.#announce(code);
  }

  /** Another run, which knows the same of the greenhouses and nothing of what the broker holds. */
  #startAgain(): void {
    this.#cut();
    this.#kept = nothingRetained();
    this.#gates.clear();
    this.#documents.clear();
  }

  #cut(): void {
    this.#isLinked = false;
    this.#isOnline = false;
    const lost = [...this.#arrived, ...this.#wire];
    this.#arrived = [];
    this.#wire = [];
    this.#found = [];
    for (const publish of lost) this.#give({ type: "ended", publish, error: "offline", now: this.#now });
    this.#give({ type: "unlinked" });
    // What was to follow on the link that is gone.
    this.#wire = [];
    if (this.#chance.hits(0.2)) this.broker.clear();
    else if (this.#chance.hits(0.3)) {
      this.broker.set("greenhouse/old/availability", "online");
      this.broker.set("greenhouse/old/sensor/t9/quality", "good");
      this.broker.set("greenhouse/a/sensor/t9", "1");
      this.broker.set("greenhouse/alarm/z", "on");
    }
  }
}

it("after any interleaving of wants, answers, failures, lost links and scans the broker holds exactly what is wanted, and no state ever came before its announcement", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const run = new Interleaving(seed);
    for (let n = 0; n < 120; n += 1) run.act();
    run.settle();
    expect(sorted(run.broker), `seed ${seed}`).toEqual(sorted(run.wanted()));
  }
});

const sorted = (map: ReadonlyMap<string, string>) => Object.fromEntries([...map].sort());
