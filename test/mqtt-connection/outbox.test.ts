import { describe, expect, it } from "vitest";
import { Outbox, type Exit, type Parcel } from "../../src/mqtt/connection/outbox.js";
import { defaultLimits } from "../../src/mqtt/connection/settings.js";
import { manualClock } from "./support.js";

function recordingExit() {
  const sent: string[] = [];
  const forgotten: number[] = [];
  const acks: ((error: Error | null) => void)[] = [];
  const exit: Exit = {
    send: (parcel, done) => {
      sent.push(parcel.topic);
      acks.push(done);
      return acks.length;
    },
    write: (parcel) => sent.push(`${parcel.topic} 0`),
    forget: (id) => forgotten.push(id),
  };
  return { exit, sent, forgotten, acks };
}

const parcel = (topic: string, bytes = 10): Parcel => ({ topic, payload: "x", options: {}, bytes });
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
  const clock = manualClock();
  const outbox = new Outbox({ ...defaultLimits, ...limits }, clock, "mark");
  const exit = recordingExit();
  outbox.open(exit.exit, { receiveMaximum, maximumQos });
  return { clock, outbox, ...exit };
}

describe("the outbox", () => {
  it("keeps no more unacknowledged publishes under way than the window, and their order", async () => {
    const { outbox, sent, acks } = opened({ window: 2 });
    const all = ["a", "b", "c", "d"].map((topic) => outbox.publish(parcel(topic)));
    expect(sent).toEqual(["a", "b"]);
    acks[1]?.(null);
    expect(sent).toEqual(["a", "b", "c"]);
    acks[0]?.(null);
    acks[2]?.(null);
    acks[3]?.(null);
    await Promise.all(all);
    expect(sent).toEqual(["a", "b", "c", "d"]);
    expect(outbox.counters).toMatchObject({ published: 4, inFlight: 0, waiting: 0 });
  });

  it("respects a broker that takes less at once (MQTT 5 receive maximum)", () => {
    const { outbox, sent } = opened({ window: 512 }, 1);
    void kindOf(outbox.publish(parcel("a")));
    void kindOf(outbox.publish(parcel("b")));
    expect(sent).toEqual(["a"]);
  });

  it("refuses what exceeds the bounds in number or bytes, and counts it", async () => {
    const { outbox } = opened({ window: 1, maxWaiting: 2, maxWaitingBytes: 100 });
    void kindOf(outbox.publish(parcel("under way")));
    void kindOf(outbox.publish(parcel("waits")));
    expect(await kindOf(outbox.publish(parcel("too large", 91)))).toBe("busy");
    void kindOf(outbox.publish(parcel("waits too")));
    expect(await kindOf(outbox.publish(parcel("one too many")))).toBe("busy");
    expect(outbox.counters).toMatchObject({ dropped: 2, waiting: 2 });
  });

  it("gives up on what is not acknowledged in time, frees its place and forgets it (36)", async () => {
    const { outbox, clock, sent, forgotten, acks } = opened({ window: 1, ackTimeoutMs: 10_000 });
    const first = kindOf(outbox.publish(parcel("a")));
    void kindOf(outbox.publish(parcel("b")));
    await clock.advance(9_999);
    expect(outbox.sweep()).toBe(0);
    await clock.advance(1);
    expect(outbox.sweep()).toBe(1);
    expect(await first).toBe("unacknowledged");
    expect(sent).toEqual(["a", "b"]);
    expect(forgotten).toEqual([1]);
    acks[0]?.(null);
    expect(outbox.counters).toMatchObject({ unacknowledged: 1, published: 0, inFlight: 1 });
  });

  it("tells a refusal of the broker from an acknowledgement", async () => {
    const { outbox, acks } = opened();
    const publish = kindOf(outbox.publish(parcel("a")));
    acks[0]?.(new Error("Publish error: Not authorized"));
    expect(await publish).toBe("refused");
    expect(outbox.counters).toMatchObject({ publishRefused: 1, published: 0 });
  });

  it("loses everything with the link and keeps nothing for the next one", async () => {
    const { outbox } = opened({ window: 1 });
    const all = ["a", "b", "c"].map((topic) => kindOf(outbox.publish(parcel(topic))));
    outbox.close("gone");
    expect(await Promise.all(all)).toEqual(["offline", "offline", "offline"]);
    const next = recordingExit();
    outbox.open(next.exit, { receiveMaximum: null, maximumQos: 2 });
    expect(next.sent).toEqual([]);
    expect(outbox.counters).toMatchObject({ dropped: 3, waiting: 0, inFlight: 0 });
  });

  it("is ready when nothing waits and the window has room, and when there is no link", async () => {
    const { outbox, acks } = opened({ window: 1 });
    await outbox.ready();
    void kindOf(outbox.publish(parcel("a")));
    let ready = false;
    const waiting = outbox.ready().then(() => {
      ready = true;
    });
    await Promise.resolve();
    expect(ready).toBe(false);
    acks[0]?.(null);
    await waiting;
    void kindOf(outbox.publish(parcel("b")));
    const again = outbox.ready();
    outbox.close("gone");
    await again;
    await outbox.ready();
  });
});

describe("what is published with QoS 0", () => {
  const light = (topic: string): Parcel => ({ ...parcel(topic), options: { qos: 0 } });
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
    const { outbox, sent, acks } = opened();
    const seen = ends([outbox.publish(light("a")), outbox.publish(light("b")), outbox.publish(parcel("c"))]);
    void kindOf(outbox.publish(light("d")));
    expect(sent).toEqual(["a 0", "b 0", "c", "d 0"]);
    expect(await seen()).toEqual([]);
    acks[0]?.(null);
    expect(await seen()).toEqual(["0 done", "1 done", "2 done"]);
    expect(outbox.counters).toMatchObject({ published: 3, inFlight: 1 });
  });

  it("is followed by a mark where nothing else follows; a refused mark proves it too", async () => {
    const { outbox, sent, acks } = opened();
    const seen = ends([outbox.publish(light("a"))]);
    outbox.sweep();
    outbox.sweep();
    expect(sent).toEqual(["a 0", "mark"]);
    acks[0]?.(new Error("Publish error: Not authorized"));
    expect(await seen()).toEqual(["0 done"]);
    outbox.sweep();
    expect(sent).toEqual(["a 0", "mark"]);
    expect(outbox.counters).toMatchObject({ published: 1, publishRefused: 0, inFlight: 0 });
  });

  it("goes out by the window, each half of it with one mark, however little QoS 1 the broker takes", async () => {
    const { outbox, sent, acks } = opened({ window: 4 }, 1);
    const seen = ends(Array.from({ length: 8 }, (_, n) => outbox.publish(light(String(n)))));
    expect(sent).toEqual(["0 0", "1 0", "mark", "2 0", "3 0"]);
    acks[0]?.(null);
    expect(sent.slice(5)).toEqual(["4 0", "mark", "5 0"]);
    acks[1]?.(null);
    acks[2]?.(null);
    expect(await seen()).toHaveLength(7);
    outbox.sweep();
    acks.at(-1)?.(null);
    expect(await seen()).toHaveLength(8);
  });

  it("keeps its order with what goes with QoS 1, also in line", () => {
    const { outbox, sent, acks } = opened({ window: 512 }, 1);
    for (const one of [parcel("a"), parcel("b"), light("c"), parcel("d")]) void kindOf(outbox.publish(one));
    expect(sent).toEqual(["a"]);
    acks[0]?.(null);
    expect(sent).toEqual(["a", "b", "c 0"]);
    acks[1]?.(null);
    expect(sent).toEqual(["a", "b", "c 0", "d"]);
  });

  it("is not given up when its mark is not acknowledged: a later one proves it all", async () => {
    const { outbox, clock, sent, acks } = opened({ ackTimeoutMs: 1_000 });
    const seen = ends([outbox.publish(light("a"))]);
    outbox.sweep();
    void seen();
    const later = ends([outbox.publish(light("b"))]);
    await clock.advance(1_000);
    expect(outbox.sweep()).toBe(1);
    expect(outbox.isMute).toBe(true);
    expect(sent).toEqual(["a 0", "mark", "b 0", "mark"]);
    expect(await seen()).toEqual([]);
    acks[1]?.(null);
    expect([...(await seen()), ...(await later())]).toEqual(["0 done", "0 done"]);
    expect(outbox.isMute).toBe(false);
    expect(outbox.counters).toMatchObject({ published: 2, inFlight: 0 });
  });

  it("is lost with the link", async () => {
    const { outbox } = opened();
    const seen = ends([outbox.publish(light("a")), outbox.publish(light("b"))]);
    expect(outbox.close("gone")).toBe(2);
    expect(await seen()).toEqual(["0 offline", "1 offline"]);
    expect(outbox.counters).toMatchObject({ dropped: 2, inFlight: 0 });
  });

  it("counts as done when it is sent at a broker that acknowledges nothing at all", async () => {
    const { outbox, sent } = opened({}, null, 0);
    await outbox.publish(light("a"));
    outbox.sweep();
    expect(sent).toEqual(["a 0"]);
  });
});

describe("a broker that acknowledges nothing", () => {
  it("is told from one that leaves out some", async () => {
    const { outbox, clock, acks } = opened({ ackTimeoutMs: 1_000 });
    void kindOf(outbox.publish(parcel("left out")));
    await clock.advance(500);
    void kindOf(outbox.publish(parcel("taken")));
    acks[1]?.(null);
    await clock.advance(500);
    expect(outbox.sweep()).toBe(1);
    expect(outbox.isMute).toBe(false);
    void kindOf(outbox.publish(parcel("a")));
    await clock.advance(1_000);
    outbox.sweep();
    expect(outbox.isMute).toBe(true);
    void kindOf(outbox.publish(parcel("b")));
    acks.at(-1)?.(null);
    expect(outbox.isMute).toBe(false);
  });
});
