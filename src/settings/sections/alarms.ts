import { msg } from "../../language/text.js";
import { z } from "zod";
import { sensorKinds } from "../../greenhouse/sensors.js";
import { decimal, duration, expecting, expectingOneOf, map, named, optional, section } from "../values.js";

/* The limits between which readings are normal. A rule between keys checks the order of the limits. */

const limit = () => {
  const error = expecting(msg`a number, or false for none`);
  return named(z.union([decimal(), z.literal(false)], { error }), "number or false");
};

const deadband = () => {
  const error = expecting(msg`a number, 0 or more`);
  return named(z.number({ error }).gte(0, { error }), "number");
};

const keys = section({
  low_low: optional(limit(), "Below this the alarm is an error.", "2"),
  low: optional(limit(), "Below this there is an alarm.", "5"),
  high: optional(limit(), "Above this there is an alarm.", "35"),
  high_high: optional(limit(), "Above this the alarm is an error.", "40"),
  deadband: optional(
    deadband(),
    "So far inside of the limit a value has to be again before the alarm is over; default: by kind.",
    "1",
  ),
  delay: optional(
    duration(),
    "So long it has to be beyond the limit, by the times at which it was measured; default: 5m.",
    "10m",
  ),
});

/** `false`: no alarm, whatever a more general section says. */
const band = () =>
  z.union([z.literal(false), keys], { error: expecting(msg`false, or a section of keys with values`) });

/** Limits of one sensor; each key replaces that of its kind. */
export const sensorAlarm = band;

const kindKey = () =>
  z.string().regex(new RegExp(`^(?:${sensorKinds.join("|")})$`), { error: expectingOneOf(sensorKinds) });

export const alarmsSection = map(kindKey(), band());
