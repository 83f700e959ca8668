import { describe, expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { HostFacts } from "../../src/greenhouse/ports.js";
import { platformState, PlatformWatch, untriedHost } from "../../src/sync/hosts.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const up: HostFacts = { ...untriedHost, contactAt: 0 };
const failing = (failures: number, failingSince = 0): HostFacts => ({ ...up, failures, failingSince });

type Story = (watch: PlatformWatch, clock: VirtualClock) => Promise<void> | void;

async function watched(story: Story) {
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
  it.each<[rule: string, Story, Partial<Awaited<ReturnType<typeof watched>>>]>([
    [
      "says nothing before it knows anything, then `unreachable` after 30 s without any contact",
      async (watch, clock) => {
        await clock.advance(29_000);
        expect(watch.state).toBeNull();
        await clock.advance(2_000);
      },
      { states: ["unreachable"], events: ["platform_lost error"] },
    ],
    [
      "is online with the first answer, without an event",
      (watch) => {
        watch.learnt("realtime", up);
        watch.learnt("realtime", up);
      },
      { states: ["online"], events: [] },
    ],
    [
      "is unreachable after two failures, at once, and online with the next answer; each is told once",
      async (watch, clock) => {
        for (const facts of [up, failing(1), failing(2), failing(3)]) watch.learnt("realtime", facts);
        await clock.advance(60_000);
        watch.learnt("realtime", up);
      },
      {
        states: ["online", "unreachable", "online"],
        hosts: ["realtime away", "realtime back"],
        events: ["platform_lost error", "platform_back info"],
      },
    ],
    [
      "is unreachable 30 s after a single failure that no answer followed",
      async (watch, clock) => {
        watch.learnt("realtime", up);
        watch.learnt("realtime", failing(1));
        await clock.advance(31_000);
      },
      { states: ["online", "unreachable"] },
    ],
    [
      "is degraded while only the business host is gone or the budget stretches; commands go on",
      (watch) => {
        watch.learnt("realtime", up);
        watch.learnt("business", failing(2));
        watch.learnt("business", up);
        watch.stretched(true);
        watch.stretched(false);
      },
      {
        states: ["online", "degraded", "online", "degraded", "online"],
        hosts: ["business away", "business back"],
        events: [],
      },
    ],
    [
      "is unauthorized with a refused credential, which is told when it is accepted again, also where the budget stretches the intervals then",
      (watch) => {
        watch.learnt("realtime", { ...up, unauthorized: true });
        watch.stretched(true);
        watch.learnt("realtime", up);
      },
      { states: ["unauthorized", "degraded"], events: ["unauthorized error", "platform_back warning"] },
    ],
    [
      "takes a jump of the wall clock for no outage",
      async (watch, clock) => {
        watch.learnt("realtime", up);
        for (const wall of [0, Date.parse("2036-01-01T00:00:00Z")]) {
          clock.setWall(wall);
          await clock.advance(3_000);
        }
      },
      { states: ["online"] },
    ],
  ])("%s", async (_rule, story, seen) => expect(await watched(story)).toMatchObject(seen));
});

const answered = { ...untriedHost, contactAt: 1_000 };
const once = { ...answered, failures: 1, failingSince: 2_000 };
const twice = { ...answered, failures: 2, failingSince: 2_000 };
const refused = { ...answered, unauthorized: true };
const facts = { realtime: answered, business: answered, stretched: false, startedAt: 0 };

describe("the published state of the platform: the first that applies", () =>
  it.each([
    ["nothing tried yet", { ...facts, realtime: untriedHost }, 1_000, null],
    ["nothing answered in 30 s", { ...facts, realtime: untriedHost }, 30_000, "unreachable"],
    ["both hosts answer", facts, 3_000, "online"],
    ["the business host not tried yet", { ...facts, business: untriedHost }, 3_000, "online"],
    ["one failed attempt at the realtime host", { ...facts, realtime: once }, 3_000, "online"],
    ["one failed attempt, 30 s ago", { ...facts, realtime: once }, 32_000, "unreachable"],
    ["two failed attempts at the realtime host", { ...facts, realtime: twice }, 3_000, "unreachable"],
    ["two failed attempts at the business host", { ...facts, business: twice }, 3_000, "degraded"],
    ["a stretched budget", { ...facts, stretched: true }, 3_000, "degraded"],
    ["a refused credential", { ...facts, business: refused, stretched: true }, 3_000, "unauthorized"],
    ["refused and unreachable", { ...facts, business: refused, realtime: twice }, 3_000, "unreachable"],
  ])("%s", (_, link, now, state) => expect(platformState(link, now)).toBe(state)));
