import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { Journal } from "../../src/journal/journal.js";
import { journalDirectory } from "../../src/journal/open.js";
import { encodeLine } from "../../src/journal/segments.js";
import { systemClock } from "../../src/runtime/clock.js";
import { beginLife } from "../../src/status/crash-loop.js";
import { ended, stamped } from "../journal/support/samples.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";

const segment = (first: number) => `journal-${String(first).padStart(12, "0")}.jsonl`;

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "unusable-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

const text = (url: string) =>
  [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150" } } } }',
  ].join("\n");

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
    const dataDir = await spoil(join(await folder(), "data"));
    const { url } = await testMosquitto();
    const simulator = await platform();
    const client = await otherClient(url);
    const seen = new Map<string, string>();
    client.on("message", (topic, payload) => seen.set(topic, payload.toString()));
    await client.subscribeAsync("#", { qos: 1 });
    const configuration = { ...(await configurationOf(text(url), simulator)), data_dir: dataDir };
    const running = await bridge(text(url), simulator, { configuration });
    const base = "greenhouse/gh-0001";
    await until(() => seen.has(`${base}/actuator/fan/state`), "a mirrored state");
    await until(() => seen.get("greenhouse/bridge/state") === "online", "online");
    await client.publishAsync(`${base}/actuator/fan/set`, "on", { qos: 1 });
    await until(() => seen.has(`${base}/actuator/fan/result`), "an outcome");
    expect(JSON.parse(seen.get(`${base}/actuator/fan/result`) ?? "")).toMatchObject({
      outcome: "refused",
      reason: "journal_unavailable",
    });
    await running.stop();
  },
);

it("a run that could not read what earlier ones left stays read-only when the journal works again", async () => {
  const dataDir = await folder();
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

const fan = { controller: "gh-0001", actuator: "fan", command: "on", value: "1010" } as const;

/** A result that was never told, in a newest file that begins with all a start needs, and an older file nobody can read. */
async function dataDirectory() {
  const dataDir = await mkdtemp(join(tmpdir(), "unreadable-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const place = journalDirectory(dataDir);
  await mkdir(join(place, segment(1)), { recursive: true });
  const carried = { type: "carried", open: [], unread: [], problems: [], starts: [] } as const;
  const at = new Date().toISOString();
  const records = stamped([carried, ended("old", fan)], { from: 7 }).map((one) => ({ ...one, at }));
  await writeFile(join(place, segment(7)), Buffer.concat(records.map(encodeLine)));
  return { dataDir, place };
}

async function scene() {
  const { dataDir, place } = await dataDirectory();
  const { url } = await testMosquitto();
  const simulator = await platform();
  const client = await otherClient(url);
  const seen: { readonly topic: string; readonly text: string }[] = [];
  client.on("message", (topic, payload) => seen.push({ topic, text: payload.toString() }));
  await client.subscribeAsync("#", { qos: 1 });
  const text = [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150" } } } }',
  ].join("\n");
  const configuration = { ...(await configurationOf(text, simulator)), data_dir: dataDir };
  const json = (topic: string) =>
    seen
      .filter((one) => one.topic === `greenhouse/${topic}`)
      .map((one) => JSON.parse(one.text) as Readonly<Record<string, unknown>>);
  const results = () => json("gh-0001/actuator/fan/result");
  const start = () => bridge(text, simulator, { configuration });
  const command = (id: string) =>
    client.publishAsync("greenhouse/gh-0001/actuator/fan/set", JSON.stringify({ command: "on", id }), {
      qos: 1,
    });
  return { place, seen, json, results, start, command };
}

it("an older file of the journal that cannot be read: the bridge mirrors, refuses, and tells nothing old", async () => {
  const { place, seen, json, results, start, command } = await scene();
  const first = await start();
  await until(() => seen.some(({ topic }) => topic.endsWith("/fan/state")), "a mirrored state");
  await until(() => json("bridge/health").length > 0, "health");
  expect(json("bridge/health").at(-1)).toMatchObject({ read_only_because: "journal_unread" });
  await command("new");
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
  expect(json("bridge/health").at(-1)).toMatchObject({ read_only: false });
});
