import { expect, it } from "vitest";
import { whileRuns } from "../end-to-end/support/program.js";
import { configurationFor, createStage, mosquittoSection } from "../end-to-end/support/stage.js";
import { until } from "../end-to-end/support/watch.js";

/** As many as polling has places. */
const silent = ["GH-0001", "GH-0003", "GH-0004", "GH-0005"];
const watched = "greenhouse/gh-0006/sensor/airtemp/json";

it("four controllers that answer nothing delay no other one's readings", async () => {
  const stage = await createStage();
  try {
    const platform = await stage.platform({ controllers: 6, speed: 30 });
    const broker = await stage.mosquitto();
    const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
    const base = configurationFor(platform.url, mosquittoSection(broker.url), {
      homeassistant: { enabled: false },
      controllers: {},
    });
    const timeouts = { read: "6s" };
    const bridge = await stage.bridge({ ...base, platform: { ...(base["platform"] as object), timeouts } });
    await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 60_000));
    await watch.untilTrue(() => watch.latest(watched) !== null, "a first reading", 60_000);
    for (const controller of silent)
      await platform.fault({ fault: "silent_controller", controller, for: "5m" });
    // Until each of them was found silent once, and what hung at the same time has ended.
    await new Promise((resolve) => setTimeout(resolve, 18_000));
    const mark = watch.mark();
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    const times = watch.seen
      .slice(mark)
      .filter(({ topic }) => topic === watched)
      .map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((at, place) => at - (times[place] ?? 0));
    // A sample is taken every 2 s and asked for every second.
    expect(times.length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...gaps)).toBeLessThan(5_000);
  } finally {
    await stage.clear();
  }
}, 120_000);
