import { describe, expect, it } from "vitest";
import { leaksIn, secrets, userHash } from "./secrets.js";

describe("a planted secret is found", () => {
  it.each([
    ["as it is", `Authorization: Bearer ${secrets.token}`],
    ["in a URL", `http://127.0.0.1/api?token=${encodeURIComponent(secrets.token)}`],
    ["as base64", Buffer.from(secrets.brokerPassword).toString("base64")],
    ["in hexadecimal", Buffer.from(secrets.httpToken).toString("hex")],
    ["cut off", secrets.accountPassword.slice(0, 14)],
    ["a hash", userHash.split(":").at(-1) ?? ""],
  ])("%s", (_how, text) => expect(leaksIn(`{"message":"before ${text} after"}`)).not.toEqual([]));

  it("and nothing where there is none", () => expect(leaksIn("Authorization: Bearer ***")).toEqual([]));
});
