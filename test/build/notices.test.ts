import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { noticesOf, packageOf } from "../../build/notices.mjs";

function packageWith(license: string, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-licence-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { name: "left-pad", version: "1.2.3", license, folder };
}

describe("the licences of what is bundled", () => {
  it("are told with name, version and text", () => {
    const notices = noticesOf([packageWith("ISC", { "LICENSE.md": "Do as you like.", NOTICE: "By us." })]);
    expect(notices).toContain("left-pad 1.2.3 (ISC)\n\nDo as you like.\n\nBy us.");
  });

  it("a package without a text of its licence is refused", () =>
    expect(() => noticesOf([packageWith("MIT", { "README.md": "MIT" })])).toThrow(
      "left-pad has no file with its licence",
    ));

  it.each(["GPL-3.0-only", "UNLICENSED", "SEE LICENSE IN x"])("a package under %s is refused", (license) =>
    expect(() => noticesOf([packageWith(license, { LICENSE: "text" })])).toThrow(
      `left-pad@1.2.3 is licensed ${license}`,
    ),
  );

  it("a module belongs to the innermost package that has a version", () => {
    expect(packageOf(resolve("node_modules/zod/v4/locales/en.js"))?.name).toBe("zod");
    expect(packageOf(resolve("src/main.ts"))).toBeNull();
  });
});
