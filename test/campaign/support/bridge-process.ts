import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Ended, Program } from "../../end-to-end/support/program.js";
import type { Configuration, Stage } from "../../end-to-end/support/stage.js";

const preload = pathToFileURL(resolve(import.meta.dirname, "moving-clock.mjs")).href;

/** The bridge under test over its many lives, all on one configuration file and data directory. */
export class BridgeProcess {
  readonly lives: Program[] = [];
  /** Ends that nobody asked for, as sentences. */
  readonly surprises: string[] = [];
  readonly #stage: Stage;
  readonly #configuration: Configuration;
  readonly #clockFile: string;
  #isEnding = false;

  constructor(stage: Stage, configuration: Configuration) {
    this.#stage = stage;
    this.#configuration = configuration;
    this.#clockFile = join(stage.folder, "clock-offset");
  }

  get program(): Program {
    const program = this.lives.at(-1);
    if (program === undefined) throw new Error("the bridge was never started");
    return program;
  }

  async start(configuration = this.#configuration): Promise<void> {
    const env = { NODE_OPTIONS: `--import ${preload}`, CAMPAIGN_CLOCK: this.#clockFile };
    const program = await this.#stage.bridge(configuration, { logLevel: "info", env });
    this.#isEnding = false;
    this.lives.push(program);
    void program.ended.then(({ code, stderr }) => {
      if (!this.#isEnding)
        this.surprises.push(`it ended by itself with ${code ?? "a signal"}: ${stderr.slice(-800)}`);
    });
  }

  kill = (): Promise<Ended> => this.#end("SIGKILL");
  stop = (): Promise<Ended> => this.#end("SIGTERM");

  /** The wall clock of this and the next lives is off by so much. */
  setClock(offMs: number): void {
    writeFileSync(this.#clockFile, String(offMs));
    if (!this.program.hasEnded) this.program.signal("SIGUSR2");
  }

  async #end(signal: NodeJS.Signals): Promise<Ended> {
    this.#isEnding = true;
    this.program.signal(signal);
    return this.program.ended;
  }
}
