import { expect, it } from "vitest";
import { lanesUnderWay } from "../../src/journal/under-way.js";
import { aboutKey, type JournalRecord, type RecordBody } from "../../src/journal/records.js";

const about = { controller: "GH-0001", actuator: "vent" } as const;
const sending: RecordBody = { type: "phase", ...about, id: "c1", phase: "sending" };
const checking: RecordBody = { type: "phase", ...about, id: "c1", phase: "checking" };
const sent = {
  type: "step_sent",
  ...about,
  id: "c1",
  purpose: "value",
  address: "101",
  value: "1",
  attempt: 1,
} as const;
const answered = (code: string | null, isSent = true): RecordBody => ({
  type: "step_answered",
  ...about,
  id: "c1",
  address: "101",
  attempt: 1,
  code,
  request_id: null,
  error: code === "200" ? null : "no answer",
  sent: isSent,
});
const result = {
  type: "result",
  ...about,
  result: { id: "c1", outcome: "failed", finished_at: "" },
} as unknown as RecordBody;

const recorded = (records: readonly RecordBody[], atMs: readonly number[] = []): readonly JournalRecord[] =>
  records.map((body, n) => ({
    seq: n + 1,
    at: new Date(atMs[n] ?? n).toISOString(),
    mono: n,
    boot: "one",
    clock_synced: null,
    ...body,
  }));

it.each([
  ["being checked", [checking], false],
  ["about to be sent", [checking, sending], true],
  ["sent", [sending, sent], true],
  ["sent, answered, and not ended: another step may follow", [sending, sent, answered("200")], true],
  ["sent, answered and ended", [sending, sent, answered("200"), result], false],
  ["sent, refused by the platform and ended", [sending, sent, answered("500"), result], false],
  ["sent and ended without an answer", [sending, sent, answered(null), result], true],
  ["never sent", [sending, sent, answered(null, false), result], false],
  ["never sent, of which that alone is known", [sending, result], true],
])("a POST may be under way to the target of a command that was %s: %s", (_, records, isUnderWay) => {
  expect([...lanesUnderWay(recorded(records), Infinity, 30_000)]).toEqual(
    isUnderWay ? [aboutKey(about)] : [],
  );
});

it("a POST of ten minutes before the newest record is over", () => {
  const other = { ...sending, actuator: "fan", id: "c2" } as RecordBody;
  expect([...lanesUnderWay(recorded([sending, sent, other], [0, 1, 700_000]), Infinity, 30_000)]).toEqual([
    aboutKey({ ...about, actuator: "fan" }),
  ]);
});

it("a record by a clock that was ahead for a while ends no POST of now", () => {
  const before = { ...result, result: { id: "c0", outcome: "failed", finished_at: "" } } as RecordBody;
  const records = recorded([before, sending, sent], [3_600_000, 10, 20]);
  expect([...lanesUnderWay(records, 1_000, 30_000)]).toEqual([aboutKey(about)]);
  expect([...lanesUnderWay(records, 700_000, 30_000)]).toEqual([]);
});

it.each([
  ["a later run that has lasted for longer than a POST may take", 34_000, []],
  ["a later run that was shorter", 32_000, [aboutKey(about)]],
])("a POST is over for %s, by its own clock", (_, lastedMs, under) => {
  const stop: RecordBody = { type: "stop", reason: "asked to" };
  const next = [
    { ...recorded([{ type: "start", version: "1" }])[0], seq: 3, mono: 500, boot: "two" },
    { ...recorded([stop])[0], seq: 4, mono: 500 + lastedMs, boot: "two" },
  ] as readonly JournalRecord[];
  const before = recorded([sending, sent]);
  expect([...lanesUnderWay([...before, ...next], 1_000, 30_000)]).toEqual(under);
  // Its own may be out however long it lasts.
  const own = [
    ...before,
    { ...next[0], boot: "one" },
    { ...next[1], boot: "one" },
  ] as readonly JournalRecord[];
  expect([...lanesUnderWay(own, 1_000, 30_000)]).toEqual([aboutKey(about)]);
});
