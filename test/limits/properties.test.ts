import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { vocabulary, type Wanted } from "../../src/greenhouse/command/words.js";
import type { Guard } from "../../src/greenhouse/limits.js";
import type { Quality } from "../../src/greenhouse/model.js";
import { foldReading, type GuardState, type Instant, unjudged } from "../../src/limits/rules/guards.js";
import type { Standing } from "../../src/limits/rules/entry.js";
import { allowedNow, judge, type Judged } from "../../src/limits/rules/judge.js";
import { GuardModel, isAllowed } from "../simulation/limits/guard-model.js";
import { actuator } from "../support/builders.js";
import { bench, blow, guard, limits, lockOf, skylight } from "./bench.js";

/* What holds for every order of events and every set of limits; the generator of each run is seeded. */

const now: Instant = { mono: 10_000_000, iso: (mono) => new Date(mono).toISOString() };

const words = ["open", "close", "auto"] as const;
const allowances = fc.record({
  words: fc.subarray([...words]),
  degrees: fc.option(
    fc
      .tuple(fc.nat(100), fc.nat(100))
      .map(([one, other]) => ({ min: Math.min(one, other), max: Math.max(one, other) })),
  ),
});

const readings = fc.array(
  fc.record({
    afterMs: fc.nat(120_000),
    value: fc.oneof(fc.double({ min: 0, max: 25, noNaN: true }), fc.constantFrom(9, 12, null)),
    quality: fc.constantFrom<Quality>("good", "good", "good", "stale", "bad", "uncertain"),
  }),
  { maxLength: 12 },
);

/** A guard with what it came to by some readings. */
const guards = (name: string) =>
  fc
    .record({ allow: allowances, clearAfterMs: fc.constantFrom(0, 30_000), reads: readings })
    .map(({ allow, clearAfterMs, reads }): readonly [Guard, GuardState] => {
      const one = guard({ name, allow, clearAfterMs });
      let at = 0;
      const state = reads.reduce<GuardState>((before, { afterMs, value, quality }) => {
        at += afterMs;
        return foldReading(one, before, { values: [value], quality }, { mono: at }, false);
      }, unjudged);
      return [one, state];
    });

const wanteds: fc.Arbitrary<Wanted> = fc.oneof(
  fc.constantFrom<Wanted>(...words.map((word): Wanted => ({ type: "word", word, value: "" }))),
  fc.nat(100).map((degree): Wanted => ({ type: "position", degree })),
);

const standings = fc.record({
  guards: fc.tuple(guards("a"), guards("b"), guards("c")),
  isLocked: fc.boolean(),
  isHeld: fc.boolean(),
  restMs: fc.constantFrom(0, 60_000),
  startsPerHour: fc.constantFrom(null, 1),
  movedAgoMs: fc.option(fc.nat(200_000)),
});

function standingOf(
  {
    isLocked,
    isHeld,
    restMs,
    startsPerHour,
    movedAgoMs,
  }: Omit<typeof standings extends fc.Arbitrary<infer T> ? T : never, "guards">,
  some: readonly (readonly [Guard, GuardState])[],
): Standing {
  const movedAt = movedAgoMs === null ? null : now.mono - movedAgoMs;
  const lock = { by: "anna", via: null, reason: null, since: 0, until: null, endsAt: Infinity, isSpan: true };
  return {
    settings: actuator({ limits: limits({ restMs, startsPerHour, guards: some.map(([one]) => one) }) }),
    guards: some.map(([guard, state]) => ({ guard, state })),
    moves: {
      starts: movedAt === null ? [] : [{ at: movedAt }],
      endsAt: movedAt,
      direction: null,
    },
    lock: isLocked ? lock : null,
    hold: isHeld ? { id: "h", by: null, until: 2 * now.mono } : null,
  };
}

const sources = fc.record({
  source: fc.constantFrom<Judged["source"]>("sender", "guard", "lease"),
  hasHold: fc.boolean(),
  isLeadIn: fc.boolean(),
});

const shown = { state: "open", position: null };

describe("for every set of limits", () => {
  it("adding a guard never allows more", () =>
    fc.assert(
      fc.property(standings, wanteds, sources, ({ guards: all, ...rest }, wanted, source) => {
        const judged = { wanted, ...source, shown };
        for (let count = 0; count < all.length; count += 1) {
          const fewer = standingOf(rest, all.slice(0, count));
          const more = standingOf(rest, all.slice(0, count + 1));
          if (judge(more, judged, now).type === "go") expect(judge(fewer, judged, now).type).toBe("go");
          const [wide, narrow] = [
            allowedNow(fewer, false, undefined, now),
            allowedNow(more, false, undefined, now),
          ];
          expect(wide.words).toEqual(expect.arrayContaining([...narrow.words]));
          if (narrow.degrees === null) continue;
          expect(wide.degrees?.min).toBeLessThanOrEqual(narrow.degrees.min);
          expect(wide.degrees?.max).toBeGreaterThanOrEqual(narrow.degrees.max);
        }
      }),
      { numRuns: 500 },
    ));

  it("stop always passes", () =>
    fc.assert(
      fc.property(standings, sources, ({ guards: all, ...rest }, source) => {
        const judged = {
          wanted: { type: "stop", address: "101", value: "00000" } as const,
          ...source,
          shown,
        };
        expect(judge(standingOf(rest, all), judged, now)).toEqual({ type: "go" });
      }),
    ));

  it("what is said to be allowed is what a command may be, but for pauses", () =>
    fc.assert(
      fc.property(standings, wanteds, ({ guards: all, ...rest }, wanted) => {
        const standing = standingOf({ ...rest, restMs: 0, startsPerHour: null }, all);
        const allowed = allowedNow(standing, false, undefined, now);
        const judged = { wanted, source: "sender", hasHold: false, isLeadIn: false } as const;
        const isSaid =
          wanted.type === "word"
            ? allowed.words.includes(wanted.word)
            : wanted.type === "position" &&
              allowed.degrees !== null &&
              wanted.degree >= allowed.degrees.min &&
              wanted.degree <= allowed.degrees.max;
        expect(judge(standing, { ...judged, shown }, now).type === "go").toBe(isSaid);
        expect(vocabulary(standing.settings).words).toEqual(expect.arrayContaining([...allowed.words]));
      }),
    ));
});

type Happening =
  | { readonly type: "wind"; readonly speed: number | string }
  | { readonly type: "send"; readonly payload: string }
  | { readonly type: "lock"; readonly isOn: boolean }
  | { readonly type: "moved"; readonly value: string }
  | { readonly type: "lost"; readonly isLost: boolean }
  | { readonly type: "wait"; readonly ms: number };

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  fc
    .oneof(fc.constantFrom(3, 8.9, 9, 10, 12, 12.1, 14), fc.constantFrom("calm", "unavailable"))
    .map((speed) => ({ type: "wind", speed }) as const),
  fc
    .constantFrom(
      "open",
      "close",
      "auto",
      "5",
      "60",
      "stop",
      '{"command":"open","force":true}',
      '{"command":"80","hold":"1m"}',
      '{"command":"open","for":"1m"}',
    )
    .map((payload) => ({ type: "send", payload }) as const),
  fc.boolean().map((isOn) => ({ type: "lock", isOn }) as const),
  fc.constantFrom("10010", "10001", "11000", "40").map((value) => ({ type: "moved", value }) as const),
  fc.boolean().map((isLost) => ({ type: "lost", isLost }) as const),
  fc.constantFrom(0, 1, 100, 2_000, 7_000, 31_000, 61_000).map((ms) => ({ type: "wait", ms }) as const),
);

const wordOf: Readonly<Record<string, string>> = { "10010": "open", "10001": "close", "11000": "auto" };

/** Plays it at a window with a stop of its own; what was POSTed against the guard or the lock, by the contract's own words. */
async function against(happened: readonly Happening[]): Promise<readonly string[]> {
  const allow = ["close", "0..10"];
  const wind = guard({ clearAfterMs: 30_000, sends: "close" });
  const stop = { address: "101", value: "00000" };
  const one = await bench({
    actuators: [skylight({ stop, limits: limits({ restMs: 5_000, guards: [wind] }) })],
  });
  const model = new GuardModel({
    sensor: "weather/wind",
    above: 12,
    clear_at: 9,
    clear_after: 30_000,
    allow,
    blind: "hold",
  });
  const wrong: string[] = [];
  const state = { heardAt: -Infinity, isLocked: false };
  const time = () => one.clock.monotonic();
  const age = () => {
    if (time() > state.heardAt + 60_000) model.reads({ value: null, isGood: false }, state.heardAt + 60_001);
  };
  let stops = 0;
  one.platform.onWrite = (post) => {
    age();
    const { value } = post;
    // A mode is a step to the degree that follows, and judged as that.
    const word = value === "10100" ? null : (wordOf[value] ?? value);
    if (value === "00000") stops += 1;
    else if (state.isLocked) wrong.push(`${value} although it is locked`);
    else if (word !== null && model.mustHold(time()) && !isAllowed(allow, word))
      wrong.push(`${word} although the guard holds`);
    return one.platform.accept(post);
  };
  let sentStops = 0;
  for (const happening of happened) {
    switch (happening.type) {
      case "wind": {
        age();
        state.heardAt = time();
        const value = typeof happening.speed === "number" ? happening.speed : null;
        model.reads({ value, isGood: true }, time());
        blow(happening.speed)(one);
        break;
      }
      case "send":
        if (happening.payload === "stop") sentStops += 1;
        one.send(happening.payload);
        break;
      case "lock": {
        const lock = lockOf(one);
        if (!happening.isOn) state.isLocked = false;
        await one.engine.change("GH-0001", ["roof"], { lock: happening.isOn ? lock : null });
        state.isLocked = happening.isOn;
        break;
      }
      case "moved":
        one.platform.registers.set("101", happening.value);
        one.polled("101", happening.value);
        break;
      case "lost":
        one.store.setReachable(!happening.isLost);
        break;
      case "wait":
        await one.clock.advance(happening.ms);
    }
  }
  await one.clock.advance(10_000);
  // Of several within two seconds the newest goes.
  if (sentStops > 0 && stops === 0) wrong.push("no stop went out");
  return wrong;
}

it("no order of events lets a POST out that guard and lock forbid at that moment, and a stop always goes out", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happenings, { minLength: 5, maxLength: 40 }), async (happened) => {
      expect(await against(happened)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
