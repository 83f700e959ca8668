import { describe, expect } from "vitest";
import { freePort } from "../support/mosquitto.js";
import { oldBroker } from "./support/old-broker.js";
import { containing } from "./support/expected.js";
import { configurationFor, mosquittoSection, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { fields, seenOn, until, untilNew, type Watch } from "./support/watch.js";

/* What becomes of the mirror when a part of its surroundings is missing, dies or comes back. Real Mosquitto, MQTT 5. */

const qualities = /^greenhouse\/[^/]+\/sensor\/[^/]+\/quality$/;
const airtemp = "greenhouse/gh-0001/sensor/airtemp";

const watchAt = (stage: Stage, url: string) => stage.watch({ url, protocolVersion: 5 });

const ready = async (watch: Watch) => {
  await until(watch, "greenhouse/bridge/state", "online", 20_000);
  await until(watch, `${airtemp}/quality`, "good", 20_000);
};

describe.concurrent("starting", { timeout: 120_000 }, () => {
  it("starts without a platform, says unreachable, and shows values within 60 s of its coming", async ({
    stage,
  }) => {
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const port = await freePort();
    await stage.bridge(configurationFor(`http://127.0.0.1:${port}`, mosquittoSection(broker.url)));
    await until(watch, "greenhouse/bridge/state", "online", 20_000);
    await until(watch, "greenhouse/bridge/platform", "unreachable", 35_000);
    await stage.platform({ port });
    await until(watch, `${airtemp}/quality`, "good", 60_000);
    // Until the other host's turn to be tried has come it is degraded.
    await until(watch, "greenhouse/bridge/platform", "online", 60_000);
  });

  it("starts with a platform whose name does not resolve and stays up", async ({ stage }) => {
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const bridge = await stage.bridge(
      configurationFor("https://platform.invalid", mosquittoSection(broker.url)),
    );
    await until(watch, "greenhouse/bridge/platform", "unreachable", 35_000);
    expect(bridge.hasEnded).toBe(false);
    bridge.signal("SIGTERM");
    expect(await bridge.ended).toMatchObject({ code: 0 });
  });

  it("starts without a broker and publishes everything once one comes", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    await broker.kill();
    const bridge = await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await platform.untilAsked("sensor-data", 10, 20_000);
    await broker.restart();
    const watch = await watchAt(stage, broker.url);
    await until(watch, "greenhouse/bridge/state", "online", 35_000);
    await until(watch, `${airtemp}/quality`, "good", 10_000);
    expect(bridge.hasEnded).toBe(false);
  });

  it("says online only after the broker acknowledged its command subscriptions", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto({ verbose: true });
    const watch = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(watch);
    const lines = broker.log().split("\n");
    const at = (part: RegExp) => lines.findIndex((line) => part.test(line));
    const online = at(/Received PUBLISH from greenhouse2mqtt .*'greenhouse\/bridge\/state'/);
    const acknowledged = at(/Sending SUBACK to greenhouse2mqtt/);
    expect(acknowledged).toBeGreaterThan(0);
    expect(online).toBeGreaterThan(acknowledged);
    for (const filter of [
      ...["greenhouse/+/actuator/+/set", "greenhouse/+/parameter/+/set"],
      ...["greenhouse/+/address/+/set", "greenhouse/bridge/request/+"],
    ]) {
      const subscribed = lines.findIndex((line) => line.includes(`${filter} (QoS`));
      expect(subscribed, filter).toBeGreaterThan(0);
      expect(subscribed, filter).toBeLessThan(online);
    }
  });

  it("publishes a value before its quality says good, from the first reading on", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(watch);
    const good = seenOn(watch, `${airtemp}/quality`).find(({ payload }) => payload === "good");
    expect(seenOn(watch, airtemp)[0]?.index).toBeLessThan(good?.index ?? 0);
  });

  it("falls back to MQTT 3.1.1 where the broker refuses 5", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const old = await oldBroker(broker.port);
    try {
      const watch = await watchAt(stage, broker.url);
      await stage.bridge(configurationFor(platform.url, mosquittoSection(`mqtt://127.0.0.1:${old.port}`, 5)));
      await ready(watch);
      expect(old.levels[0]).toBe(5);
      expect(old.levels.at(-1)).toBe(4);
      const info = JSON.parse(watch.latest("greenhouse/bridge/info") ?? "{}") as Record<string, unknown>;
      expect(info["mqtt"]).toEqual({ version: "3.1.1", because: "the broker refuses MQTT 5" });
    } finally {
      await old.close();
    }
  });
});

describe.concurrent("ending", { timeout: 120_000 }, () => {
  it("is said offline by the broker when the process is killed", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const bridge = await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(watch);
    bridge.signal("SIGKILL");
    await until(watch, "greenhouse/bridge/state", "offline", 10_000);
    const late = await watchAt(stage, broker.url);
    await until(late, "greenhouse/bridge/state", "offline", 5_000);
  });

  it("ends within 10 s with code 0 on SIGTERM and SIGINT, also without platform and broker", async ({
    stage,
  }) => {
    const [platform, broker] = [await freePort(), await freePort()];
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const bridge = await stage.bridge(
        configurationFor(`http://127.0.0.1:${platform}`, mosquittoSection(`mqtt://127.0.0.1:${broker}`)),
      );
      await new Promise<void>((resolve) => {
        const look = setInterval(() => {
          if (bridge.stderr.split("\n").length < 4) return;
          clearInterval(look);
          resolve();
        }, 50);
      });
      const start = performance.now();
      bridge.signal(signal);
      expect(await bridge.ended, signal).toMatchObject({ code: 0 });
      expect(performance.now() - start).toBeLessThan(10_000);
    }
  });

  it("does not let a second bridge on the same data directory run: exit 1", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(watch);
    const second = stage.program(["run"]);
    const late = setTimeout(() => second.signal("SIGKILL"), 8_000);
    const { code, stderr } = await second.ended;
    clearTimeout(late);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: containing("data") });
  });
});

describe.concurrent("a broker that comes back", { timeout: 120_000 }, () => {
  it("gets everything again after it lost its retained messages", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const before = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(before);
    const isAll = (topic: string) =>
      !/\/(bridge\/(event|response|self_test|mark)|command)/.test(topic) &&
      !/^greenhouse\/bridge\/health$/.test(topic);
    const devices = (await platform.codes()).length + 1;
    await before.untilTrue(
      () => before.current(/^homeassistant\/device\//).size === devices,
      "every device is announced",
      20_000,
    );
    await platform.untilAsked("device_status", 15, 20_000);
    const topics = [...before.current(/^(greenhouse|homeassistant)\//).keys()].filter(isAll);
    await before.end();
    await broker.kill();
    await broker.restart();
    const after = await watchAt(stage, broker.url);
    await until(after, "greenhouse/bridge/state", "online", 35_000);
    await after
      .untilTrue(
        () => topics.every((topic) => (after.latest(topic) ?? "") !== ""),
        "every topic is back",
        20_000,
      )
      .catch(() => undefined);
    expect(topics.filter((topic) => (after.latest(topic) ?? "") === "")).toEqual([]);
    await until(after, `${airtemp}/quality`, "good", 10_000);
  });

  it("gets the newest state only, not what changed while it was away", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const before = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(before);
    await before.end();
    await broker.kill();
    for (const value of [18.1, 18.2, 18.3]) {
      await platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value });
      await platform.untilAsked("sensor-data", 14, 20_000);
    }
    await broker.restart();
    const after = await watchAt(stage, broker.url);
    await until(after, airtemp, "18.3", 35_000);
    expect(seenOn(after, airtemp).map(({ payload }) => payload)).not.toContain("18.1");
    expect(seenOn(after, airtemp).map(({ payload }) => payload)).not.toContain("18.2");
  });
});

describe.concurrent("what an earlier run left at the broker", { timeout: 120_000 }, () => {
  it("is stale within 5 s of online where it has not been read again, and is not cleared", async ({
    stage,
  }) => {
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const leftovers = {
      "greenhouse/gh-0001/sensor/gone": "21.5",
      "greenhouse/gh-0001/sensor/gone/quality": "good",
      "greenhouse/gh-0001/sensor/gone/json": JSON.stringify({ value: 21.5, quality: "good" }),
      "greenhouse/gh-9999/sensor/airtemp": "19",
      "greenhouse/gh-9999/sensor/airtemp/quality": "good",
      "greenhouse/gh-9999/availability": "online",
    };
    for (const [topic, payload] of Object.entries(leftovers))
      await watch.publish(topic, payload, { retain: true });
    const platform = await stage.platform();
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await until(watch, "greenhouse/bridge/state", "online", 20_000);
    const online = seenOn(watch, "greenhouse/bridge/state").at(-1)?.atMs ?? 0;
    for (const topic of ["gh-0001/sensor/gone", "gh-9999/sensor/airtemp"]) {
      await until(watch, `greenhouse/${topic}/quality`, "stale", 6_000);
      expect((seenOn(watch, `greenhouse/${topic}/quality`).at(-1)?.atMs ?? 0) - online).toBeLessThan(5_000);
    }
    await until(
      watch,
      "greenhouse/gh-0001/sensor/gone/json",
      (text) => fields(text)["quality"] === "stale",
      5_000,
    );
    await until(watch, `${airtemp}/quality`, "good", 15_000);
    await platform.untilAsked("control/mqtt", 3, 10_000);
    for (const topic of ["greenhouse/gh-0001/sensor/gone", "greenhouse/gh-9999/sensor/airtemp"])
      expect(watch.latest(topic), topic).not.toBe("");
  });

  it("is stale within 5 s of online also while the platform is gone, for sensors that are still there", async ({
    stage,
  }) => {
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    await watch.publish(airtemp, "21.5", { retain: true });
    await watch.publish(`${airtemp}/quality`, "good", { retain: true });
    await stage.bridge(
      configurationFor(`http://127.0.0.1:${await freePort()}`, mosquittoSection(broker.url)),
    );
    await until(watch, "greenhouse/bridge/state", "online", 20_000);
    const online = seenOn(watch, "greenhouse/bridge/state").at(-1)?.atMs ?? 0;
    await until(watch, `${airtemp}/quality`, "stale", 6_000);
    expect((seenOn(watch, `${airtemp}/quality`).at(-1)?.atMs ?? 0) - online).toBeLessThan(5_000);
    expect(watch.latest(airtemp)).toBe("21.5");
  });

  it("is cleared where the configuration no longer wants it; foreign topics and announcements stay", async ({
    stage,
  }) => {
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const foreign = {
      "greenhouse/notes/from-me": "keep",
      "other/gh-0001/actuator/old/state": "open",
      "homeassistant/device/stranger/config": JSON.stringify({
        device: { identifiers: ["x"], name: "x" },
        origin: { name: "zigbee2mqtt" },
        components: {},
      }),
      "homeassistant/device/sibling/config": JSON.stringify({
        device: { identifiers: ["y"], name: "y" },
        origin: { name: "greenhouse2mqtt" },
        components: { a: { platform: "sensor", unique_id: "y_a", state_topic: "second/gh-0001/sensor/a" } },
      }),
    };
    for (const [topic, payload] of Object.entries(foreign))
      await watch.publish(topic, payload, { retain: true });
    for (const leaf of ["state", "value", "json"])
      await watch.publish(`greenhouse/gh-0001/actuator/old/${leaf}`, "open", { retain: true });
    await watch.publish("greenhouse/gh-0003/info", "{}", { retain: true });
    const platform = await stage.platform();
    const base = configurationFor(platform.url, mosquittoSection(broker.url));
    await stage.bridge({ ...base, controllers: { "GH-0003": { ignore: true } } });
    await ready(watch);
    for (const topic of [
      "gh-0001/actuator/old/state",
      "gh-0001/actuator/old/value",
      "gh-0001/actuator/old/json",
    ])
      await until(watch, `greenhouse/${topic}`, "", 15_000);
    await until(watch, "greenhouse/gh-0003/info", "", 15_000);
    expect([...watch.current(/^greenhouse\/gh-0003\//).keys()]).toEqual([]);
    await platform.untilAsked("control/mqtt", 3, 10_000);
    for (const [topic, payload] of Object.entries(foreign)) expect(watch.latest(topic), topic).toBe(payload);
  });
});

describe.concurrent("half a platform", { timeout: 120_000 }, () => {
  it("is degraded while only the business host is gone, and goes on reading", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await ready(watch);
    await platform.tell("host_down", { host: "business" });
    await until(watch, "greenhouse/bridge/platform", "degraded", 35_000);
    await platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value: 30.3 });
    await until(watch, airtemp, "30.3", 10_000);
    expect(watch.latest(`${airtemp}/quality`)).toBe("good");
    await platform.tell("host_up", { host: "business" });
    await until(watch, "greenhouse/bridge/platform", "online", 60_000);
  });

  it("is unauthorized while the token is refused, tells so once, and recovers by itself", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const configuration = configurationFor(platform.url, mosquittoSection(broker.url));
    await stage.bridge(configuration);
    await ready(watch);
    const mark = watch.mark();
    await platform.tell("expire_tokens");
    await until(watch, "greenhouse/bridge/platform", "unauthorized", 35_000);
    await untilNew(
      watch,
      mark,
      "greenhouse/bridge/event",
      (text) => fields(text)["type"] === "unauthorized",
      5_000,
    );
    await platform.tell("accept_token", { token: (configuration["platform"] as { token: string }).token });
    await until(watch, "greenhouse/bridge/platform", "online", 60_000);
    const told = watch.seen.filter(
      ({ index, topic, payload }) =>
        index >= mark && topic === "greenhouse/bridge/event" && fields(payload)["type"] === "unauthorized",
    );
    expect(told).toHaveLength(1);
  });

  it("hanging without an answer is unreachable too, with everything stale, and recovers", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await watchAt(stage, broker.url);
    const base = configurationFor(platform.url, mosquittoSection(broker.url));
    const platformSection = base["platform"] as Record<string, unknown>;
    await stage.bridge({
      ...base,
      platform: { ...platformSection, timeouts: { connect: "1s", read: "2s" } },
    });
    await ready(watch);
    await platform.tell("host_down", { host: "both", how: "hang" });
    await until(watch, "greenhouse/bridge/platform", "unreachable", 35_000);
    await watch.untilTrue(
      () => [...watch.current(qualities).values()].every((quality) => quality === "stale"),
      "everything is stale",
      6_000,
    );
    await platform.tell("host_up", { host: "both" });
    await until(watch, "greenhouse/bridge/platform", "online", 60_000);
    await until(watch, `${airtemp}/quality`, "good", 20_000);
  });
});
