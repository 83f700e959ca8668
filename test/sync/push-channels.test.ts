import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { PushChannel, PushListener } from "../../src/greenhouse/ports.js";
import { PushChannels } from "../../src/sync/push-channels.js";
import { RequestBudget } from "../../src/runtime/schedule.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { nobodyWaits, record, silentLog } from "../support/builders.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

function listeningChannels(takesMs = 0) {
  const clock = new VirtualClock();
  const store = new GreenhouseStore(mirrorSettings(), clock, anyAscii);
  const open = new Map<string, PushListener>();
  const nameOf = (channel: PushChannel) => (channel.type === "weather-station" ? channel.code : channel.type);
  const platform = {
    ...{ connection: never, runningStatuses: never, value: never },
    listen: async (channel: PushChannel, listener: PushListener, signal: AbortSignal) => {
      open.set(nameOf(channel), listener);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      open.delete(nameOf(channel));
    },
  };
  const rounds: number[] = [];
  const poller = {
    refresh: async () => {
      rounds.push(clock.monotonic());
      if (takesMs > 0) await clock.wait(takesMs);
    },
  };
  const channels = new PushChannels({
    platform,
    mirror: { store, poller, budget: new RequestBudget(0) },
    ...{ requestsPerMinute: 0, bell: nobodyWaits, clock, log: silentLog },
  });
  const quit = new AbortController();
  const done = channels.run(quit.signal);
  const add = (code: string, type: string) => {
    store.admit(code);
    store.dispatch(code, {
      type: "listed",
      record: record({ code, type: deviceType(type) }),
      availability: "unknown",
    });
  };
  return { clock, store, open, add, quit, done, rounds };
}

const never = () => Promise.reject(new Error("not asked here"));

describe("the push channels", () => {
  it("are the account's two, and one for each weather station, as long as it is mirrored", async () => {
    const { clock, store, open, add } = listeningChannels();
    await clock.advance(10);
    expect([...open.keys()].sort()).toEqual(["device-status", "set-value"]);
    add("WS-2", "W001");
    add("GH-1", "C001");
    add("CAM-1", "V008");
    await clock.advance(10_000);
    expect([...open.keys()].sort()).toEqual(["WS-2", "device-status", "set-value"]);
    store.remove("WS-2");
    await clock.advance(10_000);
    expect([...open.keys()].sort()).toEqual(["device-status", "set-value"]);
  });

  it("of more than sixteen stations are those of the first sixteen", async () => {
    const { clock, open, add } = listeningChannels();
    for (let n = 40; n > 0; n--) add(`WS-${String(n).padStart(2, "0")}`, "W001");
    await clock.advance(10_000);
    expect(open.size).toBe(18);
    expect(open.has("WS-16")).toBe(true);
  });

  it("want everything read after one of the account's was lost, and when it is open again", async () => {
    const { clock, open, add, rounds } = listeningChannels();
    add("WS-1", "W001");
    await clock.advance(10_000);
    for (const listener of open.values()) listener.opened();
    await clock.advance(1_000);
    open.get("WS-1")?.lost();
    open.get("WS-1")?.opened();
    await clock.advance(1_000);
    expect(rounds).toEqual([]);
    open.get("set-value")?.lost();
    await clock.advance(100_000);
    expect(rounds).toHaveLength(1);
    open.get("set-value")?.opened();
    await clock.advance(100_000);
    expect(rounds).toHaveLength(2);
  });

  it("know the devices of the mirror and no others", async () => {
    const { clock, open, add } = listeningChannels();
    await clock.advance(10);
    const listener = open.get("set-value");
    expect(listener?.knows("GH-1")).toBe(false);
    add("GH-1", "C001");
    expect([listener?.knows("GH-1"), listener?.knows("__proto__")]).toEqual([true, false]);
  });

  it("end with the signal, and leave no timer", async () => {
    const { clock, open, add, quit, done } = listeningChannels();
    add("WS-1", "W001");
    await clock.advance(10_000);
    quit.abort();
    await done;
    await settled();
    expect([open.size, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe("recovery of what was pushed to nobody", () => {
  const lost = async (takesMs?: number) => {
    const made = listeningChannels(takesMs);
    await made.clock.advance(1_000);
    return { ...made, lose: () => made.open.get("set-value")?.lost() };
  };

  it("reads everything once, at once", async () => {
    const { clock, rounds, lose } = await lost(10_000);
    lose();
    await clock.advance(600_000);
    expect(rounds).toEqual([1_000]);
  });

  it("of 1,000 losses in ten minutes starts a round a minute at most, and one after the last of them", async () => {
    const { clock, rounds, lose } = await lost(10_000);
    for (let n = 0; n < 1_000; n++) {
      lose();
      await clock.advance(600);
    }
    const lastAt = clock.monotonic();
    await clock.advance(600_000);
    expect(rounds.length).toBeLessThanOrEqual(10);
    const last = rounds.at(-1) ?? 0;
    expect(last).toBeGreaterThanOrEqual(lastAt - 600);
    expect(last).toBeLessThanOrEqual(lastAt + 70_000);
    expect(rounds.slice(1).every((at, n) => at - (rounds[n] ?? 0) >= 70_000)).toBe(true);
  });

  it("stops with the signal, also in the middle of a round that never ends", async () => {
    const { clock, quit, done, lose } = await lost(Infinity);
    lose();
    await clock.advance(1);
    quit.abort();
    await expect(done).resolves.toBeUndefined();
  });
});
