import { chmod, chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/config/load.js";
import { type FileSystem, nodeFileSystem } from "../../src/runtime/file-system.js";
import { SettingsFile } from "../../src/saving/settings-file.js";
import { tempDirectory } from "../journal/support/disk.js";
import { cutAt } from "./cut-disk.js";

const text = `# The houses of the Li family
platform:
  business_url: http://127.0.0.1:1   # in the cellar
  realtime_url: http://127.0.0.1:2
  token: !secret platform_token
http:
  users:
    - { username: anna, password: !secret anna, role: operator }
controllers:
  GH-0001:
    name: East # as on the sign
    actuators:
      roof: { kind: skylight, address: 101 }
`;
const hash = "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const secrets = `# not for others\nplatform_token: secret-one\nanna: ${hash}\n`;

interface Place {
  readonly folder: string;
  readonly file: string;
  readonly settings: SettingsFile;
  /** What happens once, after the file was read. */
  readonly next: { onCheck: (() => Promise<void>) | null };
  readonly read: (name?: string) => Promise<string>;
}

/** Of the computer's clock. */
const time = { begins: Date.UTC(2026, 4, 1) };

async function placed(files?: FileSystem, own = text): Promise<Place> {
  const folder = await tempDirectory();
  const file = join(folder, "config.yaml");
  await writeFile(file, own, { mode: 0o600 });
  await writeFile(join(folder, "secrets.yaml"), secrets, { mode: 0o600 });
  let now = time.begins;
  const next: Place["next"] = { onCheck: null };
  const settings: SettingsFile = new SettingsFile({
    file,
    load: async (reads) => {
      const { onCheck } = next;
      next.onCheck = null;
      await onCheck?.();
      return loadConfiguration(file, { env: {}, readFile: reads });
    },
    env: {},
    dataDir: () => join(folder, "data"),
    now: () => (now += 1_000),
    ...(files !== undefined && { files }),
  });
  return {
    folder,
    file,
    settings,
    next,
    read: (name = "config.yaml") => readFile(join(folder, name), "utf8"),
  };
}

const name = { changes: { "controllers.GH-0001.name": "West" } };

const asRoot = it.runIf(process.getuid?.() === 0);

describe("settings that are saved", () => {
  it("change one place of the file, and nothing else in it", async () => {
    const { settings, read } = await placed();
    const saved = await settings.save(name, null);
    expect(saved).toMatchObject({ saved: true, proposal: { keys: ["controllers.GH-0001.name"] } });
    expect(await read()).toBe(text.replace("name: East #", "name: West #"));
    expect(saved.proposal.difference.split("\n").filter((line) => /^[-+] /.test(line))).toEqual([
      "-    name: East # as on the sign",
      "+    name: West # as on the sign",
    ]);
  });

  it("are not written where nothing changes", async () => {
    const { file, settings } = await placed();
    const before = await stat(file);
    const saved = await settings.save({ changes: { "controllers.GH-0001.name": "East" } }, null);
    expect(saved).toMatchObject({
      saved: true,
      kept: { file: null, secrets: null },
      proposal: { keys: [], difference: "" },
    });
    expect((await stat(file)).ino).toBe(before.ino);
  });

  it("are refused by key, in the words of `check`", async () => {
    const { settings, read } = await placed();
    const changes = {
      "controllers.GH-0001.actuators.roof.kind": "skylite",
      "commands.max_age": "soon",
    };
    expect(await settings.save({ changes: { "no key": 1 } }, null)).toMatchObject({
      saved: false,
      why: "wrong",
      proposal: { errors: { "no key": [expect.stringContaining("is no key")] } },
    });
    expect((await settings.propose({ changes })).errors).toEqual({
      "controllers.GH-0001.actuators.roof.kind": [expect.stringContaining('did you mean "skylight"')],
      "commands.max_age": ["expected a duration such as 500ms, 30s, 5m or 1h, at least 1s"],
    });
    expect(await read()).toBe(text);
  });

  it("are refused where somebody changed the file meanwhile", async () => {
    const { file, settings, read } = await placed();
    const { etag } = await settings.settings();
    await writeFile(file, `${text}# by hand\n`);
    expect(await settings.save(name, etag)).toMatchObject({ saved: false, why: "changed" });
    expect(await read()).toBe(`${text}# by hand\n`);
  });

  it("leave what somebody changes in the file while they are checked", async () => {
    const place = await placed();
    const { settings, file, read } = place;
    const edited = text.replace("East", "North").replace("in the cellar", "in the attic");
    const { etag } = await settings.settings();
    place.next.onCheck = () => writeFile(file, edited);
    expect(await settings.save(name, etag)).toMatchObject({ saved: false, why: "changed" });
    expect(await read()).toBe(edited);
    place.next.onCheck = () => writeFile(file, text);
    expect(await settings.save(name, null)).toMatchObject({ saved: true });
    expect(await read()).toBe(text.replace("name: East #", "name: West #"));
  });

  it("of two people at once, only the first is taken", async () => {
    const { settings, read } = await placed();
    const { etag } = await settings.settings();
    const [one, other] = await Promise.all([
      settings.save(name, etag),
      settings.save({ changes: { "controllers.GH-0001.name": "North" } }, etag),
    ]);
    expect([one.saved, other]).toMatchObject([true, { saved: false, why: "changed" }]);
    expect(await read()).toContain("name: West");
  });

  it("keep owner, mode and a link that leads to the file", async () => {
    const { folder, file, settings } = await placed();
    const elsewhere = join(folder, "elsewhere");
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, "real.yaml"), text);
    await chmod(join(elsewhere, "real.yaml"), 0o640);
    await nodeFileSystem.remove(file);
    await symlink("elsewhere/real.yaml", file);
    expect(await settings.save(name, null)).toMatchObject({ saved: true });
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(await readFile(join(elsewhere, "real.yaml"), "utf8")).toContain("West");
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  it("keep the mark at the begin of a text of Windows", async () => {
    const { settings, read } = await placed(undefined, `\ufeff${text.replaceAll("\n", "\r\n")}`);
    await settings.save(name, null);
    expect(await read()).toBe(`\ufeff${text.replaceAll("\n", "\r\n").replace("East #", "West #")}`);
  });

  it("are not written to a file of another encoding, of which every comment would change", async () => {
    const { settings, file } = await placed();
    const own = Buffer.concat([Buffer.from("# "), Buffer.from([0xce, 0xc2]), Buffer.from(`\n${text}`)]);
    await writeFile(file, own);
    await expect(settings.save(name, null)).rejects.toThrow("not UTF-8");
    expect(await readFile(file)).toEqual(own);
  });

  it("keep the ten newest former files, readable by their owner alone", async () => {
    const { folder, settings } = await placed();
    for (let at = 0; at < 13; at += 1)
      await settings.save({ changes: { "controllers.GH-0001.name": `House ${at}` } }, null);
    const kept = (await readdir(join(folder, "data", "backups"))).toSorted();
    expect(kept).toHaveLength(10);
    expect(await readFile(join(folder, "data", "backups", kept.at(-1) ?? ""), "utf8")).toContain("House 11");
    expect((await stat(join(folder, "data", "backups", kept[0] ?? ""))).mode & 0o777).toBe(0o600);
  });

  asRoot("keep former files and their folder for the user of the bridge, whoever saves", async () => {
    const { folder, file, settings } = await placed();
    const [data, secretsFile] = [join(folder, "data"), join(folder, "secrets.yaml")];
    await mkdir(data);
    await chown(data, 1_234, 1_235);
    for (const one of [file, secretsFile]) await chown(one, 1_236, 1_237);
    await chmod(file, 0o640);
    await settings.save({ changes: { ...name.changes, "platform.token": "secret-two" } }, null);
    const facts = async (path: string) => {
      const { uid, gid, mode } = await stat(path);
      return [uid, gid, (mode & 0o777).toString(8)];
    };
    const backups = join(data, "backups");
    expect(await facts(backups)).toEqual([1_234, 1_235, "700"]);
    const kept = (await readdir(backups)).toSorted();
    expect(await Promise.all(kept.map((one) => facts(join(backups, one))))).toEqual([
      [1_236, 1_237, "640"],
      [1_236, 1_237, "600"],
    ]);
  });

  asRoot.each([
    [0o640, 0o640],
    [0o600, 0o600],
    [0o644, 0o600],
  ])("of mode %i make a new file of secrets for who may read the configuration", async (mode, expected) => {
    const { folder, file, settings } = await placed();
    await nodeFileSystem.remove(join(folder, "secrets.yaml"));
    await chown(file, 1_236, 1_237);
    await chmod(file, mode);
    await settings.save(
      {
        changes: {
          "mqtt.url": "mqtt://nas",
          "mqtt.username": "g",
          "mqtt.password": "x-y-z",
          "platform.token": "secret-two",
          "http.users": null,
        },
      },
      null,
    );
    const { uid, gid, mode: made } = await stat(join(folder, "secrets.yaml"));
    expect([uid, gid, made & 0o777]).toEqual([1_236, 1_237, expected]);
  });

  asRoot("make a new data directory for the owner of the file", async () => {
    const { folder, file, settings } = await placed();
    await chown(file, 1_236, 1_237);
    await settings.save(name, null);
    for (const one of ["data", "data/backups"])
      expect(await stat(join(folder, one))).toMatchObject({ uid: 1_236, gid: 1_237 });
  });

  it("keep the former file also where the clock was set back behind those that are kept", async () => {
    const { folder, settings } = await placed();
    const backups = join(folder, "data", "backups");
    await mkdir(backups, { recursive: true });
    for (let at = 0; at < 10; at += 1)
      await writeFile(join(backups, `config.2030-01-01T00-00-0${at}-000Z.yaml`), "later");
    const saved = await settings.save(name, null);
    expect(saved.saved && (await readFile(saved.kept.file ?? "", "utf8"))).toBe(text);
    expect(await readdir(backups)).toHaveLength(10);
  });

  it.each([
    ["a name of JavaScript", "constructor", { "platform.toString": "x" }],
    [
      "what is no key",
      "__proto__",
      JSON.parse('{ "__proto__": "x", "controllers.GH-0001.name": "West" }') as object,
    ],
  ])("with %s are refused in the words of `check`", async (_, key, changes) => {
    const { settings, read } = await placed();
    const saved = await settings.save({ changes: { ...changes } }, null);
    const typed = await settings.propose({ text: `${text}constructor: 1\ntoString: 2\n` });
    expect([saved.saved, await read(), Object.keys(typed.errors)]).toEqual([
      false,
      text,
      ["constructor", "toString"],
    ]);
    expect(Object.keys(saved.proposal.errors).length, key).toBeGreaterThan(0);
  });

  it("leave a secret alone that stands twice in the file, however its name is written", async () => {
    const own = `${text}mqtt: { url: "mqtt://nas", username: g2m, password: !secret 'platform_token' }\n`;
    const { settings, read } = await placed(undefined, own);
    const saved = await settings.save({ changes: { "mqtt.password": "new-one" } }, null);
    expect(saved.proposal.errors).toEqual({});
    expect(await read("secrets.yaml")).toBe(`${secrets}mqtt_password: new-one\n`);
  });

  it("give a secret another value that a remark names too", async () => {
    const own = text.replace("  token:", "  # before: token: !secret platform_token\n  token:");
    const { settings, read } = await placed(undefined, own);
    await settings.save({ changes: { "platform.token": "secret-two" } }, null);
    expect([await read(), await read("secrets.yaml")]).toEqual([
      own,
      secrets.replace("secret-one", "secret-two"),
    ]);
  });

  it("put a secret into the file of secrets, and its name into the configuration", async () => {
    const { settings, read } = await placed();
    const saved = await settings.save(
      { changes: { "mqtt.url": "mqtt://nas", "mqtt.password": "p#ss: word", "mqtt.username": "g2m" } },
      null,
    );
    expect(saved).toMatchObject({ saved: true, proposal: { secrets: ["mqtt_password"] } });
    expect(await read()).toContain("mqtt:\n  url: mqtt://nas\n");
    expect(await read()).toContain("password: !secret mqtt_password");
    expect(await read("secrets.yaml")).toBe(`${secrets}mqtt_password: "p#ss: word"\n`);
    expect(saved.proposal.difference).not.toContain("p#ss");
  });

  it("say of a warning only what is new, whatever line it moves to", async () => {
    const plain = text.replace("!secret anna", "plain password of anna");
    const { settings } = await placed(undefined, plain);
    const moved = { "controllers.GH-0001.area": "North", "platform.concurrency": 3 };
    expect((await settings.propose({ changes: moved })).warnings).toEqual([]);
    const { warnings } = await settings.propose({ text: plain.replace("secret platform_token", "env NONE") });
    expect(warnings).toEqual([]);
    const another = "    - { username: bob, password: another plain one }\ncontrollers:";
    expect((await settings.propose({ text: plain.replace("controllers:", another) })).warnings).toEqual([
      expect.stringMatching(/^http\.users\[1\]\.password: plain password/),
    ]);
  });

  it.runIf(process.platform !== "win32")(
    "tell of a file that others may read when a secret is put into it, and leave its mode",
    async () => {
      const { folder, file, settings } = await placed();
      const own = join(folder, "secrets.yaml");
      await chmod(own, 0o644);
      expect((await settings.propose(name)).warnings).toEqual([]);
      const { proposal } = await settings.save({ changes: { "platform.token": "secret-two" } }, null);
      expect(proposal.warnings).toEqual([
        `secrets.yaml: other users of this computer can read it: chmod 600 ${own}`,
      ]);
      expect((await stat(own)).mode & 0o777).toBe(0o644);
      await chmod(file, 0o644);
      const typed = text.replace("!secret platform_token", "secret-three");
      expect((await settings.propose({ text: typed })).warnings).toEqual([
        `platform.token: other users of this computer can read the file and this secret in it: chmod 600 ${file}`,
      ]);
    },
  );

  it("give a secret another value where it stands", async () => {
    const { settings, read } = await placed();
    await settings.save({ changes: { "platform.token": "secret-two" } }, null);
    expect(await read()).toBe(text);
    expect(await read("secrets.yaml")).toBe(secrets.replace("secret-one", "secret-two"));
  });

  it("leave a secret alone that another file uses too", async () => {
    const { folder, settings, read } = await placed();
    await writeFile(join(folder, "other.yaml"), "platform: { token: !secret platform_token }\n");
    await settings.save({ changes: { "platform.token": "secret-two" } }, null);
    expect(await read()).toContain("token: !secret platform_token_2 ".trim());
    expect(await read("secrets.yaml")).toBe(`${secrets}platform_token_2: secret-two\n`);
  });

  it("leave the value of a secret alone that a configuration beside it may use which cannot be read", async () => {
    const { folder, settings, read } = await placed();
    await symlink("other.yaml", join(folder, "other.yaml"));
    await settings.save({ changes: { "platform.token": "secret-two" } }, null);
    expect(await read("secrets.yaml")).toBe(`${secrets}platform_token_2: secret-two\n`);
  });

  it("hold a password as a hash, and refuse a weak one", async () => {
    const { settings, read } = await placed();
    const user = (password: string) => ({ username: "Cleo", role: "viewer", password });
    expect(await settings.save({ changes: { "http.users[1]": user("short") } }, null)).toMatchObject({
      saved: false,
      proposal: { errors: { "http.users[1].password": [expect.stringContaining("shorter than 12")] } },
    });
    expect(
      await settings.save({ changes: { "http.users[1]": user("blue-kettle-on-snow") } }, null),
    ).toMatchObject({
      saved: true,
    });
    expect(await read()).toContain(
      "    - { username: Cleo, role: viewer, password: !secret http_cleo_password }\n",
    );
    expect(await read("secrets.yaml")).toMatch(/^http_cleo_password: scrypt:15:8:1:\S+$/m);
  });

  it("leave the one who saves an admin, also where all users are taken out", async () => {
    const { settings } = await placed();
    const given = { "http.users[0].role": "admin", "polling.sensors": "2m" };
    expect(await settings.save({ changes: given }, null, { admin: "anna" })).toMatchObject({ saved: true });
    for (const changes of [{ "http.users": null }, { "http.users[0]": null }, { http: null }])
      expect(await settings.save({ changes }, null, { admin: "anna" })).toMatchObject({
        saved: false,
        proposal: { errors: { "http.users": [expect.stringContaining("no longer be an admin")] } },
      });
    // On the command line nobody of the page saves.
    expect(await settings.save({ changes: { "http.users": null } }, null)).toMatchObject({ saved: true });
    expect(await settings.save(name, null, { admin: "made-at-the-page" })).toMatchObject({ saved: true });
  });

  it("say beforehand why a file cannot be written", async () => {
    const read: FileSystem = {
      ...nodeFileSystem,
      rename: () => Promise.reject(Object.assign(new Error(), { code: "EROFS" })),
    };
    const { settings, read: now } = await placed(read);
    expect(await settings.save(name, null)).toMatchObject({
      saved: false,
      why: "not_writable",
      message: expect.stringContaining("read-only") as string,
    });
    expect(await now()).toBe(text);
  });

  it("never show a secret", async () => {
    const own = text.replace("!secret platform_token", "a-token-in-the-file");
    const { settings } = await placed(undefined, own);
    const shown = await settings.settings();
    expect(shown.text).toBeNull();
    expect(shown.given["platform.token"]).toMatchObject({ from: "file", isSecret: true, line: 5 });
    const { difference } = await settings.propose({
      changes: { "platform.realtime_url": "http://127.0.0.1:3" },
    });
    expect(difference).toContain("token: [hidden]");
    expect(JSON.stringify([shown, difference])).not.toMatch(/a-token-in-the-file|scrypt/);
  });

  it("say where each value comes from", async () => {
    const { settings } = await placed();
    const { given } = await settings.settings();
    expect(given["controllers.GH-0001.name"]).toMatchObject({ value: "East", from: "file", line: 11 });
    expect(given["http.users[0].password"]).toMatchObject({ from: "secret", name: "anna", isSecret: true });
    expect(given["controllers.GH-0001.actuators.roof.address"]).toMatchObject({ value: "101" });
  });

  it("of the whole text are checked and shown as a difference", async () => {
    const { settings, read } = await placed();
    expect((await settings.propose({ text: text.replace("kind:", "kid:") })).errors).not.toEqual({});
    expect(await settings.save({ text: `${text}# the end\n` }, null)).toMatchObject({ saved: true });
    expect(await read()).toBe(`${text}# the end\n`);
  });
});

describe("a power cut while saving", () => {
  it("leaves the old file or the new one at every step, and a configuration that can be read", async () => {
    const changes = {
      "controllers.GH-0001.name": "West",
      "mqtt.url": "mqtt://nas",
      "mqtt.username": "g",
      "mqtt.password": "hunter-two-2",
    };
    const seen = { cuts: 0, old: 0, now: 0 };
    for (let count = 0, isWhole = false; !isWhole && count < 200; count += 1) {
      const { files, calls } = cutAt(count);
      const { settings, file, read } = await placed(files);
      await settings.save({ changes }, null).catch(() => null);
      isWhole = calls() <= count;
      const after = await read();
      const loaded = await loadConfiguration(file, { env: {} });
      expect(loaded.ok ? [] : loaded.problems).toEqual([]);
      seen.cuts += isWhole ? 0 : 1;
      if (after === text) seen.old += 1;
      else {
        expect(after).toContain("name: West");
        expect(after).toContain("password: !secret mqtt_password");
        seen.now += 1;
      }
    }
    expect(seen.cuts).toBeGreaterThan(15);
    expect([seen.old > 10, seen.now > 0]).toEqual([true, true]);
  });
});
