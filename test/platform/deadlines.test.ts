import { describe, expect, it } from "vitest";
import { Semaphore } from "../../src/platform/http/connections.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { factsOf, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { startRawHost } from "./support/raw-host.js";

describe("deadlines", () => {
  it("a read has 15 s, a control value and a fresh read 30 s, as configured", async () => {
    const host = await startRawHost(() => undefined);
    const clock = new VirtualClock();
    const timeouts = { connect: 5_000, read: 15_000, control: 30_000 };
    const { client } = makeClient(settingsFor(host.url, { timeouts }), { clock });
    const ended: string[] = [];
    const note = async (name: string, call: Promise<unknown>) => {
      const { kind } = await factsOf(call);
      ended.push(`${name} ${kind} at ${clock.monotonic() / 1000} s`);
    };
    const calls = [
      note("poll", client.sensors("GH-1", never)),
      note("fresh read", client.value("GH-1", "101", true, never)),
      note("write", client.write("GH-1", "101", "1010", never)),
    ];
    await expect.poll(() => host.accepted).toBe(3);
    await clock.advance(15_000);
    expect(ended).toEqual(["poll timeout at 15 s"]);
    await clock.advance(15_000);
    await Promise.all(calls);
    expect(ended.slice(1).sort()).toEqual(["fresh read timeout at 30 s", "write timeout at 30 s"]);
  });
});

describe("a semaphore", () =>
  it("lets so many in at once, the others in order, and those who give up not at all", async () => {
    const semaphore = new Semaphore(1);
    const leaving = new AbortController();
    expect(semaphore.enter(never)).toBeNull();
    const order: string[] = [];
    const second = semaphore.enter(never)?.then(() => order.push("second"));
    const gone = semaphore.enter(leaving.signal)?.catch(() => order.push("gone"));
    const third = semaphore.enter(never)?.then(() => order.push("third"));
    expect(semaphore.waiting).toBe(3);
    leaving.abort();
    await gone;
    semaphore.leave();
    await second;
    semaphore.leave();
    await third;
    semaphore.leave();
    expect(order).toEqual(["gone", "second", "third"]);
    expect(semaphore.enter(never)).toBeNull();
    await expect(semaphore.enter(AbortSignal.abort())).rejects.toThrow();
  }));
