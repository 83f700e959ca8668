import { describe, expect, it } from "vitest";
import { EarlierPhases, type PhaseTarget, type CommandFacts } from "../../src/commands/phases.js";

const fan: PhaseTarget = { controllerId: "east", target: "actuator", targetId: "fan" };
const fanTopic = "greenhouse/east/actuator/fan/command";

const at = (minute: number) => new Date(Date.UTC(2026, 4, 1, 6, minute)).toISOString();

const told = (id: string, minute: number): CommandFacts => ({
  ...{ id, command: "on", value: "1010", by: null, via: null },
  received_at: at(minute),
});

const document = (id: string, minute: number, phase: string) =>
  JSON.stringify({ ...told(id, minute), phase });

/** A broker that holds these documents. */
function broker(held: Readonly<Record<string, string>>) {
  const shown: string[] = [];
  const asked: (readonly string[])[] = [];
  const during = { scan: () => Promise.resolve() };
  const earlier = new EarlierPhases({
    base: "greenhouse",
    phases: {
      topicOf: ({ controllerId, target, targetId }) =>
        `greenhouse/${controllerId}/${target}/${targetId}/command`,
      endedBefore: ({ targetId }, { id }) => shown.push(`${targetId} ${id}`),
    },
    scan: async (filters, found) => {
      asked.push(filters);
      for (const [topic, payload] of Object.entries(held)) found(topic, Buffer.from(payload));
      await during.scan();
    },
  });
  return { earlier, shown, asked, during };
}

describe("a command that ended in an earlier run is shown to have ended", () => {
  it.each<[string, readonly CommandFacts[], string | null, readonly string[]]>([
    ["where the topic still shows it on its way", [told("A", 1)], document("A", 1, "confirming"), ["fan A"]],
    ["not where the topic shows that already", [told("A", 1)], document("A", 1, "done"), []],
    ["where the broker lost the topic", [told("A", 1)], null, ["fan A"]],
    [
      "where the topic shows an older one, of an old store",
      [told("A", 1)],
      document("Z", 0, "done"),
      ["fan A"],
    ],
    [
      "not where the topic shows a newer one, of which no record was made: that one is not on its way any more either",
      [told("A", 1)],
      document("B", 2, "checking"),
      ["fan B"],
    ],
    [
      "not where the topic shows that a newer one has ended, of which no record was made",
      [told("A", 1)],
      document("B", 2, "done"),
      [],
    ],
    [
      "also where nothing is known of the command that the topic shows on its way",
      [],
      document("B", 2, "waiting"),
      ["fan B"],
    ],
    [
      "not where nothing is known of what the topic shows, and that is no document of ours",
      [],
      '{"phase":"waiting"}',
      [],
    ],
    [
      "not where its id was used again since: that one has",
      [told("A", 1)],
      document("A", 2, "checking"),
      ["fan A"],
    ],
    ["the newest of several", [told("A", 1), told("B", 2)], document("A", 1, "confirming"), ["fan B"]],
    [
      "the one shown, where it came last and ended first",
      [told("B", 2), told("A", 1)],
      document("B", 2, "waiting"),
      ["fan B"],
    ],
    [
      "the last one, whatever a clock that was set back said meanwhile",
      [told("A", 9), told("B", 2)],
      document("B", 2, "confirming"),
      ["fan B"],
    ],
    ["where the topic holds nothing of ours", [told("A", 1)], "confirming", ["fan A"]],
  ])("%s", async (_, ended, held, shows) => {
    const { earlier, shown } = broker(held === null ? {} : { [fanTopic]: held });
    for (const one of ended) earlier.ended(fan, one);
    await earlier.connected();
    expect(shown).toEqual(shows);
  });

  it("once, and the broker is asked with each start, for all of them together", async () => {
    const { earlier, shown, asked } = broker({});
    earlier.ended(fan, told("A", 1));
    earlier.ended({ ...fan, targetId: "heater" }, told("B", 1));
    earlier.ended({ ...fan, target: "parameter", targetId: "ec" }, told("C", 1));
    await earlier.connected();
    await earlier.connected();
    expect(asked).toEqual([["greenhouse/+/+/+/command"]]);
    expect(shown).toEqual(["fan A", "heater B", "ec C"]);
  });

  it("with the next link, where the first is lost before the broker has shown all", async () => {
    const { earlier, shown, during } = broker({});
    earlier.ended(fan, told("A", 1));
    during.scan = () => {
      earlier.disconnected();
      return Promise.resolve();
    };
    await earlier.connected();
    expect(shown).toEqual([]);
    during.scan = () => Promise.resolve();
    await earlier.connected();
    expect(shown).toEqual(["fan A"]);
  });
});
