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
function counting(timeZone: string) {
  const clock = new VirtualClock();
  const settings = controllerSettings({ actuators: [fan("one", "101"), fan("other", "102")] });
  const store = new GreenhouseStore(mirrorSettings([settings]), clock, anyAscii);
  store.setReachable(true);
  store.admit(code);
  store.dispatch(code, { type: "listed", record: record(), availability: "online" });
  const memory = { read: () => Promise.resolve(null), write: () => Promise.resolve() };
  const { log } = capturedLog();
  new RunTimes({ clock, log, store, timeZone, memory });
  const read = async (...addresses: readonly string[]) => {
    const values = Object.fromEntries(addresses.map((address) => [address, "1010"]));
    store.dispatch(code, registersRead(values, { startedAt: clock.monotonic(), readAt: clock.now() }));
    await clock.advance(0);
  };
  const onOf = (id: string) => store.get(code)?.actuators.get(id)?.runTime?.on_s;
  const todayOf = (id: string) => store.get(code)?.actuators.get(id)?.runTime?.today_on_s;
  return { clock, read, onOf, todayOf };
}

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
    const { clock, read, onOf, todayOf } = counting("Asia/Shanghai");
    const untilMidnight = 24 * hour - ((clock.now() + 8 * hour) % (24 * hour));
    await clock.advance(untilMidnight - 30_000);
    await read("101");
    await clock.advance(29_000);
    await read("101");
    await clock.advance(2_000);
    await read("101");
    expect([onOf("one"), todayOf("one")]).toEqual([31, 2]);
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
