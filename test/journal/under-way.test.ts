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
  expect([...lanesUnderWay(recorded(records), 30_000)]).toEqual(isUnderWay ? [aboutKey(about)] : []);
});

const runOf = (boot: string, ...rows: readonly (readonly [mono: number, body: RecordBody])[]) =>
  rows.map(([mono, body], n): JournalRecord => ({
    ...{ seq: n + 1, at: new Date(0).toISOString(), mono, boot, clock_synced: null },
    ...body,
  }));
const start: RecordBody = { type: "start", version: "1" };
const stop: RecordBody = { type: "stop", reason: "asked to" };
const vent = [aboutKey(about)];

it.each<[string, readonly (readonly [number, number])[], readonly string[]]>([
  ["the one after it lasted for longer than a POST may take", [[500, 34_000]], []],
  ["the one after it was shorter", [[500, 32_000]], vent],
  [
    "those after it lasted for longer together",
    [
      [500, 20_000],
      [9_000_000, 14_000],
    ],
    [],
  ],
  ["none came after it", [], vent],
])(
  "whether a POST of an earlier run is over tell the later ones by their own clocks: %s",
  (_, later, under) => {
    const runs = later.flatMap(([from, lastedMs], n) =>
      runOf(`later ${n}`, [from, start], [from + lastedMs, stop]),
    );
    expect([...lanesUnderWay([...runOf("one", [0, sending], [1, sent]), ...runs], 30_000)]).toEqual(under);
  },
);

it.each<[string, number, readonly string[]]>([
  ["minutes", 300_000, vent],
  ["ten minutes", 600_001, []],
])("a POST of a run may be out for %s of it without an answer", (_, lastedMs, under) => {
  expect([...lanesUnderWay(runOf("one", [0, sending], [1, sent], [lastedMs, stop]), 30_000)]).toEqual(under);
});

it("the clock of the wall, which may be another one in each run, ends no POST", () => {
  const ahead = runOf("earlier", [0, start]).map((one) => ({
    ...one,
    at: new Date(3_600_000).toISOString(),
  }));
  expect([...lanesUnderWay([...ahead, ...runOf("one", [0, sending], [1, sent])], 30_000)]).toEqual(vent);
});
