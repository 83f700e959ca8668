import { describe, expect, it } from "vitest";
import { operations, readOnlyOperations } from "../../src/platform/operations.js";

/** The HTTP operations of the interface document, by host. */
const documented = {
  business: [
    "POST /api/account/sign-in",
    "GET /api/station",
    "GET /api/device",
    "GET /api/weather-data/avg",
    "GET /api/weather-data/list",
    "GET /api/video-data/list",
    "GET /api/control/mqtt",
  ],
  realtime: [
    "GET /api/sensor-data",
    "GET /api/mqtt-client-status",
    "GET /api/device_status",
    "GET /api/get-value",
    "GET /api/set-value/flush",
    "POST /api/set-value",
  ],
};

describe("operations", () => {
  it.each(["business", "realtime"] as const)("of the %s host are those of the document", (host) => {
    const ours = Object.values(operations).filter((one) => one.host === host);
    expect(ours.map(({ label }) => label).sort()).toEqual([...documented[host]].sort());
  });

  it("GET /api/set-value is nowhere among them, and nothing that moves anything is read-only", () => {
    expect(Object.values(operations).map(({ label }) => label)).not.toContain("GET /api/set-value");
    expect(readOnlyOperations.map(({ name }) => name)).not.toContain("set-value");
    expect(new Set(readOnlyOperations.map(({ method }) => method))).toEqual(new Set(["GET"]));
  });
});
