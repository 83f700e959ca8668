import { describe, expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { HostFacts } from "../../src/greenhouse/ports.js";
import { PlatformWatch, untriedHost } from "../../src/sync/hosts.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const up: HostFacts = { ...untriedHost, contactAt: 0 };
const failing = (failures: number, failingSince = 0): HostFacts => ({ ...up, failures, failingSince });

async function watched(story: (watch: PlatformWatch, clock: VirtualClock) => Promise<void> | void) {
  const clock = new VirtualClock();
  const states: string[] = [];
  const hosts: string[] = [];
  const events: BridgeEvent[] = [];
  const watch = new PlatformWatch({
    clock,
    log: silentLog,
    onState: (state) => states.push(state),
    onHost: (host, reachable) => hosts.push(`${host} ${reachable ? "back" : "away"}`),
    onEvent: (event) => events.push(event),
  });
  const abort = new AbortController();
  const run = watch.run(abort.signal);
  await story(watch, clock);
  abort.abort();
  await run;
  expect(clock.pendingTimers).toBe(0);
  return { states, hosts, events: events.map(({ type, severity }) => `${type} ${severity}`) };
}

describe("the watched platform", () => {
  it("says nothing before it knows anything, then `unreachable` after 30 s without any contact", async () => {
    const { states, events } = await watched(async (watch, clock) => {
      await clock.advance(29_000);
      expect(watch.state).toBeNull();
      await clock.advance(2_000);
    });
    expect([states, events]).toEqual([["unreachable"], ["platform_lost error"]]);
  });

  it("is online with the first answer, without an event", async () => {
    const { states, events } = await watched((watch) => {
      watch.learnt("realtime", up);
      watch.learnt("realtime", up);
    });
    expect([states, events]).toEqual([["online"], []]);
  });

  it("is unreachable after two failures, at once, and online with the next answer; each is told once", async () => {
    const { states, hosts, events } = await watched(async (watch, clock) => {
      watch.learnt("realtime", up);
      watch.learnt("realtime", failing(1));
      watch.learnt("realtime", failing(2));
      watch.learnt("realtime", failing(3));
      await clock.advance(60_000);
      watch.learnt("realtime", up);
    });
    expect(states).toEqual(["online", "unreachable", "online"]);
    expect(hosts).toEqual(["realtime away", "realtime back"]);
    expect(events).toEqual(["platform_lost error", "platform_back info"]);
  });

  it("is unreachable 30 s after a single failure that no answer followed", async () => {
    const { states } = await watched(async (watch, clock) => {
      watch.learnt("realtime", up);
      watch.learnt("realtime", failing(1));
      await clock.advance(31_000);
    });
    expect(states).toEqual(["online", "unreachable"]);
  });

  it("is degraded while only the business host is gone or the budget stretches; commands go on", async () => {
    const { states, hosts, events } = await watched((watch) => {
      watch.learnt("realtime", up);
      watch.learnt("business", failing(2));
      watch.learnt("business", up);
      watch.stretched(true);
      watch.stretched(false);
    });
    expect(states).toEqual(["online", "degraded", "online", "degraded", "online"]);
    expect(hosts).toEqual(["business away", "business back"]);
    expect(events.filter((event) => event.startsWith("platform_lost"))).toEqual([]);
  });

  it("nothing comes back that was never lost", async () => {
    const { events } = await watched((watch) => {
      watch.learnt("realtime", up);
      watch.stretched(true);
      watch.stretched(false);
    });
    expect(events).toEqual([]);
  });

  it("a refused credential is unauthorized, with an event", async () => {
    const { states, events } = await watched((watch) => {
      watch.learnt("realtime", up);
      watch.learnt("business", { ...up, unauthorized: true });
    });
    expect([states.at(-1), events]).toEqual(["unauthorized", ["unauthorized error"]]);
  });

  it("a credential that is accepted again is told, also where the budget stretches the intervals then", async () => {
    const { states, events } = await watched((watch) => {
      watch.learnt("realtime", { ...up, unauthorized: true });
      watch.stretched(true);
      watch.learnt("realtime", up);
    });
    expect(states.at(-1)).toBe("degraded");
    expect(events).toEqual(["unauthorized error", "platform_back warning"]);
  });

  it("a jump of the wall clock is no outage", async () => {
    const { states } = await watched(async (watch, clock) => {
      watch.learnt("realtime", up);
      clock.setWall(0);
      await clock.advance(3_000);
      clock.setWall(Date.parse("2036-01-01T00:00:00Z"));
      await clock.advance(3_000);
    });
    expect(states).toEqual(["online"]);
  });
});
