import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replay } from "../../src/commands/recording.js";
import type { LockAndHold } from "../../src/limits/rules/entry.js";
import type { CommandBench } from "../support/command-bench.js";
import { bench, blow, guard, ignored, limits, lockOf, skylight, valve } from "./bench.js";

/* What a run did is a function of what came in: a recording is played by the step alone. */

const storm = guard({ sends: "close", allow: { words: ["close"], degrees: { min: 0, max: 10 } } });
const actuators = [
  skylight({ limits: limits({ guards: [storm] }) }),
  valve({ limits: limits({ forMs: 60_000 }) }),
];

const recorded = () => bench({ actuators, registers: { "210": "1001" }, isRecorded: true });

const toValve = (payload: string) => (one: CommandBench) => one.send(payload, { targetId: "valve" });

/** What the disk does not take is not in force. */
function change(one: CommandBench, lock: LockAndHold["lock"]): void {
  one.engine.change("GH-0001", ["roof"], { lock }).catch(() => undefined);
}

const happening = fc.oneof(
  fc.constantFrom("open", "close", "stop", "40", '{"command":"open","dry_run":true}', "nonsense"),
  fc.constantFrom("on", "off", '{"command":"on","for":"30s"}').map(toValve),
  fc.integer({ min: 0, max: 20 }).map(blow),
  fc.integer({ min: 0, max: 90_000 }),
  fc.constantFrom(
    (one: CommandBench) => one.polled("101", "11110"),
    (one: CommandBench) => one.polled("210", "1010"),
    (one: CommandBench) => change(one, lockOf(one)),
    (one: CommandBench) => change(one, null),
    (one: CommandBench) => {
      one.platform.onWrite = ignored;
    },
    (one: CommandBench) => {
      one.journalProblem = one.journalProblem === null ? "the disk is full" : null;
    },
    (one: CommandBench) => one.commander.journalAgain(),
  ),
);

describe("a recorded run", () => {
  it("is played by the step alone with the same effects, whatever happened in it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 3, maxLength: 25 }), async (happenings) => {
        const one = await recorded();
        await one.play(...happenings, 300_000);
        const { steps, differences } = replay(one.recording);
        expect(steps).toBeGreaterThan(0);
        expect(differences).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it("shows where the step does something else by now, and leaves out what the end of the program cut off", async () => {
    const one = await recorded();
    await one.play(blow(3), 70_000, "open", 100_000);
    const whole = one.recording;
    const { steps } = replay(whole);
    expect(replay(whole.subarray(0, -5))).toMatchObject({ steps: steps - 1, differences: [] });
    // Without its first step nothing is known of the guard.
    const first = 4 + new DataView(whole.buffer, whole.byteOffset).getUint32(0);
    const { differences } = replay(whole.subarray(first));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toMatchObject({
      place: expect.any(Number) as number,
      input: expect.anything() as unknown,
    });
  });
});
