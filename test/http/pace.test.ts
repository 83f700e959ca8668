import { describe, expect, it } from "vitest";
import type { Visitor } from "../../src/http/access.js";
import { failure } from "../../src/http/answer.js";
import { Pace, payersOf } from "../../src/http/pace.js";
import { VirtualClock } from "../support/virtual-clock.js";

const slow = { key: "slow", atOnce: 2, perSecond: 1 };
const fast = { key: "fast", atOnce: 3, perSecond: 4 };

/** Waits of requests, each after a pause. */
async function waits(pace: Pace, clock: VirtualClock, payers: Parameters<Pace["take"]>[0], pauses: number[]) {
  const found: number[] = [];
  for (const pause of pauses) {
    await clock.advance(pause);
    found.push(pace.take(payers));
  }
  return found;
}

describe("an allowance", () => {
  it.each([
    ["is there at once, and then as fast as it grows", [slow], [0, 0, 0, 400, 600], [0, 0, 1_000, 600, 0]],
    ["grows to no more than it was", [slow], [0, 0, 60_000, 0, 0], [0, 0, 0, 0, 1_000]],
    ["is not taken from by what was refused", [slow], [0, 0, 0, 0, 0, 1_000], [0, 0, 1_000, 1_000, 1_000, 0]],
    ["counts for each payer, and the slowest decides", [fast, slow], [0, 0, 0, 1_000], [0, 0, 1_000, 0]],
    ["of nobody has no end", [], [0, 0, 0, 0], [0, 0, 0, 0]],
  ])("%s", async (_, payers, pauses, expected) => {
    const clock = new VirtualClock();
    expect(await waits(new Pace(clock), clock, payers, pauses)).toEqual(expected);
  });

  it("of one is not touched by a refusal that another one caused", async () => {
    const clock = new VirtualClock();
    const pace = new Pace(clock);
    expect(await waits(pace, clock, [slow, fast], [0, 0, 0, 0])).toEqual([0, 0, 1_000, 1_000]);
    expect(await waits(pace, clock, [fast], [0, 0])).toEqual([0, 250]);
  });

  it("may be booked ahead of time, for so long and no longer", async () => {
    const clock = new VirtualClock();
    const pace = new Pace(clock);
    expect(Array.from({ length: 6 }, () => pace.book(slow, 2_000))).toEqual([0, 0, 1_000, 2_000, null, null]);
    await clock.advance(1_000);
    expect(pace.book(slow, 2_000)).toBe(2_000);
  });

  it("is forgotten, the one unused for longest first, so that addresses without end take no memory without end", () => {
    const pace = new Pace(new VirtualClock());
    const one = { ...slow, atOnce: 1 };
    expect(pace.take([one])).toBe(0);
    for (let n = 0; n < 4_095; n += 1) pace.take([{ ...slow, key: `${n}` }]);
    expect(pace.take([one])).toBe(1_000);
    pace.take([{ ...slow, key: "one more" }]);
    expect(pace.take([one])).toBe(0);
  });
});

const stranger: Visitor = { user: null, role: null, via: null, who: "192.0.2.1" };
const anna: Visitor = { user: "anna", role: "operator", via: "page:anna", who: "digest of a cookie" };
const socket = { remoteAddress: "192.0.2.1", remotePort: 5_000 };
const bySocketAndAddress = ["socket 192.0.2.1 5000", "address 192.0.2.1"];

describe("who pays for a request", () => {
  it.each([
    ["a stranger, with socket and address", stranger, bySocketAndAddress],
    ["a guest without a login, with socket and address", { ...stranger, role: "viewer" }, bySocketAndAddress],
    ["a wrong token, with socket and address", { ...stranger, isWrongToken: true }, bySocketAndAddress],
    ["what is refused, with socket and address", failure(421, "", ""), bySocketAndAddress],
    ["a user, wherever he comes from", anna, ["user page:anna page:anna"]],
    ["a program with the token, by address", { ...stranger, via: "token" }, ["user token 192.0.2.1"]],
  ] as const)("%s", (_, asking, expected) => {
    expect(payersOf(asking, socket).map(({ key }) => key)).toEqual(expected);
  });

  it("a user pays once for all his sessions", () => {
    expect(payersOf({ ...anna, who: "another cookie" }, { ...socket, remotePort: 1 })).toEqual(
      payersOf(anna, socket),
    );
  });
});
