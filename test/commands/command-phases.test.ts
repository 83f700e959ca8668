import { describe, expect, it } from "vitest";
import type { Command, Phase } from "../../src/commands/command.js";
import { type CommandFacts, EarlierPhases, type PhaseTarget } from "../../src/commands/earlier-phases.js";
import { CommandPhases } from "../../src/commands/service.js";
import { actuator } from "../support/builders.js";
import { settled } from "../support/virtual-clock.js";

const command = (id: string, over: Partial<Command> = {}): Command => ({
  ...{ id, ownId: true, code: "GH-0001", controllerId: "east", target: "actuator", targetId: "fan" },
  ...{
    settings: actuator({ id: "fan" }),
    wanted: { type: "word", word: "on", value: "1010" },
    payloadKey: id,
  },
  ...{ by: null, via: null, response: null, force: false, dryRun: false, term: null, rule: null },
  ...{ receivedAt: 0, receivedMono: 0, deadlineMono: 0 },
  ...over,
});

/** What is wanted on the topics, as `target id:phase`. */
function phases(soon: (call: () => void) => void = (call) => call()) {
  const sent: string[] = [];
  const forgotten: string[] = [];
  const removed = new Set<string>();
  const made = new CommandPhases(
    "greenhouse",
    {
      wanted: (topic, payload) => {
        const { id, phase } = JSON.parse(payload) as { readonly id: string; readonly phase: Phase };
        sent.push(`${topic.split("/").slice(1, 4).join("/")} ${id}:${phase}`);
      },
      forget: (topic) => forgotten.push(topic),
    },
    { byId: (id) => (!removed.has(id) ? {} : undefined) },
    { soon },
  );
  /** What was sent since the last look, once everything that can be sent by itself is. */
  const news = async () => {
    await settled();
    return sent.splice(0);
  };
  return { made, sent, forgotten, removed, news };
}

const fan = (text: string) => `east/actuator/fan ${text}`;

const show = (made: CommandPhases, ...shown: readonly (readonly [Command, Phase])[]) => {
  for (const [one, phase] of shown) made.show(one, phase);
};

describe("the topic of the newest command", () => {
  it("shows nothing of an older command once a newer one has been shown, also when the older ends last", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    show(
      made,
      [a, "waiting"],
      [a, "confirming"],
      [b, "waiting"],
      [b, "checking"],
      [a, "done"],
      [b, "sending"],
      [b, "done"],
      [a, "done"],
    );
    expect(sent).toEqual(
      ["A:waiting", "A:confirming", "B:waiting", "B:checking", "B:sending", "B:done"].map(fan),
    );
  });

  it("shows a waiting command's end before the newer one that took its place", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    show(made, [a, "waiting"], [a, "done"], [b, "waiting"]);
    expect(sent).toEqual(["A:waiting", "A:done", "B:waiting"].map(fan));
  });

  it("shows an older command again that has its turn only after the newer one was refused", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B")];
    show(made, [a, "waiting"], [b, "waiting"], [b, "checking"], [b, "done"], [a, "checking"], [a, "done"]);
    expect(sent).toEqual(["A:waiting", "B:waiting", "B:checking", "B:done", "A:checking", "A:done"].map(fan));
  });

  it("shows the same id sent again as a command of its own", () => {
    const { made, sent } = phases();
    show(made, [command("A"), "done"], [command("A"), "waiting"]);
    expect(sent).toEqual(["A:done", "A:waiting"].map(fan));
  });

  it("knows each target's newest apart", () => {
    const { made, sent } = phases();
    const [a, other] = [command("A"), command("B", { targetId: "heater" })];
    show(made, [a, "confirming"], [other, "waiting"], [a, "done"]);
    expect(sent).toEqual([fan("A:confirming"), "east/actuator/heater B:waiting", fan("A:done")]);
  });

  it("shows nothing of a command of an earlier run after which a newer one was shown then", () => {
    const { made, sent } = phases();
    const [a, b] = [command("A"), command("B", { targetId: "heater" })];
    made.overtaken(a);
    show(made, [a, "confirming"], [b, "confirming"], [a, "done"]);
    expect(sent).toEqual(["east/actuator/heater B:confirming"]);
  });

  it("is told of once the requests under way have left, in order, or before a result", () => {
    const waiting: (() => void)[] = [];
    const { made, sent } = phases((tell) => waiting.push(tell));
    const a = command("A");
    show(made, [a, "waiting"], [a, "checking"]);
    expect(sent).toEqual([]);
    made.publish();
    expect(sent).toEqual(["A:waiting", "A:checking"].map(fan));
    for (const tell of waiting) tell();
    expect(sent).toHaveLength(2);
  });
});

const told = (id: string): CommandFacts => ({
  ...{ id, command: "on", value: "1010", by: null, via: null },
  received_at: "2026-05-01T06:00:00.000Z",
});

describe("a document is kept", () => {
  it("not for a controller that was removed: it does not get its topics back", async () => {
    const { made, removed, news } = phases();
    removed.add("east");
    made.show(command("A"), "done");
    expect(await news()).toEqual([]);
  });

  it("of the 1,000 raw addresses used last", async () => {
    const { made, forgotten } = phases();
    const raw = (n: number) => command(`${n}`, { target: "address", targetId: `${n}` });
    for (let n = 0; n < 1_000; n++) made.show(raw(n), "done");
    show(made, [raw(0), "done"], [raw(1_000), "done"], [raw(1_001), "done"]);
    await settled();
    expect(forgotten).toEqual(["greenhouse/east/address/1/command", "greenhouse/east/address/2/command"]);
  });
});

describe("the end of a command of an earlier run", () => {
  const about = { controllerId: "east", target: "actuator", targetId: "fan" } as const;

  it("is shown", async () => {
    const { made, news } = phases();
    made.endedBefore(about, told("A"));
    expect(await news()).toEqual([fan("A:done")]);
  });

  it("is not shown once a command of this run was, not even when that is still to be told", async () => {
    const { made, news } = phases((tell) => setImmediate(tell));
    made.show(command("B"), "waiting");
    made.endedBefore(about, told("A"));
    expect(await news()).toEqual([fan("B:waiting")]);
  });
});

const theFan: PhaseTarget = { controllerId: "east", target: "actuator", targetId: "fan" };
const fanTopic = "greenhouse/east/actuator/fan/command";

const at = (minute: number) => new Date(Date.UTC(2026, 4, 1, 6, minute)).toISOString();

const ran = (id: string, minute: number): CommandFacts => ({
  ...{ id, command: "on", value: "1010", by: null, via: null },
  received_at: at(minute),
});

const document = (id: string, minute: number, phase: string) => JSON.stringify({ ...ran(id, minute), phase });

/** A broker that holds these documents. */
function broker(held: Readonly<Record<string, string>>) {
  const shown: string[] = [];
  const earlier = new EarlierPhases("greenhouse", {
    topicOf: ({ controllerId, target, targetId }) =>
      `greenhouse/${controllerId}/${target}/${targetId}/command`,
    endedBefore: ({ targetId }, { id }) => shown.push(`${targetId} ${id}`),
  });
  const look = () => {
    for (const [topic, payload] of Object.entries(held)) earlier.onFound(topic, Buffer.from(payload));
    earlier.onLooked();
  };
  return { earlier, shown, look };
}

describe("a command that ended in an earlier run is shown to have ended", () => {
  /** `A1 B2` ended in that order, at these minutes; the topic shows `A1 confirming`, or what else it holds. */
  it.each([
    ["where the topic still shows it on its way", "A1", "A1 confirming", "fan A"],
    ["not where the topic shows that already", "A1", "A1 done", ""],
    ["where the broker lost the topic", "A1", "", "fan A"],
    ["where the topic shows an older one, of an old store", "A1", "Z0 done", "fan A"],
    [
      "not where the topic shows a newer one, of which no record was made: that one is not on its way any more either",
      "A1",
      "B2 checking",
      "fan B",
    ],
    [
      "not where the topic shows that a newer one has ended, of which no record was made",
      "A1",
      "B2 done",
      "",
    ],
    ["also where nothing is known of the command that the topic shows on its way", "", "B2 waiting", "fan B"],
    [
      "not where nothing is known of what the topic shows, and that is no document of ours",
      "",
      '{"phase":"waiting"}',
      "",
    ],
    ["not where its id was used again since: that one has", "A1", "A2 checking", "fan A"],
    ["the newest of several", "A1 B2", "A1 confirming", "fan B"],
    ["the one shown, where it came last and ended first", "B2 A1", "B2 waiting", "fan B"],
    ["the last one, whatever a clock that was set back said meanwhile", "A9 B2", "B2 confirming", "fan B"],
    ["where the topic holds nothing of ours", "A1", "confirming", "fan A"],
  ])("%s", (_, ended, held, shows) => {
    const [, id = "", minute, phase = ""] = /^([A-Z])(\d) (\w+)$/.exec(held) ?? [];
    const text = id === "" ? held : document(id, Number(minute), phase);
    const { earlier, shown, look } = broker(held === "" ? {} : { [fanTopic]: text });
    for (const [, one = "", at] of ended.matchAll(/([A-Z])(\d)/g))
      earlier.onEnd(theFan, ran(one, Number(at)));
    look();
    expect(shown.join()).toBe(shows);
  });

  it("once", () => {
    const { earlier, shown, look } = broker({});
    earlier.onEnd(theFan, ran("A", 1));
    earlier.onEnd({ ...theFan, targetId: "heater" }, ran("B", 1));
    earlier.onEnd({ ...theFan, target: "parameter", targetId: "ec" }, ran("C", 1));
    look();
    look();
    expect(shown).toEqual(["fan A", "heater B", "ec C"]);
  });
});
