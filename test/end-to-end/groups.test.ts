import { describe, expect } from "vitest";
import { brokers } from "./support/brokers.js";
import { houseOf } from "./support/house.js";
import { installation } from "./support/installation.js";
import { journalOf, untilJournaled } from "./support/journal.js";
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
  const again = () => there.start(configurationFor(platform.url, there.section, configured));
  await again();
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
  return { watch, east, west, results, send, shows, there, again };
}

const isRefusal = ({ group }: Readonly<Record<string, unknown>>): boolean =>
  !(group as { readonly is_taken: boolean }).is_taken;

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

  it("kill -9 costs no group its one result, with the members that had ended, and the same id asks nobody twice", async ({
    stage,
  }) => {
    const { watch, east, west, results, shows, there, again } = await scene(stage, broker);
    await shows("quality", "good");
    await east.fault({ fault: "slow", operation: "set-value", delay: "5m" });
    await watch.publish("greenhouse/group/roofs/set", JSON.stringify({ command: 20, id: "cut", by: "anna" }));
    expect(await west.result("roof", "cut/gh-0003/roof")).toMatchObject({ outcome: "confirmed" });
    await east.untilPosted("101", 1);
    await there.bridge.end("SIGKILL");
    const of = (record: Readonly<Record<string, unknown>>) => record["type"] === "group_ended";
    expect((await journalOf(stage)).filter(of)).toEqual([]);

    await again();
    const { group } = await untilJournaled(stage, of);
    expect(group).toMatchObject({
      told: {
        ...{
          id: "cut",
          group: "roofs",
          command: "20",
          by: "anna",
          outcome: "failed",
          missed: ["gh-0001/roof"],
        },
        members: [
          { controller: "gh-0001", outcome: "failed" },
          { controller: "gh-0003", outcome: "confirmed" },
        ],
      },
    });
    const told = () =>
      results("group/roofs").filter(({ id, reason }) => id === "cut" && reason !== "duplicate");
    // The embedded broker is gone with the program, and its clients come back behind what is told first.
    if (!broker.embedded) await watch.untilTrue(() => told().length > 0, "the result of the group");
    const posts = (await west.posted("101")).length;
    await shows("quality", "good");
    await watch.publish("greenhouse/group/roofs/set", JSON.stringify({ command: 20, id: "cut", by: "anna" }));
    const repetition = () => results("group/roofs").find(({ reason }) => reason === "duplicate");
    await watch.untilTrue(() => repetition() !== undefined, "the answer to the same id");
    expect(repetition()).toMatchObject({ outcome: "refused", original: { id: "cut", outcome: "failed" } });
    expect(await west.posted("101")).toHaveLength(posts);
    const repeated = told().map((one) => one["repeated"]);
    expect(repeated).toEqual(broker.embedded ? repeated.slice(0, 1) : [false]);
    const taken = (await journalOf(stage)).filter((one) => of(one) && !isRefusal(one));
    expect(taken).toHaveLength(1);
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
