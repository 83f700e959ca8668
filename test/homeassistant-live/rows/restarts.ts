import { expect, it } from "vitest";
import type { World } from "../support/world.js";
import type { Rows } from "../support/rows.js";
import { seconds } from "./availability.js";
import { untilAvailable } from "./announcements.js";

/* Bridge, platform, broker and Home Assistant end and start again, in every order. */

const parts = {
  bridge: {
    end: (world: World) => world.endBridge("SIGKILL"),
    start: (world: World) => world.launchBridge(),
  },
  platform: { end: (world: World) => world.endPlatform(), start: (world: World) => world.startPlatform() },
  broker: { end: (world: World) => world.broker.quit(), start: (world: World) => world.broker.restart() },
  homeassistant: {
    end: (world: World) => world.endHomeAssistant(),
    start: (world: World) => world.startHomeAssistant(),
  },
} as const;
type Part = keyof typeof parts;
const names: readonly Part[] = ["bridge", "platform", "broker", "homeassistant"];

const orders = (left: readonly Part[]): readonly (readonly Part[])[] =>
  left.length === 0
    ? [[]]
    : left.flatMap((first) => orders(left.filter((one) => one !== first)).map((rest) => [first, ...rest]));

/** `withMemory`: the broker keeps retained messages over its restarts. */
export function restarts(world: () => World, rows: Rows, withMemory: boolean): void {
  const memory = withMemory ? "with memory" : "without memory";
  it(`each of the four alone restarted, and all of them in every order: everything is back, broker ${memory}`, async () => {
    const one = world();
    await one.settled();
    const total = await one.untilComplete();
    const slowest = { ms: 0, what: "" };
    const tries = [...names.map((name) => [name] as const), ...orders(names)];
    for (const [at, order] of tries.entries()) {
      for (const part of [...order].reverse()) await parts[part].end(one);
      for (const part of order) await parts[part].start(one);
      const began = performance.now();
      // A broker without memory is told controller by controller.
      while ((await one.untilComplete(180_000)) < total) await one.settled();
      await untilAvailable(one, `after ${order.join(", ")}`, 180_000);
      expect(await one.untilComplete()).toBe(total);
      const ms = performance.now() - began;
      if (ms > slowest.ms) Object.assign(slowest, { ms, what: order.join(", ") });
      rows.tell(
        `restarts, broker ${memory}`,
        `${at + 1} of ${tries.length} orders, ${total} entities each time, slowest back ${seconds(slowest.ms)} after the last start (${slowest.what})`,
      );
    }
  });
}
