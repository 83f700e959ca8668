import { describe, expect, it } from "vitest";
import { bridgeRights, rightsOf } from "../../src/broker/acl.js";

const topics = { base: "site/greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" };

describe("the default rights", () => {
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
  ])("allow publishing %s with %i bytes: %s", (topic, bytes, allowed) =>
    expect(rights.mayPublish(topic, bytes)).toBe(allowed),
  );

  it.each([
    ["#", true],
    ["site/greenhouse/+/sensor/#", true],
    ["$SYS/#", false],
    ["$discarded", false],
    ["$share/group/site/#", false],
  ])("allow subscribing to %s: %s", (filter, allowed) => expect(rights.maySubscribe(filter)).toBe(allowed));
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
