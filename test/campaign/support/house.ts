/* The greenhouses of a campaign: commanded actuators, actuators that somebody else moves, and counting sensors. */

const quick = { settle: "300ms", confirm_within: "8s" };
const moving = { ...quick, travel_time: "1s" };

export const commanded = "GH-0001";
/** Not commanded over MQTT; its registers are moved by hand. */
export const moved = "GH-0003";
const station = "WS-0001";

interface Target {
  readonly address: string;
  /** Each command with the value that its last step writes. */
  readonly commands: readonly (readonly [command: string, value: string])[];
  readonly settings: Readonly<Record<string, unknown>>;
}

const machine = [
  ["on", "1010"],
  ["off", "1001"],
  ["auto", "1100"],
] as const;
const degrees = (first: number) =>
  Array.from({ length: 20 }, (_, n) => String((first + n * 37) % 101)).map((text) => [text, text] as const);

export const targets: Readonly<Record<string, Target>> = {
  roof: {
    address: "101",
    commands: [...degrees(3), ["open", "10010"], ["close", "10001"]],
    settings: { kind: "skylight", address: "101", ...moving },
  },
  fan: {
    address: "150",
    commands: machine,
    settings: { kind: "circulation_fan", address: "150", type_id: 11, ...quick },
  },
  louvre: {
    address: "109",
    commands: degrees(11),
    settings: { kind: "positioner", address: "108", position_address: "109", ...moving },
  },
  valve: {
    address: "210",
    commands: machine,
    settings: { kind: "irrigation", address: "210", type_id: 190, ...quick },
  },
  light: { address: "220", commands: machine, settings: { kind: "light", address: "220", ...quick } },
  co2: { address: "310", commands: machine, settings: { kind: "co2_supply", address: "310", ...quick } },
  heater: {
    address: "320",
    commands: machine,
    settings: { kind: "heating_blower", address: "320", ...quick },
  },
  special: {
    address: "400",
    commands: [
      ["low", "0110"],
      ["high", "1001"],
    ],
    settings: { kind: "custom", address: "400", values: { low: "0110", high: "1001" }, ...quick },
  },
};

/** Actuators of the other greenhouse, with the values set there in turn. */
export const byHand: Readonly<
  Record<string, { readonly address: string; readonly values: readonly string[] }>
> = {
  shade: { address: "102", values: ["10010", "10001", "11000"] },
  window: { address: "104", values: ["10001", "10010"] },
};

/**
 * Moved by a person, a guard or the end of a lease while the other greenhouse does not answer. Both greenhouses have
 * the motor, whose stop must be sent at once.
 */
const beside = {
  vent: {
    address: "101",
    settings: {
      kind: "skylight",
      address: "101",
      ...moving,
      limits: {
        guards: {
          wind: {
            sensor: "weather/wind",
            above: 12,
            clear_at: 9,
            clear_after: "1s",
            allow: ["close"],
            then: "close",
          },
        },
      },
    },
  },
  valve: { address: "210", settings: { kind: "irrigation", address: "210", ...quick } },
} as const;
export const windTopic = "weather/wind";
const motor = {
  winch: { kind: "motor", address: "300", values: { open: "00000001", close: "00000010" }, ...moving },
};
/** Their registers are used to judge commands, and not states. */
export const motors = [commanded, moved].map((code) => ({ code, registers: [motor.winch.address] }));

/** Sensors that are made to count upwards. */
export const counters = [
  { code: commanded, sensor: "CO2", topic: "greenhouse/gh-0001/sensor/counter" },
  { code: moved, sensor: "CO2", topic: "greenhouse/gh-0003/sensor/counter" },
  { code: station, sensor: "电池电压", topic: "greenhouse/ws-0001/sensor/counter" },
] as const;

export const maxAgeMs = 20_000;
export const staleAfterMs = 15_000;

const counting = (from: string) => ({ sensors: { counter: { from, kind: "other" } } });

export const houses = {
  polling: {
    controllers: "5s",
    sensors: "2s",
    running_status: "5s",
    actuators: "2s",
    stale_after: `${staleAfterMs / 1_000}s`,
  },
  commands: { min_interval: "0s", max_age: `${maxAgeMs / 1_000}s` },
  weather: { wind: { topic: windTopic, stale_after: "2m" } },
  mirror: "listed",
  controllers: {
    [commanded]: {
      actuators: {
        ...Object.fromEntries(Object.entries(targets).map(([id, { settings }]) => [id, settings])),
        ...motor,
      },
      ...counting("CO2"),
    },
    [moved]: {
      actuators: {
        ...Object.fromEntries(
          Object.entries(byHand).map(([id, { address }]) => [
            id,
            { kind: "shade_curtain", address, ...moving },
          ]),
        ),
        ...Object.fromEntries(Object.entries(beside).map(([id, { settings }]) => [id, settings])),
        ...motor,
      },
      ...counting("CO2"),
    },
    [station]: counting("电池电压"),
  },
};

export const topicOf = (code: string, actuator: string): string =>
  `greenhouse/${code.toLowerCase()}/actuator/${actuator}`;

/** Everything whose value is judged: its topic, and the registers its value may come from, its own first. */
export const points = [
  ...Object.entries(targets).map(([id, { address, settings }]) => ({
    ...{ id, code: commanded, topic: topicOf(commanded, id) },
    registers: [...new Set([address, String(settings["address"])])],
  })),
  ...Object.entries({ ...byHand, ...beside }).map(([id, { address }]) => ({
    ...{ id, code: moved, topic: topicOf(moved, id) },
    registers: [address],
  })),
] as const;
