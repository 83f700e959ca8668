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

export const eventsIn = (messages: readonly Message[], type: string) =>
  messages.filter(
    ({ topic, payload }) => topic === "greenhouse/bridge/event" && fields(payload)["type"] === type,
  );

/** An event of a type on `bridge/event`. */
export const event =
  (type: string): Check =>
  ({ messages }) =>
    unless(eventsIn(messages, type).length > 0, `no event ${type}; commands: ${endingsIn(messages)}`);

/** What became of which actuator's commands, in order. */
const endingsIn = (messages: readonly Message[]): string =>
  resultsOf(messages)
    .map(
      ({ actuator, outcome, duration_ms: ms }) => `${textOf(actuator)} ${textOf(outcome)} ${String(ms)} ms`,
    )
    .join(", ");

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

/* What rows of one kind have in common. */

/** Between bridge and platform: no human needed, back within 60 s. */
export const platform = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "platform",
  limitMs: 60_000,
  ...row,
});

/** Between bridge and broker. */
export const broker = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  only: hasOwnBroker,
  hits: "delivery",
  limitMs: 35_000,
  ...row,
});

/** The process itself. */
export const own = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row =>
  platform({ hits: "process", ...row });

/** The broker is a process of its own, with a chaos proxy before it. */
const hasOwnBroker = ({ broker }: Lane): boolean => broker !== "embedded";

type Order = readonly [what: string, fields?: Readonly<Record<string, unknown>>];

/** What the platform is told at the fault's beginning and at its end. */
export const told = (begin: Order, end: Order): Pick<Row, "begin" | "end"> => ({
  begin: ({ platform }) => platform.tell(...begin),
  end: ({ platform }) => platform.tell(...end),
});

/** Requests go wrong as an entry of a fault file says. */
export const faulty = (fault: Readonly<Record<string, unknown>>): Pick<Row, "begin" | "end"> => ({
  begin: ({ platform }) => platform.fault({ chance: 1, ...fault }),
  end: ({ platform }) => platform.tell("clear_faults"),
});

/** Lanes without a broker of their own never run the rows that ask. */
export function linkOf({ broker, brokerDoor: door }: World) {
  if (broker === null || door === null) throw new Error("this lane has no broker of its own");
  return { broker, door };
}

/** Until a command has been sent and not yet been confirmed, so that whatever happens next interrupts it. */
export async function confirming({ watch }: World): Promise<void> {
  const mark = watch.mark();
  const isConfirming = () =>
    watch.seen
      .slice(Math.max(mark, watch.mark() - 200))
      .some(({ topic, payload }) => topic.endsWith("/command") && fields(payload)["phase"] === "confirming");
  if (!(await comesTrue(isConfirming, 15_000, 5))) throw new Error("no command was being confirmed for 15 s");
}

/** SIGKILL amid commands; `spoil` does to the disk what a power cut may do. */
export const killed = (name: string, spoil: (world: World) => void): Row =>
  own({
    name,
    expected: "nothing is sent again; open commands are read back and told",
    holdMs: 0,
    begin: async (world) => {
      await confirming(world);
      await world.bridge.kill();
      spoil(world);
      await world.bridge.start();
    },
  });
