import { describe, expect, it } from "vitest";
import { connectionSettings } from "../../src/mqtt/connection/settings.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { loaded, platform } from "../config/loading.js";

describe("messages larger than 256 KiB", () =>
  it.each([
    ["greenhouse/east/actuator/roof/set", true],
    ["greenhouse/east/parameter/ec/set", true],
    ["greenhouse/east/address/101/set", true],
    ["greenhouse/bridge/request/read", false],
    ["greenhouse/bridge/self_test", false],
    ["homeassistant/status", false],
    ["homeassistant/device/x/config", false],
    ["other/east/actuator/roof/set", false],
  ])("are taken from command topics only, for every command has an outcome: %s %s", async (topic, taken) => {
    const { configuration } = await loaded(platform);
    const settings = connectionSettings(configuration.mqtt, topicsUnder("greenhouse"), null, [], {});
    expect(settings.anySize?.(topic)).toBe(taken);
  }));
