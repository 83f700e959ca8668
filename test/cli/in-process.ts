import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runProgram } from "../../src/cli/program.js";

/* The program as a user calls it, in this process. */

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Call {
  readonly env?: Readonly<Record<string, string>>;
  readonly stop?: AbortSignal;
  /** Of stdout and stderr, or of stderr alone. */
  readonly terminal?: "both" | "stderr";
  /** Told everything that goes to stdout. */
  readonly printed?: (text: string) => void;
}

export async function greenhouse2mqtt(argv: readonly string[], call: Call = {}): Promise<Ended> {
  const { env = {}, stop = new AbortController().signal, terminal, printed } = call;
  let [out, err] = ["", ""];
  const code = await runProgram(["node", "greenhouse2mqtt", ...argv], {
    ...{ env, stop, isTerminal: terminal === "both" },
    out: (text) => {
      out += text;
      printed?.(text);
    },
    err: { isTTY: terminal !== undefined, write: (text) => void (err += text) },
  });
  return { code, out, err };
}

/** A folder of the test's own, removed when the test ends, with these files of mode 600. */
export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text, { mode: 0o600 });
  return path;
}

/** The path of such a file, alone in a folder. */
export const fileWith = async (text: string, name = "config.yaml"): Promise<string> =>
  join(await folder({ [name]: text }), name);
