import { expectOutcome, expectShown, type Row, stayedOnline } from "../row.js";
import { staleAfterMs } from "../support/house.js";
import type { Manner } from "../support/door.js";
import type { World } from "../support/world.js";
import { platform } from "./kinds.js";

/* F: the platform as a whole: connections and answers. Recovery needs no human and at most 60 s. */

const counter = "greenhouse/gh-0001/sensor/counter/quality";
const platformTopic = "greenhouse/bridge/platform";

async function both(world: World, manner: Manner): Promise<void> {
  for (const door of [world.business, world.realtime]) {
    await door.manner(manner);
    if (manner !== "pass") door.cut();
  }
}

const unreachable = (
  name: string,
  how: string,
  manner: Manner,
  more: Pick<Row, "holdMs"> & Partial<Row>,
): Row =>
  platform({
    name,
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

export const platformRows: readonly Row[] = [
  unreachable("platform refuses connections", "both ports closed", "closed", {
    holdMs: 30_000,
    aboutMs: 7_000,
    reducedHoldMs: 12_000,
  }),
  unreachable("platform resets connections", "RST on every connection", "reset", {
    holdMs: 25_000,
    aboutMs: 7_000,
    reducedHoldMs: 12_000,
  }),
  unreachable("platform is a black hole", "connections accepted, nothing answered", "black_hole", {
    holdMs: 60_000,
    aboutMs: 30_000,
    reducedHoldMs: 20_000,
  }),
  platform({
    name: "requests during an outage",
    aboutMs: 9_000,
    how: "every request reset for 120 s, no commands",
    expected: "at most 150 requests an hour, with 12 for the beginning",
    holdMs: 120_000,
    reducedHoldMs: 30_000,
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
  platform({
    name: "business host alone gone",
    aboutMs: 12_000,
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
