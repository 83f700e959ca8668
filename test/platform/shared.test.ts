import { describe, expect, it } from "vitest";
import { HostBudget, JointBudget, JointPlaces, SharedHosts, SharedLists } from "../../src/platform/shared.js";
import type { DeviceList } from "../../src/greenhouse/ports.js";
import { ignored } from "../../src/runtime/failures.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** Accounts at one host, each with the times that it was told to wait. */
function accounts(count: number) {
  const clock = { now: 0, monotonic: () => clock.now, after: () => () => undefined };
  const host = new SharedHosts(0, clock).at("https://realtime.example.com/api");
  const all = Array.from({ length: count }, () => {
    const held: number[] = [];
    const hold = (ms: number) => held.push(ms);
    return { held, hold, leave: host.join(hold) };
  });
  return { clock, host, all };
}

describe("a host that asks to be left alone", () => {
  const none = () => undefined;

  it("by two of many accounts holds up no other; by most of them all, for a minute at most, and one tries ahead", () => {
    const { clock, host, all } = accounts(8);
    const refuse = (n: number) => host.onAnswer(all[n]?.hold ?? none, 86_400_000);
    for (const n of [0, 1, 0, 1]) refuse(n);
    expect(all.flatMap(({ held }) => held)).toEqual([]);
    clock.now = 30_000;
    for (const n of [2, 3, 4, 5]) refuse(n);
    const [long, short] = [[62_000], [60_000]];
    expect(all.map(({ held }) => held)).toEqual([long, long, long, long, long, [], short, long]);
  });

  it("by both of two accounts has both wait as they were told to", () => {
    const { host, all } = accounts(2);
    for (const { hold } of all) host.onAnswer(hold, 5_000);
    expect(all.map(({ held }) => held)).toEqual([[5_000], []]);
  });

  it("no longer counts an account that has ended", () => {
    const { host, all } = accounts(3);
    for (const n of [0, 1]) host.onAnswer(all[n]?.hold ?? none, 5_000);
    all[0]?.leave();
    host.onAnswer(all[0]?.hold ?? none, 5_000);
    expect(all.flatMap(({ held }) => held)).toEqual([]);
    host.onAnswer(all[2]?.hold ?? none, 5_000);
    expect(all[1]?.held).toEqual([5_000]);
  });

  it("is one by its origin, and another is another", () => {
    const hosts = new SharedHosts(10, { monotonic: () => 0, after: () => () => undefined });
    expect(hosts.at("https://a.example.com/x")).toBe(hosts.at("https://a.example.com/y"));
    expect(hosts.at("https://a.example.com")).not.toBe(hosts.at("https://b.example.com"));
  });
});

describe("a budget of several accounts", () => {
  it("is spent by all, beside each one's own, and the smaller one counts", () => {
    const shared = new HostBudget(10);
    const one = new JointBudget(100, shared);
    const other = new JointBudget(4, shared);
    for (let at = 0; at < 3; at += 1) one.spend(0);
    expect([one.remaining(0), other.remaining(0)]).toEqual([7, 4]);
    for (let at = 0; at < 4; at += 1) other.spend(0);
    expect([one.remaining(0), other.remaining(0)]).toEqual([3, 0]);
    expect(other.waitMs(0)).toBeGreaterThan(0);
    expect(new JointBudget(0, new HostBudget(0)).remaining(0)).toBeNull();
  });

  it("of which all want more than there is wakes each for its own turn, and is spent whole and by all alike", async () => {
    const clock = new VirtualClock();
    const shared = new HostBudget(600);
    const stop = new AbortController();
    const spent = Array.from({ length: 100 }, () => 0);
    let waits = 0;
    const polling = spent.map(async (_, account) => {
      const budget = new JointBudget(0, shared);
      while (!stop.signal.aborted) {
        const ms = budget.waitMs(clock.monotonic());
        if (ms > 0) waits += 1;
        else {
          budget.spend(clock.monotonic());
          spent[account] = (spent[account] ?? 0) + 1;
        }
        // A request takes its time.
        await clock.wait(ms > 0 ? ms : 50, stop.signal).catch(ignored);
      }
    });
    await clock.advance(600_000);
    stop.abort();
    await Promise.all(polling);
    const all = spent.reduce((sum, one) => sum + one, 0);
    expect(all).toBeGreaterThan(5_900);
    expect(waits / all).toBeLessThan(3);
    expect(Math.max(...spent) - Math.min(...spent)).toBeLessThan(6);
  });

  it("goes on where an account that waited wants nothing any more", () => {
    const shared = new HostBudget(60);
    const [gone, one] = [new JointBudget(0, shared), new JointBudget(0, shared)];
    for (let at = 0; at < 30; at += 1) one.spend(0);
    const firstMs = gone.waitMs(0);
    let now = 0;
    for (let at = 0; at < 10; at += 1) {
      for (let ms = one.waitMs(now); ms > 0; ms = one.waitMs(now)) now += ms;
      one.spend(now);
    }
    expect(now / 10).toBeLessThan(1.2 * firstMs);
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

describe("a list of one login for several accounts", () => {
  const lists = () => {
    const clock = new VirtualClock();
    const shared = new SharedLists(clock);
    const story: string[] = [];
    const read = (key: string, list: DeviceList | Error) =>
      shared.read(
        key,
        () => {
          story.push(`${key} asked`);
          return list instanceof Error ? Promise.reject(list) : Promise.resolve(list);
        },
        () => story.push(`${key} taken`),
      );
    return { clock, read, story };
  };

  it("that one has just read is all others', for five seconds from when it was asked for", async () => {
    const { clock, read, story } = lists();
    const [first, second]: DeviceList[] = [[], []];
    expect(await read("a", first ?? [])).toBe(first);
    await clock.advance(4_999);
    expect(await read("b", second ?? [])).toBe(second);
    expect(await read("a", second ?? [])).toBe(first);
    await clock.advance(1);
    expect(await read("a", second ?? [])).toBe(second);
    expect(story).toEqual(["a asked", "b asked", "a taken", "a asked"]);
  });

  it("that failed is nobody's, and one under way is waited for by nobody", async () => {
    const { read, story } = lists();
    await expect(read("a", new Error("refused"))).rejects.toThrow("refused");
    await Promise.all([read("a", []), read("a", [])]);
    expect(story).toEqual(["a asked", "a asked", "a asked"]);
  });
});
