import type { BridgeView } from "../bridge.js";
import { LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import type { PlatformState } from "../greenhouse/model.js";
import type { ReturnedSettings } from "../page/protocol.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { SettingsFile } from "../saving/settings-file.js";
import type { SavedChange } from "./settings-source.js";

/* Whether a bridge comes up by settings that were saved. */

/** So long it has. */
export const trialMs = 60_000;
/** What failed has to run so long afterwards. */
export const calmMs = 20_000;

/** What is seen of a run at the end of its trial. */
interface Sighting {
  /** How long the run under way has been complete, ms; null where it is not. */
  readonly runsForMs: number | null;
  /** Another member of a cluster may run the account meanwhile. */
  readonly mayStandBy: boolean;
  /** The error of the newest run that ended by one; null where none did. */
  readonly error: string | null;
  readonly http: Configuration["http"];
  readonly isPageOpen: boolean;
  readonly wasPageOpen: boolean;
  readonly platform: PlatformState | null;
  readonly platformBefore: PlatformState | null;
  /** The keys that were changed. */
  readonly keys: readonly string[];
}

const reached: ReadonlySet<PlatformState | null> = new Set<PlatformState | null>(["online", "degraded"]);

/**
 * Why the settings are taken back; null where the bridge has come up. A broker that is away is no reason, as brokers come back;
 * a platform is one only where its settings were changed and it was reached before.
 */
export function notComeUp(seen: Sighting): string | null {
  if (seen.mayStandBy && seen.runsForMs === null && seen.error === null) return null;
  if (seen.runsForMs === null || (seen.error !== null && seen.runsForMs < calmMs))
    return `the bridge did not start by them${seen.error === null ? "" : ` (${seen.error})`}`;
  if (seen.http !== false && seen.wasPageOpen && !seen.isPageOpen)
    return `the page could not be opened at ${seen.http.host}, port ${seen.http.port}`;
  const isOfPlatform = seen.keys.some((key) => key.startsWith("platform."));
  if (isOfPlatform && reached.has(seen.platformBefore) && !reached.has(seen.platform))
    return seen.platform === "unauthorized"
      ? "the platform refuses the credential"
      : "the platform is not reached any more";
  return null;
}

/** What one run of the bridge gets. */
export interface Run {
  readonly configuration: Configuration;
  readonly live: LiveSettings;
  /** Aborts when it is to end in order. */
  readonly stop: AbortSignal;
  /** Whether another run follows at once. */
  readonly isRenewed: () => boolean;
  readonly onMade: (bridge: BridgeView) => void;
  readonly onPage: () => void;
}

interface Work {
  readonly start: (run: Run) => Promise<void>;
  /** Reads the file and takes it up; what was wrong with it, or null. */
  readonly readAgain: () => Promise<string | null>;
  readonly log: Logger;
}

/** Settings that were saved and of which nobody knows yet whether the bridge comes up by them. */
interface Trial {
  readonly change: SavedChange;
  readonly file: SettingsFile;
  readonly over: AbortController;
  readonly platformBefore: PlatformState | null;
  readonly wasPageOpen: boolean;
  /** A new run was begun by them: without one there is nothing to come up. */
  needsRun: boolean;
}

/** Between two tries of what does not start. */
const againMs = 2_000;

/** The runs of one bridge in this process: each by the configuration of its time. */
export class Runs {
  readonly #clock: Clock;
  #work: Work | null = null;
  #configuration: Configuration;
  #live: LiveSettings;
  #renew = new AbortController();
  #bridge: BridgeView | null = null;
  #madeAt: number | null = null;
  #isPageOpen = false;
  #error: string | null = null;
  #trial: Trial | null = null;
  /** By what the last run was complete, until the next one is. */
  #former: Configuration | null = null;
  #returned: ReturnedSettings | null = null;

  constructor(configuration: Configuration, clock: Clock) {
    this.#clock = clock;
    this.#configuration = configuration;
    this.#live = new LiveSettings(configuration);
  }

  get live(): LiveSettings {
    return this.#live;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** The settings that were taken back last. */
  get returned(): ReturnedSettings | null {
    return this.#returned;
  }

  /** Until `stop` aborts, or a run ends by an error that no saved settings may be the reason of. */
  async run(work: Work, stop: AbortSignal): Promise<void> {
    this.#work = work;
    const { log, start } = work;
    const clock = this.#clock;
    const isStopped = () => stop.aborted;
    while (!isStopped()) {
      const renew = new AbortController();
      this.#renew = renew;
      const until = AbortSignal.any([stop, renew.signal]);
      try {
        await start(this.#runOf(until, () => renew.signal.aborted && !isStopped()));
        if (!renew.signal.aborted) return;
      } catch (error) {
        if (isStopped() || !(this.#isTried() || this.#isBackToFormer())) throw error;
        this.#error = error instanceof Error ? error.message : String(error);
        log.error(
          { err: error },
          this.#isTried()
            ? "the bridge does not start by the settings that were saved; trying again"
            : "the bridge does not start by the configuration as it was read again; it goes on with the former one until that is mended",
        );
        await clock.wait(againMs, until).catch(() => undefined);
      } finally {
        this.#bridge = null;
        this.#madeAt = null;
        this.#isPageOpen = false;
      }
    }
  }

  /** A method, as it changes while a run is under way. */
  #isTried(): boolean {
    return this.#trial !== null;
  }

  /** What was read again has never run: the former configuration is taken, where there is one. */
  #isBackToFormer(): boolean {
    const former = this.#former;
    if (former === null || this.#madeAt !== null) return false;
    this.#former = null;
    this.#configuration = former;
    this.#live = this.#live.follow(former);
    return true;
  }

  #runOf(stop: AbortSignal, isRenewed: () => boolean): Run {
    return {
      configuration: this.#configuration,
      live: this.#live,
      stop,
      isRenewed,
      onMade: (bridge) => {
        this.#bridge = bridge;
        this.#former = null;
        this.#madeAt = this.#clock.monotonic();
      },
      onPage: () => {
        this.#isPageOpen = true;
      },
    };
  }

  /** Takes over what can change, and begins a new run for the rest. */
  take(next: Configuration): ReturnType<LiveSettings["reload"]> {
    const reloaded = this.#live.reload(next);
    const needsRun = reloaded.needRestart.length > 0;
    if (needsRun) {
      this.#former ??= this.#madeAt === null ? null : this.#configuration;
      this.#live = this.#live.follow(next);
      this.#renew.abort();
    }
    this.#configuration = next;
    if (this.#trial !== null && needsRun) this.#trial.needsRun = true;
    if (this.#trial?.needsRun === false) this.#endTrial();
    return reloaded;
  }

  /** Settings were saved, and are about to be taken up. Those of a trial under way go back as one. */
  onSaved(change: SavedChange, file: SettingsFile): void {
    const before = this.#trial;
    before?.over.abort();
    this.#error = null;
    const trial = {
      change:
        before === null
          ? change
          : {
              ...change,
              kept: firstOf(before.change.kept, change.kept),
              keys: [...before.change.keys, ...change.keys],
            },
      file,
      over: new AbortController(),
      platformBefore: before?.platformBefore ?? this.#bridge?.status.facts().platform ?? null,
      wasPageOpen: before?.wasPageOpen ?? this.#isPageOpen,
      needsRun: before?.needsRun ?? false,
    };
    this.#trial = trial;
    void this.#watch(trial);
  }

  #endTrial(): void {
    this.#trial?.over.abort();
    this.#trial = null;
  }

  async #watch(trial: Trial): Promise<void> {
    const clock = this.#clock;
    const isOver = await clock.wait(trialMs, trial.over.signal).then(
      () => false,
      () => true,
    );
    const work = this.#work;
    if (isOver || this.#trial !== trial || work === null) return;
    const why = notComeUp({
      runsForMs: this.#madeAt === null ? null : clock.monotonic() - this.#madeAt,
      mayStandBy: this.#configuration.cluster !== undefined,
      error: this.#error,
      http: this.#configuration.http,
      isPageOpen: this.#isPageOpen,
      wasPageOpen: trial.wasPageOpen,
      platform: this.#bridge?.status.facts().platform ?? null,
      platformBefore: trial.platformBefore,
      keys: trial.change.keys,
    });
    if (why === null) {
      this.#endTrial();
      this.#returned = null;
      this.#bridge?.commands.limits.alarms.set(
        "settings_returned",
        { controller: null, actuator: null },
        null,
      );
      return;
    }
    await this.#goBack(trial, why, work).catch((error: unknown) =>
      work.log.error({ err: error, why }, "the settings that were saved could not be taken back"),
    );
    // One that was saved meanwhile has a trial of its own.
    if (this.#trial === trial) this.#endTrial();
  }

  async #goBack({ change, file }: Trial, why: string, { log, readAgain }: Work): Promise<void> {
    const isBack = await file.putBack(change.kept, change.etag);
    if (!isBack) {
      log.error(
        { why },
        "the bridge does not come up by settings that were saved, and the file was changed since: it stays",
      );
      return;
    }
    log.error(
      { why, keys: change.keys },
      "settings that were saved are taken back, as the bridge did not come up by them",
    );
    this.#returned = {
      at: new Date(this.#clock.now()).toISOString(),
      reason: why,
      difference: change.difference,
    };
    await readAgain();
  }

  /** Why settings that were saved are not in force; null where none were taken back. */
  returnedSentence(): string | null {
    return returnedSentence(this.#returned);
  }
}

/** What was there before the first of two changes. */
const firstOf = (before: SavedChange["kept"], after: SavedChange["kept"]): SavedChange["kept"] => ({
  file: before.file ?? after.file,
  secrets: before.secrets ?? after.secrets,
});

/** What an alarm says of settings that were taken back; what differed, the admin's page alone shows. */
export function returnedSentence(returned: ReturnedSettings | null): string | null {
  if (returned === null) return null;
  const { at, reason } = returned;
  return `Settings that were saved were taken back at ${at}: ${reason}.`.slice(0, 2_000);
}
