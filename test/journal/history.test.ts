import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { History, RecentCommands, undeliveredResults } from "../../src/journal/history.js";
import type { JournalRecord, RecordBody, StepAnswered } from "../../src/journal/records.js";
import { about, ended, refused, sent, stamped, taken } from "./support/samples.js";

const historyOf = (records: readonly JournalRecord[]) => {
  const history = new History();
  for (const record of records) history.add(record);
  return history.parts();
};

const recentOf = (records: readonly JournalRecord[], sinceMs: number) => {
  const recent = new RecentCommands(sinceMs);
  for (const record of records) recent.add(record);
  return recent.list();
};

const answered = (id: string, changes: Partial<StepAnswered> = {}): StepAnswered => ({
  type: "step_answered",
  ...about,
  id,
  address: "101",
  attempt: 1,
  code: "200",
  request_id: "r1",
  error: null,
  sent: true,
  ...changes,
});

/** A record in words: `a taken`, `a sending`, `a sent`, `a ended unknown` (`confirmed` where it says nothing), `a refused expired`, `a late`. */
function recordOf(words: string): RecordBody {
  const [id = "", what, how = "confirmed"] = words.split(" ");
  if (what === "taken") return taken(id);
  if (what === "sending") return { type: "phase", ...about, id, phase: "sending" };
  if (what === "sent") return sent(id);
  if (what === "refused") return refused(id, how);
  if (what === "late") return { type: "confirmed_late", ...about, id, value: "1" };
  return ended(id, { outcome: how as CommandResult["outcome"] });
}

/** What was recorded, in words as far as they say it, and the ids that are found. */
type Row = [rule: string, records: readonly (string | RecordBody)[], ids: string];

const recorded = (parts: Row[1]) =>
  stamped(parts.flatMap((part) => (typeof part === "string" ? part.split(", ").map(recordOf) : [part])));
const idsOf = (found: readonly { readonly id: string | null }[]) => found.map(({ id }) => id).join(" ");

describe("open commands", () => {
  it.each<Row>([
    ["taken without result is open", ["a taken, b taken, a ended"], "b"],
    ["a refusal of a duplicate does not close the first", ["a taken, a sent, a refused duplicate"], "a"],
    ["nor before anything was sent", ["a taken, a refused duplicate"], "a"],
    ["one refused before it was taken never was", ["a refused expired"], ""],
    ["one whose own record was not durable is closed", ["a taken, a refused journal_unavailable"], ""],
    ["but not once something was sent", ["a taken, a sent, a refused journal_unavailable"], "a"],
    ["an id used again is open again", ["a taken, a ended, a taken"], "a"],
  ])("%s", (_, records, open) =>
    expect(idsOf(historyOf(recorded(records)).open.map(({ taken }) => taken))).toBe(open),
  );

  it("say what was sent last and whether an answer came", () => {
    const [command] = historyOf(
      stamped([
        taken("a", { command: "40" }),
        { type: "phase", ...about, id: "a", phase: "sending" },
        sent("a", { purpose: "mode", value: "10100" }),
        answered("a"),
        sent("a", { value: "40" }),
      ]),
    ).open;
    expect(command).toMatchObject({
      taken: { command: "40" },
      boot: "boot-a",
      phase: "sending",
      steps: [
        { purpose: "mode", value: "10100", answered: { code: "200", sent: true } },
        { purpose: "value", value: "40", answered: null, sent_at: "2026-05-01T06:00:05.000Z" },
      ],
    });
  });

  it("that took over an equal one have what was sent for it, after its result too", () => {
    const records = [taken("a"), sent("a"), answered("a"), taken("b", { took_over: "a" }), ended("a")];
    expect(historyOf(stamped(records)).open).toMatchObject([
      { taken: { id: "b" }, steps: [{ address: "101", attempt: 1, answered: { code: "200" } }] },
    ]);
  });

  it("that nothing was sent for have no steps", () =>
    expect(historyOf(stamped([taken("a")])).open).toMatchObject([{ steps: [] }]));
});

describe("posts that nobody has read back", () => {
  const readBack = { type: "read_back", ...about, id: null, address: "101", value: "10010" } as const;
  it.each<Row>([
    ["sent", ["a taken, a sent"], "a"],
    ["sent and read back", ["a sent", readBack], ""],
    ["sent again after the read", ["a sent", readBack, "b sent"], "b"],
    ["ended confirmed, which rests on a read", ["a sent, a ended"], ""],
    ["ended already, which rests on a read", ["a sent, a ended already"], ""],
    ["ended unconfirmed, which rests on a read", ["a sent, a ended unconfirmed"], ""],
    ["ended unknown", ["a sent, a ended unknown"], "a"],
    ["ended superseded", ["a sent, a ended superseded"], "a"],
    ["failed by a read that differs", ["a sent, a ended failed"], ""],
    ["rejected without a read", ["a sent", ended("a", { outcome: "rejected", read_back: null })], "a"],
    ["never connected", ["a sent", answered("a", { sent: false, code: null })], ""],
    [
      "never connected, after one that may have arrived",
      ["a sent, a ended unknown, b sent", ended("b", { outcome: "failed", reason: "not_sent" })],
      "b",
    ],
    ["found late", ["a sent, a late"], ""],
    ["a parameter of the same id is another thing", ["a sent", { ...readBack, target: "parameter" }], "a"],
  ])("%s", (_, records, unread) => expect(idsOf(historyOf(recorded(records)).unread)).toBe(unread));
});

describe("the newest problem of an actuator", () => {
  const acknowledged = (actuator: string | null) =>
    ({ type: "acknowledged", controller: "GH-0001", actuator, by: null, via: null }) as const;
  it.each<Row>([
    ["rejected is one", ["a ended rejected"], "a"],
    ["unconfirmed is one", ["a ended unconfirmed"], "a"],
    ["failed is one", ["a ended failed"], "a"],
    ["unknown is one", ["a ended unknown"], "a"],
    ["confirmed ends it", ["a ended failed, b ended"], ""],
    ["already ends it", ["a ended failed, b ended already"], ""],
    ["superseded changes nothing", ["a ended failed, b ended superseded"], "a"],
    ["dry_run changes nothing", ["a ended failed, b ended dry_run"], "a"],
    ["refused changes nothing", ["a ended failed, b ended refused"], "a"],
    ["a newer one replaces it", ["a ended failed, b ended unknown"], "b"],
    ["late confirmation ends it", ["a ended failed, a late"], ""],
    ["acknowledging it ends it", ["a ended failed", acknowledged("roof")], ""],
    ["acknowledging the controller ends it", ["a ended failed", acknowledged(null)], ""],
    ["acknowledging another does not", ["a ended failed", acknowledged("vent")], "a"],
  ])("%s", (_, records, problem) => expect(idsOf(historyOf(recorded(records)).problems)).toBe(problem));

  it("says which command it was and why, at no great length", () => {
    const because = (message: string) => ended("a", { outcome: "rejected", message });
    const reverted = { type: "reverted", ...about, id: "a", value: "10001", message: "set back" } as const;
    const found = [because("code 500"), because("x".repeat(2_000)), reverted].map((record) => {
      const [problem] = historyOf(stamped([record])).problems;
      return [problem?.command, problem?.message];
    });
    expect(found).toEqual([
      ["open", "code 500"],
      ["open", "x".repeat(300)],
      [null, "set back"],
    ]);
  });
});

describe("commands whose value may still come or be set back", () => {
  const unsent = { sent_at: null };
  const unrecorded = (outcome: CommandResult["outcome"]) => ended("a", { ...unsent, steps: [], outcome });
  const lookedAt = (id: string | null, actuator = "roof"): RecordBody => ({
    ...{ type: "read_back", ...about, actuator, id, address: "101", value: "10010" },
  });
  it.each<Row>([
    ["ended unconfirmed", ["a ended unconfirmed"], "a"],
    ["until it came", ["a ended unconfirmed, a late"], ""],
    ["until a newer one was sent and ended", ["a ended unconfirmed, b sent, b ended failed"], "b"],
    ["or gave way to another", ["a ended unconfirmed, b sent, b ended superseded"], ""],
    [
      "whatever was refused since",
      ["a ended unconfirmed", ended("b", { ...unsent, outcome: "refused" })],
      "a",
    ],
    ["with a mode that was not confirmed", [ended("a", { outcome: "unconfirmed", reason: "x" })], "a"],
    ["sent and ended rejected", ["a ended rejected"], "a"],
    ["sent and ended failed", ["a ended failed"], "a"],
    ["sent and ended unknown", ["a ended unknown"], "a"],
    ["not failed before anything was sent", [ended("a", { ...unsent, outcome: "failed" })], ""],
    ["failed after a crash without a record of its POST", ["a taken, a sending", unrecorded("failed")], "a"],
    ["not after a crash before its turn came", ["a taken", unrecorded("unknown")], ""],
    ["until it was seen, whatever it had ended with", ["a ended unknown", lookedAt("a")], ""],
    ["confirmed", ["a sent, a ended"], "a"],
    ["until it was looked at again", ["a ended", lookedAt("a")], ""],
    ["until it was reverted", ["a ended", { type: "reverted", ...about, id: "a", value: "1" }], ""],
    ["whatever the read-backs of POSTs say", [lookedAt(null), "a ended", lookedAt(null)], "a"],
    ["until a newer one was sent", ["a ended, b sent"], ""],
    [
      "for each target apart",
      ["a ended unconfirmed", { ...ended("b"), target: "parameter" }, lookedAt("a", "vent")],
      "a b",
    ],
  ])("%s", (_, records, ids) => {
    const { unsettled, ...parts } = historyOf(recorded(records));
    expect(idsOf(unsettled ?? [])).toBe(ids);
    const carried = stamped([{ type: "carried", ...parts, unsettled }]);
    expect(historyOf(carried).unsettled).toEqual(unsettled);
    expect(historyOf(stamped([{ type: "carried", ...parts }])).unsettled).toEqual([]);
  });
});

describe("starts", () =>
  it("without a stop are told apart, so that a crash loop can be seen", () => {
    const start: RecordBody = { type: "start", version: "1" };
    const stopped = stamped([start, { type: "stop", reason: "SIGTERM" }], { boot: "b1" });
    expect(historyOf([...stopped, ...stamped([start], { boot: "b2" })]).starts).toMatchObject([
      { boot: "b1", stopped: true },
      { boot: "b2", stopped: false },
    ]);
  }));

it("what limits an actuator is remembered of every one, however many there are", () => {
  const lock = { by: "anna", via: null, reason: null, since: 0, until: null };
  const nothing = { guards: {}, starts: [], moved_until: null, direction: null, hold: null, lease: null };
  const records = Array.from({ length: 12_000 }, (_, n): RecordBody => ({
    ...{ type: "limits_kept", controller: "GH-0001", actuator: `a${n}`, kept: { ...nothing, lock } },
  }));
  expect(historyOf(stamped(records)).limits).toHaveLength(12_000);
});

describe("memory of the history", () =>
  it("is bounded whatever the records hold (S16)", () => {
    const many = Array.from({ length: 8_000 }, (_, n) => `${n}`);
    const posts = many.map((actuator) => ({ ...sent("x"), actuator }));
    const { open, unread } = historyOf([...stamped(many.map((id) => taken(id))), ...stamped(posts)]);
    expect(open).toHaveLength(1_000);
    expect(unread).toHaveLength(5_000);
    expect(open.at(-1)?.taken.id).toBe("7999");
  }));

describe("recent commands, to tell duplicates", () => {
  const at = (seconds: number) => Date.UTC(2026, 4, 1, 6, 0, seconds);
  const seen = (records: Row[1], since = 0) => {
    const found = recentOf(recorded(records), at(since));
    return found.map(({ id, result }) => `${id} ${result?.outcome ?? "open"}`).join(", ");
  };
  it.each<[...Row, number?]>([
    ["with their result", ["a taken, a ended"], "a confirmed"],
    ["open ones too", ["a taken"], "a open"],
    ["ended before anything was sent", ["a ended already"], "a already"],
    ["the answer to a duplicate does not end one", ["a taken, a ended, a refused duplicate"], "a confirmed"],
    ["nor an open one", ["a taken, a refused duplicate"], "a open"],
    ["a refused one", ["a refused expired"], "a refused"],
    ["taken after being refused", ["a refused expired, a taken"], "a open"],
    ["none older than asked for", ["a taken, a ended, b taken"], "b open", 3],
    [
      "of an id used before, the use within the time",
      ["a taken, a ended, b ended, a ended already"],
      "b confirmed, a already",
      3,
    ],
  ])("%s", (_, records, found, since) => expect(seen(records, since)).toBe(found));

  it("of several targets under one id are commands of their own", () => {
    const vent = { actuator: "vent" };
    const records = [taken("a"), { ...taken("a"), ...vent }, ended("a"), { ...ended("a"), ...vent }];
    const found = recentOf(stamped(records), 0);
    expect(found.map(({ about, result }) => [about.actuator, result?.outcome])).toEqual([
      ["roof", "confirmed"],
      ["vent", "confirmed"],
    ]);
  });

  it("count as taken when they waited and were never sent, and not when they were refused at the door", () => {
    const found = recentOf(recorded(["a ended superseded, b refused expired, c taken"]), 0);
    expect(idsOf(found.filter(({ isTaken }) => isTaken))).toBe("a c");
  });

  const unset = (synced: boolean | null) =>
    stamped([taken("a")], { synced }).map((record) => ({ ...record, at: "1970-01-01T00:00:01.000Z" }));

  it("made before the clock was set are placed by a later record of the same boot", () => {
    const early = unset(null);
    const later = stamped([{ type: "clock_jump", by_ms: 1 }], { from: 10 });
    expect(recentOf([...early, ...later], at(0)).map(({ id }) => id)).toEqual(["a"]);
    expect(recentOf([...early, ...later], at(5)).map(({ id }) => id)).toEqual([]);
  });

  it("made in a boot whose clock was never set count as new", () => {
    expect(recentOf(unset(false), at(5)).map(({ id }) => id)).toEqual(["a"]);
  });
});

describe("results the broker may not have", () => {
  it("are those after the last delivered one, the newest of them", () => {
    const records = recorded(["a ended, b ended", { type: "delivered", through: 1 }, "c refused expired"]);
    expect(undeliveredResults(records, 10).map(({ result }) => result.id)).toEqual(["b", "c"]);
    expect(undeliveredResults(records, 1).map(({ result }) => result.id)).toEqual(["c"]);
  });

  it("never are refusals of a name too long to be kept whole: nobody knows any more where they belong", () => {
    const cut = refused("a", "unknown_actuator");
    const records = stamped([{ ...cut, result: { ...cut.result, actuator: "invented…" } }]);
    expect(undeliveredResults(records, 10)).toEqual([]);
  });
});
