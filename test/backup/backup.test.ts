import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { Decrypter } from "age-encryption";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { pack, unpack } from "../../src/backup/archive.js";
import { backupName } from "../../src/backup/backup-name.js";
import { makeBackup, newestFormat } from "../../src/backup/backup.js";
import { NotRestored, openBackup, refuseOtherData } from "../../src/backup/open-backup.js";
import { dataDirOf } from "../../src/backup/plans.js";
import { carryOut, restore } from "../../src/backup/restore.js";
import { AccountSettings } from "../../src/cli/account-settings.js";
import { loadFleet } from "../../src/config/fleet.js";
import { restoredHere } from "../../src/setup/init/web.js";
import { Speech } from "../../src/terminal/speech.js";
import { greenhouse2mqtt } from "../cli/in-process.js";
import { silentLog } from "../support/builders.js";
import { acquire, stillClock, tempDirectory } from "../journal/support/disk.js";

const text = `# The houses of Anna
platform: { business_url: "https://b.example", realtime_url: "https://r.example", token: !secret token }
mqtt: { url: "mqtt://nas", username: g, password: in-the-file-itself } # typed in a hurry
controllers: { GH-0001: { name: 东棚 } }
`;
const password = "blue-kettle-on-snow";
const now = Date.UTC(2026, 4, 1, 8, 30);

async function bridge() {
  const folder = await tempDirectory();
  const dataDir = join(folder, "data");
  await mkdir(join(dataDir, "journal"), { recursive: true });
  await mkdir(join(dataDir, "backups"));
  await writeFile(join(folder, "config.yaml"), text);
  await writeFile(join(folder, "secrets.yaml"), "token: canary-token-0001\n");
  await writeFile(join(dataDir, "format"), "1\n");
  await writeFile(join(dataDir, "journal", "journal-000000000001.jsonl"), '{"seq":1}\n');
  await writeFile(join(dataDir, "backups", "config.2026.yaml"), "token: canary-token-0000\n");
  await writeFile(join(dataDir, "page-users.json"), "[]");
  await writeFile(join(dataDir, "platform-session.json"), "canary-token-0002");
  await writeFile(join(dataDir, "sessions.json"), "[]");
  await writeFile(join(dataDir, "bridge.lock"), "{}");
  const made = (given: string | null) =>
    makeBackup(
      { file: join(folder, "config.yaml"), named: [], dataDir },
      { version: "0.2.0", now, password: given },
    );
  return { folder, dataDir, made };
}

const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

describe("a backup", () => {
  it("without a password holds no secret, wherever it stands, and says which are to be given again", async () => {
    const { made } = await bridge();
    const bytes = await made(null);
    const tar = gunzipSync(bytes).toString("utf8");
    expect(tar).not.toMatch(/canary|in-the-file-itself/);
    const { facts, files } = await openBackup(bytes, null);
    expect(facts.secrets_left_out).toEqual(["mqtt_password", "token"]);
    expect(files.map(({ name }) => name)).toEqual([
      "greenhouse2mqtt.json",
      "config.yaml",
      "data/format",
      "data/journal/journal-000000000001.jsonl",
    ]);
    expect(Buffer.from(files[1]?.bytes ?? []).toString()).toBe(
      text.replace("in-the-file-itself", "!secret mqtt_password"),
    );
  });

  it.each([
    ["a literal", "|\n    two words\n    of it\n  username: g"],
    ["a folded one without its end", ">-\n    two words\n    of it\n\n  username: g"],
    ["at the end of the file", "|+\n    two words\n    of it\n\n"],
    ["one behind a comment", "# careful!\n    two words of it\n  username: g"],
    ["an explicit tag", "!!str two words of it\n  username: g"],
    ["an explicit tag and quotes", '!!str   "two words of it" # typed\n  username: g'],
  ])("without a password stays readable where a secret is written as %s", async (_, secret) => {
    const { folder, made } = await bridge();
    await writeFile(join(folder, "config.yaml"), `mqtt:\n  url: mqtt://nas\n  password: ${secret}\n`);
    const { files } = await openBackup(await made(null), null);
    const plain = Buffer.from(files[1]?.bytes ?? []).toString();
    expect(plain).not.toMatch(/two words/);
    expect(plain).toMatch(/^ {2}password: (# careful!\n {4})?!secret mqtt_password( # typed)?$/m);
    expect(parse(plain, { customTags: [{ tag: "!secret", resolve: String }] })).toEqual({
      mqtt: {
        url: "mqtt://nas",
        password: "mqtt_password",
        ...(secret.includes("username") && { username: "g" }),
      },
    });
  });

  it("without a password is not made where a secret cannot be taken out of the text", async () => {
    const { folder, made } = await bridge();
    const odd = "mqtt:\n  url: mqtt://nas\n  password: !!str # here\n    two words\n";
    await writeFile(join(folder, "config.yaml"), odd);
    await expect(made(null)).rejects.toThrow("give the backup a password");
    await expect(made(password)).resolves.toBeDefined();
  });

  it.each([[null], [password]])(
    "holds the configuration, secrets and files that it names at most once, also where they lie in the data (password: %s)",
    async (given) => {
      const { folder, dataDir } = await bridge();
      for (const name of ["config.yaml", "secrets.yaml"])
        await rename(join(folder, name), join(dataDir, name));
      await writeFile(join(dataDir, "token.txt"), "canary-token-0003");
      await symlink(dataDir, join(folder, "link"));
      const file = join(folder, "link", "config.yaml");
      await writeFile(join(dataDir, "secrets.yaml.bak"), "token: canary-token-0004\n");
      const named = [join(folder, "link", "token.txt"), join(folder, "nowhere")];
      const bytes = await makeBackup({ file, named, dataDir }, { version: "0.2.0", now, password: given });
      const { files } = await openBackup(bytes, given);
      const names = files.map(({ name }) => name);
      const ofData = ["data/format", "data/journal/journal-000000000001.jsonl"];
      if (given === null) {
        expect(names).toEqual(["greenhouse2mqtt.json", "config.yaml", ...ofData]);
        expect(gunzipSync(bytes).toString("utf8")).not.toMatch(/canary|in-the-file-itself/);
      } else {
        expect(names).toEqual(expect.arrayContaining(["config.yaml", "secrets.yaml", ...ofData]));
        for (const name of ["config.yaml", "secrets.yaml", "token.txt"])
          expect(names).not.toContain(`data/${name}`);
      }
    },
  );

  it("holds no earlier backup, and nothing that a restore is about", async () => {
    const { dataDir, made } = await bridge();
    const other = ["restoring", "bridge.tar.gz.age", backupName(now, false), backupName(now, true)];
    for (const name of other) await writeFile(join(dataDir, name), "x");
    const names = (await openBackup(await made(password), password)).files.map(({ name }) => name);
    expect(names.filter((name) => other.includes(name.slice("data/".length)))).toEqual([]);
  });

  it("with a password is whole, and what age itself opens", async () => {
    const { folder, made } = await bridge();
    const bytes = await made(password);
    expect(Buffer.from(bytes).toString("latin1")).not.toContain("canary");
    const decrypter = new Decrypter();
    decrypter.addPassphrase(password);
    const names = (await unpack(await decrypter.decrypt(bytes))).map(({ name }) => name);
    expect(names).toContain("secrets.yaml");
    expect(names).not.toContain("data/sessions.json");
    const next = await tempDirectory();
    await restore(await openBackup(bytes, password), join(next, "config.yaml"), join(next, "data"));
    for (const name of ["config.yaml", "secrets.yaml", "data/journal/journal-000000000001.jsonl"])
      expect(await readFile(join(next, name), "utf8")).toBe(await readFile(join(folder, name), "utf8"));
    expect(await namesIn(next)).not.toContain("data/restoring");
  });

  it.each([
    ["another password", "another-kettle-on-snow", "another password"],
    ["no password", null, "has a password"],
  ] as const)("is not opened with %s", async (_, given, why) => {
    const { made } = await bridge();
    await expect(openBackup(await made(password), given)).rejects.toThrow(why);
  });

  it("that is damaged anywhere is refused, and nothing is written", async () => {
    const { made } = await bridge();
    const bytes = Buffer.from(await made(password));
    for (const at of [200, Math.floor(bytes.length / 2), bytes.length - 1]) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 1;
      await expect(openBackup(other, password)).rejects.toThrow("damaged");
    }
    await expect(openBackup(Buffer.from("hello"), null)).rejects.toThrow("no backup");
    await expect(openBackup(bytes.subarray(0, 400), password)).rejects.toThrow();
  });

  it.each([["../config.yaml"], ["/etc/passwd"], ["data/../../x"], ["data/a\\b"], ["C:/x"]])(
    "never writes outside of its folder: %s",
    async (name) => {
      const archive = await pack([{ name, bytes: Buffer.from("x") }], now);
      await expect(openBackup(archive, null)).rejects.toThrow("which no backup has");
    },
  );

  it("overwrites nothing", async () => {
    const { folder, made } = await bridge();
    const opened = await openBackup(await made(password), password);
    await expect(restore(opened, join(folder, "config.yaml"), join(folder, "data"))).rejects.toThrow(
      "exists",
    );
    const next = await tempDirectory();
    await expect(restore(opened, join(next, "config.yaml"), join(folder, "data"))).rejects.toThrow(
      "holds data",
    );
    await writeFile(join(next, "secrets.yaml"), "other: 1\n");
    await expect(restore(opened, join(next, "config.yaml"), join(next, "data"))).rejects.toThrow(
      "something else",
    );
    expect(await namesIn(next)).toEqual(["secrets.yaml"]);
  });

  it("that holds no data says so", async () => {
    const folder = await tempDirectory();
    const own =
      'platform: { business_url: "https://b.example", realtime_url: "https://r.example", token: t }\n';
    const file = join(folder, "config.yaml");
    await writeFile(file, own, { mode: 0o600 });
    const { code, err } = await greenhouse2mqtt(["backup", join(folder, "b.tar.gz"), "-c", file]);
    expect([code, err]).toEqual([
      0,
      expect.stringContaining(
        `there is no ${join(folder, "data")}: the backup holds the configuration alone\n`,
      ),
    ]);
  });

  describe.runIf(process.getuid?.() === 0)("by a user who may not read or write all", () => {
    const place = async () => {
      const made = await bridge();
      const { folder } = made;
      await chown(folder, 1_234, 1_234);
      for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
        await chown(join(entry.parentPath, entry.name), 1_234, 1_234);
      for (const name of ["config.yaml", "secrets.yaml"]) await chmod(join(folder, name), 0o600);
      const out = join(folder, "b.tar.gz");
      // What commands load late is loaded by root.
      await called(["backup", join(folder, "none", "x"), "-c", join(folder, "config.yaml")]);
      const work = async (given: string | null, to = out) => {
        process.seteuid?.(1_234);
        try {
          return await called(["backup", to, "-c", join(folder, "config.yaml")], given);
        } finally {
          process.seteuid?.(0);
        }
      };
      return { ...made, out, work };
    };

    it.each(["backups", "backups/config.2026.yaml"])(
      "leaves out former copies and says which: %s",
      async (name) => {
        const { dataDir, out, work } = await place();
        await chown(join(dataDir, name), 0, 0);
        await chmod(join(dataDir, name), 0o600);
        const { code, err } = await work(password);
        expect([code, err]).toEqual([
          0,
          `left out, as this user may not read it: ${join(dataDir, name)}; it is only a former copy\n`,
        ]);
        const { files } = await openBackup(await readFile(out), password);
        expect(files.map((file) => file.name)).toContain("data/journal/journal-000000000001.jsonl");
        expect(files.filter((file) => file.name.includes("backups"))).toEqual([]);
        await rm(out);
        expect(await work(null)).toMatchObject({ code: 0, err: "" });
      },
    );

    it.each(["journal", "journal/journal-000000000001.jsonl", "format"])(
      "is refused in one sentence where %s cannot be read",
      async (name) => {
        const { dataDir, work } = await place();
        await chown(join(dataDir, name), 0, 0);
        await chmod(join(dataDir, name), 0o600);
        const { code, err } = await work(null);
        expect([code, err]).toEqual([
          2,
          `${join(dataDir, name)} cannot be read by this user: run this as the user of the bridge, or give it that file (chown)\n`,
        ]);
      },
    );

    it("leaves out former copies of an account in the backup of a fleet", async () => {
      const { home, file } = await fleet();
      await chown(home, 1_234, 1_234);
      for (const entry of await readdir(home, { withFileTypes: true, recursive: true }))
        await chown(join(entry.parentPath, entry.name), 1_234, 1_234);
      const closed = join(home, "data", "north", "backups");
      await chown(closed, 0, 0);
      await chmod(closed, 0o700);
      process.seteuid?.(1_234);
      const ended = await called(["backup", join(home, "b.tar.gz"), "-c", file], password).finally(() =>
        process.seteuid?.(0),
      );
      expect(ended.code).toBe(0);
      expect(ended.err).toContain(`left out, as this user may not read it: ${closed};`);
    });

    it("is refused in one sentence where its folder is closed to it", async () => {
      const { work } = await place();
      const folder = await tempDirectory();
      await chmod(folder, 0o755);
      const out = join(folder, "b.tar.gz");
      expect(await work(null, out)).toMatchObject({
        code: 2,
        err: `${out} cannot be written, as this user may not write into ${folder}; name a file in another folder\n`,
      });
    });
  });

  it("is called by what it is and when it was made", () => {
    expect([backupName(now, true), backupName(now, false)]).toEqual([
      "greenhouse2mqtt-2026-05-01-08-30.tar.gz.age",
      "greenhouse2mqtt-2026-05-01-08-30.tar.gz",
    ]);
  });
});

describe("a restore", () => {
  const place = async () => {
    const { made } = await bridge();
    const folder = await tempDirectory();
    const [file, dataDir] = [join(folder, "config.yaml"), join(folder, "data")];
    const opened = await openBackup(await made(password), password);
    return { opened, folder, file, dataDir, work: () => restore(opened, file, dataDir) };
  };
  const restoredNames = ["config.yaml", "data/backups/config.2026.yaml", "data/format"];

  it("writes into the folder for data that is there, also by a link and where the folder above is closed", async () => {
    const { folder, dataDir, work } = await place();
    await mkdir(join(folder, "above", "disk", "lost+found"), { recursive: true });
    await symlink(join(folder, "above", "disk"), dataDir);
    const { ino } = await stat(dataDir);
    await chmod(join(folder, "above"), 0o500);
    await work();
    await chmod(join(folder, "above"), 0o700);
    expect((await lstat(dataDir)).isSymbolicLink()).toBe(true);
    expect((await stat(dataDir)).ino).toBe(ino);
    expect(await readFile(join(dataDir, "format"), "utf8")).toBe("1\n");
    expect(await readdir(join(folder, "above"))).toEqual(["disk"]);
  });

  it("gives files to the group of a folder that hands them to it, as init does", async () => {
    const { folder, dataDir, work } = await place();
    await mkdir(dataDir);
    for (const one of [folder, dataDir]) await chmod(one, 0o2750);
    await work();
    for (const name of ["config.yaml", "secrets.yaml", "data/format"])
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o640);
  });

  it.runIf(process.getuid?.() === 0)("by root leaves the data to whoever the folder is of", async () => {
    const { dataDir, work } = await place();
    await mkdir(dataDir);
    await chown(dataDir, 12_345, 12_346);
    await work();
    for (const name of ["format", "journal", "journal/journal-000000000001.jsonl"]) {
      const { uid, gid } = await stat(join(dataDir, name));
      expect([uid, gid]).toEqual([12_345, 12_346]);
    }
  });

  it("says in a sentence why the disk does not take it", async () => {
    const { opened, folder } = await place();
    await writeFile(join(folder, "file"), "");
    const failed = restore(opened, join(folder, "config.yaml"), join(folder, "file", "data"));
    await expect(failed).rejects.toThrow(NotRestored);
    await expect(failed).rejects.toThrow("it cannot be used (ENOTDIR)");
    const kept = restore(opened, join(folder, "config.yaml"), "/proc/greenhouse2mqtt");
    await expect(kept).rejects.toThrow(NotRestored);
  });

  it("goes on where a cut has left its own files, and clears away what was half written", async () => {
    const { folder, file, dataDir, work } = await place();
    await work();
    await rm(file);
    await writeFile(join(dataDir, "restoring"), "");
    await rm(join(dataDir, "format"));
    for (const path of [join(dataDir, "restoring"), join(dataDir, "format"), file])
      await writeFile(`${path}.0123456789ab.tmp`, "1");
    await work();
    expect(await namesIn(folder)).toEqual(expect.arrayContaining(restoredNames));
    expect((await namesIn(folder)).filter((name) => /restoring|tmp/.test(name))).toEqual([]);
  });

  it("begins where a cut came before its mark", async () => {
    const { folder, dataDir, work } = await place();
    await mkdir(dataDir);
    await writeFile(join(dataDir, "restoring.0123456789ab.tmp"), "");
    await work();
    expect((await namesIn(folder)).filter((name) => /restoring/.test(name))).toEqual([]);
  });

  it.each([
    ["changed", "journal/journal-000000000001.jsonl"],
    ["made", "journal/journal-000000000002.jsonl"],
    ["half written", "journal/journal-000000000002.jsonl.0123456789ab.tmp"],
  ])("never touches data that a bridge has %s since, whatever mark is there", async (_, name) => {
    const { file, dataDir, work } = await place();
    await work();
    await rm(file);
    await writeFile(join(dataDir, "restoring"), "");
    await writeFile(join(dataDir, name), "live");
    await expect(work()).rejects.toThrow("holds data already");
    expect(await readFile(join(dataDir, name), "utf8")).toBe("live");
  });

  it("is over for a bridge that starts: its mark goes", async () => {
    const dataDir = await tempDirectory();
    await writeFile(join(dataDir, "restoring"), "");
    await acquire(dataDir);
    expect(await readdir(dataDir)).not.toContain("restoring");
  });

  it("puts data into the folder of the configuration, beside the backup itself, where that is their place", async () => {
    const { opened, folder, file } = await place();
    await writeFile(join(folder, "b.tar.gz.age"), "");
    await writeFile(join(folder, "secrets.yaml"), "token: canary-token-0001\n");
    const former = { name: "data/config.yaml", bytes: Buffer.from("of an older backup") };
    await restore({ ...opened, files: [former, ...opened.files] }, file, folder);
    expect(await readFile(file, "utf8")).toBe(text);
    expect(await readFile(join(folder, "format"), "utf8")).toBe("1\n");
  });

  const opened = (configuration: string) => ({
    facts: {
      ...{ format: 1, of: "bridge" as const, version: "0.2.0", made_at: "" },
      ...{ secrets_left_out: [], account_secrets_left_out: [] },
    },
    files: [{ name: "config.yaml", bytes: Buffer.from(configuration) }],
  });

  it.each([
    ["", "/srv/g/data"],
    ["data_dir: .", "/srv/g"],
    ["data_dir: ./kept # here", "/srv/g/kept"],
    ["data_dir: /var/lib/greenhouse2mqtt", "/var/lib/greenhouse2mqtt"],
    ["data_dir: !env PLACE", "/srv/g/named"],
  ])("takes the place of the data from its configuration: %s", (configuration, folder) => {
    expect(dataDirOf(opened(configuration), "/srv/g/config.yaml", { PLACE: "named" })).toBe(folder);
  });

  it.each([
    ["data_dir: /etc/cron.d", "--data-dir /etc/cron.d"],
    ["data_dir: ..", "--data-dir /srv "],
    ["data_dir: ../g2", "--data-dir /srv/g2"],
    ["data_dir: !env PLACE", "--data-dir /root/.ssh"],
    ["data_dir: !env NOWHERE", "NOWHERE"],
    ["data_dir: !secret place", "place"],
  ])(
    "asks where the data go when the backup leads elsewhere or does not say it: %s",
    (configuration, named) => {
      const asked = () => dataDirOf(opened(configuration), "/srv/g/config.yaml", { PLACE: "/root/.ssh" });
      expect(asked).toThrow(NotRestored);
      expect(asked).toThrow(named);
      expect(asked).toThrow("--data-dir");
    },
  );
});

describe("an archive", () => {
  it("gives back what was packed, names in every script and long ones too", async () => {
    const part = fc
      .string({ minLength: 1, maxLength: 40, unit: "grapheme" })
      .map((name) => name.replace(/[/\\:\p{C}\p{Zl}\p{Zp}]/gu, "_"))
      .filter((name) => Buffer.byteLength(name) < 90 && name.isWellFormed() && !/^\.*$/.test(name));
    const file = fc.record({
      name: fc.array(part, { minLength: 1, maxLength: 2 }).map((parts) => parts.join("/")),
      bytes: fc.uint8Array({ maxLength: 2_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 5 }), async (files) => {
        const read = await unpack(await pack(files, now));
        expect(read.map(({ name, bytes }) => [name, [...bytes]])).toEqual(
          files.map(({ name, bytes }) => [name, [...bytes]]),
        );
      }),
      { numRuns: 50 },
    );
  });

  it("that is cut is refused", async () => {
    const tar = gunzipSync(await pack([{ name: "a", bytes: Buffer.alloc(2_000, 1) }], now));
    await expect(unpack(gzipSync(tar.subarray(0, 1_200)))).rejects.toThrow("in the middle");
    await expect(unpack(gzipSync(Buffer.alloc(700, 7)))).rejects.toThrow("damaged");
  });
});

describe("a backup of another version", () => {
  const bytesOf = (facts: object, more: Readonly<Record<string, string>> = {}) =>
    pack(
      Object.entries({
        "greenhouse2mqtt.json": JSON.stringify(facts),
        "config.yaml": "mirror: all\n",
        ...more,
      }).map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
      now,
    );
  const first = {
    format: 1,
    version: "0.1.0",
    made_at: "2026-01-01T00:00:00.000Z",
    secrets_left_out: ["token"],
  };

  it("is read where it is an older one: the first format is that of a bridge", async () => {
    const { facts } = await openBackup(await bytesOf(first), null);
    expect(facts).toEqual({ ...first, of: "bridge", account_secrets_left_out: [] });
  });

  it.each([
    [
      newestFormat + 1,
      "9.1.0",
      "of a newer version (9.1.0, format 3; this one knows up to 2): install that version",
    ],
    [0, "0.0.9", "of a version before the first release (0.0.9, format 0): restore it with that version"],
  ])("is refused with what helps where its format is %i", async (format, version, why) => {
    await expect(
      openBackup(await bytesOf({ ...first, format, version, new_field: {} }), null),
    ).rejects.toThrow(why);
  });

  it.each([
    ["4", "of a newer version (0.1.0): install that version"],
    ["2", "of a version before the first release (0.1.0), which this one does not read"],
  ])(
    "is refused where its data are of another format than this version starts with: %s",
    async (format, why) => {
      for (const name of ["data/format", "data/north/format"]) {
        const opened = await openBackup(await bytesOf(first, { [name]: `${format}\n` }), null);
        expect(() => refuseOtherData(opened, 3)).toThrow(NotRestored);
        expect(() => refuseOtherData(opened, 3)).toThrow(why);
        expect(() => refuseOtherData(opened, Number(format))).not.toThrow();
      }
    },
  );
});

const own = (more = "") => `platform:
  business_url: https://b.example
  realtime_url: https://r.example
  token: !secret token
${more}`;

/** Two accounts of which each has a secret of its own and one in common, and a third without a file of data. */
async function fleet() {
  const home = await tempDirectory();
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text, { mode: 0o600 });
  };
  const file = join(home, "fleet.yaml");
  await write(
    "fleet.yaml",
    `accounts: ./accounts # one file each
defaults: { mqtt: { url: mqtt://nas, username: g, password: canary-of-defaults } }
http: { users: [{ username: anna, password: !secret anna, role: admin }] }
`,
  );
  await write("secrets.yaml", "anna: canary-of-anna\n");
  await write(
    "accounts/north.yaml",
    own("mqtt: { password: canary-plain-north }\n").replace("!secret token", "!secret north"),
  );
  await write(
    "accounts/east.yaml",
    own("mqtt: { password: !secret broker }\n").replace("!secret token", "canary-plain-east"),
  );
  await write(
    "accounts/west.yaml",
    own("mqtt: { password: !secret broker }\n").replace("!secret token", "!secret west"),
  );
  await write("accounts/secrets.yaml", "north: canary-north # of Anna\nwest: 0012\nbroker: canary-broker\n");
  for (const account of ["north", "east"]) {
    await write(`data/${account}/format`, "3\n");
    await write(`data/${account}/journal/journal-000000000001.jsonl`, `{"of":"${account}"}\n`);
    await write(`data/${account}/backups/secrets.2026-01-01T00-00-00-000Z.yaml`, "north: canary-former\n");
    await write(`data/${account}/platform-session.json`, `canary-session-${account}`);
    await write(`data/${account}/bridge.lock`, "{}");
  }
  await write("data/page-users.json", "[]");
  await write("data/sessions.json", "[]");
  await write("data/fleet-status.json", "{}");
  return { home, file, write };
}

/** The program, with what is piped into it. */
const called = async (words: readonly string[], given: string | null = null) => {
  const input = given === null ? [] : ["--password"];
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin");
  if (given !== null)
    Object.defineProperty(process, "stdin", { value: Readable.from([`${given}\n`]), configurable: true });
  try {
    return await greenhouse2mqtt([...words, ...input]);
  } finally {
    if (stdin !== undefined) Object.defineProperty(process, "stdin", stdin);
  }
};

const openedAt = async (file: string, given: string | null) => openBackup(await readFile(file), given);

describe("a fleet", () => {
  it("is one file, without any secret where it has no password, and says which are to be given again in which file", async () => {
    const { home, file } = await fleet();
    const out = join(home, "b.tar.gz");
    const { code, err } = await called(["backup", out, "-c", file]);
    expect([code, err]).toEqual([0, ""]);
    expect(gunzipSync(await readFile(out)).toString("utf8")).not.toMatch(/canary/);
    const { facts, files } = await openedAt(out, null);
    expect(facts).toMatchObject({
      ...{ format: 2, of: "fleet", secrets_left_out: ["anna", "defaults_mqtt_password"] },
      account_secrets_left_out: ["broker", "east_platform_token", "north", "north_mqtt_password", "west"],
    });
    expect(files.map(({ name }) => name)).toEqual([
      ...["greenhouse2mqtt.json", "fleet.yaml"],
      ...["accounts/east.yaml", "data/east/format", "data/east/journal/journal-000000000001.jsonl"],
      ...["accounts/north.yaml", "data/north/format", "data/north/journal/journal-000000000001.jsonl"],
      "accounts/west.yaml",
    ]);
  });

  it("goes to another computer under a password, and is whole there", async () => {
    const { home, file } = await fleet();
    const out = join(home, "b.tar.gz.age");
    expect(await called(["backup", out, "-c", file], password)).toMatchObject({ code: 0, err: "" });
    const next = await tempDirectory();
    const to = join(next, "fleet.yaml");
    const { code, out: said } = await called(["restore", out, "-c", to], password);
    expect([code, said]).toEqual([0, expect.stringContaining(`${to} and its data are restored`)]);
    const wanted = (await namesIn(home)).filter(
      (name) => !/^b\.tar|sessions\.json|fleet-status|bridge\.lock/.test(name),
    );
    expect(await namesIn(next)).toEqual(wanted);
    for (const name of wanted)
      expect(await readFile(join(next, name), "utf8")).toBe(await readFile(join(home, name), "utf8"));
    expect((await loadFleet(to, { env: {} })).problems).toEqual([]);
    expect(await called(["restore", out, "-c", to], password)).toMatchObject({ code: 2 });
  });

  it.each(["other.yml", "north.yml", "Other One.yaml"])(
    "is not restored where its accounts would have one more: %s",
    async (name) => {
      const { home, file } = await fleet();
      const out = join(home, "b.tar.gz");
      expect(await called(["backup", out, "-c", file])).toMatchObject({ code: 0 });
      const next = await tempDirectory();
      await mkdir(join(next, "accounts"));
      const other = join(next, "accounts", name);
      await writeFile(other, "");
      const { code, err } = await called(["restore", out, "-c", join(next, "fleet.yaml")]);
      expect([code, err]).toEqual([2, expect.stringContaining(`${other} is not in the backup`)]);
      expect(await namesIn(next)).toEqual([`accounts/${name}`]);
    },
  );

  it("with a mistake in the file of an account is not packed, as nobody knows where its data are", async () => {
    const { home, file, write } = await fleet();
    await write("accounts/west.yaml", "platform: [");
    const { code, err } = await called(["backup", join(home, "b.tar.gz"), "-c", file]);
    expect([code, err]).toEqual([2, expect.stringContaining("west.yaml:1:")]);
  });

  it.each([
    ["accounts: /srv/others", "according to its file the accounts of this fleet are in /srv/others"],
    ["data_dir: /etc/cron.d", "--data-dir /etc/cron.d"],
  ])("that leads elsewhere is restored only where somebody says so: %s", async (more, why) => {
    const text = more.startsWith("accounts") ? more : `accounts: ./accounts\n${more}`;
    const facts = { format: 2, of: "fleet", version: "0.2.0", made_at: "", secrets_left_out: [] };
    const files = {
      "greenhouse2mqtt.json": JSON.stringify(facts),
      "fleet.yaml": text,
      "accounts/a.yaml": "",
    };
    const bytes = await pack(
      Object.entries(files).map(([name, one]) => ({ name, bytes: Buffer.from(one) })),
      now,
    );
    const folder = await tempDirectory();
    await writeFile(join(folder, "b.tar.gz"), bytes);
    const { code, err } = await called([
      "restore",
      join(folder, "b.tar.gz"),
      "-c",
      join(folder, "fleet.yaml"),
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
    expect(await readdir(folder)).toEqual(["b.tar.gz"]);
  });
});

describe("an account of a fleet", () => {
  const packed = async (account: string, given: string | null) => {
    const { home, file, write } = await fleet();
    const out = join(home, "b.tar.gz");
    const { code, err } = await called(["backup", out, "-c", file, "--account", account], given);
    expect([code, given === null ? err : ""]).toEqual([0, ""]);
    return { home, file, write, out, opened: await openedAt(out, given) };
  };

  it("has a backup of what is its own: no other account, no secret of others or in common, nothing of the fleet", async () => {
    const { opened, out } = await packed("west", password);
    expect(opened.facts).toMatchObject({
      format: 2,
      of: "account",
      account: "west",
      account_secrets_left_out: ["broker"],
    });
    expect(opened.files.map(({ name }) => name)).toEqual([
      ...["greenhouse2mqtt.json", "accounts/west.yaml", "accounts/secrets.yaml"],
    ]);
    expect(Buffer.from(opened.files[2]?.bytes ?? []).toString()).toBe("west: 0012\n");
    expect((await readFile(out)).toString("latin1")).not.toContain("canary");
  });

  it("has in it neither secrets without a password nor former files of everybody's secrets with one", async () => {
    const plain = await packed("north", null);
    expect(gunzipSync(await readFile(plain.out)).toString("utf8")).not.toMatch(/canary/);
    expect(plain.opened.facts.account_secrets_left_out).toEqual(["north", "north_mqtt_password"]);
    const { opened } = await packed("north", password);
    const texts = opened.files
      .map(({ name, bytes }) => `${name} ${Buffer.from(bytes).toString()}`)
      .join("\n");
    expect(texts).toMatch(/canary-north/);
    expect(texts).toMatch(/canary-session-north/);
    expect(texts).not.toMatch(/canary-(?:former|broker|of-|plain-east|session-east)/);
  });

  it("comes back into its fleet: file, data and secrets, beside those of the others", async () => {
    const { home, file, out } = await packed("north", password);
    const secrets = join(home, "accounts", "secrets.yaml");
    await rm(join(home, "accounts", "north.yaml"));
    await rm(join(home, "data", "north"), { recursive: true });
    await writeFile(secrets, "# ours\nwest: 0012\nbroker: canary-broker\n");
    const { code, out: said } = await called(["restore", out, "-c", file], password);
    expect([code, said]).toEqual([
      0,
      expect.stringMatching(/north\.yaml and its data are restored.*SIGHUP/s),
    ]);
    expect(await readFile(secrets, "utf8")).toBe(
      "# ours\nwest: 0012\nbroker: canary-broker\nnorth: canary-north\n",
    );
    expect(await readFile(join(home, "data/north/journal/journal-000000000001.jsonl"), "utf8")).toBe(
      '{"of":"north"}\n',
    );
    expect(await readdir(join(home, "data/north"))).not.toContain("restoring");
    expect((await loadFleet(file, { env: {} })).problems).toEqual([]);
  });

  it.each([
    ["the folder of all configurations", ".."],
    ["the folder of the accounts", "."],
    ["a folder below that of the accounts", "./kept"],
    ["the data of the fleet", "../data"],
    ["the data of another account by a link", "../link/north"],
    ["a folder in the data of another account", "../data/north/journal"],
    ["a folder in the one that another account names", "../others/below"],
    ["the data of the fleet by a link", "../link"],
  ])("has no backup where its data_dir is %s", async (_, dataDir) => {
    const { home, file, write } = await fleet();
    await symlink(join(home, "data"), join(home, "link"));
    await write("others/format", "3\n");
    await write(
      "accounts/east.yaml",
      own(`mqtt: { password: !secret broker }\ndata_dir: ../others\n`).replace("!secret token", "t"),
    );
    const west = await readFile(join(home, "accounts", "west.yaml"), "utf8");
    await write("accounts/west.yaml", `${west}data_dir: ${dataDir}\n`);
    const out = join(home, "b.tar.gz");
    const { code, err } = await called(["backup", out, "-c", file, "--account", "west"]);
    expect([code, err]).toEqual([2, expect.stringContaining("give the account a folder of its own")]);
    expect(await readdir(home)).not.toContain("b.tar.gz");
  });

  it("has its own data in its backup, wherever the fleet is told to have its", async () => {
    const { home, file, write } = await fleet();
    await write("elsewhere/north/format", "3\n");
    await write("own/format", "3\n");
    const west = await readFile(join(home, "accounts", "west.yaml"), "utf8");
    await write("accounts/west.yaml", `${west}data_dir: ../own\n`);
    const namesOf = async (account: string, ...placed: readonly string[]) => {
      const out = join(home, `${account}${placed.join("").length}.tar.gz`);
      expect(await called(["backup", out, "-c", file, "--account", account, ...placed])).toMatchObject({
        code: 0,
      });
      return (await openedAt(out, null)).files.map(({ name }) => name).filter((name) => /^data/.test(name));
    };
    const moved = ["--fleet-data-dir", join(home, "elsewhere")];
    expect(await namesOf("north", ...moved)).toEqual(["data/north/format"]);
    expect(await namesOf("west", ...moved)).toEqual(["data/west/format"]);
    expect(await namesOf("north", "--data-dir", join(home, "own-north"))).toEqual([]);
  });

  it.each([
    [
      "names those that its fleet lacks",
      "north",
      null,
      "west: 0012\nbroker: canary-broker\n",
      [/write north, north_mqtt_password to .*secrets\.yaml/],
      [/other accounts use/],
    ],
    [
      "asks for none that is there already",
      "north",
      null,
      "north: canary-north\nnorth_mqtt_password: p\n",
      [],
      [/not in the backup/, /other accounts use/],
    ],
    [
      "has those looked at that other accounts use",
      "west",
      password,
      "broker: canary-broker\n",
      [/other accounts use broker of .*secrets\.yaml too/],
      [/not in the backup/],
    ],
  ] as const)("says what is left to do about secrets: %s", async (_, account, given, there, told, untold) => {
    const { home, file, out, write } = await packed(account, given);
    await rm(join(home, "accounts", `${account}.yaml`));
    await rm(join(home, "data", account), { recursive: true, force: true });
    await write("accounts/secrets.yaml", there);
    const { code, out: said } = await called(["restore", out, "-c", file], given);
    expect(code).toBe(0);
    for (const sentence of told) expect(said).toMatch(sentence);
    for (const sentence of untold) expect(said).not.toMatch(sentence);
  });

  it("that a browser restores runs by the file of its fleet", async () => {
    const { home, file, out } = await packed("north", null);
    await rm(join(home, "accounts", "north.yaml"));
    const options = { config: file, dataDir: join(home, "kept") };
    const uploaded = { bytes: await readFile(out), password: null, language: "en" };
    const calls: string[] = [];
    const context = { speech: new Speech(), env: {} } as never;
    await restoredHere(uploaded, options, context, (call) => void calls.push(call));
    expect(calls).toEqual([expect.stringMatching(/greenhouse2mqtt fleet -c .*fleet\.yaml$/)]);
  });

  it("leaves a secret alone that somebody saves while its data are written", async () => {
    const folder = await tempDirectory();
    const secrets = join(folder, "secrets.yaml");
    await writeFile(secrets, "west: 1\n");
    class Slow extends Map<string, Uint8Array> {
      override [Symbol.iterator]() {
        writeFileSync(secrets, "west: 1\nsaved: 2\n");
        return super[Symbol.iterator]();
      }
    }
    const data = join(folder, "data");
    await carryOut({
      data: [{ folder: data, files: new Slow([[join(data, "format"), Buffer.from("3\n")]]) }],
      texts: [{ path: join(folder, "north.yaml"), bytes: Buffer.from("") }],
      secrets: { file: secrets, more: new Map([["north", "3"]]) },
    });
    expect(await readFile(secrets, "utf8")).toBe("west: 1\nsaved: 2\nnorth: 3\n");
  });

  it("is not restored beside a file of its name that ends otherwise", async () => {
    const { home, file, out } = await packed("north", null);
    const other = join(home, "accounts", "north.yml");
    await rename(join(home, "accounts", "north.yaml"), other);
    await rm(join(home, "data", "north"), { recursive: true });
    const names = await namesIn(home);
    const { code, err } = await called(["restore", out, "-c", file]);
    expect([code, err]).toEqual([2, expect.stringContaining(`${other} exists and is never overwritten`)]);
    expect(await namesIn(home)).toEqual(names);
  });

  it("comes under another name where one is given", async () => {
    const { home, file, out } = await packed("north", null);
    expect(await called(["restore", out, "-c", file, "--account", "south"])).toMatchObject({
      code: 0,
    });
    expect(await readFile(join(home, "data/south/format"), "utf8")).toBe("3\n");
    expect(await readFile(join(home, "accounts/south.yaml"), "utf8")).toContain("!secret north");
  });

  it.each([
    ["its file is there", null, () => Promise.resolve(), "north.yaml exists and is never overwritten"],
    [
      "there are data of that name",
      null,
      (home: string) => rm(join(home, "accounts", "north.yaml")),
      "holds data already",
    ],
    [
      "a secret of that name has another value",
      password,
      async (home: string) => {
        await rm(join(home, "accounts", "north.yaml"));
        await writeFile(join(home, "accounts", "secrets.yaml"), "north: other\nwest: 0012\nbroker: b\n");
      },
      "has another value for north",
    ],
    [
      "there is no fleet",
      null,
      (home: string) => rm(join(home, "fleet.yaml")),
      "is of the account north of a fleet",
    ],
  ] as const)("is not restored where %s", async (_, given, before, why) => {
    const { home, file, out } = await packed("north", given);
    await before(home);
    await writeFile(join(home, "data/north/format"), "live\n");
    const names = await namesIn(home);
    const { code, err } = await called(["restore", out, "-c", file], given);
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
    expect(await namesIn(home)).toEqual(names);
  });

  it("is named where its page asks for a backup, one at a time, and the fleet is where that asks for all", async () => {
    const { home, file } = await fleet();
    const { fleet: settings } = await loadFleet(file, { env: {} });
    const [, program = ""] = process.argv;
    onTestFinished(() => void (process.argv[1] = program));
    process.argv[1] = join(home, "echo.cjs");
    await writeFile(process.argv[1], "process.stdout.write(JSON.stringify(process.argv.slice(2)))");
    const accountsOf = (more: object) =>
      new AccountSettings({
        settings: { ...(settings ?? expect.fail("a sound fleet")), ...more },
        env: {},
        running: {
          reload: () => Promise.resolve(),
          state: () => undefined,
          goBack: () => false,
          settle: () => undefined,
        },
        clock: stillClock(),
        logOf: () => silentLog,
        restarting: undefined,
      });
    const saidBy = async (more: object, ofFleet: boolean) => {
      const source = accountsOf(more).source("north");
      const wanted = { password: null, fleet: ofFleet, language: "en" } as const;
      const made = await source.backup(wanted, new AbortController().signal);
      return JSON.parse((await buffer(made?.bytes ?? expect.fail("one is made"))).toString()) as unknown;
    };
    const words = ["backup", "-", "--config", file];
    expect(await saidBy({}, false)).toEqual([...words, "--account", "north"]);
    expect(await saidBy({}, true)).toEqual(words);
    const moved = { isMoved: true, data_dir: "/elsewhere" };
    const placed = ["--account", "north", "--fleet-data-dir", "/elsewhere"];
    expect(await saidBy(moved, false)).toEqual([...words, ...placed]);
    expect(await saidBy(moved, true)).toEqual([...words, "--data-dir", "/elsewhere"]);
    const { signal } = new AbortController();
    const plain = { password: null, fleet: false, language: "en" } as const;
    const accounts = accountsOf({});
    const first = await accounts.source("north").backup(plain, signal);
    expect(await accounts.source("east").backup(plain, signal)).toBeNull();
    await buffer(first?.bytes ?? expect.fail("one is made"));
    const next = await accounts.source("east").backup({ ...plain, language: "zh" }, signal);
    expect(next?.remarks).toEqual([]);
    await rm(join(home, "data", "north"), { recursive: true });
    await buffer(next?.bytes ?? expect.fail("there is room for the next one"));
    const last = await accounts.source("north").backup({ ...plain, language: "zh" }, signal);
    expect(last?.remarks).toEqual([expect.stringContaining("没有")]);
    await buffer(last?.bytes ?? expect.fail("one is made"));
  });
});
