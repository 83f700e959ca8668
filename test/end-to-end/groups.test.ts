import { describe, expect } from "vitest";
import { brokers } from "./support/brokers.js";
import { houseOf } from "./support/house.js";
import { installation } from "./support/installation.js";
import { type Configuration, configurationFor, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { ask, fields } from "./support/watch.js";

/* Several actuators that are commanded together, in the built program at each kind of broker. */

const roof = {
  kind: "skylight",
  address: "101",
  settle: "100ms",
  confirm_within: "3s",
  travel_time: "200ms",
};
const fan = { kind: "circulation_fan", address: "150", settle: "100ms", confirm_within: "3s" };

const configured: Configuration = {
  mirror: "listed",
  commands: { min_interval: "0s" },
  controllers: {
    "GH-0001": { actuators: { roof, fan } },
    "GH-0003": { actuators: { roof } },
  },
  groups: { roofs: { name: "All roofs", members: ["GH-0001/roof", "GH-0003/roof"] } },
  scenes: { night: { name: "Night", commands: { "group/roofs": "close", "GH-0001/fan": "on" } } },
};

async function scene(stage: Stage, broker: (typeof brokers)[number]) {
  const platform = await stage.platform({ controllers: 3 });
  const there = await installation(stage, broker);
  await there.start(configurationFor(platform.url, there.section, configured));
  const { watch } = there;
  const [east, west] = ["GH-0001", "GH-0003"].map((code) => houseOf(code, { platform, watch }));
  const results = (of: string) =>
    watch.seen
      .filter(({ topic, retain }) => topic === `greenhouse/${of}/result` && !retain)
      .map(({ payload }) => fields(payload));
  const send = async (of: string, payload: string | object, retain = false) => {
    const before = results(of).length;
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    await watch.publish(`greenhouse/${of}/set`, text, { retain });
    await watch.untilTrue(() => results(of).length > before, `a result of ${of}`);
    return results(of).at(-1) ?? {};
  };
  const shows = (leaf: string, text: string) =>
    watch.untilTrue(() => watch.latest(`greenhouse/group/roofs/${leaf}`) === text, `${leaf} is ${text}`);
  if (east === undefined || west === undefined) throw new Error("both greenhouses are there");
  return { watch, east, west, send, shows, there };
}

describe.each(brokers)("groups and scenes over $name", { timeout: 120_000 }, (broker) => {
  it("each member has a command and result of its own, and one summary tells which did not", async ({
    stage,
  }) => {
    const { watch, east, west, send, shows } = await scene(stage, broker);
    await shows("quality", "good");
    expect(await send("group/roofs", { command: 20, id: "morning", by: "anna" })).toMatchObject({
      id: "morning",
      group: "roofs",
      command: "20",
      outcome: "confirmed",
      by: "anna",
      missed: [],
      members: [
        { controller: expect.any(String) as string, outcome: "confirmed" },
        { controller: expect.any(String) as string, outcome: "confirmed" },
      ],
    });
    expect(await east.result("roof", "morning/gh-0001/roof")).toMatchObject({
      outcome: "confirmed",
      by: "anna",
    });
    expect(await west.result("roof", "morning/gh-0003/roof")).toMatchObject({
      outcome: "confirmed",
      by: "anna",
    });
    await shows("state", "position");
    await shows("position", "20");

    const lock = { controller: "gh-0003", actuator: "roof", by: "ben" };
    expect(await ask(watch, "lock", lock)).toMatchObject({ status: "ok" });
    const missed = await send("group/roofs", { command: "open", id: "noon" });
    expect(missed).toMatchObject({ outcome: "refused", reason: "interlock", missed: ["gh-0003/roof"] });
    expect(missed["message"]).toMatch(/^1 of 2 members did it; not: gh-0003\/roof refused \(interlock\): /);
    await shows("state", "mixed");
    await shows("position", "");
    expect(await west.posted("101")).toEqual(["10100", "20"]);

    // The same message again is the same command again for every member.
    const again = await send("group/roofs", { command: 20, id: "morning", by: "anna" });
    expect(again).toMatchObject({ outcome: "refused", reason: "duplicate" });
    expect((await east.posted("101")).filter((value) => value === "20")).toHaveLength(1);
  });

  it("a scene sends each its own command; what cannot be understood is refused once, and nothing is sent", async ({
    stage,
  }) => {
    const { watch, east, west, send, shows } = await scene(stage, broker);
    await shows("quality", "good");
    expect(await send("group/roofs", "open")).toMatchObject({
      outcome: expect.stringMatching(/confirmed|already/) as string,
    });
    expect(await send("scene/night", "activate")).toMatchObject({
      scene: "night",
      outcome: "confirmed",
      missed: [],
    });
    expect([await east.register("101"), await west.register("101"), await east.register("150")]).toEqual([
      "10001",
      "10001",
      "1010",
    ]);
    await shows("state", "closed");
    for (const [of, payload, reason] of [
      ["scene/night", "45", "unknown_command"],
      ["scene/nigt", "activate", "unknown_actuator"],
      ["group/roofs", "{", "bad_payload"],
    ] as const)
      expect(await send(of, payload)).toMatchObject({ outcome: "refused", reason, members: [] });
    if (broker.version === 5) {
      expect(await send("group/roofs", "open", true)).toMatchObject({
        outcome: "refused",
        reason: "retained",
      });
      await watch.publish("greenhouse/group/roofs/set", "", { retain: true });
    }
    expect(await send("group/roofs", "0.5")).toMatchObject({ outcome: "refused", reason: "bad_payload" });
  });

  it("Home Assistant gets a cover of the group and a scene", async ({ stage }) => {
    const { watch } = await scene(stage, broker);
    const topic = "homeassistant/device/greenhouse2mqtt_bridge_greenhouse2mqtt/config";
    await watch.untilTrue(
      () => (watch.latest(topic) ?? "").includes("group/roofs"),
      "the group is announced",
    );
    const components = fields(watch.latest(topic) ?? "")["components"] as Record<
      string,
      Record<string, unknown>
    >;
    expect(Object.values(components)).toContainEqual(
      expect.objectContaining({
        platform: "cover",
        name: "All roofs",
        command_topic: "greenhouse/group/roofs/set",
      }),
    );
    expect(Object.values(components)).toContainEqual(
      expect.objectContaining({ platform: "scene", name: "Night", payload_on: "activate" }),
    );
  });
});
