import { execFileSync } from "node:child_process";
import { chmod, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/config/load.js";
import { formatProblem } from "../../src/settings/problem.js";
import {
  makeDirectories,
  nodeFiles,
  nodeFileSystem,
  readText,
  readTextSync,
} from "../../src/runtime/file-system.js";
import { pem } from "../../src/runtime/sockets.js";
import { takeLastError } from "../../src/status/crash-loop.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { platform, tokenEnv } from "./loading.js";

let folder = "";
beforeEach(async () => {
  folder = await tempFolder();
});

async function lines(name: string): Promise<string[]> {
  const result = await loadConfiguration(join(folder, name), { env: tokenEnv });
  const shown = result.ok ? result.warnings : result.problems;
  return shown.map((problem) => formatProblem(problem).replaceAll(folder, "DIR"));
}

async function write(name: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  await writeFile(join(folder, name), content);
  await chmod(join(folder, name), mode);
}

describe("a file that cannot be read is told so", () =>
  it.each<[string, string | Uint8Array | null, string]>([
    ["config.yaml", null, ": there is no such file; `greenhouse2mqtt init` writes one"],
    ["no/such/config.yaml", null, ": there is no such file; `greenhouse2mqtt init` writes one"],
    ["", null, ": this is a folder; name the file in it"],
    ["config.yaml", Buffer.from([0x61, 0x3a, 0x20, 0xb0, 0x43, 0x0a]), ": not UTF-8 text"],
    ["config.yaml", "#".repeat(4_194_305), ": larger than 4 MiB"],
    ["../../../dev/zero", null, ": this is a pipe, a socket or a device, from which nothing is read"],
  ])("%j", async (name, content, said) => {
    if (content !== null) await write(name, content);
    expect(await lines(name)).toEqual([expect.stringContaining(said)]);
  }));

describe("in a folder whose new files are its group's", () => {
  beforeEach(() => chmod(folder, 0o2750));

  it("what the group may read is no mistake, and what others may read is told with the mode of the folder", async () => {
    await write("config.yaml", platform.replace("!env TOKEN", "!secret t"), 0o640);
    await write("secrets.yaml", "t: one\n", 0o640);
    expect(await lines("config.yaml")).toEqual([]);
    await chmod(join(folder, "secrets.yaml"), 0o644);
    expect(await lines("config.yaml")).toEqual([
      "DIR/secrets.yaml: other users of this computer can read it: chmod 640 DIR/secrets.yaml",
    ]);
  });
});

describe("what never ends is not begun", () => {
  const pipe = (name: string) => execFileSync("mkfifo", [join(folder, name)]);

  it("a pipe that nobody writes to is named and not waited for", async () => {
    pipe("config.yaml");
    expect(await lines("config.yaml")).toEqual([expect.stringMatching(/^DIR\/config.yaml: this is a pipe/)]);
  });

  it("in the place of secrets.yaml too", async () => {
    pipe("secrets.yaml");
    await write("config.yaml", `${platform}mqtt: { username: a, password: !secret mqtt }\n`);
    expect(await lines("config.yaml")).toEqual([expect.stringMatching(/^DIR\/secrets.yaml: this is a pipe/)]);
  });

  it("nor is a pipe read in the place of a token, a certificate or a file of the data directory", async () => {
    pipe("token");
    const path = join(folder, "token");
    const readings = [
      () => nodeFiles.read(path),
      () => pem(path, "mqtt.tls.ca"),
      () => nodeFileSystem.open(path, "r"),
    ];
    for (const read of readings) await expect(read()).rejects.toThrow(/token is a pipe, not a file$/);
    await expect(nodeFileSystem.open(path, "a")).rejects.toMatchObject({ code: "ENXIO" });
    expect(() => readTextSync(path, 10)).toThrow("is a pipe");
    expect(takeLastError(folder)).toBeNull();
  });

  it("nor is more read than there is room for", async () => {
    await write("large", Buffer.alloc(65));
    await expect(readText(join(folder, "large"), 64)).rejects.toMatchObject({ code: "EFBIG" });
    expect(await readText(join(folder, "large"), 65)).toHaveLength(65);
    // Of a file of the kernel the size says nothing.
    expect(await readText("/proc/self/status")).toContain("Threads:");
  });

  it.each(["/proc/none", "/proc/none/deeper/still", "/dev/null/below"])(
    "a folder that cannot be made at %s is told after as many steps as it has folders",
    async (path) => {
      await expect(makeDirectories(path, 0o700)).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:ENOENT|ENOTDIR|EPERM|EACCES)$/) as string,
      });
    },
  );

  it("folders are made with those above them, and those that are there left as they are", async () => {
    const path = join(folder, "a/b/c");
    await makeDirectories(path, 0o700);
    await makeDirectories(path, 0o700);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await write("a/file", "");
    await expect(makeDirectories(join(folder, "a/file"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
  });
});

describe("real files", () => {
  it("4 MiB are read", async () => {
    await write("config.yaml", `${platform}${"#".repeat(4_194_304 - platform.length)}`);
    expect(await lines("config.yaml")).toEqual([]);
  });

  const open =
    "DIR/config.yaml:4:10 platform.token: other users of this computer can read the file and this secret in it: chmod 600 DIR/config.yaml";
  it.each([
    [0o600, []],
    [0o400, []],
    // What root lets a group read was meant to be; so it is with a service's configuration.
    [0o640, process.getuid?.() === 0 ? [] : [open]],
    [0o660, [open]],
    [0o604, [open]],
  ])("mode %o of a file that holds a secret", async (mode, expected) => {
    await write("config.yaml", platform.replace("!env TOKEN", "a-literal-token"), mode);
    expect(await lines("config.yaml")).toEqual(expected);
  });

  it("a file without secrets of its own may be readable for everybody, its secrets.yaml may not", async () => {
    await write("config.yaml", `${platform}mqtt: { username: a, password: !secret mqtt }\n`, 0o644);
    await write("secrets.yaml", "mqtt: bridge-password\n", 0o644);
    expect(await lines("config.yaml")).toEqual([
      "DIR/secrets.yaml: other users of this computer can read it: chmod 600 DIR/secrets.yaml",
    ]);
    await chmod(join(folder, "secrets.yaml"), 0o600);
    expect(await lines("config.yaml")).toEqual([]);
  });

  it("in a sign-in body only what is named like a secret counts, and no hash does", async () => {
    const text = (password: string) =>
      `${platform.replace("token: !env TOKEN", `sign_in: { body: { account: me, password: ${password} } }`)}broker: { users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }\n`;
    await write("config.yaml", text("!env TOKEN"), 0o644);
    expect(await lines("config.yaml")).toEqual([]);
    await write("config.yaml", text("literal"), 0o644);
    expect(await lines("config.yaml")).toHaveLength(1);
  });

  it("paths are absolute, however the file is named", async () => {
    await write(
      "config.yaml",
      `${platform}data_dir: ./data\nmqtt: { url: mqtts://a, tls: { ca: ca.pem } }\n`,
    );
    const named = relative(process.cwd(), join(folder, "config.yaml"));
    const result = await loadConfiguration(named, { env: tokenEnv });
    expect(result).toMatchObject({
      ok: true,
      file: named,
      configuration: { data_dir: join(folder, "data"), mqtt: { tls: { ca: join(folder, "ca.pem") } } },
    });
  });

  it("paths are relative to the folder of the file", async () => {
    await write(
      "config.yaml",
      `${platform.replace("token: !env TOKEN", "token_file: secret/token")}data_dir: /var/lib/x\nmqtt: { url: mqtts://a, tls: { ca: ca.pem } }\n`,
    );
    const result = await loadConfiguration(join(folder, "config.yaml"), { env: {} });
    expect(result).toMatchObject({
      ok: true,
      configuration: {
        platform: { token_file: join(folder, "secret/token") },
        data_dir: "/var/lib/x",
        mqtt: { tls: { ca: join(folder, "ca.pem") } },
      },
    });
  });
});
