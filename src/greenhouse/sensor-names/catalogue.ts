import { kindsOf, type Kinds } from "./kinds.js";
import { placeNames } from "./place-names.js";
import { airAndDeviceNames, climateNames, groundAndWaterNames } from "./quantity-names.js";
import { compact } from "./spelling.js";

export interface Quantity extends Kinds {
  readonly word: string;
  /** Its first Chinese name; null where it has none. */
  readonly chinese: string | null;
}

export interface Place {
  /** Empty where the place adds nothing to the id. */
  readonly word: string;
  readonly chinese: string | null;
  readonly group: string;
  readonly class: string;
}

export interface Catalogue {
  /** By class of place, `/` and name: `-/温度`, `g/温度`. */
  readonly quantities: ReadonlyMap<string, Quantity>;
  readonly places: ReadonlyMap<string, Place>;
  readonly longestPlace: number;
}

let loaded: Catalogue | null = null;

/** The tables, read when the first sensor is seen. */
export function catalogue(): Catalogue {
  loaded ??= { quantities: readQuantities(), ...readPlaces() };
  return loaded;
}

/** Every name that stands for a quantity by itself; the golden file lists them all. */
export const plainNames = (): readonly string[] =>
  rows(`${climateNames}${groundAndWaterNames}${airAndDeviceNames}`)
    .filter(([, , classes]) => classes.includes("-"))
    .flatMap(([, , , names]) => names);

type Row = readonly [first: string, second: string, third: string, names: readonly string[]];

const rows = (text: string): readonly Row[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [head = "", names = ""] = line.split(": ");
      const [first = "", second = "", third = ""] = head.split(" ");
      return [first, second, third, names.split(", ")];
    });

const chineseOf = (names: readonly string[]): string | null =>
  names.find((name) => /\p{Script=Han}/u.test(name)) ?? null;

function readQuantities(): ReadonlyMap<string, Quantity> {
  const entries = new Map<string, Quantity>();
  for (const text of [climateNames, groundAndWaterNames, airAndDeviceNames])
    for (const [word, kinds, classes, names] of rows(text)) {
      const quantity = { word, chinese: chineseOf(names), ...kindsOf(kinds) };
      for (const place of classes)
        for (const name of names) entries.set(`${place}/${compact(name)}`, quantity);
    }
  return entries;
}

function readPlaces(): { places: ReadonlyMap<string, Place>; longestPlace: number } {
  const entries = new Map<string, Place>();
  for (const [word, group, placeClass, names] of rows(placeNames)) {
    const place = { word: word === "~" ? "" : word, chinese: chineseOf(names), group, class: placeClass };
    for (const name of names) entries.set(compact(name), place);
  }
  return { places: entries, longestPlace: Math.max(...[...entries.keys()].map((name) => name.length)) };
}
