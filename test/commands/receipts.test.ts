import { describe, expect, it } from "vitest";
import { EarlierPhases, type PhaseTarget } from "../../src/commands/earlier-phases.js";
import { Receipts } from "../../src/commands/service.js";
import { fanBench } from "./benches.js";

function receipts() {
  const made = new Receipts();
  const acknowledged: string[] = [];
  const take = (id: string, { isOpen = true, isToldAtOnce = false } = {}) =>
    made.whenTaken(
      () => acknowledged.push(id),
      () => {
        if (isToldAtOnce) made.settle(id);
        return { key: id, isOpen };
      },
    );
  return { made, acknowledged, take };
}

describe("the broker is told that a command is dealt with", () => {
  it("once the journal has it or its result was told, and not before", () => {
    const { made, acknowledged, take } = receipts();
    take("a");
    take("b");
    expect(acknowledged).toEqual([]);
    made.settle("b");
    made.settle("a");
    expect(acknowledged).toEqual(["b", "a"]);
  });

  it.each([
    ["it was told while it was taken", { isToldAtOnce: true }],
    ["nothing is to come of it", { isOpen: false }],
  ])("at once where %s", (_, how) => {
    const { acknowledged, take } = receipts();
    take("a", how);
    expect(acknowledged).toEqual(["a"]);
  });

  it("of the same command given twice together, and of none that a lost link had given", () => {
    const { made, acknowledged, take } = receipts();
    take("a");
    take("a", { isOpen: false });
    expect(acknowledged).toEqual([]);
    made.settle("a");
    expect(acknowledged).toEqual(["a", "a"]);
    take("b");
    made.clear();
    made.settle("b");
    expect(acknowledged).toEqual(["a", "a"]);
  });

  it("no sooner where the link was lost meanwhile and the same command is given again", () => {
    const { made, acknowledged, take } = receipts();
    take("a");
    made.clear();
    take("a", { isOpen: false });
    expect(acknowledged).toEqual([]);
    made.settle("a");
    expect(acknowledged).toEqual(["a"]);
  });

  it("of the oldest where many wait: a stop must not wait for a place among them", () => {
    const { acknowledged, take } = receipts();
    for (let n = 0; n < 14; n += 1) take(`c${n}`);
    expect(acknowledged).toEqual(["c0", "c1"]);
  });
});

describe("a command that the broker kept", () => {
  it("and that the journal knows of is told nothing more of, without an id of its own while it is the newest and open", async () => {
    const bench = fanBench();
    await bench.run('{"command":"on","id":"a"}');
    bench.commander.submit({ ...request, ageMs: 0, isKept: false, payload: Buffer.from("on") });
    const count = bench.results.length;
    for (const payload of ['{"command":"on","id":"a"}', "on"])
      expect(bench.commander.submit({ ...request, payload: Buffer.from(payload) })).toMatchObject({
        isKnown: true,
        isTaken: false,
      });
    expect(bench.results).toHaveLength(count);
  });

  it.each(["on", "stop"])("and without an id is like one of long ago is answered: %s", async (word) => {
    const bench = fanBench();
    await bench.run(word);
    await bench.clock.advance(3_600_000);
    expect(bench.commander.submit({ ...request, payload: Buffer.from(word) })).not.toHaveProperty("isKnown");
    await bench.clock.advance(400_000);
    expect(bench.results).toHaveLength(2);
  });

  it("and nobody knows of ends with a result: how old it is nobody knows either", async () => {
    const bench = fanBench();
    const payload = Buffer.from('{"command":"on","id":"b"}');
    expect(bench.commander.submit({ ...request, payload })).toEqual({ id: "b", isTaken: false });
    await bench.clock.advance(0);
    expect(bench.results).toMatchObject([{ id: "b", outcome: "refused", reason: "expired" }]);
    expect(bench.platform.posts).toEqual([]);
  });
});

const request = {
  controllerId: "gh-0001",
  target: "actuator",
  targetId: "roof",
  retained: false,
  expiryMs: null,
  ageMs: 3_600_000,
  isKept: true,
  by: null,
  via: null,
  response: null,
} as const;

it("a command is shown as done with its result, and not while the journal does not take that", async () => {
  const bench = fanBench();
  bench.refuses = (record) => record.type === "result";
  const live = { ...request, ageMs: 0, isKept: false };
  bench.commander.submit({ ...live, payload: Buffer.from('{"command":"on","id":"a"}') });
  await bench.clock.advance(400_000);
  expect(bench.results).toEqual([]);
  expect(bench.phases.at(-1)).not.toBe("a done");
  bench.refuses = () => false;
  await bench.journalAgain();
  expect(bench.results).toMatchObject([{ id: "a" }]);
  expect(bench.phases.at(-1)).toBe("a done");
});

it("what an earlier owner showed on its way, and no record is of, is told to have ended and ends", () => {
  const ended: string[] = [];
  const phases = {
    topicOf: ({ controllerId, target, targetId }: PhaseTarget) =>
      `greenhouse/${controllerId}/${target}/${targetId}/command`,
    endedBefore: ({ targetId }: PhaseTarget, { id }: { readonly id: string }) =>
      ended.push(`${targetId} ${id} done`),
  };
  const earlier = new EarlierPhases("greenhouse", phases, ({ targetId }, { id }, phase) =>
    ended.push(`${targetId} ${id} from ${String(phase)}`),
  );
  const received_at = "2026-03-01T08:00:00.000Z";
  const found = (actuator: string, id: string, phase: string) =>
    earlier.onFound(
      `greenhouse/c/actuator/${actuator}/command`,
      Buffer.from(JSON.stringify({ id, phase, received_at })),
    );
  found("fan", "A", "checking");
  found("vent", "B", "done");
  found("light", "C", "confirming");
  earlier.onEnd(
    { controllerId: "c", target: "actuator", targetId: "light" },
    { id: "C", command: "on", value: "1010", by: null, via: null, received_at },
  );
  earlier.onLooked();
  expect(ended.sort()).toEqual(["fan A done", "fan A from checking", "light C done"]);
});
