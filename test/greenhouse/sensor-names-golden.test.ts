import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  airAndDeviceNames,
  climateNames,
  groundAndWaterNames,
  placeNames,
  plainNames,
} from "../../src/greenhouse/sensor-name-tables.js";
import { recogniseSensor } from "../../src/greenhouse/sensor-names.js";

/*
 * Words end up in topics and in users' automations: each line of the golden file is a word, its kind, and the names that
 * give them. No name is ever taken from its line; new ones are put in with
 * `GOLDEN=append npx vitest run test/greenhouse/sensor-names-golden.test.ts`.
 */

const file = new URL("golden/sensor-words.txt", import.meta.url);
const namesOf = (line: string) => line.split(": ")[1]?.split(", ") ?? [];
const lines = (table: string) => table.split("\n").filter((line) => line !== "");
const golden = new Map(
  lines(readFileSync(file, "utf8")).flatMap((line) =>
    namesOf(line).map((name) => [name, line.slice(0, line.indexOf(":"))] as const),
  ),
);

function write(words: ReadonlyMap<string, string>): void {
  const of = (wanted: string) => [...words].flatMap(([name, word]) => (word === wanted ? [name] : []));
  const written = [...new Set(words.values())].map((word) => `${word}: ${of(word).join(", ")}\n`);
  writeFileSync(file, written.join(""));
}

const found = (name: string) => {
  const { word, kind } = recogniseSensor({ name, factor: null, unit: null });
  return `${String(word)} ${kind}`;
};

const join = (place: string, name: string) => (/[a-z]$/.test(place) ? `${place} ${name}` : place + name);

/** A place of each class, to stand before the names that mean nothing alone. */
const samplePlaces = new Map([
  ["a", ["室外", "outdoor"]],
  ["g", ["土壤", "soil"]],
  ["f", ["叶面", "leaf"]],
  ["p", ["植株", "plant"]],
  ["l", ["水箱", "water tank"]],
  ["o", ["室外", "outdoor"]],
]);

const isLatin = (name: string) => /^[a-z0-9. ]+$/.test(name);

function composedNames(): readonly string[] {
  const quantities = [climateNames, groundAndWaterNames, airAndDeviceNames].flatMap(lines);
  return quantities.flatMap((line) => {
    const classes = line.split(": ")[0]?.split(" ")[2] ?? "";
    if (classes.includes("-")) return [];
    const places = Array.from(classes, (one) => samplePlaces.get(one) ?? []);
    return places.flatMap(([han = "", latin = ""]) =>
      namesOf(line).map((name) => join(isLatin(name) ? latin : han, name)),
    );
  });
}

function catalogueNames(): readonly string[] {
  const places = lines(placeNames).flatMap(namesOf);
  const placed = places.map((place) => join(place, isLatin(place) ? "temperature" : "温度"));
  return [...new Set([...plainNames(), ...placed, ...composedNames()])];
}

test("every name of the catalogue is frozen in the golden file", () => {
  const missing = catalogueNames().filter((name) => !golden.has(name));
  if (process.env["GOLDEN"] === "append")
    write(new Map([...golden, ...missing.map((name) => [name, found(name)] as const)]));
  else expect(missing, "names to append (see the top of this file)").toEqual([]);
});

test("no name ever changes its word or its kind", () => {
  const now = [...golden.keys()].map((name) => [name, found(name)]);
  expect(now).toEqual([...golden]);
});

test("every name of the catalogue gives a word", () =>
  expect([...golden.values()].filter((word) => word.startsWith("null "))).toEqual([]));
