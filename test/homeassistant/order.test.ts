import { describe, expect, test } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { announced, type Setup, start, startAfter, topicOf } from "./discovery-setup.js";
import { actuator, controller, reading, settings } from "./fixtures.js";
import { faultsOf } from "./announcement-faults.js";

/*
 * A state never comes before the announcement that knows it, states follow a changed announcement once more, and what
 * was withdrawn from a Home Assistant that was away is withdrawn again when it is back.
 */

const house = (code: string, ...sensors: string[]): Controller =>
  controller({
    code,
    sensors: sensors.map((name) => reading(name, name, "temperature", "°C")),
    actuators: [actuator({ id: "roof", kind: "skylight", address: "101" })],
  });
const chinese = (code: string, ...sensors: string[]) =>
  JSON.stringify(controllerDocument(house(code, ...sensors), settings({ language: "zh" })));
const english = (code: string, ...sensors: string[]) =>
  JSON.stringify(controllerDocument(house(code, ...sensors), settings()));

/** The controller's sensors that may be published now; null where nothing of it may. */
const visible = ({ output }: Setup, one: Controller, shown?: Controller) => {
  const found = output.gate.visible(shown, one);
  return found === null ? null : [...found.sensors.keys()];
};
const announcedAt = (sent: readonly { at: number; topic: string }[], code: string) =>
  sent.filter(({ topic }) => topic === topicOf(code)).map(({ at }) => at);
const componentsIn = (payload: string | undefined) =>
  (JSON.parse(payload ?? "{}") as { components: Record<string, Record<string, unknown>> }).components;

describe("states and announcements", () => {
  test("nothing of a controller is published before its first announcement, all of it after", async () => {
    const one = house("A", "t1");
    const setup = start(one);
    expect(visible(setup, one)).toBeNull();
    setup.output.connected();
    await setup.clock.advance(100);
    expect(announcedAt(setup.sent, "A")).toEqual([5]);
    expect(visible(setup, one)).toEqual(["t1"]);
    expect(setup.opened).toContainEqual({ at: 10, code: "A", which: "held" });
  });

  test("two seconds after an announcement that is news the states are published again", async () => {
    const setup = start(house("A", "t1"));
    setup.output.connected();
    await setup.clock.advance(10_000);
    expect(setup.opened.filter(({ which }) => which === "all")).toEqual([
      { at: 2_005, code: null, which: "all" },
      { at: 2_010, code: "A", which: "all" },
    ]);
  });

  test("an announcement the broker holds already is no news", async () => {
    const setup = start(house("A", "t1"));
    setup.output.connected();
    setup.output.foreignDocument(topicOf("A"), english("A", "t1"));
    await setup.clock.advance(10_000);
    expect(setup.opened.filter(({ code }) => code === "A")).toEqual([{ at: 10, code: "A", which: "held" }]);
  });

  test("where the broker holds another text for the same entity, states wait until Home Assistant took the new one in", async () => {
    const one = house("A", "t1");
    const setup = start(one);
    setup.output.connected();
    setup.output.foreignDocument(topicOf("A"), chinese("A", "t1"));
    await setup.clock.advance(1_000);
    expect(announcedAt(setup.sent, "A")).toEqual([5]);
    expect(visible(setup, one)).toBeNull();
    await setup.clock.advance(10_000);
    expect(visible(setup, one)).toEqual(["t1"]);
    expect(setup.opened.filter(({ code }) => code === "A")).toEqual([{ at: 2_010, code: "A", which: "all" }]);
  });

  test("an earlier run's announcement with more sensors than were read so far holds nothing back", async () => {
    const one = house("A", "t1");
    const setup = start(one);
    setup.output.connected();
    setup.output.foreignDocument(topicOf("A"), english("A", "t1", "t2"));
    await setup.clock.advance(100);
    expect(visible(setup, one)).toEqual(["t1"]);
  });

  test("a sensor in another unit waits for its announcement and is taken in; the others go on", async () => {
    const before = house("A", "t1", "t2");
    const setup = await announced(10_000, before);
    const kelvin = reading("t1", "t1", "temperature", "K");
    const after = { ...before, sensors: new Map(before.sensors).set("t1", kelvin) };
    setup.change("A", after);
    const unit = () =>
      setup.output.gate.visible(before, after)?.sensors.get("t1")?.definition.unit ?? "nothing";
    const seen: unknown[] = [unit(), visible(setup, after)];
    await setup.clock.advance(3_000);
    seen.push(unit(), announcedAt(setup.take(), "A").length);
    await setup.clock.advance(3_000);
    expect([...seen, unit()]).toEqual(["°C", ["t2"], "°C", 1, "K"]);
  });

  test("a new sensor waits for its announcement alone", async () => {
    const before = house("A", "t1");
    const after = house("A", "t1", "t2");
    const setup = await announced(10_000, before);
    const grown = { ...before, sensors: new Map([...before.sensors, ...[...after.sensors].slice(1)]) };
    setup.change("A", grown);
    expect(visible(setup, grown)).toEqual(["t1"]);
    await setup.clock.advance(2_010);
    expect(announcedAt(setup.take(), "A")).toHaveLength(1);
    expect(visible(setup, grown)).toEqual(["t1", "t2"]);
  });

  test("news that come while Home Assistant may be busy with the message before are said once more", async () => {
    const before = house("A", "t1");
    const setup = start(before);
    setup.output.connected();
    await setup.clock.advance(10_000);
    const grown = { ...before, sensors: new Map([...before.sensors, ...house("A", "t2").sensors]) };
    setup.change("A", grown);
    await setup.clock.advance(120_000);
    const texts = setup.takeOf("A");
    expect(texts.map(({ at }) => at)).toEqual([5, 12_000, 42_005]);
    expect(texts[2]?.payload).toBe(texts[1]?.payload);
    expect(setup.opened.filter(({ which, code }) => which === "all" && code === "A")).toHaveLength(3);
  });

  test("a broker that refuses announcements holds no state back", async () => {
    const one = house("A", "t1");
    const setup = start(one);
    setup.allowed.refused = true;
    setup.output.connected();
    await setup.clock.advance(5_000);
    expect(visible(setup, one)).toEqual(["t1"]);
  });

  test("a device its user deleted holds no state back", async () => {
    const before = house("A", "t1");
    const setup = start(before);
    setup.output.connected();
    await setup.clock.advance(5_000);
    setup.output.foreignDocument(topicOf("A"), "");
    const after = house("A", "t1", "t2");
    setup.change("A", after);
    await setup.clock.advance(5_000);
    expect(visible(setup, after)).toEqual(["t1", "t2"]);
  });
});

describe("removing", () => {
  test("a removed controller's topics are emptied when Home Assistant had time to remove its entities", async () => {
    const setup = start(house("A", "t1"));
    setup.output.connected();
    await setup.clock.advance(5_000);
    setup.change("A", undefined);
    await setup.clock.advance(2_010);
    expect(setup.sent.at(-1)).toMatchObject({ topic: topicOf("A"), payload: "" });
    expect(setup.output.gate.mayClear("A")).toBe(false);
    await setup.clock.advance(2_000);
    expect(setup.output.gate.mayClear("A")).toBe(true);
    expect(setup.opened.at(-1)).toMatchObject({ code: "A" });
  });

  test("topics of an earlier run wait until what reads them is removed", async () => {
    const setup = start(house("A", "t1"));
    setup.allowed.removal = false;
    setup.output.connected();
    setup.output.foreignDocument(topicOf("GONE"), english("GONE", "t1"));
    await setup.clock.advance(5_000);
    expect(setup.output.gate.mayClear(null)).toBe(true);
    setup.allowed.removal = true;
    expect(setup.output.gate.mayClear(null)).toBe(false);
    await setup.clock.advance(1_000);
    expect(setup.sent.at(-1)).toMatchObject({ topic: topicOf("GONE"), payload: "" });
    expect(setup.output.gate.mayClear(null)).toBe(false);
    await setup.clock.advance(2_000);
    expect(setup.output.gate.mayClear(null)).toBe(true);
  });
});

describe("what was withdrawn while Home Assistant was away", () => {
  const day = 24 * 3_600_000;
  const birth = async (setup: Setup, code = "A") => {
    await setup.clock.advance(10_000);
    setup.take();
    setup.output.statusMessage("online", false);
    await setup.clock.advance(20_000);
    return setup.takeOf(code);
  };

  async function withdrawn() {
    const setup = start(house("A", "t1"), house("B", "t1"));
    setup.output.connected();
    await setup.clock.advance(5_000);
    setup.change("A", undefined);
    return setup;
  }

  test("a device is announced and withdrawn again at the next births", async () => {
    const setup = await withdrawn();
    for (const messages of [await birth(setup), await birth(setup)]) {
      expect(messages).toHaveLength(2);
      const [revived, cleared] = messages;
      expect(Object.keys(componentsIn(revived?.payload)).sort()).toEqual(
        Object.keys(componentsIn(english("A", "t1"))).sort(),
      );
      expect(componentsIn(revived?.payload)["cover_101"]).toMatchObject({
        unique_id: componentsIn(english("A", "t1"))["cover_101"]?.["unique_id"],
      });
      expect(faultsOf(topicOf("A"), revived?.payload ?? "")).toEqual([]);
      expect(cleared?.payload).toBe("");
      expect((cleared?.at ?? 0) - (revived?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
    }
  });

  test("also after a restart of the bridge, for thirty days", async () => {
    const { memory, clock } = await withdrawn();
    await clock.advance(10_000);
    const later = startAfter(memory.text, house("B", "t1"));
    later.output.connected();
    await later.clock.advance(29 * day);
    expect(await birth(later)).toHaveLength(2);
    await later.clock.advance(2 * day);
    expect(await birth(later)).toEqual([]);
  });

  test("an entity of a device that stays is announced beside the others, then removed in two steps", async () => {
    const setup = start(house("A", "t1", "t2"));
    setup.output.connected();
    await setup.clock.advance(5_000);
    setup.change("A", house("A", "t1"));
    const payloads = (await birth(setup)).map(({ payload }) => payload);
    const of = (payload: string) => componentsIn(payload)["sensor_name_t2"];
    expect(payloads.map(of)).toEqual([
      expect.objectContaining({ platform: "sensor", unique_id: "greenhouse2mqtt_A_name:t2" }),
      { platform: "sensor" },
      undefined,
    ]);
    for (const payload of payloads) expect(componentsIn(payload)).toHaveProperty("sensor_name_t1");
  });

  test("what came back meanwhile is not withdrawn", async () => {
    const setup = await withdrawn();
    await setup.clock.advance(10_000);
    setup.change("A", house("A", "t1"));
    const payloads = await birth(setup);
    expect(payloads.map(({ payload }) => payload)).toEqual([english("A", "t1")]);
  });

  test("an announcement of a device that is gone, found on the broker, counts too", async () => {
    const setup = start(house("B", "t1"));
    setup.output.connected();
    setup.output.foreignDocument(topicOf("A"), english("A", "t1"));
    expect(await birth(setup)).toHaveLength(2);
  });

  test("a link lost in between leaves nothing announced", async () => {
    const setup = await withdrawn();
    await setup.clock.advance(10_000);
    setup.output.statusMessage("online", false);
    await setup.clock.advance(5_500);
    setup.output.disconnected();
    await setup.clock.advance(60_000);
    setup.output.connected();
    await setup.clock.advance(1_000);
    expect(setup.takeOf("A").at(-1)?.payload).toBe("");
  });

  test("a file that cannot be read costs the reminders alone", async () => {
    for (const text of ["{", "null", '{"topics":{"x":{"components":{"y":{"platform":"teapot"}}}}}']) {
      const setup = startAfter(text, house("B", "t1"));
      setup.output.connected();
      expect(await birth(setup, "B")).toHaveLength(1);
    }
  });
});
