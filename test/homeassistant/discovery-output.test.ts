import { describe, expect, test } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { faultsOf } from "./announcement-faults.js";
import {
  announced,
  bridgeTopic,
  componentsIn,
  house,
  type Setup,
  start,
  startAfter,
  startAmongMany,
  textOf,
  topicOf,
  withFan,
} from "./discovery-setup.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { controller, reading } from "./fixtures.js";

const day = 24 * 3_600_000;
/** It with one sensor more, or another in its place; the others as they are. */
const grown = (one: Controller, name: string, unit = "°C"): Controller => ({
  ...one,
  sensors: new Map(one.sensors).set(name, reading(name, name, "temperature", unit)),
});

describe("connecting", () => {
  test("announces the bridge first, then every controller, spaced, on every connect", async () => {
    const { output, take } = start(house("A", "t1"), house("B", "t1"));
    expect(await take(60_000)).toEqual([]);
    output.onConnected();
    const first = await take(10_000);
    expect(first.map(({ at, topic }) => [at, topic])).toEqual([
      [60_000, bridgeTopic],
      [60_005, topicOf("A")],
      [60_010, topicOf("B")],
    ]);
    output.onConnected();
    expect(await take(1_000)).toEqual(first.map((message) => ({ ...message, at: message.at + 10_000 })));
  });

  test("nothing is published twice on one topic within three seconds, also when the link flaps", async () => {
    const { output, clock, take } = start(house("A"));
    for (let times = 0; times < 20; times += 1) {
      output.onConnected();
      await clock.advance(400);
      output.onDisconnected();
    }
    output.onConnected();
    const sent = await take(10_000);
    for (const topic of [bridgeTopic, topicOf("A")]) {
      const times = sent.filter((message) => message.topic === topic).map(({ at }) => at);
      expect(times.length).toBeGreaterThan(2);
      for (const [place, at] of times.entries())
        expect(at - (times[place - 1] ?? -Infinity)).toBeGreaterThanOrEqual(3_000);
    }
  });

  test("a broker that takes nothing is tried again, and everything follows when it does", async () => {
    const { output, told, allowed } = start(house("A"), house("B"));
    allowed.broker = false;
    output.onConnected();
    expect(await told(30_000)).toEqual([]);
    allowed.broker = true;
    expect((await told(15_000)).sort()).toEqual(["A", "B", "bridge"]);
  });

  test("10,000 controllers are announced one at a time without a pile of work", async () => {
    const { output, take } = start(...Array.from({ length: 10_000 }, (_, at) => house(`GH-${at}`, "t1")));
    output.onConnected();
    const messages = await take(60_000);
    expect([messages.length, messages.at(-1)?.at]).toEqual([10_001, 50_000]);
  });

  test("where each answer takes 45 ms, four announcements are on their way, and states follow the answer to their own", async () => {
    const setup = start(..."ABCDEFGHI".split("").map((code) => house(code, "t1")));
    setup.slow.answerMs = 45;
    setup.output.onConnected();
    const sent = await setup.take(1_000);
    expect(sent.map(({ at }) => at)).toEqual([0, 5, 10, 15, 50, 55, 60, 65, 100, 105]);
    expect(sent.at(0)?.topic).toBe(bridgeTopic);
    const opened = (code: string) => setup.opened.find((one) => one.code === code)?.at;
    expect(["A", "B", "C", "D"].map(opened)).toEqual([55, 60, 65, 100]);
  });

  test("what changes while an announcement is on its way is announced after the answer, not beside it", async () => {
    const { output, slow, change, clock, take } = start(house("A", "t1"));
    slow.answerMs = 9_000;
    output.onConnected();
    await clock.advance(1_000);
    change("A", house("A", "t1", "t2"));
    const times = (await take(30_000)).filter(({ topic }) => topic === topicOf("A")).map(({ at }) => at);
    expect(times.slice(0, 2)).toEqual([5, 12_010]);
  });

  test("stopping ends the run while it waits", async () => {
    const { stop } = await announced(5_000, house("A"));
    await expect(stop()).resolves.toBeUndefined();
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
    const messages = await take(10_000);
    expect(messages.map(({ at }) => at)).toEqual([1_500, 4_505]);
    const keys = Object.keys(componentsIn(messages[1]?.payload));
    expect(keys.filter((key) => key.startsWith("sensor") && key !== "sensor_last-online")).toHaveLength(8);
  });

  test("a new controller of which everything was asked for is announced without waiting for more", async () => {
    const { output, clock, change, take } = await announced(1_000);
    change("A", house("A", "t1"));
    await clock.advance(100);
    output.onTried("A");
    expect((await take(10_000)).map(({ topic, at }) => [topic, at])).toEqual([[topicOf("A"), 1_100]]);
  });

  test("a new value, quality or availability announces nothing", async () => {
    const before = house("A", "t1");
    const { change, told } = await announced(5_000, before);
    const sensors = new Map(
      [...before.sensors].map(([id, one]) => [id, { ...one, value: 9, quality: "stale" as const }]),
    );
    change("A", { ...before, sensors, availability: "offline", problem: true });
    expect(await told(60_000)).toEqual([]);
  });

  test("a renamed controller and a sensor with another unit are announced anew", async () => {
    const before = house("A", "t1");
    const { change, take } = await announced(5_000, before);
    const renamed = { ...before, info: { ...before.info, name: "West house" } };
    for (const after of [renamed, grown(renamed, "t1", "K")]) {
      change("A", after);
      expect((await take(10_000)).map(({ payload }) => payload)).toEqual([textOf(after)]);
    }
  });

  test("a change that ends where it began announces nothing", async () => {
    const { clock, change, told } = await announced(5_000, house("A", "t1"));
    change("A", house("A", "t1", "t2"));
    await clock.advance(100);
    change("A", house("A", "t1"));
    expect(await told(10_000)).toEqual([]);
  });

  test("a sensor that goes is first reduced to its platform, three seconds later left out", async () => {
    const { change, take } = await announced(5_000, house("A", "t1", "t2"));
    change("A", house("A", "t1"));
    const [first, second, ...more] = await take(20_000);
    expect(componentsIn(first?.payload)["sensor_name_t2"]).toEqual({ platform: "sensor" });
    expect(faultsOf(topicOf("A"), first?.payload ?? "")).toEqual([]);
    expect(second?.payload).toBe(textOf(house("A", "t1")));
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
    expect(more).toEqual([]);
  });

  test("a sensor that goes while the first announcement with it is on its way is removed too", async () => {
    const { clock, change, told } = await announced(1_000);
    change("A", house("A", "t1", "t2"));
    await clock.advance(502);
    change("A", house("A", "t1"));
    expect((await told(20_000)).slice(0, 3)).toEqual(["A", "A -sensor_name_t2", "A"]);
  });

  test("a sensor that goes while the broker is away is removed after the return", async () => {
    const { output, clock, change, told, allowed } = await announced(5_000, house("A", "t1", "t2"));
    allowed.broker = false;
    change("A", house("A", "t1"));
    await clock.advance(20_000);
    output.onDisconnected();
    allowed.broker = true;
    output.onConnected();
    expect(await told(20_000)).toEqual(["bridge", "A -sensor_name_t2", "A"]);
  });

  test("a controller removed for good leaves an empty topic", async () => {
    const { change, told } = await announced(5_000, house("A"));
    change("A", undefined);
    expect(await told(20_000)).toEqual(["A cleared"]);
  });

  test("a controller that cannot be announced does not keep the others from it", async () => {
    const broken = controller({ code: "X", info: { id: "not a topic id" } });
    const { output, told, logged } = start(broken, house("A"));
    output.onConnected();
    expect(await told(5_000)).toEqual(["bridge", "A"]);
    expect(logged).toEqual(["cannot announce controller:X to Home Assistant"]);
  });
});

describe("Home Assistant's birth", () => {
  test("everything is announced again after 1 to 5 s, and the states 2 s later", async () => {
    const { born, take } = await announced(10_000, house("A"));
    born();
    expect((await take(20_000)).map(({ at, topic }) => [at, topic])).toEqual([
      [13_000, bridgeTopic],
      [13_005, topicOf("A")],
      [15_010, "states"],
    ]);
  });

  test("several births within the delay count once; `offline` and retained copies do not count", async () => {
    const { output, born, told } = await announced(10_000, house("A"));
    output.statusMessage("online", true);
    output.statusMessage("offline", false);
    expect(await told(20_000)).toEqual([]);
    for (let times = 0; times < 5; times += 1) born();
    expect(await told(20_000)).toEqual(["bridge", "A", "states"]);
  });
});

describe("what is found on the broker", () => {
  test.each([true, false])(
    "what the configuration announced before is removed in two steps (broker there: %s)",
    async (broker) => {
      const { output, take, told, found, allowed } = start(house("A", "t1"));
      Object.assign(allowed, { broker });
      output.onConnected();
      found("A", textOf(withFan(house("A", "t1"))));
      const first = broker ? [] : await take(5_000);
      allowed.broker = true;
      const later = (await told(25_000)).filter((one) => one !== "bridge");
      expect([first, later.slice(0, 2)]).toEqual([
        [],
        ["A -switch_102 -select_102 -sensor_run-time_102", "A"],
      ]);
    },
  );

  test("the same holds for a controller that appears after the scan", async () => {
    const { output, told, found, change, allowed } = start();
    allowed.removal = false;
    output.onConnected();
    found("A", textOf(withFan(house("A", "t1"))));
    expect(await told(5_000)).toEqual(["bridge"]);
    change("A", house("A", "t1"));
    expect(await told(30_000)).toEqual(["A -switch_102 -select_102 -sensor_run-time_102", "A"]);
  });

  test.each([true, false])(
    "a start removes no sensor that was not read yet (listed first: %s)",
    async (isFirst) => {
      const { output, clock, change, found, take } = start(...(isFirst ? [house("A")] : []));
      output.onConnected();
      found("A", textOf(house("A", "t1", "t0")));
      for (const one of [house("A"), house("A", "t0", "t1")]) {
        await clock.advance(5_000);
        change("A", one);
      }
      const payloads = (await take(2 * day)).map(({ payload }) => payload);
      expect(payloads.join()).not.toContain('{"platform":"sensor"}');
      expect(payloads.at(-1)).toBe(textOf(house("A", "t0", "t1")));
    },
  );

  test("a sensor the platform shows no more is removed when it had its time, in two steps", async () => {
    const { output, found, told, allowed } = start(house("A", "t1"));
    output.onConnected();
    found("A", textOf(house("A", "t1", "t0")));
    expect((await told(day)).join()).not.toContain("-");
    allowed.platformHadTime = true;
    expect(await told(2 * 3_600_000)).toEqual(["A -sensor_name_t0", "A", "A"]);
    expect(await told(day)).toEqual([]);
  });

  test("nothing is removed of a controller that has shown nothing at all", async () => {
    const { output, found, told, allowed } = start(house("A"));
    allowed.platformHadTime = true;
    output.onConnected();
    found("A", textOf(house("A", "t1")));
    expect((await told(2 * day)).join()).not.toContain("-");
  });

  test("our own message is known by its topic, since it names a code only as people may see it", async () => {
    const spaced = house("GH  1", "t1");
    const { output, take } = start({ ...spaced, info: { ...spaced.info, id: "gh-1" } });
    output.onConnected();
    const sent = await take(5_000);
    for (const { topic, payload } of sent) output.foreignDocument(topic, payload);
    expect([sent.length, await take(2 * day)]).toEqual([2, []]);
  });

  test("a controller of an earlier run is cleared once removal is allowed, not before", async () => {
    const { output, found, told, allowed } = start(house("A"));
    allowed.removal = false;
    output.onConnected();
    found("GONE", textOf(house("GONE", "t1")));
    expect(await told(60_000)).not.toContain("GONE cleared");
    allowed.removal = true;
    expect(await told(11_000)).toEqual(["GONE cleared"]);
  });

  test("announcements of others are left alone, whatever they look like", async () => {
    const { found, told } = await announced(5_000, house("A"));
    const ours = textOf(house("GONE", "t1"));
    const theirs = [
      ours.replaceAll("greenhouse/", "farm/"),
      ours.replaceAll('"greenhouse2mqtt"', '"esphome"'),
    ];
    for (const payload of [...theirs, "{", "null"]) found("GONE", payload);
    expect(await told(60_000)).toEqual([]);
  });

  test("a device deleted in Home Assistant comes back with its next birth, not before", async () => {
    const { output, born, change, found, told, visible } = await announced(5_000, house("A", "t1"));
    found("A", "");
    change("A", house("A", "t1", "t2"));
    await told(10_000);
    // It holds no state back.
    expect(visible(house("A", "t1", "t2"))).toEqual(["t1", "t2"]);
    output.onConnected();
    expect(await told(10_000)).toEqual(["bridge"]);
    born();
    expect(await told(10_000)).toEqual(["bridge", "A", "states"]);
  });

  test("the echo of our own messages changes nothing, and clearing is not taken for a user's deleting", async () => {
    const { output, change, told, allowed, logged } = start(house("A", "t1"));
    allowed.echo = true;
    output.onConnected();
    expect(await told(5_000)).toEqual(["bridge", "A"]);
    change("A", undefined);
    expect(await told(5_000)).toEqual(["A cleared"]);
    change("A", house("A", "t1"));
    expect(await told(20_000)).toEqual(["A"]);
    expect(logged).toEqual([]);
  });

  test("late echoes neither keep an announcement back nor bring back what was removed since", async () => {
    const { found, change, told } = await announced(5_000, house("A", "t1", "t2"));
    const older = textOf(house("A", "t1", "t2"));
    found("A", "");
    found("A", older);
    change("A", house("A", "t1"));
    expect(await told(10_000)).toEqual(["A -sensor_name_t2", "A"]);
    found("A", older);
    await told(40_000);
    expect(await told(60_000)).toEqual([]);
  });
});

describe("states and announcements", () => {
  const openedOf = ({ opened }: Setup, code: string) =>
    opened.filter((one) => one.code === code).map(({ at, which }) => [at, which]);

  test("nothing of a controller is published before its first announcement, all of it after; two seconds later again", async () => {
    const one = house("A", "t1");
    const setup = start(one);
    expect(setup.visible(one)).toBeNull();
    setup.output.onConnected();
    await setup.clock.advance(100);
    expect(setup.visible(one)).toEqual(["t1"]);
    await setup.clock.advance(10_000);
    expect(openedOf(setup, "A")).toEqual([
      [10, "held"],
      [2_010, "all"],
    ]);
    expect(setup.opened).toContainEqual({ at: 2_005, code: null, which: "all" });
  });

  test.each<[string, string, (string | null)[], [number, string][]]>([
    ["an announcement the broker holds already is no news", textOf(house("A", "t1")), ["t1"], [[10, "held"]]],
    [
      "states wait until Home Assistant took in another text for the same entity",
      textOf(house("A", "t1"), { language: "zh" }),
      [],
      [[2_010, "all"]],
    ],
    [
      "an earlier run's announcement with more sensors than were read so far holds nothing back",
      textOf(house("A", "t1", "t2")),
      ["t1"],
      [
        [10, "held"],
        [2_010, "all"],
      ],
    ],
  ])("%s", async (_, payload, shown, opened) => {
    const one = house("A", "t1");
    const setup = start(one);
    setup.output.onConnected();
    setup.found("A", payload);
    await setup.clock.advance(1_000);
    expect(setup.visible(one) ?? []).toEqual(shown);
    await setup.clock.advance(10_000);
    expect(setup.visible(one)).toEqual(["t1"]);
    expect(openedOf(setup, "A")).toEqual(opened);
  });

  test("a sensor in another unit waits for its announcement and is taken in; the others go on", async () => {
    const before = house("A", "t1", "t2");
    const { change, output, told, visible } = await announced(10_000, before);
    const after = grown(before, "t1", "K");
    change("A", after);
    const unit = () => output.gate.visible(before, after)?.sensors.get("t1")?.definition.unit;
    expect([unit(), visible(after)]).toEqual(["°C", ["t2"]]);
    expect([await told(3_000), unit()]).toEqual([["A"], "°C"]);
    expect([await told(3_000), unit()]).toEqual([[], "K"]);
  });

  test("a new sensor waits for its announcement alone", async () => {
    const before = house("A", "t1");
    const { change, told, visible } = await announced(10_000, before);
    const after = grown(before, "t2");
    change("A", after);
    expect(visible(after)).toEqual(["t1"]);
    expect(await told(2_010)).toEqual(["A"]);
    expect(visible(after)).toEqual(["t1", "t2"]);
  });

  test("a sensor that comes while the first announcement is on its way waits for the next one", async () => {
    const before = house("A", "t1");
    const { clock, change, told, visible } = await announced(1_000);
    change("A", before);
    await clock.advance(502);
    const after = grown(before, "t2");
    change("A", after);
    expect([await told(1_000), visible(after) ?? []]).toEqual([["A"], []]);
    expect([await told(3_000), visible(after)]).toEqual([["A"], ["t1", "t2"]]);
  });

  test("a controller that comes back right after it was removed waits for its announcement", async () => {
    const one = house("A", "t1");
    const { change, told, visible } = await announced(5_000, one);
    change("A", undefined);
    expect(await told(2_010)).toEqual(["A cleared"]);
    change("A", one);
    expect([await told(2_500), visible(one)]).toEqual([[], null]);
    expect([await told(1_000), visible(one)]).toEqual([["A"], ["t1"]]);
  });

  test("news that come while Home Assistant may be busy with the message before are said once more", async () => {
    const before = house("A", "t1");
    const setup = await announced(10_000, before);
    setup.change("A", grown(before, "t2"));
    const texts = await setup.take(120_000);
    expect(texts.map(({ at }) => at)).toEqual([12_000, 42_005]);
    expect(texts[1]?.payload).toBe(texts[0]?.payload);
    expect(openedOf(setup, "A").filter(([, which]) => which === "all")).toHaveLength(3);
  });

  describe("after a lost link", () => {
    const reconnected = async (ms: number, ...houses: Controller[]) => {
      const setup = await announced(10_000, ...houses);
      setup.opened.length = 0;
      setup.output.onDisconnected();
      await setup.clock.advance(ms);
      return setup;
    };

    test("nothing of a controller is published before the broker has its announcement again, and no other one waited for", async () => {
      const houses = [house("A", "t1"), house("B", "t1"), house("C")];
      const setup = await reconnected(5_000, ...houses);
      setup.output.onConnected();
      const shown = () => houses.filter((one) => setup.visible(one) !== null).map(({ info }) => info.code);
      const seen = [shown().join("")];
      for (let ms = 0; ms < 20; ms += 5) {
        await setup.clock.advance(5);
        seen.push(shown().join(""));
      }
      expect(seen).toEqual(["", "", "A", "AB", "ABC"]);
      for (const [place, code] of ["A", "B", "C"].entries())
        expect(openedOf(setup, code)).toEqual([[15_000 + 5 * (place + 2), "held"]]);
    });

    test("what the broker still holds as it was announced is no longer waited for than that is not known", async () => {
      const [one, other] = [house("A", "t1"), house("B", "t1")];
      const { output, allowed, clock, found, opened, visible } = await reconnected(5_000, one, other);
      allowed.broker = false;
      output.onConnected();
      await clock.advance(1_000);
      found("A", textOf(one));
      found("B", textOf(house("B", "t2")));
      expect([visible(one), visible(other)]).toEqual([["t1"], null]);
      expect(opened.map(({ code, which }) => [code, which])).toEqual([["A", "held"]]);
    });

    test("what the broker lacks is announced before what it still holds, whenever that is known", async () => {
      const [one, other] = [house("A", "t1"), house("B", "t1")];
      const { output, found, told } = await reconnected(5_000, one, other, house("C", "t1"));
      await told(0);
      found("A", textOf(one));
      output.onConnected();
      found("B", textOf(other));
      expect(await told(1_000)).toEqual(["bridge", "C", "A", "B"]);
    });

    test("that Home Assistant took in what was announced on it opens nothing on the next one", async () => {
      const one = house("A", "t1");
      const { change, output, allowed, clock, told, visible } = await announced(10_000, one);
      const after = grown(one, "t1", "K");
      change("A", after);
      expect(await told(2_010)).toEqual(["A"]);
      output.onDisconnected();
      allowed.broker = false;
      output.onConnected();
      await clock.advance(5_000);
      expect(visible(after)).toBeNull();
      allowed.broker = true;
      await clock.advance(15_000);
      expect(visible(after)).toEqual(["t1"]);
    });

    test("a sensor that came meanwhile waits for its announcement, and the others no longer than the controller", async () => {
      const one = house("A", "t1");
      const { change, output, clock, visible } = await reconnected(5_000, one);
      const after = grown(grown(one, "t1", "K"), "t2");
      change("A", after);
      output.onConnected();
      await clock.advance(100);
      expect(visible(after)).toEqual([]);
      await clock.advance(3_000);
      expect(visible(after)).toEqual(["t1", "t2"]);
    });
  });

  test("a broker that refuses announcements holds no state back, on later links either", async () => {
    const one = house("A", "t1");
    const { output, allowed, clock, visible } = start(one);
    allowed.refused = true;
    output.onConnected();
    await clock.advance(5_000);
    expect(visible(one)).toEqual(["t1"]);
    output.onDisconnected();
    output.onConnected();
    expect(visible(one)).toEqual(["t1"]);
  });

  test("a broker that refuses announcements is told once for each, and again after it had taken it", async () => {
    const { output, allowed, clock, logged, change } = start(house("A", "t1"));
    const refusals = () => logged.filter((text) => /announcement of controller:A,/.test(text)).length;
    allowed.refused = true;
    output.onConnected();
    await clock.advance(60_000);
    expect(refusals()).toBe(1);
    allowed.refused = false;
    await clock.advance(60_000);
    allowed.refused = true;
    change("A", house("A", "t1", "t2"));
    await clock.advance(60_000);
    expect(refusals()).toBe(2);
  });
});

describe("removing", () => {
  test("a removed controller's topics are emptied when Home Assistant had time to remove its entities", async () => {
    const { change, output, opened, told } = await announced(5_000, house("A", "t1"));
    change("A", undefined);
    expect([await told(2_010), output.gate.mayClear("A")]).toEqual([["A cleared"], false]);
    expect([await told(2_000), output.gate.mayClear("A")]).toEqual([[], true]);
    expect(opened.at(-1)).toMatchObject({ code: "A" });
  });

  test("topics of an earlier run wait until what reads them is removed", async () => {
    const { allowed, found, output, told } = start(house("A", "t1"));
    allowed.removal = false;
    output.onConnected();
    found("GONE", textOf(house("GONE", "t1")));
    await told(5_000);
    const mayClear = () => output.mayClearLeftovers();
    expect(mayClear()).toBe(true);
    allowed.removal = true;
    expect([mayClear(), await told(1_000), mayClear()]).toEqual([false, ["GONE cleared"], false]);
    expect([await told(2_000), mayClear()]).toEqual([[], true]);
  });
});

describe("what was withdrawn while Home Assistant was away", () => {
  /** What is sent of a controller at the next birth. */
  const birth = async ({ born, take }: Setup, code = "A") => {
    await take(10_000);
    born();
    return (await take(20_000)).filter(({ topic }) => topic === topicOf(code));
  };

  async function withdrawn() {
    const setup = await announced(5_000, house("A", "t1"), house("B", "t1"));
    setup.change("A", undefined);
    return setup;
  }

  test("a device is announced and withdrawn again at the next births", async () => {
    const setup = await withdrawn();
    const whole = componentsIn(textOf(house("A", "t1")));
    for (const [revived, cleared, ...more] of [await birth(setup), await birth(setup)]) {
      const components = componentsIn(revived?.payload);
      expect(Object.keys(components).sort()).toEqual(Object.keys(whole).sort());
      expect(components["cover_101"]?.["unique_id"]).toBe(whole["cover_101"]?.["unique_id"]);
      expect(faultsOf(topicOf("A"), revived?.payload ?? "")).toEqual([]);
      expect([cleared?.payload, more]).toEqual(["", []]);
      expect((cleared?.at ?? 0) - (revived?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
    }
  });

  test("also after a restart of the bridge, for thirty days, however many births there are", async () => {
    const { memory, clock } = await withdrawn();
    await clock.advance(10_000);
    const later = startAfter(memory.text, house("B", "t1"));
    later.output.onConnected();
    for (const wait of [10 * day, 19 * day]) {
      await later.clock.advance(wait);
      expect(await birth(later)).toHaveLength(2);
    }
    await later.clock.advance(2 * day);
    expect(await birth(later)).toEqual([]);
  });

  test("an entity of a device that stays is announced beside the others, then removed in two steps, for thirty days too", async () => {
    const setup = await announced(5_000, house("A", "t1", "t2"));
    setup.change("A", house("A", "t1"));
    for (const wait of [0, 29 * day]) {
      await setup.clock.advance(wait);
      const components = (await birth(setup)).map(({ payload }) => componentsIn(payload));
      expect(components.slice(0, 3).map((one) => one["sensor_name_t2"])).toEqual([
        expect.objectContaining({ platform: "sensor", unique_id: "greenhouse2mqtt_A_name:t2" }),
        { platform: "sensor" },
        undefined,
      ]);
      for (const one of components) expect(one).toHaveProperty("sensor_name_t1");
    }
    await setup.clock.advance(2 * day);
    expect(await birth(setup)).toHaveLength(1);
  });

  test("what came back meanwhile is not withdrawn", async () => {
    const setup = await withdrawn();
    await setup.clock.advance(10_000);
    setup.change("A", house("A", "t1"));
    expect((await birth(setup)).map(({ payload }) => payload)).toEqual([textOf(house("A", "t1"))]);
  });

  test("an announcement of a device that is gone, found on the broker, counts too", async () => {
    const setup = start(house("B", "t1"));
    setup.output.onConnected();
    setup.found("A", textOf(house("A", "t1")));
    expect(await birth(setup)).toHaveLength(2);
  });

  test("a link lost in between leaves nothing announced", async () => {
    const { born, clock, output, told } = await withdrawn();
    await clock.advance(10_000);
    born();
    await clock.advance(5_500);
    output.onDisconnected();
    await clock.advance(60_000);
    output.onConnected();
    expect((await told(1_000)).filter((one) => one.startsWith("A")).at(-1)).toBe("A cleared");
  });

  test.each(["{", "null", '{"topics":{"x":{"components":{"y":{"platform":"teapot"}}}}}'])(
    "a file that cannot be read costs the reminders alone: %s",
    async (text) => {
      const setup = startAfter(text, house("B", "t1"));
      setup.output.onConnected();
      expect(await birth(setup, "B")).toHaveLength(1);
    },
  );
});

describe("one of many bridges at a broker", () => {
  const info = (code: string) => JSON.stringify({ code, name: code });
  const broker = (holds: Readonly<Record<string, string>> = {}) => {
    const asked: (readonly string[])[] = [];
    return { holds: new Map(Object.entries(holds)), opened: Promise.resolve(), asked };
  };

  test("asks for its own announcements alone, all at once and at each link, and before it announces anything there", async () => {
    const at = broker();
    const { output, change, told } = startAmongMany(at, null, house("A", "t1"), house("B", "t1"));
    expect(at.asked).toEqual([]);
    output.onConnected();
    await Promise.resolve();
    const all = [bridgeTopic, topicOf("A"), topicOf("B")];
    expect(at.asked).toEqual([all]);
    await told(10_000);
    change("C", house("C", "t1"));
    await told(10_000);
    output.onDisconnected();
    output.onConnected();
    await told(10_000);
    expect(at.asked).toEqual([all, [topicOf("C")], [...all, topicOf("C")]]);
  });

  test("takes back what an earlier run announced, which it knows by what that left below its base topic", async () => {
    const former = topicOf("bridge_former");
    const old = textOf(house("GONE", "t1"));
    const foreign = old.replaceAll("greenhouse/", "elsewhere/");
    const at = broker({ [topicOf("GONE")]: old, [former]: old, [topicOf("OTHER")]: foreign });
    const { output, told } = startAmongMany(at, null, house("A", "t1"));
    output.onConnected();
    for (const code of ["GONE", "OTHER"]) output.onFound(`greenhouse/${code.toLowerCase()}/info`, info(code));
    output.onFound("greenhouse/bridge/info", JSON.stringify({ settings: { client_id: "former" } }));
    output.onFound("greenhouse/gone/sensor/t1/json", info("X"));
    expect((await told(20_000)).filter((one) => one.endsWith("cleared")).sort()).toEqual([
      "GONE cleared",
      "bridge_former cleared",
    ]);
    expect(at.asked.flat()).not.toContain(topicOf("X"));
  });

  test("empties no topic of an earlier run while the announcement beside it was not looked at", async () => {
    const answer: { open: () => void } = { open: () => undefined };
    const opened = new Promise<void>((resolve) => (answer.open = resolve));
    const { output, told } = startAmongMany({ ...broker(), opened }, null, house("A", "t1"));
    output.onConnected();
    output.onFound("greenhouse/gone/info", info("GONE"));
    await told(10_000);
    expect(output.mayClearLeftovers()).toBe(false);
    answer.open();
    await told(10_000);
    expect(output.mayClearLeftovers()).toBe(true);
  });

  test("looks again at what it withdrew before, though nothing else tells of it any more", async () => {
    const kept = { platform: "sensor", unique_id: "u", at: new VirtualClock().now() };
    const topics = { [topicOf("GONE")]: { code: "GONE", components: { sensor_t1: kept } } };
    const at = broker({ [topicOf("GONE")]: textOf(house("GONE", "t1")) });
    const { output, told } = startAmongMany(at, JSON.stringify({ version: 1, topics }));
    await told(1);
    output.onConnected();
    expect(await told(20_000)).toContain("GONE cleared");
  });
});
