import { describe, expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { PublishError, type PublishErrorKind } from "../../src/mqtt/connection/publish.js";
import { EventOutbox } from "../../src/mqtt/result-outbox.js";

const event = (n: number): BridgeEvent => ({
  type: "account_empty",
  severity: "warning",
  message: `number ${n}`,
  at: 0,
});

function outboxOn(link: { ends: PublishErrorKind | null }) {
  const told: string[] = [];
  const failed: unknown[] = [];
  const outbox = new EventOutbox({
    publish: (document) => {
      if (link.ends !== null) return Promise.reject(new PublishError(link.ends, link.ends));
      told.push((JSON.parse(document) as { message: string }).message);
      return Promise.resolve();
    },
    failed: (error) => failed.push(error),
  });
  return { outbox, told, failed };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("an event", () => {
  it.each(["offline", "unacknowledged"] as const)(
    "that ended %s follows once with the next link, in its order",
    async (ends) => {
      const link: { ends: PublishErrorKind | null } = { ends };
      const { outbox, told } = outboxOn(link);
      outbox.send(event(1));
      outbox.send(event(2));
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
    const { outbox, told, failed } = outboxOn(link);
    outbox.send(event(1));
    await settled();
    link.ends = null;
    outbox.connected();
    await settled();
    expect(told).toEqual([]);
    expect(failed).toHaveLength(1);
  });

  it("of a long outage is kept while it is among the newest hundred", async () => {
    const link: { ends: PublishErrorKind | null } = { ends: "offline" };
    const { outbox, told } = outboxOn(link);
    for (let n = 1; n <= 150; n++) outbox.send(event(n));
    await settled();
    link.ends = null;
    outbox.connected();
    await settled();
    expect(told).toHaveLength(100);
    expect(told.at(0)).toBe("number 51");
  });
});
