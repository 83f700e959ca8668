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

/** What was recorded, and the ids that are found. */
type Row = [rule: string, records: readonly RecordBody[], ids: readonly string[]];

describe("open commands", () => {
  it.each<Row>([
    ["taken without result is open", [taken("a"), taken("b"), ended("a")], ["b"]],
    [
      "a refusal of a duplicate does not close the first",
      [taken("a"), sent("a"), refused("a", "duplicate")],
      ["a"],
    ],
    ["nor before anything was sent", [taken("a"), refused("a", "duplicate")], ["a"]],
    ["one refused before it was taken never was", [refused("a", "expired")], []],
    [
      "one refused because its own record was not durable is closed",
      [taken("a"), refused("a", "journal_unavailable")],
      [],
    ],
    ["but not once something was sent", [taken("a"), sent("a"), refused("a", "journal_unavailable")], ["a"]],
    ["an id used again is open again", [taken("a"), ended("a"), taken("a")], ["a"]],
  ])("%s", (_, records, open) =>
    expect(historyOf(stamped(records)).open.map(({ taken: { id } }) => id)).toEqual(open),
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
    ["sent", [taken("a"), sent("a")], ["a"]],
    ["sent and read back", [sent("a"), readBack], []],
    ["sent again after the read", [sent("a"), readBack, sent("b")], ["b"]],
    ...(["confirmed", "already", "unconfirmed"] as const).map((outcome): Row => [
      `ended ${outcome}, which rests on a read`,
      [sent("a"), ended("a", { outcome })],
      [],
    ]),
    ...(["unknown", "superseded"] as const).map((outcome): Row => [
      `ended ${outcome}`,
      [sent("a"), ended("a", { outcome })],
      ["a"],
    ]),
    ["failed by a read that differs", [sent("a"), ended("a", { outcome: "failed" })], []],
    ["rejected without a read", [sent("a"), ended("a", { outcome: "rejected", read_back: null })], ["a"]],
    ["never connected", [sent("a"), answered("a", { sent: false, code: null })], []],
    [
      "never connected, after one that may have arrived",
      [
        sent("a"),
        ended("a", { outcome: "unknown" }),
        sent("b"),
        ended("b", { outcome: "failed", reason: "not_sent" }),
      ],
      ["b"],
    ],
    ["found late", [sent("a"), { type: "confirmed_late", ...about, id: "a", value: "1" }], []],
    ["a parameter of the same id is another thing", [sent("a"), { ...readBack, target: "parameter" }], ["a"]],
  ])("%s", (_, records, unread) =>
    expect(historyOf(stamped(records)).unread.map(({ id }) => id)).toEqual(unread),
  );
});

describe("the newest problem of an actuator", () => {
  const bad = (id: string, outcome: CommandResult["outcome"] = "failed") => ended(id, { outcome });
  const acknowledged = (actuator: string | null) =>
    ({ type: "acknowledged", controller: "GH-0001", actuator, by: null, via: null }) as const;
  it.each<Row>([
    ...(["rejected", "unconfirmed", "failed", "unknown"] as const).map((outcome): Row => [
      `${outcome} is one`,
      [bad("a", outcome)],
      ["a"],
    ]),
    ...(["confirmed", "already"] as const).map((outcome): Row => [
      `${outcome} ends it`,
      [bad("a"), ended("b", { outcome })],
      [],
    ]),
    ...(["superseded", "dry_run", "refused"] as const).map((outcome): Row => [
      `${outcome} changes nothing`,
      [bad("a"), ended("b", { outcome })],
      ["a"],
    ]),
    ["a newer one replaces it", [bad("a"), bad("b", "unknown")], ["b"]],
    ["late confirmation ends it", [bad("a"), { type: "confirmed_late", ...about, id: "a", value: "1" }], []],
    ["acknowledging it ends it", [bad("a"), acknowledged("roof")], []],
    ["acknowledging the controller ends it", [bad("a"), acknowledged(null)], []],
    ["acknowledging another does not", [bad("a"), acknowledged("vent")], ["a"]],
  ])("%s", (_, records, problem) =>
    expect(historyOf(stamped(records)).problems.map(({ id }) => id)).toEqual(problem),
  );

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
  const late = (id: string) => ended(id, { outcome: "unconfirmed" });
  const lookedAt = (id: string | null, actuator = "roof"): RecordBody => ({
    ...{ type: "read_back", ...about, actuator, id, address: "101", value: "10010" },
  });
  it.each<Row>([
    ["ended unconfirmed", [late("a")], ["a"]],
    ["until it came", [late("a"), { type: "confirmed_late", ...about, id: "a", value: "1" }], []],
    [
      "until a newer one was sent and ended",
      [late("a"), sent("b"), ended("b", { outcome: "failed" })],
      ["b"],
    ],
    ["or gave way to another", [late("a"), sent("b"), ended("b", { outcome: "superseded" })], []],
    ["whatever was refused since", [late("a"), ended("b", { outcome: "refused", sent_at: null })], ["a"]],
    ["with a mode that was not confirmed", [ended("a", { outcome: "unconfirmed", reason: "x" })], ["a"]],
    ...(["rejected", "failed", "unknown"] as const).map((outcome): Row => [
      `sent and ended ${outcome}`,
      [ended("a", { outcome })],
      ["a"],
    ]),
    ["not failed before anything was sent", [ended("a", { outcome: "failed", sent_at: null })], []],
    [
      "until it was seen, whatever it had ended with",
      [ended("a", { outcome: "unknown" }), lookedAt("a")],
      [],
    ],
    ["confirmed", [sent("a"), ended("a")], ["a"]],
    ["until it was looked at again", [ended("a"), lookedAt("a")], []],
    ["until it was reverted", [ended("a"), { type: "reverted", ...about, id: "a", value: "1" }], []],
    ["whatever the read-backs of POSTs say", [lookedAt(null), ended("a"), lookedAt(null)], ["a"]],
    ["until a newer one was sent", [ended("a"), sent("b")], []],
    [
      "for each target apart",
      [late("a"), { ...ended("b"), target: "parameter" }, lookedAt("a", "vent")],
      ["a", "b"],
    ],
  ])("%s", (_, records, ids) => {
    const { unsettled, ...parts } = historyOf(stamped(records));
    expect(unsettled?.map(({ id }) => id)).toEqual(ids);
    const carried = stamped([{ type: "carried", ...parts, unsettled }]);
    expect(historyOf(carried).unsettled).toEqual(unsettled);
    expect(historyOf(stamped([{ type: "carried", ...parts }])).unsettled).toEqual([]);
  });
});

describe("starts", () =>
  it("without a stop are told apart, so that a crash loop can be seen", () => {
    const start: RecordBody = { type: "start", version: "1" };
    const runs = [
      ...stamped([start, { type: "stop", reason: "SIGTERM" }], { boot: "b1" }),
      ...stamped([start], { boot: "b2" }),
    ];
    expect(historyOf(runs).starts).toMatchObject([
      { boot: "b1", stopped: true },
      { boot: "b2", stopped: false },
    ]);
  }));

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
  const seen = (records: readonly RecordBody[], since = 0) => {
    const found = recentOf(stamped(records), at(since));
    return found.map(({ id, result }) => `${id} ${result?.outcome ?? "open"}`);
  };
  it.each<[...Row, number?]>([
    ["with their result", [taken("a"), ended("a")], ["a confirmed"]],
    ["open ones too", [taken("a")], ["a open"]],
    ["ended before anything was sent", [ended("a", { outcome: "already" })], ["a already"]],
    [
      "the answer to a duplicate does not replace the first result",
      [taken("a"), ended("a"), refused("a", "duplicate")],
      ["a confirmed"],
    ],
    ["nor end an open one", [taken("a"), refused("a", "duplicate")], ["a open"]],
    ["a refused one", [refused("a", "expired")], ["a refused"]],
    ["taken after being refused", [refused("a", "expired"), taken("a")], ["a open"]],
    ["none older than asked for", [taken("a"), ended("a"), taken("b")], ["b open"], 3],
  ])("%s", (_, records, found, since) => expect(seen(records, since)).toEqual(found));

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
    const records = [ended("a", { outcome: "superseded" }), refused("b", "expired"), taken("c")];
    expect(recentOf(stamped(records), 0).map(({ id, isTaken }) => [id, isTaken])).toEqual([
      ["a", true],
      ["b", false],
      ["c", true],
    ]);
  });

  it("whose id was used before and again count the use within the time", () => {
    const records = [taken("a"), ended("a"), ended("b"), ended("a", { outcome: "already" })];
    expect(seen(records, 3)).toEqual(["b confirmed", "a already"]);
  });

  it("made before the clock was set are placed by a later record of the same boot", () => {
    const early = stamped([taken("a")], { synced: null }).map((record) => ({
      ...record,
      at: "1970-01-01T00:00:01.000Z",
    }));
    const later = stamped([{ type: "clock_jump", by_ms: 1 }], { from: 10 });
    expect(recentOf([...early, ...later], at(0)).map(({ id }) => id)).toEqual(["a"]);
    expect(recentOf([...early, ...later], at(5)).map(({ id }) => id)).toEqual([]);
  });

  it("made in a boot whose clock was never set count as new", () => {
    const early = stamped([taken("a")], { synced: false }).map((record) => ({
      ...record,
      at: "1970-01-01T00:00:01.000Z",
    }));
    expect(recentOf(early, at(5)).map(({ id }) => id)).toEqual(["a"]);
  });
});

describe("results the broker may not have", () => {
  it("are those after the last delivered one, the newest of them", () => {
    const records = stamped([
      ended("a"),
      ended("b"),
      { type: "delivered", through: 1 },
      refused("c", "expired"),
    ]);
    expect(undeliveredResults(records, 10).map(({ result }) => result.id)).toEqual(["b", "c"]);
    expect(undeliveredResults(records, 1).map(({ result }) => result.id)).toEqual(["c"]);
  });

  it("never are refusals of a name too long to be kept whole: nobody knows any more where they belong", () => {
    const cut = refused("a", "unknown_actuator");
    const records = stamped([{ ...cut, result: { ...cut.result, actuator: "invented…" } }]);
    expect(undeliveredResults(records, 10)).toEqual([]);
  });
});
