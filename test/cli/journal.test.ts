import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { encodeLine } from "../../src/journal/segments.js";
import { platform, tokenEnv } from "../config/loading.js";
import { ended, stamped } from "../journal/support/samples.js";
import { folder, greenhouse2mqtt } from "./in-process.js";

/** What `journal` prints of a bridge that has had so many commands. */
async function printed(commands: number, ...words: readonly string[]): Promise<string> {
  const home = await folder({ "config.yaml": platform });
  await mkdir(join(home, "journal"));
  const records = stamped(Array.from({ length: commands }, (_, n) => ended(String(n))));
  const lines = Buffer.concat(records.map(encodeLine));
  await writeFile(join(home, "journal", "journal-000000000001.jsonl"), lines);
  const argv = ["journal", "-c", join(home, "config.yaml"), "--data-dir", home, ...words];
  const { code, out } = await greenhouse2mqtt(argv, { env: tokenEnv });
  expect(code).toBe(0);
  return out;
}

/** The ids of the commands it lists. */
async function listed(commands: number, ...words: readonly string[]): Promise<readonly string[]> {
  const text = await printed(commands, "--json", ...words);
  return [...text.matchAll(/"id":"(\d+)"/g)].map(([, id = ""]) => id);
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => String(from + n));

describe("journal", () => {
  it("shows the newest 100 where nothing else is asked", async () => {
    expect(await listed(250)).toEqual(numbers(150, 250));
  });

  it("shows all since a time, however many", async () => {
    expect(await listed(250, "--since", "2026-04-01")).toEqual(numbers(0, 250));
    expect(await listed(250, "--since", "2026-05-01T06:01:01Z")).toEqual(numbers(60, 250));
  });

  it("shows the newest --limit, also since a time", async () => {
    expect(await listed(250, "--limit", "120")).toEqual(numbers(130, 250));
    expect(await listed(250, "--since", "2026-04-01", "--limit", "3")).toEqual(numbers(247, 250));
  });

  it("says where it found none, and whether there may be some that were not asked for", async () => {
    expect(await printed(0)).toMatch(/^no commands yet in .*journal\n$/);
    expect(await printed(3, "--controller", "GH-0009")).toMatch(/^no commands that match in .*journal\n$/);
  });
});
