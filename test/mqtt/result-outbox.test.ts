import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { PublishError } from "../../src/mqtt/connection/publish.js";
import { type ResultAddress, resultDelivery, resultOutbox } from "../../src/mqtt/outbox.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { settled } from "../support/virtual-clock.js";

const topics = topicsUnder("greenhouse");
const address: ResultAddress = {
  controllerId: "east",
  target: "actuator",
  targetId: "fan",
  response: null,
};

const result = (id: string): CommandResult => ({
  ...{ id, controller: "east", actuator: "fan", command: "on", value: "1010" },
  ...{ outcome: "confirmed", reason: null, message: null, request_id: null, by: null, via: null },
  ...{ steps: [], read_back: "1010", received_at: "", sent_at: "", finished_at: "", duration_ms: 0 },
  ...{ repeated: false, interlock: null },
});

const over = (code: number) => Object.assign(new Error(`Publish error: ${code}`), { code });
const denied = (code = 0x87) =>
  new PublishError("refused", "the broker refused it; check its access list", { cause: over(code) });
const impossible = () => new PublishError("invalid", "not published: the topic is longer than 512 bytes");
const away = () => new PublishError("offline", "not connected to the broker");

function outbox() {
  const link = { isUp: false };
  const time = { now: 0 };
  /** Why a topic cannot be published on. */
  const failing = new Map<string, () => Error>();
  const told: string[] = [];
  const everywhere: string[] = [];
  const delivered: string[] = [];
  const publish = (topic: string, payload: string) => {
    const { id, repeated } = JSON.parse(payload) as CommandResult;
    const failure = failing.get(topic) ?? (link.isUp ? null : away);
    if (failure !== null) return Promise.reject(failure());
    if (topic.endsWith("/fan/result")) told.push(`${id} ${repeated ? "repeated" : "new"}`);
    everywhere.push(`${topic} ${id}`);
    return Promise.resolve();
  };
  const { log, lines } = capturedLog();
  const made = resultOutbox({ link: { publish }, clock: { monotonic: () => time.now } }, log);
  const arrived = (id: string) => () => {
    delivered.push(id);
  };
  const send = async (id: string, to = address) => {
    made.send(resultDelivery(topics, result(id), to, arrived(id)));
    await settled();
  };
  const connect = async () => {
    link.isUp = true;
    made.onConnected();
    await settled();
  };
  return { made, link, time, failing, told, everywhere, delivered, arrived, send, connect, lines };
}

/** Lets every promise that can resolve by itself do so. */

it("the answer to a message that came twice goes to whoever sent it, and not to the topic of all the controller's results", async () => {
  const { made, everywhere, connect } = outbox();
  await connect();
  const duplicate = { ...result("again"), outcome: "refused", reason: "duplicate" } as const;
  made.send(resultDelivery(topics, duplicate, address, () => undefined));
  await settled();
  expect(everywhere).toEqual(["greenhouse/east/actuator/fan/result again"]);
});

describe("a result", () => {
  it("made before the first link goes out with it as new, one of an earlier run as repeated, each once", async () => {
    const { made, told, delivered, arrived, send, connect } = outbox();
    made.restore(resultDelivery(topics, result("old"), address, arrived("old")));
    await send("early");
    expect(told).toEqual([]);
    await connect();
    await connect();
    expect(told).toEqual(["old repeated", "early new"]);
    expect(delivered).toEqual(["old", "early"]);
  });

  it("that met a dead broker follows with the next link as repeated", async () => {
    const { link, told, delivered, send, connect } = outbox();
    await connect();
    await send("first");
    link.isUp = false;
    await send("lost");
    expect(delivered).toEqual(["first"]);
    await connect();
    expect(told).toEqual(["first new", "lost repeated"]);
    expect(delivered).toEqual(["first", "lost"]);
  });

  it("dropped after 24 h, or as one of more than 1,000, is counted as done", async () => {
    const { made, time, delivered, arrived, send } = outbox();
    await send("oldest");
    for (let n = 1; n <= 1_000; n++)
      made.send(resultDelivery(topics, result(`${n}`), address, arrived(`${n}`)));
    expect(delivered).toEqual(["oldest"]);
    expect(made.waiting).toBe(1_000);
    time.now = 24 * 3_600_000 - 1;
    made.tick();
    expect(delivered).toHaveLength(1);
    time.now += 1;
    made.onConnected();
    expect(delivered).toHaveLength(1_001);
    expect(made.waiting).toBe(0);
  });
});

const [own, all, answers] = [
  "greenhouse/east/actuator/fan/result",
  "greenhouse/east/result",
  "answers/1",
] as const;
const asking: ResultAddress = { ...address, response: { topic: answers, correlationData: null } };

describe("a topic of a result", () => {
  it.each([
    ["refused by the broker", answers, denied],
    ["refused as a topic name", answers, () => denied(0x90)],
    ["that cannot be sent at all", answers, impossible],
    ["of its own that cannot be sent at all", own, impossible],
  ])("%s is given up, and the others are not told again", async (_, topic, failure) => {
    const { made, failing, everywhere, delivered, send, connect } = outbox();
    await connect();
    failing.set(topic, failure);
    await send("one", asking);
    expect(delivered).toEqual(["one"]);
    expect(made.waiting).toBe(0);
    await connect();
    expect(everywhere).toEqual([own, all, answers].filter((at) => at !== topic).map((at) => `${at} one`));
  });

  it.each([
    ["a broker over its quota", () => denied(0x97)],
    ["a busy broker", () => denied(0x89)],
    ["a link that went away", away],
    ["an acknowledgement that never came", () => new PublishError("unacknowledged", "not within 10 s")],
    ["a full line", () => new PublishError("busy", "too many publishes wait")],
  ])("that met %s is told with the next link, and it alone", async (_, failure) => {
    const { made, failing, everywhere, delivered, send, connect } = outbox();
    await connect();
    failing.set(all, failure);
    await send("one", asking);
    expect(delivered).toEqual([]);
    expect(made.waiting).toBe(1);
    failing.clear();
    await connect();
    await connect();
    expect(everywhere).toEqual([own, answers, all].map((at) => `${at} one`));
    expect(delivered).toEqual(["one"]);
  });

  it("that met a busy broker is told when the link has stood a while, once; without an acknowledgement dropped after a day", async () => {
    const { made, time, failing, everywhere, delivered, send, connect } = outbox();
    await connect();
    failing.set(all, () => denied(0x97));
    await send("one", asking);
    made.tick();
    await settled();
    failing.clear();
    made.tick();
    made.tick();
    await settled();
    expect(everywhere).toEqual([own, answers, all].map((at) => `${at} one`));
    failing.set(all, () => new PublishError("unacknowledged", "not within 10 s"));
    await send("two");
    expect(delivered).toEqual(["one"]);
    time.now = 24 * 3_600_000;
    made.tick();
    expect(delivered).toEqual(["one", "two"]);
  });

  it("that is given up is in the log once, with reason and remedy, and is tried with the next result", async () => {
    const { failing, everywhere, send, connect, lines } = outbox();
    await connect();
    failing.set(answers, denied);
    for (const id of ["one", "two"]) await send(id, asking);
    expect(lines).toEqual([
      expect.stringMatching(/^warn .*check its access list.*ask for the answer on another topic.*answers\/1/),
    ]);
    failing.clear();
    await send("three", asking);
    expect(everywhere.filter((line) => line.startsWith(answers))).toEqual([`${answers} three`]);
  });

  it("is named in the log for no more than 100 topics", async () => {
    const { failing, send, connect, lines } = outbox();
    await connect();
    for (let n = 0; n < 101; n++) {
      failing.set(`answers/${n}`, impossible);
      await send(`${n}`, { ...address, response: { topic: `answers/${n}`, correlationData: null } });
    }
    expect(lines).toHaveLength(100);
  });
});

describe("Home Assistant's birth after an outage of the broker", () => {
  const asked = { ...address, response: { topic: "clients/anna", correlationData: null } };

  /** What the birth brings. */
  const born = async ({ made, everywhere }: ReturnType<typeof outbox>) => {
    everywhere.length = 0;
    made.repeatLate();
    await settled();
    return [...everywhere];
  };
  const onOurs = (id: string) => [`${own} ${id}`, `${all} ${id}`];

  it("brings what was made while the broker was away once more, marked as repeated, on our own topics, and nothing twice", async () => {
    const one = outbox();
    await one.send("early");
    await one.connect();
    await one.send("before");
    one.link.isUp = false;
    await one.send("meanwhile", asked);
    // What several short links did not take is not brought once for each of them.
    one.failing.set(own, away).set(all, away);
    for (let n = 0; n < 3; n++) await one.connect();
    one.failing.clear();
    await one.connect();
    await one.send("after");
    one.told.length = 0;
    expect(await born(one)).toEqual([...onOurs("early"), ...onOurs("meanwhile")]);
    expect(one.told).toEqual(["early repeated", "meanwhile repeated"]);
    expect(await born(one)).toEqual([]);
  });

  it.each([
    ["the newest 1,000 at most", 0, 2_000],
    ["nothing that is older than a day", 24 * 3_600_000, 0],
  ])("brings %s", async (_, laterMs, count) => {
    const one = outbox();
    for (let n = 0; n < 1_100; n += 1) await one.send(`${n}`);
    await one.connect();
    one.time.now += laterMs;
    expect(await born(one)).toHaveLength(count);
  });
});
