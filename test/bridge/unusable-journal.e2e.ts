import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { Journal } from "../../src/journal/journal.js";
import { journalDirectory } from "../../src/journal/open.js";
import { encodeLine } from "../../src/journal/segments.js";
import { systemClock } from "../../src/runtime/clock.js";
import { beginLife } from "../../src/status/crash-loop.js";
import { ended, stamped } from "../journal/support/samples.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { brokerAndClient, bridge, configurationOf, fanAt, platform } from "./support/bridge.js";

const segment = (first: number) => `journal-${String(first).padStart(12, "0")}.jsonl`;

const topic = "greenhouse/gh-0001/actuator/fan";

it.each([
  [
    "is a plain file",
    async (place: string) => {
      await writeFile(place, "");
      return place;
    },
  ],
  [
    // Whoever may do everything cannot be kept from reading, but a link to itself nobody can follow.
    "cannot be read",
    async (place: string) => {
      await mkdir(place);
      await symlink("journal", join(place, "journal"));
      return place;
    },
  ],
  [
    "has a directory where a file of the journal should be",
    async (place: string) => {
      await mkdir(join(journalDirectory(place), segment(1)), { recursive: true });
      return place;
    },
  ],
])(
  "a data directory that %s: the bridge mirrors and refuses commands, as the journal is unavailable",
  async (_, spoil) => {
    const dataDir = await spoil(join(await tempFolder(), "data"));
    const { url, texts, json, say } = await brokerAndClient();
    const simulator = await platform();
    const configuration = { ...(await configurationOf(fanAt(url), simulator)), data_dir: dataDir };
    const running = await bridge(fanAt(url), simulator, { configuration });
    await until(() => texts(`${topic}/state`).length > 0, "a mirrored state");
    await until(() => texts("greenhouse/bridge/state").at(-1) === "online", "online");
    await say(`${topic}/set`, "on");
    await until(() => json(`${topic}/result`).length > 0, "an outcome");
    expect(json(`${topic}/result`)[0]).toMatchObject({ outcome: "refused", reason: "journal_unavailable" });
    await running.stop();
  },
);

it("a run that could not read what earlier ones left stays read-only when the journal works again", async () => {
  const dataDir = await tempFolder();
  const place = journalDirectory(dataDir);
  await symlink("journal", place);
  const configuration = { ...(await configurationOf("http: false", await platform())), data_dir: dataDir };
  const live = new LiveSettings(configuration);
  const journal = await Journal.open(place, {
    clock: systemClock,
    log: silentLog,
    limits: { retryMs: 10 },
  });
  await beginLife(journal, { configuration, clock: systemClock, log: silentLog, version: "test" }, live);
  expect(live.current.commands.read_only).toBe(false);
  await rm(place);
  await until(() => journal.state().available, "the journal works again");
  expect(live.current.commands.read_only).toBe(true);
  expect(live.readOnlyBecause).toBe("journal_unread");
  await journal.close();
});

it("a running bridge that learns so shows in what is allowed that nothing is", async () => {
  const dataDir = await tempFolder();
  const place = journalDirectory(dataDir);
  await symlink("journal", place);
  const { url, json } = await brokerAndClient();
  const simulator = await platform();
  const configuration = { ...(await configurationOf(fanAt(url), simulator)), data_dir: dataDir };
  const running = await bridge(fanAt(url), simulator, { configuration });
  const allowed = () => json(`${topic}/allowed`).at(-1);
  await until(() => allowed() !== undefined, "what is allowed");
  expect(allowed()).toMatchObject({ because: [] });
  await rm(place);
  await until(() => JSON.stringify(allowed()).includes('"rule":"read_only"'), "read-only in what is allowed");
  await running.stop();
}, 90_000);

const fan = { controller: "gh-0001", actuator: "fan", command: "on", value: "1010" } as const;

/** A result that was never told, in a newest file that begins with all a start needs, and an older file nobody can read. */
async function dataDirectory() {
  const dataDir = await tempFolder();
  const place = journalDirectory(dataDir);
  await mkdir(join(place, segment(1)), { recursive: true });
  const carried = { type: "carried", open: [], lanes: [], starts: [] } as const;
  const at = new Date().toISOString();
  const records = stamped([carried, ended("old", fan)], { from: 7 }).map((one) => ({ ...one, at }));
  await writeFile(join(place, segment(7)), Buffer.concat(records.map(encodeLine)));
  return { dataDir, place };
}

async function scene() {
  const { dataDir, place } = await dataDirectory();
  const { url, texts, json, say } = await brokerAndClient();
  const simulator = await platform();
  const configuration = { ...(await configurationOf(fanAt(url), simulator)), data_dir: dataDir };
  const results = () => json(`${topic}/result`);
  const health = () => json("greenhouse/bridge/health");
  const start = () => bridge(fanAt(url), simulator, { configuration });
  return { place, texts, health, results, start, say };
}

it("an older file of the journal that cannot be read: the bridge mirrors, refuses, and tells nothing old", async () => {
  const { place, texts, health, results, start, say } = await scene();
  const first = await start();
  await until(() => texts(`${topic}/state`).length > 0, "a mirrored state");
  await until(() => health().length > 0, "health");
  expect(health().at(-1)).toMatchObject({ read_only_because: "journal_unread" });
  await say(`${topic}/set`, { command: "on", id: "new" });
  await until(() => results().length > 0, "an outcome");
  expect(results()).toMatchObject([{ id: "new", outcome: "refused", reason: "read_only" }]);
  const said = first.lines.filter((line) => line.includes("what earlier runs left"));
  expect(said).toHaveLength(1);
  await first.stop();
  expect(await readdir(place)).toEqual([segment(1), segment(7)]);
  // What that run told must not make the next one believe that the old result had been told with it.
  await rm(join(place, segment(1)), { recursive: true });
  await start();
  await until(() => results().some(({ id }) => id === "old"), "the old result");
  expect(results().find(({ id }) => id === "old")).toMatchObject({ repeated: true });
  expect(health().at(-1)).toMatchObject({ read_only: false });
});
