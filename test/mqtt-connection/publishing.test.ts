import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PublishQueue, type QueueLink, sendable } from "../../src/mqtt/connection/publish.js";
import { type BrokerFacts, defaultLimits, type Publish } from "../../src/mqtt/connection/settings.js";
import { VirtualClock } from "../support/virtual-clock.js";

function recordingLink() {
  const sent: string[] = [];
  const forgotten: number[] = [];
  const acks: ((error: Error | null) => void)[] = [];
  const link: QueueLink = {
    publish: ({ topic }, done) => {
      sent.push(done === undefined ? `${topic} 0` : topic);
      return done === undefined ? 0 : acks.push(done);
    },
    forget: (id) => void forgotten.push(id),
  };
  return { link, sent, forgotten, acks };
}

const message = (topic: string, bytes = 10): Publish => ({ topic, payload: "x", options: {}, bytes });
const kindOf = (publish: Promise<void>) =>
  publish.then(
    () => "done",
    (error: unknown) => (error as { kind: string }).kind,
  );

function opened(
  limits: Partial<typeof defaultLimits> = {},
  receiveMaximum: number | null = null,
  maximumQos: 0 | 2 = 2,
) {
  const clock = new VirtualClock();
  const queue = new PublishQueue({ ...defaultLimits, ...limits }, clock, "mark");
  const link = recordingLink();
  queue.open(link.link, { receiveMaximum, maximumQos });
  return { clock, queue, ...link };
}

describe("the queue of publishes", () => {
  it("keeps no more unacknowledged publishes under way than the window, and their order", async () => {
    const { queue, sent, acks } = opened({ window: 2 });
    const all = ["a", "b", "c", "d"].map((topic) => queue.publish(message(topic)));
    expect(sent).toEqual(["a", "b"]);
    acks[1]?.(null);
    expect(sent).toEqual(["a", "b", "c"]);
    acks[0]?.(null);
    acks[2]?.(null);
    acks[3]?.(null);
    await Promise.all(all);
    expect(sent).toEqual(["a", "b", "c", "d"]);
    expect(queue.counters).toMatchObject({ published: 4, inFlight: 0, waiting: 0 });
  });

  it("respects a broker that takes less at once (MQTT 5 receive maximum)", () => {
    const { queue, sent } = opened({ window: 512 }, 1);
    void kindOf(queue.publish(message("a")));
    void kindOf(queue.publish(message("b")));
    expect(sent).toEqual(["a"]);
  });

  it("refuses what exceeds the bounds in number or bytes, and counts it", async () => {
    const { queue } = opened({ window: 1, maxWaiting: 2, maxWaitingBytes: 100 });
    void kindOf(queue.publish(message("under way")));
    void kindOf(queue.publish(message("waits")));
    expect(await kindOf(queue.publish(message("too large", 91)))).toBe("busy");
    void kindOf(queue.publish(message("waits too")));
    expect(await kindOf(queue.publish(message("one too many")))).toBe("busy");
    expect(queue.counters).toMatchObject({ dropped: 2, waiting: 2 });
  });

  it("gives up on what is not acknowledged in time, frees its place and forgets it", async () => {
    const { queue, clock, sent, forgotten, acks } = opened({ window: 1, ackTimeoutMs: 10_000 });
    const first = kindOf(queue.publish(message("a")));
    void kindOf(queue.publish(message("b")));
    await clock.advance(9_999);
    expect(queue.sweep()).toBe(0);
    await clock.advance(1);
    expect(queue.sweep()).toBe(1);
    expect(await first).toBe("unacknowledged");
    expect(sent).toEqual(["a", "b"]);
    expect(forgotten).toEqual([1]);
    acks[0]?.(null);
    expect(queue.counters).toMatchObject({ unacknowledged: 1, published: 0, inFlight: 1 });
  });

  it("tells a refusal of the broker from an acknowledgement", async () => {
    const { queue, acks } = opened();
    const publish = kindOf(queue.publish(message("a")));
    acks[0]?.(new Error("Publish error: Not authorized"));
    expect(await publish).toBe("refused");
    expect(queue.counters).toMatchObject({ publishRefused: 1, published: 0 });
  });

  it("loses everything with the link and keeps nothing for the next one", async () => {
    const { queue } = opened({ window: 1 });
    const light: Publish = { ...message("with QoS 0"), options: { qos: 0 } };
    const all = [light, message("a"), message("b"), message("c")].map((one) => kindOf(queue.publish(one)));
    expect(queue.close("gone")).toBe(4);
    expect(await Promise.all(all)).toEqual(all.map(() => "offline"));
    const next = recordingLink();
    queue.open(next.link, { receiveMaximum: null, maximumQos: 2 });
    expect(next.sent).toEqual([]);
    expect(queue.counters).toMatchObject({ dropped: 4, waiting: 0, inFlight: 0 });
  });

  it("is ready when nothing waits and the window has room, and when there is no link", async () => {
    const { queue, acks } = opened({ window: 1 });
    await queue.ready();
    void kindOf(queue.publish(message("a")));
    let ready = false;
    const waiting = queue.ready().then(() => {
      ready = true;
    });
    await Promise.resolve();
    expect(ready).toBe(false);
    acks[0]?.(null);
    await waiting;
    void kindOf(queue.publish(message("b")));
    const again = queue.ready();
    queue.close("gone");
    await again;
    await queue.ready();
  });
});

describe("what is published with QoS 0", () => {
  const light = (topic: string): Publish => ({ ...message(topic), options: { qos: 0 } });
  const ends = (publishes: readonly Promise<void>[]) => {
    const seen: string[] = [];
    for (const [n, publish] of publishes.entries())
      void kindOf(publish).then((end) => seen.push(`${n} ${end}`));
    return async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return seen;
    };
  };

  it("is with the broker once something sent behind it is acknowledged, and not before", async () => {
    const { queue, sent, acks } = opened();
    const seen = ends([queue.publish(light("a")), queue.publish(light("b")), queue.publish(message("c"))]);
    void kindOf(queue.publish(light("d")));
    expect(sent).toEqual(["a 0", "b 0", "c", "d 0"]);
    expect(await seen()).toEqual([]);
    acks[0]?.(null);
    expect(await seen()).toEqual(["0 done", "1 done", "2 done"]);
    // The last one and its mark.
    expect(queue.counters).toMatchObject({ published: 3, inFlight: 2 });
  });

  it("is followed by a mark where nothing else follows; a refused mark proves it too", async () => {
    const { queue, sent, acks } = opened();
    const seen = ends([queue.publish(light("a"))]);
    queue.sweep();
    queue.sweep();
    expect(sent).toEqual(["a 0", "mark"]);
    acks[0]?.(new Error("Publish error: Not authorized"));
    expect(await seen()).toEqual(["0 done"]);
    queue.sweep();
    expect(sent).toEqual(["a 0", "mark"]);
    expect(queue.counters).toMatchObject({ published: 1, publishRefused: 0, inFlight: 0 });
  });

  it("takes a mark along after a pause, and in a row one for each second", async () => {
    const { queue, clock, sent, acks } = opened();
    const publishAll = (...topics: readonly string[]) =>
      ends(topics.map((topic) => queue.publish(light(topic))));
    const seen = publishAll("a", "b");
    await Promise.resolve();
    expect(sent).toEqual(["a 0", "b 0", "mark"]);
    acks[0]?.(null);
    expect(await seen()).toEqual(["0 done", "1 done"]);
    await publishAll("c")();
    expect(sent).toEqual(["a 0", "b 0", "mark", "c 0"]);
    await clock.advance(1_000);
    queue.sweep();
    expect(sent).toEqual(["a 0", "b 0", "mark", "c 0", "mark"]);
  });

  it("goes out by the window, each half of it with one mark, however little QoS 1 the broker takes", async () => {
    const { queue, sent, acks } = opened({ window: 4 }, 1);
    const seen = ends(Array.from({ length: 8 }, (_, n) => queue.publish(light(String(n)))));
    expect(sent).toEqual(["0 0", "1 0", "mark", "2 0", "3 0"]);
    acks[0]?.(null);
    expect(sent.slice(5)).toEqual(["4 0", "mark", "5 0"]);
    acks[1]?.(null);
    acks[2]?.(null);
    expect(await seen()).toHaveLength(7);
    queue.sweep();
    acks.at(-1)?.(null);
    expect(await seen()).toHaveLength(8);
  });

  it("keeps its order with what goes with QoS 1, also in line", () => {
    const { queue, sent, acks } = opened({ window: 512 }, 1);
    for (const one of [message("a"), message("b"), light("c"), message("d")]) void kindOf(queue.publish(one));
    expect(sent).toEqual(["a"]);
    acks[0]?.(null);
    expect(sent).toEqual(["a", "b", "c 0"]);
    acks[1]?.(null);
    expect(sent).toEqual(["a", "b", "c 0", "d"]);
  });

  it("is not given up when its mark is not acknowledged: a later one proves it all", async () => {
    const { queue, clock, sent, acks } = opened({ ackTimeoutMs: 1_000 });
    const seen = ends([queue.publish(light("a"))]);
    queue.sweep();
    void seen();
    const later = ends([queue.publish(light("b"))]);
    await clock.advance(1_000);
    expect(queue.sweep()).toBe(1);
    expect(queue.isMute).toBe(true);
    expect(sent).toEqual(["a 0", "mark", "b 0", "mark"]);
    expect(await seen()).toEqual([]);
    acks[1]?.(null);
    expect([...(await seen()), ...(await later())]).toEqual(["0 done", "0 done"]);
    expect(queue.isMute).toBe(false);
    expect(queue.counters).toMatchObject({ published: 2, inFlight: 0 });
  });

  it("counts as done when it is sent at a broker that acknowledges nothing at all", async () => {
    const { queue, sent } = opened({}, null, 0);
    await queue.publish(light("a"));
    queue.sweep();
    expect(sent).toEqual(["a 0"]);
  });
});

describe("a broker that acknowledges nothing", () =>
  it("is told from one that leaves out some", async () => {
    const { queue, clock, acks } = opened({ ackTimeoutMs: 1_000 });
    void kindOf(queue.publish(message("left out")));
    await clock.advance(500);
    void kindOf(queue.publish(message("taken")));
    acks[1]?.(null);
    await clock.advance(500);
    expect(queue.sweep()).toBe(1);
    expect(queue.isMute).toBe(false);
    void kindOf(queue.publish(message("a")));
    await clock.advance(1_000);
    queue.sweep();
    expect(queue.isMute).toBe(true);
    void kindOf(queue.publish(message("b")));
    acks.at(-1)?.(null);
    expect(queue.isMute).toBe(false);
  }));

const able: BrokerFacts = {
  protocolVersion: 5,
  maximumPacketSize: null,
  receiveMaximum: null,
  maximumQos: 2,
  retainAvailable: true,
};

function problem(topic: string, payload: string | Buffer = "", maximumPacketSize: number | null = null) {
  const facts = { ...able, maximumPacketSize };
  const one = sendable(topic, payload, {}, { maxPayloadBytes: 256 * 1024, facts });
  return typeof one === "string" ? one : null;
}

describe("the last check before the wire", () => {
  it.each([
    ["the topics of the bridge", "greenhouse/east/actuator/roof/state", null],
    ["other scripts and emoji", "greenhouse/东区/🌱", null],
    ["512 bytes", "é".repeat(256), null],
    ["an empty topic", "", "empty"],
    ["more than 512 bytes", "é".repeat(257), "512 bytes"],
    ["#", "greenhouse/#", "holds #"],
    ["+", "greenhouse/+/state", "holds #"],
    ["NUL", "greenhouse/a\0b", "holds #"],
    ["a lone high surrogate", "greenhouse/\ud83c", "half a character"],
    ["a lone low surrogate", "greenhouse/\udf31/x", "half a character"],
    ["101 levels", Array.from({ length: 101 }, () => "a").join("/"), "levels"],
  ])("judges %s", (_, topic, expected) => {
    if (expected === null) expect(problem(topic)).toBeNull();
    else expect(problem(topic)).toContain(expected);
  });

  it("names no more than the beginning of a hostile topic", () =>
    expect(problem(`${"x".repeat(70_000)}#`)?.length).toBeLessThan(200));

  it.each([
    ["256 KiB", Buffer.alloc(256 * 1024), null, null],
    ["one byte more", Buffer.alloc(256 * 1024 + 1), null, "at most 262144"],
    ["characters counted as bytes", "温".repeat(90_000), null, "270000 bytes"],
    ["less than the broker's limit", "x".repeat(900), 1_000, null],
    ["more than the broker's limit", "x".repeat(1_000), 1_000, "max_packet_size"],
  ])("judges a payload of %s", (_, payload, brokerLimit, expected) => {
    if (expected === null) expect(problem("a/b", payload, brokerLimit)).toBeNull();
    else expect(problem("a/b", payload, brokerLimit)).toContain(expected);
  });

  it("counts correlation data against the broker's limit", () => {
    const responseProperties = { correlationData: Buffer.alloc(1_000) };
    const one = sendable("a", "b", { responseProperties }, { maxPayloadBytes: 10, facts: able });
    expect(one).toMatchObject({ options: { responseProperties } });
    expect(typeof one === "object" && one.bytes).toBeGreaterThan(1_000);
  });

  it("lets no text through that MQTT forbids in a topic", () =>
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600 }), (topic) => {
        if (problem(topic) !== null) return;
        expect(topic).not.toMatch(/[#+\0]/);
        expect(Buffer.from(topic).toString()).toBe(topic);
        expect(Buffer.byteLength(topic)).toBeGreaterThan(0);
        expect(Buffer.byteLength(topic)).toBeLessThanOrEqual(512);
      }),
      { numRuns: 500 },
    ));
});
