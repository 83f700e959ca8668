import { describe, expect, it, vi } from "vitest";
import { journalDirectory } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import { ended } from "../journal/support/samples.js";
import { until } from "../mqtt-connection/support.js";
import { brokerAndClient, bridge, configurationOf, fanAt, leftBehind, platform } from "./support/bridge.js";

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: unknown;
  readonly transaction?: unknown;
}

interface SceneOptions {
  /** Of past commands that the journal tells of besides. */
  readonly records?: number;
  readonly maxPacketSize?: number;
}

/** A running bridge with one actuator, whose journal also tells of a controller that is gone. */
async function scene({ records = 0, maxPacketSize }: SceneOptions = {}) {
  const lost = ended("two", { controller: "gh-0001", actuator: "taken_away", outcome: "unconfirmed" });
  const problem = {
    ...{ command: "on", outcome: "unconfirmed", reason: null, message: null },
    at: new Date().toISOString(),
  };
  const dataDir = await leftBehind(
    ended("one", { controller: "gone", outcome: "confirmed" }),
    { ...lost, controller: "GH-0001", actuator: "taken_away", memory: { problem } },
    ...Array.from({ length: records }, (_, place) => ended(`past-${place}`, { outcome: "confirmed" })),
  );
  const { url, client, say, texts } = await brokerAndClient({ maxPacketSize });
  const simulator = await platform();
  const text = fanAt(url).replace("GH-0001: {", "GH-0001: { id: east,");
  const answers: Answer[] = [];
  client.on("message", (topic, payload) => {
    if (topic.startsWith("greenhouse/bridge/response/"))
      answers.push(JSON.parse(payload.toString()) as Answer);
  });
  const configuration = { ...(await configurationOf(text, simulator)), data_dir: dataDir };
  await bridge(text, simulator, { configuration });
  await until(() => texts("greenhouse/bridge/state").at(-1) === "online", "online");
  const send = (name: string, payload: string) => say(`greenhouse/bridge/request/${name}`, payload);
  const ask = async (name: string, payload: string): Promise<Answer> => {
    const before = answers.length;
    await send(name, payload);
    await until(() => answers.length > before, `an answer to ${name}`);
    return answers[before] ?? { status: "none" };
  };
  return { ask, send, answers, simulator, dataDir };
}

describe("a request", () => {
  it("that names what is unknown is an error that says so; what is known is served", async () => {
    const { ask } = await scene();
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

  it("for another log level is journaled: whoever asks for silence has left a trace", async () => {
    const { ask, dataDir } = await scene();
    expect(await ask("log_level", '{"level":"fatal"}')).toMatchObject({ status: "ok" });
    const types = new Set(["configuration_changed"] as const);
    await vi.waitFor(
      async () => {
        const records = await newestRecords(journalDirectory(dataDir), { types, limit: 5 });
        expect(records).toMatchObject([{ changes: ["log.level is fatal, by a request"] }]);
      },
      { timeout: 15_000 },
    );
  });

  it("whose answer is larger than the bridge or its broker passes on is an error that says how to get less", async () => {
    const { ask } = await scene({ records: 1_000 });
    expect(await ask("journal", '{"limit":1000,"transaction":"t"}')).toEqual({
      status: "error",
      transaction: "t",
      error: expect.stringMatching(
        /too large.* has \d{6,} bytes; at most 262144.*smaller "limit"/,
      ) as unknown,
    });
    expect(await ask("journal", '{"limit":10}')).toMatchObject({ status: "ok" });
    const narrow = await scene({ records: 100, maxPacketSize: 20_000 });
    expect(await narrow.ask("journal", '{"transaction":[1]}')).toEqual({
      status: "error",
      transaction: [1],
      error: expect.stringMatching(/too large.*the broker takes at most 20000.*smaller "limit"/) as unknown,
    });
  });

  it("for the support bundle is answered with what the bridge knows, in one message however much that is", async () => {
    const { ask } = await scene({ records: 1_000 });
    const { status, data } = await ask("bundle", "{}");
    expect(status).toBe("ok");
    expect(data).toMatchObject({
      health: { broker: { state: "online" } },
      configuration: { controllers: { "GH-0001": { id: "east" } } },
      commands: {},
      alarms: [{ type: "command_problem", controller: "east" }],
      events: [{ type: "alarm", controller: "east" }],
    });
    const { controllers, journal } = data as Readonly<Record<string, readonly unknown[]>>;
    expect(controllers).toContainEqual(
      expect.objectContaining({ code: "GH-0001", actuators: { fan: expect.anything() as unknown } }),
    );
    expect(journal?.length).toBeGreaterThan(50);
    const { data: redacted } = await ask("bundle", '{"redact":true}');
    expect(redacted).toMatchObject({ health: { broker: { state: "online" } } });
    expect(JSON.stringify(redacted)).not.toMatch(/GH-0001|"east"/);
  });
});
