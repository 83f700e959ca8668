import { describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonSchema } from "../../src/config/schema.js";
import { loaded, platform, problemLines } from "./loading.js";

const named = (code: string) => `${platform}controllers: { ${JSON.stringify(code)}: { ignore: true } }\n`;

describe("a device code in the configuration", () => {
  it.each(["温室/1#+", "GH 1", "0012", "a:b", "x".repeat(64)])(
    "is taken as the platform writes it: %s",
    async (code) => {
      const { configuration } = await loaded(named(code));
      expect(Object.keys(configuration.controllers)).toEqual([code]);
      const schema = z.fromJSONSchema(jsonSchema());
      const entry = { platform: { business_url: "https://a.b", realtime_url: "https://a.b", token: "x" } };
      expect(schema.safeParse({ ...entry, controllers: { [code]: { ignore: true } } }).success).toBe(true);
    },
  );

  it.each(["..", " GH", "GH ", "a\tb", "a/../b", "x".repeat(65)])(
    "that cannot be one is an error: %j",
    async (code) => {
      expect(await problemLines(named(code))).toEqual([
        expect.stringContaining("expected a device code as the platform writes it"),
      ]);
    },
  );
});
