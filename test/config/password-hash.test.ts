import { describe, expect, it } from "vitest";
import { brokerProblems } from "../../src/broker/broker.js";
import { hashPassword } from "../../src/broker/passwords.js";
import { platform, problemLines } from "./loading.js";

describe("a plain password of a broker that others can reach", () => {
  it.each([
    ...["short", "elevenchars", "twelve-chars", "aaaaaaaaaaaaaaaa", "abcdabcdabcdabcd", "abcdeabcdeabcde"],
    ...["greenhouse123", "PASSWORD1234", "homeassistant", "correct horse battery"],
  ])("is judged alike by check and by the broker: %s", async (password) => {
    const text = `${platform}broker:\n  host: 0.0.0.0\n  users: [{ username: ha, password: "${password}" }]\n`;
    const { length } = brokerProblems({ host: "0.0.0.0", users: [{ username: "ha", password }] });
    expect(await problemLines(text)).toHaveLength(length);
  });
});

/* `platform` fills lines 1 to 4. */
const user = (password: string) => `broker:\n  users:\n    - { username: ha, password: "${password}" }\n`;
const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

describe("a hash of a broker's user", () => {
  it.each([
    ["its salt and key are too short", "scrypt:15:8:1:xx:yy"],
    ["a part is missing", `scrypt:15:8:${key}:${key}`],
    ["it would take all memory", `scrypt:30:32:1:${key}:${key}`],
    ["another program made it", `$scrypt$ln=15,r=8,p=1$${key}$${key}`],
  ])("that cannot be read is an error of the configuration, and of the broker: %s", async (_, password) => {
    expect(await problemLines(platform + user(password))).toEqual([
      "config.yaml:7:33 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd",
    ]);
    expect(brokerProblems({ host: "127.0.0.1", users: [{ username: "ha", password }] })).toHaveLength(1);
  });

  it("made by passwd is right for both", async () => {
    const password = await hashPassword("a good password");
    expect(await problemLines(platform + user(password))).toEqual([]);
    expect(brokerProblems({ host: "0.0.0.0", users: [{ username: "ha", password }] })).toEqual([]);
  });
});
