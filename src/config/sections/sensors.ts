import { sensorKinds } from "../../greenhouse/sensor-kinds.js";
import { optional, required, withDefault } from "../fields.js";
import { choice, decimal, duration, flag, nonZero, section, text, whole, writtenText } from "../values.js";

export const sensor = section({
  from: required(
    writtenText(),
    "The platform's exact name or factor code; `name@channel` where that is ambiguous.",
    {
      example: "空气温度",
    },
  ),
  name: optional(writtenText(), "Name to show; default: the platform's.", { example: "Air temperature" }),
  kind: optional(
    choice(sensorKinds, "kind"),
    `What is measured, recognised from the name unless given: ${sensorKinds.join(", ")}.`,
    {
      example: "temperature",
    },
  ),
  unit: optional(text(), "Unit of the published value.", { example: "°C" }),
  scale: withDefault(nonZero(), 1, "The platform's value is multiplied by this."),
  offset: withDefault(decimal(), 0, "Then this is added.", { example: "-0.4" }),
  decimals: optional(whole(0, 10), "Round to so many digits after the point; default: not rounded.", {
    example: "1",
  }),
  min: optional(decimal(), "Below this a value is bad; default: by kind.", { example: "-40" }),
  max: optional(decimal(), "Above this a value is bad; default: by kind.", { example: "80" }),
  stale_after: optional(duration(1000), "Default: polling.stale_after.", { example: "15m", off: true }),
  ignore: withDefault(flag(), false, "Do not mirror it."),
});
