import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { RetainedStates } from "../../src/mqtt/retained-states.js";
import { controllerMessages, targetMessages } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { registerReads } from "../../src/sync/poll-plan.js";
import { actuator, controller, controllerSettings, silentLog } from "../support/builders.js";
import { after, registersRead, start } from "../support/folding.js";
import { RetainedBroker } from "../support/retained-broker.js";
import { settled } from "../support/virtual-clock.js";

const topics = topicsUnder("greenhouse");
const settings = controllerSettings({ actuators: [actuator()] });
const fresh = controller(settings);
const readBack = (values: Record<string, string>, startedAt = 100): ControllerEvent => ({
  ...registersRead(values, { startedAt }),
  source: "read_back",
});
const published = (before: Controller | undefined, next: Controller | undefined) =>
  controllerMessages(topics, before, next).map(({ topic, payload }) => `${topic} ${payload}`);

describe("a raw address", () => {
  it("has a topic only after a command read it back; what a poll happens to carry is nobody's", () => {
    const polled = after(fresh, start, registersRead({ "900": "1" }));
    expect(polled.addresses.size).toBe(0);
    const commanded = after(fresh, start, readBack({ "900": "0110" }));
    expect(published(fresh, commanded)).toEqual(["greenhouse/gh-0001/address/900 0110"]);
  });

  it("that an actuator owns never has one", () =>
    expect(after(fresh, start, readBack({ "101": "10010" })).addresses.size).toBe(0));

  it("is published when its text changes, and polled from then on", () => {
    const commanded = after(fresh, start, readBack({ "900": "0110" }));
    expect(registerReads(commanded)).toContainEqual({ type: "address", address: "900" });
    const same = after(commanded, start, registersRead({ "900": "0110" }, { startedAt: 200 }));
    expect(published(commanded, same)).toEqual([]);
    const other = after(same, start, registersRead({ "900": "0" }, { startedAt: 300 }));
    expect(published(same, other)).toEqual(["greenhouse/gh-0001/address/900 0"]);
  });

  it("is shown again as it is after a refused command, and cleared with its controller", () => {
    const commanded = after(fresh, start, readBack({ "900": "0110" }));
    const again = targetMessages(topics, commanded, "address", "900");
    expect(again).toEqual([{ topic: "greenhouse/gh-0001/address/900", payload: "0110" }]);
    expect(published(commanded, undefined)).toContain("greenhouse/gh-0001/address/900 ");
  });

  it("of an earlier run is cleared once the account is known: nobody knows how old it is", async () => {
    const broker = new RetainedBroker();
    const state = { isKnown: false };
    const states = new RetainedStates({
      ...{ topics, qos: 0, log: silentLog },
      view: {
        byId: (id) => (id === "gh-0001" ? fresh : undefined),
        get: () => undefined,
        controllers: () => [],
      },
      publish: (topic, payload) => broker.publish(topic, payload),
      isIgnored: () => false,
      isAccountKnown: () => state.isKnown,
      platformHadTime: () => false,
    });
    const topic = "greenhouse/gh-0001/address/900";
    broker.kept.set(topic, "0110");
    states.found(topic, "0110");
    states.sweep();
    await settled();
    expect(broker.kept.has(topic)).toBe(true);
    state.isKnown = true;
    states.sweep();
    await settled();
    expect(broker.kept.has(topic)).toBe(false);
  });
});
