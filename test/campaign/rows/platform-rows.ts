import { expectOutcome, expectShown, type Row, stayedOnline } from "../row.js";
import type { BadManner } from "../support/bad-host.js";
import { staleAfterMs } from "../support/house.js";
import type { Manner } from "../support/door.js";
import type { World } from "../support/world.js";

/* F: the platform as a whole: connections and answers. Recovery needs no human and at most 60 s. */

const platform = (row: Omit<Row, "hits" | "limitMs"> & Partial<Pick<Row, "limitMs">>): Row => ({
  hits: "platform",
  limitMs: 60_000,
  ...row,
});

const counter = "greenhouse/gh-0001/sensor/counter/quality";
const platformTopic = "greenhouse/bridge/platform";

async function both(world: World, manner: Manner): Promise<void> {
  for (const door of [world.business, world.realtime]) {
    await door.manner(manner);
    if (manner !== "pass") door.cut();
  }
}

function meet(world: World, manner: BadManner): void {
  world.badHost.manner(manner);
  for (const door of [world.business, world.realtime]) {
    door.target(world.badHost.port);
    door.cut();
  }
}

function leave(world: World): void {
  for (const door of [world.business, world.realtime]) {
    door.target(world.platformPort);
    door.cut();
  }
}

const unreachable = (
  name: string,
  how: string,
  manner: Manner,
  more: Pick<Row, "lanes" | "holdMs"> & Partial<Row>,
): Row =>
  platform({
    name,
    requirement: "F45, F47",
    how,
    expected: "unreachable, readings stale, commands platform_unavailable; back within 60 s",
    begin: (world) => both(world, manner),
    end: (world) => both(world, "pass"),
    check: (seen) => [
      ...stayedOnline(seen),
      ...expectShown(seen, platformTopic, "unreachable"),
      ...expectOutcome(seen, "refused/platform_unavailable"),
      ...(seen.endedAt - seen.startedAt > staleAfterMs + 5_000 ? expectShown(seen, counter, "stale") : []),
    ],
    ...more,
  });

const badAnswers = (name: string, manner: BadManner, requirement: string, lanes: Row["lanes"]): Row =>
  platform({
    name,
    requirement,
    lanes,
    how: `both hosts answer everything so (${manner}) for 20 s`,
    expected: "each answer refused in time and size; values kept, readings turn stale",
    holdMs: 20_000,
    reducedHoldMs: 8_000,
    begin: (world) => {
      meet(world, manner);
    },
    end: leave,
    check: (seen) => [...stayedOnline(seen), ...slimmer(seen.notes)],
  });

const slimmer = (notes: Readonly<Record<string, number>>): readonly string[] =>
  (notes["rssMb"] ?? 0) < 300 ? [] : [`the bridge used ${notes["rssMb"] ?? 0} MB`];

/** Every answer is spoilt as a fault file says. */
const spoilt = (
  name: string,
  requirement: string,
  lanes: Row["lanes"],
  fault: Readonly<Record<string, unknown>>,
  more: Partial<Row> = {},
): Row =>
  platform({
    name,
    requirement,
    lanes,
    how: `every answer: ${JSON.stringify(fault)}`,
    expected: "counts as no answer; nothing invented, back within 60 s",
    holdMs: 15_000,
    reducedHoldMs: 8_000,
    begin: (world) => world.platform.fault({ ...fault, chance: 1 }),
    end: (world) => world.platform.tell("clear_faults"),
    check: stayedOnline,
    ...more,
  });

export const platformRows: readonly Row[] = [
  unreachable("platform refuses connections", "both ports closed", "closed", {
    lanes: ["mosquitto-5", "aedes-4!", "embedded-5"],
    holdMs: 30_000,
    reducedHoldMs: 12_000,
  }),
  unreachable("platform resets connections", "RST on every connection", "reset", {
    lanes: ["mosquitto-4", "aedes-5"],
    holdMs: 25_000,
  }),
  unreachable("platform is a black hole", "connections accepted, nothing answered", "black_hole", {
    lanes: ["mosquitto-4", "embedded-5"],
    holdMs: 60_000,
  }),
  platform({
    name: "requests during an outage",
    requirement: "F47",
    lanes: ["embedded-5"],
    how: "every request reset for 120 s, no commands",
    expected: "at most 150 requests an hour, with 12 for the beginning",
    holdMs: 120_000,
    quiet: true,
    begin: async (world, notes) => {
      await both(world, "reset_on_request");
      notes["before"] = world.business.requests.length + world.realtime.requests.length;
    },
    end: async (world, notes) => {
      notes["after"] = world.business.requests.length + world.realtime.requests.length;
      await both(world, "pass");
    },
    check: ({ notes, startedAt, endedAt }) => {
      const made = (notes["after"] ?? 0) - (notes["before"] ?? 0);
      const allowed = 12 + ((endedAt - startedAt) / 3_600_000) * 150;
      notes["requests"] = made;
      return made <= allowed ? [] : [`${made} requests, ${Math.floor(allowed)} allowed`];
    },
  }),
  badAnswers("answers drip byte by byte", "drip", "F45", ["mosquitto-5", "aedes-5"]),
  badAnswers("headers never come", "stalled_headers", "F45", ["embedded-5"]),
  badAnswers("answers without an end", "endless", "F45, F46", ["mosquitto-4"]),
  badAnswers("answers of 6 MB", "oversized", "F46", ["mosquitto-5", "aedes-4"]),
  badAnswers("gzip bomb", "gzip_bomb", "F46", ["mosquitto-4", "embedded-5!"]),
  badAnswers("chained encodings", "chained_encodings", "F46", ["aedes-5"]),
  badAnswers("JSON 50,000 deep", "deep_json", "F46", ["aedes-4"]),
  spoilt("HTML with status 200", "F49", ["mosquitto-5", "mosquitto-4!", "aedes-4"], { fault: "html" }),
  spoilt("HTML with status 502", "F49", ["aedes-5"], { fault: "html", status: 502 }),
  spoilt("status 500", "F47", ["mosquitto-4", "embedded-5"], { fault: "http_status", status: 500 }),
  spoilt("body code 500", "F49", ["mosquitto-5"], { fault: "body_code", code: 500 }),
  spoilt("broken JSON", "F49", ["aedes-5"], { fault: "garbage" }),
  spoilt("empty bodies", "F49", ["aedes-4"], { fault: "empty" }),
  spoilt("truncated bodies", "F49", ["mosquitto-4", "embedded-5"], { fault: "truncated" }),
  spoilt("429 with Retry-After", "F47", ["mosquitto-4", "aedes-5"], {
    fault: "throttle",
    retry_after: "5s",
  }),
  spoilt("503 with Retry-After", "F47", ["embedded-5"], {
    fault: "throttle",
    status: 503,
    retry_after: "5s",
  }),
  spoilt("answers 3 s late", "F45", ["mosquitto-5"], { fault: "slow", delay: "3s" }),
  spoilt(
    "redirects",
    "F15",
    ["mosquitto-5", "aedes-4"],
    { fault: "redirect", status: 307 },
    {
      expected: "not followed: no request to the other origin",
      begin: async (world, notes) => {
        notes["before"] = world.badHost.posts.length;
        world.badHost.manner("redirected_to");
        const message = `http://127.0.0.1:${world.badHost.port}/api/set-value`;
        await world.platform.fault({ fault: "redirect", status: 307, message, chance: 1 });
      },
      check: ({ notes }, { badHost }) =>
        badHost.posts.length === notes["before"] ? [] : ["a control value was sent to another origin"],
    },
  ),
  spoilt(
    "tokens expire three times",
    "F16",
    ["mosquitto-4!", "aedes-5", "aedes-4"],
    {},
    {
      how: "every token is refused from now on, at 0, 4 and 8 s; new ones are good",
      expected: "one sign-in each time, commands go on",
      holdMs: 9_000,
      begin: async ({ platform }, notes) => {
        const signIns = async () => (await platform.requests())["sign-in"] ?? 0;
        notes["before"] = await signIns();
        for (let turn = 0; turn < 3; turn += 1) {
          await platform.tell("expire_tokens");
          await new Promise((resolve) => setTimeout(resolve, 4_000));
        }
        notes["after"] = await signIns();
      },
      check: ({ notes }) => {
        const made = (notes["after"] ?? 0) - (notes["before"] ?? 0);
        return made >= 1 && made <= 3 ? [] : [`${made} sign-ins for three expired tokens`];
      },
    },
  ),
  spoilt(
    "401 for everything",
    "F16",
    ["mosquitto-4", "aedes-5"],
    { fault: "unauthorized" },
    {
      expected: "no storm of sign-ins; unauthorized is said; back within 60 s",
      holdMs: 12_000,
      begin: async ({ platform }, notes) => {
        notes["before"] = (await platform.requests())["sign-in"] ?? 0;
        await platform.fault({ fault: "unauthorized", chance: 1 });
      },
      end: async ({ platform }, notes) => {
        notes["after"] = (await platform.requests())["sign-in"] ?? 0;
        await platform.tell("clear_faults");
      },
      check: ({ notes }) => {
        const made = (notes["after"] ?? 0) - (notes["before"] ?? 0);
        return made <= 3 ? [] : [`${made} sign-ins in 12 s`];
      },
    },
  ),
  platform({
    name: "business host alone gone",
    requirement: "F47",
    lanes: ["mosquitto-5", "aedes-5!", "embedded-5"],
    how: "its port closed for 30 s",
    expected: "degraded; commands go on being confirmed",
    holdMs: 30_000,
    reducedHoldMs: 10_000,
    begin: async ({ business }) => {
      await business.manner("closed");
      business.cut();
    },
    end: ({ business }) => business.manner("pass"),
    check: (seen) => [
      ...stayedOnline(seen),
      ...expectOutcome(seen, "confirmed"),
      ...(seen.endedAt - seen.startedAt >= 20_000 ? expectShown(seen, platformTopic, "degraded") : []),
    ],
  }),
  platform({
    name: "empty list of controllers",
    requirement: "F49",
    lanes: ["aedes-4", "embedded-5"],
    how: "the account's list is empty, then null",
    expected: "account_empty is said, nothing is removed",
    holdMs: 14_000,
    begin: async ({ platform }) => {
      await platform.tell("empty_list", { list: true });
      await new Promise((resolve) => setTimeout(resolve, 7_000));
      await platform.tell("empty_list", { list: "null" });
    },
    end: ({ platform }) => platform.tell("empty_list", { list: false }),
    check: ({ messages }) => [
      ...(messages.some(
        ({ topic, payload }) => topic === "greenhouse/bridge/event" && payload.includes("account_empty"),
      )
        ? []
        : ["account_empty was not said"]),
      ...(messages.some(({ topic, payload, retain }) => /\/info$/.test(topic) && payload === "" && !retain)
        ? ["a controller was removed"]
        : []),
    ],
  }),
];
