import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { journalDirectory } from "../../src/journal/open.js";
import { encodeLine } from "../../src/journal/segments.js";
import { ended, stamped } from "../journal/support/samples.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";

const segment = (first: number) => `journal-${String(first).padStart(12, "0")}.jsonl`;
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
