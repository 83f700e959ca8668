import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { topicsUnder } from "../../src/mqtt/topics.js";

const topics = topicsUnder("greenhouse");

it("other bridges are heard under base topics of up to three levels, or of as many as ours", () => {
  const levels = ["+", "+/+", "+/+/+"].map((base) => `${base}/bridge/self_test`);
  expect(topics.othersSelfTest).toEqual(levels);
  expect(topicsUnder("a/b/c/d").othersSelfTest).toEqual([...levels, "+/+/+/+/bridge/self_test"]);
});

const unsafe = [
  "",
  "/",
  "+",
  "#",
  "a/b",
  "A",
  "温",
  "a b",
  "\u0000",
  "\ud800",
  "a".repeat(65),
  "..",
  "a\n",
  "a#",
];

describe("the builders refuse", () => {
  it.each(unsafe)("an id that is no safe id: %j", (id) => {
    expect(() => topics.controller(id)).toThrow("not a topic id");
    for (const build of [topics.sensor, topics.status, topics.actuator, topics.parameter]) {
      expect(() => build(id, "x")).toThrow("not a topic id");
      expect(() => build("x", id)).toThrow("not a topic id");
    }
    expect(() => topics.bridge.response(id)).toThrow("not a topic id");
  });

  it.each(["", "/", "1/2", "+", "#", "温", "1 2", "\u0000", "1".repeat(65)])(
    "an address that is none: %j",
    (address) => expect(() => topics.address("x", address)).toThrow("not an address"),
  );

  it("whatever else; what they let through no broker refuses", () =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...unsafe)), (id) => {
        let made: string | null = null;
        try {
          made = topics.sensor(id, id).json;
        } catch {
          expect(id).not.toMatch(/^[a-z0-9_-]{1,64}$/);
        }
        if (made !== null)
          expect(made).toMatch(/^greenhouse\/[a-z0-9_-]{1,64}\/sensor\/[a-z0-9_-]{1,64}\/json$/);
      }),
      { numRuns: 5_000 },
    ));
});

const id = fc.stringMatching(/^[a-z0-9_-]{1,64}$/);
const base = fc.constantFrom("greenhouse", "site/greenhouse", "a");

describe("parsing", () => {
  it("finds back what a set topic is about", () => {
    const address = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
    fc.assert(
      fc.property(base, id, id, address, (under, controllerId, name, place) => {
        const made = topicsUnder(under);
        const command = { type: "command", controllerId };
        expect(made.parse(made.actuator(controllerId, name).set)).toEqual({
          ...command,
          target: "actuator",
          id: name,
        });
        expect(made.parse(made.parameter(controllerId, name).set)).toEqual({
          ...command,
          target: "parameter",
          id: name,
        });
        expect(made.parse(made.address(controllerId, place).set)).toEqual({
          ...command,
          target: "address",
          id: place,
        });
        expect(made.parse(made.bridge.request(name))).toEqual({ type: "request", name });
      }),
    );
  });

  it.each([
    "",
    "greenhouse",
    "greenhouse/",
    "greenhouses/east/actuator/roof/set",
    "Greenhouse/east/actuator/roof/set",
    "greenhouse/east/actuator/roof",
    "greenhouse/east/actuator/roof/state",
    "greenhouse/east/actuator/roof/set/x",
    "greenhouse/east/sensor/air/set",
    "greenhouse/east/set",
    "greenhouse/bridge/state",
    "greenhouse/bridge/request",
    "greenhouse/bridge/request/refresh/x",
    "greenhouse/bridge/response/refresh",
    "greenhouse/east/request/refresh",
  ])("is nothing to us: %j", (topic) => expect(topics.parse(topic)).toBeNull());

  it("never throws, whatever the topic", () => {
    const part = fc.oneof(
      fc.constantFrom("greenhouse", "bridge", "request", "actuator", "set", ""),
      fc.string({ unit: "binary" }),
    );
    const topic = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join("/")),
    );
    fc.assert(
      fc.property(topic, (text) => {
        expect(() => topics.parse(text)).not.toThrow();
      }),
      { numRuns: 5_000 },
    );
  });

  it("the subscriptions match every topic that can be parsed, and none that the bridge publishes", () => {
    const matches = (filter: string, topic: string) =>
      new RegExp(`^${filter.replaceAll("+", "[^/]+")}$`).test(topic);
    const sent = [
      topics.actuator("a", "b").set,
      topics.parameter("a", "b").set,
      topics.address("a", "1").set,
      topics.bridge.request("read"),
    ];
    const own = [
      ...Object.values(topics.actuator("a", "b")),
      ...Object.values(topics.parameter("a", "b")),
      ...Object.values(topics.address("a", "1")),
      ...Object.values(topics.sensor("a", "b")),
      ...Object.values(topics.controller("a")),
      topics.bridge.response("read"),
      topics.bridge.state,
    ].filter((topic) => !sent.includes(topic));
    const subscribed = (topic: string) => topics.subscriptions.some((filter) => matches(filter, topic));
    expect(sent.filter(subscribed)).toEqual(sent);
    expect(own.filter(subscribed)).toEqual([]);
    expect(sent.filter((topic) => topics.retained.some((filter) => matches(filter, topic)))).toEqual([]);
  });
});
