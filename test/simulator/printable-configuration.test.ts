import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { printableConfiguration } from "../../src/simulator/printable-configuration.js";
import { Asking, object } from "./asking.js";

const printed = (options: ConstructorParameters<typeof Asking>[0]) =>
  printableConfiguration({
    businessUrl: "http://127.0.0.1:1",
    realtimeUrl: "http://127.0.0.1:2",
    state: new Asking(options).state,
  });

describe("the configuration to paste", () => {
  it("names every actuator of the first three greenhouses and of a fertilizer machine by an address they have", () => {
    const asking = new Asking();
    const { controllers } = object(parse(printed({}), { schema: "failsafe" }));
    expect(Object.keys(object(controllers))).toEqual(["GH-0001", "GH-0003", "GH-0004", "FM-0002"]);
    for (const [code, settings] of Object.entries(object(controllers))) {
      const actuators = Object.values(object(object(settings).actuators)).map(object);
      expect(actuators.length).toBeGreaterThanOrEqual(code === "FM-0002" ? 12 : 15);
      for (const { address } of actuators) expect(asking.read(code, String(address))).toBeDefined();
    }
  });

  it("gives travel times as long as they really take at the simulation's speed", () => {
    expect(printed({ speed: 1 })).toContain("address: 101, type_id: 2, travel_time: 90s");
    expect(printed({ speed: 60 })).toContain("address: 101, type_id: 2, travel_time: 2s");
    expect(printed({ speed: undefined }), "not written").toContain("type_id: 2, travel_time: 90s");
  });
});
