import { optional, withDefault } from "../fields.js";
import { deviceCode, idKey, topicId } from "../ids.js";
import { flag, map, section, writtenText } from "../values.js";
import { actuator } from "./actuators.js";
import { parameter } from "./parameters.js";
import { sensor } from "./sensors.js";

const actuatorExamples = `roof_fans:   { kind: fan_wet_curtain, address: 140 }
valve_1:     { kind: irrigation, address: 210, name: Bed 1 }
grow_light:  { kind: light, address: 220, lead_in: when_not_on, homeassistant: { as: switch } }
vent_motor:  { kind: motor, address: 300, values: { open: "00000001", stop: "00000100" } }
special:     { kind: custom, address: 400, values: { low: "0110", high: "1001" } }`;

const sensorExamples = `light:        { from: 光照, kind: illuminance, scale: 1000, unit: lx }
broken_probe: { from: t7, ignore: true }`;

const controller = section({
  ignore: withDefault(flag(), false, "Do not mirror this controller."),
  id: optional(
    topicId(),
    "Topic id; default: the code in small letters, with a hash where it holds more than capitals, digits, `_` and `-`.",
    {
      example: "east",
    },
  ),
  name: optional(writtenText(), "Name to show; default: the platform's.", { example: "East house" }),
  area: optional(writtenText(), "Area suggested to Home Assistant.", { example: "East" }),
  stream: withDefault(
    flag(),
    false,
    "Publish the address of its video stream on `info`; it may hold a password.",
  ),
  actuators: withDefault(map(idKey(), actuator), {}, "What can be moved, by id.", {
    entry: "left_skylight",
    more: actuatorExamples,
  }),
  sensors: withDefault(
    map(idKey(), sensor),
    {},
    "Overrides of sensors, by id; the others are mirrored as they are.",
    {
      entry: "air_temperature",
      more: sensorExamples,
    },
  ),
  parameters: withDefault(map(idKey(), parameter), {}, "Further addresses to mirror, by id.", {
    entry: "ec_target",
  }),
});

export const controllersSection = map(deviceCode(), controller);
