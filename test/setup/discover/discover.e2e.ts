import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { controllerTopicId } from "../../../src/settings/controllers.js";
import type { ActuatorKind } from "../../../src/greenhouse/actuator-kinds.js";
import { brokerAndClient, bridge } from "../../bridge/support/bridge.js";
import { tempFolder, until } from "../../mqtt-connection/support.js";
import { running } from "../../simulator/running.js";
import {
  configuration,
  flushes,
  greenhouse2mqtt,
  isFlush,
  loadedText,
  watched,
  type WatchedPlatform,
  writes,
} from "./support/account.js";

const progressOf = (config: string) => join(dirname(config), "data", "discover-progress.json");

/** A platform of so many controllers on which every request is seen, and a configuration that leads to it. */
async function account(controllers: number, more: Parameters<typeof configuration>[1] = {}) {
  const simulator = await running({ controllers, mix: "C001" });
  const platform = await watched(simulator);
  return { simulator, platform, config: await configuration(platform, more) };
}

/** Runs `discover` and stops it, as Ctrl-C would, as soon as the platform is asked for so many more flushes. */
async function stoppedAfter(count: number, config: string, platform: WatchedPlatform) {
  const stop = new AbortController();
  let left = count;
  platform.onRequest = (seen) => {
    if (isFlush(seen) && --left === 0) stop.abort();
  };
  const ended = await greenhouse2mqtt(["discover", "-c", config], { stop: stop.signal });
  platform.onRequest = () => undefined;
  return ended;
}

describe("an interrupted scan", { timeout: 60_000 }, () => {
  it("goes on where it was, however often: no request is made twice, and the file is whole", async () => {
    const { simulator, platform, config } = await account(6);
    for (const count of [5, 1, 25]) await stoppedAfter(count, config, platform);
    const stopped = await stoppedAfter(9, config, platform);
    expect(stopped).toMatchObject({ code: 1, out: "" });
    expect(stopped.err).toContain("run the same command again to go on");
    expect(stopped.err).not.toContain("requests");
    expect((await stat(progressOf(config))).mode & 0o777).toBe(0o600);
    const resumed = await greenhouse2mqtt(["discover", "-c", config], { terminal: "stderr" });
    expect(resumed.code).toBe(0);
    expect(existsSync(progressOf(config))).toBe(false);
    expect(resumed.err).toMatch(/\d+ of 198 are known from an interrupted scan/);
    expect(simulator.control.requests()).toEqual({
      "control/mqtt": 1,
      device: 2,
      station: 1,
      "sensor-data": 6,
      device_status: 6,
      "set-value/flush": 6 * 31,
    });
    const { controllers } = await loadedText(resumed.out);
    const found = Object.values(controllers).map(({ actuators }) => Object.keys(actuators).length);
    expect(found).toEqual([11, 11, 11, 11, 11, 11]);
  });

  it("--fresh forgets it", async () => {
    const { simulator, platform, config } = await account(2);
    await stoppedAfter(20, config, platform);
    const before = flushes(simulator);
    await greenhouse2mqtt(["discover", "-c", config, "--fresh"]);
    expect(flushes(simulator)).toBe(before + 2 * 31);
  });

  it("a stop while the platform hangs ends within seconds, and nothing was sent but reads", async () => {
    const { simulator, platform, config } = await account(2);
    simulator.control.fault({ fault: "timeout", operation: "set-value/flush", chance: 1 });
    const { code } = await stoppedAfter(2, config, platform);
    expect(code).toBe(1);
    expect(writes(simulator)).toEqual([]);
  });
});

it(
  "--listen writes what was moved meanwhile beside what the scan found, and sends nothing",
  { timeout: 60_000 },
  async () => {
    const simulator = await running({ controllers: 1, mix: "C001", pushIntervalMs: 20 });
    const config = await configuration(simulator);
    const stop = new AbortController();
    let said = "";
    const listening = greenhouse2mqtt(["discover", "-c", config, "--listen"], {
      stop: stop.signal,
      said: (text) => (said += text),
    });
    await until(() => simulator.pushConnections() > 1, "listening");
    simulator.control.moveByHand("GH-0001", "310", "1010");
    simulator.control.moveByHand("GH-0001", "300", "00000001");
    await until(() => said.includes("310") && said.includes("300"), "heard");
    stop.abort();
    const { code, out, err } = await listening;
    expect(code).toBe(0);
    expect(err).toMatch(/GH-0001 address 310: 1010, looks like a machine/);
    const { actuators } = (await loadedText(out)).controllers["GH-0001"] ?? {};
    expect(actuators?.["machine_310"]?.kind).toBe("machine");
    expect(actuators?.["motor_300"]?.values).toEqual({ word_1: "00000001", stop: "00000100" });
    expect(Object.keys(actuators ?? {})).toHaveLength(13);
    expect(writes(simulator)).toEqual([]);
    const lonely = await greenhouse2mqtt(["discover", "-c", config, "--for", "1s"]);
    expect([lonely.code, lonely.err]).toEqual([2, expect.stringContaining("--listen")]);
  },
);

describe("controllers that do not answer", { timeout: 60_000 }, () => {
  it("one that is offline is not asked for addresses, is named, and is all that the next scan asks for", async () => {
    const { simulator, config } = await account(3);
    simulator.control.setOnline("GH-0002", false);
    const first = await greenhouse2mqtt(["discover", "-c", config]);
    expect(first.code).toBe(0);
    expect(first.err).toContain("not connected: GH-0002");
    expect(first.out).toMatch(
      /GH-0002:\n(?: {4}# .*\n)*? {4}# not connected, so its addresses could not be read/,
    );
    expect((await loadedText(first.out)).controllers["GH-0002"]?.actuators).toEqual({});
    expect(flushes(simulator)).toBe(2 * 31);
    expect(simulator.control.requests()["mqtt-client-status"]).toBe(1);
    simulator.control.setOnline("GH-0002", true);
    const next = await greenhouse2mqtt(["discover", "-c", config]);
    expect(flushes(simulator)).toBe(3 * 31);
    expect(Object.keys((await loadedText(next.out)).controllers["GH-0002"]?.actuators ?? {})).toHaveLength(
      11,
    );
    expect(existsSync(progressOf(config))).toBe(false);
  });

  it("one that goes offline during the scan is not taken for one without addresses", async () => {
    const { simulator, platform, config } = await account(1);
    await stoppedAfter(10, config, platform);
    simulator.control.setOnline("GH-0001", false);
    const during = await greenhouse2mqtt(["discover", "-c", config]);
    expect(during.err).toContain("not connected: GH-0001");
    simulator.control.setOnline("GH-0001", true);
    const { out } = await greenhouse2mqtt(["discover", "-c", config]);
    expect(Object.keys((await loadedText(out)).controllers["GH-0001"]?.actuators ?? {})).toHaveLength(11);
  });

  it("a type the platform refuses is asked once, and said in a comment", async () => {
    const simulator = await running({ controllers: 1, mix: "C001" });
    const refusal = { operation: "set-value/flush", code: 400, message: "无此类型" } as const;
    simulator.control.fault({ fault: "body_code", ...refusal });
    const { code, out } = await greenhouse2mqtt(["discover", "-c", await configuration(simulator)]);
    expect(code).toBe(0);
    expect(out).toContain("# refused by the platform with code 400 无此类型: type 2");
    expect(flushes(simulator)).toBe(31);
    expect(simulator.control.requests()["mqtt-client-status"]).toBe(1);
  });

  it("a platform that answers no more ends the scan with its reason; what is known is kept", async () => {
    const { simulator, config } = await account(4);
    simulator.control.fault({ fault: "unauthorized", operation: "set-value/flush", chance: 1 });
    const ended = await greenhouse2mqtt(["discover", "-c", config]);
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("the scan ended early");
    await simulator.control.clearFaults();
    expect(await greenhouse2mqtt(["discover", "-c", config])).toMatchObject({ code: 0 });
    expect(simulator.control.requests()["control/mqtt"]).toBe(1);
  });

  it("an unreadable list of controllers ends it with exit code 1 and the platform's reason", async () => {
    const simulator = await running({ controllers: 1 });
    simulator.control.fault({ fault: "body_code", operation: "control/mqtt", code: 403, chance: 1 });
    const ended = await greenhouse2mqtt(["discover", "-c", await configuration(simulator)]);
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("GET /api/control/mqtt");
  });

  it("without the lists of devices and stations the controllers are still found", async () => {
    const simulator = await running({ controllers: 1 });
    for (const operation of ["device", "station"] as const)
      simulator.control.fault({ fault: "body_code", operation, code: 500, chance: 1 });
    const { code, out, err } = await greenhouse2mqtt(["discover", "-c", await configuration(simulator)]);
    expect(code).toBe(0);
    expect(err).toContain("going on without a list");
    expect(Object.keys((await loadedText(out)).controllers)).toEqual(["GH-0001"]);
  });
});

describe("what is asked", { timeout: 60_000 }, () => {
  it("--controller and --types ask for no more than that", async () => {
    const simulator = await running({ controllers: 5 });
    const config = await configuration(simulator);
    const chosen = ["--controller", "gh-0001", "--controller", "FM-0002", "--types", "2,190-191"];
    const { code, out } = await greenhouse2mqtt(["discover", "-c", config, ...chosen]);
    expect(code).toBe(0);
    const { controllers } = await loadedText(out);
    const found = Object.entries(controllers).map(([name, { actuators }]) => [name, Object.keys(actuators)]);
    expect(found).toEqual([
      ["FM-0002", ["irrigation_plan_1", "irrigation_plan_2"]],
      ["GH-0001", ["left_skylight", "irrigation_plan_1", "irrigation_plan_2"]],
    ]);
    expect(flushes(simulator)).toBe(2 * 3);
  });

  it("a controller the account does not have is a usage error that names it", async () => {
    const simulator = await running({ controllers: 1 });
    const config = await configuration(simulator);
    const ended = await greenhouse2mqtt(["discover", "-c", config, "--controller", "GH-0099"]);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain("GH-0099");
    expect(flushes(simulator)).toBe(0);
  });

  it.each([
    ["--types", "x"],
    ["--types", ""],
    ["--unknown", "1"],
  ])("%s %j is a usage error", async (...wrong) => {
    expect(await greenhouse2mqtt(["discover", ...wrong])).toMatchObject({ code: 2, out: "" });
  });
});

describe("politeness", { timeout: 60_000 }, () => {
  it("a device is asked one thing after the other, and no more devices at once than configured", async () => {
    const { platform, config } = await account(6, { platform: "  requests_per_minute: 0\n  concurrency: 2" });
    await greenhouse2mqtt(["discover", "-c", config]);
    const codes = platform.seen
      .filter(isFlush)
      .map(({ target }) => new URL(target, "http://x").searchParams.get("deviceCode"));
    const open = new Set<string | null>();
    const left = new Map<string | null, number>();
    for (const code of codes) {
      open.add(code);
      left.set(code, (left.get(code) ?? 31) - 1);
      expect(open.size).toBeLessThanOrEqual(2);
      if (left.get(code) === 0) open.delete(code);
    }
    expect([...left.values()]).toEqual(Array.from({ length: 6 }, () => 0));
  });
});

/* From an account to commands that its platform confirms, as a grower would go. */

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

it("what `discover` writes runs, and every actuator in it confirms a command", async () => {
  const simulator = await running({ controllers: 8, speed: 10 });
  const { url, texts, json, say } = await brokerAndClient();
  // A busy machine must not make commands expire.
  const more = [`mqtt: { url: "${url}" }`, "http: false", "commands: { max_age: 10m }"].join("\n");
  const { code, out } = await greenhouse2mqtt(["discover", "-c", await configuration(simulator, { more })]);
  expect([code, simulator.control.posts()]).toEqual([0, []]);
  const found = await loadedText(out.replace("  read_only: true\n", "  read_only: false\n"));
  await bridge("http: false", simulator, { configuration: { ...found, data_dir: await tempFolder() } });
  await until(() => texts("greenhouse/bridge/state").at(-1) === "online", "online");
  const actuators = Object.entries(found.controllers).flatMap(([code, { actuators }]) =>
    Object.entries(actuators).map(
      ([id, { kind }]) =>
        [`greenhouse/${controllerTopicId(code)}/actuator/${id}`, words[kind] ?? ""] as const,
    ),
  );
  expect(actuators.length).toBeGreaterThan(80);
  for (const [topic, word] of actuators) await say(`${topic}/set`, word);
  await until(() => actuators.every(([topic]) => json(`${topic}/result`).length > 0), "all answered");
  const outcomes = actuators.map(([topic]) => json(`${topic}/result`)[0]?.["outcome"]);
  expect(new Set(outcomes)).toEqual(new Set(["confirmed"]));
}, 120_000);
