import { join } from "node:path";
import { runProgram } from "../../src/cli/program.js";
import { tempFolder as folder } from "../mqtt-connection/support.js";

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
  /** The same of stderr. */
  readonly said?: (text: string) => void;
}

export async function greenhouse2mqtt(argv: readonly string[], call: Call = {}): Promise<Ended> {
  const { env = {}, stop = new AbortController().signal, terminal, printed, said } = call;
  let [out, err] = ["", ""];
  const code = await runProgram(["node", "greenhouse2mqtt", ...argv], {
    ...{ env, stop, isTerminal: terminal === "both" },
    out: (text) => {
      out += text;
      printed?.(text);
    },
    err: {
      isTTY: terminal !== undefined,
      write: (text) => {
        err += text;
        said?.(text);
      },
    },
  });
  return { code, out, err };
}

export { folder };

/** The path of a file of mode 600, alone in a folder. */
export const fileWith = async (text: string, name = "config.yaml"): Promise<string> =>
  join(await folder({ [name]: text }), name);
