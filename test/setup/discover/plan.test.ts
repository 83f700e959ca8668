import { describe, expect, it } from "vitest";
import { deviceType, scannedTypes } from "../../../src/greenhouse/device-types.js";
import { planScan } from "../../../src/setup/discover/survey.js";
import { device } from "./support/surveys.js";

const all = { controllers: [], types: scannedTypes };
const everyone = () => false;

const house = device({ code: "GH-0001" });
const machine = device({ code: "FM-0002", type: deviceType("C003") });
const station = device({ code: "WS-0001", type: deviceType("W001"), online: null });
const camera = device({ code: "CAM-0001", type: deviceType("V008"), online: null });
const stranger = device({ code: "Z-0001", type: deviceType("Z001"), online: null, isController: false });
const account = [house, machine, station, camera, stranger];

const asks = (plan: ReturnType<typeof planScan>) =>
  Object.fromEntries(plan.map(({ device: { code }, asks: some }) => [code, some.length]));

describe("the plan of a scan", () => {
  it("one request per type brings all its addresses, beside one for readings and one for running statuses", () => {
    expect(asks(planScan(account, all, everyone))).toEqual({
      "GH-0001": 2 + 31,
      "FM-0002": 2 + 31,
      "WS-0001": 2,
      "CAM-0001": 0,
      "Z-0001": 2,
    });
    const [first] = planScan([house], all, everyone);
    expect(first?.asks).toEqual(["sensors", "statuses", ...scannedTypes]);
  });

  it("--controller takes a device code or a topic id, and asks that device for addresses whatever its type", () => {
    const chosen = { controllers: ["gh-0001", "WS-0001", "Z-0001"], types: scannedTypes };
    expect(asks(planScan(account, chosen, everyone))).toEqual({ "GH-0001": 33, "WS-0001": 33, "Z-0001": 33 });
  });

  it("--controller takes the topic id that the bridge makes of a code in another script", () => {
    const asked = planScan(
      [device({ code: "温室1" })],
      { ...all, controllers: ["wen_shi1_fmxa87c0"] },
      everyone,
    );
    expect(Object.keys(asks(asked))).toEqual(["温室1"]);
  });

  it("what the configuration ignores is asked only by name", () => {
    const ignored = (code: string) => code === "GH-0001";
    expect(asks(planScan([house], all, ignored))).toEqual({});
    expect(asks(planScan([house], { ...all, controllers: ["GH-0001"] }, ignored))).toEqual({ "GH-0001": 33 });
  });

  it("a device whose code cannot be part of a request is not asked", () => {
    expect(asks(planScan([device({ code: "../x?y=1" })], all, everyone))).toEqual({ "../x?y=1": 0 });
    expect(asks(planScan([device({ code: "x?y=1" })], all, everyone))).toEqual({ "x?y=1": 2 + 31 });
  });
});
