import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Ended, Program } from "../../end-to-end/support/program.js";
import type { Configuration, Stage } from "../../end-to-end/support/stage.js";

/** The bridge under test over its many lives, all on one configuration file and data directory. */
export interface BridgeProcess {
  readonly program: Program;
  /** Lives so far. */
  readonly starts: number;
  /** Every life's output, for secrets and for the end of a failed run. */
  readonly outputs: readonly Program[];
  start(configuration?: Configuration): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM; resolves with how it ended. */
  stop(): Promise<Ended>;
  /** The wall clock of this and the next lives is off by so much. */
  setClock(offMs: number): void;
  /** Ends that nobody asked for, as sentences. */
  readonly surprises: readonly string[];
}

const preload = pathToFileURL(resolve(import.meta.dirname, "moving-clock.mjs")).href;

export function bridgeProcess(stage: Stage, configuration: Configuration): BridgeProcess {
  const outputs: Program[] = [];
  const surprises: string[] = [];
  const clockFile = join(stage.folder, "clock-offset");
  let isEnding = false;
  const current = () => {
    const program = outputs.at(-1);
    if (program === undefined) throw new Error("the bridge was never started");
    return program;
  };
  const end = async (signal: NodeJS.Signals) => {
    isEnding = true;
    current().signal(signal);
    return current().ended;
  };
  return {
    outputs,
    surprises,
    get program() {
      return current();
    },
    get starts() {
      return outputs.length;
    },
    start: async (other) => {
      await stage.write("config.yaml", JSON.stringify(other ?? configuration, null, 1));
      isEnding = false;
      const env = { NODE_OPTIONS: `--import ${preload}`, CAMPAIGN_CLOCK: clockFile };
      const program = stage.program(["run", "--log-level", "info"], { env });
      outputs.push(program);
      void program.ended.then(({ code, stderr }) => {
        if (!isEnding)
          surprises.push(`the bridge ended by itself with ${code ?? "a signal"}: ${stderr.slice(-800)}`);
      });
    },
    kill: async () => {
      await end("SIGKILL");
    },
    stop: () => end("SIGTERM"),
    setClock: (offMs) => {
      writeFileSync(clockFile, String(offMs));
      if (!current().hasEnded) current().signal("SIGUSR2");
    },
  };
}
