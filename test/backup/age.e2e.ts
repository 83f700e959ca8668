import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startProgram } from "../end-to-end/support/program.js";
import { tempFolder } from "../mqtt-connection/support.js";

/* Backups with a password, and the program age as Debian has it. `AGE` names another one. */

const age = process.env["AGE"] ?? "age";
const password = "blue-kettle-on-snow";

/** It asks for a password at a terminal alone, which `script` gives it. */
const isHere = [
  [age, "--version"],
  ["script", "--version"],
].every(([command = "", word = ""]) => spawnSync(command, [word]).status === 0);
if (!isHere)
  console.log(`NOT RUN: backups opened by age, as there is no ${age} (or no script) on this computer`);

async function byAge(words: readonly string[], folder: string, typed: string): Promise<number | null> {
  const child = spawn("script", ["-qec", [age, ...words].join(" "), "/dev/null"], { cwd: folder });
  child.stdout.on("data", (text: Buffer) => {
    // What is typed before it is asked for is lost.
    if (text.toString("utf8").includes("passphrase")) child.stdin.write(`${typed}\n`);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}

async function backup() {
  const folder = await tempFolder();
  await mkdir(join(folder, "data"));
  const text =
    'platform: { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:2", token: !secret token }\n';
  await writeFile(join(folder, "config.yaml"), text);
  await writeFile(join(folder, "secrets.yaml"), "token: canary-token-0001\n", { mode: 0o600 });
  await writeFile(join(folder, "data", "format"), "3\n");
  const made = startProgram(["backup", "b.tar.gz.age", "--password"], { folder, input: `${password}\n` });
  expect(await made.ended).toMatchObject({ code: 0 });
  return { folder, text };
}

describe.runIf(isHere)("a backup with a password", () => {
  it("is opened by age, and by it alone with that password", async () => {
    const { folder, text } = await backup();
    expect(await byAge(["-d", "-o", "other", "b.tar.gz.age"], folder, "another-kettle")).not.toBe(0);
    await expect(access(join(folder, "other"))).rejects.toThrow();
    expect(await byAge(["-d", "-o", "b.tar.gz", "b.tar.gz.age"], folder, password)).toBe(0);
    const next = await tempFolder();
    expect(spawnSync("tar", ["-xzf", join(folder, "b.tar.gz")], { cwd: next }).status).toBe(0);
    expect(await readFile(join(next, "config.yaml"), "utf8")).toBe(text);
    expect(await readFile(join(next, "secrets.yaml"), "utf8")).toBe("token: canary-token-0001\n");
  }, 120_000);

  it("that age has encrypted again is restored", async () => {
    const { folder, text } = await backup();
    expect(await byAge(["-d", "-o", "b.tar.gz", "b.tar.gz.age"], folder, password)).toBe(0);
    expect(await byAge(["-p", "-o", "again.age", "b.tar.gz"], folder, "green-pot-in-rain")).toBe(0);
    const next = await tempFolder();
    const words = ["restore", join(folder, "again.age"), "--password"];
    const restored = startProgram(words, { folder: next, input: "green-pot-in-rain\n" });
    expect(await restored.ended).toMatchObject({ code: 0 });
    expect(await readFile(join(next, "config.yaml"), "utf8")).toBe(text);
  }, 120_000);
});
