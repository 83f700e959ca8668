import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import mqtt from "mqtt";
import { expect, it, onTestFailed, onTestFinished } from "vitest";
import { runBridge } from "../../../src/bridge.js";
import { type Configuration, controllerTopicId } from "../../../src/config/schema.js";
import type { ActuatorKind } from "../../../src/greenhouse/actuator-kinds.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { seededRandom } from "../../../src/runtime/random.js";
import { capturedLog } from "../../mqtt-connection/support.js";
import { running } from "../../simulator/running.js";
import { startMosquitto } from "../../support/mosquitto.js";
import { configuration, greenhouse2mqtt, loadedText } from "./support/account.js";

/* From an account of 50 controllers to commands that its platform confirms, as a grower would go. */

/** A word that no simulated device of the kind shows at its start. */
const words: Partial<Record<ActuatorKind, string>> = {
  skylight: "40",
  shade_curtain: "40",
  side_vent: "40",
  thermal_curtain: "40",
  fan_wet_curtain: "all_on",
  circulation_fan: "on",
  light: "on",
  irrigation: "rotation",
};

/** Commands that are open at the same time. */
const atOnce = 200;

/** Runs the bridge until the test ends; resolves once it is online. A bridge that ends says why, instead of never saying anything. */
async function bridgeOn(found: Configuration, client: mqtt.MqttClient): Promise<void> {
  const end = new AbortController();
  const { log, lines } = capturedLog();
  onTestFailed(() => console.error(lines.slice(-20).join("\n")));
  const parts = { configuration: found, clock: systemClock, random: seededRandom(1), log, version: "test" };
  const bridge = runBridge({ ...parts, setLogLevel: () => undefined }, end.signal);
  bridge.catch(() => undefined);
  onTestFinished(async () => {
    end.abort();
    await bridge;
  });
  const states: string[] = [];
  client.on("message", (topic, payload) => {
    if (topic === "greenhouse/bridge/state") states.push(payload.toString());
  });
  await client.subscribeAsync("greenhouse/bridge/state", { qos: 1 });
  const isOnline = expect.poll(() => states.at(-1), { timeout: 100_000 }).toBe("online");
  await Promise.race([isOnline, bridge.then(() => isOnline)]);
}

/** Sends each actuator its word, no more than some at once, and collects the outcomes by topic. */
async function outcomesOf(
  client: mqtt.MqttClient,
  commands: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const outcomes = new Map<string, string>();
  const waiting = commands.entries();
  const next = () => {
    const { value } = waiting.next();
    if (value !== undefined) client.publish(`${value[0]}/set`, value[1], { qos: 1 });
  };
  client.on("message", (topic, payload) => {
    if (!topic.endsWith("/result")) return;
    const { outcome, reason } = JSON.parse(payload.toString()) as { outcome: string; reason: string | null };
    outcomes.set(topic.replace(/\/result$/, ""), reason === null ? outcome : `${outcome} ${reason}`);
    next();
  });
  await client.subscribeAsync("greenhouse/+/actuator/+/result", { qos: 1 });
  for (let n = 0; n < atOnce; n += 1) next();
  await expect.poll(() => outcomes.size, { timeout: 100_000 }).toBe(commands.size);
  return outcomes;
}

it("what `discover` writes for 50 controllers runs, and every actuator in it confirms a command", async () => {
  const simulator = await running({ controllers: 50, speed: 10 });
  const broker = await startMosquitto();
  onTestFinished(() => broker.stop());
  const more = [
    `mqtt: { url: "${broker.url}" }`,
    "http: false",
    "polling: { sensors: 10m, running_status: 10m, actuators: 10m }",
    // A busy machine must not make commands expire.
    "commands: { max_age: 10m }",
  ].join("\n");
  const config = await configuration(simulator, { more });
  const out = join(dirname(config), "found.yaml");
  expect(await greenhouse2mqtt(["discover", "-c", config, "--out", out])).toMatchObject({ code: 0 });
  expect(await greenhouse2mqtt(["check", out])).toMatchObject({ code: 0 });
  expect(simulator.control.posts()).toEqual([]);
  const text = await readFile(out, "utf8");
  await writeFile(out, text.replace("  read_only: true\n", "  read_only: false\n"));
  const found = await loadedText(await readFile(out, "utf8"));
  const client = await mqtt.connectAsync(broker.url, { protocolVersion: 5 });
  onTestFinished(() => client.endAsync(true));
  await bridgeOn(found, client);
  const commands = new Map(
    Object.entries(found.controllers).flatMap(([code, { actuators }]) =>
      Object.entries(actuators).map(
        ([id, { kind }]) =>
          [`greenhouse/${controllerTopicId(code)}/actuator/${id}`, words[kind] ?? ""] as const,
      ),
    ),
  );
  expect(commands.size).toBe(43 * 11 + 7 * 12);
  const outcomes = await outcomesOf(client, commands);
  expect([...outcomes].filter(([, outcome]) => outcome !== "confirmed")).toEqual([]);
  expect([...outcomes.keys()].sort()).toEqual([...commands.keys()].sort());
}, 120_000);
