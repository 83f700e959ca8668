import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { SettingsDocument } from "../../src/page/protocol.js";
import { may } from "../../src/http/roles.js";
import { foreignReach, settingsRoutes, withMadeUsers } from "../../src/http/settings.js";

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
    [
      "names no other file in quotes",
      { changes: { 'platform."token_file"': "/accounts/south/token" } },
      false,
    ],
    [
      "names no other file in characters of JSON",
      { changes: { 'platform."token\\u005ffile"': "/accounts/south/token" } },
      false,
    ],
    ["names no other file below quoted sections", { changes: { '"mqtt"."tls".ca': "/etc/x" } }, false],
    ["writes nothing that is no key", { changes: { "platform..token_file": "/etc/x" } }, false],
    ["names a place in quotes", { changes: { 'controllers."GH 1".name': "East" } }, true],
    ["names no other folder for its data", { changes: { data_dir: "/etc/greenhouse2mqtt" } }, false],
    ["does not take away the folder of its data", { changes: { data_dir: null } }, false],
    ["opens no port of the account", { changes: { "http.port": 8101 } }, false],
    ["makes no users of the account in a section", { changes: { http: { users: [] } } }, false],
    ["makes none in quotes", { changes: { '"ht\\u0074p".users[0].role': "admin" } }, false],
    ["names no other file in a section", { changes: { mqtt: { tls: { ca: "/etc/x" } } } }, false],
  ] as const)("%s", (_, wanted, isAllowed) => {
    expect(foreignReach(wanted, ofSome) === null).toBe(isAllowed);
    expect(foreignReach(wanted, ofAll)).toBeNull();
  });
});

describe("users who were made at the page", () => {
  const anna = { username: "anna", password: "hash", role: "admin" } as const;
  const asked = { port: { madeUsers: () => [anna] } };
  const source = (given: object) => ({ read: () => Promise.resolve({ given } as SettingsDocument) });

  it.each(["http.users[0].role", 'http."users"[0].role', '"http"."us\\u0065rs"[0]."role"'])(
    "stand in the file before one who is added, however the key is written: %s",
    async (key) => {
      expect(await withMadeUsers({ changes: { [key]: "viewer" } }, source({}), asked)).toEqual({
        changes: { "http.users[0]": anna, "http.users[1].role": "viewer" },
      });
    },
  );

  it.each(["http.host", '"http"."host"'])("stand in it where others reach the page: %s", async (key) => {
    expect(await withMadeUsers({ changes: { [key]: "0.0.0.0" } }, source({}), asked)).toEqual({
      changes: { "http.users[0]": anna, [key]: "0.0.0.0" },
    });
  });

  it.each([
    ["the file names users already", { "http.users[0].role": "viewer" }, { "http.users[0].username": {} }],
    ["nothing is about users", { "polling.sensors": "30s" }, {}],
  ])("are not put into it where %s", async (_, changes, inFile) => {
    expect(await withMadeUsers({ changes }, source(inFile), asked)).toEqual({ changes });
  });

  it("are not put into an account's file at the page of its fleet, whose users are those of all accounts", async () => {
    const changes = { "http.host": "0.0.0.0", "http.users[0].role": "viewer" };
    expect(await withMadeUsers({ changes }, source({}), { port: {} })).toEqual({ changes });
  });
});

describe("a backup", () => {
  const bytes = async function* () {
    try {
      yield Buffer.from("one");
      yield Buffer.from("two");
      await Promise.resolve();
    } finally {
      isMade = false;
    }
  };
  let isMade = false;
  const asked: unknown[] = [];
  const download = (visitor: object = {}, wanted: object = {}, remarks: readonly string[] = []) => {
    const backup = (of: unknown) => {
      asked.push(of);
      if (isMade) return Promise.resolve(null);
      isMade = true;
      return Promise.resolve({ name: "backup", bytes: bytes(), remarks });
    };
    const settings = { backup };
    const request = Object.assign(Readable.from([Buffer.from(JSON.stringify(wanted))]), {
      ...{ method: "POST", url: "/api/settings/backup", headers: { "content-type": "application/json" } },
    });
    return settingsRoutes["/api/settings/backup"]?.answer({
      ...{ request, visitor, port: { listener: () => ({ settings: true }) } },
      ...{ service: { sources: { settings } } },
    } as never);
  };

  it.each([1, 2])(
    "whose download is given up after %i pieces makes room for the next one",
    async (pieces) => {
      const body = (await download())?.body as AsyncGenerator<Uint8Array>;
      expect((await download())?.status).toBe(429);
      for (let at = 0; at < pieces; at += 1) await body.next();
      await body.return(undefined);
      expect((await download())?.status).toBe(200);
      isMade = false;
    },
  );

  it("says what is not in it, in any language", async () => {
    const remarks = ["日志不在此备份中", "there is no data"];
    const answer = await download({}, { language: "zh" }, remarks);
    expect(decodeURIComponent(String(answer?.headers?.["x-remarks"]))).toBe(remarks.join(" "));
    expect(asked.at(-1)).toMatchObject({ language: "zh" });
    await (answer?.body as AsyncGenerator<Uint8Array>).return(undefined);
    expect((await download())?.headers).not.toHaveProperty("x-remarks");
    isMade = false;
  });

  it.each([
    ["an admin of all accounts, the fleet", {}, { fleet: true, password: "x" }, 200],
    ["an admin of all accounts, one of them", {}, {}, 200],
    ["an admin of some accounts, one of them", { accounts: ["north"] }, { password: "x" }, 200],
    ["an admin of some accounts, the fleet", { accounts: ["north"] }, { fleet: true }, 403],
  ])("is given of what is his: %s", async (_, visitor, wanted, status) => {
    asked.length = 0;
    const answer = await download(visitor, wanted);
    if (answer?.status === 200) await (answer.body as AsyncGenerator<Uint8Array>).return(undefined);
    isMade = false;
    const own = { password: null, fleet: false, language: "en", ...wanted };
    expect([answer?.status, asked]).toEqual([status, status === 200 ? [own] : []]);
  });
});
