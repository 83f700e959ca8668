import { describe, expect, it } from "vitest";
import { History } from "../../src/journal/history.js";
import type { JournalRecord, LaneMemory, RecordBody, SentMemory } from "../../src/journal/records.js";
import { RecentCommands, undeliveredResults } from "../../src/journal/recent.js";
import {
  ended,
  openRows,
  recorded,
  type RecordRow,
  refused,
  sent,
  stamped,
  taken,
} from "./support/samples.js";

const nothing = { open: [], starts: [], lanes: [] };

/** Begun by this version: its first record says so. */
const historyOf = (records: readonly JournalRecord[]) => {
  const history = new History();
  for (const record of [...stamped([{ type: "carried", ...nothing }]), ...records]) history.add(record);
  return history.parts();
};

const recentOf = (records: readonly JournalRecord[], sinceMs: number) => {
  const recent = new RecentCommands(sinceMs);
  for (const record of records) recent.add(record);
  return recent.list();
};

const progress = (id: string, attempts: number): SentMemory => ({
  id,
  steps: [{ purpose: "value", address: "101", value: "1", attempts, code: null, read_back: null }],
  is_accepted: attempts > 1,
  request_id: null,
  sent_at: null,
});

const posted = (id: string, attempts: number): RecordBody => ({
  ...sent(id),
  memory: { sent: [progress(id, attempts)] },
});

const idsOf = (found: readonly { readonly id: string | null }[]) => found.map(({ id }) => id).join(" ");
describe("open commands", () => {
  it.each(openRows)("%s", (_, records, open) =>
    expect(idsOf(historyOf(recorded(records, (id) => posted(id, 1))).open.map(({ taken }) => taken))).toBe(
      open,
    ),
  );

  it("say what the newest record of them says that was sent, until their result", () => {
    const records = [
      taken("a"),
      taken("b"),
      posted("a", 1),
      posted("a", 2),
      taken("c"),
      posted("b", 1),
      ended("b"),
    ];
    expect(historyOf(stamped(records)).open).toMatchObject([
      { taken: { id: "a" }, sent: progress("a", 2) },
      { taken: { id: "c" }, sent: null },
    ]);
  });

  it("are carried without what their first record said of the lane", () => {
    const [one] = historyOf(stamped([{ ...taken("a"), memory: { unread: true } }])).open;
    expect(JSON.parse(JSON.stringify(one?.taken))).not.toHaveProperty("memory");
  });
});

describe("what a lane must remember", () => {
  const unread: LaneMemory = { unread: true };
  const problem = { command: "open", outcome: "failed", reason: null, message: null, at: "" };
  const saying = (memory: LaneMemory | undefined, more: { readonly actuator?: string } = {}): RecordBody => ({
    ...ended("a"),
    ...more,
    ...(memory && { memory }),
  });
  const lanesOf = (...records: readonly RecordBody[]) =>
    historyOf(stamped(records)).lanes.map(({ actuator, target, memory }) => [actuator, target, memory]);

  it("is what its newest record says, and nothing that an older one did", () => {
    expect(lanesOf(saying(unread), saying({ problem }))).toEqual([["roof", "actuator", { problem }]]);
    expect(lanesOf(saying({ problem }), saying({}))).toEqual([]);
  });

  it("stays where a record says nothing of it", () =>
    expect(lanesOf(saying(unread), saying(undefined))).toEqual([["roof", "actuator", unread]]));

  it("is its own, whatever is said of others", () =>
    expect(
      lanesOf(saying(unread), saying({ problem }, { actuator: "vent" }), {
        type: "lane",
        controller: "GH-0001",
        actuator: "roof",
        target: "parameter",
        memory: { problem },
      }),
    ).toEqual([
      ["roof", "actuator", unread],
      ["vent", "actuator", { problem }],
      ["roof", "parameter", { problem }],
    ]));

  it("goes on in the next file as it is", () => {
    const parts = historyOf(stamped([taken("a"), saying(unread, { actuator: "vent" })]));
    expect(historyOf(stamped([{ type: "carried", ...parts }]))).toEqual(parts);
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

describe("that commands are refused, as somebody chose", () => {
  const chosen = (read_only: boolean | null): RecordBody => ({
    type: "configuration_changed",
    changes: [],
    chosen: read_only === null ? null : { read_only, by: "anna" },
  });

  it("is what the newest record says, and goes on in the next file", () => {
    const parts = historyOf(
      stamped([chosen(false), chosen(true), { type: "configuration_changed", changes: [] }]),
    );
    expect(parts.chosen).toEqual({ read_only: true, by: "anna" });
    expect(historyOf(stamped([{ type: "carried", ...parts }])).chosen).toEqual(parts.chosen);
    expect(historyOf(stamped([chosen(true), chosen(null)])).chosen).toBeNull();
  });

  it("is not known of files of earlier versions", () =>
    expect(
      historyOf(stamped([{ type: "configuration_changed", changes: ["log.level"] }])).chosen,
    ).toBeUndefined());
});

it("what limits an actuator is remembered of every one, however many there are", () => {
  const lock = { by: "anna", via: null, reason: null, since: 0, until: null };
  const nothing = { guards: {}, starts: [], moved_until: null, direction: null, hold: null, lease: null };
  const records = Array.from({ length: 12_000 }, (_, n): RecordBody => ({
    ...{ type: "lane", controller: "GH-0001", actuator: `a${n}`, target: "actuator" },
    memory: { limits: { ...nothing, lock } },
  }));
  expect(historyOf(stamped(records)).lanes).toHaveLength(12_000);
});

describe("memory of the history", () =>
  it("is bounded whatever the records hold (S16)", () => {
    const many = Array.from({ length: 8_000 }, (_, n) => `${n}`);
    const posts = many.map((actuator) => ({ ...sent("x"), actuator, memory: { unread: true } as const }));
    const { open, lanes } = historyOf([...stamped(many.map((id) => taken(id))), ...stamped(posts)]);
    expect(open).toHaveLength(1_000);
    expect(lanes).toHaveLength(5_000);
    expect(open.at(-1)?.taken.id).toBe("7999");
  }));

describe("recent commands, to tell duplicates", () => {
  const at = (seconds: number) => Date.UTC(2026, 4, 1, 6, 0, seconds);
  const seen = (records: RecordRow[1], since = 0) => {
    const found = recentOf(recorded(records), at(since));
    return found.map(({ id, result }) => `${id} ${result?.outcome ?? "open"}`).join(", ");
  };
  it.each<[...RecordRow, number?]>([
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

describe("times of a lease", () => {
  const lease = { id: "a", by: null, command: "on", ends_with: "off", until: 9_000 };
  const limits = { guards: {}, starts: [], moved_until: null, direction: null, lock: null, hold: null };
  const lane = (memory: LaneMemory): RecordBody => ({
    type: "lane",
    controller: "GH-0001",
    actuator: "valve",
    memory,
  });
  const at = (record: RecordBody, ms: number) =>
    recorded([record], () => record).map((one) => ({ ...one, at: new Date(ms).toISOString() }));

  it("are kept with the time of the clock that wrote them, also behind records without them and over a file's end", () => {
    const records = [
      ...at(lane({ limits: { ...limits, lease } }), 8_000),
      ...at({ ...sent("b"), actuator: "valve", memory: {} }, 5_000),
    ];
    const parts = historyOf(records);
    expect(parts.lanes).toMatchObject([{ limited_at: 8_000 }]);
    const next = new History();
    for (const one of stamped([{ type: "carried", ...parts }])) next.add(one);
    expect(next.parts().lanes).toMatchObject([{ limited_at: 8_000 }]);
  });

  it("are no more where there is no lease any more", () => {
    const records = [
      ...at(lane({ limits: { ...limits, lease } }), 8_000),
      ...at(lane({ limits: { ...limits, lease: null, lock: null, starts: [1] } }), 5_000),
    ];
    expect(historyOf(records).lanes).toEqual([expect.not.objectContaining({ limited_at: 8_000 })]);
  });
});
