import type { z } from "zod";
import { actuatorKinds, kindRows, type ActuatorKind } from "../../greenhouse/actuator-kinds.js";
import { optional, required, withDefault } from "../fields.js";
import {
  address,
  choice,
  controlValue,
  duration,
  flag,
  map,
  section,
  text,
  whole,
  writtenText,
} from "../values.js";
import { takesDegrees } from "../kind-traits.js";

const wordKey = () =>
  text(
    'a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"',
    /^(?!unknown$)[a-z][a-z0-9_]{0,63}$/,
  );

const stop = () =>
  section({
    address: required(address(), "Address that stops it.", { example: "109" }),
    value: required(controlValue(), "Value that stops it.", { example: '"00000100"' }),
  });

const view = () =>
  section({
    as: optional(
      choice(["cover", "switch", "light", "select", "none"]),
      "What to show beside the select; default: by kind.",
      {
        example: "cover",
      },
    ),
    icon: optional(text("an icon such as mdi:fan", /^[a-z0-9-]+:[a-z0-9-]+$/), "Icon.", {
      example: "mdi:window-open",
    }),
    enabled: withDefault(flag(), true, "Shown without being switched on by hand."),
  });

const keys = section({
  kind: required(
    choice(actuatorKinds, "kind"),
    `Decides the commands, their values and the states: ${actuatorKinds.join(", ")}.`,
    {
      example: "skylight",
    },
  ),
  address: required(address(), "Address on the platform, taken as written.", { example: "101" }),
  name: optional(writtenText(), "Name to show; default: the id.", { example: "Left skylight" }),
  mode_address: optional(address(), "Positioners: where the mode goes; default: address.", {
    off: true,
    example: "101",
  }),
  position_address: optional(address(), "Positioners: where the degree goes; default: address.", {
    off: true,
    example: "102",
  }),
  stop: optional(stop(), "How to stop it, where that is known.", { off: true }),
  values: optional(map(wordKey(), controlValue()), "motor and custom: command word and value sent.", {
    off: true,
    example: '{ low: "0110", high: "1001" }',
  }),
  lead_in: optional(
    choice(["when_not_on", "always", "never"]),
    "light: when `on` is sent and confirmed first.",
    {
      default: "when_not_on",
      off: true,
    },
  ),
  settle: withDefault(duration(), "2s", "Wait after sending, before the first read-back."),
  travel_time: optional(duration(), "Positioners and motors: from one end to the other.", {
    default: "120s",
    example: "90s",
  }),
  confirm_within: optional(
    duration(1000),
    "How long a command is read back; default: 60s, positioners and motors travel_time + 30s.",
    {
      off: true,
      example: "120s",
    },
  ),
  min_interval: optional(duration(), "Least time between two commands; default: commands.min_interval.", {
    off: true,
    example: "2s",
  }),
  tolerance: optional(whole(0, 100), "Positioners: degrees that still count as arrived.", {
    default: 0,
  }),
  type_id: optional(
    whole(0, 1_000_000),
    "Control-parameter type (2 = left skylight, ...), to read many addresses at once.",
    {
      example: "2",
      off: true,
    },
  ),
  accept_type: withDefault(
    flag(),
    false,
    "Take its commands although type_id, or the type of its device, says that it is something else.",
  ),
  running: optional(whole(0, 1_000_000), "Number of the running status that belongs to it.", {
    example: "16",
    off: true,
  }),
  read_only: withDefault(flag(), false, "Refuse its commands."),
  homeassistant: withDefault(view(), {}, "How Home Assistant shows it."),
});

export const actuator = keys.transform(withKindDefaults);

const travelMs = 120_000;
const confirmMs = 60_000;
const confirmAfterTravelMs = 30_000;

/** What depends on the kind: a motor's own `stop` word, travel, lead-in and the time to confirm. */
function withKindDefaults(given: z.output<typeof keys>) {
  const travels = takesDegrees(given.kind) || given.kind === "motor";
  const travel = given.travel_time ?? (travels ? travelMs : 0);
  return {
    ...given,
    // The user's words first: their order is the one shown.
    values: { ...given.values, ...ownWords(given.kind), ...given.values },
    lead_in: given.lead_in ?? (given.kind === "light" ? ("when_not_on" as const) : ("never" as const)),
    travel_time: travel,
    confirm_within: given.confirm_within ?? (travels ? travel + confirmAfterTravelMs : confirmMs),
    tolerance: given.tolerance ?? 0,
  };
}

const ownWords = (kind: ActuatorKind): Readonly<Record<string, string>> =>
  kindRows[kind].configured ? kindRows[kind].values : {};
