import { describe, expect } from "vitest";
import { answersOnce } from "../support/first-words.js";
import { freePort } from "../support/mosquitto.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { mosquittoSection } from "./support/stage.js";
import { airtemp, atMosquitto, it, running } from "./support/staged.js";
import { fields, seenOn, until, untilEvent, type Watch } from "./support/watch.js";

/* What becomes of the mirror when a part of its surroundings is missing, dies or comes back. Real Mosquitto, MQTT 5. */

const platformTopic = "greenhouse/bridge/platform";
const stateTopic = "greenhouse/bridge/state";
const nowhere = async () => `http://127.0.0.1:${await freePort()}`;

const retain = async (watch: Watch, topics: Readonly<Record<string, string>>) => {
  for (const [topic, payload] of Object.entries(topics))
    await watch.publish(topic, payload, { retain: true });
};

describe.concurrent("starting", { timeout: 120_000 }, () => {
  it("starts without a platform, says unreachable, and shows values within 60 s of its coming", async ({
    stage,
  }) => {
    const port = await freePort();
    const { watch, run } = await atMosquitto(stage, `http://127.0.0.1:${port}`);
    await run();
    await until(watch, stateTopic, "online");
    await until(watch, platformTopic, "unreachable", 35_000);
    await stage.platform({ port });
    await until(watch, `${airtemp}/quality`, "good", 60_000);
    // Until the other host's turn to be tried has come it is degraded.
    await until(watch, platformTopic, "online", 60_000);
  });

  it("starts without a broker and publishes everything once one comes", async ({ stage }) => {
    const platform = await stage.platform();
    const { broker, watch, run } = await atMosquitto(stage, platform.url);
    await broker.kill();
    const bridge = await run();
    await platform.untilAsked("sensor-data", 10, 20_000);
    await broker.restart();
    await until(watch, stateTopic, "online", 35_000);
    await until(watch, `${airtemp}/quality`, "good", 10_000);
    expect(bridge.hasEnded).toBe(false);
  });

  it("says online only after the broker acknowledged its command subscriptions, and good only after a value", async ({
    stage,
  }) => {
    const { watch, broker } = await running(stage, {}, { verbose: true });
    const lines = broker.log().split("\n");
    const at = (part: RegExp) => lines.findIndex((line) => part.test(line));
    const online = at(/Received PUBLISH from greenhouse2mqtt .*'greenhouse\/bridge\/state'/);
    const acknowledged = at(/Sending SUBACK to greenhouse2mqtt/);
    expect(acknowledged).toBeGreaterThan(0);
    expect(online).toBeGreaterThan(acknowledged);
    for (const filter of ["+/actuator/+/set", "+/parameter/+/set", "+/address/+/set", "bridge/request/+"]) {
      const subscribed = lines.findIndex((line) => line.includes(`greenhouse/${filter} (QoS`));
      expect(subscribed, filter).toBeGreaterThan(0);
      expect(subscribed, filter).toBeLessThan(online);
    }
    const good = seenOn(watch, `${airtemp}/quality`).find(({ payload }) => payload === "good");
    expect(seenOn(watch, airtemp)[0]?.index).toBeLessThan(good?.index ?? 0);
  });

  it("falls back to MQTT 3.1.1 where the broker refuses 5", async ({ stage }) => {
    // As brokers of before MQTT 5 answer; the connection after that meets one that takes both.
    const refusing = stage.keep(
      await answersOnce(() => {
        door.target(broker.port);
        return Buffer.from([0x20, 0x02, 0x00, 0x01]);
      }),
    );
    const door = stage.keep(await startTcpProxy(refusing.port));
    const platform = await stage.platform();
    const { broker, watch, run } = await atMosquitto(stage, platform.url);
    await run(mosquittoSection(`mqtt://127.0.0.1:${door.port}`, 5));
    await until(watch, stateTopic, "online");
    const { mqtt } = fields(await until(watch, "greenhouse/bridge/info", (text) => text !== ""));
    expect(mqtt).toEqual({ version: "3.1.1", because: "the broker refuses MQTT 5" });
    expect(refusing.met()).toBe(1);
  });
});

describe.concurrent("ending", { timeout: 120_000 }, () => {
  it("is said offline by the broker when the process is killed", async ({ stage }) => {
    const { watch, bridge, look } = await running(stage);
    bridge.signal("SIGKILL");
    await until(watch, stateTopic, "offline", 10_000);
    await until(await look(), stateTopic, "offline", 5_000);
  });

  it.for(["SIGTERM", "SIGINT"] as const)(
    "ends within 10 s with code 0 on %s, also without platform and broker",
    async (signal, { stage }) => {
      const { broker, run } = await atMosquitto(stage, await nowhere());
      await broker.kill();
      const bridge = await run();
      await expect
        .poll(() => bridge.stderr.split("\n").length, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(4);
      const start = performance.now();
      expect(await bridge.end(signal)).toMatchObject({ code: 0 });
      expect(performance.now() - start).toBeLessThan(10_000);
    },
  );
});

describe.concurrent("a broker that comes back", { timeout: 120_000 }, () => {
  it("gets everything again after it lost its retained messages", async ({ stage }) => {
    const { watch, platform, broker, look } = await running(stage);
    const isAll = (topic: string) =>
      !/\/(bridge\/(event|response|self_test|mark|health$)|command)/.test(topic);
    const devices = (await platform.codes()).length + 1;
    const isAnnounced = () => watch.current(/^homeassistant\/device\//).size === devices;
    await watch.untilTrue(isAnnounced, "every device is announced");
    await platform.untilAsked("device_status", 15, 20_000);
    const topics = [...watch.current(/^(greenhouse|homeassistant)\//).keys()].filter(isAll);
    await watch.end();
    await broker.restart();
    const after = await look();
    await until(after, stateTopic, "online", 35_000);
    const missing = () => topics.filter((topic) => (after.latest(topic) ?? "") === "");
    await after.untilTrue(() => missing().length === 0, "every topic is back", 20_000).catch(() => undefined);
    expect(missing()).toEqual([]);
    await until(after, `${airtemp}/quality`, "good", 10_000);
  });

  it("gets the newest state only, not what changed while it was away", async ({ stage }) => {
    const { watch, platform, broker, look } = await running(stage);
    await watch.end();
    await broker.kill();
    for (const value of [18.1, 18.2, 18.3]) {
      await platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value });
      await platform.untilAsked("sensor-data", 14, 20_000);
    }
    await broker.restart();
    const after = await look();
    await until(after, airtemp, "18.3", 35_000);
    const shown = seenOn(after, airtemp).map(({ payload }) => payload);
    expect(shown.filter((payload) => ["18.1", "18.2"].includes(payload))).toEqual([]);
  });
});

describe.concurrent("what an earlier run left at the broker", { timeout: 120_000 }, () => {
  /** Within 5 s of the bridge's being online. */
  const isStaleSoon = async (watch: Watch, sensor: string) => {
    const online = seenOn(watch, stateTopic).at(-1)?.atMs ?? 0;
    await until(watch, `${sensor}/quality`, "stale", 6_000);
    expect((seenOn(watch, `${sensor}/quality`).at(-1)?.atMs ?? 0) - online).toBeLessThan(5_000);
  };

  it("is stale within 5 s of online where it has not been read again, and is not cleared", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const { watch, run } = await atMosquitto(stage, platform.url);
    const [gone, away] = ["greenhouse/gh-0001/sensor/gone", "greenhouse/gh-9999/sensor/airtemp"] as const;
    await retain(watch, {
      ...{ [gone]: "21.5", [`${gone}/quality`]: "good", [`${gone}/json`]: '{"value":21.5,"quality":"good"}' },
      ...{ [away]: "19", [`${away}/quality`]: "good", "greenhouse/gh-9999/availability": "online" },
    });
    await run();
    await until(watch, stateTopic, "online");
    for (const sensor of [gone, away]) await isStaleSoon(watch, sensor);
    await until(watch, `${gone}/json`, (text) => fields(text)["quality"] === "stale", 5_000);
    await until(watch, `${airtemp}/quality`, "good", 15_000);
    await platform.untilAsked("control/mqtt", 3, 10_000);
    for (const topic of [gone, away]) expect(watch.latest(topic), topic).not.toBe("");
  });

  it("is stale within 5 s of online also while the platform is gone, for sensors that are still there", async ({
    stage,
  }) => {
    const { watch, run } = await atMosquitto(stage, await nowhere());
    await retain(watch, { [airtemp]: "21.5", [`${airtemp}/quality`]: "good" });
    await run();
    await until(watch, stateTopic, "online");
    await isStaleSoon(watch, airtemp);
    expect(watch.latest(airtemp)).toBe("21.5");
  });

  it("is cleared where the configuration no longer wants it; foreign topics and announcements stay", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const { watch, run } = await atMosquitto(stage, platform.url);
    const component = { platform: "sensor", unique_id: "y_a", state_topic: "second/gh-0001/sensor/a" };
    const device = (id: string, origin: string, components: object) =>
      JSON.stringify({ device: { identifiers: [id], name: id }, origin: { name: origin }, components });
    const foreign = {
      "greenhouse/notes/from-me": "keep",
      "other/gh-0001/actuator/old/state": "open",
      "homeassistant/device/stranger/config": device("x", "zigbee2mqtt", {}),
      "homeassistant/device/sibling/config": device("y", "greenhouse2mqtt", { a: component }),
    };
    const old = ["state", "value", "json"].map((leaf) => [`greenhouse/gh-0001/actuator/old/${leaf}`, "open"]);
    const ours = { ...(Object.fromEntries(old) as Record<string, string>), "greenhouse/gh-0003/info": "{}" };
    await retain(watch, { ...foreign, ...ours });
    await run({ controllers: { "GH-0003": { ignore: true } } });
    for (const topic of Object.keys(ours)) await until(watch, topic, "");
    expect([...watch.current(/^greenhouse\/gh-0003\//).keys()]).toEqual([]);
    await platform.untilAsked("control/mqtt", 3, 10_000);
    for (const [topic, payload] of Object.entries(foreign)) expect(watch.latest(topic), topic).toBe(payload);
  });

  it("is cleared of a controller that mirror: listed leaves out; a weather topic below the base stays", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const { watch, run } = await atMosquitto(stage, platform.url);
    const weather = { "greenhouse/weather/wind": "3.5" };
    const ours = { "greenhouse/gh-0003/info": "{}", "greenhouse/gh-0003/sensor/a/quality": "good" };
    await retain(watch, { ...weather, ...ours });
    await run({ mirror: "listed", controllers: { "GH-0001": {} } });
    for (const topic of Object.keys(ours)) await until(watch, topic, "");
    await until(watch, airtemp, (payload) => payload !== "");
    expect(watch.latest("greenhouse/weather/wind")).toBe("3.5");
  });
});

describe.concurrent("half a platform", { timeout: 120_000 }, () => {
  it("is degraded while only the business host is gone, and goes on reading", async ({ stage }) => {
    const { watch, platform } = await running(stage);
    await platform.tell("host_down", { host: "business" });
    await until(watch, platformTopic, "degraded", 35_000);
    await platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value: 30.3 });
    await until(watch, airtemp, "30.3", 10_000);
    expect(watch.latest(`${airtemp}/quality`)).toBe("good");
    await platform.tell("host_up", { host: "business" });
    await until(watch, platformTopic, "online", 60_000);
  });

  it("is unauthorized while the token is refused, tells so once, and recovers by itself", async ({
    stage,
  }) => {
    const { watch, platform, configuration } = await running(stage);
    const mark = watch.mark();
    await platform.tell("expire_tokens");
    await until(watch, platformTopic, "unauthorized", 35_000);
    await untilEvent(watch, mark, "unauthorized", 5_000);
    await platform.tell("accept_token", { token: (configuration["platform"] as { token: string }).token });
    await until(watch, platformTopic, "online", 60_000);
    const told = seenOn(watch, "greenhouse/bridge/event").filter(
      ({ index, payload }) => index >= mark && fields(payload)["type"] === "unauthorized",
    );
    expect(told).toHaveLength(1);
  });

  it("hanging without an answer is unreachable too, with everything stale, and recovers", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const { watch, configuration, run } = await atMosquitto(stage, platform.url);
    const section = configuration["platform"] as Record<string, unknown>;
    await run({ platform: { ...section, timeouts: { connect: "1s", read: "2s" } } });
    await until(watch, `${airtemp}/quality`, "good");
    await platform.tell("host_down", { host: "both", how: "hang" });
    await until(watch, platformTopic, "unreachable", 35_000);
    const isStale = () =>
      [...watch.current(/^greenhouse\/[^/]+\/sensor\/[^/]+\/quality$/).values()].every(
        (one) => one === "stale",
      );
    await watch.untilTrue(isStale, "everything is stale", 6_000);
    await platform.tell("host_up", { host: "both" });
    await until(watch, platformTopic, "online", 60_000);
    await until(watch, `${airtemp}/quality`, "good", 20_000);
  });
});
