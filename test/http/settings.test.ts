import { describe, expect, it } from "vitest";
import { may } from "../../src/http/roles.js";
import { foreignReach } from "../../src/http/settings.js";

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

describe("an admin of some accounts of a fleet", () => {
  const ofSome = { visitor: { accounts: new Set(["north"]) as never } };
  const ofAll = { visitor: {} };

  it.each([
    ["changes names and limits", { changes: { "controllers.GH-0001": { name: "East" } } }, true],
    [
      "does not write the file as a text, which names the others' secrets",
      { text: "a: !secret south" },
      false,
    ],
    ["names no other file", { changes: { "platform.token_file": "/etc/x" } }, false],
    ["names no other file in a section", { changes: { mqtt: { tls: { ca: "/etc/x" } } } }, false],
  ] as const)("%s", (_, wanted, isAllowed) => {
    expect(foreignReach(wanted, ofSome) === null).toBe(isAllowed);
    expect(foreignReach(wanted, ofAll)).toBeNull();
  });
});
