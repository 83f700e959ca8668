import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { incomingOn, topicsUnder } from "../../src/mqtt/topics.js";

const topics = topicsUnder("greenhouse");
const things = ["sensor", "status", "actuator", "parameter"] as const;

it("other bridges are heard under base topics of up to three levels, or of as many as ours", () => {
  const levels = ["+", "+/+", "+/+/+"].map((base) => `${base}/bridge/self_test`);
  expect(topics.othersSelfTest).toEqual(levels);
  expect(topicsUnder("a/b/c/d").othersSelfTest).toEqual([...levels, "+/+/+/+/bridge/self_test"]);
});

const tooLong = "1".repeat(65);
const unsafe = ["", "/", "+", "#", "a/b", "A", "温", "a b", "\u0000", "\ud800", tooLong, "..", "a\n", "a#"];

it("the builders refuse whatever is no safe id or address; what they let through no broker refuses", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...unsafe, "1", "a-1"));
  const made = (build: () => string) => {
    try {
      return build();
    } catch (error) {
      expect(String(error)).toMatch(/not a topic id|not an address/);
      return null;
    }
  };
  fc.assert(
    fc.property(text, (id) => {
      const isSafe = id !== "__proto__" && /^[a-z0-9_-]{1,64}$/.test(id);
      for (const thing of things) {
        expect(made(() => topics[thing](id, "x").json)).toBe(
          isSafe ? `greenhouse/${id}/${thing}/x/json` : null,
        );
        expect(made(() => topics[thing]("x", id).json)).toBe(
          isSafe ? `greenhouse/x/${thing}/${id}/json` : null,
        );
      }
      expect(made(() => topics.controller(id).info)).toBe(isSafe ? `greenhouse/${id}/info` : null);
      expect(made(() => topics.bridge.response(id))).toBe(isSafe ? `greenhouse/bridge/response/${id}` : null);
      const isAddress = /^[A-Za-z0-9._-]{1,64}$/.test(id);
      expect(made(() => topics.address("x", id).set)).toBe(
        isAddress ? `greenhouse/x/address/${id}/set` : null,
      );
    }),
    { numRuns: 2_000 },
  );
});

describe("parsing", () => {
  it("finds back what a set topic is about", () => {
    const id = fc.stringMatching(/^[a-z0-9_-]{1,64}$/);
    const place = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
    const base = fc.constantFrom("greenhouse", "site/greenhouse", "a");
    fc.assert(
      fc.property(base, id, id, place, (under, controllerId, name, address) => {
        const made = topicsUnder(under);
        const command = { type: "command", controllerId };
        for (const target of ["actuator", "parameter"] as const)
          expect(incomingOn(made, made[target](controllerId, name).set)).toEqual({
            ...command,
            target,
            id: name,
          });
        const set = incomingOn(made, made.address(controllerId, address).set);
        expect(set).toEqual({ ...command, target: "address", id: address });
        expect(incomingOn(made, made.bridge.request(name))).toEqual({ type: "request", name });
      }),
    );
  });

  it("takes nothing else for a command or a request, and never throws", () => {
    const others =
      "|greenhouse|greenhouse/|greenhouses/a/actuator/b/set|Greenhouse/a/actuator/b/set|greenhouse/a/actuator/b|" +
      "greenhouse/a/actuator/b/state|greenhouse/a/actuator/b/set/x|greenhouse/a/sensor/b/set|greenhouse/a/set|" +
      "greenhouse/bridge/state|greenhouse/bridge/request|greenhouse/bridge/request/refresh/x|" +
      "greenhouse/bridge/response/refresh|greenhouse/a/request/refresh";
    expect(others.split("|").filter((topic) => incomingOn(topics, topic) !== null)).toEqual([]);
    const part = fc.oneof(
      fc.constantFrom("greenhouse", "bridge", "request", "actuator", "set", ""),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        expect(() => incomingOn(topics, parts.join("/"))).not.toThrow();
      }),
      { numRuns: 5_000 },
    );
  });

  it("the subscriptions match every topic that can be parsed, and none that the bridge publishes", () => {
    const matches = (filter: string, topic: string) =>
      new RegExp(`^${filter.replaceAll("+", "[^/]+")}$`).test(topic);
    const { actuator, parameter, address, sensor, controller, bridge } = topics;
    const sets = [actuator("a", "b").set, parameter("a", "b").set, address("a", "1").set];
    const sent = [...sets, bridge.request("read")];
    const shown = [
      actuator("a", "b"),
      parameter("a", "b"),
      address("a", "1"),
      sensor("a", "b"),
      controller("a"),
    ];
    const own = [
      ...shown.flatMap((one) => Object.values<string>(one)),
      bridge.response("read"),
      bridge.state,
    ];
    const subscribed = (topic: string) => topics.subscriptions.some((filter) => matches(filter, topic));
    expect(sent.filter(subscribed)).toEqual(sent);
    expect(own.filter((topic) => !sent.includes(topic)).filter(subscribed)).toEqual([]);
    expect(sent.filter((topic) => topics.retained.some((filter) => matches(filter, topic)))).toEqual([]);
  });
});
