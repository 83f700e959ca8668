import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { journalDirectory } from "../../src/compose/open-journal.js";
import { Journal } from "../../src/journal/journal.js";
import type { RecordBody } from "../../src/journal/records.js";
import { systemClock } from "../../src/runtime/clock.js";
import type { Simulator } from "../../src/simulator/server.js";
import { ended, sent, taken } from "../journal/support/samples.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";

const fan = { controller: "GH-0001", actuator: "fan" } as const;
const step = { purpose: "value", address: "150", value: "1010" } as const;
const on = {
  ...{ controller: "gh-0001", actuator: "fan", command: "on", value: "1010" },
  steps: [{ ...step, attempts: 1, code: "200", read_back: "1001" }],
} as const;
const topic = "greenhouse/gh-0001/actuator/fan";

type Payload = Readonly<Record<string, unknown>>;

/** A simulated platform, a broker with somebody who listens, and a data directory with what an earlier run left. */
async function scene(records: readonly RecordBody[]) {
  const dataDir = await mkdtemp(join(tmpdir(), "restarts-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const journal = await Journal.open(journalDirectory(dataDir), { clock: systemClock, log: silentLog });
  for (const record of records) await journal.append(record, { durable: true });
  await journal.close();
  const { url } = await testMosquitto();
  const simulator = await platform();
  const client = await otherClient(url);
  const seen: { readonly topic: string; readonly text: string }[] = [];
  client.on("message", (at, payload) => seen.push({ topic: at, text: payload.toString() }));
  await client.subscribeAsync("#", { qos: 1 });
  const on = (at: string) => seen.filter((one) => one.topic === at).map(({ text }) => text);
  const json = (at: string) => on(at).map((text) => JSON.parse(text) as Payload);
  return { url, client, on, json, simulator, start: () => start(url, dataDir, simulator) };
}

async function start(url: string, dataDir: string, simulator: Simulator) {
  const text = [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150", settle: 0s } } } }',
  ].join("\n");
  const configuration = { ...(await configurationOf(text, simulator)), data_dir: dataDir };
  return bridge(text, simulator, { configuration });
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** Everything told before has arrived once the answer to a newer command has. */
async function barrier({ client, json }: Scene, id: string): Promise<void> {
  const payload = JSON.stringify({ command: "off", id, dry_run: true });
  await client.publishAsync(`${topic}/set`, payload, { qos: 1 });
  await until(() => json(`${topic}/result`).some((result) => result["id"] === id), `an answer to ${id}`);
}

const online = ({ on: texts }: Scene, times: number) =>
  until(() => texts("greenhouse/bridge/state").filter((text) => text === "online").length >= times, "online");

describe("after a restart", () => {
  it("a result made before the first link is told once as new, one of an earlier run once as repeated", async () => {
    const gone = taken("gone", { actuator: "nobody" });
    const made = await scene([ended("old", on), { ...gone }]);
    const first = await made.start();
    await online(made, 1);
    await barrier(made, "first");
    await first.stop();
    await made.start();
    await online(made, 2);
    await barrier(made, "second");
    const told = made
      .json("greenhouse/gh-0001/result")
      .map(({ id, outcome, repeated }) => `${String(id)} ${String(outcome)} ${String(repeated)}`);
    expect(told.filter((one) => /^(old|gone)/.test(one)).sort()).toEqual([
      "gone unknown false",
      "old confirmed true",
    ]);
  });

  it("our own value that ended unconfirmed is confirmed_late, also at the first read", async () => {
    const made = await scene([{ ...ended("late", { ...on, outcome: "unconfirmed" }), ...fan }]);
    made.simulator.control.moveByHand("GH-0001", "150", "1010");
    await made.start();
    const events = () => made.json("greenhouse/bridge/event").filter(({ type }) => type !== "other_bridge");
    await until(() => events().length > 0, "an event");
    expect(events()).toMatchObject([{ type: "confirmed_late", id: "late", actuator: "fan" }]);
    await until(() => made.on("greenhouse/gh-0001/problem").at(-1) === "off", "no problem any more");
  });

  const open: readonly RecordBody[] = [
    taken("A", { ...fan, command: "on", value: "1010", steps: [step] }),
    sent("A", { ...fan, ...step }),
    {
      ...{ type: "step_answered", ...fan, id: "A", address: "150", attempt: 1 },
      ...{ code: "200", request_id: null, error: null, sent: true },
    },
  ];

  it.each([
    ["the newest command is shown to its end", [], "A done"],
    [
      "an older command that is still read back does not take the newer one's place on the topic",
      [
        {
          ...ended("B", { ...on, outcome: "refused", reason: "shutting_down", sent_at: null, steps: [] }),
          ...fan,
        },
      ],
      "B done",
    ],
  ] as const)("%s", async (_, after, shown) => {
    const made = await scene([...open, ...after]);
    const left = JSON.stringify({ id: "B", phase: "done" });
    await made.client.publishAsync(`${topic}/command`, left, { qos: 1, retain: true });
    made.simulator.control.moveByHand("GH-0001", "150", "1010");
    await made.start();
    await until(
      () => made.json(`${topic}/result`).some(({ id, outcome }) => id === "A" && outcome === "confirmed"),
      "A ends",
    );
    const newest = () => {
      const { id, phase } = made.json(`${topic}/command`).at(-1) ?? {};
      return `${String(id)} ${String(phase)}`;
    };
    await until(() => newest() === shown, shown);
    if (shown === "B done") expect(made.json(`${topic}/command`)).toHaveLength(1);
  });
});

it("a response topic under the bridge's own base gets no answer, and the log says so once a topic", async () => {
  const made = await scene([]);
  const running = await made.start();
  await online(made, 1);
  const asking = await otherClient(made.url, { protocolVersion: 5 });
  for (const id of ["one", "two"]) {
    const payload = JSON.stringify({ command: "off", id, dry_run: true });
    const properties = { responseTopic: "greenhouse/client1/answers" };
    await asking.publishAsync(`${topic}/set`, payload, { qos: 1, properties });
  }
  await until(() => made.json(`${topic}/result`).some(({ id }) => id === "two"), "an answer to two");
  expect(made.on("greenhouse/client1/answers")).toEqual([]);
  const said = running.lines.filter((line) => line.includes("greenhouse/client1/answers"));
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("warn ");
});
