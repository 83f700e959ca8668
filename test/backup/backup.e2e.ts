import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startProgram } from "../end-to-end/support/program.js";
import { tempFolder } from "../mqtt-connection/support.js";

const text = `platform: { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:2", token: !secret token }
http: false
`;

async function bridge() {
  const folder = await tempFolder();
  await mkdir(join(folder, "data", "journal"), { recursive: true });
  await writeFile(join(folder, "config.yaml"), text);
  await writeFile(join(folder, "secrets.yaml"), "token: canary-token-0001\n", { mode: 0o600 });
  await writeFile(join(folder, "data", "format"), "3\n");
  for (let at = 1; at <= 40; at += 1) {
    const name = `journal-${String(at).padStart(12, "0")}.jsonl`;
    await writeFile(join(folder, "data", "journal", name), '{"seq":1}\n'.repeat(500));
  }
  return folder;
}

/** Two accounts; all data are of the first. */
async function fleet() {
  const folder = await fleetOfEast();
  const own = text.replace("!secret token", "!secret north");
  await writeFile(join(folder, "accounts", "north.yaml"), own, { mode: 0o600 });
  await rename(join(await bridge(), "data"), join(folder, "data", "north"));
  return folder;
}

async function fleetOfEast() {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  await mkdir(join(folder, "data", "east"), { recursive: true });
  await writeFile(
    join(folder, "fleet.yaml"),
    "accounts: ./accounts\ndefaults: { mqtt: { url: mqtt://127.0.0.1:3 } }\n",
  );
  await writeFile(join(folder, "accounts", "east.yaml"), text, { mode: 0o600 });
  const secrets = "token: canary-token-0001\nnorth: canary-token-0002\n";
  await writeFile(join(folder, "accounts", "secrets.yaml"), secrets, { mode: 0o600 });
  await writeFile(join(folder, "data", "east", "format"), "3\n");
  return folder;
}

const contentsOf = async (folder: string): Promise<Map<string, string>> => {
  const names = await namesIn(folder);
  const texts = names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const);
  return new Map(await Promise.all(texts));
};

const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

describe("a backup on the command line", () => {
  it("goes to another computer under a password, and is whole there", async () => {
    const folder = await bridge();
    const input = "blue-kettle-on-snow\n";
    const made = await startProgram(["backup", "b.tar.gz.age", "--password"], { folder, input }).ended;
    expect(made.code).toBe(0);
    const next = await tempFolder();
    const from = join(folder, "b.tar.gz.age");
    const wrong = await startProgram(["restore", from, "--password"], {
      folder: next,
      input: "another-one-here\n",
    }).ended;
    expect([wrong.code, await namesIn(next)]).toEqual([2, []]);
    const restored = await startProgram(["restore", from, "--password"], { folder: next, input }).ended;
    expect(restored.code).toBe(0);
    const names = (await namesIn(folder)).filter((name) => !name.endsWith(".age"));
    expect(await namesIn(next)).toEqual(names);
    for (const name of names)
      expect(await readFile(join(next, name), "utf8")).toBe(await readFile(join(folder, name), "utf8"));
    expect((await startProgram(["check"], { folder: next }).ended).code).toBe(0);
    expect((await startProgram(["restore", from, "--password"], { folder: next, input }).ended).code).toBe(2);
  }, 120_000);

  it("of a fleet makes the same fleet in init --web, which says how it is run", async () => {
    const folder = await fleet();
    const input = "blue-kettle-on-snow\n";
    const words = ["backup", "b.age", "-c", "fleet.yaml", "--password"];
    expect(await startProgram(words, { folder, input }).ended).toMatchObject({ code: 0 });
    const next = await tempFolder();
    const init = startProgram(["init", "--web"], { folder: next });
    const [, at = "", code = ""] = await init.untilPrinted(/(http:\S+?)\/ .* {2}(\S{9})$/m, 30_000);
    const said = { code, password: "blue-kettle-on-snow", language: "en" };
    const answer = await fetch(`${at}/api/setup/restore`, {
      method: "POST",
      headers: {
        "content-type": "application/octet-stream",
        "x-setup": encodeURIComponent(JSON.stringify(said)),
      },
      body: await readFile(join(folder, "b.age")),
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { file: join(next, "fleet.yaml") }]);
    const { code: ended, stdout } = await init.ended;
    expect([ended, stdout]).toEqual([
      0,
      expect.stringContaining(`greenhouse2mqtt fleet -c ${join(next, "fleet.yaml")}`),
    ]);
    const wanted = await contentsOf(folder);
    wanted.delete("b.age");
    expect(await contentsOf(next)).toEqual(wanted);
    expect(await startProgram(["check", "fleet.yaml"], { folder: next }).ended).toMatchObject({ code: 0 });
  }, 120_000);

  it.each([
    ["a bridge", "config.yaml", bridge, () => tempFolder(), []],
    ["a fleet", "fleet.yaml", fleet, () => tempFolder(), ["-c", "fleet.yaml"]],
    [
      "an account, beside one that is there",
      join("accounts", "north.yaml"),
      fleet,
      fleetOfEast,
      ["-c", "fleet.yaml", "--account", "north"],
    ],
  ] as const)(
    "is restored over a kill at every moment: all of it or none, and once more makes it whole: %s",
    async (_, main, made, place, words) => {
      const folder = await made();
      expect((await startProgram(["backup", "b.tar.gz", ...words], { folder }).ended).code).toBe(0);
      const from = join(folder, "b.tar.gz");
      const call = ["restore", from, ...words.slice(0, 2)];
      const began = performance.now();
      const whole = await place();
      expect(await startProgram(call, { folder: whole }).ended).toMatchObject({ code: 0 });
      const tookMs = performance.now() - began;
      const wanted = await contentsOf(whole);
      expect(wanted.size).toBeGreaterThan(40);
      const seen = { none: 0, all: 0 };
      for (let at = 0; at < 16; at += 1) {
        const next = await place();
        const killed = startProgram(call, { folder: next });
        const timer = setTimeout(() => killed.signal("SIGKILL"), tookMs * (0.4 + (0.65 * at) / 16));
        await killed.ended;
        clearTimeout(timer);
        const isThere = (await namesIn(next)).includes(main);
        seen[isThere ? "all" : "none"] += 1;
        if (!isThere) expect((await startProgram(call, { folder: next }).ended).code).toBe(0);
        const found = await contentsOf(next);
        // A last name of what is there whole already may be left where nobody restores once more.
        for (const name of found.keys())
          if (/restoring$/.test(name) || (isThere && /\.[0-9a-f]{12}\.tmp$/.test(name))) found.delete(name);
        expect(found).toEqual(wanted);
      }
      process.stderr.write(`kills while restoring ${main}: ${JSON.stringify(seen)}\n`);
      expect(seen.none).toBeGreaterThan(0);
    },
    240_000,
  );
});
