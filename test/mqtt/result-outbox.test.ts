import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { PublishError } from "../../src/mqtt/connection/publish.js";
import { type ResultAddress, resultDelivery, resultOutbox } from "../../src/mqtt/outbox.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { capturedLog } from "../mqtt-connection/support.js";

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
  const made = resultOutbox({ link: { publish }, monotonic: () => time.now }, log);
  const arrived = (id: string) => () => {
    delivered.push(id);
  };
  const send = async (id: string, to = address) => {
    made.send(resultDelivery(topics, result(id), to, arrived(id)));
    await settled();
  };
  const connect = async () => {
    link.isUp = true;
    made.connected();
    await settled();
  };
  return { made, link, time, failing, told, everywhere, delivered, arrived, send, connect, lines };
}

/** Lets every promise that can resolve by itself do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the answer to a message that came twice", () =>
  it("goes to whoever sent it, and not to the topic of all the controller's results", async () => {
    const { made, everywhere, connect } = outbox();
    await connect();
    made.send(
      resultDelivery(
        topics,
        { ...result("again"), outcome: "refused", reason: "duplicate" },
        address,
        () => undefined,
      ),
    );
    await settled();
    expect(everywhere).toEqual(["greenhouse/east/actuator/fan/result again"]);
  }));

describe("a result", () => {
  it("made before the first link goes out with it, once and as new", async () => {
    const { made, told, delivered, arrived, connect } = outbox();
    made.send(resultDelivery(topics, result("early"), address, arrived("early")));
    await settled();
    expect(told).toEqual([]);
    await connect();
    await connect();
    expect(told).toEqual(["early new"]);
    expect(delivered).toEqual(["early"]);
  });

  it("of an earlier run goes out with the first link, once and as repeated, and is told to have arrived", async () => {
    const { made, told, delivered, arrived, connect } = outbox();
    made.restore(resultDelivery(topics, result("old"), address, arrived("old")));
    await connect();
    await connect();
    expect(told).toEqual(["old repeated"]);
    expect(delivered).toEqual(["old"]);
  });

  it("that met a dead broker follows with the next link as repeated", async () => {
    const { made, link, told, delivered, arrived, connect } = outbox();
    await connect();
    made.send(resultDelivery(topics, result("first"), address, arrived("first")));
    await settled();
    link.isUp = false;
    made.send(resultDelivery(topics, result("lost"), address, arrived("lost")));
    await settled();
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
    made.connected();
    expect(delivered).toHaveLength(1_001);
    expect(made.waiting).toBe(0);
  });

  it("that a broker never acknowledges is dropped after 24 h also while the link stays up", async () => {
    const { made, time, failing, delivered, send, connect } = outbox();
    await connect();
    failing.set("greenhouse/east/result", () => new PublishError("unacknowledged", "not within 10 s"));
    await send("unanswered");
    expect(delivered).toEqual([]);
    time.now = 24 * 3_600_000;
    made.tick();
    expect(delivered).toEqual(["unanswered"]);
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

  it("that met a busy broker is told when the link has stood a while, once", async () => {
    const { made, failing, everywhere, delivered, send, connect } = outbox();
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
    expect(delivered).toEqual(["one"]);
  });

  it("that is given up keeps a later result from no topic, and it is tried with the next result", async () => {
    const { failing, everywhere, send, connect } = outbox();
    await connect();
    failing.set(answers, denied);
    await send("one", asking);
    failing.clear();
    await send("two", asking);
    expect(everywhere.filter((line) => line.startsWith(answers))).toEqual([`${answers} two`]);
  });

  it("that is given up is in the log once, with the reason and the remedy", async () => {
    const { failing, send, connect, lines } = outbox();
    await connect();
    failing.set(answers, denied);
    for (const id of ["one", "two"]) await send(id, asking);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^warn .*check its access list.*ask for the answer on another topic.*answers\/1/,
    );
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

  it("brings what was made while the broker was away once more, on our own topics, and nothing twice", async () => {
    const { made, link, everywhere, send, connect } = outbox();
    await connect();
    await send("before");
    link.isUp = false;
    await send("meanwhile", asked);
    await connect();
    await send("after");
    everywhere.length = 0;
    made.repeatLate();
    await settled();
    expect(everywhere).toEqual([
      "greenhouse/east/actuator/fan/result meanwhile",
      "greenhouse/east/result meanwhile",
    ]);
    made.repeatLate();
    await settled();
    expect(everywhere).toHaveLength(2);
  });

  it("brings it marked as repeated, also what waited for the first link", async () => {
    const { made, told, delivered, send, connect } = outbox();
    await send("early");
    await connect();
    made.repeatLate();
    await settled();
    expect(told).toEqual(["early new", "early repeated"]);
    expect(delivered).toEqual(["early"]);
  });

  it("brings what several short links did not take once, and not once for each of them", async () => {
    const { made, link, failing, everywhere, send, connect } = outbox();
    await send("one");
    failing.set(own, away).set(all, away);
    for (let n = 0; n < 3; n += 1) await connect();
    link.isUp = false;
    failing.clear();
    await connect();
    everywhere.length = 0;
    made.repeatLate();
    await settled();
    expect(everywhere).toEqual([own, all].map((at) => `${at} one`));
  });

  it("brings the newest 1,000 at most", async () => {
    const { made, everywhere, send, connect } = outbox();
    for (let n = 0; n < 1_100; n += 1) await send(`${n}`);
    await connect();
    everywhere.length = 0;
    made.repeatLate();
    await settled();
    expect(everywhere).toHaveLength(2_000);
  });

  it("brings nothing that is older than a day", async () => {
    const { made, time, everywhere, send, connect } = outbox();
    await send("old");
    await connect();
    everywhere.length = 0;
    time.now += 24 * 3_600_000;
    made.repeatLate();
    await settled();
    expect(everywhere).toEqual([]);
  });
});
