import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Book, type Effect, emptyBook, type Input, laneKey } from "../../src/commands/book.js";
import type { CommandRules } from "../../src/commands/command.js";
import type { Read } from "../../src/commands/confirm.js";
import { isOfLane, memoryOf } from "../../src/commands/memory.js";
import { lanesFrom } from "../../src/commands/restore.js";
import { nextWakeAt, step } from "../../src/commands/step.js";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { History } from "../../src/journal/history.js";
import type { JournalRecord, LaneMemory, RecordBody, SentMemory } from "../../src/journal/records.js";
import { entries } from "../../src/runtime/table.js";
import { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { fan as plainFan } from "./benches.js";
import { environmentAt } from "../support/builders.js";

/*
 * Whatever was fed into the book and at whichever record the program dies: the next start makes of the records the book that was. What
 * it lets go stands in `durablePart`.
 */

const about = { code: "GH-0001", target: "actuator", targetId: "roof" } as const;
const key = laneKey(about);

const ofEach = ["awaited", "problem", "sent 0", "sent 1", "unconfirmed", "unread"];
const kinds: readonly (Partial<ActuatorSettings> & { readonly parts: readonly string[] })[] = [
  {
    kind: "skylight",
    address: "101",
    travelMs: 20_000,
    confirmWithinMs: 40_000,
    stop: { address: "109", value: "00000100" },
    parts: [...ofEach, "second_look", "sent 2"].sort(),
  },
  { kind: "circulation_fan", address: "101", travelMs: 0, confirmWithinMs: 20_000, parts: ofEach },
];

const words = ["open", "close", "45", "stop", "on", "off"] as const;
const values = ["10010", "10001", "10100", "45", "1010", "1001", "00000100"] as const;

type Action = Readonly<
  | { do: "ask"; word: (typeof words)[number] }
  /** A question is answered well, badly, or with a value of the platform. */
  | {
      do: "answer";
      place: number;
      how: "well" | "unclear" | "refused" | "badly";
      raw: (typeof values)[number];
    }
  | { do: "wait"; ms: number }
  /** As it goes where nothing is wrong, so far. */
  | { do: "go on"; times: number }
  | { do: "poll"; raw: (typeof values)[number] }
  | { do: "acknowledge" | "tick" | "disk fails" | "disk works" | "close" }
>;

const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("go on"), times: fc.nat(14) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ask"), word: fc.constantFrom(...words) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("answer"),
      place: fc.nat(2),
      how: fc.constantFrom("well", "well", "well", "unclear", "refused", "badly"),
      raw: fc.constantFrom(...values),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(0, 2_000, 8_000, 60_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("poll"), raw: fc.constantFrom(...values) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("acknowledge", "tick", "disk fails", "disk works", "close") }),
  },
);

type Question = Extract<Effect, { readonly key: string; readonly token: number }>;

const rules: CommandRules = {
  ...{ read_only: false, dry_run: false, max_age: 60_000, require_age: false, require_by: false },
  ...{ min_interval: 2_000, controller_interval: 0, raw_addresses: false, response_topics: [] },
  ...{ readOnlyForRules: false, otherBridge: false },
};

const began = Date.parse("2026-05-01T06:00:00.000Z");

/** The book with a disk that takes its records in their order, or fails. */
class Run {
  readonly bench: CommandBench;
  readonly written: RecordBody[] = [];
  readonly settings: ActuatorSettings;
  book: Book = emptyBook;
  mono = 1_000;
  /** With the count of records before it. */
  onTurn: (from: number) => void = () => undefined;
  /** A record was lost, and nothing has said since what the lane must remember. */
  isUnrecorded = false;
  readonly #questions: Question[] = [];
  readonly #lost = new Set<number>();
  /** What was posted last. */
  #register = "10001";
  #isDiskWorking = true;
  #ids = 0;

  constructor(over: Partial<ActuatorSettings>) {
    this.bench = new CommandBench({ actuators: [over] });
    const { settings } = this.bench.store.get("GH-0001")?.actuators.get("roof") ?? {};
    if (settings === undefined) throw new Error("there is no roof");
    this.settings = settings;
  }

  get now() {
    return { at: began + this.mono, mono: this.mono };
  }

  act(action: Action): void {
    this.mono += 1;
    if (action.do === "ask") this.#ask(action.word);
    else if (action.do === "wait") this.#wait(action.ms);
    else if (action.do === "go on") for (let n = 0; n < action.times; n += 1) this.#goOn();
    else if (action.do === "answer") this.#answer(action);
    else if (action.do === "poll") this.#poll(action.raw);
    else if (action.do === "acknowledge")
      this.#feed({ type: "acknowledged", code: "GH-0001", actuator: null });
    else if (action.do === "tick") this.#tick();
    else if (action.do === "close") this.#feed({ type: "closing" });
    else this.#isDiskWorking = action.do === "disk works";
  }

  #feed(input: Input): void {
    const { book, effects } = step(this.book, input, environmentAt(this.now.mono, this.now.at));
    this.book = book;
    const from = this.written.length;
    for (const effect of effects) {
      if (effect.type === "note" || effect.type === "journal") this.#write(effect);
      if ("key" in effect && "token" in effect) this.#questions.push(effect);
    }
    this.onTurn(from);
  }

  #write(effect: Extract<Effect, { readonly type: "note" | "journal" }>): void {
    const { record } = effect;
    if (this.#isDiskWorking) {
      const isKnown = this.written.some(
        (one) => one.type === "command_taken" && "id" in record && one.id === record.id,
      );
      if ("unlessOpen" in effect && effect.unlessOpen !== undefined && !isKnown)
        this.written.push(effect.unlessOpen);
      this.written.push(record);
      return;
    }
    if (isOfLane(record)) this.isUnrecorded = true;
    if (effect.type === "journal") this.#lost.add(effect.token);
  }

  #ask(word: string): void {
    const payload = new TextEncoder().encode(JSON.stringify({ command: word, id: `c${++this.#ids}` }));
    const sender = { by: null, via: null, response: null, retained: false, expiryMs: null };
    const request = {
      ...sender,
      controllerId: "gh-0001",
      target: "actuator",
      targetId: "roof",
      payload,
    } as const;
    const standing = { clockTrusted: true, journal: { available: true, reason: null } };
    this.#feed({
      type: "asked",
      arrived: { request, code: "GH-0001", target: this.settings, id: "nobody's", rules, ...standing },
    });
  }

  #goOn(): void {
    const wakeAt = nextWakeAt(this.book);
    if (this.#questions.length > 0) this.#answer({ do: "answer", place: 0, how: "well", raw: "10010" });
    else if (wakeAt !== null) this.#wait(Math.max(1, wakeAt - this.mono));
  }

  #wait(ms: number): void {
    this.mono += ms;
    this.#feed({ type: "woke" });
  }

  #tick(): void {
    this.#feed({ type: "tick", journalAvailable: this.#isDiskWorking });
    if (!this.#isDiskWorking || !this.isUnrecorded) return;
    this.isUnrecorded = false;
    this.#feed({ type: "unrecorded", lanes: [{ key, missing: [] }] });
  }

  #poll(raw: string): void {
    this.bench.polled("101", raw);
    const target = this.bench.store.get("GH-0001")?.actuators.get("roof");
    if (target) this.#feed({ type: "shown", key, about: { ...about, controllerId: "gh-0001" }, target });
  }

  #answer({ place, how, raw }: Extract<Action, { readonly do: "answer" }>): void {
    const [one] = this.#questions.splice(Math.min(place, this.#questions.length - 1), 1);
    if (one === undefined) return;
    const asked = { key: one.key, token: one.token };
    if (one.type === "journal") {
      const isLost = this.#lost.has(one.token);
      const answer = isLost ? { sequence: null, problem: "full", isOpen: true } : { sequence: one.token };
      this.#feed({ type: "journaled", ...asked, ...answer });
    } else if (one.type === "renew") this.#feed({ type: "renewed", ...asked, isNew: how === "well" });
    else if (one.type === "check") {
      const type = how === "refused" ? "offline" : "online";
      const reads = one.addresses.map((address) => ({ address, read: this.#read(how, raw) }));
      this.#feed({ type: "checked", ...asked, connection: { type }, reads: type === "online" ? reads : [] });
    } else if (one.type === "read")
      this.#feed({ type: "read", ...asked, address: one.address, read: this.#read(how, raw) });
    else {
      this.#register = one.step.value;
      this.#post(asked, how);
    }
  }

  #read(how: Extract<Action, { readonly do: "answer" }>["how"], raw: string): Read {
    if (how === "badly") return { type: "unanswered", reason: "silent", facts: null };
    return { type: "value", raw: how === "well" ? this.#register : raw, startedMono: this.mono };
  }

  #post(
    asked: Pick<Question, "key" | "token">,
    how: Extract<Action, { readonly do: "answer" }>["how"],
  ): void {
    if (how !== "badly") this.#feed({ type: "begins", ...asked });
    const accepted = { type: "accepted", answer: { code: "200", requestId: "r" } } as const;
    const kind = how === "refused" ? "unauthorized" : "timeout";
    const { message, facts } = new PlatformError("no answer", {
      ...{ kind, host: "realtime", operation: "set-value", sent: how !== "badly" },
    });
    const answer = how === "well" ? accepted : ({ type: "error", message, facts } as const);
    this.#feed({ type: "answered", ...asked, answer, before: null });
  }
}

/** As a start reads it. */
function historyOf(records: readonly RecordBody[]): History {
  const history = new History();
  const head: RecordBody = { type: "carried", open: [], starts: [], lanes: [] };
  const stamp = { at: "2026-05-01T06:00:00.000Z", mono: 0, boot: "b", clock_synced: true };
  for (const [place, body] of [head, ...records].entries()) {
    const line = JSON.stringify({ seq: place + 1, ...stamp, ...body });
    history.add(JSON.parse(line) as JournalRecord);
  }
  return history;
}

/** Another process, a second later. */
function restarted(run: Run, records: readonly RecordBody[]): Book {
  const parts = historyOf(records).parts();
  const now = environmentAt(77, run.now.at + 1_000);
  const clock = { now: () => now.at, monotonic: () => now.mono };
  return lanesFrom(parts, new Map(), run.bench.store, clock).reduce<Book>(
    (book, lane) => step(book, { type: "restored", key: laneKey(lane.about), lane }, now).book,
    emptyBook,
  );
}

/** What of a command that may have been sent must be the same: how far it came, and not what was read since. */
const progressOf = ({ id, steps, sent_at, is_accepted }: SentMemory) => ({
  id,
  is_accepted,
  sent_at,
  steps: steps.map(({ purpose, address, value, attempts, code }) => ({
    purpose,
    address,
    value,
    attempts,
    code,
  })),
});

/** Of each value the newest, as the clock has it: what was sent and not confirmed. */
function unconfirmedIn({ lanes, aheadMs }: Book): readonly unknown[] {
  const lane = [...entries(lanes)].find(([one]) => one === key)?.[1];
  const newest = lane?.unconfirmed.toReversed() ?? [];
  return newest
    .filter(({ to }, place) => newest.findIndex((one) => one.to === to) === place)
    .map(({ id, to, outcome, endedAt }) => ({ id, to, outcome, at: endedAt + (aheadMs ?? 0) }));
}

interface Durable {
  readonly unconfirmed: readonly unknown[];
  readonly memory: Omit<LaneMemory, "sent">;
  /** The newest that may have been sent; an older one gives way to it. */
  readonly sent: ReturnType<typeof progressOf> | null;
}

/**
 * What of the book outlives the program, where the journal has these records:
 * - commands that wait or are being checked are let go, as the journal says that they were taken (they end refused), and one of which it
 *   has no record is none;
 * - of two that may have been sent, the older one gives way to the newer as it did then;
 * - an outcome that the journal does not have yet is found out anew, and nothing is looked for after its end;
 * - what may have been sent is not read back, whatever a read has shown meanwhile;
 * - reads under way, pauses and times of this run begin anew.
 */
function durablePart(book: Book, records: readonly RecordBody[]): Durable {
  const taken = new Set(records.flatMap((one) => (one.type === "command_taken" ? one.id : [])));
  const ended = new Set(records.flatMap((one) => (one.type === "result" ? one.result.id : [])));
  const untold = [...entries(book.outcomes)].flatMap(([, { result }]) =>
    ended.has(result.id) ? [] : result.id,
  );
  const { sent = [], ...memory } = memoryOf(book, key);
  const { awaited, second_look: look, unread, ...rest } = memory;
  const isEnded = (id: string | undefined) => id !== undefined && !untold.includes(id);
  const newest = sent.findLast(({ id }) => taken.has(id) && !ended.has(id));
  return {
    unconfirmed: unconfirmedIn(book),
    memory: {
      ...((unread ?? newest !== undefined) && { unread: true as const }),
      ...rest,
      ...(isEnded(awaited?.id) && { awaited }),
      ...(isEnded(look?.id) && { second_look: look }),
    },
    sent: newest === undefined ? null : progressOf(newest),
  };
}

/** What the journal may have when the program dies after a turn: from the first record on that says what the lane must remember. */
const prefixes = ({ book, written, isUnrecorded }: Run, from: number): readonly (readonly RecordBody[])[] =>
  Array.from({ length: written.length - from + 1 }, (_, place) => written.slice(0, from + place)).filter(
    (records) =>
      !isUnrecorded &&
      (records.length === written.length || records.slice(from).some(isOfLane)) &&
      !hasOutcomeInDoubt(book, records),
  );

describe("the book after a restart", () => {
  it.each(kinds)("is the book before, at whichever record the program died: $kind", ({ parts, ...kind }) => {
    const compared = new Set<string>();
    fc.assert(
      fc.property(fc.array(actions, { minLength: 5, maxLength: 60 }), (course) => {
        const run = new Run(kind);
        run.onTurn = (from) => {
          for (const records of prefixes(run, from)) {
            const before = durablePart(run.book, records);
            expect(durablePart(restarted(run, records), records)).toEqual(before);
            for (const part of Object.keys(before.memory)) compared.add(part);
            if (before.unconfirmed.length > 0) compared.add("unconfirmed");
            if (before.sent !== null) compared.add(`sent ${before.sent.steps.length}`);
          }
        };
        for (const action of course) run.act(action);
      }),
      { numRuns: 300, seed: 27 },
    );
    // Nothing of a lane was left out of all these runs.
    expect([...compared].sort()).toEqual(parts);
  });
});

const minuteMs = 60_000;

describe("what was not confirmed within the last hour and comes after a restart", () => {
  const fan = { ...plainFan, travelMs: 0 };
  const benchOf = () => new CommandBench({ actuators: [fan], registers: { "140": "1001" } });

  /** The next run, of which the clock says when it starts. */
  const next = async (before: CommandBench, startsAt: number) => {
    const bench = benchOf();
    bench.clock.setWall(startsAt);
    const parts = historyOf(before.records).parts();
    for (const lane of lanesFrom(parts, new Map(), bench.store, bench.clock))
      bench.commander.feed({ type: "restored", key: laneKey(lane.about), lane });
    await bench.clock.advance(5_000);
    bench.polled("140", "1001");
    return bench;
  };
  const rejected = async () => {
    const bench = benchOf();
    bench.polled("140", "1001");
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
    expect(await bench.run("on")).toMatchObject({ outcome: "rejected" });
    return bench;
  };
  const shows = async (bench: CommandBench, raw: string) => {
    bench.platform.registers.set("140", raw);
    bench.polled("140", raw);
    await bench.clock.advance(1_000);
    return bench.events.map(({ type }) => type).filter((type) => !type.startsWith("command"));
  };
  const year = 365 * 24 * 60;

  it.each<[string, number, number, boolean, number, string]>([
    ["within the hour", 10, 0, false, 20, "late_execution"],
    ["more than an hour after its end", 10, 0, false, 55, "changed_elsewhere"],
    ["within an hour of a start by a clock that is behind", 10, -120, false, 20, "late_execution"],
    ["later than that", 10, -120, false, 65, "changed_elsewhere"],
    ["by a clock that stood still meanwhile, and is set then", 120, -120, true, 5, "changed_elsewhere"],
    ["by a clock that was years ahead, and is set then", 10, 10 * year, true, 20, "late_execution"],
  ])("%s", async (_, downMin, offMin, isSet, upMin, type) => {
    const first = await rejected();
    const startsAt = first.clock.now() + downMin * minuteMs;
    const second = await next(first, startsAt + offMin * minuteMs);
    if (isSet) second.clock.setWall(startsAt + second.clock.monotonic());
    await second.clock.advance(upMin * minuteMs);
    expect(await shows(second, "1010")).toEqual([type]);
  });

  it("by a clock that was set before the restart", async () => {
    const first = await rejected();
    first.clock.setWall(first.clock.now() + 10 * year * minuteMs);
    await first.run("dance");
    const second = await next(first, first.clock.now() + 30 * minuteMs);
    expect(await shows(second, "1010")).toEqual(["late_execution"]);
    const later = await next(first, first.clock.now() + 65 * minuteMs);
    expect(await shows(later, "1010")).toEqual(["changed_elsewhere"]);
  });

  it("over more restarts than one, and once", async () => {
    const first = await rejected();
    const second = await next(first, first.clock.now() + minuteMs);
    second.records.unshift(...first.records);
    const third = await next(second, second.clock.now() + minuteMs);
    third.records.unshift(...second.records);
    expect(await shows(third, "1010")).toEqual(["late_execution"]);
    const fourth = await next(third, third.clock.now() + minuteMs);
    expect(await shows(fourth, "1010")).toEqual(["changed_elsewhere"]);
  });
});

/** Of what was sent and has an outcome that the journal does not have, the book knows no more how far it came. */
const hasOutcomeInDoubt = ({ outcomes }: Book, records: readonly RecordBody[]): boolean =>
  [...entries(outcomes)].some(
    ([, { result, isRefusal }]) =>
      !isRefusal && !records.some((one) => one.type === "result" && one.result.id === result.id),
  );
