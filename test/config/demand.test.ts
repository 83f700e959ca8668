import { describe, expect, it } from "vitest";
import { callsPerHourNeeded, configuredLoad, costSentence } from "../../src/config/warnings.js";
import { loaded, platform } from "./loading.js";

const intervals = { controllers: 300_000, sensors: 60_000, running_status: 300_000, actuators: 120_000 };

describe("what polling costs", () => {
  it.each([
    [{ controllers: 0, addressReads: 0 }, 14],
    [{ controllers: 10, addressReads: 0 }, 734],
    [{ controllers: 10, addressReads: 20 }, 1_334],
    [{ controllers: 500, addressReads: 0 }, 36_014],
  ])("%j needs %d calls an hour", (load, expected) =>
    expect(callsPerHourNeeded(intervals, load)).toBeCloseTo(expected, 9),
  );

  it.each([
    [
      "",
      "polling costs 14 calls an hour of the budget of 18000; each controller that is not named here costs 72 more",
    ],
    ["mirror: listed\ncontrollers: { G: }\n", "polling costs 86 calls an hour of the budget of 18000"],
    [
      "mirror: listed\npolling: { actuators: 1m }\ncontrollers: { G: { actuators: { a: { kind: light, address: 1 } } }, H: }\n",
      "polling costs 218 calls an hour of the budget of 18000",
    ],
  ])("%j is told as a sentence", async (text, sentence) => {
    const { configuration } = await loaded(`${platform}${text}`);
    expect(costSentence(configuration)).toBe(sentence);
  });

  it("without a budget is told as well", async () => {
    const { configuration } = await loaded(
      `${platform.trimEnd()}\n  requests_per_minute: 0\nmirror: listed\ncontrollers: { G: }\n`,
    );
    expect(costSentence(configuration)).toBe("polling costs 86 calls an hour");
  });

  it("addresses with a type are read together, each other one alone and once", async () => {
    const { configuration } = await loaded(`${platform}controllers:
  G:
    actuators:
      a: { kind: skylight, address: 1, mode_address: 2, position_address: 1, type_id: 2 }
      b: { kind: skylight, address: 3, type_id: 2 }
      c: { kind: shade_curtain, address: 4, mode_address: 8, position_address: 5 }
    parameters:
      p: { address: 6, type_id: 203 }
      q: { address: 7 }
  H: { ignore: true, parameters: { p: { address: 1 } } }
  I:
`);
    expect(configuredLoad(configuration)).toEqual({ controllers: 2, addressReads: 5 });
  });
});
