import { describe, expect, it } from "vitest";
import { announcementFaults } from "../../homeassistant/announcement-faults.js";
import { anyNumber, anyText, containing, matching } from "../support/expected.js";
import { discovery, type MirrorScene } from "../support/mirror-scene.js";
import { fields, untilEvent, untilNew } from "../support/watch.js";

/** What holds whatever the platform and Home Assistant do: rules of which each has the scene to itself. */
export function staysTrue(scene: () => MirrorScene): void {
  describe("stays true", { timeout: 120_000, concurrent: false }, () => {
    it.each([true, "null"])(
      "removes nothing for an empty list (%s) and raises account_empty",
      async (list) => {
        const { platform, watch } = scene();
        const mark = watch.mark();
        await platform.tell("empty_list", { list });
        const event = await untilEvent(watch, mark, "account_empty");
        expect(event.retain).toBe(false);
        expect(fields(event.payload)).toMatchObject({
          severity: anyText,
          message: anyText,
        });
        await platform.untilAsked("control/mqtt", 3);
        await platform.tell("empty_list", { list: false });
        await platform.untilAsked("control/mqtt", 2);
        const cleared = watch.seen.filter(
          ({ index, topic, payload }) => index >= mark && payload === "" && !topic.includes("/request/"),
        );
        // GH-0100 has left the platform, which answers three times without running statuses of it.
        const isGone = ({ topic }: { readonly topic: string }) =>
          topic.startsWith("greenhouse/gh-0100/status/");
        expect(cleared.filter((one) => !isGone(one))).toEqual([]);
      },
    );

    it("announces every controller and itself with messages that Home Assistant takes", async () => {
      const { platform, watch, documentOf } = scene();
      const codes = await platform.codes();
      await watch.untilTrue(
        () => codes.every((code) => documentOf(code) !== undefined),
        "every controller is announced",
      );
      const documents = watch.current(discovery);
      expect(documents.size).toBeGreaterThan(codes.length);
      expect(announcementFaults(documents)).toEqual([]);
    });

    it("announces everything again at Home Assistant's birth, a deleted device not before", async () => {
      const { watch, polled } = scene();
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
      await untilNew(watch, born, "greenhouse/gh-0005/availability", "online");
    });

    it("answers requests, echoing the transaction", async () => {
      const { platform, request } = scene();
      expect(await request("refresh", '{"transaction":"t-1"}')).toMatchObject({
        status: "ok",
        transaction: "t-1",
        data: { partial: false },
      });
      expect(await request("republish", '{"transaction":7}')).toMatchObject({ status: "ok", transaction: 7 });
      expect(await request("state", '{"controller":"gh-0001"}')).toMatchObject({
        ...{ status: "ok", data: { is_closing: false, lanes: {}, problems: [] } },
      });
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

    it("takes an empty or broken request payload as one without fields, and refuses JSON that is no object", async () => {
      const { request } = scene();
      for (const payload of ["", "{broken"])
        expect(await request("health", payload)).toMatchObject({
          status: "ok",
          data: { uptime_s: anyNumber },
        });
      for (const payload of ["[1]", "7"])
        expect(await request("health", payload)).toMatchObject({ status: "error" });
    });

    it("publishes every retained state again on request", async () => {
      const { watch, request, sensor } = scene();
      const mark = watch.mark();
      await request("republish", "{}");
      for (const topic of [
        sensor("gh-0001", "airtemp"),
        "greenhouse/gh-0001/info",
        "greenhouse/fm-0002/availability",
        "greenhouse/bridge/platform",
      ])
        await untilNew(watch, mark, topic, (payload) => payload !== "");
    });

    it("reads again what it is asked to refresh before it answers", async () => {
      const { platform, watch, request, sensor, setSensor } = scene();
      const before = (await platform.requests())["sensor-data"] ?? 0;
      await request("refresh", '{"controller":"gh-0003"}');
      expect((await platform.requests())["sensor-data"] ?? 0).toBeGreaterThan(before);
      await setSensor("GH-0003", "co2", 777, "ppm");
      await request("refresh", '{"controller":"gh-0003"}');
      expect(watch.latest(sensor("gh-0003", "co2"))).toBe("777");
    });

    it("tells in bridge/health and bridge/info what the contract names", () => {
      const { watch } = scene();
      const health = fields(watch.latest("greenhouse/bridge/health"));
      for (const key of [
        ...["uptime_s", "rss_mb", "event_loop_lag_ms", "broker", "platform", "requests_left"],
        ...["effective_intervals", "last_contact_business", "last_contact_realtime", "oldest_reading_at"],
        ...["oldest_reading", "journal", "unreadable", "overdue"],
      ])
        expect(health).toHaveProperty(key);
      const { total, budget, ...calls } = health["calls_per_hour"] as Readonly<Record<string, number>>;
      // Both lists of devices are asked for once in twelve times, and one of the skylights with its type.
      expect(calls).toMatchObject({ controllers: 3_600, devices: 600, register: 3_600, registers: 3_600 });
      expect(total).toBe(Object.values(calls).reduce((sum, one) => sum + one, 0));
      expect(budget).toBeNull();
      const info = fields(watch.latest("greenhouse/bridge/info"));
      expect(info).toMatchObject({ version: matching(/^\d+\.\d+\.\d+/) });
      expect(new Date(String(info["started_at"])).toISOString()).toBe(info["started_at"]);
    });

    it("sends nothing to an actuator unasked", async () => {
      const { platform } = scene();
      expect(await platform.posts()).toEqual([]);
    });
  });
}
