import { actuatorKinds } from "../../src/greenhouse/actuator-kinds.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { actuator, controller, info, limits, parameter, reading, sensor, status } from "./fixtures.js";

/** As the golden files were recorded first. A kind that came later has its own word for an address, so that it moves no other. */
const addresses: Readonly<Record<string, string>> = {
  skylight: "101",
  shade_curtain: "102",
  thermal_curtain: "103",
  side_vent: "104",
  positioner: "105",
  circulation_fan: "106",
  uv_disinfection: "107",
  mist_humidifier: "108",
  co2_supply: "109",
  humidity_control: "110",
  hot_air_blower: "111",
  heating_blower: "112",
  mist_cooling: "113",
  machine: "114",
  fan_wet_curtain: "115",
  irrigation: "116",
  light: "117",
  motor: "118",
  custom: "119",
};

/** One controller of every device type of the interface document, as an account would show it. */
export const controllers = {
  C001: controller({
    code: "GH-0001",
    info: info("C001", "日光温室控制器", "East house", { area: "East" }),
    sensors: [
      reading("空气温度", "air_temperature", "temperature", "°C"),
      reading("空气湿度", "air_humidity", "humidity", "%"),
      reading("光照", "light", "illuminance", "klx"),
      reading("二氧化碳", "co2", "co2", "ppm"),
      sensor({
        key: "channel:7",
        id: "channel_7",
        name: "土壤温度",
        kind: "soil_temperature",
        unit: "°C",
        decimals: 2,
      }),
      sensor({ key: "name:工作模式", id: "h_1a2b3c4d", name: "工作模式", numeric: false }),
    ],
    statuses: [
      status(16, "一级风机", 1, "16_0a1b2c3d"),
      status(49, "灌溉计划1浇水", 0, "49_11111111"),
      status(49, "灌溉计划2浇水", 2, "49_22222222"),
    ],
    actuators: actuatorKinds.map((kind) =>
      actuator({
        id: `the_${kind}`,
        kind,
        address: addresses[kind] ?? kind,
        ...(kind === "custom" ? { values: { low: "0110", high: "1001" } } : {}),
        ...(kind === "motor" ? { values: { open: "00000001", stop: "00000100" } } : {}),
        ...(kind === "skylight" || kind === "machine" ? { limits } : {}),
        ...(kind === "side_vent" ? { stop: { address: "190", value: "00000100" } } : {}),
      }),
    ),
  }),
  C003: controller({
    code: "FM-0001",
    info: info("C003", "水肥一体机", "Fertilizer machine"),
    sensors: [
      sensor({
        key: "factor:ecfii",
        id: "ecfii",
        name: "EC",
        factor: "ecfii",
        kind: "ec",
        unit: "μS/cm",
        decimals: 0,
      }),
      sensor({ key: "factor:phfii", id: "phfii", name: "pH", factor: "phfii", kind: "ph", unit: "pH" }),
      reading("累计流量", "total_flow", "other", "m³"),
      sensor({ key: "factor:lp", id: "lp", name: "流量", factor: "lp", kind: "flow", unit: "L/s" }),
    ],
    actuators: [
      actuator({ id: "valve_1", kind: "irrigation", address: "210", name: "Bed 1" }),
      actuator({ id: "vent", kind: "skylight", address: "211", readOnly: true }),
    ],
    parameters: [
      parameter({
        id: "ec_target",
        address: "501",
        name: "EC target",
        unit: "mS/cm",
        scale: 0.01,
        decimals: 2,
        writable: { min: 0, max: 5, step: 0.1 },
      }),
      parameter({ id: "formula_1", address: "502" }),
    ],
  }),
  W001: controller({
    code: "WS-0001",
    info: info("W001", "采集器", "Weather station"),
    sensors: [
      reading("风速", "wind_speed", "wind_speed", "m/s"),
      reading("风向", "wind_direction", "wind_direction", "°"),
      reading("雨量", "rain", "rain", "mm"),
      reading("大气压力", "pressure", "pressure", "hPa"),
      reading("总辐射", "irradiance", "irradiance", "W/m²"),
      reading("光合有效辐射", "par", "par", "μmol/m²/s"),
    ],
  }),
  V003: controller({ code: "PM-0001", info: info("V003", "虫情测报", "Pest monitor") }),
  V008: controller({ code: "34020000001320000001", info: info("V008", "国标视频", "Camera west") }),
  V009: controller({ code: "CAM-9", info: info("V009", "云视频", "Camera gate") }),
} satisfies Record<string, Controller>;
