import { describe, expect, it } from "vitest";
import { JointBudget, JointPlaces, SharedHosts } from "../../src/platform/shared.js";
import { RequestBudget, Semaphore } from "../../src/runtime/schedule.js";

/** Accounts at one host, each with the times that it was told to wait. */
function accounts(count: number) {
  const clock = { now: 0, monotonic: () => clock.now };
  const host = new SharedHosts(0, clock).at("https://realtime.example.com/api");
  const all = Array.from({ length: count }, () => {
    const held: number[] = [];
    const hold = (ms: number) => held.push(ms);
    return { held, hold, leave: host.join(hold) };
  });
  return { clock, host, all };
}

describe("a host that asks to be left alone", () => {
  it("by one account holds up no other, by two within a minute all, for a minute at most", () => {
    const { clock, host, all } = accounts(3);
    const [a, b, c] = all;
    host.onAskedToWait(a?.hold ?? (() => undefined), 86_400_000);
    expect(all.map(({ held }) => held)).toEqual([[], [], []]);
    clock.now = 30_000;
    host.onAskedToWait(b?.hold ?? (() => undefined), 86_400_000);
    expect([a?.held, b?.held, c?.held]).toEqual([[60_000], [], [60_000]]);
  });

  it("by two accounts more than a minute apart is each one's own matter", () => {
    const { clock, host, all } = accounts(3);
    host.onAskedToWait(all[0]?.hold ?? (() => undefined), 5_000);
    clock.now = 60_001;
    host.onAskedToWait(all[1]?.hold ?? (() => undefined), 5_000);
    expect(all.map(({ held }) => held)).toEqual([[], [], []]);
  });

  it("no longer counts an account that has ended", () => {
    const { host, all } = accounts(3);
    host.onAskedToWait(all[0]?.hold ?? (() => undefined), 5_000);
    all[0]?.leave();
    host.onAskedToWait(all[1]?.hold ?? (() => undefined), 5_000);
    expect(all[2]?.held).toEqual([]);
  });

  it("is one by its origin, and another is another", () => {
    const hosts = new SharedHosts(10, { monotonic: () => 0 });
    expect(hosts.at("https://a.example.com/x")).toBe(hosts.at("https://a.example.com/y"));
    expect(hosts.at("https://a.example.com")).not.toBe(hosts.at("https://b.example.com"));
  });
});

describe("a budget of several accounts", () => {
  it("is spent by all, beside each one's own, and the smaller one counts", () => {
    const shared = new RequestBudget(10);
    const one = new JointBudget(100, shared);
    const other = new JointBudget(4, shared);
    for (let at = 0; at < 3; at += 1) one.spend(0);
    expect([one.remaining(0), other.remaining(0)]).toEqual([7, 4]);
    for (let at = 0; at < 4; at += 1) other.spend(0);
    expect([one.remaining(0), other.remaining(0)]).toEqual([3, 0]);
    expect(other.waitMs(0)).toBeGreaterThan(0);
    expect(new JointBudget(0, new RequestBudget(0)).remaining(0)).toBeNull();
  });
});

describe("places of several accounts", () => {
  it("are bounded together and for each, and go to who waits longest", async () => {
    const shared = new Semaphore(2);
    const { signal } = new AbortController();
    const one = new JointPlaces(2, shared);
    const other = new JointPlaces(2, shared);
    expect([one.take(), one.take(), one.take(), other.take()]).toEqual([true, true, false, false]);
    const story: string[] = [];
    const waiting = [
      other.wait(signal).then(() => story.push("other")),
      one.wait(signal).then(() => story.push("one")),
    ];
    one.leave();
    await waiting[0];
    expect(story).toEqual(["other"]);
    other.leave();
    await waiting[1];
    expect(story).toEqual(["other", "one"]);
  });

  it("that were given up while waiting for the host are free for the account again", async () => {
    const shared = new Semaphore(1);
    const one = new JointPlaces(1, shared);
    const other = new JointPlaces(1, shared);
    const end = new AbortController();
    expect([one.take(), other.take()]).toEqual([true, false]);
    const waiting = other.wait(end.signal);
    end.abort();
    await expect(waiting).rejects.toThrow();
    one.leave();
    expect(other.take()).toBe(true);
  });
});
