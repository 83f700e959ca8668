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
 * Words end up in topics and in users' automations. A line of the golden file is never changed or taken out; new names
 * are put in with `GOLDEN=append npx vitest run test/greenhouse/sensor-names-golden.test.ts`.
 */

type Golden = Readonly<Record<string, readonly [word: string | null, kind: string]>>;

const file = new URL("golden/sensor-words.json", import.meta.url);
const read = (): Golden => JSON.parse(readFileSync(file, "utf8")) as Golden;
const write = (golden: Golden) => {
  const lines = Object.entries(golden).map(
    ([name, row]) => `  ${JSON.stringify(name)}: [${row.map((part) => JSON.stringify(part)).join(", ")}]`,
  );
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);
};

const found = (name: string): readonly [string | null, string] => {
  const { word, kind } = recogniseSensor({ name, factor: null, unit: null });
  return [word, kind];
};

const lines = (table: string) => table.split("\n").filter((line) => line !== "");
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
const namesOf = (line: string) => line.split(": ")[1]?.split(", ") ?? [];

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
  const golden = read();
  const missing = catalogueNames().filter((name) => !(name in golden));
  if (process.env["GOLDEN"] === "append")
    write({ ...golden, ...Object.fromEntries(missing.map((name) => [name, found(name)])) });
  else expect(missing, "names to append (see the top of this file)").toEqual([]);
});

test("no name ever changes its word or its kind", () => {
  const golden = read();
  const now = Object.fromEntries(Object.keys(golden).map((name) => [name, found(name)]));
  expect(now).toEqual(golden);
});

test("every name of the catalogue gives a word", () => {
  const wordless = Object.entries(read()).filter(([, [word]]) => word === null);
  expect(wordless).toEqual([]);
});
