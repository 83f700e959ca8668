import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { journalDirectory } from "../../src/journal/open.js";
import { beginLife } from "../../src/status/crash-loop.js";
import { Journal } from "../../src/journal/journal.js";
import { systemClock } from "../../src/runtime/clock.js";
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
