import { describe, expect, it } from "vitest";
import { PublishError, type PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { Outbox } from "../../src/mqtt/outbox.js";

function outboxOn(link: { ends: PublishErrorKind | null }) {
  const told: string[] = [];
  const failed: unknown[] = [];
  const outbox = new Outbox({
    link: {
      publish: (_, payload) => {
        if (link.ends !== null) return Promise.reject(new PublishError(link.ends, link.ends));
        told.push(payload);
        return Promise.resolve();
      },
    },
    monotonic: () => 0,
    most: 100,
    longestMs: Infinity,
    gaveUp: (_, error) => failed.push(error),
  });
  outbox.connected();
  const raise = (n: number) => {
    const destinations = [{ topic: "greenhouse/bridge/event", options: { qos: 1 as const }, isOwn: true }];
    outbox.send({ controllerId: null, destinations, payload: () => `number ${n}` });
  };
  return { outbox, raise, told, failed };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("an event", () => {
  it.each(["offline", "unacknowledged"] as const)(
    "that ended %s follows once with the next link, in its order",
    async (ends) => {
      const link: { ends: PublishErrorKind | null } = { ends };
      const { outbox, raise, told } = outboxOn(link);
      raise(1);
      raise(2);
      await settled();
      link.ends = null;
      outbox.connected();
      outbox.connected();
      await settled();
      expect(told).toEqual(["number 1", "number 2"]);
    },
  );

  it("that the broker refuses is not tried again", async () => {
    const link: { ends: PublishErrorKind | null } = { ends: "refused" };
    const { outbox, raise, told, failed } = outboxOn(link);
    raise(1);
    await settled();
    link.ends = null;
    outbox.connected();
    await settled();
    expect(told).toEqual([]);
    expect(failed).toHaveLength(1);
  });

  it("of a long outage is kept while it is among the newest hundred", async () => {
    const link: { ends: PublishErrorKind | null } = { ends: "offline" };
    const { outbox, raise, told } = outboxOn(link);
    for (let n = 1; n <= 150; n++) raise(n);
    await settled();
    link.ends = null;
    outbox.connected();
    await settled();
    expect(told).toHaveLength(100);
    expect(told.at(0)).toBe("number 51");
  });
});
