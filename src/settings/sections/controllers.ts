import { msg } from "../../language/text.js";
import { z } from "zod";
import { type ActuatorKind, actuatorKinds, kindRows, takesDegrees } from "../../greenhouse/actuator-kinds.js";
import { type ReadingRow, readingRows } from "../../greenhouse/readings.js";
import { sensorKinds } from "../../greenhouse/sensors.js";
import { sensorAlarm } from "./alarms.js";
import { limitsSection } from "./limits-section.js";
import {
  address,
  choice,
  controlValue,
  decimal,
  deviceCode,
  duration,
  expecting,
  expectingOneOf,
  flag,
  idKey,
  list,
  map,
  named,
  nonZero,
  optional,
  positive,
  required,
  section,
  text,
  topicId,
  whole,
  withDefault,
  writtenText,
} from "../values.js";

const wordKey = () =>
  text(
    msg`a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"`,
    /^(?!unknown$)[a-z][a-z0-9_]{0,63}$/,
  );

/** Words, each with further values that mean it when read. */
const readTable = () => map(wordKey(), list(controlValue()));

/** What the key of a reading takes, beside one of some words. */
const schemas = { flag, duration: () => duration(), words: readTable } as const;

type Rows = typeof readingRows;
type SchemaOf<Takes> = Takes extends keyof typeof schemas
  ? ReturnType<(typeof schemas)[Takes]>
  : Takes extends readonly [string, ...string[]]
    ? ReturnType<typeof choice<Takes>>
    : never;
type ReadingKeys = {
  [Name in keyof Rows as Rows[Name]["key"]]: z.ZodOptional<SchemaOf<Rows[Name]["takes"]>>;
};

function fieldOf({ takes, description, example = "" }: ReadingRow) {
  if (typeof takes === "string") return optional(schemas[takes](), description, example);
  return optional(choice(takes), description, { default: takes[0], off: true });
}

/** The keys of the readings in greenhouse/readings.ts; `example` is that of further words. */
const readingKeys = (example: string) =>
  Object.fromEntries(
    Object.values(readingRows).map((row) => [
      row.key,
      fieldOf(row.takes === "words" ? { ...row, example } : row),
    ]),
  ) as ReadingKeys;

const values = (description: string) =>
  optional(map(wordKey(), controlValue()), description, '# { low: "0110", high: "1001" }');

/** A kind of actuator as a key. */
const kindKey = () =>
  z.string().regex(new RegExp(`^(?:${actuatorKinds.join("|")})$`), {
    error: expectingOneOf(actuatorKinds),
  });

const kind = section({
  values: values("Further command words, and the value sent."),
  ...readingKeys('{ open: ["10010", "100"], auto: ["11000", "11010", "11001"] }'),
});

export const kindsSection = map(kindKey(), kind);

/** The meaning of values of running statuses, wherever they are read. */
export const runningStatusSection = section({
  reads: optional(
    readTable(),
    "Further values that mean a word: `on`, `off` or one of your own.",
    '# { on: ["1010"], off: ["1001"] }',
  ),
});

/** One number, or a list of them. */
const runningNumbers = () => {
  const number = whole(0, 1_000_000);
  const error = expecting(msg`a whole number such as 16, or a list of them such as [16, 17]`);
  const numbers = z.union([number, z.array(number).min(1)], { error });
  return named(
    numbers.transform((one) => (Array.isArray(one) ? [...new Set(one)] : [one])),
    "number or list",
  );
};

const stop = () =>
  section({
    address: required(address(), "Address that stops it.", "109"),
    value: required(controlValue(), "Value that stops it.", '"00000100"'),
  });

const view = () =>
  section({
    as: optional(
      choice(["cover", "switch", "light", "valve", "select", "none"]),
      "What to show beside the select; default: by kind.",
      "cover",
    ),
    icon: optional(text(msg`an icon such as mdi:fan`, /^[a-z0-9-]+:[a-z0-9-]+$/), "Icon.", "mdi:window-open"),
    enabled: withDefault(flag(), true, "Shown without being switched on by hand."),
    inverted: optional(
      flag(),
      "Show cover and position the other way round, for a curtain that `open` spreads out.",
      "# true",
    ),
  });

const keys = section({
  kind: required(
    choice(actuatorKinds, "kind"),
    `Decides the commands, their values and the states: ${actuatorKinds.join(", ")}.`,
    "skylight",
  ),
  address: required(address(), "Address on the platform, taken as written.", "101"),
  name: optional(writtenText(), "Name to show; default: the id.", "Left skylight"),
  mode_address: optional(address(), "Positioners: where the mode goes; default: address.", "# 101"),
  position_address: optional(address(), "Positioners: where the degree goes; default: address.", "# 102"),
  stop: optional(stop(), "How to stop it, where that is known.", { off: true }),
  values: values(
    "Command words beside those of the kind, and the value sent; a motor and a custom one have no others.",
  ),
  ...readingKeys('# { auto: ["11000", "11010", "11001"] }'),
  lead_in: optional(
    choice(["when_not_on", "always", "never"]),
    "light: when `on` is sent and confirmed first.",
    { default: "when_not_on", off: true },
  ),
  settle: withDefault(duration(), "2s", "Wait after sending, before the first read-back."),
  travel_time: optional(duration(1), "Positioners and motors: from one end to the other.", {
    default: "120s",
    example: "90s",
  }),
  confirm_within: optional(
    duration(1000),
    "How long a command is read back; default: 60s, positioners and motors travel_time + 30s.",
    "# 120s",
  ),
  min_interval: optional(
    duration(),
    "Least time between two commands; default: commands.min_interval.",
    "# 2s",
  ),
  tolerance: optional(whole(0, 100), "Positioners: degrees that still count as arrived.", { default: 0 }),
  type_id: optional(
    whole(0, 1_000_000),
    "Control-parameter type (2 = left skylight, ...), to read many addresses at once.",
    "# 2",
  ),
  accept_type: withDefault(
    flag(),
    false,
    "Accept commands although type_id or the device's type contradicts kind.",
  ),
  running: optional(runningNumbers(), "Its running status, by number, or a list.", "# [16, 17]"),
  read_only: withDefault(flag(), false, "Refuse its commands."),
  ignore: withDefault(flag(), false, "Do not mirror it; refuse its commands."),
  limits: optional(
    limitsSection,
    "What narrows its commands. Not a safety layer: it needs this computer, the internet and the platform.",
    { off: true },
  ),
  homeassistant: withDefault(view(), {}, "How Home Assistant shows it."),
});

const actuator = keys.transform(withKindDefaults);

const travelMs = 120_000;
const confirmMs = 60_000;
const confirmAfterTravelMs = 30_000;

/** Adds the defaults that depend on the kind: a motor's own words, travel, lead-in and the time to confirm. */
function withKindDefaults(given: z.output<typeof keys>) {
  const hasDegrees = takesDegrees(given.kind);
  const travels = hasDegrees || given.kind === "motor";
  const travel = travels ? (given.travel_time ?? travelMs) : 0;
  return {
    ...given,
    // The user's words first, as this order is shown.
    values: { ...given.values, ...ownWords(given.kind), ...given.values },
    lead_in: given.kind === "light" ? (given.lead_in ?? ("when_not_on" as const)) : ("never" as const),
    travel_time: travel,
    confirm_within: given.confirm_within ?? (travels ? travel + confirmAfterTravelMs : confirmMs),
    tolerance: hasDegrees ? (given.tolerance ?? 0) : 0,
  };
}

const ownWords = (kind: ActuatorKind): Readonly<Record<string, string>> =>
  kindRows[kind].configured ? kindRows[kind].values : {};

const writable = () =>
  section({
    min: required(decimal(), "Least value that may be set.", "0"),
    max: required(decimal(), "Greatest value that may be set.", "5"),
    step: required(positive(), "Distance between values that may be set.", "0.1"),
  });

const parameter = section({
  address: required(address(), "Address on the platform.", "501"),
  name: optional(writtenText(), "Name to show; default: the id.", "EC target"),
  unit: optional(text(), "Unit of the published value.", "mS/cm"),
  scale: withDefault(
    nonZero(),
    1,
    "The platform's value is multiplied by this; a value is sent divided by it.",
    "0.01",
  ),
  decimals: optional(whole(0, 10), "Digits after the point.", "2"),
  type_id: optional(whole(0, 1_000_000), "Control-parameter type, to read many addresses at once.", "# 203"),
  writable: optional(writable(), "Allow to set it, within these limits; default: read only."),
});

const sensor = section({
  from: required(
    writtenText(),
    "The platform's exact name or factor code; `name@channel` where that is ambiguous, `name#2` for the second of one name.",
    "空气温度",
  ),
  name: optional(writtenText(), "Name to show; default: the platform's.", "Air temperature"),
  kind: optional(
    choice(sensorKinds, "kind"),
    `What is measured, recognised from the name unless given: ${sensorKinds.join(", ")}.`,
    "temperature",
  ),
  unit: optional(text(), "Unit of the published value.", "°C"),
  scale: withDefault(nonZero(), 1, "The platform's value is multiplied by this."),
  offset: withDefault(decimal(), 0, "Then this is added.", "-0.4"),
  decimals: optional(whole(0, 10), "Round to so many digits after the point; default: not rounded.", "1"),
  min: optional(decimal(), "Below this a value is bad; default: by kind.", "-40"),
  max: optional(decimal(), "Above this a value is bad; default: by kind.", "80"),
  stale_after: optional(duration(1000), "Default: polling.stale_after.", "# 15m"),
  ignore: withDefault(flag(), false, "Do not mirror it."),
  alarm: optional(
    sensorAlarm(),
    "Alarms on it, each key before that of `alarms` for its kind; false: none.",
    { off: true },
  ),
});

const actuatorExamples = `right_skylight: { kind: skylight, address: 105 }
roof_fans:   { kind: fan_wet_curtain, address: 140 }
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
    "Topic id; default: the code in small letters, with a hash if it has other characters.",
    "east",
  ),
  name: optional(writtenText(), "Name to show; default: the platform's.", "East house"),
  area: optional(writtenText(), "Area suggested to Home Assistant.", "East"),
  averages: withDefault(
    flag(),
    false,
    "Mirror its averages of weather-data/avg as sensors, once in twelve polling.controllers.",
  ),
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
    { entry: "air_temperature", more: sensorExamples },
  ),
  parameters: withDefault(map(idKey(), parameter), {}, "Further addresses to mirror, by id.", {
    entry: "ec_target",
  }),
});

export const controllersSection = map(deviceCode(), controller);

/** The settings of a sensor about which the file says no more than `from`. */
export const nothingElseSaid = (from: string): z.output<typeof sensor> => sensor.parse({ from });

/** The settings of a controller that the file does not mention. */
export const nothingSaid: z.output<typeof controller> = controller.parse({});
