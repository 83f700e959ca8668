import { expect, it } from "vitest";
import type { AlarmType } from "../../src/greenhouse/limits.js";
import { NodeAlarms } from "../../src/sparkplug/alarms.js";
import { sparkplug } from "../../src/sparkplug/feature.js";
import { VirtualClock } from "../support/virtual-clock.js";

/* Alarms of the edge node end where their cause has ended, also those that an earlier run raised. */

const left = (type: AlarmType, controller: string | null = null, state = "active") =>
  ({ type, controller, state }) as const;

function scene(...before: readonly ReturnType<typeof left>[]) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const alarms = new NodeAlarms(
    clock,
    () => before as never,
    (type, { controller }, message) =>
      told.push(`${type} ${controller ?? "node"} ${message === null ? "over" : "on"}`),
  );
  alarms.restore();
  return { clock, alarms, told };
}

it("a birth that leaves ends what an earlier run said of it, and one that does not says so anew", () => {
  const { alarms, told } = scene(left("birth_too_large", "east"), left("birth_too_large", "west"));
  for (const device of ["east", "north"]) alarms.tellSize(device, null);
  alarms.tellSize("west", "takes at most 6000");
  alarms.tellSize("west", "takes at most 6000");
  expect(told).toEqual(["birth_too_large east over", "birth_too_large west on"]);
  alarms.tellSize("west", null);
  expect(told.at(-1)).toBe("birth_too_large west over");
});

it("births of one's own that come late are no other node's", () => {
  const { alarms } = scene();
  const births = ["first", "asked for", "asked for again"].map((text) => Buffer.from(text));
  for (const birth of births) alarms.birthSent(birth);
  expect(births.map((birth) => alarms.isOwnBirth(Buffer.from(birth)))).toEqual([true, true, true]);
  expect(alarms.isOwnBirth(Buffer.from("another"))).toBe(false);
});

it("a device that was gone is judged anew", () => {
  const { alarms, told } = scene();
  alarms.tellSize("east", "takes at most 6000");
  alarms.deviceGone("east");
  alarms.tellSize("east", "takes at most 6000");
  expect(told).toEqual(["birth_too_large east on", "birth_too_large east on"]);
});

it("another node of the name that was heard by an earlier run is over after ten minutes of a link without it", async () => {
  const { clock, alarms, told } = scene(left("duplicate_node"));
  await clock.advance(3_600_000);
  alarms.passTime();
  alarms.onLinked();
  await clock.advance(599_999);
  alarms.onLinked();
  alarms.passTime();
  expect(told).toEqual([]);
  await clock.advance(1);
  alarms.passTime();
  expect(told).toEqual(["duplicate_node node over"]);
  expect(alarms.duplicateEndsAt).toBeNull();
});

it("one that is heard again goes on", async () => {
  const { clock, alarms, told } = scene(left("duplicate_node"));
  alarms.onLinked();
  await clock.advance(300_000);
  alarms.duplicateSeen("greenhouses", "one");
  await clock.advance(300_000);
  alarms.passTime();
  expect(told).toEqual(["duplicate_node node on"]);
});

it("where Sparkplug is switched off, all of them end, and no others", async () => {
  const ended: unknown[] = [];
  const list = [
    left("birth_too_large", "east"),
    left("birth_too_large", "west", "cleared"),
    left("duplicate_node"),
    left("cluster"),
  ];
  const alarms = { list, set: (...of: readonly unknown[]) => ended.push(of) };
  const made = await sparkplug.make(
    { commands: { limits: { alarms } } } as never,
    { sparkplug: { enabled: false } } as never,
  );
  await ("part" in made ? made.part.run() : Promise.resolve());
  expect(ended).toEqual([
    ["birth_too_large", { controller: "east", actuator: null }, null],
    ["duplicate_node", { controller: null, actuator: null }, null],
  ]);
});
