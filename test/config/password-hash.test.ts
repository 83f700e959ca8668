import { describe, expect, it } from "vitest";
import { hashPassword } from "../../src/runtime/passwords.js";
import { platform, problemLines } from "./loading.js";

/* `platform` fills lines 1 to 4. */
const user = (password: string) => `broker:\n  users:\n    - { username: ha, password: "${password}" }\n`;
const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

describe("a hash of a broker's user", () => {
  it.each([
    ["its salt and key are too short", "scrypt:15:8:1:xx:yy"],
    ["a part is missing", `scrypt:15:8:${key}:${key}`],
    ["it would take all memory", `scrypt:30:32:1:${key}:${key}`],
    ["another program made it", `$scrypt$ln=15,r=8,p=1$${key}$${key}`],
  ])("that cannot be read is an error of the configuration: %s", async (_, password) => {
    expect(await problemLines(platform + user(password))).toEqual([
      "config.yaml:7:33 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd",
    ]);
  });

  it("made by passwd is right", async () => {
    const password = await hashPassword("a good password");
    expect(await problemLines(platform + user(password))).toEqual([]);
  });
});
