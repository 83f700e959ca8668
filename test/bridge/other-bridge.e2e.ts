import { describe, expect, it } from "vitest";
import { journalDirectory } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import type { JournalRecord } from "../../src/journal/records.js";
import { until } from "../mqtt-connection/support.js";
import { brokerAndClient, bridge, fanAt, platform, type RunningBridge } from "./support/bridge.js";

const settings = (url: string, client: string, base = "greenhouse", version = 5) =>
  fanAt(url).replace(
    "mqtt: {",
    `mqtt: { client_id: ${client}, base_topic: ${base}, protocol_version: ${version},`,
  );

/** A broker where everything is heard, of JSON topics in order. */
async function watch() {
  const { url, seen: all, json, say } = await brokerAndClient();
  const events = (present: boolean) =>
    all
      .filter(({ text }) => text.startsWith("{"))
      .map(({ topic, text }) => ({ topic, payload: JSON.parse(text) as Readonly<Record<string, unknown>> }))
      .filter(({ payload }) => payload["type"] === "other_bridge" && payload["present"] === present);
  return { url, on: json, say, events };
}

type Watch = Awaited<ReturnType<typeof watch>>;

async function resultOf(watched: Watch, base: string, command: string, id: string) {
  const results = () => watched.on(`${base}/gh-0001/actuator/fan/result`).filter((one) => one["id"] === id);
  await watched.say(`${base}/gh-0001/actuator/fan/set`, { command, id, dry_run: true });
  await until(() => results().length > 0, `an answer to ${id}`);
  return results()[0];
}

function records({ configuration }: RunningBridge): Promise<readonly JournalRecord[]> {
  const filter = { types: new Set(["other_bridge"] as const), limit: 1_000 };
  return newestRecords(journalDirectory(configuration.data_dir), filter);
}

const isOnline = (watched: Watch, base: string) => () => watched.on(`${base}/bridge/info`).length > 0;

describe("two bridges of one account at one broker", () => {
  it.each([5, 4] as const)(
    "with client ids of their own: both refuse commands until one stops, MQTT %i",
    async (version) => {
      const watched = await watch();
      const { url } = watched;
      const simulator = await platform();
      const first = await bridge(settings(url, "first", "greenhouse", version), simulator);
      await until(isOnline(watched, "greenhouse"), "online", first.lines);
      const before = await resultOf(watched, "greenhouse", "on", "alone");
      expect(before).not.toMatchObject({ reason: "other_bridge" });
      const second = await bridge(settings(url, "second", "greenhouse", version), simulator);
      await until(() => watched.events(true).length >= 2, "both say so", second.lines);
      const refused = await resultOf(watched, "greenhouse", "off", "together");
      expect(refused).toMatchObject({ outcome: "refused", reason: "other_bridge" });
      await second.stop();
      await until(() => watched.events(false).length >= 1, "the first says it is alone", first.lines);
      const after = await resultOf(watched, "greenhouse", "off", "alone again");
      expect(after).not.toMatchObject({ reason: "other_bridge" });
      expect(watched.events(true)[0]?.payload).toMatchObject({ severity: "error" });
      await first.stop();
      expect(await records(first)).toMatchObject([{ present: true, client: "second" }, { present: false }]);
    },
  );

  it.each([5, 4] as const)(
    "with the same client id: found by links that change hands, MQTT %i",
    async (version) => {
      const watched = await watch();
      const { url } = watched;
      const simulator = await platform();
      // The shortest of the possible pauses, so that the links change hands quickly.
      const random = () => 0.01;
      const text = settings(url, "twin", "greenhouse", version);
      const first = await bridge(text, simulator, { random });
      await until(isOnline(watched, "greenhouse"), "online", first.lines);
      const second = await bridge(text, simulator, { random });
      const found = ({ lines }: RunningBridge) =>
        lines.some((line) => line.startsWith("error Another bridge"));
      await until(() => found(first) && found(second), "both find it", first.lines);
    },
  );

  it("under other base topics: only where both command the same controller", async () => {
    const watched = await watch();
    const { url } = watched;
    const simulator = await platform();
    const first = await bridge(settings(url, "first", "greenhouse"), simulator);
    await until(isOnline(watched, "greenhouse"), "online", first.lines);
    const reading = `${settings(url, "reader", "trial")}\ncommands: { read_only: true }`;
    const reader = await bridge(reading, simulator);
    await until(isOnline(watched, "trial"), "the reading one is online", reader.lines);
    await until(() => watched.on("trial/bridge/self_test").length > 0, "it was heard");
    expect(await resultOf(watched, "greenhouse", "on", "beside a reader")).not.toMatchObject({
      reason: "other_bridge",
    });
    await bridge(settings(url, "second", "other"), simulator);
    const found = () => watched.events(true).some(({ topic }) => topic === "greenhouse/bridge/event");
    await until(found, "a commanding one is found", first.lines);
    expect(await resultOf(watched, "greenhouse", "off", "beside another")).toMatchObject({
      reason: "other_bridge",
    });
  });

  it("a bridge that is started again after kill -9 is not taken for another", async () => {
    const watched = await watch();
    const { url } = watched;
    const simulator = await platform();
    // What the earlier run left at the broker: its retained info, under another instance.
    const info = JSON.stringify({ version: "1", instance: "earlier-run" });
    await watched.say("greenhouse/bridge/info", info, true);
    const again = await bridge(settings(url, "first"), simulator);
    await until(() => watched.on("greenhouse/bridge/info").length >= 2, "online", again.lines);
    await until(() => watched.on("greenhouse/bridge/self_test").length > 0, "it heard itself");
    expect(await resultOf(watched, "greenhouse", "on", "first command")).not.toMatchObject({
      reason: "other_bridge",
    });
    expect(watched.events(true)).toEqual([]);
  });
});

describe("health", () =>
  it("names the other bridge, and bridge/info the run that wrote it", async () => {
    const watched = await watch();
    const { url } = watched;
    const simulator = await platform();
    const first = await bridge(settings(url, "first"), simulator);
    await until(isOnline(watched, "greenhouse"), "online", first.lines);
    const instance = watched.on("greenhouse/bridge/info").at(-1)?.["instance"];
    expect(instance).toMatch(/^[0-9a-f]{16}$/);
    const other = { instance: "someone", nonce: "1", client: "elsewhere", commands: true, controllers: [] };
    const speak = () => watched.say("greenhouse/bridge/self_test", other);
    const own = () =>
      watched.on("greenhouse/bridge/self_test").filter(({ client }) => client === "first").length;
    await until(() => own() > 0, "the bridge speaks");
    const before = own();
    await speak();
    await until(() => own() > before, "the bridge answers");
    expect(await resultOf(watched, "greenhouse", "on", "after one message")).not.toMatchObject({
      reason: "other_bridge",
    });
    expect(watched.events(true)).toEqual([]);
    const speaking = setInterval(() => void speak(), 1_000);
    await until(() => watched.events(true).length === 1, "found", first.lines).finally(() =>
      clearInterval(speaking),
    );
    const shown = (client: string | null) => () => {
      const health = watched.on("greenhouse/bridge/health").at(-1);
      const found = JSON.stringify(health?.["other_bridge"] ?? null);
      return health !== undefined && (client === null ? found === "null" : found.includes(client));
    };
    await until(shown("elsewhere"), "shown without being asked", first.lines);
    await watched.say("greenhouse/bridge/request/health", "{}");
    await until(() => watched.on("greenhouse/bridge/response/health").length > 0, "answered");
    const health = watched.on("greenhouse/bridge/response/health")[0]?.["data"];
    expect(health).toMatchObject({
      other_bridge: { client: "elsewhere" },
      broker: { state: "online", deaf_since: null },
      read_only: false,
      overdue: [],
    });
    const leaving = { ...other, nonce: "2", leaving: true };
    await watched.say("greenhouse/bridge/self_test", leaving);
    await until(() => watched.events(false).length === 1, "gone", first.lines);
    await until(shown(null), "shown as gone", first.lines);
  }));
