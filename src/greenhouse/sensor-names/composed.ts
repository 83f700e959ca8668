import { catalogue, type Catalogue, type Place, type Quantity } from "./catalogue.js";

const maxPlaces = 3;

/**
 * The quantity a compact name stands for: the name of a quantity by itself, or after (or before) names of places. Every
 * character must be accounted for, so `温度报警` is no temperature.
 */
export function composedQuantity(name: string): Quantity | null {
  const known = catalogue();
  return known.quantities.get(`-/${name}`) ?? placesThen(known, name, []) ?? thenPlace(known, name);
}

function placesThen(known: Catalogue, rest: string, places: readonly Place[]): Quantity | null {
  if (places.length > 0) {
    const quantity = placed(known, rest, places);
    if (quantity !== null) return quantity;
  }
  if (places.length === maxPlaces) return null;
  for (let length = Math.min(known.longestPlace, rest.length - 1); length > 0; length--) {
    const place = known.places.get(rest.slice(0, length));
    if (place === undefined || places.some(({ group }) => group === place.group)) continue;
    const quantity = placesThen(known, rest.slice(length), [...places, place]);
    if (quantity !== null) return quantity;
  }
  return null;
}

// `temperature outside`, and 温度(室外) once its brackets are gone.
function thenPlace(known: Catalogue, name: string): Quantity | null {
  for (let length = Math.min(known.longestPlace, name.length - 1); length > 0; length--) {
    const place = known.places.get(name.slice(-length));
    const quantity = place && placesThen(known, name.slice(0, -length), [place]);
    if (quantity) return quantity;
  }
  return null;
}

function placed(known: Catalogue, name: string, places: readonly Place[]): Quantity | null {
  for (const placeClass of classesOf(places)) {
    const quantity = known.quantities.get(`${placeClass}/${name}`);
    if (quantity === undefined) continue;
    const words = [...places.map(({ word }) => word), quantity.word].filter((word) => word !== "");
    const chinese = [...places, quantity].map((part) => part.chinese);
    return {
      ...quantity,
      word: words.join("_"),
      chinese: chinese.includes(null) ? null : chinese.join(""),
    };
  }
  return null;
}

// The medium says what fits; the side of the glass only where no medium is named.
function classesOf(places: readonly Place[]): readonly string[] {
  const medium = places.find(({ group }) => group === "medium");
  if (medium !== undefined) return [medium.class];
  return places.some(({ group }) => group === "side") ? ["o", "a"] : ["-"];
}
