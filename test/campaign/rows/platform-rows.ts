import type { Manner } from "../../support/tcp-proxy.js";
import { type Check, event, outcome, type Row, shown, stayedOnline, unless, wait } from "../row.js";
import { staleAfterMs } from "../support/house.js";
import type { World } from "../support/world.js";
import { platform } from "./kinds.js";

/* F: the platform as a whole: its connections, its lists and its channels. Recovery needs no human and at most 60 s. */

const platformTopic = "greenhouse/bridge/platform";

async function both({ business, realtime }: World, manner: Manner): Promise<void> {
  for (const door of [business, realtime]) {
    await door.manner(manner);
    if (manner !== "pass") door.cut();
  }
}

/** Only of a fault that was held this long. */
const heldFor =
  (leastMs: number, check: Check): Check =>
  (seen, world) =>
    seen.endedAt - seen.startedAt > leastMs ? check(seen, world) : [];

const unreachable = (name: string, manner: Manner, holdMs: number, reducedHoldMs: number): Row =>
  platform({
    ...{ name, holdMs, reducedHoldMs },
    expected: "unreachable, readings stale, commands platform_unavailable; back within 60 s",
    begin: (world) => both(world, manner),
    end: (world) => both(world, "pass"),
    checks: [
      ...[stayedOnline, shown(platformTopic, "unreachable"), outcome("refused/platform_unavailable")],
      heldFor(staleAfterMs + 5_000, shown("greenhouse/gh-0001/sensor/counter/quality", "stale")),
    ],
  });

/** The WebSocket channels. Polling goes on, so nothing may be felt by a command. */
const push = (name: string, mode: string, holdMs: number): Row => ({
  name,
  expected: "polling goes on; commands and readings do not suffer",
  holdMs,
  reducedHoldMs: mode === "drop" ? holdMs : Math.min(holdMs, 8_000),
  hits: "nothing",
  limitMs: 60_000,
  begin: async ({ platform }) => {
    await platform.tell("push", { mode });
    for (let turn = 0; mode === "drop" && turn < 7; turn += 1) {
      await wait(2_000);
      await platform.tell("push", { mode });
    }
  },
  end: ({ platform }) => platform.tell("push", { mode: "normal" }),
  checks: [stayedOnline],
});

const requestsOf = ({ requests }: World) => requests.business.length + requests.realtime.length;

export const platformRows: readonly Row[] = [
  unreachable("platform refuses connections", "closed", 30_000, 12_000),
  unreachable("platform resets connections", "reset", 25_000, 12_000),
  unreachable("platform is a black hole", "black_hole", 60_000, 20_000),
  platform({
    name: "requests during an outage",
    expected: "each is reset, and there are at most 150 an hour, with 12 for the beginning",
    holdMs: 120_000,
    reducedHoldMs: 30_000,
    quiet: true,
    begin: async (world, notes) => {
      await both(world, "reset_on_request");
      notes["before"] = requestsOf(world);
    },
    end: async (world, notes) => {
      notes["requests"] = requestsOf(world) - (notes["before"] ?? 0);
      await both(world, "pass");
    },
    checks: [
      ({ notes: { requests = 0 }, startedAt, endedAt }) => {
        const allowed = 12 + ((endedAt - startedAt) / 3_600_000) * 150;
        return unless(requests <= allowed, `${requests} requests, ${Math.floor(allowed)} allowed`);
      },
    ],
  }),
  platform({
    name: "business host alone gone",
    expected: "degraded; commands go on being confirmed",
    holdMs: 30_000,
    reducedHoldMs: 10_000,
    begin: async ({ business }) => {
      await business.manner("closed");
      business.cut();
    },
    end: ({ business }) => business.manner("pass"),
    checks: [stayedOnline, outcome("confirmed"), heldFor(19_999, shown(platformTopic, "degraded"))],
  }),
  platform({
    name: "empty list of controllers",
    expected: "or null: account_empty is said, nothing is removed",
    holdMs: 14_000,
    begin: async ({ platform }) => {
      await platform.tell("empty_list", { list: true });
      await wait(7_000);
      await platform.tell("empty_list", { list: "null" });
    },
    end: ({ platform }) => platform.tell("empty_list", { list: false }),
    checks: [
      event("account_empty"),
      ({ messages }) =>
        messages
          .filter(({ topic, payload, retain }) => topic.endsWith("/info") && payload === "" && !retain)
          .map(({ topic }) => `${topic} was removed`),
    ],
  }),
  push("push flapping", "drop", 16_000),
  push("push black hole", "black_hole", 50_000),
  push("push garbled", "garbled", 12_000),
  push("push silent", "silent", 12_000),
  push("push refused", "refuse", 12_000),
];
