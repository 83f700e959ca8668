import { describe, expect, it } from "vitest";
import type { ProfileName } from "../../src/simulator/dialects.js";
import { configuration, greenhouse2mqtt } from "../setup/discover/support/account.js";
import { running } from "../simulator/running.js";

async function read(profile: ProfileName, ...words: readonly string[]) {
  const simulator = await running({ controllers: 12, mix: "C001", profile });
  const config = await configuration(simulator, { more: "controllers: { GH-0002: { id: east } }" });
  return greenhouse2mqtt(["read", "-c", config, ...words]);
}

describe("read of a controller that the account does not have", () => {
  it.each(["default", "list", "records", "text"] as const)(
    "says so and names some it has, instead of advising about the address (%s)",
    async (profile) => {
      const { code, out, err } = await read(profile, "GH-9999", "101");
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toContain('the account has no controller "GH-9999"');
      expect(err).toContain("; it has GH-0001, GH-0002 (east), GH-0003");
      expect(err).toMatch(/, and \d+ more$/m);
      expect(err).not.toContain("address");
    },
  );

  it("names the nearest one", async () => {
    expect((await read("default", "GH-001", "101")).err).toContain('did you mean "GH-0001"?');
    expect((await read("default", "eats", "101")).err).toContain('did you mean "east"?');
  });

  it.each(["default", "records"] as const)(
    "an address that a known controller does not have is still about the address (%s)",
    async (profile) => {
      const { code, err } = await read(profile, "GH-0001", "9999");
      expect(code).toBe(1);
      expect(err).not.toContain("the account has no controller");
      expect(err).toMatch(/no value for address 9999 of GH-0001|the platform refused/);
    },
  );
});
