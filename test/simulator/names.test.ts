import { describe, expect, it } from "vitest";
import { accountOf, nameIn } from "../../src/simulator/account.js";
import { addressTable } from "../../src/simulator/address-table.js";

const chinese = /\p{Script=Han}/u;

describe("names in English", () => {
  it("are there for every station, device and address, and no two of one kind are alike", () => {
    const { stations, devices } = accountOf(1_000, "all", "en");
    const named = [...devices.values()].map(({ name }) => name);
    for (const name of [...named, ...stations.map((one) => one.name)]) expect(name).not.toMatch(chinese);
    expect(new Set(named).size).toBe(named.length);
    expect(new Set(stations.map((one) => one.name)).size).toBe(stations.length);
    for (const type of ["C001", "C003"])
      for (const { name } of addressTable(type).values())
        expect(nameIn("en", name), name).not.toMatch(chinese);
  });
});
