import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, resolve } from "node:path";
import { endsWithThisProcess } from "../../support/at-exit.js";
import { freePort, startMosquitto } from "../../support/mosquitto.js";
import { programFile } from "../../end-to-end/support/program.js";

/** A broker in a process of its own that can die, freeze and come back on the same port with nothing retained. */
export interface TestBroker {
  readonly port: number;
  kill(): Promise<void>;
  restart(): Promise<void>;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export const startTestBroker = (kind: "Mosquitto" | "aedes"): Promise<TestBroker> =>
  // By default it drops what a subscriber has not taken of a burst; the recorder is to see every message.
  kind === "Mosquitto" ? startMosquitto({ extra: ["max_queued_messages 0"] }) : startAedes();

const script = resolve(import.meta.dirname, "aedes-broker.mjs");

async function startAedes(): Promise<TestBroker> {
  const port = await freePort();
  let child = await spawnAedes(port);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return {
    port,
    kill,
    restart: async () => {
      await kill();
      child = await spawnAedes(port);
    },
    freeze: () => {
      child.kill("SIGSTOP");
    },
    thaw: () => {
      child.kill("SIGCONT");
    },
    stop: kill,
  };
}

async function spawnAedes(port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, dirname(programFile), String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endsWithThisProcess(child);
  const ended = once(child, "exit").then(() => {
    throw new Error("the broker's process ended at once");
  });
  await Promise.race([once(child.stdout, "data"), ended]);
  ended.catch(() => undefined);
  return child;
}
