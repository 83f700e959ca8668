import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Program } from "../end-to-end/support/program.js";

/* A running program that can be asked for its memory after a garbage collection. */

export interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
  readonly handles: Readonly<Record<string, number>>;
  readonly listeners: number;
}

/** The environment a program must be started with. */
export const probeEnvironment = (folder: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "probe.mjs")).href}`,
  PROOF_PROBE: join(folder, "probe.json"),
});

/** Collects garbage there; bytes. Rejects when it takes longer than a minute or the program has ended. */
export async function memoryOf(program: Program, folder: string): Promise<Memory> {
  const read = async () => {
    try {
      return JSON.parse(await readFile(join(folder, "probe.json"), "utf8")) as Memory & { count: number };
    } catch {
      return null;
    }
  };
  const before = (await read())?.count ?? 0;
  program.signal("SIGUSR2");
  const end = performance.now() + 60_000;
  for (;;) {
    const memory = await read();
    if (memory !== null && memory.count > before) return memory;
    if (program.hasEnded || performance.now() > end) throw new Error("no answer to the question for memory");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
