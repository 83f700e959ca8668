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

function opened(limits: Partial<typeof defaultLimits> = {}, receiveMaximum: number | null = null) {
  const clock = manualClock();
  const outbox = new Outbox({ ...defaultLimits, ...limits }, clock);
  const exit = recordingExit();
  outbox.open(exit.exit, receiveMaximum);
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
    outbox.open(next.exit, null);
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
