import { describe, expect, it } from "vitest";
import { PasswordChecks } from "../../src/runtime/logins.js";
import {
  hashPassword,
  parsePasswordHash,
  passwordWeakness,
  verifyPassword,
} from "../../src/runtime/passwords.js";

describe("a password hash", () => {
  it("is scrypt with N 2^15, a salt of 16 bytes of its own, and fits only its password", async () => {
    const [one, two] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
    expect(one).not.toBe(two);
    expect(one).toMatch(/^scrypt:15:8:1:[\w-]{22}:[\w-]{43}$/);
    expect(parsePasswordHash(one)?.salt).toHaveLength(16);
    expect(await verifyPassword("correct horse", one)).toBe(true);
    expect(await verifyPassword(Buffer.from("correct horse"), one)).toBe(true);
    expect(await verifyPassword("correct horsf", one)).toBe(false);
    expect(await verifyPassword("", one)).toBe(false);
    expect(await verifyPassword(one, one)).toBe(false);
  });

  it.each([
    "scrypt:",
    "scrypt:15:8:1:short",
    "scrypt:15:8:1:AAAA:AAAA",
    "scrypt:30:99:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "scrypt:0:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAA!:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ])("that cannot be read fits nothing: %s", async (text) => {
    expect(parsePasswordHash(text)).toBeNull();
    expect(await verifyPassword(text, text)).toBe(false);
  });

  it("may be a plain password", async () => {
    expect(await verifyPassword("plain", "plain")).toBe(true);
    expect(await verifyPassword("plain", "plain and longer")).toBe(false);
  });
});

describe("checking passwords", () => {
  it("is bounded: more than the line holds are turned away unchecked", async () => {
    const checks = new PasswordChecks(1, 2);
    const results = await Promise.all(Array.from({ length: 5 }, () => checks.verify("a", "a")));
    expect(results).toEqual([true, true, true, "busy", "busy"]);
    expect(await checks.verify("a", "a")).toBe(true);
  });

  it("leaves the event loop free: everything else goes on meanwhile", async () => {
    const stored = await hashPassword("right");
    const checks = new PasswordChecks();
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    const results = await Promise.all(
      Array.from({ length: 4 }, (_, n) => checks.verify(`wrong ${n}`, stored)),
    );
    clearImmediate(next);
    expect(results).toEqual([false, false, false, false]);
    // A check on this thread would leave it one turn at most.
    expect(turns).toBeGreaterThan(50);
  });
});

describe("a weak password", () => {
  it.each([
    "short",
    "elevenchars",
    "passwordpassword",
    "PASSWORD1234",
    "aaaaaaaaaaaaaaaa",
    "abababababababab",
  ])("is noticed: %s", (password) => expect(passwordWeakness(password)).not.toBeNull());

  it.each(["correct horse battery", "x7-Gh2!pQ9zt", "温室の鍵は秘密です。二十四"])("is not %s", (password) =>
    expect(passwordWeakness(password)).toBeNull(),
  );
});
