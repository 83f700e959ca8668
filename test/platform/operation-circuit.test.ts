import { describe, expect, it } from "vitest";
import { OperationCircuits } from "../../src/platform/operation-circuit.js";
import { operations } from "../../src/platform/operations.js";

const { sensors, value, controllers, devices, signIn, setValue } = operations;
const named = { sensors, value, controllers, devices, signIn, setValue } as const;

/** `sensors GH-1` as a request. */
const asked = (text: string) => {
  const [name = "", device] = text.split("/");
  return { operation: named[name as keyof typeof named], device };
};

/**
 * Plays a story, one thing a line: `at 9 s sensors/GH-1 useless 3` (three attempts of one call that brought nothing), `usable`, `held 5`
 * (for so many s), `asks go` (what is said to a poll; a number is how many s it has to wait).
 */
function play(story: string) {
  const circuits = new OperationCircuits();
  for (const line of story.trim().split(/\s*\n\s*/)) {
    const [, at = "", , who = "", does = "", word = ""] = line.split(" ");
    const now = Number(at) * 1_000;
    const one = asked(who);
    if (does === "usable") circuits.onUsable(one, 1, now);
    else if (does === "held") circuits.onHeld(one, Number(word) * 1_000, now);
    else if (does === "useless") {
      for (let n = 0; n < Number(word); n += 1) circuits.onUseless(one, now);
      circuits.onGivenUp(one, `${who} brought nothing`);
    } else {
      const admission = circuits.admit(one, now);
      const said = admission.go ? "go" : `${admission.because} ${admission.retryInMs / 1_000}`;
      expect(said, line).toBe(line.slice(line.indexOf(" asks ") + 6));
    }
  }
  return circuits;
}

describe("an operation that brings nothing usable", () => {
  it.each([
    [
      "is tried every 30 s from the fifth attempt on, and no other operation waits for it",
      `at 0 s sensors/GH-1 useless 3
       at 1 s sensors/GH-2 useless 2
       at 2 s sensors/GH-1 asks useless 29
       at 2 s sensors/GH-3 asks useless 29
       at 2 s value/GH-1 asks go
       at 2 s controllers asks go
       at 31 s sensors/GH-1 asks go
       at 32 s sensors/GH-2 asks useless 29`,
    ],
    [
      "is as before with the first that is usable, for every device",
      `at 0 s sensors/GH-1 useless 5
       at 1 s sensors/GH-2 useless 5
       at 31 s sensors/GH-1 asks go
       at 31 s sensors/GH-1 usable
       at 31 s sensors/GH-2 asks go`,
    ],
    [
      "holds up no device that was answered last time",
      `at 0 s sensors/GH-1 usable
       at 1 s sensors/GH-2 useless 5
       at 2 s sensors/GH-1 asks go
       at 2 s sensors/GH-2 asks useless 29`,
    ],
    [
      "of one device is tried every 30 s where others are answered",
      `at 0 s sensors/GH-2 useless 5
       at 1 s sensors/GH-1 usable
       at 2 s sensors/GH-2 asks go
       at 3 s sensors/GH-2 useless 5
       at 4 s sensors/GH-1 usable
       at 5 s sensors/GH-2 asks go`,
    ],
    [
      "shares the probes of all, and has one of its own every five minutes",
      `at 0 s sensors/GH-1 useless 5
       at 0 s controllers useless 5
       at 30 s controllers asks go
       at 31 s sensors/GH-1 asks useless 29
       at 60 s controllers asks go
       at 299 s controllers asks go
       at 300 s sensors/GH-1 asks go`,
    ],
    [
      "is left alone as it asks, alone, and a sign-in with whatever of its host asks",
      `at 0 s controllers held 60
       at 1 s controllers asks held 59
       at 1 s devices asks go
       at 1 s signIn asks held 59
       at 1 s sensors/GH-1 asks go
       at 60 s controllers asks go
       at 60 s signIn asks go`,
    ],
  ])("%s", (_rule, story) => void play(story));

  it("is the host's request for a pause where a second one asks for it too", () => {
    const circuits = play("at 0 s controllers held 60");
    expect(circuits.onHeld(asked("devices"), 5_000, 61_000)).toBe(false);
    expect(circuits.onHeld(asked("controllers"), 5_000, 62_000)).toBe(true);
  });
});

describe("an operation that cannot be used", () => {
  const partsOf = (story: string, now = 1_000) =>
    play(story)
      .unusable("realtime", now)
      .map(({ operation, trouble }) => `${operation}: ${trouble}`);

  it.each<[rule: string, story: string, parts: readonly string[]]>([
    [
      "is one that failed twice, with the newest sentence",
      "at 0 s sensors/GH-1 useless 2",
      ["GET /api/sensor-data: sensors/GH-1 brought nothing"],
    ],
    ["not one that failed once", "at 0 s sensors/GH-1 useless 1", []],
    [
      "not one that half of the devices are well with",
      `at 0 s sensors/GH-1 usable
       at 0 s sensors/GH-2 useless 4`,
      [],
    ],
    [
      "but one that most devices are not",
      `at 0 s sensors/GH-1 usable
       at 0 s sensors/GH-2 useless 4
       at 0 s sensors/GH-3 useless 4`,
      ["GET /api/sensor-data: sensors/GH-3 brought nothing"],
    ],
    [
      "nor need each device fail twice where none is well, as they are tried rarely",
      `at 0 s sensors/GH-1 usable
       at 0 s sensors/GH-2 usable
       at 0 s sensors/GH-3 usable
       at 1 s sensors/GH-1 useless 3
       at 1 s sensors/GH-2 useless 3
       at 1 s sensors/GH-3 useless 1`,
      ["GET /api/sensor-data: sensors/GH-3 brought nothing"],
    ],
    [
      "until it is usable",
      `at 0 s sensors/GH-1 useless 4
       at 1 s sensors/GH-1 usable`,
      [],
    ],
  ])("%s", (_rule, story, parts) => expect(partsOf(story)).toEqual(parts));

  it("is forgotten where nobody asked for hours, as a device may be gone for good", () => {
    expect(partsOf("at 0 s sensors/GH-1 useless 4", 4 * 3_600_000)).toEqual([]);
  });
});
