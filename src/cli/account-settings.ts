import type { BridgeView } from "../bridge.js";
import type { FormerRun, Judged } from "../config/fallback.js";
import type { Text } from "../language/text.js";
import { existsSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { accountOf, type FleetSettings } from "../config/fleet.js";
import type { SettingsSource } from "../page/settings-source.js";
import { cameWithin, type Clock } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import type { Logger } from "../runtime/log.js";
import { filesOnTrial } from "../saving/trial-record.js";
import type { Restarting } from "./restarting.js";
import { type Backups, settingsOn } from "./settings-source.js";
import { type SettingsTrial, type RunState, notYetRun } from "./trial.js";

/** How a run of an account is. */
interface AccountState {
  readonly phase: string;
  readonly restarts: number;
  /** When it begins; null once it has. */
  readonly again: number | null;
  /** By the monotonic clock. */
  readonly enteredAt: number;
  readonly error: Text | null;
  /** Null while it does not run. */
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
  /** That names the account in each line. */
  readonly logOf: (account: string) => Logger;
}

/** So long an account waits for what is kept of its settings. */
const longestDiskMs = 5_000;

interface Settings {
  readonly source: SettingsSource;
  readonly trial: SettingsTrial;
}

/** The files of a fleet's accounts, each changed and taken up as a reload of the fleet does; what does not come up goes back. */
export class AccountSettings {
  readonly #parts: Parts;
  readonly #accounts = new Map<string, Settings>();
  readonly #backups: Backups = { isMaking: false };
  /** All have their secrets in one file. */
  #secrets = "";

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Goes on with what an earlier process has left on trial. Whether any file is another one now. */
  async resume(): Promise<boolean> {
    const files = await filesOnTrial(this.#parts.settings.accounts);
    const accounts = new Set(files.map((file) => basename(file, extname(file))));
    const isOther = await Promise.all([...accounts].map((account) => this.#resume(account)));
    return isOther.includes(true);
  }

  /** Where that comes too late, the account has begun by its file as it was. */
  async #resume(account: string): Promise<boolean> {
    const resuming = this.#of(account).trial.resume();
    if ((await this.#inTime(account, resuming)) !== null) return resuming;
    void resuming.then((isOther) => (isOther ? this.#parts.running.reload() : undefined)).catch(ignored);
    return false;
  }

  /** What is kept of one account, of which the disk may not answer, keeps back no other one. Null where that comes too late. */
  async #inTime<Value>(account: string, told: Promise<Value>): Promise<Value | null> {
    const { clock, logOf } = this.#parts;
    if (await cameWithin(clock, longestDiskMs, told)) return told;
    logOf(account).error(
      "the disk does not answer, so what this account ran by before is not known; it begins by its file as it is",
    );
    return null;
  }

  /** By account, what an earlier process ran by before its file was edited by hand, as far as that is still tried. */
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

  /** It was. */
  async tookUp(account: string): Promise<void> {
    await this.#of(account).trial.tookUp();
  }

  /** The file of an account was read again, and has mistakes. */
  mistaken(account: string, mistakes: Text): void {
    this.#of(account).trial.mistaken(mistakes);
  }

  /** Its file is gone: what was tried of it says nothing of one that may come in its place. */
  forget(account: string): void {
    this.#accounts.get(account)?.trial.end();
    this.#accounts.delete(account);
  }

  /** Reads what an earlier process has left of settings that were taken back. */
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

  /** One for all runs of an account, so that whoever saves waits for those before. */
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
 * An account that another member of the cluster runs is none of this one's trouble, as is one that was removed; nor is one that a member
 * cannot start because the servers of its cluster do not answer.
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
