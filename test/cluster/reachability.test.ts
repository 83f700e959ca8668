import { describe, expect, it } from "vitest";
import type { Reach } from "../../src/cluster/membership.js";
import { Reachability } from "../../src/cluster/reachability.js";
import {
  MembershipView,
  memberKey,
  memberText,
  ownerKey,
  ownerText,
} from "../../src/cluster/membership-view.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** Two members of one account, of which `a` runs it, and what each reports of itself. */
function pair(reached: () => readonly Reach[]) {
  const clock = new VirtualClock();
  const views = {
    a: new MembershipView({ self: "a", leaseMs: 9_000, hash: () => 0 }),
    b: new MembershipView({ self: "b", leaseMs: 9_000, hash: () => 0 }),
  };
  const of = () => new Reachability(clock, (_, what) => Promise.resolve(reached().includes(what)));
  const members = { a: of(), b: of() };
  let revision = 0;
  const show = () => {
    revision += 1;
    for (const id of ["a", "b"] as const)
      for (const view of Object.values(views)) {
        const { lacks, reaches, moved } = members[id];
        const value = memberText({ unfit: [], lacks, reaches, moved });
        view.take(memberKey(id), { revision, value }, clock.monotonic());
      }
  };
  for (const view of Object.values(views))
    view.take(
      ownerKey("north"),
      { revision: 1, value: ownerText({ member: "a", run: "1" }) },
      clock.monotonic(),
    );
  /** Renewals go on, and the members check each other. */
  const pass = async (ms: number, lacked: readonly Reach[]) => {
    for (let n = 0; n < ms; n += 2_000) {
      members.a.lack("north", lacked);
      members.b.look("north", views.b.lacked("north", clock.monotonic()));
      await clock.advance(2_000);
      show();
    }
  };
  const isToGo = () =>
    members.a.mayGiveUp("north") &&
    views.a.isReachedElsewhere("north", clock.monotonic(), members.a.lackedBy("north"));
  return { clock, members, views, pass, isToGo };
}

describe("an owner that is cut from the broker or the platform", () => {
  it("gives the account up where another member reaches what it does not, after a while", async () => {
    const { pass, isToGo } = pair(() => ["platform"]);
    await pass(16_000, ["platform"]);
    expect(isToGo()).toBe(false);
    await pass(30_000, ["platform"]);
    expect(isToGo()).toBe(true);
  });

  it.each([
    ["the others do not reach it either", [], ["broker"]],
    ["the others reach but a part of it", ["broker"], ["broker", "platform"]],
    ["it is back", ["broker", "platform"], []],
  ] as const)("keeps it where %s", async (_, reached, lacked) => {
    const { pass, isToGo } = pair(() => reached);
    await pass(60_000, lacked);
    expect(isToGo()).toBe(false);
  });

  it("gives it up no more often than every five minutes, and others go first until it reaches that again", async () => {
    const { members, pass, isToGo } = pair(() => ["broker"]);
    await pass(40_000, ["broker"]);
    members.a.gaveUp("north");
    expect(isToGo()).toBe(false);
    expect([members.a.unfit, members.a.moved]).toEqual([["north"], ["north"]]);
    await pass(240_000, ["broker"]);
    expect(isToGo()).toBe(false);
    await pass(70_000, ["broker"]);
    expect(isToGo()).toBe(true);
    expect([members.a.unfit, members.a.moved]).toEqual([["north"], []]);
    await pass(2_000, []);
    expect(members.a.unfit).toEqual([]);
  });
});
