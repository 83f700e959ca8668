import { msg, type Text } from "../language/text.js";
import type { BridgeView } from "../bridge.js";
import type { Configuration } from "../config/schema.js";
import type { PlatformState } from "../greenhouse/model.js";
import { identityOf, isOtherRunning } from "../journal/lock.js";
import type { ReturnedSettings } from "../page/protocol.js";
import type { Clock } from "../runtime/clock.js";
import { nullIfFailed } from "../runtime/failures.js";
import { errorCode, type FileSystem } from "../runtime/file-system.js";
import { waitAwake } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { Kept, SavedChange, SettingsFile } from "../saving/settings-file.js";
import {
  type KeptReturned,
  readReturned,
  readTrial,
  removeReturned,
  removeTrial,
  type TrialRecord,
  writeReturned,
  writeTrial,
} from "../saving/trial-record.js";

/* Whether a bridge comes up by settings that were saved: of one bridge, and of each account of a fleet. */

/** So long it has. */
const trialMs = 60_000;
/** What failed has to run so long afterwards. */
const calmMs = 20_000;
/** A program that does not live for a minute by them may be started so often. */
const mostStarts = 3;

/** What is seen of a run. */
export interface Sight {
  /** How long the run under way has been complete, ms; null where it is not. */
  readonly runsForMs: number | null;
  /** Another member of a cluster may run the account meanwhile. */
  readonly mayStandBy: boolean;
  /** How many runs ended by an error, and that of the newest of them. */
  readonly failures: number;
  readonly error: string | null;
  readonly http: Configuration["http"];
  readonly isPageOpen: boolean;
  readonly bridge: BridgeView | null;
}

/** Before the first run. */
export const unseen: Sight = {
  runsForMs: null,
  mayStandBy: false,
  failures: 0,
  error: null,
  http: false,
  isPageOpen: false,
  bridge: null,
};

/** What is seen at the end of a trial. */
interface Sighting extends Pick<Sight, "runsForMs" | "mayStandBy" | "http" | "isPageOpen"> {
  /** The error of the newest run since the settings were saved; null where none ended by one. */
  readonly error: string | null;
  readonly wasPageOpen: boolean;
  readonly platform: PlatformState | null;
  readonly platformBefore: string | null;
  /** The keys that were changed. */
  readonly keys: readonly string[];
}

const reached: ReadonlySet<string | null> = new Set<PlatformState | null>(["online", "degraded"]);

/**
 * Why the settings are taken back; null where the bridge has come up. A broker that is away is no reason, as brokers come back;
 * a platform is one only where its settings were changed and it was reached before.
 */
export function notComeUp(seen: Sighting): Text | null {
  if (seen.mayStandBy && seen.runsForMs === null && seen.error === null) return null;
  if (seen.runsForMs === null || (seen.error !== null && seen.runsForMs < calmMs))
    return seen.error === null
      ? msg`the bridge did not start with them`
      : msg`the bridge did not start with them (${seen.error})`;
  if (seen.http !== false && seen.wasPageOpen && !seen.isPageOpen)
    return msg`the page could not be opened at ${seen.http.host}, port ${String(seen.http.port)}`;
  const isOfPlatform = seen.keys.some((key) => key.startsWith("platform."));
  if (isOfPlatform && reached.has(seen.platformBefore) && !reached.has(seen.platform))
    return seen.platform === "unauthorized"
      ? msg`the platform refuses the credential`
      : msg`the platform is not reached any more`;
  return null;
}

/** For so long a person has to have seen that settings were taken back, and to have left it at that. */
const seenForMs = 3_600_000;

/** What is known of settings that were taken back while the bridge runs on. Monotonic ms. */
interface AfterReturn {
  readonly now: number;
  /** Of the file that was put back, and of the one in force, and since when that is. */
  readonly putBack: string | undefined;
  readonly inForce: string | null;
  readonly inForceSince: number;
  readonly runsForMs: number | null;
  /** Since when the alarm is acknowledged; null where it is not. */
  readonly seenSince: number | null;
}

/** Whether nobody has to see to it any more: the bridge runs by another file, or somebody keeps the former one. */
function isSettled({ now, putBack, inForce, inForceSince, runsForMs, seenSince }: AfterReturn): boolean {
  if (runsForMs === null || Math.min(runsForMs, now - inForceSince) < trialMs) return false;
  const isOther = putBack !== undefined && inForce !== null && inForce !== putBack;
  return isOther || (seenSince !== null && now - seenSince >= seenForMs);
}

export interface TrialParts {
  readonly file: SettingsFile;
  readonly clock: Clock;
  readonly log: () => Logger;
  /** Of the configuration in force. */
  readonly dataDir: () => string;
  readonly seen: () => Sight;
  /** Reads the file and takes it up; what was wrong with it, or null. */
  readonly readAgain: () => Promise<string | null>;
  readonly files?: FileSystem | undefined;
}

/**
 * Settings of one file that were saved and of which nobody knows yet whether the bridge comes up by them. It is kept beside the file,
 * so that the next process goes on with it.
 */
export class SettingsTrial {
  readonly #parts: TrialParts;
  #record: TrialRecord | null = null;
  #watching = new AbortController();
  #failuresBefore = 0;
  #returned: KeptReturned | null = null;
  /** The etag of the file in force, and since when it is, monotonic ms. */
  #inForce: string | null = null;
  #inForceSince = 0;
  #isAwaitingEnd = false;

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  get isUnderWay(): boolean {
    return this.#record !== null;
  }

  /** The settings that were taken back last. */
  get returned(): ReturnedSettings | null {
    if (this.#returned === null) return null;
    const { at, reason, difference } = this.#returned;
    return { at, reason, difference };
  }

  /** Former files that may have to be put back. */
  get needed(): readonly string[] {
    const { file = null, secrets = null } = this.#record?.kept ?? {};
    return [file, secrets].filter((one) => one !== null);
  }

  /** Reads what an earlier process has left of settings that were taken back. */
  async recall(): Promise<void> {
    this.#returned ??= await readReturned(this.#parts.dataDir());
    await this.tookUp();
  }

  /** The file as it is now is in force. */
  async tookUp(): Promise<void> {
    this.#inForce = await this.#parts.file.etag().catch(nullIfFailed);
    this.#inForceSince = this.#parts.clock.monotonic();
    void this.#awaitEnd();
  }

  /**
   * The bridge does not start by a file that was edited by hand, and runs by the former configuration again. The file is never written:
   * whoever edits it has it as he left it. Never rejects.
   */
  async fellBack(error: string): Promise<void> {
    const { file, clock, log } = this.#parts;
    const why = msg`the bridge did not start with them (${error})`;
    log().error({ why }, "the file is not in force, as the bridge does not start by it; it stays as it is");
    const etag = await file.etag().catch(nullIfFailed);
    const at = new Date(clock.now()).toISOString();
    const reason = msg`${why}; the file stays as it was edited`;
    this.#returned = { at, reason, difference: "", by_hand: true, ...(etag !== null && { etag }) };
    void this.#awaitEnd();
  }

  /** Ends what is told of settings that were taken back, once nobody has to see to it any more. */
  async #awaitEnd(): Promise<void> {
    if (this.#isAwaitingEnd) return;
    this.#isAwaitingEnd = true;
    const { clock, seen } = this.#parts;
    let seenSince: number | null = null;
    for (let returned = this.#returned; returned !== null; returned = this.#returned) {
      await clock.wait(trialMs);
      const { runsForMs, bridge } = seen();
      const now = clock.monotonic();
      const alarm = bridge?.commands.limits.alarms.list.find(({ type }) => type === "settings_returned");
      // The next start runs by a file that stayed, whoever has seen it.
      const isSeen = alarm?.state === "acknowledged" && returned.by_hand !== true;
      seenSince = isSeen ? (seenSince ?? now) : null;
      const { etag: putBack } = returned;
      const [inForce, inForceSince] = [this.#inForce, this.#inForceSince];
      const isOver = isSettled({ now, putBack, inForce, inForceSince, runsForMs, seenSince });
      if (isOver && this.#record === null && this.#returned === returned) await this.#endReturned();
    }
    this.#isAwaitingEnd = false;
  }

  async #endReturned(): Promise<void> {
    const { dataDir, seen } = this.#parts;
    this.#returned = null;
    await removeReturned(dataDir());
    const { alarms } = seen().bridge?.commands.limits ?? {};
    alarms?.set("settings_returned", { controller: null, actuator: null }, null);
  }

  /**
   * Settings are about to be written; gives what takes that back. What takes no new run needs no trial. Those of a trial under way go
   * back as one.
   */
  async prepare(change: SavedChange): Promise<() => Promise<void>> {
    const { file, dataDir, seen } = this.#parts;
    const before = this.#record;
    if (before === null && change.need_run.length === 0) return () => Promise.resolve();
    const { bridge, isPageOpen, failures } = seen();
    const added = {
      etags: [...(before?.etags ?? [change.before]), change.etag],
      kept: before === null ? change.kept : firstOf(before.kept, change.kept),
      keys: [...(before?.keys ?? []), ...change.keys],
      difference: [before?.difference ?? "", change.difference].filter((one) => one !== "").join("\n"),
      starts: 0,
      reason: null,
    };
    const now = {
      by: await identityOf(process.pid),
      platform: bridge?.status.facts().platform ?? null,
      wasPageOpen: isPageOpen,
      dataDir: dataDir(),
    };
    const record = { ...now, ...before, ...added };
    await this.#note(record);
    this.#failuresBefore = failures;
    return async () => {
      if (before !== null) return this.#note(before);
      this.#record = null;
      await removeTrial(file.file, this.#parts.files);
    };
  }

  async #note(record: TrialRecord): Promise<void> {
    await writeTrial(this.#parts.file.file, record, this.#parts.files);
    this.#record = record;
  }

  /** What was written is about to be taken up. */
  start(): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    if (this.#record !== null) void this.#watch(this.#watching.signal);
  }

  /** Goes on with what an earlier process has left. Whether the file is another one now; never rejects. */
  resume(): Promise<boolean> {
    return this.#orAsItIs(() => this.#resume());
  }

  /** A disk that takes nothing, or a former file that is not there, keeps no bridge from starting by the file as it is. */
  async #orAsItIs(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#parts
        .log()
        .error({ err: error }, "settings that were saved cannot be taken back; the file stays as it is");
      this.#record = null;
      await this.#dropWithoutKept(error);
      return false;
    }
  }

  /** Nothing can ever be put back of what is not there. */
  async #dropWithoutKept(error: unknown): Promise<void> {
    const { file, files } = this.#parts;
    if (errorCode(error) !== "ENOENT") return;
    const record = await readTrial(file.file);
    const { path } = error as NodeJS.ErrnoException;
    const isKept = path !== undefined && [record?.kept.file, record?.kept.secrets].includes(path);
    if (isKept) await removeTrial(file.file, files);
  }

  async #resume(): Promise<boolean> {
    const { file } = this.#parts;
    const log = this.#parts.log();
    const record = await readTrial(file.file);
    if (record === null || (await isOtherRunning(record.by))) return false;
    const stands = await file.stands(record.etags).catch(() => "other" as const);
    if (record.reason !== null) {
      this.#record = record;
      return this.#goBack(record.reason);
    }
    if (stands === "between") {
      log.warn("saving was interrupted; the bridge put the earlier settings back");
      await file.putBack(record.kept, record.etags);
    }
    if (stands !== "saved") {
      await removeTrial(file.file, this.#parts.files);
      return stands === "between";
    }
    this.#record = { ...record, starts: record.starts + 1, by: await identityOf(process.pid) };
    await this.#keep(this.#record);
    if (record.starts >= mostStarts - 1)
      return this.#goBack(msg`the program ended ${record.starts} times within a minute with them`);
    log.info(
      { keys: record.keys },
      "settings were saved a moment ago; they stay if the bridge comes up by them",
    );
    this.start();
    return false;
  }

  /** For the next start, where the disk takes it. */
  async #keep(record: TrialRecord): Promise<void> {
    const { file, log, files } = this.#parts;
    await writeTrial(file.file, record, files).catch((error: unknown) =>
      log().error({ err: error }, "how far saved settings have come could not be kept for the next start"),
    );
  }

  /** Before a run, where the file cannot be used. Whether the former one is there again; never rejects. */
  async refuse(why: Text): Promise<boolean> {
    const reason = msg`the configuration could not be read (${why})`;
    return this.#record !== null && this.#orAsItIs(() => this.#goBack(reason));
  }

  async #watch(over: AbortSignal): Promise<void> {
    const { clock, log, readAgain } = this.#parts;
    const isOver = await waitAwake(trialMs, clock, over).then(
      () => false,
      () => true,
    );
    const record = this.#record;
    if (isOver || record === null) return;
    const why = this.#verdict(record);
    try {
      if (why === null) await this.#pass();
      else if (await this.#goBack(why)) await readAgain();
    } catch (error) {
      log().error({ err: error, why }, "the settings that were saved could not be taken back");
      if (this.#record === record) this.#record = null;
      await this.#dropWithoutKept(error);
    }
  }

  #verdict({ platform, wasPageOpen, keys }: TrialRecord): Text | null {
    const { failures, error, bridge, ...seen } = this.#parts.seen();
    return notComeUp({
      ...seen,
      error: failures > this.#failuresBefore ? error : null,
      platform: bridge?.status.facts().platform ?? null,
      platformBefore: platform,
      wasPageOpen,
      keys,
    });
  }

  async #pass(): Promise<void> {
    this.#record = null;
    this.#returned = null;
    await removeTrial(this.#parts.file.file, this.#parts.files);
    await this.#endReturned();
  }

  /** The reason stands on the disk first, so that a start after a cut goes on with it. Whether the former file is there again. */
  async #goBack(reason: Text): Promise<boolean> {
    const { file, clock } = this.#parts;
    const log = this.#parts.log();
    const record = this.#record;
    if (record === null) return false;
    this.#watching.abort();
    await this.#keep({ ...record, reason });
    const isBack = await file.putBack(record.kept, record.etags);
    if (isBack) {
      const { difference } = record;
      const [etag] = record.etags;
      this.#returned = { at: new Date(clock.now()).toISOString(), reason, difference, etag };
      void this.#awaitEnd();
      await writeReturned(record.dataDir, this.#returned).catch((error: unknown) =>
        log.error({ err: error }, "that settings were taken back could not be kept for the next start"),
      );
      log.error(
        { why: reason, keys: record.keys },
        "settings that were saved are taken back, as the bridge did not come up by them",
      );
    } else
      log.error(
        { why: reason },
        "the bridge does not come up by settings that were saved, and the file was changed since: it stays",
      );
    // One that was saved meanwhile has a trial of its own.
    if (this.#record !== record) return isBack;
    this.#record = null;
    await removeTrial(file.file, this.#parts.files);
    return isBack;
  }

  /** What an alarm says of settings that were taken back; what differed, the admin's page alone shows. */
  returnedAlarm(): { readonly message: string; readonly why: Text } | null {
    if (this.#returned === null) return null;
    const { at, reason: why, by_hand: isByHand } = this.#returned;
    const said =
      isByHand === true
        ? `The settings in the file as it stands since ${at} are not in force`
        : `Settings that were saved were taken back at ${at}`;
    const message = `${said}: ${String(why)}.`.slice(0, 2_000);
    return { message, why };
  }
}

/** What was there before the first of two changes. */
const firstOf = (before: Kept, after: Kept): Kept => ({
  file: before.file ?? after.file,
  secrets: before.secrets ?? after.secrets,
});
