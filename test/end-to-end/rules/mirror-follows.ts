import { describe, expect, it } from "vitest";
import { anyNumber, anyText, matching } from "../support/expected.js";
import { type MirrorScene, qualities } from "../support/mirror-scene.js";
import { fields, seenOn, until, untilNew } from "../support/watch.js";

/** The mirror shows what the platform shows: rules that share one scene at the same time. */
export function followsThePlatform(scene: () => MirrorScene): void {
  describe("follows the platform", { timeout: 120_000, concurrent: true }, () => {
    it("answers a request sent as soon as bridge/state is online, because its subscriptions stand by then", async () => {
      expect(await scene().firstAnswer).toMatchObject({ status: "ok" });
    });

    it("shows a changed reading as value, quality, json and in the discovery message", async () => {
      const { watch, spoken, documentOf, sensor, setSensor } = scene();
      const topic = sensor("gh-0001", "airtemp");
      await setSensor("GH-0001", "airtemp", 31.4, "℃");
      await until(watch, topic, "31.4");
      const json = fields(await until(watch, `${topic}/json`, (text) => fields(text)["value"] === 31.4));
      expect(watch.latest(`${topic}/quality`)).toBe("good");
      expect(json).toMatchObject({
        ...{
          value: 31.4,
          raw: spoken.reading(31.4, "℃"),
          unit: "°C",
          kind: "temperature",
          quality: "good",
          source: "poll",
        },
        ...spoken.namesOf({ name: "空气温度", factor: "airtemp" }),
      });
      expect(new Date(String(json["measured_at"])).toISOString()).toBe(json["measured_at"]);
      expect(new Date(String(json["received_at"])).toISOString()).toBe(json["received_at"]);
      const announced = () =>
        Object.values(fields(documentOf("GH-0001") ?? "")["components"] ?? {})
          .map((component) => fields(JSON.stringify(component)))
          .filter(({ state_topic: of }) => of === topic || String(of).startsWith(`${topic}/`));
      await watch.untilTrue(() => announced().length > 0, "the sensor is announced");
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
      const { watch, sensor, setSensor } = scene();
      const topic = sensor("gh-0003", "airtemp");
      await setSensor("GH-0003", "airtemp", 21.5, "℃");
      await until(watch, topic, "21.5");
      await setSensor("GH-0003", "airtemp", 999, "℃");
      await until(watch, `${topic}/quality`, "bad");
      await until(watch, `${topic}/json`, (text) => fields(text)["quality"] === "bad");
      expect(watch.latest(topic)).toBe("21.5");
      const mark = watch.mark();
      await setSensor("GH-0003", "airtemp", 22.5, "℃");
      const good = await untilNew(watch, mark, `${topic}/quality`, "good");
      const value = await untilNew(watch, mark, topic, "22.5");
      expect(value.index).toBeLessThan(good.index);
      expect(seenOn(watch, topic).map(({ payload }) => payload)).not.toContain("999");
    });

    it("shows a sensor without a reading as bad, without a value, in the dialects that have such", async () => {
      const { watch, spoken, sensor } = scene();
      const topic = sensor("gh-0001", "soilec");
      const isGap = spoken.dialect.gaps !== "none";
      await until(watch, `${topic}/quality`, isGap ? "bad" : "good");
      const json = fields(await until(watch, `${topic}/json`, (text) => text !== ""));
      expect(json).toMatchObject({ value: isGap ? null : anyNumber, kind: "ec" });
      expect(seenOn(watch, topic).some(({ payload }) => payload !== "")).toBe(!isGap);
    });

    it("gives every other sensor a good number, and finds nothing that it cannot read", async () => {
      const { watch, request, allAre } = scene();
      const all = ["gh-0001", "fm-0002", "gh-0003", "ws-0001"];
      for (const controller of all)
        await watch.untilTrue(() => watch.current(qualities(controller)).size >= 8, controller);
      await watch.untilTrue(
        () => ["gh-0001", "ws-0001"].every((controller) => allAre(controller, "good")()),
        "every sensor with a reading is good",
      );
      const { data } = await request("health", "{}");
      expect(data).toMatchObject({ unreadable: [], platform: { push: { unreadable: 0 } } });
    });

    it.each([
      ["left_skylight", "101", "alone"],
      ["right_skylight", "103", "with all of its type"],
    ])(
      "shows an actuator (%s at %s, read %s) as its register reads: state, position, raw value and json",
      async (actuator, address) => {
        const { platform, watch, spoken } = scene();
        const topic = `greenhouse/gh-0001/actuator/${actuator}`;
        const turn = async (value: string, state: string, shown = value) => {
          await platform.tell("move_by_hand", { controller: "GH-0001", address, value });
          await until(watch, `${topic}/value`, shown);
          await until(watch, `${topic}/state`, state);
          return fields(await until(watch, `${topic}/json`, (text) => fields(text)["value"] === shown));
        };
        expect(await turn("10010", "open")).toMatchObject({
          ...{ state: "open", position: null, quality: "good" },
        });
        expect(await turn("45", "position")).toMatchObject({ state: "position", position: 45 });
        expect(watch.latest(`${topic}/position`)).toBe("45");
        expect(await turn("11000", "auto")).toMatchObject({ state: "auto", position: null });
        expect(watch.latest(`${topic}/position`)).toBe("");
        // What no table knows is shown as it came.
        const unknown = spoken.register("01110");
        expect(await turn("01110", "unknown", unknown)).toMatchObject({ state: "unknown", value: unknown });
      },
    );

    it("shows running statuses as on and off, each under an id of its own", async () => {
      const { platform, watch } = scene();
      const topicOf = (name: string) =>
        [...watch.current(/^greenhouse\/gh-0003\/status\/[^/]+\/json$/)].find(
          ([, text]) => fields(text)["name"] === name,
        )?.[0];
      await watch.untilTrue(() => topicOf("一级风机") !== undefined, "a running status of the fan");
      const topic = String(topicOf("一级风机")).replace(/\/json$/, "");
      await until(watch, topic, "off");
      await platform.tell("move_by_hand", { controller: "GH-0003", address: "140", value: "11110" });
      await until(watch, topic, "on");
      const json = await until(watch, `${topic}/json`, (text) => fields(text)["state"] === "on");
      expect(fields(json)).toMatchObject({ name: "一级风机", number: 16 });
      expect(new Date(String(fields(json)["read_at"])).toISOString()).toBe(fields(json)["read_at"]);
      const plans = ["灌溉方案1", "灌溉方案2"].map(topicOf);
      expect(new Set(plans).size, "two plans share one type number").toBe(2);
    });

    it("marks sensors that report nothing new as stale, never with a newer time, and publishes nothing unchanged", async () => {
      const { platform, watch, allAre, polled, sensor } = scene();
      const topic = sensor("gh-0004", "airtemp");
      const allJson = () =>
        [...watch.current(/^greenhouse\/gh-0004\/sensor\/[^/]+\/json$/).values()].map(fields);
      await platform.tell("freeze_sensors", { controller: "GH-0004" });
      try {
        await polled(1);
        const { measured_at: measuredAt } = fields(watch.latest(`${topic}/json`));
        await watch.untilTrue(allAre("gh-0004", "stale"), "all of gh-0004 is stale");
        await watch.untilTrue(
          () => allJson().every(({ quality }) => quality === "stale"),
          "every json of gh-0004 says so too",
        );
        expect(fields(watch.latest(`${topic}/json`))).toMatchObject({ measured_at: measuredAt });
        /** What was published as it was before, and every reading, as all of them rest. What a late poll left stale is news. */
        const needless = async () => {
          const before = new Map(watch.current(/^greenhouse\/gh-0004\//));
          const mark = watch.mark();
          await polled(4);
          return watch.seen.slice(mark).filter(({ topic: where, payload }) => {
            const isSame = before.get(where) === payload;
            if (where.startsWith("greenhouse/gh-0004/")) before.set(where, payload);
            return isSame || where.startsWith("greenhouse/gh-0004/sensor/");
          });
        };
        const first = await needless();
        // Once an announcement that has grown was repeated for Home Assistant, all states follow it one time.
        const isRepeated = first.some(({ topic: where }) => where === "greenhouse/gh-0004/info");
        expect(isRepeated ? await needless() : first).toEqual([]);
      } finally {
        await platform.tell("unfreeze_sensors", { controller: "GH-0004" });
      }
      await watch.untilTrue(allAre("gh-0004", "good"), "all of gh-0004 is good again");
    });

    it("marks everything of a controller stale within 5 s of knowing that it is offline", async () => {
      const { platform, watch, allAre, promptMs } = scene();
      const mark = watch.mark();
      await platform.tell("set_online", { controller: "FM-0002", online: false });
      try {
        const known = await untilNew(watch, mark, "greenhouse/fm-0002/availability", "offline");
        await watch.untilTrue(allAre("fm-0002", "stale"), "all of fm-0002 is stale", promptMs + 1_000);
        const marked = watch.seen.filter((one) => one.index >= mark && qualities("fm-0002").test(one.topic));
        expect(Math.max(...marked.map(({ atMs }) => atMs)) - known.atMs).toBeLessThan(promptMs);
      } finally {
        await platform.tell("set_online", { controller: "FM-0002", online: true });
      }
      await until(watch, "greenhouse/fm-0002/availability", "online");
      await watch.untilTrue(allAre("fm-0002", "good"), "all of fm-0002 is good again");
    });

    it("raises controller_offline on bridge/event when a controller goes offline", async () => {
      const { platform, watch } = scene();
      const mark = watch.mark();
      await platform.tell("add_controller", { controller: "GH-0200", name: "Event house" });
      await until(watch, "greenhouse/gh-0200/availability", "online");
      await platform.tell("set_online", { controller: "GH-0200", online: false });
      await until(watch, "greenhouse/gh-0200/availability", "offline");
      const event = await untilNew(
        watch,
        mark,
        "greenhouse/bridge/event",
        (text) => fields(text)["type"] === "controller_offline" && /gh-0200/i.test(text),
      );
      expect(event.retain).toBe(false);
      expect(fields(event.payload)).toMatchObject({
        ...{ severity: matching(/^(info|warning|error)$/), message: anyText },
        at: matching(/^\d{4}-\d\d-\d\dT/),
      });
    });

    it("mirrors weather stations and cameras: availability unknown unless the list of controllers shows them or they have an MQTT client, cameras without readings", async () => {
      const { watch, spoken, sensor } = scene();
      const { clients, everything, pestMonitor } = spoken.dialect;
      for (const id of ["ws-0001", "pm-0001", "cam-0001", "cld-0001"]) {
        const isClient = clients === "stations" && id === "ws-0001";
        const availability = everything || isClient ? "online" : "unknown";
        await until(watch, `greenhouse/${id}/availability`, availability);
        await until(watch, `greenhouse/${id}/info`, (text) => fields(text)["id"] === id);
      }
      await until(watch, `${sensor("ws-0001", "windspeed")}/quality`, "good");
      if (pestMonitor === "readings")
        await until(watch, "greenhouse/pm-0001/sensor/pestcount/quality", "good");
      else expect([...watch.current(/^greenhouse\/pm-0001\/sensor\//).keys()]).toEqual([]);
      expect([...watch.current(/^greenhouse\/(cam|cld)-0001\/sensor\//).keys()]).toEqual([]);
      await until(watch, "greenhouse/gh-0001/info", (text) => {
        const { extension_type: extension, interface_version: version } = fields(text);
        return version === "2" && extension === (spoken.dialect.extension === "filled" ? "EXT-7" : null);
      });
      expect([...watch.current(/\/info$/).values()].join()).not.toContain("camera-password");
    });

    it("follows a controller that appears and is renamed, and keeps one that is missing from the list", async () => {
      const { platform, watch, documentOf, polled, sensor } = scene();
      await platform.tell("add_controller", { controller: "GH-0100", name: "New house" });
      await until(watch, "greenhouse/gh-0100/availability", "online");
      await until(watch, `${sensor("gh-0100", "airtemp")}/quality`, "good");
      await until(watch, "greenhouse/bridge/controllers", (text) => text.includes("GH-0100"));
      const item = (
        JSON.parse(watch.latest("greenhouse/bridge/controllers") ?? "[]") as { code: string }[]
      ).find(({ code }) => code === "GH-0100");
      expect(item).toMatchObject({
        id: "gh-0100",
        name: "New house",
        type: "C001",
        type_name: "日光温室控制器",
      });
      await watch.untilTrue(() => documentOf("GH-0100") !== undefined, "GH-0100 is announced");

      await platform.tell("rename_controller", { controller: "GH-0100", name: "Old house" });
      await until(watch, "greenhouse/gh-0100/info", (text) => fields(text)["name"] === "Old house");
      await watch.untilTrue(
        () => documentOf("GH-0100")?.includes("Old house") === true,
        "GH-0100 is announced under its new name",
      );

      const mark = watch.mark();
      await platform.tell("remove_controller", { controller: "GH-0100" });
      await polled(4);
      // A running status goes by a rule of its own: three valid answers that left it out may come before the list.
      const kept = /gh-0100(?!.*\/status\/)/i;
      const cleared = watch.seen.filter(
        ({ index, topic, payload }) => index >= mark && payload === "" && kept.test(topic),
      );
      expect(cleared).toEqual([]);
      expect(watch.latest("greenhouse/bridge/controllers")).toContain("GH-0100");
    });
  });
}
