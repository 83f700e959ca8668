import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { accountOf } from "../../src/simulator/account.js";
import { addressTable } from "../../src/simulator/addresses.js";
import { controlWords } from "../../src/simulator/control.js";
import { profileNames } from "../../src/simulator/dialects.js";
import { faultNames, parseFaults, pushModes } from "../../src/simulator/faults.js";
import { readingNames } from "../../src/simulator/readings.js";
import { sensorTable } from "../../src/simulator/sensors.js";

const guide = readFileSync(new URL("../../docs/inside/simulator.md", import.meta.url), "utf8");

describe("docs/inside/simulator.md", () => {
  it.each([
    ["fault", faultNames],
    ["control", controlWords],
    ["push mode", pushModes],
    ["profile", profileNames],
    ["reading", readingNames],
  ])("names every %s", (_what, words) =>
    expect(words.filter((word) => !guide.includes(`\`${word}\``))).toEqual([]),
  );

  it("names every sensor and every address of a greenhouse", () => {
    for (const type of ["C001", "C003", "W001"])
      expect(sensorTable(type).filter((row) => !guide.includes(row.name))).toEqual([]);
    const undocumented = [...addressTable("C001").keys()].filter((address) => address !== "502");
    expect(undocumented.filter((address) => !guide.includes(address))).toEqual([]);
  });

  it("shows a fault file that is right", () => {
    const [, example = ""] = /```json\n([\s\S]*?)```/.exec(guide) ?? [];
    const { faults, errors } = parseFaults(JSON.parse(example));
    expect(errors).toEqual([]);
    expect(faults).toHaveLength(5);
  });
});

const chinese = /\p{Script=Han}/u;

describe("names in English", () => {
  it("are there for every station, device and address, and no two of one kind are alike", () => {
    const { stations, devices } = accountOf(1_000, "all", "en");
    const named = [...devices.values()].map(({ name }) => name);
    for (const name of [...named, ...stations.map((one) => one.name)]) expect(name).not.toMatch(chinese);
    expect(new Set(named).size).toBe(named.length);
    expect(new Set(stations.map((one) => one.name)).size).toBe(stations.length);
    for (const type of ["C001", "C003"])
      for (const { names } of addressTable(type).values()) expect(names.en).not.toMatch(chinese);
  });
});
