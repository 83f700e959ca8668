import { expect } from "vitest";
import { brokers } from "./support/brokers.js";
import { houseOf } from "./support/house.js";
import { installation } from "./support/installation.js";
import { configurationFor } from "./support/stage.js";
import { brokenRules } from "./support/recording.js";
import { it } from "./support/staged.js";
import { fields } from "./support/watch.js";

/*
 * A platform that takes 1.5 s for every answer, and 45 commands within a second: most of them wait for a place or a connection, and
 * what is true when they were taken is not when they are sent.
 */

const [broker] = brokers;

const latencyMs = 1_500;
const maxAgeMs = 12_000;
/** Commands of the last that are taken grow too old sooner than the others, which have a minute. */
const isYoung = (actuator: string) => ["a320", "a330"].includes(actuator);
/** From the first byte of a POST to the platform, and clocks of two processes. */
const onTheWayMs = 250;

const addresses = ["101", "102", "103", "104", "106", "107", "140", "150", "210", "211", "220"];
const more = ["310", "320", "330", "400"];
const codes = ["GH-0001", "GH-0003", "GH-0004"];
/** Most devices do not follow such values: what is looked at is when they are sent. */
const values = { low: "1001", high: "0110" };
const quick = { settle: "100ms", confirm_within: "9s", min_interval: "0s" };
const wind = { sensor: "weather/wind", above: 12, clear_at: 9, clear_after: "1s", allow: ["low"] };

const actuators = Object.fromEntries(
  [...addresses, ...more].map((address) => [
    `a${address}`,
    {
      kind: "custom",
      address,
      values,
      ...quick,
      limits: { ends_with: "low", guards: address === "400" ? { wind } : {} },
    },
  ]),
);

it(
  "45 commands at a platform 1.5 s away: none is POSTed after its age, nor after a guard holds",
  { timeout: 180_000 },
  async ({ stage }) => {
    const platform = await stage.platform({ controllers: 7 });
    expect(await platform.codes()).toEqual(expect.arrayContaining(codes));
    const there = await installation(stage, broker);
    const configuration = configurationFor(platform.url, there.section, {
      weather: { wind: { topic: "weather/wind", stale_after: "2m" } },
      mirror: "listed",
      homeassistant: { enabled: false },
      polling: {
        controllers: "1m",
        sensors: "1m",
        running_status: "1m",
        actuators: "1m",
        stale_after: "10m",
      },
      controllers: Object.fromEntries(codes.map((code) => [code, { actuators }])),
    });
    await there.start(configuration);
    const { watch } = there;
    const houses = codes.map((code) => houseOf(code, { platform, watch }));
    const [first] = houses;
    if (first === undefined) throw new Error("there is no greenhouse");
    const holds = () => {
      const because = fields(first.latest("a400", "allowed"))["because"];
      return !Array.isArray(because) || because.length > 0;
    };
    await watch.publish("weather/wind", "3");
    await watch.untilTrue(() => !holds(), "the guard is clear");
    await platform.fault({ fault: "slow", delay: `${latencyMs}ms`, host: "realtime", chance: 1 });
    const sentAt = Date.now();
    const orders = houses.flatMap((house) =>
      Object.keys(actuators).map((actuator) => ({ house, actuator, id: `${house.id}-${actuator}` })),
    );
    await Promise.all(
      orders.map(({ house, actuator, id }) =>
        house.send(actuator, {
          command: "high",
          id,
          ...(isYoung(actuator) ? { max_age: `${maxAgeMs / 1_000}s` } : {}),
        }),
      ),
    );
    // It waits for its turn among the 15 of its greenhouse.
    await watch.publish("weather/wind", "20");
    await watch.untilTrue(holds, "the guard holds");
    const heldAt = watch.seen.findLast(({ topic }) => topic === `${first.topic("a400")}/allowed`)?.at ?? 0;
    const results = await Promise.all(orders.map(({ house, actuator, id }) => house.result(actuator, id)));
    const posts = await platform.posts();
    const kept = posts.filter(({ code, address }) => code === first.code && address === "400");
    expect(kept.filter(({ at }) => at > heldAt + onTheWayMs)).toEqual([]);
    expect(await first.result("a400", `${first.id}-a400`)).toMatchObject({
      outcome: "refused",
      reason: "interlock",
    });
    const rig = { stage, platform, watch, configuration };
    expect(await brokenRules(rig, { maxAgeMs: 60_000, keptMs: onTheWayMs })).toEqual([]);
    const outcomes = new Map<string, number>();
    for (const { outcome, reason } of results) {
      const word = [outcome, reason].filter(Boolean).join("/");
      outcomes.set(word, (outcomes.get(word) ?? 0) + 1);
    }
    const lastMs = Math.max(...posts.map(({ at }) => at)) - sentAt;
    process.stdout.write(
      `${posts.length} POSTs, the last after ${lastMs} ms; ${[...outcomes].map(([word, count]) => `${count} ${word}`).join(", ")}\n`,
    );
    expect(posts.length).toBeGreaterThan(15);
  },
);
