import { describe, expect } from "vitest";
import { freePort } from "../support/mosquitto.js";
import { atMosquitto, it, running } from "./support/staged.js";
import { fields, until, untilNew, type Watch } from "./support/watch.js";

/* What Home Assistant is told over starts and ends of the bridge. Real Mosquitto, MQTT 5. */

const documents = /^homeassistant\/device\/[^/]+\/config$/;
const house = "homeassistant/device/greenhouse2mqtt_GH-0001/config";
const hasSensors = (payload: string) =>
  payload.includes('"sensor_name_') || payload.includes('"sensor_factor_');

/** Components that a message takes out of Home Assistant. */
const removedBy = (payload: string): readonly string[] =>
  Object.entries((fields(payload)["components"] ?? {}) as Record<string, object>)
    .filter(([, component]) => Object.keys(component).length === 1)
    .map(([key]) => key);

const removedSince = (watch: Watch, mark: number) =>
  watch.seen.slice(mark).flatMap(({ topic, payload }) => (documents.test(topic) ? removedBy(payload) : []));

describe.concurrent("announcements", { timeout: 150_000 }, () => {
  it("lose no entity by a restart, neither beside a healthy platform nor while it is away", async ({
    stage,
  }) => {
    const port = await freePort();
    const { watch, run } = await atMosquitto(stage, `http://127.0.0.1:${port}`);
    const first = await stage.platform({ port });
    const bridge = await run();
    await until(watch, house, hasSensors);
    await bridge.end("SIGTERM");
    const restarted = watch.mark();
    const again = await run();
    await untilNew(watch, restarted, house, hasSensors);
    await again.end("SIGTERM");
    await first.program.end("SIGKILL");
    const alone = watch.mark();
    const lonely = await run();
    await untilNew(watch, alone, "greenhouse/bridge/platform", "unreachable");
    await untilNew(watch, alone, house, () => true);
    await lonely.end("SIGTERM");
    await stage.platform({ port });
    const back = watch.mark();
    await run();
    await untilNew(watch, back, house, hasSensors);
    expect(removedSince(watch, restarted)).toEqual([]);
  });

  it("are withdrawn by homeassistant.enabled: false, and those of others stay", async ({ stage }) => {
    const { watch, bridge, run } = await running(stage);
    const stranger = "homeassistant/device/stranger/config";
    const foreign = { device: { identifiers: ["x"] }, origin: { name: "other" }, components: {} };
    await watch.publish(stranger, JSON.stringify(foreign), { retain: true });
    await until(watch, house, hasSensors);
    await bridge.end("SIGTERM");
    await run({ homeassistant: { enabled: false } });
    const isAlone = () => [...watch.current(documents).keys()].join() === stranger;
    await watch.untilTrue(isAlone, "only the other's announcement is left");
  });

  it("come again at a birth that Home Assistant was told to retain", async ({ stage }) => {
    const { watch } = await running(stage);
    await until(watch, house, hasSensors);
    const born = watch.mark();
    await watch.publish("homeassistant/status", "online", { retain: true });
    const own = "homeassistant/device/greenhouse2mqtt_bridge_greenhouse2mqtt/config";
    await untilNew(watch, born, own, () => true);
  });
});
