import { describe, expect, it } from "vitest";
import {
  claimInMs,
  claimsOver,
  isToHandBack,
  type Looking,
  type Member,
  rank,
} from "../../src/cluster/membership.js";

/** Of two members of one account the one with the later letter ranks first. */
const hash = (text: string) => text.charCodeAt(text.length - 1);

const member = (id: string, more: Partial<Member> = {}): Member => ({
  id,
  firstSeenAt: 0,
  lastSeenAt: 100_000,
  unfit: new Set(),
  lacks: new Map(),
  reaches: new Map(),
  moved: new Set(),
  ...more,
});

const looking = (self: string, members: readonly Member[], more: Partial<Looking> = {}): Looking => ({
  account: "north",
  self,
  members,
  now: 100_000,
  since: 90_000,
  leaseMs: 9_000,
  hash,
  ...more,
});

const all = [member("a"), member("b"), member("c")];

describe("who runs an account", () => {
  it("is decided by rank, which each member knows the same", () => {
    expect(rank(looking("a", all))).toEqual(["c", "b", "a"]);
    expect(rank(looking("c", all))).toEqual(["c", "b", "a"]);
  });

  it.each([
    ["is not there any more", member("c", { lastSeenAt: 90_400 })],
    ["failed with the account lately", member("c", { unfit: new Set(["north"]) })],
  ])("is not a member that %s", (_, gone) => {
    expect(rank(looking("a", [gone, member("b")]))).toEqual(["b", "a"]);
  });

  const held = { revision: 7, holder: "x", seenAt: 95_000 };
  it.each([
    ["nobody ever had it, and it ranks first", "c", null, false, 0],
    ["nobody ever had it, and it ranks second", "b", null, false, 0],
    [
      "it was given up just now, and it ranks third",
      "a",
      { ...held, holder: null, seenAt: 100_000 },
      false,
      4_000,
    ],
    [
      "it was given up just now, and it ranks first",
      "c",
      { ...held, holder: null, seenAt: 100_000 },
      false,
      0,
    ],
    ["its holder was seen 5 s ago", "c", held, false, 5_100],
    ["its holder was seen long ago, and it ranks third", "a", { ...held, seenAt: 80_000 }, false, 0],
    ["it failed here lately", "c", { ...held, holder: null, seenAt: 100_000 }, true, 30_000],
  ])("is claimed in time: %s", (_, self, holding, isUnfit, inMs) => {
    expect(claimInMs(looking(self, all), holding, isUnfit)).toBe(inMs);
  });

  it.each([
    ["nobody ever had it", null, [0]],
    ["it was given up in order", { ...held, holder: null }, [7]],
    ["its holder was seen a lease ago", { ...held, seenAt: 90_500 }, [0]],
    ["nothing of it has changed for longer than a lease", { ...held, seenAt: 89_600 }, [7, 0]],
  ])("is claimed over what stands there: %s", (_, holding, over) => {
    expect(claimsOver(looking("c", all), holding)).toEqual(over);
  });

  it("goes back to a member that ranks first, has been there for half a minute, and can run it", () => {
    const back = (best: Member, ownedSince = 0) => isToHandBack(looking("a", [best]), ownedSince);
    expect(back(member("c"))).toBe(true);
    expect(back(member("c", { firstSeenAt: 80_000 }))).toBe(false);
    expect(back(member("c", { unfit: new Set(["north"]) }))).toBe(false);
    expect(back(member("c"), 80_000)).toBe(false);
    expect(isToHandBack(looking("c", [member("a")]), 0)).toBe(false);
  });
});
