import { describe, expect, it } from "vitest";
import { mayFollow, type Shown, standings } from "../../src/greenhouse/steady.js";

/** What is shown of a state that is another one each second for so long: the second and the state. */
function shownOf<State>(
  states: readonly [State, State],
  standing: Parameters<typeof mayFollow<State>>[3],
  seconds: number,
): readonly string[] {
  let shown = null as Shown<State> | null;
  const seen: string[] = [];
  for (let s = 0; s < seconds; s += 1) {
    const next = states[s % 2 === 0 ? 0 : 1];
    const now = s * 1_000;
    if (shown?.state === next || !mayFollow<State>(shown, next, now, standing)) continue;
    shown = { state: next, since: now };
    seen.push(`${s} ${String(next)}`);
  }
  return seen;
}

describe("a state that is shown stands before another takes its place", () => {
  it.each([
    [
      "of the platform both ways",
      shownOf(["online", "unreachable"], standings.platform, 40),
      ["0 online", "11 unreachable", "22 online", "33 unreachable"],
    ],
    [
      "of the platform not where an outage of a part becomes one of the whole",
      shownOf(["degraded", "unreachable"], standings.platform, 25),
      ["0 degraded", "1 unreachable", "12 degraded", "13 unreachable", "24 degraded"],
    ],
    [
      "of a platform that refuses the credential only until it takes it again",
      shownOf(["unauthorized", "online"], standings.platform, 30),
      ["0 unauthorized", "1 online", "12 unauthorized", "13 online", "24 unauthorized", "25 online"],
    ],
    [
      "of readings only while they are to be believed again",
      shownOf([true, false], standings.reachable, 30),
      ["0 true", "1 false", "12 true", "13 false", "24 true", "25 false"],
    ],
    [
      "of an alarm only while it is on",
      shownOf([false, true], standings.alarm, 25),
      ["0 false", "1 true", "12 false", "13 true", "24 false"],
    ],
    [
      "of another bridge only while it is there",
      shownOf([false, true], standings.otherBridge, 25),
      ["0 false", "1 true", "12 false", "13 true", "24 false"],
    ],
  ])("%s", (_state, seen, expected) => expect(seen).toEqual(expected));

  it.each(["reachable", "alarm", "otherBridge"] as const)(
    "and what keeps back or warns is never late: %s",
    (of) => {
      const safe = of !== "reachable";
      expect(mayFollow({ state: !safe, since: 1_000 }, safe, 1_000, standings[of])).toBe(true);
      expect(mayFollow({ state: safe, since: 1_000 }, !safe, 10_999, standings[of])).toBe(false);
      expect(mayFollow({ state: safe, since: 1_000 }, !safe, 11_000, standings[of])).toBe(true);
    },
  );

  it("a clock that was set back keeps nothing standing", () => {
    expect(mayFollow({ state: true, since: 1e12 }, false, 5_000, standings.alarm)).toBe(true);
  });
});
