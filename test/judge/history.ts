import type { Text } from "../../src/language/text.js";
import type { Readings } from "../../src/simulator/readings.js";

/*
 * The history of people, a bridge and its platform, as an observer outside sees it. A virtual world produces it while
 * it runs, and recordings of a real program afterwards. All instants are ms of one clock.
 */

/** A value in any form that the platform may write. */
export type Raw = string | number | boolean;

/** A run of the program. */
export type Boot = string | number;

/** The facts about an actuator that a judge needs, in the configuration's terms. */
export interface Device {
  readonly kind: string;
  readonly address: string;
  readonly modeAddress?: string;
  readonly positionAddress?: string;
  readonly stop?: { readonly address: string; readonly value: string };
  /** Values of command words beside those of the interface document. */
  readonly values: Readonly<Record<string, string>>;
  readonly leadIn: string;
  readonly travelMs: number;
  readonly minIntervalMs: number;
  readonly tolerance: number;
}

/** One delivery of a message to the bridge, or one command of a rule. */
export interface Ask {
  /** A unique tag for each delivery. */
  readonly by: string;
  readonly at: number;
  readonly boot: Boot;
  readonly code: string;
  readonly actuator: string;
  /** Null if there is no such actuator. */
  readonly settings: Device | null;
  readonly payload: string;
  /** The command word or degree that it means; null if it means nothing. */
  readonly word: string | null;
  /** The id chosen by its sender. */
  readonly ownId: string | null;
  readonly repeatOf: Ask | null;
  readonly retained: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** How long it counts and how long it keeps others off, in ms. */
  readonly forMs: number | null;
  readonly holdMs: number | null;
  /** The rule of the limits that sends it; null for a person or program. */
  readonly rule: "guard" | "lease" | null;
  /** The latest time for any POST of it. */
  readonly latestPostAt: number;
  /** From this time on it may be refused as too old. */
  readonly mayExpireAt: number;
  /** Why it must never lead to a POST; null if it may. */
  readonly mustNotPost: string | null;
  /** How its platform differs from the interface document. */
  readonly readings: Readings;
  phases: { readonly phase: string; readonly at: number; readonly boot: Boot }[];
  posts: Post[];
  results: Told[];
  /** The equal command whose read-backs it took over, and with them its POST. */
  donor: Ask | null;
  /** Whether it took over the read-backs of a command that an earlier run left open. */
  inherits: boolean;
  /** Whether the broker has its result. */
  delivered: boolean;
  /** Whether the journal kept the platform's acceptance over the end of the run. */
  isAnswerKept: boolean;
}

/** A published result. */
export interface Told {
  readonly result: Result;
  readonly at: number;
  readonly boot: Boot;
  /** Whether the journal had it by then. */
  readonly isJournaled: boolean;
}

export interface Result {
  readonly id: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly message: Text | null;
  readonly finished_at: string;
  readonly repeated: boolean;
  readonly steps: readonly {
    readonly address: string;
    readonly value: string;
    readonly attempts: number;
    readonly code: string | null;
  }[];
}

/** One POST of a control value, from the moment it begins to leave. */
export interface Post {
  /** Null if no command asked for it. */
  readonly ask: Ask | null;
  readonly boot: Boot;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly begunAt: number;
  endedAt: number | null;
  /** `accepted`, `unauthorized`, or how it failed; null while unknown. */
  outcome: string | null;
  /** Whether a byte of it may have left. */
  sent: boolean;
  /** The `code` in the body of its answer. */
  bodyCode: string | null;
  /** The number of requests sent for it. */
  wires: number;
  /** The platform's effect; null if it did not arrive. */
  arrived: { readonly effect: string } | null;
}

/** One read of one address, or of the connection (address ""). */
export interface Read {
  readonly boot: Boot;
  readonly code: string;
  readonly address: string;
  readonly fresh: boolean;
  readonly begunAt: number;
  endedAt: number | null;
  answered: boolean;
  /** Null if the answer had no value; undefined if nobody outside saw it. */
  raw: Raw | null | undefined;
  /** Whether the platform gave a value that its register did not hold. */
  isLie: boolean;
}

/** Since when a register held a value. */
export interface Held {
  readonly at: number;
  readonly value: string;
}

/** What the journal's files show. */
interface JournalView {
  /**
   * Whether a record (`command_taken`, `took_over`, `sending`, `result`, `refusal`) of a command is in a file by then;
   * `id` is the bridge's.
   */
  isWritten(record: string, ask: Ask, at: number, id?: string): boolean;
  /** Whether it would survive a power cut. */
  isDurable(record: string, ask: Ask, at: number): boolean;
  /** The number of results of a command in its files. */
  outcomesOf(ask: Ask): number;
  /** Whether the disk was in trouble about then, so that a missing record proves nothing. */
  mayBeMissing(at: number): boolean;
  /** Whether the command is accepted and has not ended. */
  isOpen(ask: Ask, at: number): boolean;
}

export interface History {
  /** The greatest difference between instants of its sources, in ms. */
  readonly clockMs: number;
  /** Whether the platform shows a window's position while it travels. */
  readonly showsTravel: boolean;
  /** Whether somebody outside sees the reads; otherwise each may have been made and have shown anything. */
  readonly seesReads: boolean;
  readonly journal: JournalView;
  readonly asks: ReadonlyMap<string, Ask>;
  /** All POSTs, oldest first. */
  readonly posts: readonly Post[];
  /** Deliveries to one actuator, oldest first. */
  lane(code: string, actuator: string): readonly Ask[];
  /** POSTs to one actuator, oldest first. */
  postsTo(code: string, actuator: string): readonly Post[];
  /** Reads of one address by commands, in the order in which they began. */
  readsOf(code: string, address: string): readonly Read[];
  /** Every value that a register really held between two instants, newest first. */
  heldBetween(code: string, address: string, from: number, to: number): readonly string[];
  /** Whether every POST of the command was seen. */
  knowsPostsOf(ask: Ask): boolean;
  /** Whether every read in that time was answered with the register's value. */
  isHonest(from: number, to: number): boolean;
  startedAt(boot: Boot): number;
  /** When it was told to stop; Infinity for never. */
  stoppedAt(boot: Boot): number;
  /** Whether the machine ended, and lost recent writes, with this run or a later one before the other. */
  machineEndedBetween(from: Boot, to: Boot): boolean;
  /** When the program last stood still before an instant; -Infinity for never. */
  stalledBefore(at: number): number;
  /** Whether an answer about a controller lacked the requested value; true if unknown. */
  lackedValue(code: string, since: number): boolean;
  /** Whether the message, or what the bridge held in memory, may be lost without any fault. */
  mayBeGone(ask: Ask): boolean;
  /** Whether its result may have been published while nobody could hear it. */
  mayBeUnheard(ask: Ask): boolean;
  /** Whether its result is too old to be published again, by a clock that was or is wrong. */
  looksTooOld(ask: Ask): boolean;
}

/** A read that showed a value, or may have. */
export type ValidRead = Read & { readonly raw: Raw | undefined };

const unseen = (code: string, address: string, begunAt: number, endedAt: number): ValidRead => ({
  boot: "",
  code,
  address,
  fresh: true,
  begunAt,
  endedAt,
  answered: true,
  raw: undefined,
  isLie: false,
});

/** Fresh reads that showed a value, or may have, and lie between two instants. */
export function readsBetween(
  history: History,
  code: string,
  address: string,
  from: number,
  to = Infinity,
): readonly ValidRead[] {
  const { clockMs, seesReads } = history;
  if (!seesReads) return [unseen(code, address, from, to)];
  const list = history.readsOf(code, address);
  const first = list.findLastIndex(({ begunAt }) => begunAt < from - clockMs) + 1;
  return list
    .slice(first)
    .filter(
      (read): read is ValidRead =>
        read.fresh && read.answered && read.raw !== null && (read.endedAt ?? read.begunAt) <= to + clockMs,
    );
}

/** Whether a read showed the value, or may have if nobody saw it. */
export const mayHaveShown = ({ raw }: ValidRead, isIt: (raw: Raw) => boolean): boolean =>
  raw === undefined || isIt(raw);

export const hasShown = ({ raw }: ValidRead, isIt: (raw: Raw) => boolean): boolean =>
  raw !== undefined && isIt(raw);

/** When the bridge published the phase `done`. */
export const doneAt = ({ phases }: Ask): number | undefined =>
  phases.findLast(({ phase }) => phase === "done")?.at;

/** Whether the bridge showed that it accepted the command. */
export const isTaken = (ask: Ask): boolean => ask.phases.length > 0;

export const laneOf = (ask: Pick<Ask, "code" | "actuator">): string => `${ask.code}/${ask.actuator}`;

/** Whether a POST had begun and not ended at that time. */
export const isUnderWay = ({ clockMs }: History, { endedAt }: Post, at: number): boolean =>
  endedAt === null || endedAt > at + clockMs;

/** The newest fitting POST before this one in the list. */
export function lastBefore(
  posts: readonly Post[],
  post: Post,
  fits: (one: Post) => boolean = () => true,
): Post | undefined {
  for (let n = posts.lastIndexOf(post) - 1; n >= 0; n -= 1) {
    const one = posts[n];
    if (one !== undefined && fits(one)) return one;
  }
  return undefined;
}

/** A broken rule, by its name in `rules.ts`. */
export interface Breach<Rule extends string = string> {
  readonly rule: Rule;
  readonly text: string;
}

/** The findings of a judge: broken rules, and rare paths that were taken. */
export class Findings<Rule extends string = string> {
  readonly breaches: Breach<Rule>[] = [];
  readonly rare: string[] = [];

  broken(rule: Rule, text: string): void {
    this.breaches.push({ rule, text });
  }

  saw(name: string): void {
    this.rare.push(name);
  }
}
