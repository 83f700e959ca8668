import { expect, it } from "vitest";
import type { CommandRig } from "../support/command-rig.js";
import { fields, until } from "../support/watch.js";

/** Greenhouses these rules take. */
export const housesForPushes = 3;

/** What the platform pushes is shown while polling rests. */
export function followsPushes(rig: () => CommandRig): void {
  it("shows what somebody else does to an actuator as soon as it is pushed, source push", async () => {
    const { watch } = rig();
    const house = rig().house();
    await house.moveByHand("210", "1010");
    const json = await until(
      watch,
      `${house.topic("valve")}/json`,
      // It stays stale for a moment where the platform was away in the rule before and is found back by this very read.
      (text) => fields(text)["state"] === "on" && fields(text)["quality"] === "good",
    );
    expect(fields(json)).toMatchObject({ value: "1010", source: "push" });
    await house.moveByHand("101", "45");
    await until(watch, `${house.topic("roof")}/state`, "position");
  });

  it("shows a running status as soon as it is pushed", async () => {
    const { watch } = rig();
    const house = rig().house();
    const statuses = new RegExp(`^greenhouse/${house.id}/status/[^/]+/json$`);
    const shown = () => [...watch.current(statuses).values()].map(fields);
    const fan = () => shown().find(({ name }) => name === "一级风机");
    await watch.untilTrue(() => fan()?.["state"] === "off", "the fan stands");
    await house.moveByHand("140", "11110");
    await watch.untilTrue(() => fan()?.["state"] === "on", "the fan runs");
  });

  it("shows that a controller went offline as soon as it is pushed, and its return", async () => {
    const { watch, platform } = rig();
    const house = rig().house();
    const availability = `greenhouse/${house.id}/availability`;
    await until(watch, availability, "online");
    await platform.tell("set_online", { controller: house.code, online: false });
    await until(watch, availability, "offline");
    await platform.tell("set_online", { controller: house.code, online: true });
    await until(watch, availability, "online");
  });
}
