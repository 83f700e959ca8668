import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { discoveryFaultsOfAll } from "../homeassistant/validator.js";
import { freePort } from "../support/mosquitto.js";
import { anyNumber, anyText, containing, matching } from "./support/expected.js";
import type { SimulatedPlatform } from "./support/platform.js";
import type { Program } from "./support/program.js";
import { configurationFor, createStage, mosquittoSection, type Stage } from "./support/stage.js";
import { fields, seenOn, until, untilNew, type Watch } from "./support/watch.js";

/*
 * The reading half of the product, as anybody at the broker sees it: the built program against the simulated platform,
 * over a real Mosquitto with both protocol versions and over the embedded broker.
 */

const brokers = [
  { name: "Mosquitto with MQTT 5", embedded: false, version: 5 },
  { name: "Mosquitto with MQTT 3.1.1", embedded: false, version: 4 },
  { name: "the embedded broker", embedded: true, version: 5 },
] as const;

const discovery = /^homeassistant\/device\/[^/]+\/config$/;
const qualities = (controller: string) => new RegExp(`^greenhouse/${controller}/sensor/[^/]+/quality$`);

describe.each(brokers)("the mirror over $name", ({ embedded, version }) => {
  let stage: Stage;
  let platform: SimulatedPlatform;
  let bridge: Program;
  let watch: Watch;
  /** The answer to a request sent the moment the bridge said that it is online. */
  let firstAnswer: Promise<unknown>;

  beforeAll(async () => {
    stage = await createStage();
    platform = await stage.platform();
    const port = embedded ? await freePort() : (await stage.mosquitto()).port;
    const url = `mqtt://127.0.0.1:${port}`;
    const section = embedded ? { broker: { port } } : mosquittoSection(url, version);
    const configuration = configurationFor(platform.url, section);
    if (embedded) bridge = await stage.bridge(configuration);
    watch = await stage.watch({ url, protocolVersion: version });
    if (!embedded) bridge = await stage.bridge(configuration);
    await until(watch, "greenhouse/bridge/state", "online", 20_000);
    firstAnswer = request("health", "{}", 5_000);
    firstAnswer.catch(() => undefined);
    await until(watch, "greenhouse/gh-0001/sensor/airtemp/quality", "good", 20_000);
    await until(watch, "greenhouse/gh-0005/sensor/airtemp/quality", "good", 20_000);
  });

  afterAll(async () => {
    await stage.clear();
  });

  async function request(
    name: string,
    payload: string,
    timeoutMs = 20_000,
  ): Promise<Readonly<Record<string, unknown>>> {
    const mark = watch.mark();
    await watch.publish(`greenhouse/bridge/request/${name}`, payload);
    const answer = await untilNew(watch, mark, `greenhouse/bridge/response/${name}`, () => true, timeoutMs);
    expect(answer.retain).toBe(false);
    return fields(answer.payload);
  }

  const allAre = (controller: string, quality: string) => () => {
    const shown = [...watch.current(qualities(controller)).values()];
    return shown.length > 0 && shown.every((one) => one === quality);
  };

  const documentOf = (code: string) =>
    [...watch.current(discovery).values()].find((text) => text.includes(`"greenhouse2mqtt_${code}_`));

  /** Every list, reading and register was polled several times more. */
  const polled = async (times: number) => {
    await platform.untilAsked("control/mqtt", times, 30_000);
    await platform.untilAsked("sensor-data", times * 6, 30_000);
  };

  describe.concurrent("follows the platform", () => {
    it("answers a request sent as soon as bridge/state is online, because its subscriptions stand by then", async () => {
      expect(await firstAnswer).toMatchObject({ status: "ok" });
    });

    it("shows a changed reading as value, quality, json and in the discovery message", async () => {
      const topic = "greenhouse/gh-0001/sensor/airtemp";
      await platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value: 31.4 });
      await until(watch, topic, "31.4", 10_000);
      const json = fields(
        await until(watch, `${topic}/json`, (text) => fields(text)["value"] === 31.4, 5_000),
      );
      expect(watch.latest(`${topic}/quality`)).toBe("good");
      expect(json).toMatchObject({
        ...{ value: 31.4, raw: 31.4, unit: "°C", kind: "temperature", quality: "good", source: "poll" },
        ...{ name: "空气温度", factor: "airtemp" },
      });
      expect(new Date(String(json["measured_at"])).toISOString()).toBe(json["measured_at"]);
      expect(new Date(String(json["received_at"])).toISOString()).toBe(json["received_at"]);
      const announced = () =>
        Object.values(fields(documentOf("GH-0001") ?? "")["components"] ?? {})
          .map((component) => fields(JSON.stringify(component)))
          .filter(({ state_topic }) => String(state_topic).startsWith(topic));
      await watch.untilTrue(() => announced().length > 0, "the sensor is announced", 15_000);
      expect(announced()).toMatchObject([
        {
          platform: "sensor",
          device_class: "temperature",
          unit_of_measurement: "°C",
          state_class: "measurement",
        },
      ]);
    });

    it("keeps the last good value while a reading is bad, and says good only after the good value", async () => {
      const topic = "greenhouse/gh-0003/sensor/airtemp";
      await platform.tell("set_sensor", { controller: "GH-0003", sensor: "空气温度", value: 21.5 });
      await until(watch, topic, "21.5", 10_000);
      await platform.tell("set_sensor", { controller: "GH-0003", sensor: "空气温度", value: 999 });
      await until(watch, `${topic}/quality`, "bad", 10_000);
      await until(watch, `${topic}/json`, (text) => fields(text)["quality"] === "bad", 5_000);
      expect(watch.latest(topic)).toBe("21.5");
      const mark = watch.mark();
      await platform.tell("set_sensor", { controller: "GH-0003", sensor: "空气温度", value: 22.5 });
      const good = await untilNew(watch, mark, `${topic}/quality`, "good", 10_000);
      const value = await untilNew(watch, mark, topic, "22.5", 5_000);
      expect(value.index).toBeLessThan(good.index);
      expect(seenOn(watch, topic).map(({ payload }) => payload)).not.toContain("999");
    });

    it("shows an actuator as its register reads: state, position, raw value and json", async () => {
      const topic = "greenhouse/gh-0001/actuator/left_skylight";
      const turn = async (value: string, state: string) => {
        await platform.tell("move_by_hand", { controller: "GH-0001", address: "101", value });
        await until(watch, `${topic}/value`, value, 10_000);
        await until(watch, `${topic}/state`, state, 5_000);
        return fields(await until(watch, `${topic}/json`, (text) => fields(text)["value"] === value, 5_000));
      };
      expect(await turn("10010", "open")).toMatchObject({ state: "open", position: null, quality: "good" });
      expect(await turn("45", "position")).toMatchObject({ state: "position", position: 45 });
      expect(watch.latest(`${topic}/position`)).toBe("45");
      expect(await turn("11000", "auto")).toMatchObject({ state: "auto", position: null });
      expect(watch.latest(`${topic}/position`)).toBe("");
      expect(await turn("01110", "unknown")).toMatchObject({ state: "unknown", value: "01110" });
    });

    it("shows running statuses as on and off, each under an id of its own", async () => {
      const topicOf = (name: string) =>
        [...watch.current(/^greenhouse\/gh-0003\/status\/[^/]+\/json$/)].find(
          ([, text]) => fields(text)["name"] === name,
        )?.[0];
      await watch.untilTrue(() => topicOf("一级风机") !== undefined, "a running status of the fan", 10_000);
      const topic = String(topicOf("一级风机")).replace(/\/json$/, "");
      await until(watch, topic, "off", 5_000);
      await platform.tell("move_by_hand", { controller: "GH-0003", address: "140", value: "11110" });
      await until(watch, topic, "on", 15_000);
      const json = await until(watch, `${topic}/json`, (text) => fields(text)["state"] === "on", 5_000);
      expect(fields(json)).toMatchObject({ name: "一级风机", number: 16 });
      expect(new Date(String(fields(json)["received_at"])).toISOString()).toBe(fields(json)["received_at"]);
      const plans = ["灌溉方案1", "灌溉方案2"].map(topicOf);
      expect(new Set(plans).size, "two plans share one type number").toBe(2);
    });

    it("marks sensors that report nothing new as stale, never with a newer time, and publishes nothing unchanged", async () => {
      const topic = "greenhouse/gh-0004/sensor/airtemp";
      const allJson = () =>
        [...watch.current(/^greenhouse\/gh-0004\/sensor\/[^/]+\/json$/).values()].map(fields);
      await platform.tell("freeze_sensors", { controller: "GH-0004" });
      try {
        await polled(1);
        const { measured_at: measuredAt } = fields(watch.latest(`${topic}/json`));
        await watch.untilTrue(allAre("gh-0004", "stale"), "all of gh-0004 is stale", 20_000);
        await watch.untilTrue(
          () => allJson().every(({ quality }) => quality === "stale"),
          "every json of gh-0004 says so too",
          5_000,
        );
        expect(fields(watch.latest(`${topic}/json`))).toMatchObject({ measured_at: measuredAt });
        const mark = watch.mark();
        await polled(4);
        const news = watch.seen.slice(mark).filter((one) => one.topic.startsWith("greenhouse/gh-0004/"));
        expect(news.map(({ topic: where, payload }) => `${where} ${payload}`)).toEqual([]);
      } finally {
        await platform.tell("unfreeze_sensors", { controller: "GH-0004" });
      }
      await watch.untilTrue(allAre("gh-0004", "good"), "all of gh-0004 is good again", 15_000);
    });

    it("marks everything of a controller stale within 5 s of knowing that it is offline", async () => {
      const mark = watch.mark();
      await platform.tell("set_online", { controller: "FM-0002", online: false });
      try {
        const known = await untilNew(watch, mark, "greenhouse/fm-0002/availability", "offline", 10_000);
        await watch.untilTrue(allAre("fm-0002", "stale"), "all of fm-0002 is stale", 6_000);
        const marked = watch.seen.filter((one) => one.index >= mark && qualities("fm-0002").test(one.topic));
        expect(Math.max(...marked.map(({ atMs }) => atMs)) - known.atMs).toBeLessThan(5_000);
      } finally {
        await platform.tell("set_online", { controller: "FM-0002", online: true });
      }
      await until(watch, "greenhouse/fm-0002/availability", "online", 15_000);
      await watch.untilTrue(allAre("fm-0002", "good"), "all of fm-0002 is good again", 20_000);
    });

    it("raises controller_offline on bridge/event when a controller goes offline", async () => {
      const mark = watch.mark();
      await platform.tell("add_controller", { controller: "GH-0200", name: "Event house" });
      await until(watch, "greenhouse/gh-0200/availability", "online", 10_000);
      await platform.tell("set_online", { controller: "GH-0200", online: false });
      await until(watch, "greenhouse/gh-0200/availability", "offline", 10_000);
      const event = await untilNew(
        watch,
        mark,
        "greenhouse/bridge/event",
        (text) => fields(text)["type"] === "controller_offline" && /gh-0200/i.test(text),
        5_000,
      );
      expect(event.retain).toBe(false);
      expect(fields(event.payload)).toMatchObject({
        ...{ severity: matching(/^(info|warning|error)$/), message: anyText },
        at: matching(/^\d{4}-\d\d-\d\dT/),
      });
    });

    it("mirrors weather stations and cameras of the device list with availability unknown, cameras without readings", async () => {
      for (const id of ["ws-0001", "pm-0001", "cam-0001", "cld-0001"]) {
        await until(watch, `greenhouse/${id}/availability`, "unknown", 15_000);
        await until(watch, `greenhouse/${id}/info`, (text) => fields(text)["id"] === id, 5_000);
      }
      await until(watch, "greenhouse/ws-0001/sensor/windspeed/quality", "good", 15_000);
      expect([...watch.current(/^greenhouse\/(pm|cam|cld)-0001\/sensor\//).keys()]).toEqual([]);
    });

    it("follows a controller that appears and is renamed, and keeps one that is missing from the list", async () => {
      await platform.tell("add_controller", { controller: "GH-0100", name: "New house" });
      await until(watch, "greenhouse/gh-0100/availability", "online", 10_000);
      await until(watch, "greenhouse/gh-0100/sensor/airtemp/quality", "good", 15_000);
      await until(watch, "greenhouse/bridge/controllers", (text) => text.includes("GH-0100"), 10_000);
      const item = (
        JSON.parse(watch.latest("greenhouse/bridge/controllers") ?? "[]") as { code: string }[]
      ).find(({ code }) => code === "GH-0100");
      expect(item).toMatchObject({
        id: "gh-0100",
        name: "New house",
        type: "C001",
        type_name: "日光温室控制器",
      });
      await watch.untilTrue(() => documentOf("GH-0100") !== undefined, "GH-0100 is announced", 15_000);

      await platform.tell("rename_controller", { controller: "GH-0100", name: "Old house" });
      await until(watch, "greenhouse/gh-0100/info", (text) => fields(text)["name"] === "Old house", 10_000);
      await watch.untilTrue(
        () => documentOf("GH-0100")?.includes("Old house") === true,
        "GH-0100 is announced under its new name",
        15_000,
      );

      const mark = watch.mark();
      await platform.tell("remove_controller", { controller: "GH-0100" });
      await polled(4);
      const cleared = watch.seen.filter(
        ({ index, topic, payload }) => index >= mark && payload === "" && /gh-0100/i.test(topic),
      );
      expect(cleared).toEqual([]);
      expect(watch.latest("greenhouse/bridge/controllers")).toContain("GH-0100");
    });
  });

  describe("stays true", { timeout: 120_000 }, () => {
    it.each([true, "null"])(
      "removes nothing for an empty list (%s) and raises account_empty",
      async (list) => {
        const mark = watch.mark();
        await platform.tell("empty_list", { list });
        const event = await untilNew(
          watch,
          mark,
          "greenhouse/bridge/event",
          (text) => fields(text)["type"] === "account_empty",
          10_000,
        );
        expect(event.retain).toBe(false);
        expect(fields(event.payload)).toMatchObject({
          severity: anyText,
          message: anyText,
        });
        await platform.untilAsked("control/mqtt", 3, 15_000);
        await platform.tell("empty_list", { list: false });
        await platform.untilAsked("control/mqtt", 2, 15_000);
        const cleared = watch.seen.filter(
          ({ index, topic, payload }) => index >= mark && payload === "" && !topic.includes("/request/"),
        );
        expect(cleared).toEqual([]);
      },
    );

    it("announces every controller and itself with messages that Home Assistant takes", async () => {
      const codes = await platform.codes();
      await watch.untilTrue(
        () => codes.every((code) => documentOf(code) !== undefined),
        "every controller is announced",
        15_000,
      );
      const documents = watch.current(discovery);
      expect(documents.size).toBeGreaterThan(codes.length);
      expect(discoveryFaultsOfAll(documents)).toEqual([]);
    });

    it("announces everything again at Home Assistant's birth, a deleted device not before", async () => {
      const topic = [...watch.current(discovery)].find(([, text]) =>
        text.includes('"greenhouse2mqtt_GH-0005_'),
      )?.[0];
      expect(topic).toBeDefined();
      await watch.publish(topic ?? "", "", { retain: true });
      const mark = watch.mark();
      await polled(3);
      expect(
        watch.seen.filter((one) => one.index >= mark && one.topic === topic && one.payload !== ""),
        "it stays deleted",
      ).toEqual([]);
      const expected = [...watch.current(discovery).keys(), topic ?? ""];
      const born = watch.mark();
      await watch.publish("homeassistant/status", "online");
      await watch.untilTrue(
        () => {
          const again = new Set(watch.seen.slice(born).map((one) => (one.payload === "" ? "" : one.topic)));
          return expected.every((one) => again.has(one));
        },
        "every discovery message came again",
        30_000,
      );
      await untilNew(watch, born, "greenhouse/gh-0005/availability", "online", 15_000);
    });

    it("answers requests, echoing the transaction", async () => {
      expect(await request("refresh", '{"transaction":"t-1"}')).toMatchObject({
        status: "ok",
        transaction: "t-1",
      });
      expect(await request("republish", '{"transaction":7}')).toMatchObject({ status: "ok", transaction: 7 });
      expect(await request("log_level", '{"level":"debug"}')).toMatchObject({ status: "ok" });
      expect(await request("log_level", '{"level":"loud","transaction":"x"}')).toMatchObject({
        ...{ status: "error", transaction: "x", error: containing("loud") },
      });
      await platform.tell("move_by_hand", { controller: "GH-0001", address: "102", value: "10001" });
      for (const controller of ["gh-0001", "GH-0001"]) {
        const read = await request("read", JSON.stringify({ controller, address: "102" }));
        expect(read).toMatchObject({ status: "ok", data: { value: "10001" } });
      }
      expect(await request("read", '{"controller":"gh-9999","address":"1"}')).toMatchObject({
        ...{ status: "error", error: containing("gh-9999") },
      });
      expect(await request("read", "{}")).toMatchObject({ status: "error" });
      const got = await request("get", '{"operation":"station","query":{},"transaction":null}');
      expect(got).toMatchObject({ status: "ok", transaction: null });
      expect(JSON.stringify(got["data"])).toContain("寿光");
      expect(await request("get", '{"operation":"set-value"}')).toMatchObject({ status: "error" });
      expect(await request("dance", '{"transaction":"d"}')).toMatchObject({
        status: "error",
        transaction: "d",
      });
    });

    it("takes an empty or broken request payload as one without fields", async () => {
      for (const payload of ["", "{broken", "[1]", "7"])
        expect(await request("health", payload)).toMatchObject({
          status: "ok",
          data: { uptime_s: anyNumber },
        });
    });

    it("publishes every retained state again on request", async () => {
      const mark = watch.mark();
      await request("republish", "{}");
      for (const topic of [
        "gh-0001/sensor/airtemp",
        "gh-0001/info",
        "fm-0002/availability",
        "bridge/platform",
      ])
        await untilNew(watch, mark, `greenhouse/${topic}`, (payload) => payload !== "", 10_000);
    });

    it("reads again what it is asked to refresh before it answers", async () => {
      const before = (await platform.requests())["sensor-data"] ?? 0;
      await request("refresh", '{"controller":"gh-0003"}');
      expect((await platform.requests())["sensor-data"] ?? 0).toBeGreaterThan(before);
      await platform.tell("set_sensor", { controller: "GH-0003", sensor: "CO2", value: 777 });
      await request("refresh", '{"controller":"gh-0003"}');
      expect(watch.latest("greenhouse/gh-0003/sensor/co2")).toBe("777");
    });

    it("tells in bridge/health and bridge/info what the contract names", () => {
      const health = fields(watch.latest("greenhouse/bridge/health"));
      for (const key of [
        ...["uptime_s", "rss_mb", "event_loop_lag_ms", "broker", "platform", "requests_left"],
        ...["effective_intervals", "last_contact_business", "last_contact_realtime", "oldest_reading_at"],
        ...["oldest_reading", "journal", "unreadable", "overdue"],
      ])
        expect(health).toHaveProperty(key);
      const info = fields(watch.latest("greenhouse/bridge/info"));
      expect(info).toMatchObject({ version: matching(/^\d+\.\d+\.\d+/) });
      expect(new Date(String(info["started_at"])).toISOString()).toBe(info["started_at"]);
    });

    it("sends nothing to an actuator unasked", async () => {
      expect(await platform.posts()).toEqual([]);
    });

    it("says unreachable and stale when the platform is gone, and recovers within 60 s without a restart", async () => {
      const mark = watch.mark();
      await platform.tell("host_down", { host: "both", how: "refuse" });
      const lost = await untilNew(watch, mark, "greenhouse/bridge/platform", "unreachable", 35_000);
      const all = ["gh-0001", "fm-0002", "gh-0003", "gh-0004", "gh-0005", "ws-0001"];
      const stale = all.map((id) => allAre(id, "stale"));
      await watch.untilTrue(() => stale.every((one) => one()), "everything is stale", 6_000);
      const marked = watch.seen.filter(({ index, topic }) => index >= mark && topic.endsWith("/quality"));
      expect(Math.max(...marked.map(({ atMs }) => atMs)) - lost.atMs).toBeLessThan(5_000);
      expect(fields(watch.latest("greenhouse/gh-0001/actuator/left_skylight/json"))).toMatchObject({
        quality: "stale",
      });
      expect(watch.latest("greenhouse/bridge/state")).toBe("online");
      await untilNew(
        watch,
        mark,
        "greenhouse/bridge/event",
        (text) => fields(text)["type"] === "platform_lost",
        5_000,
      );

      const back = watch.mark();
      await platform.tell("host_up", { host: "both" });
      await untilNew(watch, back, "greenhouse/bridge/platform", "online", 60_000);
      await untilNew(
        watch,
        back,
        "greenhouse/bridge/event",
        (text) => fields(text)["type"] === "platform_back",
        5_000,
      );
      const good = all.map((id) => allAre(id, "good"));
      await watch.untilTrue(() => good.every((one) => one()), "everything is good again", 30_000);
    });

    it("publishes offline and exits with 0 within 10 s of SIGTERM", async () => {
      const mark = watch.mark();
      const start = performance.now();
      bridge.signal("SIGTERM");
      await untilNew(watch, mark, "greenhouse/bridge/state", "offline", 10_000);
      expect(await bridge.ended).toMatchObject({ code: 0, signal: null });
      expect(performance.now() - start).toBeLessThan(10_000);
    });

    it("never showed a secret in any topic or log line", () => {
      expect(bridge.stderr.length).toBeGreaterThan(1_000);
      expect(stage.leaks()).toEqual([]);
    });
  });
});
