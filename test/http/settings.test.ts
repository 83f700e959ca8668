import { describe, expect, it } from "vitest";
import { may } from "../../src/http/roles.js";

describe("roles", () => {
  it.each([
    [null, false, false, false],
    ["viewer", true, false, false],
    ["operator", true, true, false],
    ["admin", true, true, true],
  ] as const)("%s may look %s, act %s, change settings %s", (role, look, act, change) => {
    expect([may(role, "viewer"), may(role, "operator"), may(role, "admin")]).toEqual([look, act, change]);
  });
});
