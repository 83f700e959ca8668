import { describe, expect, it } from "vitest";
import { loaded, platform } from "./loading.js";

describe("configuration", () => {
  it.each([
    ["skylight", "", { travel_time: 120_000, confirm_within: 150_000, tolerance: 0, lead_in: "never" }],
    ["positioner", ", travel_time: 10s", { travel_time: 10_000, confirm_within: 40_000 }],
    ["side_vent", ", confirm_within: 5m", { travel_time: 120_000, confirm_within: 300_000 }],
    ["machine", "", { travel_time: 0, confirm_within: 60_000, settle: 2000, values: {} }],
    ["light", "", { lead_in: "when_not_on", confirm_within: 60_000 }],
    ["light", ", lead_in: never", { lead_in: "never" }],
    ["motor", "", { travel_time: 120_000, confirm_within: 150_000, values: { stop: "00000100" } }],
    ["motor", ", values: { up: 1, stop: 2 }", { values: { up: "1", stop: "2" } }],
    ["custom", ", values: { a: 1 }", { confirm_within: 60_000, values: { a: "1" } }],
  ])("completes a %s%s by its kind", async (kind, more, expected) => {
    const text = `${platform}controllers: { G: { actuators: { a: { kind: ${kind}, address: 1${more} } } } }\n`;
    const { configuration } = await loaded(text);
    expect(configuration.controllers.G?.actuators.a).toMatchObject(expected);
  });

  it.each([
    ["", undefined, "en", "en"],
    ["language: zh\n", "zh", "zh", "zh"],
    ["language: zh\nhomeassistant: { language: en }\n", "zh", "en", "zh"],
    ["language: en\nnotify: { language: zh }\n", "en", "en", "zh"],
    ["language: zh\nhomeassistant:\n", "zh", "zh", "zh"],
  ])("lets a section speak its own language: %j", async (text, all, homeassistant, notify) => {
    const { configuration } = await loaded(platform + text);
    expect(configuration.language).toBe(all);
    expect(configuration.homeassistant.language).toBe(homeassistant);
    expect(configuration.notify.language).toBe(notify);
  });

  it("treats keys without a value as not given", async () => {
    const text = `${platform}mqtt:\nbroker: { tls: { cert: } }\nhttp:\ncontrollers:\n  GH-1:\n`;
    const { configuration } = await loaded(text);
    expect(configuration.mqtt.client_id).toBe("greenhouse2mqtt");
    expect(configuration.http).toMatchObject({ port: 8099 });
    const empty = { actuators: {}, sensors: {}, parameters: {} };
    expect(configuration.controllers["GH-1"]).toEqual({
      ignore: false,
      averages: false,
      stream: false,
      ...empty,
    });
  });

  it("removes slashes from the end of the platform's addresses", async () => {
    const text = platform.replace("business.example.com", "business.example.com/app//");
    const { configuration } = await loaded(text);
    expect(configuration.platform.business_url).toBe("https://business.example.com/app");
  });

  it("keeps the sign-in body as it stands, and digits that a number would change as text", async () => {
    const body = "{ account: me@a.b, password: 0012, remember: true, version: 2, none: ~, list: [1, a] }";
    const text = platform.replace("token: !env TOKEN", `sign_in: { body: ${body}, token_path: data.token }`);
    const { configuration } = await loaded(text);
    const kept = {
      account: "me@a.b",
      password: "0012",
      remember: true,
      version: 2,
      none: null,
      list: [1, "a"],
    };
    expect(configuration.platform.sign_in).toEqual({ body: kept, token_path: "data.token" });
  });

  it("reads paths and query names per operation", async () => {
    const shapes = "shapes: { sensor-data: { items: data.list, query: { deviceCode: code } } }";
    const { configuration } = await loaded(`${platform}  ${shapes}\n`);
    expect(configuration.platform.shapes).toEqual({
      "sensor-data": { items: "data.list", query: { deviceCode: "code" } },
    });
  });
});
