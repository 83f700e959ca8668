import { describe, expect, it } from "vitest";
import {
  claimInMs,
  claimsOver,
  isToHandBack,
  type Looking,
  type Member,
  rank,
} from "../../src/cluster/membership.js";
import { memberText, MembershipView, ownerText } from "../../src/cluster/membership-view.js";

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

describe("what a member has seen", () => {
  const view = () => new MembershipView({ self: "a", leaseMs: 9_000, hash });
  const text = memberText({ unfit: [], lacks: new Map(), reaches: new Map(), moved: [] });
  const names = Array.from({ length: 20_000 }, (_, n) => `flood-${n}`);

  it("is forgotten with members that are gone, such as containers with a new name after each start", () => {
    const seen = view();
    for (const [n, name] of names.slice(0, 100).entries())
      seen.take(`member.${name}`, { revision: n + 1, value: text }, n * 20_000);
    expect(seen.members.map(({ id }) => id)).toEqual(["flood-99"]);
  });

  it("stays bounded, whoever writes to the bucket", () => {
    const seen = view();
    const owner = ownerText({ member: "b", run: "1" });
    for (const [n, name] of names.entries()) {
      seen.take(`member.${name}`, { revision: 2 * n + 1, value: text }, 0);
      seen.take(`owner.${name}`, { revision: 2 * n + 2, value: owner }, 0);
    }
    expect(seen.members).toHaveLength(1_000);
    expect(names.filter((name) => seen.holding(name) !== null)).toHaveLength(10_000);
  });

  it("is taken as nothing said where it is larger than anything that members say", () => {
    const seen = view();
    const value = JSON.stringify({ unfit: Array.from({ length: 100_000 }, () => "north") });
    seen.take("member.b", { revision: 1, value }, 0);
    expect(seen.members).toMatchObject([{ id: "b", unfit: new Set() }]);
  });
});
