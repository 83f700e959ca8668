import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { journalDirectory } from "../../src/compose/open-journal.js";
import { Journal } from "../../src/journal/journal.js";
import { systemClock } from "../../src/runtime/clock.js";
import { ended } from "../journal/support/samples.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { silentLog } from "../support/builders.js";
import { bridge, configurationOf, platform } from "./support/bridge.js";

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: unknown;
  readonly transaction?: unknown;
}

/** A running bridge with one actuator, whose journal also tells of a controller that is gone. */
async function scene() {
  const dataDir = await mkdtemp(join(tmpdir(), "requests-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const journal = await Journal.open(journalDirectory(dataDir), { clock: systemClock, log: silentLog });
  await journal.append(ended("one", { controller: "gone", outcome: "confirmed" }), { durable: true });
  const lost = ended("two", { controller: "gh-0001", actuator: "taken_away", outcome: "unconfirmed" });
  await journal.append({ ...lost, controller: "GH-0001", actuator: "taken_away" }, { durable: true });
  await journal.close();
  const { url } = await testMosquitto();
  const simulator = await platform();
  const text = [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { id: east, actuators: { fan: { kind: circulation_fan, address: "150" } } } }',
  ].join("\n");
  const client = await otherClient(url);
  const answers: Answer[] = [];
  const states: string[] = [];
  client.on("message", (topic, payload) => {
    if (topic.endsWith("/state")) states.push(payload.toString());
    else answers.push(JSON.parse(payload.toString()) as Answer);
  });
  await client.subscribeAsync(["greenhouse/bridge/response/+", "greenhouse/bridge/state"], { qos: 1 });
  const configuration = { ...(await configurationOf(text, simulator)), data_dir: dataDir };
  await bridge(text, simulator, { configuration });
  await until(() => states.at(-1) === "online", "online");
  return async (name: string, payload: string): Promise<Answer> => {
    const before = answers.length;
    await client.publishAsync(`greenhouse/bridge/request/${name}`, payload, { qos: 1 });
    await until(() => answers.length > before, `an answer to ${name}`);
    return answers[before] ?? { status: "none" };
  };
}

describe("a request", () => {
  it("that names what is unknown is an error that says so; what is known is served", async () => {
    const ask = await scene();
    for (const [name, payload, error] of [
      [
        "acknowledge",
        '{"controller":"east","actuator":"x"}',
        'There is no actuator "x" at controller "east"',
      ],
      ["acknowledge", '{"controller":"nope"}', 'There is no controller "nope"'],
      ["journal", '{"controller":"nope","transaction":1}', 'There is no controller "nope"'],
      [
        "refresh",
        '{"controler":"east"}',
        'There is no field "controler" in this request. Known are: controller',
      ],
      ["health", '{"a":1}', "Known are: transaction"],
      ["refresh", "[1]", "JSON but no object"],
    ] as const)
      expect(await ask(name, payload), `${name} ${payload}`).toMatchObject({
        status: "error",
        error: expect.stringContaining(error) as unknown,
      });
    for (const [name, payload] of [
      ["acknowledge", '{"controller":"east","actuator":"fan","transaction":7}'],
      ["acknowledge", '{"controller":"GH-0001","actuator":"taken_away"}'],
      ["acknowledge", '{"controller":"east"}'],
      ["journal", '{"controller":"east"}'],
      ["health", ""],
      ["health", "not JSON"],
      ["health", '{"transaction":"t"}'],
    ] as const)
      expect(await ask(name, payload), `${name} ${payload}`).toMatchObject({ status: "ok" });
    const past = await ask("journal", '{"controller":"gone"}');
    expect(past).toMatchObject({ status: "ok", data: { records: [{ type: "result" }] } });
    expect(await ask("journal", '{"controller":"gone","since":"0s"}')).toMatchObject({ status: "ok" });
  });
});
