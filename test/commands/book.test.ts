import { describe, expect, it } from "vitest";
import {
  type Book,
  type Effect,
  emptyBook,
  emptyLane,
  type Input,
  type Lane,
} from "../../src/commands/book.js";
import type { CommandRules } from "../../src/commands/command.js";
import { memoryOf } from "../../src/commands/memory.js";
import { heldBackIn, nextWakeAt, openIn, print, step } from "../../src/commands/step.js";
import { at, having } from "../../src/runtime/table.js";
import { forgottenAt } from "../../src/commands/lane.js";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { actuator, environmentAt, restored, roofProblem } from "../support/builders.js";

/*
 * The rules of the command path as inputs and effects, without a clock, a platform or a disk. A lane is driven by hand:
 * every question it asks stays open until the test answers it.
 */

const fan: Partial<ActuatorSettings> = { kind: "circulation_fan", address: "140" };
const motor: Partial<ActuatorSettings> = {
  kind: "motor",
  address: "300",
  values: { open: "00000001", close: "00000010" },
};

type Question = Extract<Effect, { readonly key: string; readonly token: number }>;

const usualRules: CommandRules = {
  ...{ read_only: false, dry_run: false, max_age: 60_000, require_age: false, require_by: false },
  ...{ min_interval: 2_000, controller_interval: 0, raw_addresses: false, response_topics: [] },
  ...{ readOnlyForRules: false, otherBridge: false },
};

const answers = { topic: "a/b", correlationData: new Uint8Array([1]) };

class Driver {
  book: Book = emptyBook;
  mono = 0;
  /** Whether a connection stands as soon as it is asked for. */
  connects = true;
  readonly said: string[] = [];
  readonly key: string;
  readonly #settings: ActuatorSettings;
  readonly #open: Question[] = [];
  #ids = 0;

  constructor(over: Partial<ActuatorSettings> = {}) {
    this.#settings = actuator(over);
    this.key = `GH-0001 actuator ${this.#settings.id}`;
  }

  get lane(): Lane {
    return at(this.book.lanes, this.key) ?? emptyLane;
  }

  ask(command: string, over: Readonly<Record<string, unknown>> = {}): this {
    const payload = JSON.stringify({ command, id: `c${++this.#ids}`, ...over });
    return this.feed({
      type: "asked",
      arrived: {
        request: {
          ...{ controllerId: "gh-0001", target: "actuator", targetId: this.#settings.id },
          ...{ by: null, via: null, response: answers, retained: false, expiryMs: null },
          payload: new TextEncoder().encode(payload),
        },
        ...{ code: "GH-0001", target: this.#settings, id: "nobody's", rules: usualRules },
        ...{ clockTrusted: true, journal: { available: true, reason: null } },
      },
    });
  }

  feed(input: Input): this {
    const { book, effects } = step(this.book, input, environmentAt(this.mono));
    this.book = book;
    for (const effect of effects) {
      if ("key" in effect && "token" in effect) this.#open.push(effect);
      const text = tell(effect);
      if (text !== null) this.said.push(text);
      if (effect.type === "post" && this.connects) this.begins();
    }
    this.#journalOutcomes();
    return this;
  }

  /** A disk that takes every outcome, as the rules here are those of the commands. */
  #journalOutcomes(): void {
    const place = this.#open.findIndex(isOutcome);
    const [one] = place === -1 ? [] : this.#open.splice(place, 1);
    if (one) this.feed({ type: "journaled", key: one.key, token: one.token, sequence: one.token });
  }

  after(ms: number): this {
    this.mono += ms;
    return this.feed({ type: "woke" });
  }

  get questions(): readonly Question[] {
    return this.#open;
  }

  /** What it is asking now, oldest first. */
  get asking(): readonly string[] {
    return this.#open.map(({ type }) => type);
  }

  /** The controller is online, and its address shows this; null where it is not answered. */
  checked(raw: string | null): this {
    const read = raw === null ? silence : ({ type: "value", raw, startedMono: this.mono } as const);
    const reads = [{ address: this.#settings.address, read }];
    return this.feed({ type: "checked", ...this.#take("check"), connection: { type: "online" }, reads });
  }

  shows(raw: string): this {
    const asked = this.#take("read");
    const read = { type: "value", raw, startedMono: this.mono } as const;
    return this.feed({ type: "read", ...asked, address: this.#settings.address, read });
  }

  silent(): this {
    return this.feed({ type: "read", ...this.#take("read"), address: "", read: silence });
  }

  journaled(problem: string | null = null): this {
    const end = problem === null ? { sequence: 1 } : { sequence: null, problem, isOpen: false };
    return this.feed({ type: "journaled", ...this.#take("journal"), ...end });
  }

  accepted(): this {
    const answer = { type: "accepted", answer: { code: "200", requestId: null } } as const;
    return this.feed({ type: "answered", ...this.#take("post"), answer, before: null });
  }

  ambiguous(): this {
    const { message, facts } = new PlatformError("no answer", {
      ...{ kind: "timeout", host: "realtime", operation: "set-value", sent: true },
    });
    const answer = { type: "error", message, facts } as const;
    return this.feed({ type: "answered", ...this.#take("post"), answer, before: null });
  }

  /** The connection stands that is waited for. */
  begins(): this {
    const one = this.#open.find(({ type }) => type === "post");
    if (one === undefined) throw new Error("no post is asked");
    return this.feed({ type: "begins", key: one.key, token: one.token });
  }

  /** Checked, on disk, and its first POST on the way. */
  sending(text: string, register: string, over: Readonly<Record<string, unknown>> = {}): this {
    return this.ask(text, over).checked(register).journaled();
  }

  #take(type: Question["type"]): Pick<Question, "key" | "token"> {
    const place = this.#open.findIndex((one) => one.type === type);
    const [one] = place === -1 ? [] : this.#open.splice(place, 1);
    if (one === undefined) throw new Error(`no ${type} is asked`);
    return { key: one.key, token: one.token };
  }
}

const silence = { type: "unanswered", reason: "no answer", facts: null } as const;

const isOutcome = (effect: Effect) =>
  effect.type === "journal" && (effect.record.type === "result" || effect.record.type === "refusal");

/** What a grower would see of it: POSTs and ends. */
function tell(effect: Effect): string | null {
  if (effect.type === "post") return `POST ${effect.step.value}`;
  if (effect.type === "event" && effect.event.type === "reverted") {
    const { id, read_back } = effect.event.facts ?? {};
    return `${String(id)} reverted to ${String(read_back)}`;
  }
  if (effect.type !== "ended") return null;
  const { id, outcome, reason } = effect.result;
  return `${id} ${outcome}${reason === null ? "" : ` ${reason}`}`;
}

/** What can be said of a lane in a story, by its first word. */
const words: Readonly<Record<string, (lane: Driver, ...rest: readonly string[]) => Driver>> = {
  ask: (lane, command = "", ...options) => lane.ask(command, optionsOf(options)),
  sending: (lane, text = "", register = "", ...options) => lane.sending(text, register, optionsOf(options)),
  /** A window that travels for two minutes: opened and confirmed 2 s after its POST at 0. */
  opened: (lane) => opened(lane),
  checked: (lane, raw = "") => lane.checked(raw),
  unread: (lane) => lane.checked(null),
  shows: (lane, raw = "") => lane.shows(raw),
  silent: (lane) => lane.silent(),
  journaled: (lane, ...problem) => lane.journaled(problem.length === 0 ? null : problem.join(" ")),
  accepted: (lane) => lane.accepted(),
  ambiguous: (lane) => lane.ambiguous(),
  after: (lane, ms) => lane.after(Number(ms)),
  /** Time goes by unnoticed. */
  later: (lane, ms) => {
    lane.mono += Number(ms);
    return lane;
  },
  closing: (lane) => lane.feed({ type: "closing" }),
  quiet: (lane) => expectQuiet(lane),
};

/** `force`, `max_age=3s`. */
const optionsOf = (options: readonly string[]) =>
  Object.fromEntries(
    options.map((option) => option.split("=")).map(([name = "", value = true]) => [name, value]),
  );

const opened = (lane: Driver) => lane.sending("open", "10001").accepted().after(2_000).shows("10010");

function expectQuiet(lane: Driver): Driver {
  expect(lane.asking).toEqual([]);
  return lane;
}

/** Rules of a lane as text: the rule behind `#`, the story, and behind `→` what is said. */
function itKeeps(over: Partial<ActuatorSettings>, text: string): void {
  const rules = text.trim().split(/\s*# /).slice(1);
  it.each(rules.map((rule) => rule.split("\n")))("%s", (_, story = "") => {
    const [script = "", said = ""] = story.split("→").map((part) => part.trim());
    const lane = new Driver(over);
    for (const [word = "", ...rest] of script.split(", ").map((part) => part.split(" "))) {
      const does = words[word];
      if (!does) throw new Error(`a story knows no ${word}`);
      does(lane, ...rest);
    }
    expect(lane.said.join(", ")).toBe(said);
  });
}

describe("the lane of a fan", () => {
  itKeeps(
    fan,
    `
    # a POST leaves only once the journal has on disk that the command is sent
    ask on, checked 1001
    # and leaves then
    ask on, checked 1001, journaled → POST 1010
    # a command that grew too old while the journal wrote is not sent
    ask on, checked 1001, later 60001, journaled → c1 refused expired
    # a journal that cannot write refuses the command
    ask on, checked 1001, journaled disk full → c1 refused journal_unavailable
    # force sends although the value shows
    sending on 1010 force → POST 1010
    # a dry run is checked and not sent
    ask on dry_run, checked 1001 → c1 dry_run
    # a fresh read without an answer refuses, whatever force says
    ask on force, unread → c1 refused platform_unavailable
    # an ambiguous POST is sent again once, not sooner than 5 s, where a newer read differs
    sending on 1001, ambiguous, after 4999, quiet, after 1, shows 1001 → POST 1010, POST 1010
    # an ambiguous POST whose value shows is confirmed
    sending on 1001, ambiguous, after 5000, shows 1010 → POST 1010, c1 confirmed
    # an ambiguous POST of a command that is too old is not sent again
    sending on 1001 max_age=3s, ambiguous, after 5000, shows 1001 → POST 1010
    # one that confirms gives way when the newer is about to POST, not before
    sending on 1001, accepted, after 2000, ask off, checked 1001 → POST 1010
    # and then ends superseded after_sending
    sending on 1001, accepted, after 100, ask off, after 1900, checked 1001, shows 1001, journaled → POST 1010, POST 1001, c1 superseded after_sending
    # the end of the program refuses what is checked, and leaves what was sent for the next start
    sending on 1001, accepted, ask off, closing → POST 1010, c2 refused shutting_down
  `,
  );
});

describe("the lane of a motor", () => {
  itKeeps(
    motor,
    `
    # a stop goes out although the journal cannot write
    ask stop, journaled disk full → POST 00000100
    # a disk that hangs holds a stop up for 200 ms
    ask stop, after 200 → POST 00000100
    # a stop that has grown too old while the disk hung is not sent
    ask stop max_age=199ms, after 200 → c1 refused expired
    # a stop ends what is only being checked and what waits
    ask open, ask close, ask stop → c2 superseded before_sending, c1 superseded before_sending
    # after a stop no further step of another command follows
    sending open 0, ask stop, ambiguous, journaled → POST 00000001, c1 superseded after_sending, POST 00000100
  `,
  );
});

describe("the lane of what travels", () => {
  itKeeps(
    { address: "101", travelMs: 120_000 },
    `
    # what was confirmed is read once more when the travel time after the last POST is over
    opened, after 118000, shows 10001 → POST 10010, c1 confirmed, c1 reverted to 10001
    # also where the read that confirms it is answered only when that time is over
    sending open 10001, accepted, after 2000, after 118000, shows 10010, shows 10001 → POST 10010, c1 confirmed, c1 reverted to 10001
    # but not where that read began behind it
    sending open 10001, accepted, after 2000, shows 10001, after 118000, shows 10010, quiet → POST 10010, c1 confirmed
    # where it holds nothing is said
    opened, after 118000, shows 10010 → POST 10010, c1 confirmed
    # and that is not before
    opened, after 117999, quiet → POST 10010, c1 confirmed
    # nor ever again
    opened, after 118000, shows 10010, after 900000, quiet → POST 10010, c1 confirmed
    # what a newer command of ours explains is not said
    opened, ask close, checked 10010, journaled, accepted, after 2000, shows 10001, quiet, after 118000, shows 10001 → POST 10010, c1 confirmed, POST 10001, c2 confirmed
    # a newer command that is refused explains nothing
    opened, ask close, unread, after 118000, shows 10001 → POST 10010, c1 confirmed, c2 refused platform_unavailable, c1 reverted to 10001
    # a platform without an answer is asked again every 30 s
    opened, after 118000, silent, after 29999, quiet, after 1, shows 10001 → POST 10010, c1 confirmed, c1 reverted to 10001
    # the end of the program leaves it to the next start
    opened, closing, after 118000, quiet → POST 10010, c1 confirmed
  `,
  );

  it("what an earlier run confirmed is read at once", () => {
    const lane = new Driver({ address: "101", travelMs: 120_000 });
    const { secondLook } = opened(new Driver({ address: "101" })).lane;
    if (secondLook === null) throw new Error("nothing is held");
    lane.feed(restored(secondLook.command, { secondLook })).shows("10001");
    expect(lane.said).toEqual(["c1 reverted to 10001"]);
  });

  it("what an earlier run confirmed is not there already before its travel time is over", () => {
    const lane = new Driver({ address: "101", travelMs: 120_000 });
    const { secondLook } = opened(new Driver({ address: "101" })).lane;
    if (secondLook === null) throw new Error("nothing is held");
    lane.feed(restored(secondLook.command, { secondLook })).shows("10010");
    expect(lane.lane.posts.endedAt).toBe(lane.mono);
  });

  it("what does not travel is not read again", () => {
    expectQuiet(new Driver(fan).sending("on", "1001").accepted().after(2_000).shows("1010").after(900_000));
  });
});

describe("the lane of a skylight", () => {
  it("a mode that does not show within 30 s ends the command", () => {
    const lane = new Driver({ address: "101" }).sending("45", "10001").accepted();
    while (lane.lane.running !== null)
      lane.after(Math.max(0, (nextWakeAt(lane.book) ?? 0) - lane.mono)).shows("10001");
    expect(lane.said).toEqual(["POST 10100", "c1 unconfirmed mode_not_confirmed"]);
    expect(lane.mono).toBe(30_000);
  });
});

/** What the senders are told, and what the journal is asked to take. */
function told(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => {
    if (effect.type === "result") return [`told ${effect.result.outcome} ${String(effect.sequence)}`];
    return isOutcome(effect) ? ["journal"] : [];
  });
}

describe("the outcome of a command", () => {
  const now = environmentAt(0);
  const key = "GH-0001 actuator roof";
  const failed = { type: "journaled", key, sequence: null, problem: "disk full" } as const;
  const asked = (over: Readonly<Record<string, unknown>> = {}) => {
    const driver = new Driver(fan).ask("on", over);
    const [check] = driver.questions;
    if (!check) throw new Error("nothing is read");
    const { key, token } = check;
    const read = { type: "value", raw: "1010", startedMono: 0 } as const;
    const shown = { connection: { type: "online" }, reads: [{ address: "140", read }] } as const;
    const ended = step(driver.book, { type: "checked", key, token, ...shown }, now);
    const question = ended.effects.find((one) => one.type === "journal");
    if (!question) throw new Error("nothing is journaled");
    return { ...ended, token: question.token };
  };

  it("is told once the journal has it, by its number", () => {
    const { book, effects, token } = asked();
    expect(told(effects)).toEqual(["journal"]);
    const after = step(book, { type: "journaled", key, token, sequence: 7 }, now);
    expect(told(after.effects)).toEqual(["told already 7"]);
    expect(after.book.outcomes.size).toBe(0);
  });

  it("is held back while the journal cannot take it, and written and told when it can", () => {
    const { book, token } = asked();
    const held = step(book, { ...failed, token, isOpen: true }, now);
    expect([told(held.effects), heldBackIn(held.book)]).toEqual([[], 1]);
    const away = step(held.book, { type: "tick", journalAvailable: false }, now);
    expect(told(away.effects)).toEqual([]);
    const again = step(away.book, { type: "tick", journalAvailable: true }, now);
    expect(told(again.effects)).toEqual(["journal"]);
    const question = again.effects.find((one) => one.type === "journal");
    const end = { type: "journaled", key, token: question?.token ?? 0, sequence: 8 } as const;
    expect(told(step(again.book, end, now).effects)).toEqual(["told already 8"]);
  });
});

describe("a problem", () => {
  const now = environmentAt(0);
  const ofRoof = (code: string) => ({ code, target: "actuator", targetId: "roof" }) as const;

  // A device code may have blanks in it.
  it.each(["GH-0001", "GH 0001 b"])(
    "is the controller's until a person has seen it, which the journal keeps: %s",
    (code) => {
      const { book, effects } = step(emptyBook, restored(ofRoof(code), { problem: roofProblem }), now);
      expect(effects).toEqual([{ type: "problem", code, open: [roofProblem] }]);
      expect(memoryOf(book, `${code} actuator roof`)).toMatchObject({ problem: { outcome: "unconfirmed" } });
      const other = step(book, { type: "acknowledged", code, actuator: "fan" }, now);
      expect(other.effects[0]).toEqual({ type: "problem", code, open: [roofProblem] });
      const seen = step(other.book, { type: "acknowledged", code, actuator: "roof" }, now);
      expect(seen.effects).toMatchObject([
        { type: "problem", open: [] },
        // And that the next start raises it no more.
        { type: "note", record: { type: "lane", controller: code, actuator: "roof", memory: {} } },
      ]);
    },
  );

  it("is printed with its own controller, and not with one whose code its own begins with", () => {
    const { book } = step(emptyBook, restored(ofRoof("GH 1"), { problem: roofProblem }), now);
    expect(print(book, now, "GH 1")).toMatchObject({ problems: ["GH 1 actuator roof"] });
    expect(print(book, now, "GH")).toMatchObject({ problems: [] });
  });
});

describe("the book as data", () => {
  it("is the same function of the same inputs, and leaves the state it was given alone", () => {
    const before = new Driver(fan).ask("on").book;
    const frozen = structuredClone(before);
    const input: Input = { type: "closing" };
    const now = environmentAt(5);
    expect(step(before, input, now)).toEqual(step(before, input, now));
    expect(before).toEqual(frozen);
  });

  it("prints what is open, and nothing that only the sender is to see", () => {
    const { book, key } = new Driver(fan).sending("on", "1001").accepted();
    const shown = print(book, { at: 0, mono: 0 }, "GH-0001");
    expect(shown).toMatchObject({
      at: "1970-01-01T00:00:00.000Z",
      lanes: { [key]: { confirming: { command: { id: "c1" }, at: "confirming" } } },
    });
    expect(JSON.stringify(shown)).not.toContain("correlationData");
    expect(print(book, { at: 0, mono: 0 }, "GH-0002")).toMatchObject({ lanes: {} });
    expect(print(emptyBook, { at: 0, mono: 0 }, null)).toMatchObject({
      lanes: {},
      problems: [],
      outcomes: [],
    });
  });

  it("tells what is open and when it wants to be woken", () => {
    const { book } = new Driver(fan).sending("on", "1001").accepted();
    expect(openIn(book).map(({ id }) => id)).toEqual(["c1"]);
    expect(nextWakeAt(book)).toBe(2_000);
    expect(nextWakeAt(emptyBook)).toBeNull();
  });

  it("holds what was not confirmed no longer than the hour in which it may still come", () => {
    const one = { id: "c0", to: "on", outcome: "rejected", endedAt: -9_000_000, keptSince: 0 };
    expect(forgottenAt({ ...emptyLane, unconfirmed: [one] })).toBe(3_600_000);
    const driver = new Driver(fan);
    const known = { ...emptyLane, unconfirmed: [one] };
    driver.book = { ...driver.book, lanes: having(driver.book.lanes, driver.key, known) };
    driver.mono = 3_600_000;
    expect(driver.ask("on").lane.unconfirmed).toEqual([one]);
    driver.mono += 1;
    expect(driver.ask("on").lane.unconfirmed).toEqual([]);
  });

  it("forgets a target of which nothing counts any more", () => {
    const driver = new Driver(fan).sending("on", "1001").accepted().after(2_000).shows("1010");
    expect(driver.book.lanes.size).toBe(1);
    driver.after((nextWakeAt(driver.book) ?? 0) - driver.mono);
    expect([driver.book.lanes.size, nextWakeAt(driver.book)]).toEqual([0, null]);
  });
});
