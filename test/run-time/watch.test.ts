import anyAscii from "any-ascii";
import { describe, expect, it, vi } from "vitest";
import { RunTimes } from "../../src/run-time/watch.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { actuator, controllerSettings, record } from "../support/builders.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { registersRead } from "../support/folding.js";
import { hour, mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const code = "GH-0001";
const fan = (id: string, address: string) => actuator({ id, kind: "circulation_fan", address });

/** Two fans that are on, counted by the clocks of this zone. */
function counting(timeZone: string, kept: string | null = null) {
  const clock = new VirtualClock();
  const settings = controllerSettings({ actuators: [fan("one", "101"), fan("other", "102")] });
  const store = new GreenhouseStore(mirrorSettings([settings]), clock, anyAscii);
  store.setReachable(true);
  store.admit(code);
  store.dispatch(code, { type: "listed", record: record(), availability: "online" });
  const written: string[] = [];
  const memory = {
    read: () => Promise.resolve(kept),
    write: (text: string) => Promise.resolve(void written.push(text)),
  };
  const { log } = capturedLog();
  const runTimes = new RunTimes(store, memory, timeZone, { clock, log });
  const show = async (raw: string, ...addresses: readonly string[]) => {
    const values = Object.fromEntries(addresses.map((address) => [address, raw]));
    store.dispatch(code, registersRead(values, { startedAt: clock.monotonic(), readAt: clock.now() }));
    await clock.advance(0);
  };
  const read = (...addresses: readonly string[]) => show("1010", ...addresses);
  const untilMidnight = () => 24 * hour - ((clock.now() + 8 * hour) % (24 * hour));
  const onOf = (id: string) => store.get(code)?.actuators.get(id)?.runTime?.on_s;
  const todayOf = (id: string) => store.get(code)?.actuators.get(id)?.runTime?.today_on_s;
  return { clock, store, runTimes, written, show, read, untilMidnight, onOf, todayOf };
}

type Counting = ReturnType<typeof counting>;

describe("how long actuators were on", () => {
  it("is counted of the one that was read, and of the other when that is", async () => {
    const { clock, read, onOf } = counting("Asia/Shanghai");
    await read("101", "102");
    await clock.advance(60_000);
    await read("101");
    expect([onOf("one"), onOf("other")]).toEqual([60, 0]);
    await clock.advance(60_000);
    await read("102");
    expect([onOf("one"), onOf("other")]).toEqual([60, 120]);
  });

  it("of a day begins at midnight of the greenhouse's zone", async () => {
    const { clock, read, untilMidnight, onOf, todayOf } = counting("Asia/Shanghai");
    await clock.advance(untilMidnight() - 30_000);
    await read("101");
    await clock.advance(29_000);
    await read("101");
    await clock.advance(2_000);
    await read("101");
    expect([onOf("one"), todayOf("one")]).toEqual([31, 2]);
  });

  describe("of a day begins at midnight, whatever is read then", () => {
    const auto = "1100";
    it.each<[rule: string, before: (counting: Counting) => unknown]>([
      ["of what is in auto, where nobody can tell", ({ show }) => show(auto, "101")],
      ["while the platform is gone", ({ store }) => store.setReachable(false)],
      ["where it is not read again", () => undefined],
    ])("%s", async (_, before) => {
      const one = counting("Asia/Shanghai");
      const { clock, runTimes, read, untilMidnight, onOf, todayOf } = one;
      const stop = new AbortController();
      const running = runTimes.run(stop.signal);
      await read("101");
      await clock.advance(42 * 60_000);
      await read("101");
      await before(one);
      await clock.advance(untilMidnight() - 1_000);
      expect(todayOf("one")).toBe(42 * 60);
      await clock.advance(60_000);
      expect([onOf("one"), todayOf("one")]).toEqual([42 * 60, 0]);
      stop.abort();
      await running;
    });

    it("of what was not read since the start", async () => {
      const counts = { onMs: 2_520_000, starts: 1 };
      const kept = { total: counts, today: { day: "2026-02-28", ...counts }, since: 0 };
      const one = counting("Asia/Shanghai", JSON.stringify({ [JSON.stringify([code, "one"])]: kept }));
      await one.runTimes.restore();
      const stop = new AbortController();
      const running = one.runTimes.run(stop.signal);
      await one.clock.advance(60_000);
      expect([one.onOf("one"), one.todayOf("one")]).toEqual([2_520, 0]);
      expect(one.onOf("other")).toBeUndefined();
      stop.abort();
      await running;
    });
  });

  it("is written where it changed, and not for every read of what is off", async () => {
    const { clock, written, show, read, runTimes } = counting("Asia/Shanghai");
    const stop = new AbortController();
    const running = runTimes.run(stop.signal);
    for (const raw of ["1001", "1001", "1010", "1010", "1001", "1001"]) {
      await show(raw, "101");
      await clock.advance(60_000);
    }
    // The first read, the start, and a minute on.
    expect(written).toHaveLength(3);
    await read("101");
    stop.abort();
    await running;
    expect(written).toHaveLength(4);
  });

  it.each([
    ["back", -6 * hour],
    ["forward", 6 * hour],
  ])("counts on while the clock is set %s", async (_, ms) => {
    const { clock, read, onOf } = counting("Asia/Shanghai");
    await read("101");
    await clock.advance(60_000);
    clock.setWall(clock.now() + ms);
    await read("101");
    await clock.advance(60_000);
    await read("101");
    expect(onOf("one")).toBe(120);
  });

  it("asks Intl, which takes 5 MiB, nothing about China's time", async () => {
    vi.stubGlobal("Intl", undefined);
    try {
      const { clock, read, onOf } = counting("Asia/Shanghai");
      await read("101");
      await clock.advance(60_000);
      await read("101");
      expect(onOf("one")).toBe(60);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
