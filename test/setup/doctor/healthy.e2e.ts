import { connectAsync } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { startBroker } from "../../../src/broker/broker.js";
import { DirectoryLock } from "../../../src/journal/lock.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { probeSettings } from "../../../src/setup/doctor/broker-checks.js";
import { BrokerProbe, openProbe } from "../../../src/setup/doctor/broker-probe.js";
import { silentLog } from "../../../src/runtime/log.js";
import { profileNames } from "../../../src/simulator/dialects.js";
import {
  complaints,
  examined,
  loaded,
  login,
  mosquitto,
  plainConfiguration,
  platform,
  users,
} from "./support/bench.js";
import { folder } from "../../cli/in-process.js";

const bridgeRights = ["user bridge", "topic readwrite greenhouse/#", "topic readwrite homeassistant/#"];
const broker = { acl: [...bridgeRights, "user spy", "topic read #"], users: { ...users, spy: "spy" } };

/** What a quiet platform and a fresh broker leave to warn of. */
const expectable = /^warning (push\.\S+: opened, but no frame|home_assistant: nothing of Home Assistant)/;

describe("where everything works", { timeout: 60_000 }, () => {
  it.each([5, 4] as const)(
    "nothing is failed, nothing is sent to an actuator, and nothing stays at the broker (MQTT version %i)",
    async (version) => {
      const simulator = await platform();
      const { url } = await mosquitto(broker);
      const spying = { username: "spy", password: "spy", protocolVersion: 5 } as const;
      const spy = await connectAsync(url, spying);
      onTestFinished(() => spy.endAsync(true));
      const seen: string[] = [];
      spy.on("message", (topic) => seen.push(topic));
      await spy.subscribeAsync("#", { qos: 1 });
      const section = plainConfiguration(simulator, { url, protocol_version: version, ...login });
      const { findings, of } = await examined(await loaded(section, await folder()));
      const warned = complaints(findings).filter((line) => !expectable.test(line));
      expect(warned).toEqual(version === 5 ? [] : [expect.stringMatching(/^warning broker\.version/)]);
      expect(of("broker.anonymous").summary).toMatch(/refuses clients without a user name/);
      const tried = ["greenhouse/bridge/doctor", "homeassistant/device/greenhouse2mqtt_doctor/config"];
      expect([...new Set(seen)].sort()).toEqual(tried);
      expect(simulator.control.posts()).toEqual([]);
      const later = await openProbe({ url, clientId: "later", ...spying }, systemClock, 5_000);
      if (!(later instanceof BrokerProbe)) throw new Error(later.reason);
      onTestFinished(() => later.close());
      expect([...(await later.retained(["#"])).keys()]).toEqual([]);
    },
  );

  it("the embedded broker is tried on a port of its own, and the configured one stays free", async () => {
    const given = { broker: { port: 0, users: [{ username: "ha", password: "plain-canary" }] } };
    const section = plainConfiguration(await platform(), {}, given);
    const { findings, of } = await examined(await loaded(section, await folder()));
    expect(complaints(findings).filter((line) => !expectable.test(line))).toEqual([]);
    expect(of("broker").summary).toMatch(/embedded broker/);
    const statuses = ["broker.publish", "broker.retained", "home_assistant"].map((check) => of(check).status);
    expect(statuses).toEqual(["ok", "ok", "skipped"]);
  });

  it("a link of the doctor has no will and not the bridge's client id", async () => {
    const given = { url: "mqtt://127.0.0.1:1", client_id: "bridge-one" };
    const configuration = await loaded(plainConfiguration(await platform(), given), await folder());
    const settings = probeSettings({ configuration }, null);
    expect(Object.keys(settings)).not.toContain("will");
    expect(settings.clientId).toMatch(/^bridge-one-[0-9a-f]{8}$/);
  });

  it("Home Assistant is seen by its status, or by what others announce to it", async () => {
    const { url } = await mosquitto();
    const client = await connectAsync(url);
    onTestFinished(() => client.endAsync(true));
    const configuration = await loaded(plainConfiguration(await platform(), { url }), await folder());
    const seenAfter = async (topic: string, payload: string) => {
      await client.publishAsync(`homeassistant/${topic}`, payload, { retain: true, qos: 1 });
      const { status, summary } = (await examined(configuration)).of("home_assistant");
      return `${status} ${summary}`;
    };
    expect(await seenAfter("sensor/other/config", "{}")).toMatch(/^ok /);
    expect(await seenAfter("status", "offline")).toMatch(/^warning /);
    expect(await seenAfter("status", "online")).toMatch(/^ok Home Assistant is online/);
  });

  it("beside a running bridge its embedded broker is used as a guest", async () => {
    const topics = { base: "greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" };
    const settings = { host: "127.0.0.1", port: 0, users: [], topics };
    const running = await startBroker(settings, { clock: systemClock, log: silentLog });
    onTestFinished(() => running.close());
    const section = plainConfiguration(await platform(), {}, { broker: { port: running.port } });
    const configuration = await loaded(section, await folder());
    const at = new Date().toISOString();
    const holder = { boot: "0123456789abcdef", at, pid: process.pid, log: silentLog };
    const lock = await DirectoryLock.acquire(configuration.data_dir, holder);
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

describe("shapes", { timeout: 60_000 }, () => {
  it.each(profileNames.filter((name) => name !== "odd"))(
    "of the dialect %s are understood, and its times are plausible",
    async (profile) => {
      const section = plainConfiguration(await platform({ profile }), { url: (await mosquitto()).url });
      const { findings } = await examined(await loaded(section, await folder()));
      const about = findings.filter(({ check }) => check.startsWith("shapes.") || check === "time_zone");
      expect(complaints(about)).toEqual([]);
    },
  );

  it("the line that is recommended for an unknown one makes it understood", async () => {
    const simulator = await platform({ profile: "odd" });
    const { url } = await mosquitto();
    const home = await folder();
    const withShapes = async (shapes: unknown) =>
      examined(await loaded(plainConfiguration(simulator, { url }, { platform: { shapes } }), home));
    const before = (await withShapes({})).of("shapes.sensor-data");
    const flow = /shapes: (\{.*?\} \} \}) \}/.exec(before.remedy ?? "")?.[1] ?? "";
    const { of } = await withShapes(parse(flow));
    expect(before.status).toBe("failed");
    expect([of("shapes.sensor-data").status, of("time_zone").status]).toEqual(["ok", "ok"]);
  });
});
