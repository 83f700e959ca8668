import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { pauseBeforeCutMs, SelfTest, type SelfTestTimes } from "../../src/status/self-test.js";
import { every, systemClock } from "../../src/runtime/clock.js";
import {
  type AnyBroker,
  anyBroker,
  brokerTable,
  capturedLog,
  connect,
  otherClient,
  testMosquitto,
  until,
  tempFolder,
} from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { bridge, platform } from "./support/bridge.js";

const topic = "greenhouse/bridge/self_test";

/** A connection that tests itself, joined as the bridge joins it. */
function testedConnection(
  broker: Pick<AnyBroker, "url" | "credential">,
  protocolVersion: 4 | 5,
  times: SelfTestTimes,
) {
  const { log, lines } = capturedLog();
  let count = 0;
  const nonces: string[] = [];
  const heard: string[] = [];
  const { connection, ends, online } = connect({
    url: broker.url,
    ...broker.credential,
    protocolVersion,
    subscriptions: [topic],
    on: {
      message: ({ payload }) => {
        heard.push(payload.toString());
        test.onMessage(payload.toString());
      },
      onConnected: () => test.onConnected(),
    },
  });
  const newMessage = () => {
    const nonce = `nonce-${(count += 1)}`;
    nonces.push(nonce);
    return { nonce, payload: nonce };
  };
  const test = new SelfTest({ connection, clock: systemClock, log }, topic, newMessage, () => times);
  const life = new AbortController();
  const running = every(10, systemClock, life.signal, () => test.look());
  onTestFinished(async () => {
    life.abort();
    await running;
  });
  return { connection, test, nonces, heard, ends, lines, online };
}

/** A Mosquitto whose access list can be changed: without `read`, it takes our messages and delivers none. */
async function listeningMosquitto(rest = "topic readwrite other/#") {
  const folder = await tempFolder();
  const file = join(folder, "acl");
  const allow = (access: "readwrite" | "write") =>
    writeFile(file, `topic ${access} ${topic}\n${rest}\n`, { mode: 0o600 });
  await allow("readwrite");
  const mosquitto = await testMosquitto({ extra: [`acl_file ${file}`] });
  return { mosquitto, allow };
}

const often: SelfTestTimes = { withinMs: 5_000, everyMs: 20, againMs: 20 };
const seldom: SelfTestTimes = { withinMs: 10_000, everyMs: 600_000, againMs: 600_000 };

describe.each(brokerTable)("on $make with MQTT $version", ({ make, version }) => {
  it("a link hears itself after every connect, and again and again", async () => {
    const tested = testedConnection(await anyBroker(make), version, often);
    await until(() => tested.test.counters.heard >= 3, "heard three times", tested.lines);
    expect(tested.test.deafSince).toBeNull();
    expect(tested.test.heardAt).not.toBeNull();
    expect(tested.heard.slice(0, 3)).toEqual(["nonce-1", "nonce-2", "nonce-3"]);
    expect(tested.ends).toEqual([]);
  });

  it("a new link is tested at once, not when the pause is over", async () => {
    const tested = testedConnection(await anyBroker(make), version, seldom);
    await until(() => tested.test.counters.heard === 1, "heard once", tested.lines);
    tested.connection.reconnect("the test wants another");
    await tested.online(2);
    await until(() => tested.test.counters.heard === 2, "heard on the second link", tested.lines);
  });
});

describe.each([5, 4] as const)("a broker that takes messages but delivers none, MQTT %i", (version) => {
  it("is found out, cut, and believed again once it delivers", async () => {
    const { mosquitto, allow } = await listeningMosquitto();
    const broker = { url: mosquitto.url, credential: {} };
    const times: SelfTestTimes = { withinMs: 300, everyMs: 20, againMs: 20 };
    const tested = testedConnection(broker, version, times);
    await until(() => tested.test.counters.heard > 0, "heard", tested.lines);
    await allow("write");
    await mosquitto.restart();
    await until(() => tested.test.deafSince !== null, "deaf", tested.lines);
    await until(
      () => tested.ends.some(({ reason }) => String(reason).includes("did not come back")),
      "cut because of it",
      tested.lines,
    );
    expect(tested.test.deafSince).not.toBeNull();
    expect(tested.lines.some((line) => line.startsWith("error") && line.includes("access list"))).toBe(true);
    await allow("readwrite");
    await mosquitto.restart();
    await until(() => tested.test.deafSince === null, "no longer deaf", tested.lines);
    expect(tested.lines.some((line) => line.includes("delivers messages to us again"))).toBe(true);
  });

  it("is cut twice at once and then left alone, because a third time hardly helps", async () => {
    const { mosquitto, allow } = await listeningMosquitto();
    await allow("write");
    await mosquitto.restart();
    const times: SelfTestTimes = { withinMs: 60, everyMs: 20, againMs: 20 };
    const tested = testedConnection({ url: mosquitto.url, credential: {} }, version, times);
    await until(() => tested.test.counters.failed >= 6, "failed six times", tested.lines);
    const cuts = tested.ends.filter(({ reason }) => String(reason).includes("did not come back"));
    expect(cuts).toHaveLength(2);
    expect(tested.connection.state).toBe("online");
    expect(tested.test.deafSince).not.toBeNull();
  });
});

describe("a foreign message on the topic", () =>
  it("proves nothing", async () => {
    const { mosquitto, allow } = await listeningMosquitto();
    await allow("write");
    await mosquitto.restart();
    const times: SelfTestTimes = { withinMs: 100, everyMs: 20, againMs: 20 };
    const tested = testedConnection({ url: mosquitto.url, credential: {} }, 5, times);
    await until(() => tested.nonces.length > 0, "under test", tested.lines);
    tested.test.onMessage("nonce-0");
    tested.test.onMessage("");
    await until(() => tested.test.deafSince !== null, "deaf", tested.lines);
    expect(tested.test.counters.heard).toBe(0);
  }));

describe("how long a deaf link is left alone before it is cut again", () =>
  it.each([
    [1, 0],
    [2, 0],
    [3, 60_000],
    [4, 120_000],
    [6, 480_000],
    [7, 900_000],
    [1_000, 900_000],
  ])("after %i failures: %i ms", (failures, ms) => expect(pauseBeforeCutMs(failures)).toBe(ms)));

describe("a bridge that is deaf", () =>
  it("is never called well: health, /healthz and metrics say so, and it reconnects", async () => {
    const { mosquitto, allow } = await listeningMosquitto(
      "topic write greenhouse/#\ntopic read greenhouse/bridge/request/+\ntopic read greenhouse/bridge/health",
    );
    await allow("write");
    await mosquitto.restart();
    const port = await freePort();
    const { lines } = await bridge(
      `mqtt: { url: "${mosquitto.url}" }\nhttp: { port: ${port} }`,
      await platform(),
    );
    const client = await otherClient(mosquitto.url);
    const health: Readonly<Record<string, unknown>>[] = [];
    client.on("message", (_, payload) => {
      health.push(JSON.parse(payload.toString()) as Readonly<Record<string, unknown>>);
    });
    await client.subscribeAsync("greenhouse/bridge/health", { qos: 1 });
    const statusOf = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const patient = { timeout: 45_000, interval: 50 };
    await vi.waitFor(async () => {
      expect((await statusOf("/healthz")).status, lines.join("\n")).toBe(200);
    }, patient);
    await vi.waitFor(async () => {
      const page = await (await statusOf("/metrics")).text();
      expect(page).toContain("\ngreenhouse2mqtt_broker_deaf 1\n");
    }, patient);
    expect((await statusOf("/healthz")).status).toBe(503);
    await vi.waitFor(
      () => expect(health.at(-1)).toMatchObject({ broker: { state: "deaf", connects: 2 } }),
      patient,
    );
    expect(lines.some((line) => line.includes("did not come back"))).toBe(true);
  }, 120_000));
