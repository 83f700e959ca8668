import { expect, it } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { configurationSchema } from "../../src/config/schema.js";
import { noGaps } from "../../src/runtime/gaps.js";
import { BrokerTests, selfTestPayload } from "../../src/status/other-bridge.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const configuration = configurationSchema.parse({
  platform: { business_url: "https://b.example", realtime_url: "https://r.example", token: "canary-token" },
  http: false,
});

it("another bridge that comes and goes is told at once, and gone no sooner than 10 s after; commands are refused as long", async () => {
  const clock = new VirtualClock();
  const began = clock.monotonic();
  const noted: string[] = [];
  const topics = topicsUnder("greenhouse");
  const live = new LiveSettings(configuration);
  const core = {
    configuration,
    clock,
    gaps: noGaps,
    log: silentLog,
    journal: { boot: "ours", append: () => Promise.resolve(1) },
    mirror: { store: { get: () => undefined, controllers: () => [] } },
    connection: {
      state: "online" as const,
      counters: () => ({ connects: 1, takenOver: 0, received: 0 }),
      publish: () => Promise.resolve(),
      reconnect: () => undefined,
    },
    topics,
    onEvent: () => noted.push(`${(clock.monotonic() - began) / 1_000} ${live.commandRules().otherBridge}`),
  };
  const tests = new BrokerTests(core, live);
  tests.onConnected();
  const hear = (leaving: boolean) => {
    const said = { nonce: "n", client: "other", commands: true, controllers: [] };
    const payload = Buffer.from(selfTestPayload({ instance: "other", ...said, leaving }));
    tests.onMessage({ topic: topics.bridge.selfTest, payload, retain: false, properties: {} });
  };
  for (let second = 0; second < 60; second += 1) {
    // It speaks twice, 5 s apart, and says goodbye a second later.
    const at = second % 7;
    if (at === 0 || at === 5) hear(false);
    if (at === 6) hear(true);
    tests.look();
    expect(tests.restMs()).toBeLessThanOrEqual(180_000);
    await clock.advance(1_000);
  }
  expect(noted).toEqual([
    "5 true",
    "15 false",
    "19 true",
    "29 false",
    "33 true",
    "43 false",
    "47 true",
    "57 false",
  ]);
});
