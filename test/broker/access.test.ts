import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bridgeRights, rightsOf } from "../../src/broker/access.js";
import { filterCovers, isTopicFilter, topicMatches } from "../../src/broker/filters.js";

const topics = { base: "site/greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" };

describe("the default rights (42)", () => {
  const rights = rightsOf(null, topics);
  it.each([
    ["site/greenhouse/east/actuator/roof/set", 4, true],
    ["site/greenhouse/east/parameter/ec/set", 4, true],
    ["site/greenhouse/east/address/101/set", 4, true],
    ["site/greenhouse/bridge/request/refresh", 4, true],
    ["homeassistant/status", 6, true],
    ["homeassistant/device/x/config", 0, true],
    ["homeassistant/device/x/config", 2, false],
    ["homeassistant/sensor/x/config", 0, false],
    ["site/greenhouse/east/actuator/roof/state", 4, false],
    ["site/greenhouse/east/actuator/roof/result", 4, false],
    ["site/greenhouse/east/sensor/t", 4, false],
    ["site/greenhouse/bridge/state", 6, false],
    ["site/greenhouse/bridge/response/read", 6, false],
    ["site/greenhouse/east/actuator/roof/set/more", 4, false],
    ["greenhouse/east/actuator/roof/set", 4, false],
    ["other/topic", 4, false],
    ["$SYS/broker", 4, false],
    ["site/greenhouse/+/actuator/roof/set", 4, false],
    ["site/greenhouse/a\0/actuator/roof/set", 4, false],
    ["", 4, false],
  ])("allow publishing %s with %i bytes: %s", (topic, bytes, allowed) => {
    expect(rights.mayPublish(topic, bytes)).toBe(allowed);
  });

  it.each([
    ["#", true],
    ["site/greenhouse/+/sensor/#", true],
    ["$SYS/#", false],
    ["$discarded", false],
    ["$share/group/site/#", false],
  ])("allow subscribing to %s: %s", (filter, allowed) => {
    expect(rights.maySubscribe(filter)).toBe(allowed);
  });
});

describe("the rights of a user", () => {
  it("are the lists where there are lists, the default of its kind where there is none", () => {
    const reader = rightsOf({ publish: [], subscribe: ["site/greenhouse/+/sensor/#"] }, topics);
    expect(reader.mayPublish("site/greenhouse/east/actuator/roof/set", 4)).toBe(false);
    expect(reader.maySubscribe("site/greenhouse/east/sensor/t")).toBe(true);
    expect(reader.maySubscribe("#")).toBe(false);
    const writer = rightsOf({ publish: ["other/#"] }, topics);
    expect(writer.mayPublish("other/a", 4)).toBe(true);
    expect(writer.mayPublish("site/greenhouse/east/actuator/roof/set", 4)).toBe(false);
    expect(writer.maySubscribe("#")).toBe(true);
  });

  it("never reach the server's own tree, not even the bridge's", () => {
    expect(rightsOf({ publish: ["#"] }, topics).mayPublish("$SYS/a", 4)).toBe(false);
    expect(bridgeRights.mayPublish("$SYS/a", 4)).toBe(false);
    expect(bridgeRights.mayPublish("homeassistant/device/x/config", 4)).toBe(true);
  });
});

describe("a topic filter", () => {
  it.each([
    ["#", true],
    ["a/+/b/#", true],
    ["+", true],
    ["/a//b", true],
    ["", false],
    ["a#", false],
    ["a/#/b", false],
    ["a+/b", false],
    ["a\0", false],
  ])("%j is well-formed: %s", (filter, valid) => {
    expect(isTopicFilter(filter)).toBe(valid);
  });

  it.each([
    ["a/#", "a", true],
    ["a/#", "a/b/c", true],
    ["a/+", "a", false],
    ["a/+", "a/", true],
    ["+/b", "a/b", true],
    ["+", "$SYS", false],
    ["#", "$SYS/a", false],
    ["$SYS/#", "$SYS/a", true],
    ["a/b", "a/b/c", false],
  ])("%s matches %s: %s", (filter, topic, matches) => {
    expect(topicMatches(filter, topic)).toBe(matches);
  });

  it("covers another only if it matches every topic the other matches", () => {
    const level = fc.constantFrom("a", "b", "", "+");
    const filter = fc
      .tuple(fc.array(level, { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([levels, open]) => {
        return open ? [...levels, "#"].join("/") : levels.join("/");
      });
    const topic = fc
      .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join("/"));
    fc.assert(
      fc.property(filter, filter, topic, (allowed, asked, some) => {
        if (filterCovers(allowed, asked) && topicMatches(asked, some))
          expect(topicMatches(allowed, some)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
