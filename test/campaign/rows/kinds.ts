import type { Row } from "../row.js";
import type { World } from "../support/world.js";

/* What rows of one kind have in common. */

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Between bridge and platform: no human needed, back within 60 s. */
export const platform = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "platform",
  limitMs: 60_000,
  ...row,
});

/** Between bridge and broker: in every lane whose broker is a process of its own. */
export const broker = (row: Omit<Row, "lanes" | "hits"> & Partial<Row>): Row => ({
  lanes: ["mosquitto-5", "mosquitto-4", "aedes-5", "aedes-4"],
  hits: "delivery",
  ...row,
});

/** The process itself. */
export const own = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "process",
  limitMs: 60_000,
  ...row,
});

/** SIGKILL amid commands; `spoil` does to the disk what a power cut may do. */
export const killed = (
  row: Pick<Row, "name" | "requirement" | "lanes" | "how">,
  spoil: (world: World) => void,
): Row =>
  own({
    ...row,
    expected: "nothing is sent again; open commands are read back and told",
    holdMs: 0,
    begin: async (world) => {
      await world.bridge.kill();
      spoil(world);
      await world.bridge.start();
    },
  });
