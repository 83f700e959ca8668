import { expect, it } from "vitest";
import type { Configuration } from "../../end-to-end/support/stage.js";
import {
  actuators,
  house,
  parameters,
  registered,
  sensors,
  usualConfiguration,
  type World,
} from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { untilAvailable } from "./announcements.js";

/* What changes in the account or in the configuration, while Home Assistant runs and while it is down. */

const { left_skylight: skylight, special, ...others } = actuators;
const unlimited = { ...actuators["right_skylight"], limits: undefined };
const controllers = (own: Configuration, more: Configuration = {}): Configuration => ({
  controllers: { [house]: { sensors, actuators: own, parameters, ...more } },
});

/** Each is a configuration beside the usual one; ids of what is in both stay. */
const changes: Readonly<Record<string, Configuration>> = {
  "an actuator removed": controllers({ ...others, left_skylight: skylight }),
  "an actuator renamed": controllers({ ...others, special, roof: { ...skylight, name: "Ridge" } }),
  "limits removed": controllers({ ...actuators, right_skylight: unlimited }),
  "a controller renamed and moved": controllers(actuators, { id: "east", name: "East house", area: "East" }),
  "another language": { homeassistant: { language: "zh" } },
  "a controller ignored": {
    controllers: { [house]: { sensors, actuators, parameters }, "GH-0003": { ignore: true } },
  },
  "another kind": controllers({ ...others, special, left_skylight: { kind: "machine", address: "101" } }),
};

export function changesOf(world: () => World, rows: Rows): void {
  for (const isDown of [false, true]) {
    const when = isDown ? "while it is down" : "while it runs";
    it(`${when}: nothing is left behind, nothing lacks, and what stays keeps its id`, async () => {
      const one = world();
      await one.settled();
      await one.untilComplete();
      const first = await registered(one);
      const done: string[] = [];
      for (const [what, change] of Object.entries(changes)) {
        for (const configuration of [change, {}]) {
          if (isDown) await one.endHomeAssistant();
          await one.endBridge();
          await announcing(one, { ...usualConfiguration, ...configuration });
          if (isDown) await one.settled();
          if (isDown) await restarted(one);
          await one.settled();
          await one.untilComplete(120_000).catch((error: unknown) => {
            throw new Error(`${what}, ${when}: ${String(error)}`);
          });
          await untilAvailable(one, `${what}, ${when}`, 120_000);
        }
        const now = await registered(one);
        expect(
          [...now.entries()].filter(([key, id]) => first.get(key) !== id),
          what,
        ).toEqual([]);
        done.push(what);
      }
      rows.tell(`changes ${when}`, `${done.length} there and back, 0 orphans, ids kept (${done.join("; ")})`);
      expect(one.trouble()).toEqual([]);
    });
  }

  it("a device that its user deletes comes back with Home Assistant's next start", async () => {
    const one = world();
    await one.settled();
    const total = await one.untilComplete();
    const device = (await one.ha.devices()).find(({ identifiers }) =>
      identifiers.some(([, id]) => id === "greenhouse2mqtt_GH-0003"),
    );
    const [entry] = device?.config_entries ?? [];
    await one.ha.call("config/device_registry/remove_config_entry", {
      device_id: device?.id,
      config_entry_id: entry,
    });
    const isGone = async () => ![...(await registered(one)).keys()].some((key) => key.includes("_GH-0003_"));
    await expect.poll(isGone, { timeout: 20_000 }).toBe(true);
    await one.endHomeAssistant();
    await restarted(one);
    await one.settled();
    expect(await one.untilComplete(120_000)).toBe(total);
    rows.tell("a deleted device", "gone at once, back at its next start");
  });
}

/** The bridge started and has announced what it has now; until then all is as it was before. */
async function announcing(world: World, configuration: Configuration): Promise<void> {
  const mark = world.watch.mark();
  await world.startBridge(configuration);
  const isAnnounced = () =>
    world.watch.seen.slice(mark).some(({ topic }) => topic.endsWith(`greenhouse2mqtt_${house}/config`));
  await world.watch.untilTrue(isAnnounced, "the bridge announces", 60_000);
}

/** Home Assistant started, and the bridge heard of it: it announces everything once more then. */
async function restarted(world: World): Promise<void> {
  const mark = world.watch.mark();
  await world.startHomeAssistant();
  const isAnnouncing = () => {
    const since = world.watch.seen.slice(mark);
    const birth = since.findIndex(
      ({ topic, payload }) => topic === "homeassistant/status" && payload === "online",
    );
    return birth >= 0 && since.slice(birth).some(({ topic }) => topic.startsWith("homeassistant/device/"));
  };
  await world.watch.untilTrue(isAnnouncing, "the bridge hears of Home Assistant's start", 60_000);
}
