import { joinSignals } from "../runtime/signals.js";
import { ignored } from "../runtime/failures.js";
import type { BridgeView } from "../bridge.js";
import { Fallback, type Judged } from "../config/fallback.js";
import { type KnowsSensor, LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { RunState, SettingsTrial } from "./trial.js";

/* The runs of one bridge, one after the other. */

/** What a run of the bridge gets. */
export interface Run {
  readonly configuration: Configuration;
  readonly live: LiveSettings;
  /** Aborts when the run has to end in order. */
  readonly stop: AbortSignal;
  /** Whether another run follows at once. */
  readonly isRenewed: () => boolean;
  readonly onMade: (bridge: BridgeView) => void;
  readonly onPage: () => void;
}

interface Work {
  readonly start: (run: Run) => Promise<void>;
  readonly trial: Pick<SettingsTrial, "isOfSaved" | "fellBack">;
  readonly log: Logger;
}

/** Pause between tries when a run does not start. */
const againMs = 2_000;

/** The runs of one bridge in this process, each with the configuration of its time. */
export class Runs {
  readonly #clock: Clock;
  #configuration: Configuration;
  #live: LiveSettings;
  #renew = new AbortController();
  #bridge: BridgeView | null = null;
  #madeAt: number | null = null;
  #isPageOpen = false;
  #failures = 0;
  #error: string | null = null;
  readonly #fallback: Fallback;
  readonly #knowsSensor: KnowsSensor = (...of) => this.#bridge?.knowsSensor(...of) ?? false;

  /**
   * `former`: what an earlier process ran, while nobody knows yet whether the bridge comes up with the new
   * configuration.
   */
  constructor(configuration: Configuration, clock: Clock, former: Configuration | null = null) {
    this.#clock = clock;
    this.#fallback = new Fallback(former, this.#knowsSensor);
    this.#configuration = configuration;
    this.#live = new LiveSettings(configuration);
  }

  get live(): LiveSettings {
    return this.#live;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  runState(): RunState {
    return {
      runsForMs: this.#madeAt === null ? null : this.#clock.monotonic() - this.#madeAt,
      isYetToStart: false,
      mayStandBy: this.#configuration.cluster !== undefined,
      failures: this.#failures,
      error: this.#error,
      http: this.#configuration.http,
      isPageOpen: this.#isPageOpen,
      bridge: this.#bridge,
    };
  }

  /** Runs until `stop` aborts, or a run ends by an error that new settings cannot have caused. */
  async run(work: Work, stop: AbortSignal): Promise<void> {
    const { log, start, trial } = work;
    const clock = this.#clock;
    const isStopped = () => stop.aborted;
    while (!isStopped()) {
      const renew = new AbortController();
      this.#renew = renew;
      const { signal: until, release } = joinSignals(stop, renew.signal);
      try {
        await start(this.#runOf(until, () => renew.signal.aborted && !isStopped()));
        if (!renew.signal.aborted) return;
      } catch (error) {
        const { isOfSaved } = trial;
        if (isStopped() || !(isOfSaved || this.#isBackToFormer())) throw error;
        this.#failures += 1;
        this.#error = error instanceof Error ? error.message : String(error);
        log.error(
          { err: error },
          isOfSaved
            ? "the bridge does not start with the saved settings; trying again"
            : "the bridge does not start with the new configuration; it goes on with the earlier one until the file is corrected",
        );
        if (!isOfSaved) await trial.fellBack(this.#error);
        await clock.wait(againMs, until).catch(ignored);
      } finally {
        release();
        this.#bridge = null;
        this.#madeAt = null;
        this.#isPageOpen = false;
      }
    }
  }

  #isBackToFormer(): boolean {
    const former = this.#fallback.refuse(this.#configuration);
    if (former === null) return false;
    this.#configuration = former;
    this.#live = this.#live.follow(former);
    return true;
  }

  /** Ends the run for one with the former configuration; returns whether there is one. */
  goBack(): boolean {
    const isBack = this.#isBackToFormer();
    if (isBack) this.#renew.abort();
    return isBack;
  }

  /** Forgets the former configuration: the bridge has come up, or nothing can be taken back any more. */
  settle(): void {
    this.#fallback.settle();
  }

  judge(read: Configuration): Judged {
    return this.#fallback.judge(this.#configuration, read);
  }

  #runOf(stop: AbortSignal, isRenewed: () => boolean): Run {
    return {
      configuration: this.#configuration,
      live: this.#live,
      stop,
      isRenewed,
      onMade: (bridge) => {
        this.#bridge = bridge;
        this.#madeAt = this.#clock.monotonic();
      },
      onPage: () => {
        this.#isPageOpen = true;
      },
    };
  }

  /** Applies what can change while running, and begins a new run for the rest. */
  take(read: Configuration): ReturnType<LiveSettings["reload"]> {
    const next = this.#fallback.taken(this.#configuration, read);
    const reloaded = this.#live.reload(next, this.#knowsSensor);
    const needsRun = reloaded.needRestart.length > 0;
    if (needsRun) {
      if (this.#madeAt !== null) this.#fallback.keep(this.#configuration);
      this.#live = this.#live.follow(next);
      this.#renew.abort();
    }
    this.#configuration = next;
    return reloaded;
  }
}
