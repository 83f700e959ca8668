import { fields, type Seen as Message, type Stretch } from "../end-to-end/support/watch.js";
import { type Sent, textOf } from "./history.js";
import type { Lane, World } from "./support/world.js";

/** What a fault affects, which decides what the history may lack. */
type Hits = "platform" | "delivery" | "process" | "nothing";

/** One fault of the table. */
export interface Row {
  readonly name: string;
  /** The expected behaviour. */
  readonly expected: string;
  /** Whether the fault can be made in a lane; all lanes without it. */
  readonly only?: (lane: Lane) => boolean;
  readonly holdMs: number;
  readonly reducedHoldMs?: number;
  readonly hits: Hits;
  /** From the fault's end until everything works again. */
  readonly limitMs: number;
  /** Set if the journal cannot be written meanwhile. */
  readonly unwritable?: true;
  begin(world: World, notes: Notes, holdMs: number): Promise<void> | void;
  end?(world: World, notes: Notes): Promise<void> | void;
  /** Whether the bridge has recovered from what is not visible outside; asked until it has. */
  isOver?(world: World, notes: Notes): Promise<boolean>;
  /** Checks once the lane has recovered. */
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

/** Returns what was not as expected. */
export type Check = (seen: Seen, world: World) => readonly string[];

/** The problem, unless the condition holds. */
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

/** Checks that an event of this type was published on `bridge/event`. */
export const event =
  (type: string): Check =>
  ({ messages }) =>
    unless(eventsIn(messages, type).length > 0, `no event ${type}; commands: ${endingsIn(messages)}`);

/** The outcomes of commands with their actuators, in order. */
const endingsIn = (messages: readonly Message[]): string =>
  resultsOf(messages)
    .map(
      ({ actuator, outcome, duration_ms: ms }) => `${textOf(actuator)} ${textOf(outcome)} ${String(ms)} ms`,
    )
    .join(", ");

/** Checks that `bridge/state` stayed online, as the fault does not concern the broker. */
export const stayedOnline = never("greenhouse/bridge/state", "offline");

export const resultsOf = (messages: readonly Message[]) =>
  messages
    .filter(({ topic, retain }) => topic === "greenhouse/gh-0001/result" && !retain)
    .map(({ payload }) => fields(payload));

/** Outcomes and reasons of commands sent between the start and the end of the fault. */
export function outcomesDuring({ messages, sent, startedAt, endedAt }: Seen): readonly string[] {
  const ids = new Set(sent.filter(within({ from: startedAt, to: endedAt })).map(({ id }) => id));
  return resultsOf(messages)
    .filter(({ id }) => ids.has(textOf(id)))
    .map(({ outcome, reason }) => [outcome, reason].filter(Boolean).join("/"));
}

/** Checks that a command of the fault's time had one of these outcomes. */
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

/** Whether the condition became true in time. */
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

/** Faults between bridge and platform: recovery within 60 s without a human. */
export const platform = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "platform",
  limitMs: 60_000,
  ...row,
});

/** Faults between bridge and broker. */
export const broker = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  only: hasOwnBroker,
  hits: "delivery",
  limitMs: 35_000,
  ...row,
});

/** Faults of the process itself. */
export const own = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row =>
  platform({ hits: "process", ...row });

/** Whether the broker is a process of its own behind a chaos proxy. */
const hasOwnBroker = ({ broker }: Lane): boolean => broker !== "embedded";

type Order = readonly [what: string, fields?: Readonly<Record<string, unknown>>];

/** Orders for the platform at the fault's beginning and at its end. */
export const told = (begin: Order, end: Order): Pick<Row, "begin" | "end"> => ({
  begin: ({ platform }) => platform.tell(...begin),
  end: ({ platform }) => platform.tell(...end),
});

/** Requests fail as an entry of a fault file says. */
export const faulty = (fault: Readonly<Record<string, unknown>>): Pick<Row, "begin" | "end"> => ({
  begin: ({ platform }) => platform.fault({ chance: 1, ...fault }),
  end: ({ platform }) => platform.tell("clear_faults"),
});

/** Throws in a lane without a broker of its own, as rows that need it never run there. */
export function linkOf({ broker, brokerDoor: door }: World) {
  if (broker === null || door === null) throw new Error("this lane has no broker of its own");
  return { broker, door };
}

/** Waits until a command is sent and not yet confirmed, so that the fault interrupts it. */
export async function confirming({ watch }: World): Promise<void> {
  const mark = watch.mark();
  const isConfirming = () =>
    watch.seen
      .slice(Math.max(mark, watch.mark() - 200))
      .some(({ topic, payload }) => topic.endsWith("/command") && fields(payload)["phase"] === "confirming");
  if (!(await comesTrue(isConfirming, 15_000, 5))) throw new Error("no command was being confirmed for 15 s");
}

/** SIGKILL amid commands; `spoil` damages the disk as a power cut may. */
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
