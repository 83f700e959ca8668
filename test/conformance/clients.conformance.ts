import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EmbeddedBroker } from "../../src/broker/broker.js";
import { until } from "../mqtt-connection/support.js";
import { startConformanceBroker } from "./bench.js";
import { type Arrival, type ClientKind, mosquittoClients, mqttJs } from "./clients.js";
import type { Version } from "./packets.js";

const run = promisify(execFile);

/** The kind, or nothing and a word about it where it cannot be had. */
async function available(
  kind: ClientKind,
  ...[command = "", ...args]: readonly string[]
): Promise<ClientKind[]> {
  try {
    await run(command, args);
    return [kind];
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
    process.stdout.write(`\n*** NOT RUN: ${kind.name}: ${why ?? ""} ***\n\n`);
    return [];
  }
}

const mosquittoPrograms = "command -v mosquitto_pub && command -v mosquitto_sub && command -v stdbuf";
const kinds: readonly ClientKind[] = [
  mqttJs,
  ...(await available(mosquittoClients, "sh", "-c", mosquittoPrograms)),
];

const brokers: EmbeddedBroker[] = [];
beforeAll(async () => {
  brokers.push(await startConformanceBroker());
});
afterAll(() => brokers[0]?.close());

const lanes = kinds.flatMap((kind, n) =>
  ([4, 5] as const).map((version) => ({
    kind,
    version,
    name: kind.name,
    mqtt: version === 5 ? "5" : "3.1.1",
    topic: `clients/${n}/${version}`,
  })),
);

describe.concurrent.each(lanes)("$name, MQTT $mqtt", ({ kind, version, topic }) => {
  const as = (id: string): Arrival => arrivalOf(version, `${topic}/${id}`);

  it("comes in with its login, and not with a wrong one", async () => {
    const message = { topic: `${topic}/login`, payload: "in", qos: 1 } as const;
    await kind.publish(as("welcome"), message);
    await expect(kind.publish({ ...as("stranger"), username: "nobody" }, message)).rejects.toThrow();
  });

  it("gets what it sends, with each QoS", async () => {
    const reader = await kind.subscribe(as("reader"), { topic: `${topic}/round` });
    for (const qos of [0, 1, 2] as const) {
      await kind.publish(as("writer"), { topic: `${topic}/round`, payload: `of ${qos}`, qos });
      await until(() => reader.lines.length > qos, `the message of QoS ${qos}`);
    }
    expect(reader.lines).toEqual(["0 0 of 0", "1 0 of 1", "2 0 of 2"]);
    await reader.leave();
  });

  it("finds what is retained, until it is cleared", async () => {
    const kept = { topic: `${topic}/kept`, qos: 1, retain: true } as const;
    await kind.publish(as("engine"), { ...kept, payload: "kept" });
    const first = await kind.subscribe(as("early"), kept);
    await until(() => first.lines.length > 0, "what is retained");
    expect(first.lines).toEqual(["1 1 kept"]);
    await first.leave();
    await kind.publish(as("engine"), { ...kept, payload: "" });
    const second = await kind.subscribe(as("late"), kept);
    await kind.publish(as("engine"), { ...kept, payload: "live", retain: false });
    await until(() => second.lines.length > 0, "what came live");
    expect(second.lines).toEqual(["1 0 live"]);
    await second.leave();
  });

  it("leaves a will when it vanishes", async () => {
    const heir = await kind.subscribe(as("heir"), { topic: `${topic}/will` });
    const will = { topic: `${topic}/will`, payload: "vanished", qos: 1 } as const;
    await (await kind.subscribe(as("testator"), { topic: `${topic}/none`, will })).vanish();
    await until(() => heir.lines.length > 0, "the will");
    expect(heir.lines).toEqual(["1 0 vanished"]);
    await heir.leave();
  });

  it("comes back to its session, and to what it missed", async () => {
    const session = { topic: `${topic}/session`, lasting: true };
    await (await kind.subscribe(as("traveller"), session)).leave();
    for (const qos of [1, 2] as const)
      await kind.publish(as("home"), { topic: session.topic, payload: `of ${qos}`, qos });
    const back = await kind.subscribe(as("traveller"), session);
    await until(() => back.lines.length > 1, "what it missed");
    expect(back.lines).toEqual(["1 0 of 1", "2 0 of 2"]);
    await back.leave();
  });
});

function arrivalOf(version: Version, id: string): Arrival {
  const [broker] = brokers;
  if (broker === undefined) throw new Error("there is no broker");
  return { port: broker.port, version, id: id.replaceAll("/", "-") };
}
