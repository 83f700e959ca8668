import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createPlatform, type PlatformClient } from "../../src/platform/client.js";
import { PushChannels } from "../../src/sync/push-channels.js";
import { PlatformWatch } from "../../src/sync/hosts.js";
import { createMirror, type Mirror } from "../../src/sync/mirror.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/simulator/faults.js";
import type { Simulator, SimulatorOptions } from "../../src/simulator/simulator.js";
import { nobodyWaits, silentLog } from "../support/builders.js";
import { until } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { bridge, configurationOf, platform as platformOf } from "./support/bridge.js";

/* The reading half with its push channels against the simulated platform, over real HTTP and WebSockets. */

// Reads that pushes ask for keep ten seconds apart, and a test may need two of them.
vi.setConfig({ testTimeout: 60_000 });

const patience = { timeout: 30_000, interval: 5 };
const code = "GH-0001";

const text = (actuatorsEvery: string) => `
polling: { controllers: 1h, sensors: 1h, running_status: 1h, actuators: ${actuatorsEvery}, stale_after: 3h }
controllers:
  ${code}:
    actuators:
      roof: { kind: skylight, address: 101 }
      side: { kind: skylight, address: 103 }
      fans: { kind: fan_wet_curtain, address: 140 }
      fan: { kind: circulation_fan, address: 150 }
      valve: { kind: irrigation, address: 210 }
`;

/** Pauses of a minute take half a second; everything shorter takes its time. */
const impatient: Clock = {
  ...systemClock,
  wait: (ms, signal) => systemClock.wait(ms >= 60_000 ? 500 : ms, signal),
};

interface Pushed {
  readonly simulator: Simulator;
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
  readonly stop: () => Promise<void>;
}

/** Everything has been read once, and all channels are open. */
async function mirrored(
  options: SimulatorOptions = {},
  actuatorsEvery = "1h",
  random = seededRandom(1),
): Promise<Pushed> {
  const simulator = await platformOf({ controllers: 5, pushIntervalMs: 5, ...options });
  const configuration = await configurationOf(text(actuatorsEvery), simulator);
  const around = { clock: impatient, random, log: silentLog };
  const onEvent = () => undefined;
  const watch = new PlatformWatch(impatient, silentLog, onEvent);
  const platform = createPlatform(configuration.platform, {
    ...around,
    dataDir: configuration.data_dir,
    onLink: (link) => watch.onFacts(link.host, link),
  });
  const mirror = createMirror({
    ...around,
    configuration,
    platform,
    watch,
    transliterate: anyAscii,
    onEvent,
  });
  const push = new PushChannels(platform, mirror, nobodyWaits, around);
  const quit = new AbortController();
  const parts = [mirror.store, mirror.watch, mirror.poller, push];
  const running = Promise.all(parts.map((part) => part.run(quit.signal)));
  const stop = async () => {
    quit.abort();
    await running;
    await platform.close();
  };
  onTestFinished(stop);
  const isRead = () =>
    [...(mirror.store.get(code)?.actuators.values() ?? [])].every(({ readAt }) => readAt !== null);
  await expect.poll(isRead, patience).toBe(true);
  await expect.poll(() => platform.pushCounters().open, patience).toBeGreaterThanOrEqual(3);
  return { simulator, platform, mirror, stop };
}

const shown = ({ mirror }: Pushed, id: string) => mirror.store.get(code)?.actuators.get(id);

describe("what the platform pushes, while polling rests", () => {
  it("moves the mirror", async () => {
    const made = await mirrored();
    for (const [value, state] of [
      ["10010", "open"],
      ["11000", "auto"],
      ["10001", "closed"],
    ] as const) {
      made.simulator.control.moveByHand(code, "101", value);
      await expect.poll(() => shown(made, "roof")?.state, patience).toBe(state);
      expect(shown(made, "roof")).toMatchObject({ source: "push", quality: "good" });
    }
  });

  it("reaches running statuses, connections and the readings of a weather station", async () => {
    const { mirror, simulator } = await mirrored({ speed: 600 });
    const status = () =>
      [...(mirror.store.get(code)?.statuses.values() ?? [])].find(({ number }) => number === 16)?.state;
    await expect.poll(status, patience).toBeDefined();
    simulator.control.moveByHand(code, "140", "10000");
    await expect.poll(status, patience).toBe("on");
    const sources = () =>
      [...(mirror.store.get("WS-0001")?.sensors.values() ?? [])].map(({ source }) => source);
    await expect.poll(sources, patience).toContain("push");
    expect(mirror.store.get(code)?.availability).toBe("online");
    simulator.control.setOnline(code, false);
    await expect.poll(() => mirror.store.get(code)?.availability, patience).toBe("offline");
  });
});

it("nothing is opened with platform.push.enabled: false", async () => {
  const simulator = await platformOf({ controllers: 1, pushIntervalMs: 5 });
  const text = ["  push: { enabled: false }", `broker: { port: ${await freePort()} }`, "http: false"].join(
    "\n",
  );
  const { lines } = await bridge(text, simulator);
  await until(() => lines.some((line) => line.includes("the platform answers")), "polls", lines);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(simulator.pushConnections()).toBe(0);
});

describe("while the channels are down", () => {
  it.each(["refuse", "silent", "black_hole"] as const)("polling carries on (%s)", async (mode) => {
    const made = await mirrored({}, "1s");
    made.simulator.control.push(mode);
    made.simulator.control.moveByHand(code, "101", "10010");
    await expect.poll(() => shown(made, "roof")?.state, patience).toBe("open");
    expect(shown(made, "roof")?.source).toBe("poll");
  });

  it("what changed is read as soon as they are open again", async () => {
    const made = await mirrored();
    made.simulator.control.push("refuse");
    await expect.poll(() => made.platform.pushCounters().open, patience).toBe(0);
    made.simulator.control.moveByHand(code, "101", "10010");
    await expect.poll(() => made.platform.pushCounters().failures, patience).toBeGreaterThan(3);
    made.simulator.control.push("normal");
    await expect.poll(() => shown(made, "roof")?.state, patience).toBe("open");
  }, 60_000);
});
