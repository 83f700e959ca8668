import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bridge, fanAt, platform } from "../bridge/support/bridge.js";
import { startProcess } from "../bridge/support/program.js";
import { tempFolder, testMosquitto, until } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { nodeBirthPayload, nodeDeathPayload } from "../../src/sparkplug/messages.js";
import { systemClock } from "../../src/runtime/clock.js";
import { edgeNodeAt } from "./bench.js";
import { host, nodeRoot } from "./host.js";

it("after a kill the broker tells the death under the number of the session, and the next start has the next", async () => {
  const { url } = await testMosquitto();
  const { businessUrl } = await platform();
  const folder = await tempFolder();
  const configuration = {
    platform: { business_url: businessUrl, realtime_url: businessUrl, token: "simulator" },
    mqtt: { url },
    http: false,
    sparkplug: { enabled: true },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  const { view } = await host(url);
  for (const bdSeq of [0, 1, 2]) {
    const program = startProcess({ folder });
    await until(() => view.shown.size > 1 && view.bdSeq === bdSeq, "born", [program.stderr]);
    await program.end("SIGKILL");
    await until(() => view.shown.size === 0, "dead");
  }
  expect(view.of("NDEATH").map(({ payload }) => Number(payload.metrics?.[0]?.value))).toEqual([0, 1, 2]);
  expect(view.faults).toEqual([]);
});

it("a birth that is larger than the broker takes is an alarm with the remedy, and the others go on", async () => {
  const { url } = await testMosquitto({ maxPacketSize: 6_000 });
  const { view } = await host(url);
  const { node, alarms, sweep, store } = edgeNodeAt(url, { controllers: 2 });
  await until(() => view.shown.size === 3, "born");
  for (const code of ["GH-0001"]) {
    store.dispatch(code, {
      type: "statuses_read",
      items: Array.from({ length: 200 }, (_, at) => ({ name: `s${at}`, number: null, value: 1 })),
      receivedAt: Date.now(),
    });
  }
  await until(() => alarms.length > 0, "an alarm");
  sweep("GH-0002", 30);
  await until(() => view.of("DDATA", "gh-0002").length > 0, "data of the other");
  expect(alarms[0]).toMatch(/^birth_too_large gh-0001 .*takes at most 6000: raise its packet limit/);
  expect([view.shown.has("gh-0001"), node.facts().connected, view.faults]).toEqual([false, true, []]);
});

it("when another node of the name dies, hosts are told anew that this one lives", async () => {
  const { url } = await testMosquitto();
  const { view, say } = await host(url);
  edgeNodeAt(url);
  await until(() => view.shown.size === 2, "born");
  const bdSeq = 77;
  await say(nodeRoot("NBIRTH"), nodeBirthPayload(bdSeq, [], { seq: 0, now: Date.now() }));
  await until(() => view.bdSeq === bdSeq, "the other one is born");
  await say(nodeRoot("NDEATH"), nodeDeathPayload(bdSeq, Date.now()));
  await until(() => view.of("NDEATH").length === 1, "the other one is dead");
  await until(() => view.bdSeq === 0 && view.shown.size === 2, "born again");
});

it("a clock that is set changes no number, no order and no pause", async () => {
  const { url } = await testMosquitto();
  const { view, rebirth } = await host(url);
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const { sweep } = edgeNodeAt(url, { clock });
  await until(() => view.of("DBIRTH", "gh-0001").length > 0, "born");
  for (const [round, ahead] of [3_600_000, -86_400_000].entries()) {
    aheadMs = ahead;
    sweep("GH-0001", 30 + round);
    await until(() => view.of("DDATA", "gh-0001").length > round, "data");
    await rebirth();
    await until(() => view.of("NBIRTH").length > round + 1, "born again");
  }
  expect(view.faults).toEqual([]);
});

describe("at the embedded broker", () => {
  it("everybody of this computer may be a host, and a sender's user stands in the result", async () => {
    const port = await freePort();
    const simulator = await platform();
    const user = "{ username: scada, password: 'a long password 77' }";
    const text = fanAt(
      "x",
      "sparkplug: { enabled: true }",
      `broker: { port: ${port}, users: [${user}] }`,
    ).replace('mqtt: { url: "x" }', "mqtt: {}");
    const { lines } = await bridge(text, simulator);
    await until(() => lines.some((line) => line.includes("for Sparkplug")), "the bridge is there", [
      ...lines,
    ]);
    const login = { username: "scada", password: "a long password 77" };
    const { view, command, client } = await host(`mqtt://127.0.0.1:${port}`, login);
    await until(() => view.shown.has("gh-0001"), "born");
    await client.publishAsync(nodeRoot("NDEATH"), "forged", { qos: 1 });
    await client.publishAsync("spBv1.0/others/DCMD/node/gh-0001", "elsewhere", { qos: 1 });
    await command("gh-0001", {
      name: "actuator/fan/command",
      type: "String",
      value: "on",
      properties: { by: { type: "String", value: "Ignition" } },
    });
    await until(() => typeof view.value("gh-0001", "actuator/fan/result") === "string", "a result");
    expect(JSON.parse(String(view.value("gh-0001", "actuator/fan/result")))).toMatchObject({
      outcome: "confirmed",
      by: "sparkplug:Ignition",
      via: "sparkplug:scada",
    });
    expect([view.of("NDEATH"), view.faults]).toEqual([[], []]);
  });
});

it("500 controllers are born within 10 s, and a sweep of all is told", async () => {
  const { url } = await testMosquitto({ extra: ["max_queued_messages 0"] });
  const { view } = await host(url);
  const began = performance.now();
  const { codes, sweep } = edgeNodeAt(url, { controllers: 500, sensors: 30 });
  await until(() => view.shown.size === 501, "born");
  expect(performance.now() - began).toBeLessThan(10_000);
  for (const code of codes) sweep(code, 30);
  await until(
    () => new Set(view.seen.flatMap(({ verb, device }) => (verb === "DDATA" ? [device] : []))).size === 500,
    "told",
  );
  expect(view.faults).toEqual([]);
});
