import { optional, required, withDefault } from "../fields.js";
import { address, decimal, nonZero, positive, section, text, whole, writtenText } from "../values.js";

const writable = () =>
  section({
    min: required(decimal(), "Least value that may be set.", { example: "0" }),
    max: required(decimal(), "Greatest value that may be set.", { example: "5" }),
    step: required(positive(), "Distance between values that may be set.", { example: "0.1" }),
  });

export const parameter = section({
  address: required(address(), "Address on the platform.", { example: "501" }),
  name: optional(writtenText(), "Name to show; default: the id.", { example: "EC target" }),
  unit: optional(text(), "Unit of the published value.", { example: "mS/cm" }),
  scale: withDefault(
    nonZero(),
    1,
    "The platform's value is multiplied by this; a value is sent divided by it.",
    {
      example: "0.01",
    },
  ),
  decimals: optional(whole(0, 10), "Digits after the point.", { example: "2" }),
  type_id: optional(whole(0, 1_000_000), "Control-parameter type, to read many addresses at once.", {
    example: "203",
    off: true,
  }),
  writable: optional(writable(), "Allow to set it, within these limits; default: read only."),
});
