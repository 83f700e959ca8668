import { msg, type Text } from "../language/text.js";
import type { BridgeView } from "../bridge.js";
import type { Configuration } from "../config/schema.js";
import { bridgeItself } from "../greenhouse/limits.js";
import type { PlatformState } from "../greenhouse/model.js";
import { identityOf, isOtherRunning } from "../journal/lock.js";
import type { ReturnedSettings } from "../page/protocol.js";
import type { Clock } from "../runtime/clock.js";
import { nullIfFailed } from "../runtime/failures.js";
import { errorCode, type FileSystem } from "../runtime/file-system.js";
import { waitAwake } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { FormerRun, Judged } from "../config/fallback.js";
import {
  etagOf,
  type Kept,
  type SavedChange,
  type SettingsFile,
  type Texts,
} from "../saving/settings-file.js";
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

/*
 * Tries settings that were saved, and files that were edited by hand: whether a bridge, or an account of a fleet, comes
 * up with them.
 *
 * Saved settings that fail are taken back in the file. A file that a person edited stays as it is: the bridge goes on
 * with what it ran before, and an alarm says so with the difference. It is tried again when a setting in it changes,
 * and at each start, since people restart a program after removing a cause elsewhere. That costs a minute at most. A
 * file with which the program ended twice within that minute is not tried again until it changes.
 */

/** How long a trial takes. */
const trialMs = 60_000;
/** How long a run must last after a failure. */
const calmMs = 20_000;
/** How often the program may be started with settings with which it does not live for a minute. */
const mostStarts = 3;

/** A file that somebody edited, while its outcome is unknown. */
interface Edit {
  readonly takesRun: boolean;
  isLate: boolean;
}

export interface RunState {
  /** Ms since the run under way was complete; null if it is not. */
  readonly runsForMs: number | null;
  /** The first run waits for the turn of this account. */
  readonly isYetToStart: boolean;
  /** Another member of a cluster may run the account meanwhile. */
  readonly mayStandBy: boolean;
  /** How many runs ended by an error, and the error of the newest of them. */
  readonly failures: number;
  readonly error: string | null;
  readonly http: Configuration["http"];
  readonly isPageOpen: boolean;
  readonly bridge: BridgeView | null;
}

export const notYetRun: RunState = {
  runsForMs: null,
  isYetToStart: false,
  mayStandBy: false,
  failures: 0,
  error: null,
  http: false,
  isPageOpen: false,
  bridge: null,
};

/** How the run is doing at the end of a trial, and how it did before. */
interface TrialEnd extends Pick<RunState, "runsForMs" | "mayStandBy" | "http" | "isPageOpen"> {
  /** The newest run's error since the settings were saved; null if none failed. */
  readonly error: string | null;
  readonly wasPageOpen: boolean;
  readonly platform: PlatformState | null;
  readonly platformBefore: string | null;
  readonly broker: string | null;
  readonly brokerBefore: string | null;
  /** The keys that were changed. */
  readonly keys: readonly string[];
}

const reached: ReadonlySet<string | null> = new Set<PlatformState | null>(["online", "degraded"]);

/**
 * Why the settings are taken back; null if the bridge has come up. A platform or broker that is away is a reason only if
 * its settings were changed and it was reached before, as both come back.
 */
export function notComeUp(seen: TrialEnd): Text | null {
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
  const isOfBroker = seen.keys.some((key) => key.startsWith("mqtt."));
  if (isOfBroker && seen.brokerBefore === "online" && seen.broker !== "online")
    return msg`the bridge is not online at the broker any more`;
  return null;
}

/** Which of the platform and the broker the bridge has reached. */
function reachOf(bridge: BridgeView | null): Pick<TrialEnd, "platform" | "broker"> {
  const { platform = null, broker = null } = bridge?.status.facts() ?? {};
  return { platform, broker };
}

/** How long the alarm about settings taken back must have been acknowledged to end. */
const seenForMs = 3_600_000;

/** The bridge after settings were taken back. Monotonic ms. */
interface AfterReturn {
  readonly now: number;
  /** Etags of the file that was put back and of the file in force, and since when that one is in force. */
  readonly putBack: string | undefined;
  readonly inForce: string | null;
  readonly inForceSince: number;
  readonly runsForMs: number | null;
  /** Since when the alarm has been acknowledged; null if it is not. */
  readonly seenSince: number | null;
}

/** Whether nobody has to act any more: the bridge runs with another file, or somebody keeps the former one. */
function isSettled({ now, putBack, inForce, inForceSince, runsForMs, seenSince }: AfterReturn): boolean {
  if (runsForMs === null || Math.min(runsForMs, now - inForceSince) < trialMs) return false;
  const isOther = putBack !== undefined && inForce !== null && inForce !== putBack;
  return isOther || (seenSince !== null && now - seenSince >= seenForMs);
}

export interface TrialParts {
  readonly file: SettingsFile;
  readonly clock: Clock;
  readonly log: () => Logger;
  /** The data directory of the configuration in force. */
  readonly dataDir: () => string;
  readonly seen: () => RunState;
  /** Reads the file and takes it up; resolves with what was wrong with it, or null. */
  readonly readAgain: () => Promise<string | null>;
  /** Makes the bridge run with the former configuration; returns whether there is one. */
  readonly goBack: () => boolean;
  /** Forgets the former configuration. */
  readonly settle: () => void;
  readonly files?: FileSystem | undefined;
}

/**
 * The trial of one file's settings: saved ones until the bridge has come up with them, and hand-edited ones with which
 * it did not. It is recorded beside the file, so that the next process goes on with it.
 */
export class SettingsTrial {
  readonly #parts: TrialParts;
  #record: TrialRecord | null = null;
  #watching = new AbortController();
  #failuresBefore = 0;
  #returned: KeptReturned | null = null;
  /** A file that cannot be read at present. */
  #mistaken: ReturnedSettings | null = null;
  /** The files in force, and since when, monotonic ms. */
  #inForce: Texts | null = null;
  #inForceSince = 0;
  #isAwaitingEnd = false;
  /** An edited file that is being read; ignored once the file was taken up without that. */
  #edit: Edit | null = null;

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  /** Whether the file's content may not last: users that it names may be gone again in a moment. */
  get isUnderWay(): boolean {
    return this.#record !== null;
  }

  /** Whether saved settings are on trial; runs are started with them again and again until their minute is over. */
  get isOfSaved(): boolean {
    return this.#record !== null && this.#record.by_hand !== true;
  }

  /** Settings that are not in force: those of a file with mistakes, else those taken back last. */
  get returned(): ReturnedSettings | null {
    if (this.#mistaken !== null) return this.#mistaken;
    if (this.#returned === null) return null;
    const { at, reason, difference, by_hand } = this.#returned;
    return { at, reason, difference, by_hand };
  }

  /** Former files that may have to be put back. */
  get needed(): readonly string[] {
    const { file = null, secrets = null } = this.#record?.kept ?? {};
    return [file, secrets].filter((one) => one !== null);
  }

  /** Reads what an earlier process recorded about settings that were taken back. */
  async recall(): Promise<void> {
    this.#returned ??= await readReturned(this.#parts.dataDir());
    // The bridge may run already, if the disk was slow.
    if (this.#returned !== null) this.#showAlarm();
    if (this.#inForce === null) await this.tookUp();
    else void this.#awaitEnd();
  }

  /** The file was read again and has mistakes; the former configuration stays. */
  mistaken(mistakes: Text): void {
    const at = new Date(this.#parts.clock.now()).toISOString();
    const reason = msg`it has mistakes (${mistakes})`;
    // Nobody knows which parts of an unreadable file are secret.
    this.#mistaken = { at, reason, difference: "", by_hand: true };
    this.#showAlarm();
  }

  /** The present file is in force, unless it is on trial. */
  async tookUp(): Promise<void> {
    const { file, clock, settle } = this.#parts;
    if (this.#mistaken !== null) {
      this.#mistaken = null;
      this.#showAlarm();
    }
    this.#passBy();
    if (this.#record === null) {
      settle();
      this.#inForce = await file.read().catch(nullIfFailed);
      this.#inForceSince = clock.monotonic();
    }
    void this.#awaitEnd();
  }

  /**
   * The file was taken up before the disk said what is in it. Then nothing of it is tried, and an earlier trial says
   * nothing of the run that begins.
   */
  #passBy(): void {
    const edit = this.#edit;
    this.#edit = null;
    if (edit === null) return;
    edit.isLate = true;
    if (!edit.takesRun || this.#record?.by_hand !== true) return;
    this.#watching.abort();
    this.#record = null;
  }

  /**
   * The file was read again and is about to be taken up. Unless it was saved here, it was edited by hand and is tried.
   */
  async edited(judged: Judged): Promise<void> {
    const edit: Edit = { takesRun: !judged.isRefused && judged.keys.length > 0, isLate: false };
    this.#edit = edit;
    await this.#parts.file.whileUnsaved(() => this.#edited(judged, edit));
    if (this.#edit === edit) this.#edit = null;
  }

  async #edited({ isRefused, isKnown, keys, waiting }: Judged, edit: Edit): Promise<void> {
    const { file, log } = this.#parts;
    if (this.#record === null && isKnown) return;
    const now = await file.read().catch(nullIfFailed);
    if (now === null || edit.isLate) return;
    const before = this.#record;
    const isSame = etagOf(now) === before?.etags.at(-1);
    if (isRefused)
      log().warn(
        { waiting },
        waiting.length === 0
          ? "the bridge did not come up by this file, so only what counts at once is taken of it"
          : "the bridge did not come up by this file, so only what counts at once is taken of it; what is waiting goes with the rest of it",
      );
    else if (isKnown) return this.isOfSaved ? undefined : this.#drop();
    else if (keys.length > 0) return isSame && this.isOfSaved ? undefined : this.#tryEdited(now, keys, edit);
    if (before?.by_hand === true && !isSame)
      await this.#hold({ ...before, etags: [...before.etags, etagOf(now)] });
  }

  async #tryEdited(now: Texts, keys: readonly string[], edit: Edit): Promise<void> {
    const { file, dataDir, seen, log } = this.#parts;
    const former = this.#inForce;
    const { bridge, isPageOpen, failures } = seen();
    // A second edit may be the first of the secrets.
    const kept = former === null ? none : await this.#keepFormer(former, now);
    const by = await identityOf(process.pid);
    if (edit.isLate) return;
    const first = this.#record ?? {
      kept,
      etags: [etagOf(former ?? now)],
      keys: [],
      ...{ difference: "", starts: 0, dataDir: dataDir() },
      ...reachOf(bridge),
      wasPageOpen: isPageOpen,
    };
    this.#failuresBefore = failures;
    this.#edit = null;
    await this.#hold({
      ...first,
      kept: firstOf(first.kept, kept),
      by,
      etags: [...first.etags, etagOf(now)],
      keys: [...first.keys, ...keys],
      difference: former === null ? first.difference : file.difference(former.text, now.text),
      ...{ starts: 0, reason: null, by_hand: true },
    });
    log().info({ keys }, "the file was edited by hand; it stays in force if the bridge comes up by it");
    this.start();
  }

  /** A disk that takes nothing does not prevent the trial; only the next process cannot go back. */
  async #keepFormer(former: Texts, now: Texts): Promise<Kept> {
    const { file, log } = this.#parts;
    return file.keep(former, now).catch((error: unknown) => {
      log().warn(
        { err: error },
        "the former file could not be kept, so the next start runs by the file as it is",
      );
      return none;
    });
  }

  /** The bridge runs with the former configuration again, and the edited file stays. Never rejects. */
  async #leaveEdited(record: TrialRecord, why: Text): Promise<void> {
    const { clock, log } = this.#parts;
    this.#watching.abort();
    const { difference, keys, dataDir } = record;
    const at = new Date(clock.now()).toISOString();
    const reason = msg`${why}; the file stays as it was edited`;
    this.#returned = { at, reason, difference, by_hand: true, etag: record.etags.at(-1) };
    log().error(
      { why, keys },
      "the file is not in force, as the bridge did not come up by it; it stays as it is",
    );
    void this.#awaitEnd();
    await this.#hold({ ...record, reason });
    await this.#keepReturned(dataDir, this.#returned);
  }

  /** The bridge did not start with an edited file and runs with the former configuration again. Never rejects. */
  async fellBack(error: string): Promise<void> {
    const why = msg`the bridge did not start with them (${error})`;
    if (this.#record !== null) await this.#leaveEdited(this.#record, why);
  }

  /** The former configuration that an earlier process left; null if there is only the file. */
  async former(): Promise<FormerRun | null> {
    const { file, log } = this.#parts;
    const record = this.#record;
    if (record?.by_hand !== true) return null;
    const kept = await file.former(record.kept).catch(nullIfFailed);
    // If the disk was slow, the file itself is in force already.
    this.#inForce ??= kept;
    const loaded = kept && (await file.configurationOf(kept));
    if (loaded?.ok === true)
      return { configuration: loaded.configuration, isRefused: record.reason !== null };
    log().error(
      "what ran before the file was edited cannot be read, so the bridge runs by the file as it is",
    );
    await this.#drop();
    return null;
  }

  async #drop(): Promise<void> {
    this.#watching.abort();
    this.#record = null;
    await removeTrial(this.#parts.file.file, this.#parts.files);
  }

  /** Sets the record: here at once, and for the next process if the disk takes it. */
  async #hold(record: TrialRecord): Promise<void> {
    this.#record = record;
    // Members of a cluster may share the folder, and each tries by itself.
    const isOwn = record.by_hand === true && (this.#parts.seen().mayStandBy || this.needed.length === 0);
    if (!isOwn) await this.#keep(record);
  }

  /** Ends the alarm about settings that were taken back, once nobody has to act any more. */
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
      // The next start uses an edited file even if somebody has acknowledged the alarm.
      const isSeen = alarm?.state === "acknowledged" && returned.by_hand !== true;
      seenSince = isSeen ? (seenSince ?? now) : null;
      const { etag: putBack } = returned;
      const inForce = this.#inForce && etagOf(this.#inForce);
      const inForceSince = this.#inForceSince;
      const isOver = isSettled({ now, putBack, inForce, inForceSince, runsForMs, seenSince });
      if (isOver && this.#record === null && this.#returned === returned) await this.#endReturned();
    }
    this.#isAwaitingEnd = false;
  }

  async #endReturned(): Promise<void> {
    const { dataDir } = this.#parts;
    this.#returned = null;
    await removeReturned(dataDir());
    this.#showAlarm();
  }

  #showAlarm(): void {
    const { message = null, why } = this.returnedAlarm() ?? {};
    const { alarms } = this.#parts.seen().bridge?.commands.limits ?? {};
    alarms?.set("settings_returned", bridgeItself, message, ...(why === undefined ? [] : [{ why }]));
  }

  /**
   * Settings are about to be written; resolves with a function that undoes this. Changes that take no new run need no
   * trial. Settings saved during a trial go back together with its others.
   */
  async prepare(change: SavedChange): Promise<() => Promise<void>> {
    const { dataDir, seen } = this.#parts;
    const before = this.#record;
    const takesNoRun = change.need_run.length === 0;
    if (before === null && takesNoRun) return () => Promise.resolve();
    const { bridge, isPageOpen, failures } = seen();
    const added = {
      etags: [...(before?.etags ?? [change.before]), change.etag],
      kept: before === null ? change.kept : firstOf(before.kept, change.kept),
      keys: [...(before?.keys ?? []), ...change.keys],
      difference: [before?.difference ?? "", change.difference].filter((one) => one !== "").join("\n"),
      starts: 0,
      // A change that counts at once does not make a file that failed worth another try.
      reason: takesNoRun ? (before?.reason ?? null) : null,
    };
    const now = {
      by: await identityOf(process.pid),
      ...reachOf(bridge),
      wasPageOpen: isPageOpen,
      dataDir: dataDir(),
    };
    const record = { ...now, ...before, ...added };
    await this.#note(record);
    this.#failuresBefore = failures;
    return async () => {
      if (before !== null) return this.#note(before);
      await this.#drop();
    };
  }

  async #note(record: TrialRecord): Promise<void> {
    await writeTrial(this.#parts.file.file, record, this.#parts.files);
    this.#record = record;
  }

  /** The written settings are about to be taken up. */
  start(): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    if (this.#record !== null && this.#record.reason === null) void this.#watch(this.#watching.signal);
  }

  /** Ends the trial and forgets settings that were taken back. */
  end(): void {
    this.#watching.abort();
    this.#record = null;
    this.#returned = null;
    this.#mistaken = null;
  }

  /** Goes on with what an earlier process left; resolves with whether the file has changed by that. Never rejects. */
  resume(): Promise<boolean> {
    return this.#orAsItIs(() => this.#resume());
  }

  /** Neither a full disk nor a missing former file may keep the bridge from starting with the file as it is. */
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

  /** A former file that is missing can never be put back. */
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
    if (record.by_hand === true) {
      if (stands === "saved") await this.#resumeEdited(record);
      else await removeTrial(file.file, this.#parts.files);
      return false;
    }
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

  async #resumeEdited(left: TrialRecord): Promise<void> {
    const starts = left.reason === null ? left.starts + 1 : 1;
    const record = { ...left, starts, reason: null, by: await identityOf(process.pid) };
    this.#record = record;
    if (starts < mostStarts) {
      const { keys } = record;
      this.#parts
        .log()
        .warn({ keys }, "the bridge did not come up by the file as it was edited; it is tried once more");
      this.start();
    } else
      await this.#leaveEdited(
        record,
        msg`the program ended ${mostStarts - 1} times within a minute with them`,
      );
    // Kept without a reason: the count of starts alone prevents another try until the file changes.
    await this.#keep(record);
  }

  /** For the next start, if the disk takes it. */
  async #keep(record: TrialRecord): Promise<void> {
    const { file, log, files } = this.#parts;
    await writeTrial(file.file, record, files).catch((error: unknown) =>
      log().error({ err: error }, "how far new settings have come could not be kept for the next start"),
    );
  }

  /**
   * Called before a run if the file cannot be used; resolves with whether the former one was put back. Never rejects.
   */
  async refuse(why: Text): Promise<boolean> {
    const reason = msg`the configuration could not be read (${why})`;
    return this.isOfSaved && this.#orAsItIs(() => this.#goBack(reason));
  }

  /** Waits for the minute of a trial, which for some of many accounts begins late. Rejects if the signal aborts. */
  async #minuteOf(over: AbortSignal): Promise<void> {
    const { clock, seen } = this.#parts;
    do await waitAwake(trialMs, clock, over);
    while (seen().isYetToStart);
  }

  async #watch(over: AbortSignal): Promise<void> {
    const { log, readAgain } = this.#parts;
    const isOver = await this.#minuteOf(over).then(
      () => false,
      () => true,
    );
    const record = this.#record;
    if (isOver || record === null) return;
    const why = this.#verdict(record);
    try {
      if (why === null) await this.#pass();
      else if (record.by_hand === true) await this.#goBackFromEdited(record, why);
      else if (await this.#goBack(why)) await readAgain();
    } catch (error) {
      log().error({ err: error, why }, "the settings that were saved could not be taken back");
      if (this.#record === record) this.#record = null;
      await this.#dropWithoutKept(error);
    }
  }

  #verdict({ platform, broker = null, wasPageOpen, keys }: TrialRecord): Text | null {
    const { failures, error, bridge, ...seen } = this.#parts.seen();
    return notComeUp({
      ...seen,
      error: failures > this.#failuresBefore ? error : null,
      ...reachOf(bridge),
      platformBefore: platform,
      brokerBefore: broker,
      wasPageOpen,
      keys,
    });
  }

  async #pass(): Promise<void> {
    await this.#drop();
    await this.tookUp();
    await this.#endReturned();
  }

  async #goBackFromEdited(record: TrialRecord, why: Text): Promise<void> {
    const { goBack, log } = this.#parts;
    if (goBack()) return this.#leaveEdited(record, why);
    log().error(
      { why },
      "the bridge does not come up by the file, and there is no other configuration that it ran by",
    );
    await this.#drop();
  }

  /**
   * Takes settings back. The reason is written first, so that a start after a power cut goes on with it. Resolves with
   * whether the former file was put back.
   */
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
      await this.#keepReturned(record.dataDir, this.#returned);
      log.error(
        { why: reason, keys: record.keys },
        "settings that were saved are taken back, as the bridge did not come up by them",
      );
    } else {
      log.error(
        { why: reason },
        "the bridge does not come up by settings that were saved, and the file was changed since: it stays",
      );
      const now = await file.read().catch(nullIfFailed);
      const edited = {
        ...record,
        by_hand: true,
        etags: [...record.etags, ...(now === null ? [] : [etagOf(now)])],
      };
      if (this.#record === record && this.#parts.goBack()) {
        await this.#leaveEdited(edited, reason);
        return false;
      }
    }
    // Settings that were saved meanwhile have a trial of their own.
    if (this.#record !== record) return isBack;
    this.#record = null;
    await removeTrial(file.file, this.#parts.files);
    return isBack;
  }

  async #keepReturned(dataDir: string, returned: KeptReturned): Promise<void> {
    await writeReturned(dataDir, returned).catch((error: unknown) =>
      this.#parts
        .log()
        .error({ err: error }, "that settings were taken back could not be kept for the next start"),
    );
  }

  /** The alarm about settings that were taken back; only an admin's page shows the difference. */
  returnedAlarm(): { readonly message: string; readonly why: Text } | null {
    if (this.returned === null) return null;
    const { at, reason: why, by_hand: isByHand } = this.returned;
    const said =
      isByHand === true
        ? `The settings in the file as it stands since ${at} are not in force`
        : `Settings that were saved were taken back at ${at}`;
    const message = `${said}: ${String(why)}.`.slice(0, 2_000);
    return { message, why };
  }
}

const none: Kept = { file: null, secrets: null };

/** What there was before the first of two changes. */
const firstOf = (before: Kept, after: Kept): Kept => ({
  file: before.file ?? after.file,
  secrets: before.secrets ?? after.secrets,
});
