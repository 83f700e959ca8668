import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { type Installation, usageIn } from "../support/process.js";
import type { Rows } from "../support/rows.js";
import { createWorld, type World } from "../support/world.js";
import { seconds } from "./availability.js";

/* Many controllers at once. */

/** How many there are when no more are announced, and when the last of them had come. */
async function grown(world: World, began: number): Promise<{ readonly total: number; readonly ms: number }> {
  for (let before = { total: 0, ms: 0 }; ;) {
    const total = await world.untilComplete(900_000);
    if (total === before.total) return before;
    before = { total, ms: performance.now() - began };
    await world.settled();
  }
}

export function scale(installation: Installation, rows: Rows, controllers: number): void {
  it(`${controllers} controllers: every entity is there, at what cost`, async () => {
    const polling = { controllers: "1m", sensors: "1m", running_status: "5m", actuators: "5m" };
    const world = await createWorld(installation, {
      ...{ controllers, configuration: { polling } },
      watchesStates: false,
    });
    try {
      const began = performance.now();
      const { total, ms: there } = await grown(world, began);
      const ours = await Promise.all(
        ["stat", "status"].map((name) => readFile(`/proc/${world.bridge.pid}/${name}`, "utf8")),
      );
      const [its, own] = [await world.process.usage(), usageIn(ours[0] ?? "", ours[1] ?? "")];
      rows.tell(
        `${controllers} controllers`,
        `${total} entities ${seconds(there)} after the first, Home Assistant ${its.cpuSeconds.toFixed(0)} s CPU ${its.memoryMb} MB, bridge ${own.cpuSeconds.toFixed(0)} s CPU ${own.memoryMb} MB`,
      );
      // It is too busy with so many entities to take every answer of the broker in time.
      expect(
        world.trouble().filter((line) => !/No ACK from MQTT server|not currently connected/.test(line)),
      ).toEqual([]);
    } finally {
      await world.clear();
    }
  });
}
