import { expect, it, onTestFinished } from "vitest";
import type { Core } from "../../src/feature/core.js";
import { announce } from "../../src/homeassistant/discovery-output.js";
import { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { silentLog } from "../support/builders.js";
import { RetainedBroker } from "../support/retained-broker.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";
import { bridgeTopic } from "./discovery-setup.js";

const view = { controllers: () => [], get: () => undefined, byId: () => undefined };
const homeassistant = { discovery_prefix: "homeassistant", status_topic: "homeassistant/status" };
const roofs = { id: "roofs", name: "Roofs", members: [], target: { kind: "skylight", values: {} } };

/** Home Assistant's part at a keeper of its own, as `core` has them; the topics published after each announcement of the bridge. */
function announcing() {
  const clock = new VirtualClock();
  const broker = new RetainedBroker();
  const topics = topicsUnder("greenhouse");
  const link = {
    publish: (topic: string, payload: string) => broker.publish(topic, payload),
    scan: () => Promise.resolve(true),
  };
  const about = { topics, view, qos: 0, gate: null, isLeftOut: () => false } as const;
  const retained = new RetainedTopics(about, link, clock, silentLog);
  const core = {
    ...{ retained, topics, clock, log: silentLog, random: () => 0.5, isOneOfMany: false, version: "1" },
    ...{ page: { url: undefined, kinds: [] }, outputs: { announceBy: () => undefined } },
    groupsAndScenes: () => ({ groups: new Map([["roofs", roofs]]), scenes: new Map() }),
    file: () => ({ read: () => Promise.resolve(null), write: () => Promise.resolve() }),
    commands: { outbox: { repeatLate: () => undefined } },
    mirror: {
      store: view,
      inventory: { hadTime: false, mayForget: () => false },
      poller: { onTried: () => undefined },
      watch: { state: "online" },
    },
  } as unknown as Core;
  const settings = {
    homeassistant: { ...homeassistant, enabled: true, language: "en", sensor_names: "translated" },
    ...{ mqtt: { client_id: "greenhouse2mqtt" }, platform: { requests_per_minute: 0 } },
  };
  const { part } = announce(core, settings as unknown as Parameters<typeof announce>[1], String);
  const stop = new AbortController();
  void part?.run?.(stop.signal);
  onTestFinished(() => stop.abort());
  return { clock, broker, topics, retained, part };
}

it("what the device of the bridge shows is published again once Home Assistant has taken in its announcement", async () => {
  const { clock, broker, topics, retained, part } = announcing();
  const { platform, info, health, alarms } = topics.bridge;
  const shown = [platform, info, health, alarms, topics.group("roofs").json];
  for (const topic of [...shown, "greenhouse/bridge/stations"]) retained.wanted(topic, "{}");
  await retained.onLinked();
  retained.online();
  part?.onConnected?.();
  await settled();
  await clock.advance(60_000);
  const taken = broker.taken();
  expect(taken).toContain(bridgeTopic);
  expect(taken.slice(taken.indexOf(bridgeTopic) + 1)).toEqual(shown);
});
