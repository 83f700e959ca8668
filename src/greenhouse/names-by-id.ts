import { byCode, joined, type Text, word } from "../language/text.js";

/*
 * A thing without a name is called by its id. English shows the id as it is; another language translates it if it knows
 * all of its words.
 */

export const idWords = [
  ...["left", "right", "east", "west", "north", "south", "inner", "outer", "upper", "lower", "front", "rear"],
  ...["side", "roof", "skylight", "window", "vent", "shade", "thermal", "curtain", "screen", "circulation"],
  ...[
    "exhaust",
    "fan",
    "wet",
    "heating",
    "heater",
    "blower",
    "mist",
    "cooling",
    "humidifier",
    "co2",
    "supply",
  ],
  ...[
    "uv",
    "disinfection",
    "humidity",
    "control",
    "hot",
    "air",
    "irrigation",
    "drip",
    "water",
    "valve",
    "pump",
    "bed",
    "grow",
    "light",
    "motor",
  ],
] as const;

const known: ReadonlySet<string> = new Set(idWords);

/** The word in a sentence; null where no language has it. */
function partOf(text: string): Text | null {
  if (/^\d+$/.test(text)) return ` ${text}`;
  const found = [text, text.replace(/s$/, "")].find((one) => known.has(one));
  return found === undefined ? null : word(found, `id.${found}`);
}

/** The name for an id such as `left_skylight`, translated where possible. */
export function nameById(id: string, english = id): Text {
  const parts = id.split("_").map(partOf);
  const name = parts.filter((part) => part !== null);
  return name.length < parts.length ? english : byCode("id.name", english, { name: joined(name, "") });
}
