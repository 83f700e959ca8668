import type { Message, Sent } from "./history.js";
import { fieldsOf, textOf } from "./history.js";
import type { Lane, World } from "./support/world.js";

/** What a fault takes away, which decides what may be missing from the history. */
type Hits = "platform" | "delivery" | "process" | "nothing";

/** Until everything works again and what was seen has been judged. */
export const usuallyMs = 4_500;

/** One fault of the table. */
export interface Row {
  readonly name: string;
  /** Lanes in which it can be made; all without it. */
  readonly only?: (lane: Lane) => boolean;
  /** How it is made, in a few words. */
  readonly how: string;
  readonly expected: string;
  readonly holdMs: number;
  readonly reducedHoldMs?: number;
  readonly hits: Hits;
  /** What it takes beyond being held, where that is not `usuallyMs`; only for sharing the rows out. */
  readonly aboutMs?: number;
  /** From the fault's end until everything works again. */
  readonly limitMs: number;
  /** The journal cannot be written meanwhile. */
  readonly unwritable?: true;
  /** No commands meanwhile. */
  readonly quiet?: true;
  begin(world: World, notes: Notes, holdMs: number): Promise<void> | void;
  end?(world: World, notes: Notes): Promise<void> | void;
  /** Whether the bridge has got over what cannot be seen from outside; asked until it has. */
  isOver?(world: World, notes: Notes): Promise<boolean>;
  /** What was not as expected; looked at once the lane has recovered. */
  check?(seen: Seen, world: World): readonly string[];
}

/** Figures a row remembers between its beginning and its check. */
export type Notes = Record<string, number>;

/** One run of a row. */
export interface Seen {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly recoveredAt: number;
  readonly notes: Notes;
  /** From the start to the recovery. */
  readonly messages: readonly Message[];
  readonly sent: readonly Sent[];
}

const showed = ({ messages }: Seen, topic: string, payload: string): boolean =>
  messages.some((one) => one.topic === topic && one.payload === payload);

/** A problem unless a payload was seen on a topic. */
export const expectShown = (seen: Seen, topic: string, payload: string): readonly string[] =>
  showed(seen, topic, payload) ? [] : [`${topic} never showed ${payload}`];

export const expectNever = (seen: Seen, topic: string, payload: string): readonly string[] =>
  showed(seen, topic, payload) ? [`${topic} showed ${payload}`] : [];

/** Outcomes and reasons of the commands sent from the start to the end of the fault. */
export function outcomesDuring({ messages, sent, startedAt, endedAt }: Seen): readonly string[] {
  const ids = new Set(sent.filter(({ at }) => at >= startedAt && at <= endedAt).map(({ id }) => id));
  return messages
    .filter(({ topic, retain }) => topic === "greenhouse/gh-0001/result" && !retain)
    .map(({ payload }) => fieldsOf(payload))
    .filter(({ id }) => ids.has(textOf(id)))
    .map(({ outcome, reason }) => [outcome, reason].filter(Boolean).join("/"));
}

/** A problem unless one of these outcomes was seen for a command of the fault's time. */
export function expectOutcome(seen: Seen, ...wanted: readonly string[]): readonly string[] {
  const found = outcomesDuring(seen);
  if (found.some((one) => wanted.includes(one))) return [];
  return [`no command ended ${wanted.join(" or ")}, only ${[...new Set(found)].join(", ") || "nothing"}`];
}

/** The topic `bridge/state` stayed online: the fault is none of the broker's. */
export const stayedOnline = (seen: Seen): readonly string[] =>
  expectNever(seen, "greenhouse/bridge/state", "offline");
