import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keepStateFiles, stateFiles } from "../../src/cluster/state-files.js";
import { nodeFileSystem } from "../../src/runtime/file-system.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** Files that the next owner does not need, each with its reason. */
const ofOneMember: Readonly<Record<string, string>> = {};

it("what a bridge keeps in a small file the next owner of the account has too", async () => {
  const found = new Set<string>();
  const sources = await readdir("src", { recursive: true });
  for (const path of sources.filter((one) => one.endsWith(".ts")))
    for (const [, name = ""] of (await readFile(join("src", path), "utf8")).matchAll(/\bfile\("([^"]+)"\)/g))
      found.add(name);
  expect(found.size).toBeGreaterThan(8);
  expect([...found].filter((name) => !stateFiles.includes(name) && !(name in ofOneMember))).toEqual([]);
});

describe("what is written again and again", () => {
  /** A member that writes all its files every second. */
  async function keeping(seconds: number) {
    const clock = new VirtualClock();
    const kept: [string, number][] = [];
    const store = {
      keepNoteFile: (name: string) => Promise.resolve(void kept.push([name, clock.monotonic() / 1_000])),
      keepCopy: () => Promise.resolve(),
    };
    const facts = () =>
      Promise.resolve({
        ...{ bytes: 1, isDirectory: false },
        modifiedAt: Math.floor(clock.monotonic() / 1_000),
      });
    const files = { ...nodeFileSystem, facts } as unknown as typeof nodeFileSystem;
    const stop = new AbortController();
    const ended = keepStateFiles({ files, clock, dataDir: "/data", store }, stop.signal);
    await clock.advance(seconds * 1_000);
    stop.abort();
    await ended;
    return (wanted: string) => kept.flatMap(([name, at]) => (name === wanted ? [at] : []));
  }

  it("goes to the stream once a minute and at the end, everything else within seconds", async () => {
    const timesOf = await keeping(122);
    expect(timesOf("run-times.json")).toEqual([60, 120, 122]);
    expect(timesOf("daily.json")).toEqual([60, 120, 122]);
    expect(timesOf("page-users.json").slice(0, 3)).toEqual([5, 10, 15]);
  });
});
