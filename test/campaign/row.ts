import { fields, type Seen as Message, type Stretch } from "../end-to-end/support/watch.js";
import { type Sent, textOf } from "./history.js";
import type { Lane, World } from "./support/world.js";

/** What a fault takes away, which decides what may be missing from the history. */
type Hits = "platform" | "delivery" | "process" | "nothing";

/** One fault of the table. */
export interface Row {
  readonly name: string;
  /** The rule: what is to become of it. */
  readonly expected: string;
  /** Lanes in which it can be made; all without it. */
  readonly only?: (lane: Lane) => boolean;
  readonly holdMs: number;
  readonly reducedHoldMs?: number;
  readonly hits: Hits;
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
  /** Looked at once the lane has recovered. */
  readonly checks?: readonly Check[];
}

/** Figures a row remembers between its beginning and its check. */
export type Notes = Record<string, number>;

/** One run of a row: from the start to the recovery. */
export interface Seen extends Readonly<Record<"startedAt" | "endedAt" | "recoveredAt", number>> {
  readonly notes: Notes;
  readonly messages: readonly Message[];
  readonly sent: readonly Sent[];
}

/** What was not as expected. */
export type Check = (seen: Seen, world: World) => readonly string[];

/** A problem, unless it holds. */
export const unless = (holds: boolean, problem: string): readonly string[] => (holds ? [] : [problem]);

export const shown =
  (topic: string, payload: string): Check =>
  ({ messages }) =>
    unless(
      messages.some((one) => one.topic === topic && one.payload === payload),
      `${topic} never showed ${payload}`,
    );

export const never =
  (topic: string, payload: string): Check =>
  ({ messages }) =>
    messages
      .filter((one) => one.topic === topic && one.payload === payload)
      .map(() => `${topic} showed ${payload}`);

/** An event of a type on `bridge/event`. */
export const event =
  (type: string): Check =>
  ({ messages }) =>
    unless(
      messages.some(
        ({ topic, payload }) => topic === "greenhouse/bridge/event" && fields(payload)["type"] === type,
      ),
      `no event ${type}`,
    );

/** The topic `bridge/state` stayed online: the fault is none of the broker's. */
export const stayedOnline = never("greenhouse/bridge/state", "offline");

export const resultsOf = (messages: readonly Message[]) =>
  messages
    .filter(({ topic, retain }) => topic === "greenhouse/gh-0001/result" && !retain)
    .map(({ payload }) => fields(payload));

/** Outcomes and reasons of the commands sent from the start to the end of the fault. */
export function outcomesDuring({ messages, sent, startedAt, endedAt }: Seen): readonly string[] {
  const ids = new Set(sent.filter(within({ from: startedAt, to: endedAt })).map(({ id }) => id));
  return resultsOf(messages)
    .filter(({ id }) => ids.has(textOf(id)))
    .map(({ outcome, reason }) => [outcome, reason].filter(Boolean).join("/"));
}

/** One of these outcomes was seen for a command of the fault's time. */
export const outcome =
  (...wanted: readonly string[]): Check =>
  (seen) => {
    const found = outcomesDuring(seen);
    const others = [...new Set(found)].join(", ") || "nothing";
    return unless(
      found.some((one) => wanted.includes(one)),
      `no command ended ${wanted.join(" or ")}, only ${others}`,
    );
  };

export const within =
  ({ from, to }: Stretch) =>
  ({ at }: { readonly at: number }): boolean =>
    at >= from && at <= to;

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether a condition came true in time. */
export async function comesTrue(
  condition: () => boolean | Promise<boolean>,
  withinMs: number,
  everyMs = 50,
): Promise<boolean> {
  const end = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > end) return false;
    await wait(everyMs);
  }
  return true;
}
