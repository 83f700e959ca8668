import { dirname, resolve } from "node:path";
import { freePort, ownProcess, type OwnProcess, startMosquitto } from "../../support/mosquitto.js";
import { programFile } from "../../end-to-end/support/program.js";

/** A broker in a process of its own that can die, freeze and come back on the same port with nothing retained. */
export type TestBroker = OwnProcess & { readonly port: number; stop(): Promise<void> };

const script = resolve(import.meta.dirname, "aedes-broker.mjs");

export async function startTestBroker(kind: "Mosquitto" | "aedes"): Promise<TestBroker> {
  // By default it drops what a subscriber has not taken of a burst; the watch is to see every message.
  if (kind === "Mosquitto") return startMosquitto({ extra: ["max_queued_messages 0"] });
  const port = await freePort();
  const aedes = await ownProcess(process.execPath, [script, dirname(programFile), String(port)]);
  return { ...aedes, port, stop: () => aedes.kill() };
}
