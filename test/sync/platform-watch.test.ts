import { describe, expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { HostFacts } from "../../src/greenhouse/ports.js";
import { PlatformWatch, untriedHost } from "../../src/sync/hosts.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const up: HostFacts = { ...untriedHost, contactAt: 0 };
const trouble = "device list at the business host (b.example): no such name; check platform.business_url";
const failing = (failures: number, failingSince = 0): HostFacts => ({
  ...up,
  failures,
  failingSince,
  trouble,
});

/**
 * Plays a story: `30s` pass; `r up`, `b 2` is what is learnt of a host, a number how often it failed; `r refused` its credential;
 * `stretched` and `enough` the budget; `year 1970` what the clock is set to.
 */
async function play(story: string, watch: PlatformWatch, clock: VirtualClock): Promise<void> {
  for (const [first = "", word = ""] of story.split(", ").map((part) => part.split(" ")))
    if (first === "r" || first === "b") {
      const facts =
        word === "refused" ? { ...up, unauthorized: true } : word === "up" ? up : failing(Number(word));
      watch.onFacts(first === "r" ? "realtime" : "business", facts);
    } else if (first === "year") clock.setWall(Date.UTC(Number(word), 0));
    else if (first.endsWith("s")) await clock.advance(parseInt(first) * 1_000);
    else watch.onStretch(first === "stretched");
}

async function watched(story: string) {
  const clock = new VirtualClock();
  const states: string[] = [];
  const hosts: string[] = [];
  const events: BridgeEvent[] = [];
  const warnings: string[] = [];
  const watch = new PlatformWatch({
    clock,
    log: { ...silentLog, warn: (line: string) => warnings.push(line) },
    onEvent: (event) => events.push(event),
  });
  watch.onState((state) => states.push(state));
  watch.onHost((host, reachable) => hosts.push(`${host} ${reachable ? "back" : "away"}`));
  const abort = new AbortController();
  const run = watch.run(abort.signal);
  await play(story, watch, clock);
  abort.abort();
  await run;
  expect(clock.pendingTimers).toBe(0);
  return { states, hosts, warnings, events: events.map(({ type, severity }) => `${type} ${severity}`) };
}

describe("the watched platform", () => {
  it.each<[rule: string, story: string, Partial<Awaited<ReturnType<typeof watched>>>]>([
    [
      "is `unreachable` after 30 s without any contact",
      "29s, enough, 2s",
      { states: ["unreachable"], events: ["platform_lost error"] },
    ],
    ["is online with the first answer, without an event", "r up, r up", { states: ["online"], events: [] }],
    [
      "is unreachable after two failures, at once, and online with the next answer; each is told once",
      "r up, r 1, r 2, r 3, 60s, r up",
      {
        states: ["online", "unreachable", "online"],
        hosts: ["realtime away", "realtime back"],
        events: ["platform_lost error", "platform_back info"],
      },
    ],
    [
      "is unreachable 30 s after a single failure that no answer followed",
      "r up, r 1, 31s",
      { states: ["online", "unreachable"] },
    ],
    [
      "is degraded while only the business host is gone or the budget stretches; commands go on",
      "r up, b 2, b up, stretched, enough",
      {
        states: ["online", "degraded", "online", "degraded", "online"],
        hosts: ["business away", "business back"],
        events: [],
      },
    ],
    [
      "tells the two causes of `degraded` apart, each when it begins, a lost host with its cause and key",
      "r up, stretched, b 2, b up, enough",
      {
        states: ["online", "degraded", "online"],
        warnings: [
          expect.stringMatching(/^platform\.requests_per_minute stretches/) as string,
          expect.stringContaining(`business host is gone: ${trouble}. Readings`) as string,
          expect.stringMatching(/^platform\.requests_per_minute stretches/) as string,
        ],
      },
    ],
    [
      "is unauthorized with a refused credential, which is told when it is accepted again, also where the budget stretches the intervals then",
      "r refused, stretched, r up",
      { states: ["unauthorized", "degraded"], events: ["unauthorized error", "platform_back warning"] },
    ],
    [
      "that is unreachable is so before it is unauthorized",
      "b refused, r 2",
      { states: ["unauthorized", "unreachable"] },
    ],
    [
      "takes a jump of the wall clock for no outage",
      "r up, year 1970, 3s, year 2036, 3s",
      { states: ["online"] },
    ],
  ])("%s", async (_rule, story, seen) => expect(await watched(story)).toMatchObject(seen));
});
