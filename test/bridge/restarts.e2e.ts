import { describe, expect, it, onTestFinished } from "vitest";
import type { RecordBody } from "../../src/journal/records.js";
import { ended, sent, taken } from "../journal/support/samples.js";
import { otherClient, received, until } from "../mqtt-connection/support.js";
import type { MosquittoOptions } from "../support/mosquitto.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { brokerAndClient, bridge, configurationOf, fanAt, leftBehind, platform } from "./support/bridge.js";

const fan = { controller: "GH-0001", actuator: "fan" } as const;
const step = { purpose: "value", address: "150", value: "1010" } as const;
const on = {
  ...{ controller: "gh-0001", actuator: "fan", command: "on", value: "1010" },
  steps: [{ ...step, attempts: 1, code: "200", read_back: "1001" }],
} as const;
const topic = "greenhouse/gh-0001/actuator/fan";
const justNow = () => new Date().toISOString();

/** A simulated platform, a broker with somebody who listens, and a data directory with what an earlier run left. */
async function scene(records: readonly RecordBody[], options: MosquittoOptions = {}) {
  const dataDir = await leftBehind(...records);
  const heard = await brokerAndClient(options);
  const door = await startTcpProxy(heard.mosquitto.port);
  onTestFinished(() => door.close());
  const simulator = await platform();
  const text = fanAt(`mqtt://127.0.0.1:${door.port}`).replace(
    "fan: {",
    'roof: { kind: skylight, address: "101" }, fan: {',
  );
  const configuration = { ...(await configurationOf(text, simulator)), data_dir: dataDir };
  return {
    ...heard,
    door,
    on: heard.texts,
    simulator,
    start: () => bridge(text, simulator, { configuration }),
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

/** Everything told before has arrived once the answer to a newer command has. */
async function barrier({ say, json }: Scene, id: string): Promise<void> {
  await say(`${topic}/set`, { command: "off", id, dry_run: true });
  await until(() => json(`${topic}/result`).some((result) => result["id"] === id), `an answer to ${id}`);
}

const online = ({ on: texts }: Scene, times: number) =>
  until(() => texts("greenhouse/bridge/state").filter((text) => text === "online").length >= times, "online");

/** Alarms and other bridges have tests of their own. */
const isOfCommand = ({ type }: { readonly type?: unknown }) =>
  !["other_bridge", "alarm", "alarm_cleared"].includes(String(type));

describe("after a restart", () => {
  it.each(["waiting", "checking"])(
    "a command that was %s when the process died ends refused, also where its value shows by now",
    async (phase) => {
      const waited = taken("A", { ...fan, command: "on", value: "1010", steps: [step], own_id: true });
      const made = await scene([waited]);
      const left = { id: "A", command: "on", phase, received_at: waited.received_at };
      await made.say(`${topic}/command`, left, true);
      made.simulator.control.moveByHand("GH-0001", "150", "1010");
      await made.start();
      const results = () => made.json(`${topic}/result`);
      await until(() => results().length > 0, "a result");
      expect(results()).toMatchObject([
        { id: "A", outcome: "refused", reason: "shutting_down", steps: [], sent_at: null, repeated: false },
      ]);
      await until(() => made.json(`${topic}/command`).at(-1)?.["phase"] === "done", "done");
      await made.say(`${topic}/set`, { command: "on", id: "A" });
      await until(() => results().length > 1, "an answer to the same id");
      expect(results()[1]).toMatchObject({ reason: "duplicate", original: { reason: "shutting_down" } });
    },
  );

  it("a topic that shows a command on its way of which nothing is known is put right", async () => {
    const made = await scene([]);
    const left = {
      ...{ id: "A", command: "on", value: "1010", by: null, via: { client: "x" } },
      received_at: "2026-05-01T06:00:00.000Z",
    };
    await made.say(`${topic}/command`, { ...left, phase: "waiting" }, true);
    await made.start();
    await until(() => made.json(`${topic}/command`).at(-1)?.["phase"] === "done", "done");
    expect(made.json(`${topic}/command`).at(-1)).toEqual({ ...left, phase: "done" });
  });

  it("a window that was confirmed and not looked at again is looked at by the next start", async () => {
    const roof = { controller: "GH-0001", actuator: "roof" } as const;
    const opened = { purpose: "value", address: "101", value: "10010" } as const;
    const steps = [{ ...opened, attempts: 1, code: "200", read_back: "10010" }];
    const made = await scene([
      taken("A", { ...roof, steps: [opened] }),
      sent("A", { ...roof, ...opened }),
      {
        ...ended("A", { controller: "gh-0001", actuator: "roof", steps }),
        ...roof,
        memory: { second_look: { id: "A", step: opened, ended_at: justNow() } },
      },
      { type: "delivered", through: 3 },
    ]);
    made.simulator.control.moveByHand("GH-0001", "101", "10001");
    await made.start();
    const events = () => made.json("greenhouse/bridge/event").filter(isOfCommand);
    await until(() => events().length > 0, "an event");
    expect(events()).toMatchObject([{ type: "reverted", id: "A", actuator: "roof", read_back: "10001" }]);
    await until(() => made.on("greenhouse/gh-0001/problem").at(-1) === "on", "a problem");
  });

  it("our own value that ended unconfirmed is confirmed_late, also at the first read", async () => {
    const at = justNow();
    const why = { command: "on", outcome: "unconfirmed", reason: null, message: null } as const;
    const awaited = { id: "late", step, ended_at: at, word: "on", is_told: true, is_taken: true };
    const memory = { problem: { ...why, at }, awaited };
    const made = await scene([{ ...ended("late", { ...on, outcome: "unconfirmed" }), ...fan, memory }]);
    made.simulator.control.moveByHand("GH-0001", "150", "1010");
    await made.start();
    const events = () => made.json("greenhouse/bridge/event").filter(isOfCommand);
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
      memory: {
        unread: true,
        sent: [
          {
            ...{ id: "A", is_accepted: true, request_id: null, sent_at: justNow() },
            steps: [{ ...step, attempts: 1, code: "200", read_back: null }],
          },
        ],
      },
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
    await made.say(`${topic}/command`, { id: "B", phase: "done" }, true);
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

  it.each([
    ["an ended command is", ended("A", on)],
    ["an unfinished dry run is", taken("A", { ...fan, command: "on", dry_run: true })],
  ])("%s shown to have ended where the topic still shows it on its way", async (_, record) => {
    const made = await scene([{ ...record, ...fan }]);
    const left = { id: "A", phase: "confirming", received_at: "2026-05-01T06:00:00.000Z" };
    await made.say(`${topic}/command`, left, true);
    await made.start();
    const shown = () => made.json(`${topic}/command`).at(-1);
    await until(() => shown()?.["phase"] === "done", "done");
    expect(shown()).toEqual({
      ...{ ...left, command: "on", phase: "done", by: "grower", via: null },
      value: record.type === "result" ? "1010" : record.value,
    });
  });
});

it("a broker that lost its retained messages gets the newest command of each target back", async () => {
  const made = await scene([]);
  await made.start();
  await online(made, 1);
  await barrier(made, "newest");
  const done = () =>
    made.json(`${topic}/command`).some(({ id, phase }) => id === "newest" && phase === "done");
  await until(done, "shown");
  await made.mosquitto.kill();
  await made.mosquitto.restart();
  const reader = await otherClient(made.url);
  const seen = received(reader);
  await reader.subscribeAsync(`${topic}/command`, { qos: 1 });
  await until(() => seen.length > 0, "back");
  expect(seen[0]).toContain('"id":"newest"');
  expect(seen[0]).toContain('"phase":"done"');
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
