import { fields } from "../../end-to-end/support/watch.js";
import { comesTrue, type Row } from "../row.js";
import type { Lane, World } from "../support/world.js";

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
export const hasOwnBroker = ({ broker }: Lane): boolean => broker !== "embedded";

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
