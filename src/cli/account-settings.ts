import type { BridgeView } from "../bridge.js";
import type { FormerRun, Judged } from "../config/fallback.js";
import type { Text } from "../language/text.js";
import { existsSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { accountOf, type FleetSettings } from "../config/fleet.js";
import type { SettingsSource } from "../page/settings-source.js";
import { cameWithin, type Clock, diskPatienceMs } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import type { Logger } from "../runtime/log.js";
import { filesOnTrial } from "../saving/trial-record.js";
import type { Restarting } from "./restarting.js";
import { type Backups, settingsOn } from "./settings-source.js";
import { type SettingsTrial, type RunState, notYetRun } from "./trial.js";

interface AccountState {
  readonly phase: string;
  readonly restarts: number;
  /** When the next run begins; null once it has begun. */
  readonly again: number | null;
  /** Monotonic ms. */
  readonly enteredAt: number;
  readonly error: Text | null;
  /** Null while the account does not run. */
  readonly bridge: BridgeView | null;
}

interface Parts {
  readonly settings: FleetSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the program, with all accounts, so that it is started again. */
  readonly restarting: Restarting | undefined;
  /** The fleet that runs. */
  readonly running: {
    reload(): Promise<void>;
    state(account: string): AccountState | undefined;
    goBack(account: string): boolean;
    settle(account: string): void;
  };
  readonly clock: Clock;
  /** A log that names the account in each line. */
  readonly logOf: (account: string) => Logger;
}

interface Settings {
  readonly source: SettingsSource;
  readonly trial: SettingsTrial;
}

/**
 * The files of a fleet's accounts. A change is taken up as by a reload of the fleet, and taken back if the account does
 * not come up.
 */
export class AccountSettings {
  readonly #parts: Parts;
  readonly #accounts = new Map<string, Settings>();
  readonly #backups: Backups = { isMaking: false };
  /** All accounts have their secrets in one file. */
  #secrets = "";

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Goes on with trials that an earlier process left; resolves with whether any file has changed by that. */
  async resume(): Promise<boolean> {
    const files = await filesOnTrial(this.#parts.settings.accounts);
    const accounts = new Set(files.map((file) => basename(file, extname(file))));
    const isOther = await Promise.all([...accounts].map((account) => this.#resume(account)));
    return isOther.includes(true);
  }

  /** If the disk is too slow, the account begins with its file as it is, and reloads once that has changed. */
  async #resume(account: string): Promise<boolean> {
    const resuming = this.#of(account).trial.resume();
    if ((await this.#inTime(account, resuming)) !== null) return resuming;
    void resuming.then((isOther) => (isOther ? this.#parts.running.reload() : undefined)).catch(ignored);
    return false;
  }

  /** A disk that does not answer for one account must hold up no other. Null if the value comes too late. */
  async #inTime<Value>(account: string, told: Promise<Value>): Promise<Value | null> {
    const { clock, logOf } = this.#parts;
    if (await cameWithin(clock, diskPatienceMs, told)) return told;
    logOf(account).error(
      "the disk does not answer, so what this account ran by before is not known; it begins by its file as it is",
    );
    return null;
  }

  /** By account, what an earlier process ran before its file was edited by hand, while that edit is on trial. */
  async formers(): Promise<ReadonlyMap<string, FormerRun>> {
    const formers = [...this.#accounts].map(
      async ([account, { trial }]) => [account, await this.#inTime(account, trial.former())] as const,
    );
    return new Map(
      (await Promise.all(formers)).flatMap(([account, former]) =>
        former === null ? [] : [[account, former]],
      ),
    );
  }

  /** The file of an account was read again, and is about to be taken up. */
  async edited(account: string, judged: Judged): Promise<void> {
    await this.#of(account).trial.edited(judged);
  }

  /** The file of an account was taken up. */
  async tookUp(account: string): Promise<void> {
    await this.#of(account).trial.tookUp();
  }

  /** The file of an account was read again, and has mistakes. */
  mistaken(account: string, mistakes: Text): void {
    this.#of(account).trial.mistaken(mistakes);
  }

  /** The account's file is gone; what was tried of it says nothing of a file that may take its place. */
  forget(account: string): void {
    this.#accounts.get(account)?.trial.end();
    this.#accounts.delete(account);
  }

  /** Reads what an earlier process recorded about settings that were taken back. */
  async recall(account: string): Promise<void> {
    await this.#inTime(account, this.#of(account).trial.recall());
  }

  /** Why saved settings of an account are not in force; null where none were taken back. */
  returnedAlarm(account: string) {
    return this.#of(account).trial.returnedAlarm();
  }

  source(account: string): SettingsSource {
    return this.#of(account).source;
  }

  /** One for all runs of an account, so that saves wait for each other. */
  #of(account: string): Settings {
    const known = this.#accounts.get(account) ?? this.#make(account);
    this.#accounts.set(account, known);
    return known;
  }

  #make(account: string): Settings {
    const { settings, env, restarting, running, clock, logOf } = this.#parts;
    const named = (extension: string) => join(settings.accounts, `${account}${extension}`);
    const placed = (word: string) => (settings.isMoved === true ? [word, settings.data_dir] : []);
    return settingsOn({
      file: existsSync(named(".yaml")) ? named(".yaml") : named(".yml"),
      env,
      restarting,
      load: (reads, isAlone = false) =>
        accountOf(account, settings.file, {
          env,
          inForce: settings,
          ...(reads !== undefined && { readFile: reads }),
          ...(isAlone && { alone: account }),
        }),
      dataDir: () => join(settings.data_dir, account),
      readAgain: () => running.reload().then(() => null, String),
      goBack: () => running.goBack(account),
      settle: () => running.settle(account),
      seen: () => runStateOf(running.state(account), settings.cluster !== undefined, clock.monotonic()),
      clock,
      log: () => logOf(account),
      backupOf: () => [...["--config", settings.file, "--account", account], ...placed("--fleet-data-dir")],
      backups: this.#backups,
      shared: (text) => (text === this.#secrets ? this.#secrets : (this.#secrets = text)),
      backupOfFleet: ["--config", settings.file, ...placed("--data-dir")],
    });
  }
}

/**
 * How an account's run is doing. `mayStandBy` also holds for an account that was removed, that another member runs, or
 * that a member cannot start while the cluster's servers do not answer.
 */
export function runStateOf(state: AccountState | undefined, isMember: boolean, now: number): RunState {
  if (state === undefined) return { ...notYetRun, mayStandBy: true };
  const { phase, again, enteredAt, restarts, error, bridge } = state;
  return {
    ...notYetRun,
    runsForMs: phase === "running" ? now - enteredAt : null,
    isYetToStart: phase === "starting" && again !== null,
    mayStandBy: isMember || phase === "stopping",
    failures: restarts,
    error: error === null ? null : String(error),
    bridge,
  };
}
