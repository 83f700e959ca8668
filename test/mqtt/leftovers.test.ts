import { describe, expect, it, onTestFinished } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { reservedControllerIds } from "../../src/greenhouse/topic-ids.js";
import { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import { placeOf, topicsUnder } from "../../src/mqtt/topics.js";
import { actuator, controller, controllerSettings, item, silentLog } from "../support/builders.js";
import { after, registersRead, sensorsRead, start } from "../support/folding.js";
import { RetainedBroker } from "../support/retained-broker.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const settings = controllerSettings({
  actuators: [actuator()],
  parameters: [{ id: "ec", address: "501", scale: 1 }],
});

function kept(isLeftOut = (id: string): boolean => id === "ignored") {
  const controllers = new Map<string, Controller>([["gh-0001", controller(settings)]]);
  const broker = new RetainedBroker();
  const clock = new VirtualClock();
  const state = { isKnown: false, mayClear: true };
  const held = new Map<string, string>();
  const view = {
    byId: (id: string) => controllers.get(id),
    get: (code: string) => [...controllers.values()].find(({ info }) => info.code === code),
    controllers: () => [],
  };
  const link = {
    publish: (topic: string, payload: string) => broker.publish(topic, payload),
    scan: (_: unknown, found: (topic: string, payload: Buffer) => void) => {
      for (const [topic, payload] of held) found(topic, Buffer.from(payload));
      return Promise.resolve(true);
    },
  };
  const context = { topics: topicsUnder("greenhouse"), qos: 0, view, gate: null, isLeftOut } as const;
  const retained = new RetainedTopics(context, link, clock, silentLog);
  /** The broker shows on a new link that it holds this. */
  const look = async (topic: string, payload: string) => {
    held.clear();
    held.set(`greenhouse/${topic}`, payload);
    retained.onUnlinked();
    await retained.onLinked();
    retained.online();
    await settled();
  };
  const find = async (...topics: string[]) => {
    for (const topic of topics) {
      broker.kept.set(`greenhouse/${topic}`, "x");
      await look(topic, topic.endsWith("json") ? '{"value":1,"quality":"good"}' : "good");
    }
  };
  /** Sweeps, before or after the platform had its time; the topics it cleared. */
  const cleared = async (hadTime: boolean) => {
    broker.log.length = 0;
    const isKnown = state.isKnown && state.mayClear;
    retained.sweep(!isKnown ? "ended" : hadTime ? "all" : "settled");
    await settled();
    return broker.log
      .filter(({ payload }) => payload === "")
      .map(({ topic }) => topic.slice("greenhouse/".length))
      .sort();
  };
  const known = () => {
    state.isKnown = true;
  };
  return { controllers, broker, clock, retained, look, find, cleared, known, state };
}

describe("what an earlier run left is marked stale at once", () => {
  it.each([
    ["gone/sensor/air/quality", "good", "stale"],
    ["gone/availability", "online", "unknown"],
    ["gone/availability", "unknown", null],
    ["gh-0001/sensor/air/quality", "bad", "stale"],
    ["gh-0001/sensor/air/quality", "stale", null],
    ["gh-0001/sensor/air/quality_code", "192", "68"],
    ["gh-0001/actuator/roof/quality_code", "68", null],
    ["gh-0001/sensor/air/json", '{"value":1,"quality":"good"}', '{"value":1,"quality":"stale"}'],
    ["gh-0001/sensor/air/json", '{"value":1,"quality":"stale"}', null],
    ["gh-0001/actuator/roof/json", '{"state":"open","quality":"good"}', '{"state":"open","quality":"stale"}'],
    ["gh-0001/status/fan/json", '{"state":"on"}', null],
    ["gh-0001/sensor/air/json", "{broken", null],
    ["gh-0001/sensor/air/json", "null", null],
    ["gh-0001/sensor/air", "21.5", null],
    ["gh-0001/availability", "online", null],
    ["gh-0001/sensor/air/quality", "", null],
  ])("%s %s becomes %s", async (topic, payload, marked) => {
    const { look, broker } = kept();
    await look(topic, payload);
    expect(broker.log).toEqual(marked === null ? [] : [{ topic: `greenhouse/${topic}`, payload: marked }]);
  });

  it("what this run has read already is left alone", async () => {
    const { controllers, broker, find, cleared, known } = kept();
    const read = after(
      controller(settings),
      start,
      sensorsRead([item({ measuredAt: start })]),
      registersRead({ "101": "10010", "501": 1 }),
    );
    controllers.set("gh-0001", read);
    await find(
      "gh-0001/sensor/air_temperature/quality",
      "gh-0001/actuator/roof/json",
      "gh-0001/parameter/ec/json",
    );
    expect(broker.log).toEqual([]);
    known();
    expect(await cleared(true)).toEqual([]);
  });
});

describe("what is no longer wanted is cleared", () => {
  const all = ["gone/info", "gone/sensor/air", "ignored/availability", "gh-0001/actuator/old/state"];

  it("never before the account is known and whatever reads it was told, not even what the configuration decides", async () => {
    const { find, cleared, known, state } = kept();
    await find(...all);
    expect(await cleared(true)).toEqual([]);
    known();
    state.mayClear = false;
    expect(await cleared(true)).toEqual([]);
    state.mayClear = true;
    expect(await cleared(true)).toEqual([...all].sort());
  });

  it("at once where the configuration decides, else when the platform had the time to show it again and did not, once", async () => {
    const { find, cleared, known } = kept();
    const ours = [
      "gh-0001/actuator/roof/state",
      "gh-0001/parameter/ec",
      "gh-0001/sensor/old",
      "gh-0001/status/old/json",
    ];
    // Nobody knows how old a raw address is.
    const unasked = [
      "gh-0001/actuator/roof/state_code",
      "gh-0001/sensor/air/measured_at",
      "gh-0001/sensor/air/quality_code",
    ];
    // It was another kind that runs.
    const former = "gh-0001/actuator/roof/run_time";
    await find(...all, former, "gh-0001/parameter/old", "gh-0001/address/900", ...unasked, ...ours);
    expect(await cleared(false)).toEqual([]);
    known();
    const decided = [
      "gh-0001/actuator/old/state",
      "gh-0001/actuator/roof/run_time",
      "gh-0001/address/900",
      "gh-0001/parameter/old",
    ];
    expect(await cleared(false)).toEqual([...decided, ...unasked, "ignored/availability"].sort());
    expect(await cleared(true)).toEqual([...ours, "gone/info", "gone/sensor/air"]);
    expect(await cleared(true)).toEqual([]);
  });

  it("at once where its controller has another id now", async () => {
    const { controllers, look, find, cleared, known } = kept();
    const code = controllers.get("gh-0001")?.info.code;
    await find("former/availability", "former/actuator/roof/state", "gone/availability");
    await look("former/info", JSON.stringify({ code }));
    await look("gone/info", '{"code":"GONE"}');
    known();
    expect(await cleared(false)).toEqual([
      "former/actuator/roof/state",
      "former/availability",
      "former/info",
    ]);
  });

  it("how long it was on of what runs no more, also while its state is shown", async () => {
    const { controllers, find, cleared, known } = kept();
    controllers.set("gh-0001", after(controller(settings), start, registersRead({ "101": "10010" })));
    await find("gh-0001/actuator/roof/run_time", "gh-0001/actuator/roof/state");
    known();
    expect(await cleared(false)).toEqual(["gh-0001/actuator/roof/run_time"]);
  });

  it("not where it came back in the meantime", async () => {
    const { controllers, find, cleared, known } = kept();
    await find("late/info", "gh-0001/sensor/air_temperature");
    known();
    await cleared(false);
    controllers.set("late", controller());
    controllers.set("gh-0001", after(controller(settings), start, sensorsRead([item()])));
    expect(await cleared(true)).toEqual([]);
  });

  it("again where clearing failed, as marking is", async () => {
    const { broker, clock, retained, find, cleared, known } = kept();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    void retained.run(stop.signal);
    broker.refuses = () => true;
    await find("ignored/availability", "gh-0001/sensor/air/quality");
    await settled();
    known();
    await cleared(false);
    broker.refuses = () => false;
    await clock.advance(60_000);
    expect(await cleared(false)).toEqual(["ignored/availability"]);
    expect(await cleared(false)).toEqual([]);
    expect(broker.kept.get("greenhouse/gh-0001/sensor/air/quality")).toBe("stale");
  });
});

it("nothing but what a controller retains is ever touched", async () => {
  const { look, broker, cleared, known } = kept();
  const others = [
    ...[
      "greenhouse/gone/actuator/roof/set",
      "greenhouse/gone/parameter/ec/set",
      "greenhouse/gone/address/101/set",
    ],
    ...[
      "greenhouse/bridge/state",
      "greenhouse/bridge/sensor/air/quality",
      "greenhouse/bridge/request/refresh",
    ],
    ...[
      "greenhouse/gone",
      "greenhouse/gone/other",
      "greenhouse/gone/other/x",
      "greenhouse/gone/sensor/air/json/deep",
    ],
    ...["greenhouses/gone/info", "other/gone/sensor/air/quality", "homeassistant/device/x/config"],
  ];
  for (const topic of others) await look(topic.replace(/^greenhouse\//, ""), "good");
  known();
  for (const hadTime of [false, true]) await cleared(hadTime);
  expect(broker.log).toEqual([]);
  expect(others.filter((topic) => placeOf("greenhouse", topic) !== null)).toEqual([]);
});

it.each([...reservedControllerIds])(
  "what others retain below the reserved id %s is no controller's, also where the configuration lists all that there are",
  async (id) => {
    const { find, broker, cleared, known } = kept(() => true);
    await find(`${id}/availability`, `${id}/info`, `${id}/sensor/wind`, `${id}/sensor/wind/quality`);
    expect(broker.log).toEqual([]);
    known();
    expect([await cleared(false), await cleared(true)]).toEqual([[], []]);
  },
);

it("a lock, a lease and what was allowed of a run whose data are lost go with the first list; what is allowed now stays", async () => {
  const { find, cleared, known } = kept();
  await find("gh-0001/actuator/roof/lock", "gh-0001/actuator/roof/lease", "gh-0001/actuator/roof/allowed");
  await find("gh-0001/actuator/gone/allowed", "gh-0001/actuator/gone/lock");
  expect(await cleared(false)).toEqual([]);
  known();
  expect(await cleared(false)).toEqual([
    ...["gh-0001/actuator/gone/allowed", "gh-0001/actuator/gone/lock"],
    ...["gh-0001/actuator/roof/lease", "gh-0001/actuator/roof/lock"],
  ]);
});
