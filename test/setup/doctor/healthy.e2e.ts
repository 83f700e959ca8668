import { connectAsync } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { startBroker } from "../../../src/broker/broker.js";
import type { Configuration } from "../../../src/config/schema.js";
import { DirectoryLock } from "../../../src/journal/lock.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { probeSettings } from "../../../src/setup/doctor/broker-checks.js";
import { BrokerProbe, openProbe } from "../../../src/setup/doctor/broker-probe.js";
import { silentLog } from "../../../src/runtime/log.js";
import { profileNames } from "../../../src/simulator/dialects.js";
import {
  canaries,
  complaints,
  examined,
  folder,
  loaded,
  mosquitto,
  plainConfiguration,
  platform,
} from "./support/bench.js";

const login = { username: "bridge", password: canaries.password };
const acl = [
  "user bridge",
  "topic readwrite greenhouse/#",
  "topic readwrite homeassistant/#",
  "user spy",
  "topic read #",
];
const users = { bridge: canaries.password, spy: "spy" };

/** What a quiet platform and a fresh broker leave to warn of. */
const expectable = /^warning (push\.\S+: opened, but no frame|home_assistant: nothing of Home Assistant)/;

describe("where everything works", () => {
  it.each([5, 4] as const)(
    "nothing is failed, nothing is sent to an actuator, and nothing stays at the broker (MQTT version %i)",
    { timeout: 60_000 },
    async (version) => {
      const simulator = await platform();
      const broker = await mosquitto({ users, acl });
      const home = await folder();
      const spy = await connectAsync(broker.url, { username: "spy", password: "spy", protocolVersion: 5 });
      onTestFinished(() => spy.endAsync(true));
      const seen: string[] = [];
      spy.on("message", (topic) => seen.push(topic));
      await spy.subscribeAsync("#", { qos: 1 });
      const section = plainConfiguration(simulator, { url: broker.url, protocol_version: version, ...login });
      const { findings, of } = await examined(await loaded(section, home));
      const warned = complaints(findings).filter((line) => !expectable.test(line));
      expect(warned).toEqual(version === 5 ? [] : [expect.stringMatching(/^warning broker\.version/)]);
      expect(of("broker.anonymous").summary).toMatch(/refuses clients without a user name/);
      expect(new Set(seen)).toEqual(
        new Set(["greenhouse/bridge/doctor", "homeassistant/device/greenhouse2mqtt_doctor/config"]),
      );
      expect(simulator.control.posts()).toEqual([]);
      const later = await openProbe(
        { url: broker.url, username: "spy", password: "spy", clientId: "later", protocolVersion: 5 },
        systemClock,
        5_000,
      );
      if (!(later instanceof BrokerProbe)) throw new Error(later.reason);
      onTestFinished(() => later.close());
      expect([...(await later.retained(["#"])).keys()]).toEqual([]);
    },
  );

  it(
    "the embedded broker is tried on a port of its own, and the configured one stays free",
    { timeout: 60_000 },
    async () => {
      const simulator = await platform();
      const home = await folder();
      const section = plainConfiguration(
        simulator,
        {},
        { broker: { port: 0, users: [{ username: "ha", password: "plain-canary" }] } },
      );
      const { findings, of } = await examined(await loaded(section, home));
      expect(complaints(findings).filter((line) => !expectable.test(line))).toEqual([]);
      expect(of("broker").summary).toMatch(/embedded broker/);
      expect(of("broker.publish").status).toBe("ok");
      expect(of("broker.retained").status).toBe("ok");
      expect(of("home_assistant").status).toBe("skipped");
    },
  );

  it("a link of the doctor has no will and not the bridge's client id", async () => {
    const simulator = await platform();
    const section = plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1", client_id: "bridge-one" });
    const configuration = await loaded(section, await folder());
    const settings = probeSettings({ configuration }, null);
    expect(Object.keys(settings)).not.toContain("will");
    expect(settings.clientId).toMatch(/^bridge-one-[0-9a-f]{8}$/);
  });

  it(
    "Home Assistant is seen by its status, or by what others announce to it",
    { timeout: 60_000 },
    async () => {
      const simulator = await platform();
      const broker = await mosquitto();
      const client = await connectAsync(broker.url);
      onTestFinished(() => client.endAsync(true));
      const seen = (given: Configuration) => examined(given);
      const configuration = await loaded(plainConfiguration(simulator, { url: broker.url }), await folder());
      await client.publishAsync("homeassistant/sensor/other/config", "{}", { retain: true, qos: 1 });
      expect((await seen(configuration)).of("home_assistant")).toMatchObject({ status: "ok" });
      await client.publishAsync("homeassistant/status", "offline", { retain: true, qos: 1 });
      expect((await seen(configuration)).of("home_assistant")).toMatchObject({ status: "warning" });
      await client.publishAsync("homeassistant/status", "online", { retain: true, qos: 1 });
      expect((await seen(configuration)).of("home_assistant").summary).toMatch(/Home Assistant is online/);
    },
  );

  it("beside a running bridge its embedded broker is used as a guest", { timeout: 60_000 }, async () => {
    const simulator = await platform();
    const running = await startBroker(
      {
        host: "127.0.0.1",
        port: 0,
        users: [],
        topics: { base: "greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" },
      },
      { clock: systemClock, log: silentLog },
    );
    onTestFinished(() => running.close());
    const section = plainConfiguration(simulator, {}, { broker: { port: running.port } });
    const configuration = await loaded(section, await folder());
    const lock = await DirectoryLock.acquire(configuration.data_dir, {
      ...{ boot: "0123456789abcdef", at: new Date().toISOString(), pid: process.pid, log: silentLog },
    });
    onTestFinished(() => lock.release());
    const { findings, of } = await examined(configuration);
    expect(complaints(findings).filter((line) => !expectable.test(line))).toEqual([
      expect.stringMatching(/^warning lock: the data directory is in use/),
    ]);
    expect(of("broker").summary).toMatch(/running bridge lets us in/);
    const rights = ["broker.publish", "broker.subscribe", "broker.announce"].map((check) => of(check).status);
    expect(rights).toEqual(["skipped", "skipped", "skipped"]);
  });
});

describe("shapes", () => {
  it.each(profileNames.filter((name) => name !== "odd"))(
    "of the dialect %s are understood, and its times are plausible",
    { timeout: 60_000 },
    async (profile) => {
      const simulator = await platform({ profile });
      const broker = await mosquitto();
      const section = plainConfiguration(simulator, { url: broker.url });
      const { findings } = await examined(await loaded(section, await folder()));
      const about = findings.filter(({ check }) => check.startsWith("shapes.") || check === "time_zone");
      expect(complaints(about)).toEqual([]);
    },
  );

  it("the line that is recommended for an unknown one makes it understood", { timeout: 60_000 }, async () => {
    const simulator = await platform({ profile: "odd" });
    const broker = await mosquitto();
    const home = await folder();
    const section = plainConfiguration(simulator, { url: broker.url });
    const before = (await examined(await loaded(section, home))).of("shapes.sensor-data");
    const flow = /shapes: (\{.*?\} \} \}) \}/.exec(before.remedy ?? "")?.[1] ?? "";
    const { parse } = await import("yaml");
    const shapes: unknown = parse(flow);
    const again = plainConfiguration(simulator, { url: broker.url }, { platform: { shapes } });
    const { of } = await examined(await loaded(again, home));
    expect(before.status).toBe("failed");
    expect(of("shapes.sensor-data").status).toBe("ok");
    expect(of("time_zone").status).toBe("ok");
  });
});
