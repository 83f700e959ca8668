import { expect, it } from "vitest";
import { house, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { idsOf } from "./outcomes.js";

/* What is unavailable while something is away, and how soon it is back. */

interface Loss {
  readonly name: string;
  readonly lose: (world: World) => Promise<void>;
  readonly regain: (world: World) => Promise<void>;
  /** Suggested ids that turn unavailable, and such that do not. */
  readonly gone: readonly string[];
  readonly stays: readonly string[];
}

const reading = "sensor.gh_0001_airtemp";
const select = "select.gh_0001_left_skylight_mode";
const connectivity = "binary_sensor.gh_0001_connectivity";
const bridge = "binary_sensor.greenhouse2mqtt_connectivity";
const problem = "binary_sensor.gh_0001_command_problem";
const other = "sensor.gh_0003_airtemp";

const host = (name: string) => ({
  lose: (world: World) => world.platform.tell("host_down", { host: name, how: "refuse" }),
  regain: (world: World) => world.platform.tell("host_up", { host: name }),
});

const losses: readonly Loss[] = [
  {
    name: "bridge ended",
    lose: (world) => world.endBridge("SIGTERM"),
    regain: (world) => world.startBridge(),
    ...{ gone: [reading, select, connectivity, problem], stays: [bridge] },
  },
  {
    name: "bridge killed",
    lose: (world) => world.endBridge("SIGKILL"),
    regain: (world) => world.startBridge(),
    ...{ gone: [reading, select, connectivity, problem], stays: [bridge] },
  },
  {
    name: "realtime host gone",
    ...host("realtime"),
    gone: [reading, select],
    stays: [connectivity, problem],
  },
  { name: "business host gone", ...host("business"), gone: [], stays: [reading, select, problem] },
  {
    name: "controller offline",
    lose: (world) => world.platform.tell("set_online", { controller: house, online: false }),
    regain: (world) => world.platform.tell("set_online", { controller: house, online: true }),
    ...{ gone: [reading, select], stays: [connectivity, problem, other] },
  },
  {
    name: "reading stale",
    lose: (world) => world.platform.tell("freeze_sensors", { controller: house }),
    regain: (world) => world.platform.tell("unfreeze_sensors", { controller: house }),
    ...{ gone: [reading], stays: [select, problem, other] },
  },
];

export function availability(world: () => World, rows: Rows): void {
  it.each(losses)(
    "$name: what cannot be known is unavailable, the rest is not, and it comes back",
    async (loss) => {
      const one = world();
      const { ha } = one;
      const { entities } = await idsOf(one);
      const is = (id: string) => ha.state(entities.get(id) ?? id)?.state;
      const all = [reading, select, connectivity, problem, other];
      await ha.until("all is there", () => all.every((id) => is(id) !== "unavailable"));
      const began = performance.now();
      await loss.lose(one);
      if (loss.gone.length === 0)
        await one.watch.untilTrue(
          () => one.watch.latest("greenhouse/bridge/platform") === "degraded",
          "degraded",
          90_000,
        );
      await ha.until("it is unavailable", () => loss.gone.every((id) => is(id) === "unavailable"), 90_000);
      const gone = performance.now() - began;
      expect(loss.stays.filter((id) => is(id) === "unavailable")).toEqual([]);
      const back = performance.now();
      await loss.regain(one);
      await ha.until("it is back", () => all.every((id) => is(id) !== "unavailable"), 120_000);
      rows.tell(
        loss.name,
        `${loss.gone.length} kinds gone after ${seconds(gone)}, back after ${seconds(performance.now() - back)}`,
      );
    },
  );
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
