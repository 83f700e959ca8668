import { describe, expect, it } from "vitest";
import type { Ask, Device, History, Post, Raw, Read, Result } from "./history.js";
import { judgeHistory } from "./judge.js";
import { historyOf, inRealTime } from "./recorded.js";
import { type Rule, rules } from "./rules.js";
import { noReadings } from "./values.js";

/*
 * Each rule of the judge with a history that keeps it and histories that break it. A history is written as a story:
 * somebody asks, the bridge reads, POSTs and publishes. Instants are s; the command comes at 10.
 */

const roof: Device = {
  kind: "skylight",
  address: "101",
  values: {},
  leadIn: "when_not_on",
  travelMs: 20_000,
  minIntervalMs: 2_000,
  tolerance: 0,
};
const fan: Device = { ...roof, kind: "circulation_fan", travelMs: 0 };
const lamp: Device = { ...roof, kind: "light", travelMs: 0 };

const motor: Device = { ...roof, kind: "motor", values: { open: "00000001" } };
const pulsing = { settings: motor, readings: new Set(["motors_pulse"] as const) };

/** Builds one history, step by step. */
class Story {
  clockMs = 0;
  seesReads = true;
  isHonest = false;
  isPowerGone = false;
  readonly asks = new Map<string, Ask>();
  readonly posts: Post[] = [];
  readonly #reads: Read[] = [];
  readonly #held: { at: number; value: string }[] = [{ at: -Infinity, value: "10001" }];
  readonly #written = new Map<string, number>();
  #stoppedAt = Infinity;
  #isTroubled = false;
  #isGone = false;

  ask(by: string, at: number, word: string | null, more: Partial<Ask> = {}): Ask {
    const ask: Ask = {
      by,
      at: at * 1_000,
      boot: 1,
      code: "GH-0001",
      actuator: "roof",
      settings: roof,
      payload: "",
      word,
      ownId: null,
      repeatOf: null,
      retained: false,
      force: false,
      dryRun: false,
      forMs: null,
      holdMs: null,
      rule: null,
      latestPostAt: at * 1_000 + 60_000,
      mayExpireAt: at * 1_000 + 60_000,
      mustNotPost: null,
      readings: noReadings,
      phases: [],
      posts: [],
      results: [],
      donor: null,
      inherits: false,
      delivered: true,
      isAnswerKept: false,
      ...more,
    };
    this.asks.set(by, ask);
    this.phase(ask, at, "waiting");
    this.journal("command_taken", ask, at);
    return ask;
  }

  phase(ask: Ask, at: number, phase: string): void {
    ask.phases.push({ phase, at: at * 1_000, boot: ask.boot });
  }

  journal(record: string, { by }: Ask, at: number): void {
    this.#written.set(`${record} ${by}`, at * 1_000);
  }

  forget(record: string, { by }: Ask): void {
    this.#written.delete(`${record} ${by}`);
  }

  read(at: number, address: string, raw: Raw | null | undefined, more: Partial<Read> = {}): void {
    this.#reads.push({
      boot: 1,
      code: "GH-0001",
      address,
      fresh: true,
      begunAt: at * 1_000,
      endedAt: at * 1_000 + 100,
      answered: true,
      raw,
      isLie: false,
      ...more,
    });
  }

  /** Reads the controller's state and the address, as before every POST. */
  checked(at: number, address = "101", raw: Raw = "10001"): void {
    this.read(at, "", "online");
    this.read(at, address, raw);
  }

  post(ask: Ask | null, at: number, value: string, more: Partial<Post> = {}): Post {
    const post: Post = {
      ask,
      boot: 1,
      code: "GH-0001",
      address: "101",
      value,
      begunAt: at * 1_000,
      endedAt: at * 1_000 + 200,
      outcome: "accepted",
      sent: true,
      bodyCode: "200",
      wires: 1,
      arrived: null,
      ...more,
    };
    this.posts.push(post);
    ask?.posts.push(post);
    return post;
  }

  holds(at: number, value: string): void {
    this.#held.push({ at: at * 1_000, value });
  }

  /** Journals a result and publishes it. */
  tell(ask: Ask, at: number, outcome: string, more: Partial<Result> = {}, isJournaled = true): void {
    const steps = ask.posts
      .filter((one, n, all) => all.findIndex(({ value }) => value === one.value) === n)
      .map(({ address, value }) => {
        const own = ask.posts.filter((one) => one.value === value);
        const code = own.findLast(({ sent }) => sent)?.bodyCode ?? null;
        return { address, value, attempts: own.length, code };
      });
    const result: Result = {
      id: ask.by,
      outcome,
      reason: null,
      message: null,
      finished_at: String(at),
      repeated: false,
      steps,
      ...more,
    };
    this.phase(ask, at, "done");
    this.journal("result", ask, at);
    ask.results.push({ result, at: at * 1_000 + 10, boot: ask.boot, isJournaled });
  }

  stopsAt(at: number): void {
    this.#stoppedAt = at * 1_000;
  }

  diskIsBad(): void {
    this.#isTroubled = true;
  }

  linkIsGone(): void {
    this.#isGone = true;
  }

  get history(): History {
    const written = (record: string, { by }: Ask, at: number) =>
      (this.#written.get(`${record} ${by}`) ?? NaN) <= at;
    const lane = (code: string, actuator: string) =>
      [...this.asks.values()].filter((one) => one.code === code && one.actuator === actuator);
    return {
      clockMs: this.clockMs,
      showsTravel: false,
      seesReads: this.seesReads,
      asks: this.asks,
      posts: this.posts,
      lane,
      postsTo: (code, actuator) =>
        this.posts.filter(({ ask }) => ask?.code === code && ask.actuator === actuator),
      readsOf: (code, address) => this.#reads.filter((one) => one.code === code && one.address === address),
      heldBetween: (_, __, from, to) => {
        const first = this.#held.findLastIndex(({ at }) => at <= from);
        const held = this.#held.slice(Math.max(0, first)).filter(({ at }) => at <= to);
        return held.map(({ value }) => value).toReversed();
      },
      isHonest: () => this.isHonest,
      knowsPostsOf: () => true,
      startedAt: (boot) => (boot === 1 ? 0 : 100_000),
      stoppedAt: () => this.#stoppedAt,
      machineEndedBetween: () => this.isPowerGone,
      stalledBefore: () => -Infinity,
      lackedValue: () => false,
      mayBeGone: () => this.#isGone,
      mayBeUnheard: () => false,
      looksTooOld: () => false,
      journal: {
        isWritten: written,
        isDurable: written,
        outcomesOf: ({ results }) => new Set(results.map(({ result }) => result.finished_at)).size,
        mayBeMissing: () => this.#isTroubled,
        isOpen: (ask, at) => written("command_taken", ask, at) && !ask.results.some((told) => told.at < at),
      },
    };
  }
}

/** A command `open`: asked at 10, POSTed at 11, shown at 14. */
function opened(story: Story, more: Partial<Ask> = {}): Ask {
  const ask = story.ask("r1", 10, "open", more);
  story.checked(10.5);
  story.post(ask, 11, "10010");
  story.holds(12, "10010");
  story.read(14, "101", "10010");
  return ask;
}

/** The mode, then a degree of 45, each shown. */
function turned(story: Story, provenAt = 13): Ask {
  const ask = story.ask("r1", 10, "45");
  story.checked(10.5);
  story.post(ask, 11, "10100");
  story.holds(12, "10100");
  story.read(provenAt, "101", "10100");
  return ask;
}

type Row = readonly [what: string, rule: Rule | null, tell: (story: Story) => void];

const rows: readonly Row[] = [
  [
    "a command that is checked, journaled, POSTed, shown and told",
    null,
    (story) => story.tell(opened(story), 15, "confirmed"),
  ],

  // S1
  [
    "a second POST 5 s after one without an answer and a read that differs",
    null,
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010", { outcome: "timeout", bodyCode: null });
      story.read(13, "101", "10001");
      story.post(ask, 17, "10010");
      story.holds(18, "10010");
      story.read(20, "101", "10010");
      story.tell(ask, 21, "confirmed");
    },
  ],
  ...(
    [
      ["a second POST after a refusal with a code", { outcome: "server", bodyCode: "5001" }, 17, "10001"],
      [
        "a second POST after one that never left",
        { outcome: "timeout", bodyCode: null, sent: false },
        17,
        "10001",
      ],
      [
        "a second POST before the first had ended",
        { outcome: null, bodyCode: null, endedAt: null },
        17,
        "10001",
      ],
    ] as const
  ).map(([what, first, at, raw]): Row => [
    what,
    "S1",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010", first);
      story.read(13, "101", raw);
      story.post(ask, at, "10010");
    },
  ]),
  [
    "a third POST",
    "S1",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      for (const at of [11, 17, 23]) {
        story.post(ask, at, "10010", { outcome: "timeout", bodyCode: null });
        story.read(at + 1, "101", "10001");
      }
    },
  ],
  [
    "a second POST although the register held the value all the time, where nobody saw the read",
    "S1",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010", { outcome: "unanswered", bodyCode: null });
      story.holds(11.1, "10010");
      story.read(13, "101", undefined);
      story.post(ask, 17, "10010");
    },
  ],

  // S2
  [
    "a degree after its mode was read back",
    null,
    (story) => {
      const ask = turned(story);
      story.post(ask, 14, "45");
      story.holds(15, "45");
      story.read(17, "101", "45");
      story.tell(ask, 18, "confirmed");
    },
  ],
  ["a degree before its mode was read back", "S2", (story) => story.post(turned(story, 15), 14, "45")],
  [
    "a degree after a mode that showed only after 30 s",
    "S2",
    (story) => story.post(turned(story, 43), 44, "45"),
  ],
  ...(
    [
      ["after 1010 was read", "1010", null],
      ["although 1010 was never read", "1001", "S2"],
    ] as const
  ).map(([what, raw, rule]): Row => [
    `a light is switched off ${what}`,
    rule,
    (story) => {
      const ask = story.ask("r1", 10, "off", { settings: lamp });
      story.checked(10.5, "101", raw);
      story.post(ask, 11, "1001");
      story.tell(ask, 40, "superseded", { reason: "after_sending" });
      story.ask("r2", 30, "on", { settings: lamp });
      story.tell(story.asks.get("r2") ?? ask, 41, "refused", { reason: "interlock" });
    },
  ]),

  // S4
  ["a POST that no command asked for", "S4", (story) => void story.post(null, 11, "10010")],
  [
    "a POST after the result",
    "S4",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.tell(ask, 11, "refused", { reason: "interlock" });
      story.post(ask, 12, "10010");
    },
  ],
  [
    "a command that is told as unsent and was sent",
    "S4",
    (story) => story.tell(opened(story), 15, "refused", { reason: "expired" }),
  ],
  [
    "a forced command that is not sent as it is there already",
    "S4",
    (story) => {
      const ask = story.ask("r1", 10, "close", { force: true });
      story.checked(10.5);
      story.tell(ask, 11, "already");
    },
  ],

  // S5, S6
  [
    "a POST before its record",
    "S5",
    (story) => {
      const ask = opened(story);
      story.journal("command_taken", ask, 11.5);
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "a stop leaves without its record",
    null,
    (story) => {
      const ask = opened(story, {
        word: "stop",
        settings: { ...roof, stop: { address: "101", value: "10010" } },
      });
      story.forget("command_taken", ask);
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "a POST after the command's age",
    "S6",
    (story) => story.tell(opened(story, { latestPostAt: 10_900 }), 15, "confirmed"),
  ],
  [
    "a POST a little after its age, where two clocks tell",
    null,
    (story) => {
      story.clockMs = 200;
      story.tell(opened(story, { latestPostAt: 10_900 }), 15, "confirmed");
    },
  ],

  // S7
  [
    "a stop's result without its record while the disk is bad",
    null,
    (story) => {
      story.diskIsBad();
      const stop = { address: "101", value: "10010" };
      story.tell(opened(story, { word: "stop", settings: { ...roof, stop } }), 15, "confirmed", {}, false);
    },
  ],
  [
    "a result told twice as new",
    "S7",
    (story) => {
      const ask = opened(story);
      for (const at of [15, 16]) story.tell(ask, at, "confirmed", { finished_at: "15" });
    },
  ],
  [
    "a result told again and marked so",
    null,
    (story) => {
      const ask = opened(story);
      story.tell(ask, 15, "confirmed");
      story.tell(ask, 16, "confirmed", { finished_at: "15", repeated: true });
    },
  ],
  ["unconfirmed although a read showed it", "S7", (story) => story.tell(opened(story), 60, "unconfirmed")],
  [
    "unconfirmed although it was never accepted",
    "S7",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010", { outcome: "timeout", bodyCode: null });
      story.read(14, "101", "10001");
      story.tell(ask, 60, "unconfirmed");
    },
  ],
  [
    "unconfirmed where nobody knows what the POST came to",
    null,
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010", { outcome: null, bodyCode: null });
      story.read(14, "101", "10001");
      story.tell(ask, 60, "unconfirmed");
    },
  ],
  ["unknown although it was read", "S7", (story) => story.tell(opened(story), 60, "unknown")],
  [
    "rejected although the platform gave no other code",
    "S7",
    (story) => story.tell(opened(story), 15, "rejected"),
  ],
  ["superseded although nothing newer came", "S7", (story) => story.tell(opened(story), 15, "superseded")],
  ...([false, true] as const).map((isPowerGone): Row => [
    `failed after ${isPowerGone ? "a power cut" : "a restart"} that met it while it was checked`,
    isPowerGone ? null : "S7",
    (story) => {
      story.isPowerGone = isPowerGone;
      const ask = story.ask("r1", 10, "open");
      story.phase(ask, 10.1, "checking");
      story.checked(10.5);
      story.read(110, "101", "10001");
      story.tell(ask, 115, "failed");
      ask.results.splice(0, 1, { ...ask.results[0], boot: 2 } as Ask["results"][number]);
    },
  ]),
  [
    "failed after a restart although the journal says that it was accepted",
    "S7",
    (story) => {
      const ask = story.ask("r1", 10, "open", { isAnswerKept: true });
      story.checked(10.5);
      story.post(ask, 11, "10010");
      story.read(102, "101", "10001");
      const { phases } = ask;
      story.tell(ask, 110, "failed");
      ask.results.splice(0, 1, { ...ask.results[0], boot: 2 } as Ask["results"][number]);
      phases.splice(0, phases.length, { phase: "done", at: 110_000, boot: 2 });
    },
  ],
  [
    "unconfirmed by an honest platform that held it all the time",
    "S7",
    (story) => {
      story.seesReads = false;
      story.isHonest = true;
      const ask = story.ask("r1", 10, "open");
      story.holds(10.8, "10010");
      story.post(ask, 11, "10010");
      story.tell(ask, 60, "unconfirmed");
    },
  ],
  [
    "a result that says another number of POSTs",
    "S7",
    (story) => {
      const steps = [{ address: "101", value: "10010", attempts: 2, code: "200" }];
      story.tell(opened(story), 15, "confirmed", { steps });
    },
  ],
  [
    "refused as too old before its time",
    "S7",
    (story) => story.tell(story.ask("r1", 10, "open"), 30, "refused", { reason: "expired" }),
  ],

  // S8
  [
    "confirmed by a read from before the POST",
    "S8",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5, "101", "10010");
      story.post(ask, 11, "10010");
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "confirmed although the register never held it",
    "S8",
    (story) => {
      const ask = story.ask("r1", 10, "open");
      story.checked(10.5);
      story.post(ask, 11, "10010");
      story.read(14, "101", "10010");
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "a pulse that was accepted, is idle, and is carried out later",
    null,
    (story) => {
      const ask = story.ask("r1", 10, "open", pulsing);
      story.checked(10.5, "101", "00000000");
      story.post(ask, 11, "00000001");
      story.read(14, "101", "00000000");
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "a pulse that is idle and was not accepted",
    "S8",
    (story) => {
      const ask = story.ask("r1", 10, "open", pulsing);
      story.checked(10.5, "101", "00000000");
      story.post(ask, 11, "00000001", { outcome: "timeout", bodyCode: null });
      story.read(14, "101", "00000000");
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "a pulse whose value was shown although the register never held it",
    "S8",
    (story) => {
      const ask = story.ask("r1", 10, "open", pulsing);
      story.checked(10.5, "101", "00000000");
      story.post(ask, 11, "00000001");
      story.read(14, "101", "00000001");
      story.tell(ask, 15, "confirmed");
    },
  ],
  [
    "already, by a fresh read",
    null,
    (story) => {
      const ask = story.ask("r1", 10, "close");
      story.checked(10.5);
      story.tell(ask, 11, "already");
    },
  ],
  [
    "already, told after the next was sent because the disk was slow",
    null,
    (story) => {
      const ask = story.ask("r1", 10, "close");
      story.phase(ask, 10, "checking");
      story.checked(10.5);
      const next = story.ask("r2", 10.7, "open");
      story.phase(next, 10.7, "checking");
      story.checked(10.8);
      story.post(next, 11, "10010");
      story.tell(ask, 20, "already");
      story.holds(11, "10010");
      story.read(14, "101", "10010");
      story.tell(next, 21, "confirmed");
    },
  ],
  [
    "already while another value is on its way",
    "S8",
    (story) => {
      const earlier = story.ask("r1", 5, "open");
      story.phase(earlier, 5, "checking");
      story.checked(5.5);
      story.post(earlier, 6, "10010");
      const ask = story.ask("r2", 10, "close");
      story.phase(ask, 10, "checking");
      story.checked(10.5);
      story.tell(ask, 11, "already");
      story.tell(earlier, 80, "unconfirmed");
    },
  ],
  ["already without a read", "S8", (story) => story.tell(story.ask("r1", 10, "close"), 11, "already")],

  // S11
  [
    "a step of an older command after a newer one",
    "S11",
    (story) => {
      const ask = turned(story);
      const newer = story.ask("r2", 13.2, "close");
      story.checked(13.5);
      story.post(newer, 14, "10001");
      story.post(ask, 17, "45");
    },
  ],

  // S12, S14, S16
  [
    "a first POST after SIGTERM",
    "S12",
    (story) => {
      story.stopsAt(10.8);
      story.tell(opened(story), 15, "confirmed");
    },
  ],
  [
    "a value that nobody asked for",
    "S14",
    (story) => {
      const ask = story.ask("r1", 10, "on", { settings: fan });
      story.checked(10.5);
      story.post(ask, 11, "1100");
    },
  ],

  [
    "a command that is one too many although it is the first",
    "S16",
    (story) => story.tell(story.ask("r1", 10, "open"), 10.1, "refused", { reason: "overloaded" }),
  ],

  // L1
  ["a command that never ends", "L1", (story) => void opened(story)],
  [
    "a command that never ends, where it may have been lost on its way",
    null,
    (story) => {
      story.linkIsGone();
      opened(story);
    },
  ],
  [
    "a result that never arrives",
    "L1",
    (story) => {
      const ask = opened(story);
      ask.delivered = false;
      story.tell(ask, 15, "confirmed");
    },
  ],
];

/** The broken rules. A story may leave other rules open; only the expected one is compared. */
const brokenBy = (tell: (story: Story) => void): readonly string[] => {
  const story = new Story();
  tell(story);
  return judgeHistory(story.history).map(({ rule }) => rule);
};

describe("the judge of a right command", () => {
  it.each(rows.filter(([, rule]) => rule !== null))("finds %s: %s", (_, rule, tell) => {
    expect(brokenBy(tell)).toContain(rule);
  });

  it("has a history that breaks each of its rules", () => {
    // Rules about states, limits, the whole program and the end of all faults are judged where these are seen.
    const elsewhere = ["S3", "S10", "S13", "S15", "S24", "L2", "L3", "L4", "L5", "L6"];
    const own = Object.keys(rules).filter(
      (rule) => !elsewhere.includes(rule) && !/^S(17|18|19|2\d)$/.test(rule),
    );
    expect([...new Set(rows.flatMap(([, rule]) => rule ?? []))].sort()).toEqual(own.sort());
  });

  it.each(rows.filter(([, rule]) => rule === null))("finds nothing wrong with %s", (_, __, tell) => {
    expect(brokenBy(tell)).toEqual([]);
  });
});

describe("the records of a run that began in 1970", () => {
  it.each([["noted"], ["not noted"]])(
    "have their true times once the clock is right, a jump that is %s",
    (how) => {
      const began = Date.now() - 60_000;
      const record = (mono: number, begin: number, type: string) => ({
        ...{ boot: "b", type, mono },
        at: new Date(begin + mono).toISOString(),
      });
      const records = [
        record(1_000, 60_000, "start"),
        ...(how === "noted" ? [record(2_000, began, "clock_jump")] : []),
        record(3_000, began, "command_taken"),
        record(4_000, began - 14 * 86_400_000, "result"),
      ];
      const times = inRealTime(records).map(({ at, record: { mono } }) => at - Number(mono));
      expect(new Set(times)).toEqual(new Set([began]));
    },
  );

  it.each([
    ["a guard's command, recorded with its POST", "rule wind", []],
    ["a person's command, seen by the watcher after its reads", "night watch", [6_000]],
  ])("%s, is as old as when the bridge received it", (_, by, seenAfter) => {
    const received = Date.now();
    const record = {
      ...{ type: "command_taken", boot: "b", at: new Date(received + 5_000).toISOString(), mono: 5_000 },
      ...{ controller: "GH-1", actuator: "roof", id: "c", by, received_at: new Date(received).toISOString() },
    };
    const set = { topic: "greenhouse/gh-1/actuator/roof/set", payload: '{"id":"c"}', retain: false };
    const { asks } = historyOf({
      messages: seenAfter.map((ms) => ({ ...set, at: received + ms })),
      journal: [{ at: received + 5_000, record }],
      posts: [],
      requests: [],
      held: new Map(),
      deviceOf: () => roof,
      gaps: [],
      absences: [],
      unwritable: [],
    });
    expect([...asks.values()].map(({ at }) => at)).toEqual([received]);
  });
});
