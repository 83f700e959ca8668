import type { Configuration } from "../../../src/config/schema.js";

/* Where each section of the configuration is explained in docs/configuration, with an example that passes `check`. */

/** Pages in the order in which they are listed. */
export const pageNames = [
  ...["platform", "mqtt", "broker", "homeassistant", "sparkplug", "polling", "commands"],
  ...["http", "log", "weather", "alarms", "notify", "controllers", "kinds", "groups", "general", "cluster"],
] as const satisfies readonly string[];
export type PageName = (typeof pageNames)[number];

interface Place {
  readonly page: PageName;
  readonly example: string;
}

const places: Readonly<Record<keyof Configuration, Place>> = {
  platform: {
    page: "platform",
    example: `platform:
  business_url: https://business.example.com
  realtime_url: https://realtime.example.com
  sign_in:
    body: { account: me@example.com, password: !secret platform_password }
  requests_per_minute: 300`,
  },
  language: { page: "general", example: "language: zh" },
  updates: { page: "general", example: "updates: true" },
  data_dir: { page: "general", example: "data_dir: /var/lib/greenhouse2mqtt" },
  mirror: {
    page: "general",
    example: "mirror: listed\ncontrollers:\n  GH-0001: { name: East house }",
  },
  mqtt: {
    page: "mqtt",
    example: `mqtt:
  url: mqtts://broker.example.com:8883
  username: bridge
  password: !secret mqtt_password
  base_topic: greenhouse`,
  },
  broker: {
    page: "broker",
    example: `broker:
  host: 0.0.0.0
  users:
    - { username: homeassistant, password: !secret homeassistant }`,
  },
  homeassistant: { page: "homeassistant", example: "homeassistant: { language: zh }" },
  sparkplug: {
    page: "sparkplug",
    example: `mqtt: { url: mqtt://broker.example.com:1883 }
sparkplug: { enabled: true, group: farm, node: north, primary_host: scada1 }`,
  },
  polling: { page: "polling", example: "polling: { sensors: 30s, actuators: 5m }" },
  commands: { page: "commands", example: "commands: { read_only: true }" },
  http: {
    page: "http",
    example: `http:
  host: 0.0.0.0
  users:
    - { username: anna, password: !secret anna, role: operator }`,
  },
  log: { page: "log", example: "log: { level: info }" },
  cluster: {
    page: "cluster",
    example: `mqtt: { url: mqtt://broker.example.com:1883 }
cluster:
  nats: [nats://nats1:4222, nats://nats2:4222, nats://nats3:4222]
  replicas: 3`,
  },
  weather: {
    page: "weather",
    example: "weather:\n  wind: { topic: weather/wind, field: speed, unit: m/s, stale_after: 60s }",
  },
  alarms: { page: "alarms", example: "alarms:\n  temperature: { low: 5, high: 35, delay: 10m }" },
  notify: {
    page: "notify",
    example: `notify:
  ways:
    phone:
      ntfy: { topic: !secret ntfy_topic }`,
  },
  controllers: {
    page: "controllers",
    example: `controllers:
  GH-0001:
    name: East house
    actuators:
      left_skylight: { kind: skylight, address: 101, travel_time: 90s }
      valve_1: { kind: irrigation, address: 210, name: Bed 1 }
    sensors:
      air_temperature: { from: 空气温度, offset: -0.4, alarm: { low: 5, delay: 10m } }
    parameters:
      ec_target: { address: 501, unit: mS/cm, scale: 0.01, decimals: 2, writable: { min: 0, max: 5, step: 0.1 } }
  GH-0002: { ignore: true }`,
  },
  kinds: { page: "kinds", example: 'kinds:\n  skylight: { reads: { open: ["100"], close: ["0"] } }' },
  running_status: { page: "kinds", example: 'running_status:\n  reads: { on: ["1010"], off: ["1001"] }' },
  groups: {
    page: "groups",
    example: `controllers:
  GH-0001:
    actuators:
      left_skylight: { kind: skylight, address: 101 }
      right_skylight: { kind: skylight, address: 103 }
groups:
  skylights: { members: [GH-0001/left_skylight, GH-0001/right_skylight] }`,
  },
  scenes: {
    page: "groups",
    example: "scenes:\n  night: { commands: { group/skylights: close } }",
  },
};

export const pageOf = (section: string): Place => {
  const place = Object.entries(places).find(([key]) => key === section)?.[1];
  if (place === undefined) throw new Error(`${section} has no page`);
  return place;
};
