import { describe, expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { HostFacts } from "../../src/greenhouse/ports.js";
import { PlatformWatch, untriedHost } from "../../src/sync/hosts.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const up: HostFacts = { ...untriedHost, contactAt: 0, heardAt: 0 };
const trouble = "device list at the business host (b.example): no such name; check platform.business_url";
const failing = (failures: number, failingSince = 0): HostFacts => ({
  ...up,
  failures,
  failingSince,
  trouble,
});

const spoilt = {
  operation: "GET /api/sensor-data",
  trouble: "GET /api/sensor-data at the realtime host: HTTP 502",
};

function factsOf(word: string, how: string): HostFacts {
  if (word === "refused") return { ...up, unauthorized: true };
  if (word === "spoilt") return { ...up, unusable: [spoilt] };
  if (word === "up") return up;
  return { ...failing(Number(word)), silent: how === "alone" ? "GET /api/sensor-data" : null };
}

/**
 * Plays a story: `30s` pass; `r up`, `b 2` is what is learnt of a host, a number how often it failed, `r 2 alone` all of them with
 * one operation; `r spoilt` one that cannot be used while the host is there; `r refused` its credential;
 * `stretched` and `enough` the budget; `year 1970` what the clock is set to.
 */
async function play(story: string, watch: PlatformWatch, clock: VirtualClock): Promise<void> {
  for (const [first = "", word = "", how = ""] of story.split(", ").map((part) => part.split(" ")))
    if (first === "r" || first === "b") {
      const facts = factsOf(word, how);
      watch.onFacts(first === "r" ? "realtime" : "business", facts);
    } else if (first === "year") clock.setWall(Date.UTC(Number(word), 0));
    else if (first.endsWith("s")) await clock.advance(parseInt(first) * 1_000);
    else watch.onStretch(first === "stretched");
}

async function watched(story: string, clock = new VirtualClock()) {
  const began = clock.monotonic();
  const states: string[] = [];
  const reach: string[] = [];
  const hosts: string[] = [];
  const doubts: string[] = [];
  const events: BridgeEvent[] = [];
  const warnings: string[] = [];
  const watch = new PlatformWatch(
    clock,
    { ...silentLog, warn: (line: string) => warnings.push(line) },
    (event) => events.push(event),
  );
  watch.onState((state) => states.push(state));
  watch.onReachable((isThere, answers) => {
    const seen = `${isThere ? "there" : "gone"}${answers === isThere ? "" : answers ? ", answers" : ", silent"}`;
    reach.push(`${clock.monotonic() - began} ${seen}`);
  });
  watch.onHost((host, reachable) => hosts.push(`${host} ${reachable ? "back" : "away"}`));
  watch.onDoubt((host, operation) => doubts.push(`${host} ${operation}`));
  const abort = new AbortController();
  const run = watch.run(abort.signal);
  await play(story, watch, clock);
  abort.abort();
  await run;
  expect(clock.pendingTimers).toBe(0);
  return {
    states,
    reach,
    hosts,
    doubts,
    warnings,
    events: events.map(({ type, severity }) => `${type} ${severity}`),
  };
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
      "r up, 10s, b 2, 10s, b up, 10s, stretched, 10s, enough",
      {
        states: ["online", "degraded", "online", "degraded", "online"],
        hosts: ["business away", "business back"],
        events: [],
      },
    ],
    [
      "tells the two causes of `degraded` apart, each when it begins, a lost host with its cause and key",
      "r up, 10s, stretched, 10s, b 2, 10s, b up, 10s, enough",
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
      "stands 10 s at least before it is another, so that one that flickers does not",
      "r up, 1s, r 2, 1s, r up, 1s, r 2, 1s, r up, 30s, r 2, 1s, r up, 5s, r 3, 1s, r up, 5s",
      { states: ["online", "unreachable", "online"] },
    ],
    [
      "is gone for readings, and so for guards, at once, whatever is shown, and there again no sooner than 10 s after",
      "r up, 1s, r 2, 1s, r up, 1s, r 2, 1s, r up, 30s, r 2, 1s, r up, 5s",
      {
        reach: ["0 there", "1000 gone", "2000 gone, answers", "3000 gone", "4000 gone, answers"].concat(
          "11000 there",
          "34000 gone",
          "35000 gone, answers",
        ),
      },
    ],
    [
      "is gone for readings as long as it is shown as unreachable",
      "r up, 1s, r 2, 12s, r up, 20s",
      {
        states: ["online", "unreachable", "online"],
        reach: ["0 there", "1000 gone", "13000 gone, answers", "20000 there"],
      },
    ],
    [
      "is as it is once the former one has stood long enough, without anything happening",
      "r up, 1s, r 2, 8s, 2s",
      { states: ["online", "unreachable"] },
    ],
    [
      "is there while one operation alone has no answer, for which another one is asked",
      "r up, r 1 alone, r 2 alone, r 3 alone, 20s, r up, r 1 alone, 5s, r 4 alone",
      {
        states: ["online"],
        hosts: [],
        doubts: Array.from({ length: 5 }, () => "realtime GET /api/sensor-data"),
      },
    ],
    [
      "is gone where another operation fares the same, or none is answered for 30 s",
      "r up, 20s, r 1 alone, r 2, 20s, r up, 20s, r 1 alone, 100s",
      { states: ["online", "unreachable", "online", "unreachable"] },
    ],
    [
      "is degraded while an operation cannot be used though the host answers, and says which and why",
      "r up, 10s, r spoilt, 10s, r up",
      {
        states: ["online", "degraded", "online"],
        hosts: [],
        events: [],
        warnings: [expect.stringContaining(`a part of it cannot be used: ${spoilt.trouble}`) as string],
      },
    ],
    ["that answers what is of no use from the start is degraded", "r spoilt, 40s", { states: ["degraded"] }],
    [
      "takes a jump of the wall clock for no outage",
      "r up, year 1970, 3s, year 2036, 3s",
      { states: ["online"] },
    ],
  ])("%s", async (_rule, story, seen) => expect(await watched(story)).toMatchObject(seen));

  it.each([0.1, 0.3, 0.5, 0.7, 0.9])(
    "is as it is although a timer fires %d ms early and time passes while it is judged",
    async (earlyMs) => {
      const clock = new VirtualClock(undefined, { readingMs: 0.4, earlyMs });
      const seen = await watched("r up, 1s, r 2, 12s, r up, 30s, b 2, 5s, b up, 30s", clock);
      expect(seen.states).toEqual(["online", "unreachable", "online", "degraded", "online"]);
    },
  );
});
