import { describe, expect, it } from "vitest";
import { type Effect, emptyLane, type Input, type Lane } from "../../src/commands/book.js";
import type { Command } from "../../src/commands/command.js";
import { nextWakeAt, openCommands, step } from "../../src/commands/lane.js";
import { readWanted } from "../../src/greenhouse/command/words.js";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { actuator } from "../support/builders.js";

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

class Driver {
  lane: Lane = emptyLane;
  mono = 0;
  readonly said: string[] = [];
  readonly #settings: ActuatorSettings;
  readonly #open: Effect[] = [];
  #ids = 0;

  constructor(over: Partial<ActuatorSettings> = {}) {
    this.#settings = actuator(over);
  }

  ask(text: string, over: Partial<Command> = {}): this {
    const wanted = readWanted(text, this.#settings);
    if ("reason" in wanted) throw new Error(wanted.message);
    const command: Command = {
      id: `c${++this.#ids}`,
      ownId: false,
      code: "GH-0001",
      controllerId: "gh-0001",
      target: "actuator",
      targetId: this.#settings.id,
      settings: this.#settings,
      wanted,
      payloadKey: text,
      by: null,
      via: null,
      response: null,
      force: false,
      dryRun: false,
      receivedAt: this.mono,
      receivedMono: this.mono,
      deadlineMono: this.mono + 60_000,
      ...over,
    };
    return this.feed({ type: "asked", command });
  }

  feed(input: Input): this {
    const { lane, effects } = step(this.lane, input, { at: this.mono, mono: this.mono });
    this.lane = lane;
    for (const effect of effects) {
      if ("token" in effect && effect.token !== null && effect.type !== "forget") this.#open.push(effect);
      const text = tell(effect);
      if (text !== null) this.said.push(text);
    }
    return this;
  }

  after(ms: number): this {
    this.mono += ms;
    return this.feed({ type: "woke" });
  }

  /** What it is asking now, oldest first. */
  get asking(): readonly string[] {
    return this.#open.map(({ type }) => type);
  }

  online(): this {
    return this.feed({ type: "connection", token: this.#take("connection"), connection: { type: "online" } });
  }

  shows(raw: string): this {
    const token = this.#take("read");
    const read = { type: "value", raw, startedMono: this.mono } as const;
    return this.feed({ type: "read", token, address: this.#settings.address, read });
  }

  silent(): this {
    const read = { type: "unanswered", reason: "no answer", facts: null } as const;
    return this.feed({ type: "read", token: this.#take("read"), address: "", read });
  }

  journaled(problem: string | null = null): this {
    return this.feed({ type: "journaled", token: this.#take("journal"), problem });
  }

  accepted(): this {
    const answer = { type: "accepted", answer: { code: "200", requestId: null } } as const;
    return this.feed({ type: "answered", token: this.#take("post"), answer, before: null });
  }

  ambiguous(): this {
    const { message, facts } = new PlatformError("no answer", {
      ...{ kind: "timeout", host: "realtime", operation: "set-value", sent: true },
    });
    const answer = { type: "error", message, facts } as const;
    return this.feed({ type: "answered", token: this.#take("post"), answer, before: null });
  }

  /** Checked, on disk, and its first POST on the way. */
  sending(text: string, register: string, over: Partial<Command> = {}): this {
    return this.ask(text, over).online().shows(register).journaled();
  }

  #take(type: Effect["type"]): number {
    const place = this.#open.findIndex((one) => one.type === type);
    const [one] = place === -1 ? [] : this.#open.splice(place, 1);
    if (one === undefined || !("token" in one) || one.token === null) throw new Error(`no ${type} is asked`);
    return one.token;
  }
}

/** What a grower would see of it: POSTs and ends. */
function tell(effect: Effect): string | null {
  if (effect.type === "post") return `POST ${effect.step.value}`;
  if (effect.type === "reverted") return `${effect.command.id} reverted to ${String(effect.raw)}`;
  if (effect.type !== "end") return null;
  const { outcome, reason } = effect.ending;
  return `${effect.command.id} ${outcome}${reason === null ? "" : ` ${reason}`}`;
}

type Row = readonly [rule: string, script: (lane: Driver) => Driver, said: readonly string[]];

const fanRules: readonly Row[] = [
  [
    "a POST leaves only once the journal has on disk that the command is sent",
    (lane) => lane.ask("on").online().shows("1001"),
    [],
  ],
  ["and leaves then", (lane) => lane.ask("on").online().shows("1001").journaled(), ["POST 1010"]],
  [
    "a command that grew too old while the journal wrote is not sent",
    (lane) => {
      lane.ask("on").online().shows("1001");
      lane.mono = 60_001;
      return lane.journaled();
    },
    ["c1 refused expired"],
  ],
  [
    "a journal that cannot write refuses the command",
    (lane) => lane.ask("on").online().shows("1001").journaled("disk full"),
    ["c1 refused journal_unavailable"],
  ],
  [
    "a fresh read that shows the value sends nothing",
    (lane) => lane.ask("on").online().shows("1010"),
    ["c1 already"],
  ],
  [
    "force sends although the value shows",
    (lane) => lane.sending("on", "1010", { force: true }),
    ["POST 1010"],
  ],
  [
    "a dry run is checked and not sent",
    (lane) => lane.ask("on", { dryRun: true }).online().shows("1001"),
    ["c1 dry_run"],
  ],
  [
    "a fresh read without an answer refuses, whatever force says",
    (lane) => lane.ask("on", { force: true }).online().silent(),
    ["c1 refused platform_unavailable"],
  ],
  [
    "accepted and shown is confirmed",
    (lane) => lane.sending("on", "1001").accepted().after(2_000).shows("1010"),
    ["POST 1010", "c1 confirmed"],
  ],
  [
    "accepted and never shown is unconfirmed, and not sent again",
    (lane) => {
      lane.sending("on", "1001").accepted();
      while (lane.lane.confirming !== null)
        lane.after(Math.max(0, (nextWakeAt(lane.lane) ?? 0) - lane.mono)).shows("1001");
      return lane;
    },
    ["POST 1010", "c1 unconfirmed"],
  ],
  [
    "an ambiguous POST is sent again once, not sooner than 5 s, where a newer read differs",
    (lane) => lane.sending("on", "1001").ambiguous().after(4_999).after(1).shows("1001"),
    ["POST 1010", "POST 1010"],
  ],
  [
    "an ambiguous POST whose value shows is confirmed",
    (lane) => lane.sending("on", "1001").ambiguous().after(5_000).shows("1010"),
    ["POST 1010", "c1 confirmed"],
  ],
  [
    "an ambiguous POST is not sent again without a read",
    (lane) => lane.sending("on", "1001").ambiguous().after(5_000).silent(),
    ["POST 1010"],
  ],
  [
    "an ambiguous POST of a command that is too old is not sent again",
    (lane) => lane.sending("on", "1001", { deadlineMono: 3_000 }).ambiguous().after(5_000).shows("1001"),
    ["POST 1010"],
  ],
  [
    "a command older than its max_age is not sent",
    (lane) => {
      lane.ask("on").online();
      lane.mono = 60_001;
      return lane.shows("1001");
    },
    ["c1 refused expired"],
  ],
  [
    "the newest that waits wins, and the one being sent is not interrupted",
    (lane) => lane.sending("on", "1001").ask("off").ask("auto"),
    ["POST 1010", "c2 superseded before_sending"],
  ],
  [
    "one that confirms gives way when the newer is about to POST, not before",
    (lane) => lane.sending("on", "1001").accepted().after(2_000).ask("off").online().shows("1001"),
    ["POST 1010"],
  ],
  [
    "and then ends superseded after_sending",
    (lane) =>
      lane
        .sending("on", "1001")
        .accepted()
        .after(100)
        .ask("off")
        .after(1_900)
        .online()
        .shows("1001")
        .shows("1001")
        .journaled(),
    ["POST 1010", "POST 1001", "c1 superseded after_sending"],
  ],
  [
    "an equal command takes over the read-backs without a POST",
    (lane) =>
      lane.sending("on", "1001").accepted().after(2_000).shows("1001").ask("on").after(2_000).shows("1010"),
    ["POST 1010", "c1 superseded after_sending", "c2 confirmed"],
  ],
  [
    "the end of the program refuses what is checked, and leaves what was sent for the next start",
    (lane) => lane.sending("on", "1001").accepted().ask("off").feed({ type: "closing" }),
    ["POST 1010", "c2 refused shutting_down"],
  ],
];

const stopRules: readonly Row[] = [
  [
    "a stop waits for neither the online check nor a read",
    (lane) => lane.ask("stop").journaled(),
    ["POST 00000100"],
  ],
  [
    "a stop goes out although the journal cannot write",
    (lane) => lane.ask("stop").journaled("disk full"),
    ["POST 00000100"],
  ],
  ["a disk that hangs holds a stop up for 200 ms", (lane) => lane.ask("stop").after(200), ["POST 00000100"]],
  [
    "a stop ends what is only being checked and what waits",
    (lane) => lane.ask("open").ask("close").ask("stop"),
    ["c2 superseded before_sending", "c1 superseded before_sending"],
  ],
  [
    "a stop goes as soon as the POST in flight has ended",
    (lane) => lane.sending("open", "0").ask("stop").accepted().journaled(),
    ["POST 00000001", "c1 superseded after_sending", "POST 00000100"],
  ],
  [
    "two stops are 2 s apart; the newest waits and the others end superseded",
    (lane) =>
      lane.ask("stop").journaled().accepted().ask("stop").ask("stop").after(1_999).after(1).journaled(),
    ["POST 00000100", "c2 superseded before_sending", "POST 00000100", "c1 superseded after_sending"],
  ],
  [
    "after a stop no further step of another command follows",
    (lane) => lane.sending("open", "0").ask("stop").ambiguous().journaled(),
    ["POST 00000001", "c1 superseded after_sending", "POST 00000100"],
  ],
];

describe("the lane of a fan", () => {
  it.each(fanRules)("%s", (_, script, said) => {
    expect(script(new Driver(fan)).said).toEqual(said);
  });
});

describe("the lane of a motor", () => {
  it.each(stopRules)("%s", (_, script, said) => {
    expect(script(new Driver(motor)).said).toEqual(said);
  });
});

/** A window that travels for two minutes: opened and confirmed 2 s after its POST at 0. */
const opened = (lane: Driver) => lane.sending("open", "10001").accepted().after(2_000).shows("10010");

const heldRules: readonly Row[] = [
  [
    "what was confirmed is read once more when the travel time after the last POST is over",
    (lane) => opened(lane).after(118_000).shows("10001"),
    ["POST 10010", "c1 confirmed", "c1 reverted to 10001"],
  ],
  ["where it holds nothing is said", (lane) => opened(lane).after(118_000).shows("10010"), []],
  ["and that is not before", (lane) => expectQuiet(opened(lane).after(117_999)), []],
  ["nor ever again", (lane) => expectQuiet(opened(lane).after(118_000).shows("10010").after(900_000)), []],
  [
    "what a newer command of ours explains is not said",
    (lane) =>
      expectQuiet(
        opened(lane).ask("close").online().shows("10010").journaled().accepted().after(2_000).shows("10001"),
      )
        .after(118_000)
        .shows("10001"),
    ["POST 10010", "c1 confirmed", "POST 10001", "c2 confirmed"],
  ],
  [
    "a newer command that is refused explains nothing",
    (lane) => opened(lane).ask("close").online().silent().after(118_000).shows("10001"),
    ["POST 10010", "c1 confirmed", "c2 refused platform_unavailable", "c1 reverted to 10001"],
  ],
  [
    "a platform without an answer is asked again every 30 s",
    (lane) => opened(lane).after(118_000).silent().after(29_999).after(1).shows("10001"),
    ["POST 10010", "c1 confirmed", "c1 reverted to 10001"],
  ],
  [
    "the end of the program leaves it to the next start",
    (lane) => expectQuiet(opened(lane).feed({ type: "closing" }).after(118_000)),
    ["POST 10010", "c1 confirmed"],
  ],
];

function expectQuiet(lane: Driver): Driver {
  expect(lane.asking).toEqual([]);
  return lane;
}

describe("the lane of what travels", () => {
  it.each(heldRules)("%s", (_, script, said) => {
    const lane = script(new Driver({ address: "101", travelMs: 120_000 }));
    expect(lane.said).toEqual(said.length > 0 ? said : ["POST 10010", "c1 confirmed"]);
  });

  it("what an earlier run confirmed is read at once", () => {
    const lane = new Driver({ address: "101", travelMs: 120_000 });
    const { command, step: sent } = opened(new Driver({ address: "101" })).lane.held ?? {};
    if (!command || !sent) throw new Error("nothing is held");
    lane.feed({ type: "holding", command, step: sent }).shows("10001");
    expect(lane.said).toEqual(["c1 reverted to 10001"]);
  });

  it("what does not travel is not read again", () => {
    const lane = new Driver(fan).sending("on", "1001").accepted().after(2_000).shows("1010");
    expect(nextWakeAt(lane.lane)).toBeNull();
  });
});

describe("the lane of a skylight", () => {
  it("a degree follows only where its mode shows", () => {
    const lane = new Driver({ address: "101" }).sending("45", "10001").accepted().after(2_000).shows("10001");
    expect(lane.said).toEqual(["POST 10100"]);
    lane.after(2_000).shows("10100");
    expect(lane.said).toEqual(["POST 10100", "POST 45"]);
  });

  it("a mode that does not show within 30 s ends the command", () => {
    const lane = new Driver({ address: "101" }).sending("45", "10001").accepted();
    while (lane.lane.running !== null)
      lane.after(Math.max(0, (nextWakeAt(lane.lane) ?? 0) - lane.mono)).shows("10001");
    expect(lane.said).toEqual(["POST 10100", "c1 unconfirmed mode_not_confirmed"]);
    expect(lane.mono).toBe(30_000);
  });
});

describe("a lane as data", () => {
  it("is the same function of the same inputs, and leaves the state it was given alone", () => {
    const before = new Driver(fan).ask("on").lane;
    const frozen = JSON.stringify(before);
    const input: Input = { type: "closing" };
    const now = { at: 5, mono: 5 };
    expect(step(before, input, now)).toEqual(step(before, input, now));
    expect(JSON.stringify(before)).toBe(frozen);
  });

  it("tells what is open and when it wants to be woken", () => {
    const lane = new Driver(fan).sending("on", "1001").accepted();
    expect(openCommands(lane.lane).map(({ id }) => id)).toEqual(["c1"]);
    expect(nextWakeAt(lane.lane)).toBe(2_000);
    expect(nextWakeAt(emptyLane)).toBeNull();
  });
});
