import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import { actuatorDocument } from "../../src/greenhouse/documents.js";
import { NotRunning } from "../../src/limits/not-running.js";
import { actuator, controllerSettings } from "../support/builders.js";
import { minute } from "../support/folding.js";
import { mirrorSettings, polledMirror } from "../support/polled-mirror.js";

const fan = actuator({
  id: "fan",
  kind: "fan_wet_curtain",
  running: [16, 17].map(statusNumber),
  notRunningAfterMs: 2 * minute,
});
const code = "GH-0";

type Shown = Readonly<{ at: number; register?: string; statuses?: readonly (number | string)[] }>;

/** What is wrong at each minute of a story; `.` for nothing, `?` where nobody can tell. */
async function judged(story: readonly Shown[], until: number): Promise<string> {
  const world = polledMirror({ settings: mirrorSettings([controllerSettings({ code, actuators: [fan] })]) });
  const { store, clock } = world;
  const watch = new NotRunning();
  store.onChange((before, after) => watch.onChange(before, after));
  const dispatch = (event: ControllerEvent) => store.dispatch(code, event);
  let told = "";
  for (let at = 0; at <= until; at += 1) {
    for (const { register, statuses } of story.filter((one) => one.at === at)) {
      if (register !== undefined)
        dispatch({
          type: "registers_read",
          values: new Map([["101", register]]),
          startedAt: clock.monotonic(),
          readAt: clock.now(),
          fresh: true,
          source: "poll",
        });
      if (statuses !== undefined)
        dispatch({
          type: "statuses_read",
          items: statuses.map((value, place) => ({
            name: `${place}`,
            number: statusNumber(16 + place),
            value,
          })),
          receivedAt: clock.now(),
        });
    }
    const [found] = [...watch.judgeAll(store.controllers())];
    told += found === undefined ? "?" : found[1] === null ? "." : "!";
    await clock.advance(minute);
  }
  return told;
}

describe("commanded on, and not running", () => {
  it.each<[rule: string, story: Shown[], told: string]>([
    [
      "off is never wrong",
      [
        { at: 0, register: "00000", statuses: [0, 0] },
        { at: 4, statuses: [0, 0] },
      ],
      ".....",
    ],
    [
      "on and off for longer than allowed, by a read that was made so long after",
      [
        { at: 0, register: "00000", statuses: [0, 0] },
        { at: 1, register: "11110" },
        { at: 2, statuses: [0, 0] },
        { at: 4, statuses: [0, 0] },
        { at: 6, statuses: [0, 1] },
      ],
      ".???!!.",
    ],
    [
      "a status that was read before it was switched on says nothing of it",
      [
        { at: 0, register: "11110", statuses: [0, 0] },
        { at: 5, register: "11110" },
      ],
      "?????",
    ],
    [
      "one that ran and stopped counts from when it stopped",
      [
        { at: 0, register: "11110", statuses: [1, 0] },
        { at: 3, statuses: [0, 0] },
        { at: 4, statuses: [0, 0] },
        { at: 5, statuses: [0, 0] },
      ],
      "...??!",
    ],
    [
      "a status that is not listed, or reads something else, says nothing",
      [
        { at: 0, register: "11110", statuses: [] },
        { at: 3, statuses: [0, "fault"] },
        { at: 4, statuses: [0, "fault"] },
      ],
      "?????",
    ],
    [
      "what is switched off meanwhile is right",
      [
        { at: 0, register: "11110", statuses: [0, 0] },
        { at: 3, statuses: [0, 0] },
        { at: 4, register: "00000" },
      ],
      "???!.",
    ],
    [
      "a value that nobody knows is no command",
      [
        { at: 0, register: "01010", statuses: [0, 0] },
        { at: 3, statuses: [0, 0] },
      ],
      "....",
    ],
  ])("%s", async (_, story, told) => {
    expect(await judged(story, told.length - 1)).toBe(told);
  });
});

it("what runs stands in the actuator's document where running statuses belong to it, and nowhere else", () => {
  const plain = actuator({ id: "roof", address: "102" });
  const { store, clock } = polledMirror({
    settings: mirrorSettings([controllerSettings({ code, actuators: [fan, plain] })]),
  });
  const runs = () =>
    [...(store.get(code)?.actuators.values() ?? [])].map((one) => actuatorDocument(one).running);
  const read = (...values: number[]) =>
    store.dispatch(code, {
      type: "statuses_read",
      items: values.map((value, place) => ({ name: `${place}`, number: statusNumber(16 + place), value })),
      receivedAt: clock.now(),
    });
  expect(runs()).toEqual([undefined, undefined]);
  read(0, 1);
  expect(runs()).toEqual(["on", undefined]);
  read(0, 0);
  expect(runs()).toEqual(["off", undefined]);
  read(0);
  expect(runs()).toEqual(["unknown", undefined]);
});
