import { expectNever, expectOutcome, expectShown, type Row, stayedOnline } from "../row.js";
import { fieldsOf, textOf } from "../history.js";
import { commanded, targets, topicOf } from "../support/house.js";
import type { World } from "../support/world.js";
import { platform, wait } from "./kinds.js";

/* C: values that are old, impossible or from a device that is gone, and clocks that are set. */

/** A command that ended confirmed or already has read its address from the device itself. */
async function everyTargetReadFresh({ recorder }: World): Promise<void> {
  const from = recorder.messages.length;
  const isFresh = (id: string) =>
    recorder.messages
      .slice(from)
      .some(
        ({ topic, payload }) =>
          topic === `${topicOf(commanded, id)}/result` &&
          ["confirmed", "already"].includes(textOf(fieldsOf(payload)["outcome"])),
      );
  const until = Date.now() + 60_000;
  for (const id of Object.keys(targets))
    while (!isFresh(id)) {
      if (Date.now() > until) throw new Error(`no command to ${id} was confirmed for a minute`);
      await wait(100);
    }
}

const year = 365 * 86_400_000;

export const stateRows: readonly Row[] = [
  platform({
    name: "sensors frozen",
    how: "a controller's readings keep their time for 28 s",
    expected: "quality stale, the value stays",
    holdMs: 28_000,
    reducedHoldMs: 22_000,
    begin: ({ platform }) => platform.tell("freeze_sensors", { controller: "GH-0001" }),
    end: ({ platform }) => platform.tell("unfreeze_sensors", { controller: "GH-0001" }),
    check: (seen) => [
      ...stayedOnline(seen),
      ...expectShown(seen, "greenhouse/gh-0001/sensor/airtemp/quality", "stale"),
    ],
  }),
  platform({
    name: "controller offline",
    aboutMs: 9_000,
    how: "the platform says offline for 14 s",
    expected: "availability offline, commands refused at once",
    holdMs: 14_000,
    reducedHoldMs: 10_000,
    begin: ({ platform }) => platform.tell("set_online", { controller: "GH-0001", online: false }),
    end: ({ platform }) => platform.tell("set_online", { controller: "GH-0001", online: true }),
    check: (seen) => [
      ...expectShown(seen, "greenhouse/gh-0001/availability", "offline"),
      ...expectOutcome(seen, "refused/controller_offline"),
    ],
  }),
  platform({
    name: "a list that says offline",
    how: "the list of controllers says offline for 14 s, the device's own status online",
    expected: "the controller stays online and takes commands",
    holdMs: 14_000,
    begin: ({ platform }) => platform.fault({ fault: "listed_offline", controller: commanded, chance: 1 }),
    end: ({ platform }) => platform.tell("clear_faults"),
    check: (seen) => [
      ...stayedOnline(seen),
      ...expectNever(seen, "greenhouse/gh-0001/availability", "offline"),
      ...expectOutcome(seen, "confirmed", "already"),
    ],
  }),
  platform({
    name: "a page of the list",
    how: "the list of controllers holds one of them for 14 s, beside the count of all",
    expected: "nothing is absent, nothing goes offline",
    holdMs: 14_000,
    begin: ({ platform }) => platform.fault({ fault: "paged", value: 1, chance: 1 }),
    end: ({ platform }) => platform.tell("clear_faults"),
    check: (seen) => [
      ...stayedOnline(seen),
      ...expectNever(seen, "greenhouse/gh-0001/availability", "offline"),
      ...expectNever(seen, "greenhouse/gh-0003/availability", "offline"),
      // The other list may still hold it, but without a flag.
      ...expectNever(seen, "greenhouse/gh-0003/availability", "unknown"),
      ...expectOutcome(seen, "confirmed", "already"),
    ],
  }),
  platform({
    name: "impossible reading",
    how: "air temperature 9,999 for 8 s",
    expected: "quality bad, the last good value stays",
    holdMs: 8_000,
    begin: ({ platform }) =>
      platform.tell("set_sensor", { controller: "GH-0001", sensor: "空气温度", value: 9_999 }),
    end: ({ platform }) => platform.tell("clear_sensor", { controller: "GH-0001", sensor: "空气温度" }),
    check: (seen) => [
      ...expectShown(seen, "greenhouse/gh-0001/sensor/airtemp/quality", "bad"),
      ...(seen.messages.some(
        ({ topic, payload }) => topic === "greenhouse/gh-0001/sensor/airtemp" && payload === "9999",
      )
        ? ["9999 was published as a reading"]
        : []),
    ],
  }),
  platform({
    name: "readings are no numbers",
    how: "--, null and a flag by turns",
    expected: "quality bad or no news; nothing invented",
    holdMs: 9_000,
    begin: async ({ platform }) => {
      for (const value of ["--", null, true]) {
        await platform.tell("set_sensor", { controller: "GH-0003", sensor: "空气湿度", value });
        await new Promise((resolve) => setTimeout(resolve, 3_000));
      }
    },
    end: ({ platform }) => platform.tell("clear_sensor", { controller: "GH-0003", sensor: "空气湿度" }),
    check: (seen) => [
      ...stayedOnline(seen),
      ...seen.messages
        .filter(
          ({ topic, payload }) =>
            topic === "greenhouse/gh-0003/sensor/airhumi" && !/^-?\d+(\.\d+)?$/.test(payload),
        )
        .map(({ payload }) => `published as a reading: ${payload}`),
    ],
  }),
  platform({
    name: "an old value from the platform's memory",
    how: "unflushed reads of one controller are 20 s old, after each address was read from the device",
    expected: "a state never goes back in time",
    // Ten of them go by before the fault begins.
    holdMs: 26_000,
    reducedHoldMs: 22_000,
    aboutMs: 15_000,
    begin: async (world) => {
      // Before that there is nothing by which a bridge that has just started could tell a value from an older one.
      await everyTargetReadFresh(world);
      const how = { fault: "stale_read_back", controller: commanded, delay: "20s", chance: 1 };
      await world.platform.fault(how);
    },
    end: ({ platform }) => platform.tell("clear_faults"),
  }),
  platform({
    name: "a type from the platform's memory",
    how: "the addresses of a type, read at once, are 20 s old, after each address was read from the device",
    expected: "a state never goes back in time",
    // Ten of them go by before the fault begins.
    holdMs: 26_000,
    reducedHoldMs: 22_000,
    aboutMs: 15_000,
    begin: async (world) => {
      await everyTargetReadFresh(world);
      await world.platform.fault({ fault: "stale_group", controller: commanded, delay: "20s", chance: 1 });
    },
    end: ({ platform }) => platform.tell("clear_faults"),
  }),
  platform({
    name: "clock set by years",
    aboutMs: 20_000,
    how: "the process's Date goes +10 years, -14 days, to 1970 and back, 5 s each",
    expected: "no timer moves, no command is lost; commands with a time are refused (clock)",
    holdMs: 0,
    begin: async ({ bridge, clockOffsets }) => {
      const offsets = [10 * year, -14 * 86_400_000, -56 * year, 0];
      clockOffsets.push(...offsets);
      for (const offset of offsets) {
        bridge.setClock(offset);
        if (offset !== 0) await new Promise((resolve) => setTimeout(resolve, 5_000));
      }
    },
    check: (seen) => [...stayedOnline(seen), ...expectOutcome(seen, "confirmed")],
  }),
];
