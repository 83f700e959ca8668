import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { journalDirectory } from "../../src/journal/open.js";
import { provenMs } from "../../src/status/crash-loop.js";
import { Journal } from "../../src/journal/journal.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";

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
