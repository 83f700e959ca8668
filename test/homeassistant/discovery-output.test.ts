import { describe, expect, test } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { announced, bridgeTopic, keysOf, start, topicOf } from "./discovery-setup.js";
import { actuator, controller, reading, settings } from "./fixtures.js";
import { faultsOf } from "./announcement-faults.js";

const house = (code: string, ...sensors: string[]): Controller =>
  controller({ code, sensors: sensors.map((name) => reading(name, name, "temperature", "°C")) });

describe("connecting", () => {
  test("announces the bridge first, then every controller, spaced, on every connect", async () => {
    const { output, clock, take } = start(house("A", "t1"), house("B", "t1"));
    await clock.advance(60_000);
    expect(take()).toEqual([]);
    output.connected();
    await clock.advance(1_000);
    const first = take();
    expect(first.map(({ topic }) => topic)).toEqual([bridgeTopic, topicOf("A"), topicOf("B")]);
    expect(first.map(({ at }) => at)).toEqual([60_000, 60_005, 60_010]);
    await clock.advance(10_000);
    output.connected();
    await clock.advance(1_000);
    expect(take()).toEqual(first.map((message, at) => ({ ...message, at: 71_000 + 5 * at })));
  });

  test("nothing is published twice on one topic within three seconds, also when the link flaps", async () => {
    const { output, clock, sent } = start(house("A"));
    for (let times = 0; times < 20; times += 1) {
      output.connected();
      await clock.advance(400);
      output.disconnected();
    }
    output.connected();
    await clock.advance(10_000);
    for (const topic of [bridgeTopic, topicOf("A")]) {
      const times = sent.filter((message) => message.topic === topic).map(({ at }) => at);
      expect(times.length).toBeGreaterThan(2);
      for (const [place, at] of times.entries())
        expect(at - (times[place - 1] ?? -Infinity)).toBeGreaterThanOrEqual(3_000);
    }
  });

  test("a broker that takes nothing is tried about once a second, and everything follows when it does", async () => {
    const { output, clock, take, allowed } = start(house("A"), house("B"));
    allowed.broker = false;
    output.connected();
    await clock.advance(30_000);
    expect(take()).toEqual([]);
    allowed.broker = true;
    await clock.advance(15_000);
    const topics = take().map(({ topic }) => topic);
    expect(topics.sort()).toEqual([topicOf("A"), topicOf("B"), bridgeTopic].sort());
  });
});

describe("changes", () => {
  test("sensors that appear one by one cost two messages, and the first comes at once", async () => {
    const { clock, change, take } = await announced(1_000);
    const names = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"];
    for (const at of names.keys()) {
      change("A", house("A", ...names.slice(0, at)));
      await clock.advance(100);
    }
    change("A", house("A", ...names));
    await clock.advance(10_000);
    const messages = take();
    expect(messages.map(({ at }) => at)).toEqual([1_500, 4_505]);
    expect(keysOf(messages[1]?.payload ?? "{}").filter((key) => key.startsWith("sensor"))).toHaveLength(8);
  });

  test("a new controller of which everything was asked for is announced without waiting for more", async () => {
    const { output, clock, change, take } = await announced(1_000);
    change("A", house("A", "t1"));
    await clock.advance(100);
    output.tried("A");
    await clock.advance(10_000);
    expect(take().map(({ topic, at }) => [topic, at])).toEqual([[topicOf("A"), 1_100]]);
  });

  test("a new value, quality or availability announces nothing", async () => {
    const { clock, change, take } = await announced(5_000, house("A", "t1"));
    const before = house("A", "t1");
    change("A", before);
    await clock.advance(10_000);
    take();
    const sensors = new Map(
      [...before.sensors].map(([id, one]) => [id, { ...one, value: 9, quality: "stale" as const }]),
    );
    change("A", { ...before, sensors, availability: "offline", problem: true });
    await clock.advance(60_000);
    expect(take()).toEqual([]);
  });

  test("a renamed controller and a sensor with another unit are announced anew", async () => {
    const before = house("A", "t1");
    const { clock, change, take } = await announced(5_000, before);
    const renamed = { ...before, info: { ...before.info, name: "West house" } };
    change("A", renamed);
    await clock.advance(10_000);
    expect(take().map(({ payload }) => payload.includes("West house"))).toEqual([true]);
    const kelvin = reading("t1", "t1", "temperature", "K");
    change("A", { ...renamed, sensors: new Map([["t1", kelvin]]) });
    await clock.advance(10_000);
    expect(take().map(({ payload }) => payload.includes('"unit_of_measurement":"K"'))).toEqual([true]);
  });

  test("a change that ends where it began announces nothing", async () => {
    const { clock, change, take } = await announced(5_000, house("A", "t1"));
    change("A", house("A", "t1", "t2"));
    await clock.advance(100);
    change("A", house("A", "t1"));
    await clock.advance(10_000);
    expect(take()).toEqual([]);
  });

  test("a sensor that goes is first reduced to its platform, three seconds later left out", async () => {
    const { clock, change, take } = await announced(5_000, house("A", "t1", "t2"));
    change("A", house("A", "t1"));
    await clock.advance(20_000);
    const [first, second, ...more] = take();
    const components = (payload: string | undefined) =>
      (JSON.parse(payload ?? "{}") as { components: Record<string, unknown> }).components;
    expect(components(first?.payload)["sensor_name_t2"]).toEqual({ platform: "sensor" });
    expect(faultsOf(topicOf("A"), first?.payload ?? "")).toEqual([]);
    expect(components(second?.payload)).not.toHaveProperty("sensor_name_t2");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
    expect(more).toEqual([]);
  });

  test("a sensor that goes while the first announcement with it is on its way is removed too", async () => {
    const { clock, change, take } = await announced(1_000);
    change("A", house("A", "t1", "t2"));
    await clock.advance(502);
    change("A", house("A", "t1"));
    await clock.advance(20_000);
    const removed = take().map(({ payload }) => payload.includes('"sensor_name_t2":{"platform":"sensor"}'));
    expect(removed.slice(0, 3)).toEqual([false, true, false]);
  });

  test("a sensor that goes while the broker is away is removed after the return", async () => {
    const { output, clock, change, take, allowed } = await announced(5_000, house("A", "t1", "t2"));
    allowed.broker = false;
    change("A", house("A", "t1"));
    await clock.advance(20_000);
    output.disconnected();
    allowed.broker = true;
    output.connected();
    await clock.advance(20_000);
    const payloads = take()
      .filter(({ topic }) => topic === topicOf("A"))
      .map(({ payload }) => payload);
    expect(payloads).toHaveLength(2);
    expect(payloads[0]).toContain('"sensor_name_t2":{"platform":"sensor"}');
    expect(payloads[1]).not.toContain("sensor_name_t2");
  });

  test("a controller removed for good leaves an empty topic", async () => {
    const { clock, change, take } = await announced(5_000, house("A"));
    change("A", undefined);
    await clock.advance(20_000);
    expect(take().map(({ topic, payload }) => [topic, payload])).toEqual([[topicOf("A"), ""]]);
  });

  test("a controller that cannot be announced does not keep the others from it", async () => {
    const broken = controller({ code: "X", info: { id: "not a topic id" } });
    const { output, clock, take, logged } = start(broken, house("A"));
    output.connected();
    await clock.advance(5_000);
    expect(take().map(({ topic }) => topic)).toEqual([bridgeTopic, topicOf("A")]);
    expect(logged).toEqual(["cannot announce controller:X to Home Assistant"]);
  });
});

describe("Home Assistant's birth", () => {
  test("everything is announced again after 1 to 5 s, and the states 2 s later", async () => {
    const { output, clock, take } = await announced(10_000, house("A"));
    output.statusMessage("online", false);
    await clock.advance(20_000);
    expect(take().map(({ at, topic }) => [at, topic])).toEqual([
      [13_000, bridgeTopic],
      [13_005, topicOf("A")],
      [15_010, "states"],
    ]);
  });

  test("several births within the delay count once; `offline` and retained copies do not count", async () => {
    const { output, clock, take } = await announced(10_000, house("A"));
    output.statusMessage("online", true);
    output.statusMessage("offline", false);
    await clock.advance(20_000);
    expect(take()).toEqual([]);
    for (let times = 0; times < 5; times += 1) output.statusMessage("online", false);
    await clock.advance(20_000);
    expect(take().map(({ topic }) => topic)).toEqual([bridgeTopic, topicOf("A"), "states"]);
  });
});

describe("what is found on the broker", () => {
  const old = (code: string, ...sensors: string[]) =>
    JSON.stringify(controllerDocument(house(code, ...sensors), settings()));

  const withFan = (one: Controller): Controller => ({
    ...one,
    actuators: new Map([["fan", actuator({ id: "fan", kind: "circulation_fan" })]]),
  });
  const oldWithFan = JSON.stringify(controllerDocument(withFan(house("A", "t1")), settings()));
  const documents = (sent: readonly { topic: string; payload: string }[]) =>
    sent.filter(({ topic }) => topic === topicOf("A")).map(({ payload }) => payload);
  const fanRemoved = '"select_101":{"platform":"select"}';
  const day = 24 * 3_600_000;

  test("what the configuration announced and does not any more is removed in two steps", async () => {
    const { output, clock, take } = start(house("A", "t1"));
    output.connected();
    output.foreignDocument(topicOf("A"), oldWithFan);
    await clock.advance(20_000);
    const payloads = documents(take());
    expect(payloads[0]).toContain(fanRemoved);
    expect(payloads[1]).not.toContain("select_101");
    expect(payloads).toHaveLength(2);
  });

  test("it is removed in two steps also when the broker fails to take the first", async () => {
    const { output, clock, take, allowed } = start(house("A", "t1"));
    allowed.broker = false;
    output.connected();
    output.foreignDocument(topicOf("A"), oldWithFan);
    await clock.advance(5_000);
    allowed.broker = true;
    await clock.advance(30_000);
    expect(documents(take()).map((payload) => payload.includes("select_101"))).toEqual([true, false]);
  });

  test("the same holds for a controller that appears after the scan", async () => {
    const { output, clock, change, take, allowed } = start();
    allowed.removal = false;
    output.connected();
    output.foreignDocument(topicOf("A"), oldWithFan);
    await clock.advance(5_000);
    change("A", house("A", "t1"));
    allowed.removal = true;
    await clock.advance(30_000);
    expect(documents(take()).map((payload) => payload.includes("select_101"))).toEqual([true, false]);
  });

  test("a start removes no sensor that was not read yet, however it finds the controller", async () => {
    for (const isListedFirst of [true, false]) {
      const { output, clock, change, take } = start(...(isListedFirst ? [house("A")] : []));
      output.connected();
      output.foreignDocument(topicOf("A"), old("A", "t1", "t0"));
      await clock.advance(5_000);
      change("A", house("A"));
      await clock.advance(5_000);
      change("A", house("A", "t0", "t1"));
      await clock.advance(2 * day);
      const payloads = documents(take());
      expect(payloads.join()).not.toContain('{"platform":"sensor"}');
      expect(payloads.at(-1)).toContain("sensor_name_t0");
    }
  });

  test("a sensor the platform shows no more is removed when it had its time, in two steps", async () => {
    const { output, clock, take, allowed } = start(house("A", "t1"));
    output.connected();
    output.foreignDocument(topicOf("A"), old("A", "t1", "t0"));
    await clock.advance(day);
    expect(documents(take()).join()).not.toContain("sensor_name_t0");
    allowed.platformHadTime = true;
    await clock.advance(2 * 3_600_000);
    const removed = documents(take()).map((payload) =>
      payload.includes('"sensor_name_t0":{"platform":"sensor"}'),
    );
    expect(removed.slice(0, 2)).toEqual([true, false]);
    expect(removed.slice(2)).not.toContain(true);
    await clock.advance(day);
    expect(take()).toEqual([]);
  });

  test("nothing is removed of a controller that has shown nothing at all", async () => {
    const { output, clock, take, allowed } = start(house("A"));
    allowed.platformHadTime = true;
    output.connected();
    output.foreignDocument(topicOf("A"), old("A", "t1"));
    await clock.advance(2 * day);
    expect(documents(take()).join()).not.toContain("sensor_name_t1");
  });

  test("our own message is known by its topic, since it names a code only as people may see it", async () => {
    const spaced = house("GH  1", "t1");
    const { output, clock, take } = start({ ...spaced, info: { ...spaced.info, id: "gh-1" } });
    output.connected();
    await clock.advance(5_000);
    const sent = take().filter(({ topic }) => topic !== bridgeTopic);
    for (const { topic, payload } of sent) output.foreignDocument(topic, payload);
    await clock.advance(2 * day);
    expect([sent.length, take()]).toEqual([1, []]);
  });

  test("a controller of an earlier run is cleared once removal is allowed, not before", async () => {
    const { output, clock, take, allowed } = start(house("A"));
    allowed.removal = false;
    output.connected();
    output.foreignDocument(topicOf("GONE"), old("GONE", "t1"));
    await clock.advance(60_000);
    expect(take().map(({ topic }) => topic)).not.toContain(topicOf("GONE"));
    allowed.removal = true;
    await clock.advance(11_000);
    expect(take().map(({ topic, payload }) => [topic, payload])).toEqual([[topicOf("GONE"), ""]]);
  });

  test("announcements of others are left alone, whatever they look like", async () => {
    const { output, clock, take } = await announced(5_000, house("A"));
    const theirs = old("GONE", "t1").replaceAll("greenhouse/", "farm/");
    for (const payload of [theirs, "{", "null", old("GONE").replaceAll('"greenhouse2mqtt"', '"esphome"')])
      output.foreignDocument(topicOf("GONE"), payload);
    await clock.advance(60_000);
    expect(take()).toEqual([]);
  });

  test("a device deleted in Home Assistant comes back with its next birth, not before", async () => {
    const { output, clock, change, take } = await announced(5_000, house("A", "t1"));
    output.foreignDocument(topicOf("A"), "");
    change("A", house("A", "t1", "t2"));
    await clock.advance(10_000);
    output.connected();
    await clock.advance(10_000);
    expect(take().map(({ topic }) => topic)).toEqual([bridgeTopic]);
    output.statusMessage("online", false);
    await clock.advance(10_000);
    expect(take().map(({ topic }) => topic)).toEqual([bridgeTopic, topicOf("A"), "states"]);
  });

  test("the echo of our own messages, clearing included, changes nothing", async () => {
    const { output, clock, change, take } = start(house("A", "t1"));
    output.connected();
    await clock.advance(5_000);
    for (const { topic, payload } of take()) output.foreignDocument(topic, payload);
    change("A", undefined);
    await clock.advance(5_000);
    for (const { topic, payload } of take()) output.foreignDocument(topic, payload);
    change("A", house("A", "t1"));
    await clock.advance(10_000);
    const [again, ...more] = take();
    expect([again?.topic, more]).toEqual([topicOf("A"), []]);
    output.foreignDocument(topicOf("A"), again?.payload ?? "");
    await clock.advance(10_000);
    expect(take()).toEqual([]);
  });
});

describe("echoes of our own messages on a broker that sends them back", () => {
  test("clearing is not taken for a user's deleting", async () => {
    const { output, clock, change, take, allowed, logged } = start(house("A", "t1"));
    allowed.echo = true;
    output.connected();
    await clock.advance(5_000);
    change("A", undefined);
    await clock.advance(5_000);
    change("A", house("A", "t1"));
    await clock.advance(10_000);
    expect(take().map(({ topic, payload }) => [topic, payload === ""])).toEqual([
      [bridgeTopic, false],
      [topicOf("A"), false],
      [topicOf("A"), true],
      [topicOf("A"), false],
    ]);
    expect(logged).toEqual([]);
  });

  test("a late echo of clearing before a new announcement is undone by that one's echo", async () => {
    const { output, clock, change, take } = start(house("A", "t1"));
    output.connected();
    await clock.advance(5_000);
    const announced = take().at(-1)?.payload ?? "";
    output.foreignDocument(topicOf("A"), "");
    output.foreignDocument(topicOf("A"), announced);
    change("A", house("A", "t1", "t2"));
    await clock.advance(10_000);
    expect(take()).toHaveLength(1);
  });

  test("a late echo of an older message does not bring back what was removed since", async () => {
    const { output, clock, change, take } = start(house("A", "t1", "t2"));
    output.connected();
    await clock.advance(5_000);
    const older = take().at(-1)?.payload ?? "";
    output.foreignDocument(topicOf("A"), older);
    change("A", house("A", "t1"));
    await clock.advance(10_000);
    take();
    output.foreignDocument(topicOf("A"), older);
    await clock.advance(20_000);
    expect(take()).toEqual([]);
  });
});

test("10,000 controllers are announced one at a time without a pile of work", async () => {
  const { output, clock, take } = start(
    ...Array.from({ length: 10_000 }, (_, at) => house(`GH-${at}`, "t1")),
  );
  output.connected();
  await clock.advance(60_000);
  const messages = take();
  expect(messages).toHaveLength(10_001);
  expect(messages.at(-1)?.at).toBe(50_000);
});

test("stopping ends the run while it waits", async () => {
  const { stop } = await announced(5_000, house("A"));
  await expect(stop()).resolves.toBeUndefined();
});
