import { describe, expect, it } from "vitest";
import type { Listener } from "../../src/http/access.js";
import { Sessions } from "../../src/http/sessions.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

const anna = { username: "anna", password: "a-password-of-hers", role: "operator" } as const;

describe("a login", async () => {
  const hashed = { ...anna, password: await hashPassword(anna.password) };
  const hourMs = 3_600_000;

  const ben = { username: "ben", password: "a-password-of-his", role: "viewer" } as const;

  /** `disk` is the file, which a restart finds. */
  function scene(disk: { text: string | null } = { text: null }, users: Listener["users"] = [hashed, ben]) {
    const clock = new VirtualClock();
    const fate = { write: () => Promise.resolve() };
    const kept = {
      read: () => Promise.resolve(disk.text),
      write: async (text: string) => {
        await fate.write();
        disk.text = text;
      },
    };
    const { log, lines } = capturedLog();
    const sessions = new Sessions({ users: () => users, port: 8099 }, kept, clock, log);
    const login = async (password: string, username = "anna", remote = "10.0.0.1", cookie = "") => {
      const coming = { remote, cookie, isSecure: false };
      const { status, headers } = await sessions.login(username, password, coming);
      return headers?.["set-cookie"]?.[0] ?? status;
    };
    /** What a browser shows that has logged in before. */
    const knownBrowser = async () => {
      const coming = { remote: "10.0.0.1", cookie: "", isSecure: false };
      const { headers } = await sessions.login("anna", anna.password, coming);
      return headers?.["set-cookie"]?.[1]?.split(";")[0] ?? "";
    };
    const cookie = async ({ username, password } = anna as { username: string; password: string }) =>
      String(await login(password, username)).split(";")[0] ?? "";
    const find = (shown: string, isUse = true) => sessions.find(shown, isUse);
    return { clock, disk, fate, lines, sessions, login, knownBrowser, cookie, find };
  }

  it("gives a cookie that no script reads and no other page sends", async () => {
    const { login } = scene();
    expect(await login(anna.password)).toMatch(
      /^greenhouse2mqtt_8099=[\w-]{43}; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
  });

  it("over https gives one that comes back over https alone", async () => {
    const coming = { remote: "10.0.0.1", cookie: "", isSecure: true };
    const { headers } = await scene().sessions.login("anna", anna.password, coming);
    for (const cookie of headers?.["set-cookie"] ?? []) expect(cookie).toMatch(/; SameSite=Strict; Secure$/);
  });

  it("with a wrong password or name tells neither", async () => {
    const { login } = scene();
    expect(await login("wrong")).toBe(401);
    expect(await login(anna.password, "nobody")).toBe(401);
  });

  it("opens a session that ends with 12 hours without use", async () => {
    const { clock, find, cookie } = scene();
    const shown = await cookie();
    await clock.advance(11 * hourMs);
    expect(find(shown)).toMatchObject({ user: "anna", role: "operator" });
    await clock.advance(11 * hourMs);
    expect(find(`other=1; ${shown}`)).not.toBeNull();
    await clock.advance(12.1 * hourMs);
    expect(find(shown)).toBeNull();
  });

  it("opens a session that ends after 7 days, however much it is used", async () => {
    const { clock, find, cookie } = scene();
    const shown = await cookie();
    for (let hours = 0; hours < 160; hours += 10) {
      await clock.advance(10 * hourMs);
      expect(find(shown)).not.toBeNull();
    }
    await clock.advance(9 * hourMs);
    expect(find(shown)).toBeNull();
  });

  it("is over with the logout", async () => {
    const { sessions, find, cookie } = scene();
    const shown = await cookie();
    const visitor = find(shown);
    if (visitor !== null) await sessions.logout(visitor);
    expect(find(shown)).toBeNull();
  });

  it("that is ended is told once the disk has it; where the disk does not take it, it is over here and that is told", async () => {
    const { clock, disk, fate, sessions, find, cookie } = scene();
    const logout = (shown: string) => {
      const visitor = find(shown);
      return visitor === null ? Promise.reject(new Error("no session")) : sessions.logout(visitor);
    };
    const [first, second, third] = [await cookie(), await cookie(), await cookie()];
    let release = (): void => undefined;
    fate.write = () => new Promise((resolve) => (release = resolve));
    const told: number[] = [];
    const ending = logout(first).then(({ status }) => told.push(status));
    await clock.advance(1_000);
    expect([find(first), told]).toEqual([null, []]);
    release();
    await ending;
    expect(told).toEqual([204]);
    fate.write = () => Promise.reject(new Error("ENOSPC"));
    const refused = await logout(second);
    expect(refused.status).toBe(503);
    expect(refused.headers?.["set-cookie"]).toMatch(/Max-Age=0/);
    expect(find(second)).toBeNull();
    // Asked again by itself, until the disk takes it.
    const before = disk.text;
    fate.write = () => Promise.resolve();
    await clock.advance(15_000);
    expect(disk.text).not.toBe(before);
    // And one that hangs holds no answer up for ever.
    fate.write = () => new Promise(() => undefined);
    const hung = logout(third);
    await clock.advance(5_000);
    expect(await hung).toMatchObject({ status: 503 });
  });

  it("waits for its turn after ten wrong ones, from the same place and for the same name alone", async () => {
    const { clock, login } = scene();
    for (let times = 0; times < 10; times += 1) expect(await login("wrong")).toBe(401);
    const late = login(anna.password);
    expect(await login(anna.password, "anna", "10.0.0.2")).toMatch(/^greenhouse2mqtt/);
    await clock.advance(2_000);
    expect(await late).toMatch(/^greenhouse2mqtt/);
  });

  it("of a browser that has logged in before does not wait behind those who guess from the same computer", async () => {
    const { clock, login, knownBrowser } = scene();
    const known = await knownBrowser();
    for (let times = 0; times < 10; times += 1) expect(await login("wrong")).toBe(401);
    const others = Array.from({ length: 40 }, () => login("wrong"));
    expect(await login(anna.password, "anna", "10.0.0.1", known)).toMatch(/^greenhouse2mqtt/);
    // It guesses no faster than others, and is known for its own user alone.
    for (let times = 0; times < 10; times += 1)
      expect(await login("wrong", "anna", "10.0.0.1", known)).toBe(401);
    const late = login(anna.password, "anna", "10.0.0.1", known);
    const other = login(ben.password, "ben", "10.0.0.1", known);
    await clock.advance(2_000);
    expect(await late).toMatch(/^greenhouse2mqtt/);
    expect(await other).toMatch(/^greenhouse2mqtt/);
    await clock.advance(60_000);
    expect(new Set(await Promise.all(others))).toEqual(new Set([401, 429]));
  });

  it("waits up to 30 s behind others, and who gets no turn is told so only when two seconds are over", async () => {
    const { clock, login } = scene();
    for (let times = 0; times < 10; times += 1) expect(await login("wrong")).toBe(401);
    const others = Array.from({ length: 14 }, () => login("wrong"));
    const late = login(anna.password);
    const refused: unknown[] = [];
    void login(anna.password).then((answer) => refused.push(answer));
    await clock.advance(1_900);
    expect(refused).toEqual([]);
    await clock.advance(200);
    expect(refused).toEqual([429]);
    await clock.advance(30_000);
    expect(await late).toMatch(/^greenhouse2mqtt/);
    await Promise.all(others);
  });

  it("that an open page alone shows again and again ends all the same", async () => {
    const { clock, find, cookie } = scene();
    const shown = await cookie();
    for (let hours = 0; hours < 11; hours += 1) {
      await clock.advance(hourMs);
      expect(find(shown, false)).not.toBeNull();
    }
    await clock.advance(1.1 * hourMs);
    expect(find(shown, false)).toBeNull();
  });

  it("more than 20 times ends that one of his own sessions which was not used for longest", async () => {
    // A hash of least cost: two hundred logins are not about that.
    const cheap = "scrypt:1:1:1:YSBzYWx0IG9mIHNpeHRlZW4:doO11bUw20f-BhdBFUMKtkIB31d9C8S92fyWlgNSZVY";
    const { clock, find, cookie } = scene(undefined, [hashed, { ...ben, password: cheap }]);
    const operator = await cookie();
    const first = await cookie(ben);
    const second = await cookie(ben);
    await clock.advance(1_000);
    expect(find(first)).not.toBeNull();
    for (let times = 0; times < 205; times += 1) {
      await clock.advance(1_000);
      find(first);
      await cookie(ben);
    }
    expect([find(operator)?.user, find(first)?.user, find(second)]).toEqual(["anna", "ben", null]);
  });

  it("shows at each request what the user may by now, and what others may stays as it was", async () => {
    const users = [{ ...hashed, accounts: ["north"] }, ben];
    const { find, cookie } = scene(undefined, users);
    const [shown, other] = [await cookie(), await cookie(ben)];
    expect(find(shown)).toMatchObject({ role: "operator", accounts: ["north"] });
    users[0] = { ...hashed, role: "viewer", accounts: ["east"] } as never;
    expect(find(shown)).toMatchObject({ role: "viewer", accounts: ["east"] });
    expect(find(other)).toMatchObject({ user: "ben", role: "viewer", accounts: undefined });
    users.splice(0, 1);
    expect([find(shown), find(other)?.user]).toEqual([null, "ben"]);
  });

  describe("and a restart", () => {
    const restarted = async (disk: { text: string | null }, users?: Listener["users"]) => {
      const next = scene(disk, users);
      await next.sessions.restore();
      return next;
    };

    it("leave the session in force, for the rest of its time", async () => {
      const { clock, disk, sessions, cookie } = scene();
      const shown = await cookie();
      await clock.advance(10 * hourMs);
      await sessions.close();
      const next = await restarted(disk);
      next.clock.setWall(clock.now() + hourMs);
      await next.sessions.restore();
      expect(next.find(shown, false)).toMatchObject({ user: "anna", role: "operator", via: "page:anna" });
      await next.clock.advance(2 * hourMs);
      expect(next.find(shown)).toBeNull();
    });

    it("leave neither cookie nor password on the disk", async () => {
      const { disk, sessions, cookie } = scene();
      const shown = (await cookie()).split("=")[1] ?? "?";
      await sessions.close();
      expect(disk.text).toContain("anna");
      expect(disk.text).not.toContain(shown);
      expect(disk.text).not.toContain(hashed.password);
    });

    it.each<[string, Listener["users"]]>([
      ["a user that there is no more", [ben]],
      ["a user with another password", [{ ...hashed, password: "another-password" }, ben]],
    ])("end the session of %s", async (_, users) => {
      const { disk, sessions, cookie } = scene();
      const shown = await cookie();
      await sessions.close();
      expect((await restarted(disk, users)).find(shown)).toBeNull();
    });

    it("give the role that is configured by now", async () => {
      const { disk, sessions, cookie } = scene();
      const shown = await cookie();
      await sessions.close();
      const next = await restarted(disk, [{ ...hashed, role: "viewer" }]);
      expect(next.find(shown)).toMatchObject({ role: "viewer" });
    });

    it("do not bring back what was logged out, nor sessions of a time ahead", async () => {
      const { clock, disk, sessions, find, cookie } = scene();
      const [shown, other] = [await cookie(), await cookie()];
      const visitor = find(shown);
      if (visitor !== null) await sessions.logout(visitor);
      await sessions.close();
      const next = await restarted(disk);
      expect([next.find(shown), next.find(other)?.user]).toEqual([null, "anna"]);
      const back = scene(disk);
      back.clock.setWall(clock.now() - 24 * hourMs);
      await back.sessions.restore();
      expect(back.find(other)).toBeNull();
    });

    it("with a file that nobody can read begin without sessions, and say so", async () => {
      const next = await restarted({ text: "{" });
      expect(next.lines.filter((line) => line.includes("log in again"))).toHaveLength(1);
      expect(await next.cookie()).not.toBe("");
    });
  });
});
