import type { Quantity } from "./catalogue.js";
import { composedQuantity } from "./composed.js";
import type { Kinds } from "./kinds.js";
import { peelings, type Peeled } from "./name-parts.js";
import { compact, readable } from "./spelling.js";

/** What a name says about its sensor. */
export interface KnownName extends Kinds {
  /** The word for the id: `soil_temperature_10cm_zone_a_2`. */
  readonly word: string;
  /** In Chinese: `A区土壤温度10cm 2`; null where a part has no Chinese name. */
  readonly chinese: string | null;
  /** The unit when the name itself carries one, as in `空气温度(℃)`. */
  readonly unit: string | null;
}

// A name with more to say than this is prose.
const longestName = 64;
const mostParts = 5;
/** Parts that go into the word, in this order. */
const inWord = ["depth", "zone", "index"] as const;

type Parts = Readonly<Partial<Record<Peeled["part"], string>>>;

/** The catalogue's reading of a name; null unless every part of it is understood. */
export function knownName(name: string): KnownName | null {
  if (name.length > longestName) return null;
  const text = readable(name);
  return text === "" ? null : read(text, {}, mostParts);
}

function chineseName({ chinese }: Quantity, { depth = "", zone, index }: Parts): string | null {
  if (chinese === null) return null;
  const [kind = "", name = ""] = zone?.split("_") ?? [];
  const place = zone === undefined ? "" : `${name.toUpperCase()}${kind === "zone" ? "区" : "号温室"}`;
  return `${place}${chinese}${depth}${index === undefined ? "" : `${depth === "" ? "" : " "}${index}`}`;
}

function read(text: string, parts: Parts, left: number): KnownName | null {
  const quantity = composedQuantity(compact(text));
  if (quantity !== null) {
    const tail = inWord.map((part) => parts[part]).filter((says) => says !== undefined);
    const word = [quantity.word, ...tail].join("_");
    const { kinds, needsUnit } = quantity;
    return { word, chinese: chineseName(quantity, parts), kinds, needsUnit, unit: parts.unit ?? null };
  }
  if (left === 0) return null;
  for (const { rest, part, says } of peelings(text)) {
    if (parts[part] !== undefined) continue;
    const known = read(rest, { ...parts, [part]: says }, left - 1);
    if (known !== null) return known;
  }
  return null;
}
