import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { Bridge } from "../simulation/bridge.js";
import { scenarioOf } from "../simulation/scenario.js";
import { World } from "../simulation/world.js";

/* An account of a fleet runs again and again in one process: what was of a run before is let go with it. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A whole bridge that starts again and again by the same settings, on a virtual clock. */
async function account() {
  const world = new World(await scenarioOf(3, 6));
  const live = new LiveSettings(world.scenario.configuration);
  const passes = (ms: number) => world.time.runUntil(world.time.now + ms);
  /** Begins, polls for a minute, and ends; in order, or by an error. */
  const run = async (boot: number, how: "in order" | "by an error") => {
    const failing = new AbortController();
    const bridge = new Bridge(world, boot);
    world.bridge = bridge;
    world.journalist.startedAt.set(boot, world.time.now);
    const ended = bridge.run({ live, failing: failing.signal }).catch((error: unknown) => String(error));
    await passes(60_000);
    expect(bridge.store?.size).toBeGreaterThan(0);
    const stopped = how === "in order" ? bridge.stop() : ended;
    if (how === "by an error") failing.abort(new Error("the disk is gone"));
    await passes(60_000);
    await Promise.all([stopped, ended]);
    return new WeakRef(bridge);
  };
  return { run, world };
}

it.each(["in order", "by an error"] as const)(
  "an account that ends %s and starts again lets go what it was",
  async (how) => {
    const { run } = await account();
    const runs: WeakRef<Bridge>[] = [];
    for (let boot = 1; boot <= 20; boot += 1) runs.push(await run(boot, how));
    collectGarbage();
    // The newest one may still be at hand.
    expect(runs.slice(0, -1).filter((one) => one.deref() !== undefined)).toEqual([]);
  },
);

it("the log level of an account counts from a reload on, also of one that came between two runs", async () => {
  const { world } = await account();
  const { configuration } = world.scenario;
  const live = new LiveSettings(configuration);
  const levels: string[] = [];
  const setLogLevel = (level: string) => levels.push(level);
  const reload = (level: "debug" | "warn") =>
    live.reload({ ...configuration, log: { ...configuration.log, level } });
  const bridge = new Bridge(world, 1);
  const ended = bridge.run({ live, setLogLevel });
  await world.time.runUntil(1_000);
  reload("debug");
  expect(levels).toEqual(["debug"]);
  const stopped = bridge.stop();
  await world.time.runUntil(60_000);
  await Promise.all([ended, stopped]);
  reload("warn");
  const next = new Bridge(world, 2);
  void next.run({ live, setLogLevel });
  await world.time.runUntil(61_000);
  expect(levels).toEqual(["debug", "warn"]);
  next.letGo();
});
