import { fields } from "../../end-to-end/support/watch.js";
import type { Manner } from "../../support/tcp-proxy.js";
import { textOf } from "../history.js";
import {
  type Check,
  comesTrue,
  faulty,
  never,
  outcome,
  platform,
  type Row,
  shown,
  stayedOnline,
  told,
  wait,
} from "../row.js";
import { commanded, staleAfterMs, targets, topicOf } from "../support/house.js";
import type { World } from "../support/world.js";

/* F: the platform as a whole: its connections, its lists and its channels. Recovery takes at most 60 s and no human. */

const platformTopic = "greenhouse/bridge/platform";

async function both({ business, realtime }: World, manner: Manner): Promise<void> {
  for (const door of [business, realtime]) {
    await door.manner(manner);
    if (manner !== "pass") door.cut();
  }
}

/** Applies a check only to a fault that was held this long. */
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

/** Part of the platform is broken; it counts as reachable while anything answers. */
const partBroken = (name: string, fault: Readonly<Record<string, unknown>>): Row =>
  platform({
    name,
    expected: "degraded and never unreachable; everything else goes on",
    holdMs: 30_000,
    reducedHoldMs: 15_000,
    ...faulty({ ...fault, operation: "sensor-data" }),
    checks: [stayedOnline, never(platformTopic, "unreachable"), outcome("confirmed", "already")],
  });

export const platformRows: readonly Row[] = [
  unreachable("platform refuses connections", "closed", 30_000, 12_000),
  unreachable("platform resets connections", "reset", 25_000, 12_000),
  unreachable("platform is a black hole", "black_hole", 60_000, 20_000),
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
  partBroken("sensor data alone answers 502", { fault: "http_status", status: 502 }),
  partBroken("sensor data alone cannot be read", { fault: "garbage" }),
  platform({
    ...told(["push", { mode: "garbled" }], ["push", { mode: "normal" }]),
    name: "push garbled",
    expected: "polling goes on; commands and readings do not suffer",
    holdMs: 12_000,
    reducedHoldMs: 8_000,
    hits: "nothing",
    checks: [stayedOnline],
  }),
];

/* C: values that are old, impossible or from a device that is gone, and clocks that are set. */

/**
 * Waits until a command has ended confirmed or already for each target, which reads its address from the device itself.
 */
async function everyTargetReadFresh({ watch }: World): Promise<void> {
  const mark = watch.mark();
  const isFresh = (id: string) =>
    watch.seen
      .slice(mark)
      .some(
        ({ topic, payload }) =>
          topic === `${topicOf(commanded, id)}/result` &&
          ["confirmed", "already"].includes(textOf(fields(payload)["outcome"])),
      );
  if (!(await comesTrue(() => Object.keys(targets).every(isFresh), 60_000, 100)))
    throw new Error("no command was confirmed for each target within a minute");
}

/** Waits for a fresh read of each target: a bridge that has just started cannot tell a value from an older one. */
const remembered = (name: string, fault: string): Row =>
  platform({
    ...faulty({ fault, controller: commanded, delay: "20s" }),
    name,
    expected: "a state never goes back in time",
    // Ten of them pass before the fault begins.
    holdMs: 26_000,
    reducedHoldMs: 22_000,
    begin: async (world) => {
      await everyTargetReadFresh(world);
      await world.platform.fault({ fault, controller: commanded, delay: "20s", chance: 1 });
    },
  });

const first = { controller: "GH-0001" };
const availability = (id: string) => `greenhouse/${id}/availability`;
const year = 365 * 86_400_000;

export const stateRows: readonly Row[] = [
  platform({
    name: "sensors frozen",
    expected: "quality stale, the value stays",
    holdMs: 28_000,
    reducedHoldMs: 22_000,
    ...told(["freeze_sensors", first], ["unfreeze_sensors", first]),
    checks: [stayedOnline, shown("greenhouse/gh-0001/sensor/airtemp/quality", "stale")],
  }),
  platform({
    name: "controller offline",
    expected: "availability offline, commands refused at once",
    holdMs: 14_000,
    reducedHoldMs: 10_000,
    ...told(["set_online", { ...first, online: false }], ["set_online", { ...first, online: true }]),
    checks: [shown(availability("gh-0001"), "offline"), outcome("refused/controller_offline")],
  }),
  platform({
    name: "a list that says offline",
    expected: "beside the device's own status: the controller stays online and takes commands",
    holdMs: 14_000,
    ...faulty({ fault: "listed_offline", controller: commanded }),
    checks: [stayedOnline, never(availability("gh-0001"), "offline"), outcome("confirmed", "already")],
  }),
  platform({
    name: "a page of the list",
    expected: "beside the count of all: nothing is absent, nothing goes offline",
    holdMs: 14_000,
    ...faulty({ fault: "paged", value: 1 }),
    checks: [
      stayedOnline,
      ...["gh-0001", "gh-0003"].map((id) => never(availability(id), "offline")),
      // The other list may still contain it, but without a flag.
      never(availability("gh-0003"), "unknown"),
      outcome("confirmed", "already"),
    ],
  }),
  remembered("an old value from the platform's memory", "stale_read_back"),
  remembered("a type from the platform's memory", "stale_group"),
  platform({
    name: "clock set by years",
    expected: "no timer moves, no command is lost; commands with a time are refused (clock)",
    holdMs: 15_000,
    begin: async ({ bridge, clockOffsets }) => {
      const offsets = [10 * year, -14 * 86_400_000, -56 * year, 0];
      clockOffsets.push(...offsets);
      for (const offset of offsets) {
        bridge.setClock(offset);
        if (offset !== 0) await wait(5_000);
      }
    },
    checks: [stayedOnline, outcome("confirmed")],
  }),
];
