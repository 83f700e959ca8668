import { msg } from "../../language/text.js";
import { z } from "zod";
import { parseTerm } from "../../runtime/duration.js";
import {
  choice,
  decimal,
  duration,
  expecting,
  flag,
  idKey,
  list,
  map,
  named,
  optional,
  required,
  section,
  text,
  topic,
  whole,
  withDefault,
  writtenText,
} from "../values.js";

const weatherValue = section({
  topic: required(
    topic(),
    "Topic of a live value; a message from the broker's store has no age and counts nothing.",
    "weather/wind",
  ),
  field: optional(
    text(msg`a key of the JSON payload, such as speed or wind.speed`, /^[^\s.]+(?:\.[^\s.]+){0,7}$/),
    "Key of the value in a JSON payload; without it the payload itself is the value.",
    "speed",
  ),
  unit: optional(text(), "Unit, for people.", "m/s"),
  stale_after: withDefault(duration(1000), "2m", "So long after its arrival a value is good."),
});

export const weatherSection = map(idKey(), weatherValue);

/** A word or a list of words, in the input's spelling. */
const words = () =>
  named(
    z.union([writtenText(), list(writtenText()).min(1)], {
      error: expecting(msg`a word, or a list of words`),
    }),
    "text or list",
    true,
  );

const input = "`<id>`, or `<controller>/<id>`";

const guard = section({
  sensor: optional(writtenText(), `Sensor that decides: ${input}, or \`weather/<name>\`.`, "weather/wind"),
  actuator: optional(writtenText(), `Or the actuator: ${input}.`, "# vent_motor"),
  status: optional(writtenText(), `Or the running status: ${input}.`, "# pump"),
  above: optional(decimal(), "Holds from above this.", "12"),
  below: optional(decimal(), "Holds from below this.", "# 5"),
  is: optional(words(), "Holds while it is this word, or one of these.", '# "on"'),
  is_not: optional(words(), "Holds while it is none of these.", '# "off"'),
  moving: optional(flag(), "Holds while the actuator moves.", "# true"),
  clear_at: optional(
    decimal(),
    "Once it holds, until no longer beyond this; default: the limit itself.",
    "9",
  ),
  clear_after: withDefault(
    duration(),
    "0s",
    "So long it has to be over in one piece, with a good value.",
    "10m",
  ),
  allow: withDefault(
    list(writtenText()),
    [],
    "What stays allowed: words, and at most one range of degrees; stop always is.",
    "[close, stop, 0..10]",
  ),
  then: optional(writtenText(), "Sent once each time the condition begins; must be in `allow`.", "close"),
  blind: withDefault(
    choice(["hold", "act"]),
    "hold",
    "act: `then` is also sent when the value is lost. A lost value always holds.",
  ),
});

const term = () => {
  const error = expecting(msg`a duration from 1s to 24h`);
  const isTerm = (given: string) => parseTerm(given) !== null;
  const msOf = (given: string) => parseTerm(given) ?? 0;
  return named(z.string({ error }).refine(isTerm, { error }).transform(msOf), "duration");
};

export const limitsSection = section({
  rest: withDefault(duration(), "0s", "From the end of one movement to the next.", "10s"),
  reversal: withDefault(duration(), "0s", "Before it goes the other way.", "60s"),
  starts_per_hour: optional(whole(1, 60), "Rolling, kept over restarts; moves made by others count.", "12"),
  for: optional(term(), "Every command but stop, auto and ends_with ends by itself after this.", "# 15m"),
  at_most: optional(term(), "Longest time a command may name; and the time of one that names none.", "# 45m"),
  ends_with: optional(
    text(),
    "What such a command ends with; default: off or close. motor and custom name it.",
    "# close",
  ),
  not_running_after: optional(
    duration(1000),
    "Alarm when it shows on and every status of `running` says off for so long; it refuses nothing.",
    "# 2m",
  ),
  guards: withDefault(
    map(idKey(), guard),
    {},
    "What forbids commands while it holds, by a name of your own.",
    {
      entry: "wind",
      more: `rain: { sensor: rain, is: "on", clear_after: 5m, allow: [close, stop, 0..20] }
twin: { actuator: vent_motor, moving: true, allow: [close, stop] }`,
    },
  ),
});
