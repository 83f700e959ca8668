import { fieldsOf, type Message } from "../history.js";
import type { Row } from "../row.js";
import type { Lane, World } from "../support/world.js";

/* What rows of one kind have in common. */

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Between bridge and platform: no human needed, back within 60 s. */
export const platform = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "platform",
  limitMs: 60_000,
  ...row,
});

/** The broker is a process of its own, with a chaos proxy before it. */
export const hasOwnBroker = ({ broker }: Lane): boolean => broker !== "embedded";

/** The broker is ours, in the bridge or in a process of its own. */
export const isOurBroker = ({ broker }: Lane): boolean => broker !== "Mosquitto";

export const isEmbedded = ({ broker }: Lane): boolean => broker === "embedded";

/** The token is got with an account, so that a lost one can be got again. */
export const signsIn = ({ credential }: Lane): boolean => credential === "sign_in";

/** Between bridge and broker. */
export const broker = (row: Omit<Row, "hits"> & Partial<Row>): Row => ({
  only: hasOwnBroker,
  hits: "delivery",
  ...row,
});

/** The process itself. */
export const own = (row: Omit<Row, "hits" | "limitMs"> & Partial<Row>): Row => ({
  hits: "process",
  limitMs: 60_000,
  ...row,
});

/** Until a command has been sent and not yet been confirmed, so that whatever happens next interrupts it. */
export async function confirming({ recorder }: World): Promise<void> {
  const since = Date.now();
  const isConfirming = ({ at, topic, payload }: Message) =>
    at >= since && topic.endsWith("/command") && fieldsOf(payload)["phase"] === "confirming";
  while (!recorder.messages.slice(-200).some(isConfirming)) {
    if (Date.now() - since > 15_000) throw new Error("no command was being confirmed for 15 s");
    await wait(5);
  }
}

/** SIGKILL amid commands; `spoil` does to the disk what a power cut may do. */
export const killed = (row: Pick<Row, "name" | "how">, spoil: (world: World) => void): Row =>
  own({
    ...row,
    expected: "nothing is sent again; open commands are read back and told",
    holdMs: 0,
    aboutMs: 8_000,
    begin: async (world) => {
      await confirming(world);
      await world.bridge.kill();
      spoil(world);
      await world.bridge.start();
    },
  });
