import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { judge, type Listener } from "../../src/http/access.js";
import { FirstOperator, withStoredUsers } from "../../src/http/first-operator.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { loopback } from "./support.js";

const request = (over: { readonly remote?: string; readonly headers?: object } = {}) =>
  ({
    headers: { host: "127.0.0.1:8099", ...over.headers },
    socket: { remoteAddress: over.remote ?? "127.0.0.1", localAddress: "127.0.0.1" },
  }) as unknown as IncomingMessage;

const anna = { username: "anna", password: "sunflowers in a row" };

async function scene(
  listener: Listener = loopback,
  disk: { text: string | null; readonly error?: Error } = { text: null },
) {
  const { log, lines } = capturedLog();
  const file = {
    read: () => (disk.error ? Promise.reject(disk.error) : Promise.resolve(disk.text)),
    write: (text: string) => Promise.resolve(void (disk.text = text)),
  };
  const first = new FirstOperator(file, log);
  await first.load(listener);
  return { first, disk, lines, code: first.code ?? "" };
}

describe("the first operator", () => {
  it("is made once, with the code, and outlives a restart; the file holds a hash alone", async () => {
    const { first, disk, code } = await scene();
    expect(code).toMatch(/^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$/);
    expect(await first.make(request(), { ...anna, code: code.toLowerCase().replace("-", " ") })).toBeNull();
    expect(first.complete(loopback).users).toMatchObject([{ username: "anna", role: "admin" }]);
    expect(disk.text).not.toContain(anna.password);
    expect(await first.make(request(), { ...anna, code })).toMatchObject({ status: 403 });
    const next = await scene(loopback, disk);
    expect(next.first.code).toBeNull();
    expect(next.first.complete(loopback).users).toHaveLength(1);
  });

  it.each([
    ["another computer", { remote: "192.0.2.1" }],
    ["a foreign name", { headers: { host: "greenhouse.local:8099" } }],
    ["a proxy", { headers: { "x-forwarded-for": "192.0.2.1" } }],
  ])("is not made for %s, with whatever code", async (_, over) => {
    const { first, code } = await scene();
    expect(first.isOffered(request(over))).toBe(false);
    expect(await first.make(request(over), { ...anna, code })).toMatchObject({ status: 403 });
    expect(first.complete(loopback).users).toEqual([]);
  });

  it("has ten tries; then even the right code is none", async () => {
    const { first, code } = await scene();
    const wrong = { ...anna, code: "AAAA-AAA0" };
    for (let tries = 1; tries < 10; tries += 1)
      expect(await first.make(request(), wrong)).toMatchObject({ status: 401 });
    expect(await first.make(request(), wrong)).toMatchObject({ status: 429 });
    expect(await first.make(request(), { ...anna, code })).toMatchObject({ status: 429 });
    expect(first.isOffered(request())).toBe(false);
  });

  it("needs a password that may guard a page which others reach later", async () => {
    const { first, code } = await scene();
    expect(await first.make(request(), { ...anna, password: "short", code })).toMatchObject({ status: 400 });
    expect(first.complete(loopback).users).toEqual([]);
    expect(await first.make(request(), { ...anna, code })).toBeNull();
  });

  it.each([
    ["the configuration names users", { ...loopback, users: [{ ...anna, role: "viewer" as const }] }],
    ["others reach the page", { ...loopback, host: "0.0.0.0" }],
    ["the page is not served", { ...loopback, page: false }],
    ["it is Home Assistant's", { ...loopback, ingress: { ...loopback.ingress, enabled: true } }],
  ])("is not offered where %s", async (_, listener) => {
    const { first } = await scene(listener);
    expect(first.code).toBeNull();
    expect(first.isOffered(request())).toBe(false);
  });

  it.each<[string, { text: string | null; readonly error?: Error }]>([
    ["is torn", { text: "{" }],
    ["holds something else", { text: '[{"username":"anna"}]' }],
    ["cannot be read", { text: null, error: new Error("EIO") }],
  ])(
    "of a file that %s nobody is known: none is offered, and nobody looks without a login",
    async (_, disk) => {
      const { first, lines } = await scene(loopback, disk);
      expect(first.code).toBeNull();
      expect(first.isOffered(request())).toBe(false);
      const listener = first.complete(loopback);
      expect(listener).toMatchObject({ users: [], isClosed: true });
      expect(judge(request(), listener, { find: () => null })).toMatchObject({ role: null });
      expect(lines.join()).toMatch(/put it back from a copy; or remove it and restart/);
      expect(
        await withStoredUsers(loopback, () =>
          disk.error ? Promise.reject(disk.error) : Promise.resolve(disk.text),
        ),
      ).toMatchObject({ isClosed: true });
    },
  );

  it("is gone for good once the configuration names users, also one that is not known", async () => {
    const old = {
      username: "old",
      password: "scrypt:15:8:1:c2FsdHNhbHQ:a2V5a2V5a2V5a2V5a2V5",
      role: "admin",
    };
    const listener = { ...loopback, users: [{ ...anna, role: "viewer" as const }] };
    for (const text of [JSON.stringify([old]), "{"]) {
      const disk = { text };
      const { first } = await scene(listener, disk);
      expect(first.complete(listener).users.map(({ username }) => username)).toEqual(["anna"]);
      await expect.poll(() => disk.text).toBe("[]");
      // http.users is taken out years later.
      const next = await scene(loopback, disk);
      expect(next.first.complete(loopback).users).toEqual([]);
      expect(next.code).not.toBe("");
    }
  });

  it("stays while the users of the configuration may go back, and is back with it", async () => {
    const trial = { isUnderWay: true };
    const disk: { text: string | null } = { text: null };
    const file = {
      read: () => Promise.resolve(disk.text),
      write: (text: string) => Promise.resolve(void (disk.text = text)),
    };
    const { log } = capturedLog();
    const first = new FirstOperator(file, log, () => trial.isUnderWay);
    await first.load(loopback);
    expect(await first.make(request(), { ...anna, code: first.code ?? "" })).toBeNull();
    const named = { ...loopback, users: [{ username: "ben", password: "x", role: "admin" as const }] };
    expect(first.complete(named).users).toMatchObject([{ username: "ben" }]);
    expect(first.complete(loopback).users).toMatchObject([{ username: "anna" }]);
    expect(disk.text).toContain("anna");
    trial.isUnderWay = false;
    first.complete(named);
    expect([disk.text, first.complete(loopback).users]).toEqual(["[]", []]);
  });

  it("is not made where a reload names users while the password is hashed", async () => {
    const disk: { text: string | null } = { text: null };
    const { first, code } = await scene(loopback, disk);
    const making = first.make(request(), { ...anna, code });
    first.complete({ ...loopback, users: [{ ...anna, role: "viewer" as const }] });
    expect(await making).toMatchObject({ status: 403 });
    expect(disk.text).toBeNull();
    expect(first.complete(loopback).users).toEqual([]);
  });

  it("is gone as well where a reload names users, together with the code for another", async () => {
    const disk: { text: string | null } = { text: null };
    const { first, code } = await scene(loopback, disk);
    const listener = { ...loopback, users: [{ ...anna, role: "viewer" as const }] };
    first.complete(listener);
    expect(await first.make(request(), { ...anna, code })).toMatchObject({ status: 403 });
    expect(disk.text).toBeNull();
    const again = await scene(loopback, disk);
    expect(await again.first.make(request(), { ...anna, code: again.code })).toBeNull();
    again.first.complete(listener);
    expect(again.first.complete(loopback).users).toEqual([]);
    await expect.poll(() => disk.text).toBe("[]");
  });
});
