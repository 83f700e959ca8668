import { describe, expect, it } from "vitest";
import { contractExample, contractSurroundings } from "./contract-example.js";
import { loaded, platform } from "./loading.js";

describe("configuration", () => {
  it("reads the contract's example: keys as written, durations in ms", async () => {
    const { configuration } = await loaded(contractExample, contractSurroundings);
    expect(configuration.platform).toMatchObject({
      token: "token-of-the-account",
      timeouts: { connect: 5000, read: 15_000, control: 30_000 },
      push: { enabled: true, credential: "header", query_name: "token" },
    });
    expect(configuration.mqtt).toMatchObject({ url: "mqtt://localhost:1883", password: "bridge-password" });
    expect(configuration.broker.websocket_port).toBe(9001);
    expect(configuration.polling.stale_after).toBe(900_000);
    const east = configuration.controllers["GH-0001"];
    expect(east?.actuators.left_skylight).toMatchObject({
      kind: "skylight",
      address: "101",
      travel_time: 90_000,
    });
    expect(east?.actuators.special?.values).toEqual({ low: "0110", high: "1001" });
    expect(east?.sensors.air_temperature).toMatchObject({ from: "空气温度", offset: -0.4, scale: 1 });
    expect(east?.parameters.ec_target?.writable).toEqual({ min: 0, max: 5, step: 0.1 });
    expect(configuration.controllers["GH-0002"]?.ignore).toBe(true);
  });

  it("fills in every default of the contract", async () => {
    const { configuration } = await loaded(platform);
    expect(configuration).toMatchObject({
      platform: {
        allow_insecure: false,
        time_zone: "Asia/Shanghai",
        timeouts: { connect: 5000, read: 15_000, control: 30_000 },
        requests_per_minute: 300,
        concurrency: 4,
        push: { enabled: true, credential: "header", query_name: "token" },
        shapes: {},
      },
      mqtt: {
        client_id: "greenhouse2mqtt",
        base_topic: "greenhouse",
        protocol_version: 5,
        tls: { reject_unauthorized: true },
      },
      broker: { host: "127.0.0.1", port: 1883, users: [], tls: { port: 8883 } },
      homeassistant: {
        enabled: true,
        discovery_prefix: "homeassistant",
        status_topic: "homeassistant/status",
        language: "en",
      },
      polling: {
        controllers: 300_000,
        sensors: 60_000,
        running_status: 300_000,
        actuators: 120_000,
        stale_after: 900_000,
      },
      commands: {
        read_only: false,
        dry_run: false,
        max_age: 60_000,
        require_age: false,
        require_by: false,
        min_interval: 2000,
        raw_addresses: false,
        response_topics: [],
      },
      http: { host: "127.0.0.1", port: 8099, allowed_hosts: [] },
      data_dir: "data",
      log: { level: "info", format: "auto" },
      mirror: "all",
      controllers: {},
    });
    expect(configuration.mqtt.url).toBeUndefined();
  });

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

  it("treats keys without a value as not given", async () => {
    const text = `${platform}mqtt:\nbroker: { tls: { cert: } }\nhttp:\ncontrollers:\n  GH-1:\n`;
    const { configuration } = await loaded(text);
    expect(configuration.mqtt.client_id).toBe("greenhouse2mqtt");
    expect(configuration.http).toMatchObject({ port: 8099 });
    expect(configuration.controllers["GH-1"]).toEqual({
      ignore: false,
      stream: false,
      actuators: {},
      sensors: {},
      parameters: {},
    });
  });

  it("turns HTTP off with false", async () => {
    expect((await loaded(`${platform}http: false\n`)).configuration.http).toBe(false);
  });

  it("removes slashes from the end of the platform's addresses", async () => {
    const text = platform.replace("business.example.com", "business.example.com/app//");
    const { configuration } = await loaded(text);
    expect(configuration.platform.business_url).toBe("https://business.example.com/app");
  });

  it("keeps the sign-in body as it stands, and digits that a number would change as text", async () => {
    const body =
      "{ account: me@example.com, password: 0012, remember: true, version: 2, none: ~, list: [1, a] }";
    const text = platform.replace("token: !env TOKEN", `sign_in: { body: ${body}, token_path: data.token }`);
    const { configuration } = await loaded(text);
    expect(configuration.platform.sign_in).toEqual({
      body: {
        account: "me@example.com",
        password: "0012",
        remember: true,
        version: 2,
        none: null,
        list: [1, "a"],
      },
      token_path: "data.token",
    });
  });

  it("reads paths and query names per operation", async () => {
    const shapes = "shapes: { sensor-data: { items: data.list, query: { deviceCode: code } } }";
    const { configuration } = await loaded(`${platform}  ${shapes}\n`);
    expect(configuration.platform.shapes).toEqual({
      "sensor-data": { items: "data.list", query: { deviceCode: "code" } },
    });
  });
});
