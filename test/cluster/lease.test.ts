import { describe, expect, it } from "vitest";
import {
  ageMs,
  leaseOf,
  commandsProblem,
  leaseAfterFence,
  isConfirmed,
  type Lease,
  mayFence,
  mayPost,
  leaseAfterRenewal,
} from "../../src/cluster/lease.js";

const times = { leaseMs: 9_000, controlMs: 30_000 };
const at = (ms: number, { up = ms, wall = ms } = {}) => ({ mono: ms, up, wall: 1_000_000 + wall });

const claim = (more: { readonly isAlone?: boolean } = {}): Lease =>
  leaseOf({ revision: 1, sentAt: at(0), answeredAt: 100, isAlone: false, ...more }, times);

describe("a lease", () => {
  it.each([
    ["just confirmed", at(0), 0],
    ["by the monotonic clock", at(5_000), 5_000],
    ["of a process that slept with its computer", at(100, { up: 60_000 }), 60_000],
    ["of one that slept where only the wall clock tells", at(100, { wall: 60_000 }), 60_000],
    ["with the wall clock set back", at(8_000, { wall: -50_000 }), 8_000],
  ])("is as old as the clock says that says most: %s", (_, now, age) => {
    expect(ageMs(at(0), now)).toBe(age);
  });

  it("counts from the moment at which the request was sent that confirmed it", () => {
    const lease = leaseAfterRenewal(claim(), 2, at(5_000));
    expect(isConfirmed(lease, at(13_999), times)).toBe(true);
    expect(isConfirmed(lease, at(14_000), times)).toBe(false);
    expect(lease.revision).toBe(2);
  });

  it("is fenced only once the one before has ended at its holder, with room for two clocks that differ", () => {
    const lease = leaseAfterRenewal(claim(), 2, at(9_000));
    expect(mayFence(lease, at(9_999), times)).toBe(false);
    expect(mayFence(lease, at(10_000), times)).toBe(true);
  });

  it("is fenced right behind one that was given up, or silent for its time, once a renewal shows that nobody else has claimed it as well", () => {
    const lease = claim({ isAlone: true });
    expect(mayFence(lease, at(1_100), times)).toBe(false);
    expect(mayFence(leaseAfterRenewal(lease, 2, at(1_000)), at(1_100), times)).toBe(true);
  });

  it("that is not confirmed is not fenced", () => {
    expect(mayFence(claim(), at(12_000), times)).toBe(false);
  });

  it.each([
    ["none", null, 0, false],
    ["not fenced", claim(), 1_000, false],
    ["fenced", leaseAfterFence(claim()), 8_999, true],
    ["fenced, and not confirmed for its time", leaseAfterFence(claim()), 9_000, false],
  ])("lets a POST leave: %s", (_, lease, ms, isAllowed) => {
    expect(mayPost(lease, at(ms), times)).toBe(isAllowed);
  });

  it("says why no commands are taken, and takes them once nothing of the one before can be under way to the target", () => {
    const problem = (lease: Lease | null, ms: number, isBusy = true) =>
      commandsProblem(lease, at(ms), times, isBusy);
    const later = leaseAfterFence(leaseAfterRenewal(claim(), 2, at(39_000)));
    expect(problem(null, 0)).toContain("another member");
    expect(problem(claim(), 9_500)).toContain("do not confirm");
    expect(problem(claim(), 1_000)).toContain("waits until no other one");
    expect(problem(later, 39_500)).toContain("waits 1 s");
    expect(problem(later, 40_000)).toBeNull();
    expect(problem(later, 39_500, false)).toBeNull();
    expect(problem(claim(), 1_000, false)).toContain("waits until no other one");
    expect(problem(leaseAfterFence(claim({ isAlone: true })), 200)).toContain("waits 30 s");
  });
});
