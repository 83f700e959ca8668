import type { Text } from "../../src/language/text.js";
import type { Readings } from "../../src/simulator/readings.js";

/*
 * What happened between people, a bridge and its platform, as anybody outside can tell it. A virtual world tells it while it goes on,
 * and what was recorded of a real program tells it afterwards. All instants are ms of one clock.
 */

/** What the platform may write for a value. */
export type Raw = string | number | boolean;

/** A run of the program. */
export type Boot = string | number;

/** What a judge has to know of an actuator, in the words of the configuration. */
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

/** One delivery of one message to the bridge, or what a rule of the limits sends. */
export interface Ask {
  /** Tells each delivery from all others. */
  readonly by: string;
  readonly at: number;
  readonly boot: Boot;
  readonly code: string;
  readonly actuator: string;
  /** Null where there is no such actuator. */
  readonly settings: Device | null;
  readonly payload: string;
  /** The command word or degree it has to be understood as; null where it has to be understood as nothing. */
  readonly word: string | null;
  /** The id that its sender gave it. */
  readonly ownId: string | null;
  readonly repeatOf: Ask | null;
  readonly retained: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** For how long it counts, and keeps others off, ms. */
  readonly forMs: number | null;
  readonly holdMs: number | null;
  /** A rule of the limits sends it, and not somebody. */
  readonly rule: "guard" | "lease" | null;
  /** Nothing of it may be POSTed later. */
  readonly latestPostAt: number;
  /** From then on it may be refused as too old. */
  readonly mayExpireAt: number;
  /** Why it must never lead to a POST; null where it may. */
  readonly mustNotPost: string | null;
  /** What its platform takes otherwise. */
  readonly readings: Readings;
  phases: { readonly phase: string; readonly at: number; readonly boot: Boot }[];
  posts: Post[];
  results: Told[];
  /** Whose POST it waits for, when it took over the read-backs of an equal command. */
  donor: Ask | null;
  /** It took over the read-backs of a command that an earlier run of the program left open. */
  inherits: boolean;
  /** The broker has its result. */
  delivered: boolean;
  /** The journal kept the platform's accepted answer over the end of the program's run. */
  isAnswerKept: boolean;
}

/** A result as it is published. */
export interface Told {
  readonly result: Result;
  readonly at: number;
  readonly boot: Boot;
  /** The journal had it by then. */
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
  /** Null where no command asked for it. */
  readonly ask: Ask | null;
  readonly boot: Boot;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly begunAt: number;
  endedAt: number | null;
  /** `accepted`, `unauthorized`, or how it failed; null while nobody knows. */
  outcome: string | null;
  /** A byte of it may have left. */
  sent: boolean;
  /** The `code` in the body of its answer. */
  bodyCode: string | null;
  /** Requests that left for it. */
  wires: number;
  /** What the platform made of it. */
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
  /** Null where the answer showed no value; undefined where nobody outside saw what it showed. */
  raw: Raw | null | undefined;
  /** The platform told what its register did not hold. */
  isLie: boolean;
}

/** From when on a register held a value. */
export interface Held {
  readonly at: number;
  readonly value: string;
}

/** What anybody finds who looks at the files of the journal. */
interface JournalView {
  /** Whether a record (`command_taken`, `took_over`, `sending`, `result`, `refusal`) of a command, `id` by the bridge, is in a file by then. */
  isWritten(record: string, ask: Ask, at: number, id?: string): boolean;
  /** Whether it would outlive a power cut. */
  isDurable(record: string, ask: Ask, at: number): boolean;
  /** How many results of a command are in its files. */
  outcomesOf(ask: Ask): number;
  /** Whether the disk was in trouble about then, so that what is missing proves nothing. */
  mayBeMissing(at: number): boolean;
  /** Whether the command is one that is taken and has not ended. */
  isOpen(ask: Ask, at: number): boolean;
}

export interface History {
  /** How far instants of its sources may be apart. */
  readonly clockMs: number;
  /** The platform shows where a window is while it travels. */
  readonly showsTravel: boolean;
  /** Somebody outside sees the reads; where nobody does, each may have been made and have shown anything. */
  readonly seesReads: boolean;
  readonly journal: JournalView;
  readonly asks: ReadonlyMap<string, Ask>;
  /** All of them, oldest first. */
  readonly posts: readonly Post[];
  /** Deliveries to one actuator, oldest first. */
  lane(code: string, actuator: string): readonly Ask[];
  /** POSTs to one actuator, oldest first. */
  postsTo(code: string, actuator: string): readonly Post[];
  /** Reads of one address by commands, in the order of their beginnings. */
  readsOf(code: string, address: string): readonly Read[];
  /** Every value a register really held between two instants, newest first. */
  heldBetween(code: string, address: string, from: number, to: number): readonly string[];
  /** Whether no POST of the command can have gone unseen. */
  knowsPostsOf(ask: Ask): boolean;
  /** Whether all that time every read was answered, and showed what the register held. */
  isHonest(from: number, to: number): boolean;
  startedAt(boot: Boot): number;
  /** When it was told to stop; Infinity where nobody did. */
  stoppedAt(boot: Boot): number;
  /** Whether the machine ended, and lost what was written of late, with this run or a later one before the other. */
  machineEndedBetween(from: Boot, to: Boot): boolean;
  /** When the program last stood still before an instant; -Infinity where it never did. */
  stalledBefore(at: number): number;
  /** Whether an answer of the platform about a controller lacked the value that was asked for; true where nobody can tell. */
  lackedValue(code: string, since: number): boolean;
  /** Whether a message to the bridge, or what it had only in its memory, may be gone without anybody's fault. */
  mayBeGone(ask: Ask): boolean;
  /** Whether its result may have been published while nobody could hear it. */
  mayBeUnheard(ask: Ask): boolean;
  /** By a clock that was wrong then or is now its result is too old to be published again. */
  looksTooOld(ask: Ask): boolean;
}

/** One that showed a value, or may have. */
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

/** Fresh reads that showed a value, or may have, begun and ended between two instants. */
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

/** Whether a read showed what is looked for, or may have, where nobody saw it. */
export const mayHaveShown = ({ raw }: ValidRead, isIt: (raw: Raw) => boolean): boolean =>
  raw === undefined || isIt(raw);

export const hasShown = ({ raw }: ValidRead, isIt: (raw: Raw) => boolean): boolean =>
  raw !== undefined && isIt(raw);

/** When the bridge said that it is done with it. */
export const doneAt = ({ phases }: Ask): number | undefined =>
  phases.findLast(({ phase }) => phase === "done")?.at;

/** The bridge said that it took it. */
export const isTaken = (ask: Ask): boolean => ask.phases.length > 0;

export const laneOf = (ask: Pick<Ask, "code" | "actuator">): string => `${ask.code}/${ask.actuator}`;

/** Whether a POST had begun and not ended then. */
export const isUnderWay = ({ clockMs }: History, { endedAt }: Post, at: number): boolean =>
  endedAt === null || endedAt > at + clockMs;

/** The newest POST of a list before one of it that fits. */
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

/** A rule that does not hold, in the words of `rules.ts`. */
export interface Breach<Rule extends string = string> {
  readonly rule: Rule;
  readonly text: string;
}

/** What a judge finds: what is wrong, and which rare paths were taken. */
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
