import { describe, expect, it } from "vitest";
import { accountOf } from "../../src/simulator/account.js";
import { addressTable } from "../../src/simulator/address-table.js";
import { parameterGroup, typeRows } from "../../src/greenhouse/device-types.js";

const types = (account: ReturnType<typeof accountOf>) =>
  new Set([...account.devices.values()].map((d) => d.type));

describe("the simulated account", () => {
  it.each([1, 2, 20, 50, 500, 10_000])(
    "has exactly %i controllers in its list of controllers",
    (controllers) => {
      const { devices } = accountOf(controllers, "all");
      expect([...devices.values()].filter((device) => device.isController)).toHaveLength(controllers);
    },
  );

  it.each([
    [0, 1],
    [12_000, 10_000],
  ])("keeps %i controllers within 1 to 10,000", (asked, given) => {
    const { devices } = accountOf(asked, "C001");
    expect(devices.size).toBe(given);
  });

  it("has every device type of the interface, most of them sunlight greenhouses", () => {
    const account = accountOf(20, "all");
    expect([...types(account)].sort()).toEqual(["C001", "C003", "V003", "V008", "V009", "W001"]);
    const greenhouses = [...account.devices.values()].filter((device) => device.type === "C001");
    expect(greenhouses.length).toBeGreaterThan(account.devices.size / 2);
  });

  it("has greenhouses alone with the mix C001", () =>
    expect([...types(accountOf(500, "C001"))]).toEqual(["C001"]));

  it("gives the first controllers the same codes and names whatever the size", () => {
    const first = (controllers: number) =>
      [...accountOf(controllers, "all").devices.values()].slice(0, 8).map(({ code, name }) => [code, name]);
    expect(first(8)).toEqual(first(10_000));
    expect(first(8)[0]).toEqual(["GH-0001", "1号日光温室"]);
  });

  it("has only codes that fit into a path segment", () => {
    for (const code of accountOf(10_000, "all").devices.keys())
      expect(code).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  });
});

describe("the address tables", () => {
  it("put every address into a parameter group of the interface or into none", () => {
    for (const type of ["C001", "C003"])
      for (const row of addressTable(type).values())
        expect(row.group === null || typeRows.has(parameterGroup(row.group))).toBe(true);
  });

  it.each([
    ["101", 2],
    ["102", 3],
    ["103", 4],
    ["104", 7],
    ["140", 10],
    ["150", 11],
    ["220", 12],
    ["106", 146],
    ["107", 157],
    ["210", 190],
    ["501", 212],
    ["701", 211],
    ["711", 213],
    ["300", null],
  ])("have address %s of a greenhouse in group %s", (address, group) =>
    expect(addressTable("C001").get(address)?.group).toBe(group),
  );

  it("give a fertilizer machine twelve plans and twelve formulas", () => {
    const groups = [...addressTable("C003").values()].map((row) => row.group);
    for (let n = 190; n <= 201; n++) expect(groups).toContain(n);
    for (const n of [203, 204, 205, 206]) expect(groups.filter((group) => group === n)).toHaveLength(3);
  });

  it("give cameras and weather stations no address", () => {
    for (const type of ["W001", "V003", "V008", "V009"]) expect(addressTable(type).size).toBe(0);
  });
});
