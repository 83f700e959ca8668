/** Every kind of actuator. A new kind is one word here; the compiler then asks each table for its row. */
export const positionerKinds = [
  "skylight",
  "shade_curtain",
  "thermal_curtain",
  "side_vent",
  "positioner",
] as const;

const machineKinds = [
  "circulation_fan",
  "uv_disinfection",
  "mist_humidifier",
  "co2_supply",
  "humidity_control",
  "hot_air_blower",
  "heating_blower",
  "mist_cooling",
  "machine",
] as const;

export const actuatorKinds = [
  ...positionerKinds,
  ...machineKinds,
  "fan_wet_curtain",
  "irrigation",
  "light",
  "motor",
  "custom",
] as const;

export type ActuatorKind = (typeof actuatorKinds)[number];

/** Command words and the values they stand for. */
export type ValueTable = Readonly<Record<string, string>>;

export interface KindRow {
  /** Command word → value sent. */
  readonly values: ValueTable;
  /** State word of a value where it is not the command word (`open` → `open`, `close` → `closed`). */
  readonly states: Readonly<Record<string, string>>;
  /** Takes a degree 0..100 after `positionMode`. */
  readonly positionMode: string | null;
  /** Words every actuator of this kind brings even if the configuration lists none. */
  readonly configured: boolean;
}

const fixed = (values: ValueTable): KindRow => ({
  values,
  states: {},
  positionMode: null,
  configured: false,
});

const positioner: KindRow = {
  values: { open: "10010", close: "10001", auto: "11000" },
  states: { close: "closed" },
  positionMode: "10100",
  configured: false,
};

const machine = fixed({ on: "1010", off: "1001", auto: "1100" });

/** Source: the interface document's tables of control values; the last two are the configuration's. */
export const kindRows = {
  skylight: positioner,
  shade_curtain: positioner,
  thermal_curtain: positioner,
  side_vent: positioner,
  positioner,
  circulation_fan: machine,
  uv_disinfection: machine,
  mist_humidifier: machine,
  co2_supply: machine,
  humidity_control: machine,
  hot_air_blower: machine,
  heating_blower: machine,
  mist_cooling: machine,
  machine,
  fan_wet_curtain: fixed({
    all_on: "11110",
    fans_1_2_3: "11100",
    fans_1_2: "11000",
    fan_1: "10000",
    off: "00000",
  }),
  irrigation: fixed({ on: "1010", off: "1001", auto: "1100", rotation: "11111111" }),
  light: machine,
  motor: { values: { stop: "00000100" }, states: {}, positionMode: null, configured: true },
  custom: { values: {}, states: {}, positionMode: null, configured: true },
} as const satisfies Record<ActuatorKind, KindRow>;
