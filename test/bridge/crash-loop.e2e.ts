import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Journal } from "../../src/journal/journal.js";
import { journalDirectory } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import { provenMs } from "../../src/status/crash-loop.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";
import { type Process, says, startProcess } from "./support/program.js";

/** Where the token stands. */
type Credential = (folder: string) => Readonly<Record<string, string>>;
const inTheConfiguration: Credential = () => ({ token: "canary-token-77" });
const inAFile: Credential = (folder) => ({ token_file: join(folder, "token.txt") });

/** A folder with a configuration, and a client that sees what the bridge says. */
async function scene(credential = inTheConfiguration) {
  const folder = await mkdtemp(join(tmpdir(), "crashes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { url } = await testMosquitto();
  const { businessUrl } = await platform();
  const configuration = {
    platform: { business_url: businessUrl, realtime_url: businessUrl, ...credential(folder) },
    mqtt: { url },
    http: false,
    controllers: { "GH-0001": { actuators: { fan: { kind: "circulation_fan", address: "150" } } } },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  await writeFile(join(folder, "token.txt"), "canary-token-77\n", { mode: 0o600 });
  const client = await otherClient(url);
  const seen: { readonly topic: string; readonly payload: string }[] = [];
  client.on("message", (topic, payload) => {
    seen.push({ topic, payload: payload.toString() });
  });
  await client.subscribeAsync("greenhouse/#", { qos: 1 });
  const newest = (topic: string) => seen.findLast((one) => one.topic === `greenhouse/${topic}`)?.payload;
  /** Until the bridge of this process is online. */
  const online = async (one: Process) => {
    const from = seen.length;
    await until(() => seen.slice(from).some(({ topic }) => topic === "greenhouse/bridge/info"), "online", [
      one.stderr,
    ]);
  };
  const records = () =>
    newestRecords(journalDirectory(join(folder, "data")), { limit: Number.POSITIVE_INFINITY });
  return { folder, client, seen, newest, online, records };
}

const uncaught = "process.on('SIGUSR2', () => { throw new Error('boom canary-token-77'); });";
const rejected = "process.on('SIGUSR2', () => { void Promise.reject(new Error('boom canary-token-77')); });";

describe("an error that nobody caught", () =>
  it.each([
    ["uncaught", uncaught, inTheConfiguration],
    ["rejected", rejected, inTheConfiguration],
    ["with a token that only the running bridge knows", uncaught, inAFile],
  ])(
    "%s: ends the process with code 1, is in the log, on disk, and in the journal of the next start, without the token",
    async (_, before, credential) => {
      const { folder, newest, online, records } = await scene(credential);
      const first = startProcess({ folder, before });
      await online(first);
      await until(() => newest("bridge/platform") === "online", "the token was used", [first.stderr]);
      first.signal("SIGUSR2");
      expect(await first.ended).toEqual({ code: 1, signal: null });
      const fatal = first.lines.find(({ level }) => level === 60);
      expect(fatal?.["msg"]).toContain("an error that nobody caught");
      expect(JSON.stringify(fatal)).toContain("boom");
      const left = await readFile(join(folder, "data", "last-error.json"), "utf8");
      expect(left).toContain("boom");
      expect(left + first.stderr).not.toContain("canary-token");
      const second = startProcess({ folder });
      await online(second);
      const noted = (await records()).find((record) => record.type === "event");
      expect(noted).toMatchObject({ event: "uncaught_error", severity: "error" });
      expect(JSON.stringify(noted)).toContain("boom");
      await expect(readFile(join(folder, "data", "last-error.json"))).rejects.toThrow("ENOENT");
      second.signal("SIGTERM");
      expect(await second.ended).toEqual({ code: 0, signal: null });
    },
    60_000,
  ));

describe("a crash loop", () =>
  it("starts read-only after five runs that ended badly, says so, and is over after a clean stop", async () => {
    const { folder, client, seen, newest, online } = await scene();
    for (let life = 0; life < 5; life += 1) {
      const crashing = startProcess({ folder });
      await online(crashing);
      expect(says(crashing, "read-only")).toBe(false);
      crashing.signal("SIGKILL");
      await crashing.ended;
    }
    const careful = startProcess({ folder });
    await online(careful);
    await until(() => newest("bridge/health")?.includes('"read_only":true') ?? false, "said in health");
    expect(says(careful, "this one is read-only")).toBe(true);
    await until(
      () => newest("bridge/info")?.includes('"read_only_because":"crash_loop"') ?? false,
      "said in info",
    );
    expect(JSON.parse(newest("bridge/info") ?? "{}")).toMatchObject({
      read_only_because: "crash_loop",
      settings: { commands: { read_only: true } },
    });
    expect(JSON.parse(newest("bridge/health") ?? "{}")).toMatchObject({ read_only_because: "crash_loop" });
    await client.publishAsync("greenhouse/gh-0001/actuator/fan/set", "on", { qos: 1 });
    await until(() => seen.some(({ topic }) => topic.endsWith("/fan/result")), "answered");
    expect(JSON.parse(newest("gh-0001/actuator/fan/result") ?? "{}")).toMatchObject({
      outcome: "refused",
      reason: "read_only",
    });
    careful.signal("SIGTERM");
    expect(await careful.ended).toEqual({ code: 0, signal: null });
    const usual = startProcess({ folder });
    await online(usual);
    expect(says(usual, "read-only")).toBe(false);
    await until(() => newest("bridge/info")?.includes('"read_only_because":null') ?? false, "said in info");
    expect(JSON.parse(newest("bridge/info") ?? "{}")).toMatchObject({
      read_only_because: null,
      settings: { commands: { read_only: false } },
    });
  }, 120_000));

/** Real time but for leaps: a wait that began before a leap is over when the time leapt covers it. */
function leapingClock() {
  let leapt = 0;
  const leaps = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + leapt,
    wait: async (ms, signal) => {
      const until = clock.monotonic() + ms;
      const cut = new AbortController();
      const leap = () => {
        if (clock.monotonic() >= until) cut.abort();
      };
      leaps.add(leap);
      await systemClock.wait(ms, AbortSignal.any([cut.signal, ...(signal ? [signal] : [])])).catch(() => {
        signal?.throwIfAborted();
      });
      leaps.delete(leap);
    },
  };
  const leap = (ms: number) => {
    leapt += ms;
    for (const one of leaps) one();
  };
  return { clock, leap };
}

async function listener() {
  const { url } = await testMosquitto();
  const client = await otherClient(url);
  const seen: { readonly topic: string; readonly text: string }[] = [];
  client.on("message", (topic, payload) => seen.push({ topic, text: payload.toString() }));
  await client.subscribeAsync("greenhouse/#", { qos: 1 });
  const newest = (topic: string) => {
    const text = seen.findLast((one) => one.topic === `greenhouse/${topic}`)?.text ?? "{}";
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  };
  return { url, client, newest };
}

async function afterFiveCrashes(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "long-runs-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  for (let n = 0; n < 5; n += 1) {
    const journal = await Journal.open(journalDirectory(dataDir), { clock: systemClock, log: silentLog });
    await journal.append({ type: "start", version: "test" }, { durable: true });
    await journal.close();
  }
  return dataDir;
}

it("a bridge that nobody visits takes commands again 15 minutes after a crash loop, and health says so", async () => {
  const { url, client, newest } = await listener();
  const simulator = await platform();
  const text = [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150" } } } }',
  ].join("\n");
  const configuration = {
    ...(await configurationOf(text, simulator)),
    data_dir: await afterFiveCrashes(),
  };
  const { clock, leap } = leapingClock();
  await bridge(text, simulator, { configuration, clock });
  const told = (because: string | null) => () => newest("bridge/health")["read_only_because"] === because;
  await until(told("crash_loop"), "read-only");
  const outcome = async (id: string) => {
    const payload = JSON.stringify({ command: "on", id, dry_run: true });
    await client.publishAsync("greenhouse/gh-0001/actuator/fan/set", payload, { qos: 1 });
    const result = () => newest("gh-0001/actuator/fan/result");
    await until(() => result()["id"] === id, `an outcome of ${id}`);
    return result();
  };
  expect(await outcome("before")).toMatchObject({ outcome: "refused", reason: "read_only" });
  leap(provenMs);
  await until(told(null), "no longer read-only");
  expect(newest("bridge/info")).toMatchObject({ settings: { commands: { read_only: false } } });
  expect((await outcome("after"))["reason"]).not.toBe("read_only");
});
