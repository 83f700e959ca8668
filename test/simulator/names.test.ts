import { describe, expect, it } from "vitest";
import { accountOf, nameIn } from "../../src/simulator/account.js";
import { addressTable } from "../../src/simulator/address-table.js";
import { printableConfiguration } from "../../src/simulator/printable-configuration.js";
import { running } from "./running.js";

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

  it("leave the Chinese ones as they are where nothing else is asked", () => {
    expect([...accountOf(1, "all").devices.values()][0]?.name).toBe("1号日光温室");
    expect(nameIn("zh", "左天窗")).toBe("左天窗");
    expect(nameIn("en", "谁也不认识")).toBe("谁也不认识");
  });

  it("stand in the printed configuration; sensors keep the platform's names", async () => {
    const simulator = await running({ controllers: 2, language: "en" });
    expect(printableConfiguration(simulator)).toContain("name: Left skylight");
    expect(printableConfiguration(simulator)).not.toMatch(chinese);
    const answer = await fetch(`${simulator.realtimeUrl}/api/sensor-data?deviceCode=GH-0001`);
    expect(await answer.text()).toContain("空气温度");
  });
});
