import { describe, expect, it } from "vitest";
import { addressReadsOf, configuredLoad, requestsPerMinuteNeeded } from "../../src/config/demand.js";
import { loaded, platform } from "./loading.js";

const intervals = { controllers: 300_000, sensors: 60_000, running_status: 300_000, actuators: 120_000 };

describe("requests a minute", () => {
  it.each([
    [{ controllers: 0, addressReads: 0 }, 0.2],
    [{ controllers: 10, addressReads: 0 }, 12.2],
    [{ controllers: 10, addressReads: 20 }, 22.2],
    [{ controllers: 500, addressReads: 0 }, 600.2],
  ])("%j needs %d", (load, expected) => {
    expect(requestsPerMinuteNeeded(intervals, load)).toBeCloseTo(expected, 9);
  });

  it("addresses with a type are read together, each other one alone and once", async () => {
    const { configuration } = await loaded(`${platform}controllers:
  G:
    actuators:
      a: { kind: skylight, address: 1, mode_address: 2, position_address: 1, type_id: 2 }
      b: { kind: skylight, address: 3, type_id: 2 }
      c: { kind: shade_curtain, address: 4, mode_address: 4, position_address: 5 }
    parameters:
      p: { address: 6, type_id: 203 }
      q: { address: 7 }
  H: { ignore: true, parameters: { p: { address: 1 } } }
  I:
`);
    const controller = configuration.controllers.G;
    expect(controller === undefined ? null : addressReadsOf(controller)).toBe(5);
    expect(configuredLoad(configuration)).toEqual({ controllers: 2, addressReads: 5 });
  });
});
