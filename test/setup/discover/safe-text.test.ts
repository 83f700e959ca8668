import { describe, expect, it } from "vitest";
import { commentText, nameOr } from "../../../src/setup/discover/text.js";

describe("names of the platform in comments", () => {
  it.each([
    ["1号日光温室", "1号日光温室"],
    ["  a   b ", "a b"],
    ["a\ncontrollers: {}", "a controllers: {}"],
    ["a\r\u0085\u2028\u2029b", "a b"],
    ["a\u0000\u001b[31mb", "a [31mb"],
    ["\ufeff\u200b", ""],
    ["evil\u202egnp.exe", "evil gnp.exe"],
    ["half \ud83d pair", "half pair"],
    ["\uffff", ""],
    ["🌱 ok", "🌱 ok"],
  ])("%j is written as %j", (name, written) => expect(commentText(name)).toBe(written));

  it("a long name is cut at a whole character", () => {
    const cut = commentText("🌱".repeat(100_000));
    expect(Array.from(cut)).toHaveLength(81);
    expect(cut).toMatch(/^(?:🌱){80}…$/u);
  });

  it("a name that is nothing once cleaned gives way to another", () => {
    expect(nameOr(null, "GH-1")).toBe("GH-1");
    expect(nameOr("\u0000", "GH-1")).toBe("GH-1");
    expect(nameOr("East", "GH-1")).toBe("East");
  });
});
