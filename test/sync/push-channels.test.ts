import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { stepsOf } from "../../src/greenhouse/command/plan.js";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { PushChannel, PushListener } from "../../src/greenhouse/ports.js";
import { PushChannels } from "../../src/sync/push-channels.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { nobodyWaits, record, silentLog } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

function listeningChannels(takesMs = 0) {
  const clock = new VirtualClock();
  const store = new GreenhouseStore(mirrorSettings(), clock, anyAscii);
  const open = new Map<string, PushListener>();
  const nameOf = (channel: PushChannel) => (channel.type === "weather-station" ? channel.code : channel.type);
  const platform = {
    listen: async (channel: PushChannel, listener: PushListener, signal: AbortSignal) => {
      open.set(nameOf(channel), listener);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      open.delete(nameOf(channel));
    },
  };
  const rounds: number[] = [];
  const poller = {
    readSoon: () => undefined,
    isWanted: () => false,
    onSign: () => undefined,
    refresh: async () => {
      rounds.push(clock.monotonic());
      if (takesMs > 0) await clock.wait(takesMs);
      return [];
    },
  };
  const seen = { see: () => undefined, restore: () => Promise.resolve() };
  const mirror = { store, poller, seen };
  const channels = new PushChannels(platform, mirror, nobodyWaits, { clock, log: silentLog });
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

describe("the push channels", () => {
  it("are the account's two, and one for each of the first sixteen weather stations, as long as it is mirrored", async () => {
    const { clock, store, open, add, quit, done } = listeningChannels();
    const opened = async () => {
      await clock.advance(10_000);
      return [...open.keys()].sort().join(" ");
    };
    expect(await opened()).toBe("device-status set-value");
    add("GH-1", "C001");
    add("CAM-1", "V008");
    const stations = Array.from({ length: 40 }, (_, n) => `WS-${String(n).padStart(2, "0")}`);
    for (const station of stations) add(station, "W001");
    expect(await opened()).toBe([...stations.slice(0, 16), "device-status", "set-value"].join(" "));
    for (const station of stations.slice(1)) store.remove(station);
    expect(await opened()).toBe("WS-00 device-status set-value");
    const listener = open.get("set-value");
    expect(["GH-1", "GH-2", "__proto__"].map((known) => listener?.knows(known))).toEqual([
      true,
      false,
      false,
    ]);
    quit.abort();
    await done;
    await settled();
    expect([open.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  it("want everything read, once and at once, after one of the account's was lost, and when it is open again", async () => {
    const { clock, open, add, rounds } = listeningChannels();
    add("WS-1", "W001");
    await clock.advance(10_000);
    for (const listener of open.values()) listener.onOpen();
    await clock.advance(1_000);
    open.get("WS-1")?.onLost();
    open.get("WS-1")?.onOpen();
    await clock.advance(1_000);
    expect(rounds).toEqual([]);
    open.get("set-value")?.onLost();
    await clock.advance(100_000);
    expect(rounds).toEqual([12_000]);
    open.get("set-value")?.onOpen();
    await clock.advance(100_000);
    expect(rounds).toHaveLength(2);
  });

  it("of 1,000 losses in ten minutes want a round a minute at most, and one after the last of them", async () => {
    const { clock, rounds, open } = listeningChannels(10_000);
    await clock.advance(1_000);
    for (let n = 0; n < 1_000; n++) {
      open.get("set-value")?.onLost();
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
});

const code = "GH-0001";

/** A platform that takes the value but shows it only when told to. */
function slowBench() {
  const bench = new CommandBench();
  bench.platform.registers.set("101", "10001");
  bench.platform.onWrite = () => Promise.resolve({ code: "200", requestId: null });
  return bench;
}

const confirming = async (bench: CommandBench) => {
  bench.send("open");
  await bench.clock.advance(5_000);
  return bench.platform.reads;
};

describe("a push while a command is being confirmed", () => {
  it("that shows the value leads to a read-back at once, which confirms it", async () => {
    const bench = slowBench();
    const reads = await confirming(bench);
    bench.platform.registers.set("101", "10010");
    expect(bench.commander.readBackNow(code, "101", 10010)).toBe(true);
    await bench.clock.advance(0);
    expect(bench.platform.reads).toBe(reads + 1);
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010", duration_ms: 5_000 }]);
  });

  it.each<[string, address: string, value: (n: number) => string, fewest: number, most: number, of?: string]>(
    [
      ["costs one read-back a second at most", "101", () => "10010", 10, 13],
      ["of another value is worth one look in ten seconds", "101", (n) => String(n % 100), 1, 4],
      ["of another address is not worth one", "102", () => "10010", 0, 2],
      ["of another controller is not worth one", "101", () => "10010", 0, 2, "GH-0002"],
    ],
  )("%s, however many there are", async (_, address, value, fewest, most, of = code) => {
    const bench = slowBench();
    const reads = await confirming(bench);
    for (let n = 0; n < 1_000; n++) {
      bench.commander.readBackNow(of, address, value(n));
      await bench.clock.advance(10);
    }
    expect(bench.platform.reads - reads).toBeLessThanOrEqual(most);
    expect(bench.platform.reads - reads).toBeGreaterThanOrEqual(fewest);
  });

  it("never confirms by itself, and is listened to no longer than the command lasts", async () => {
    const bench = slowBench();
    await confirming(bench);
    expect(bench.commander.readsBack(code, "101")).toBe(true);
    for (let n = 0; n < 20; n++) {
      bench.commander.readBackNow(code, "101", "10010");
      await bench.clock.advance(20_000);
    }
    expect(bench.results).toMatchObject([{ outcome: "unconfirmed", read_back: "10001" }]);
    expect(bench.commander.readsBack(code, "101")).toBe(false);
    expect(bench.commander.readBackNow(code, "101", "10010")).toBe(false);
  });

  it("that was sent before the POST ended proves nothing, as the read-back begun then does not", async () => {
    const bench = slowBench();
    let answer: () => void = () => undefined;
    bench.platform.onWrite = () =>
      new Promise((resolve) => {
        answer = () => resolve({ code: "200", requestId: null });
      });
    bench.send("open");
    await bench.clock.advance(1_000);
    expect(bench.commander.readBackNow(code, "101", "10010")).toBe(false);
    answer();
    await bench.clock.advance(1_000);
    expect(bench.results).toEqual([]);
  });
});

describe("a push while a command of an earlier run is being read back", () =>
  it("that shows the value leads to a read-back at once, which confirms it, and to no POST", async () => {
    const earlier = slowBench();
    earlier.send("open");
    await earlier.clock.advance(5_000);
    const [command] = earlier.commander.open;
    if (!command) throw new Error("the command is over");
    const bench = slowBench();
    const [step] = stepsOf(command.settings, command.wanted, null);
    if (!step) throw new Error("the command has no step");
    const sent = { earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() };
    bench.recover({ command, step, ...sent });
    await bench.clock.advance(5_000);
    for (const [raw, reads] of [
      ["10001", 2],
      ["10010", 3],
    ] as const) {
      bench.platform.registers.set("101", raw);
      expect(bench.commander.readBackNow(code, "101", 10010)).toBe(true);
      expect(bench.results).toEqual([]);
      await bench.clock.advance(1_000);
      expect(bench.platform.reads).toBe(reads);
    }
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010" }]);
    expect(bench.platform.posts).toEqual([]);
  }));
