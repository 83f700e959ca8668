import { describe, expect } from "vitest";
import { freePort } from "../support/mosquitto.js";
import { it } from "./support/staged.js";
import { configurationFor, mosquittoSection, type Stage } from "./support/stage.js";
import { fields, until, untilNew, type Watch } from "./support/watch.js";

/* What Home Assistant is told over starts and ends of the bridge. Real Mosquitto, MQTT 5. */

const documents = /^homeassistant\/device\/[^/]+\/config$/;
const house = "homeassistant/device/greenhouse2mqtt_GH-0001/config";
const hasSensors = (payload: string) =>
  payload.includes('"sensor_name_') || payload.includes('"sensor_factor_');
const patientMs = 40_000;

/** Components that a message takes out of Home Assistant. */
const removedBy = (payload: string): readonly string[] =>
  Object.entries((fields(payload)["components"] ?? {}) as Record<string, object>)
    .filter(([, component]) => Object.keys(component).length === 1)
    .map(([key]) => key);

const removedSince = (watch: Watch, mark: number) =>
  watch.seen.slice(mark).flatMap(({ topic, payload }) => (documents.test(topic) ? removedBy(payload) : []));

async function rig(stage: Stage) {
  const broker = await stage.mosquitto();
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const port = await freePort();
  const configuration = configurationFor(`http://127.0.0.1:${port}`, mosquittoSection(broker.url));
  const platform = () => stage.platform({ port });
  const run = async (more: object = {}) => {
    const bridge = await stage.bridge({ ...configuration, ...more });
    return async () => {
      bridge.signal("SIGTERM");
      await bridge.ended;
    };
  };
  return { watch, platform, run };
}

describe.concurrent("announcements", { timeout: 150_000 }, () => {
  it("lose no entity by a restart, neither beside a healthy platform nor while it is away", async ({
    stage,
  }) => {
    const { watch, platform, run } = await rig(stage);
    const first = await platform();
    const stop = await run();
    await until(watch, house, hasSensors, patientMs);
    await stop();
    const restarted = watch.mark();
    const stopAgain = await run();
    await untilNew(watch, restarted, house, hasSensors, patientMs);
    await stopAgain();
    first.program.signal("SIGKILL");
    await first.program.ended;
    const alone = watch.mark();
    const stopAlone = await run();
    await untilNew(watch, alone, "greenhouse/bridge/platform", "unreachable", patientMs);
    await untilNew(watch, alone, house, () => true, patientMs);
    await stopAlone();
    await platform();
    const back = watch.mark();
    await run();
    await untilNew(watch, back, house, hasSensors, patientMs);
    expect(removedSince(watch, restarted)).toEqual([]);
  });

  it("are withdrawn by homeassistant.enabled: false, and those of others stay", async ({ stage }) => {
    const { watch, platform, run } = await rig(stage);
    const stranger = "homeassistant/device/stranger/config";
    const foreign = JSON.stringify({
      device: { identifiers: ["x"] },
      origin: { name: "other" },
      components: {},
    });
    await watch.publish(stranger, foreign, { retain: true });
    await platform();
    const stop = await run();
    await until(watch, house, hasSensors, patientMs);
    await stop();
    await run({ homeassistant: { enabled: false } });
    await watch.untilTrue(
      () => [...watch.current(documents).keys()].join() === stranger,
      "only the other's announcement is left",
      patientMs,
    );
  });

  it("come again at a birth that Home Assistant was told to retain", async ({ stage }) => {
    const { watch, platform, run } = await rig(stage);
    await platform();
    await run();
    await until(watch, house, hasSensors, patientMs);
    const born = watch.mark();
    await watch.publish("homeassistant/status", "online", { retain: true });
    await untilNew(
      watch,
      born,
      "homeassistant/device/greenhouse2mqtt_bridge_greenhouse2mqtt/config",
      () => true,
      patientMs,
    );
  });
});
