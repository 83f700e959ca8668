import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { backupName } from "../backup/backup-name.js";
import { exitOf } from "../runtime/ending.js";
import { ignored } from "../runtime/failures.js";
import type { ConfigurationResult, ReadFile } from "../config/load.js";
import type { Saver, SettingsSource } from "../page/settings-source.js";
import type { ProgramFacts, ReturnedSettings, SettingsDocument } from "../page/protocol.js";
import { type Clock, within } from "../runtime/clock.js";
import { SettingsFile } from "../saving/settings-file.js";
import { formatProblem } from "../settings/problem.js";
import { schemaTree } from "../saving/schema-tree.js";
import { programVersion } from "../terminal/context.js";
import type { Restarting } from "./restarting.js";
import { tellIn } from "../language/languages.js";
import { SettingsTrial, type TrialParts } from "./trial.js";

/* The settings for the page: the configuration's file, and the trial of what is saved. */

export interface SettingsSourceParts extends Omit<TrialParts, "file"> {
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly load: (reads?: ReadFile, isAlone?: boolean) => Promise<ConfigurationResult>;
  /** Arguments that name this bridge to `backup`, and those for the whole fleet of an account. */
  readonly backupOf?: (file: string) => readonly string[];
  readonly backupOfFleet?: readonly string[];
  /** Shared by all sources of this process, as each backup may take 64 MiB. */
  readonly backups?: Backups;
  readonly shared?: (text: string) => string;
  /** Ends the program, so that it is started again. */
  readonly restarting?: Restarting | undefined;
  readonly newer?: { readonly found: string | null };
}

/** A refusal comes at once; otherwise the answer may take a minute, or never come. */
const refusalMs = 4_000;

/** One is made at a time. */
export interface Backups {
  isMaking: boolean;
}

/** Time for the answer to leave before the run that gives it ends. */
const answerMs = 250;

/** The settings of one file, with the trial of what is saved there. */
export function settingsOn(parts: SettingsSourceParts): {
  readonly source: SettingsSource;
  readonly trial: SettingsTrial;
} {
  const { file, env, load, dataDir, readAgain, goBack, settle, seen, clock, log, files } = parts;
  const settings: SettingsFile = new SettingsFile({
    ...{ file, env, load, dataDir, shared: parts.shared },
    now: () => clock.now(),
    onWriting: (change) => trial.prepare(change),
    needed: () => trial.needed,
    knowsSensor: (...of) => seen().bridge?.knowsSensor(...of) ?? false,
    ...(files !== undefined && { files }),
  });
  const trial: SettingsTrial = new SettingsTrial({
    ...{ file: settings, clock, log, dataDir, seen, readAgain, goBack, settle, files },
  });
  return { source: sourceOn(settings, trial, parts), trial };
}

function sourceOn(settings: SettingsFile, trial: SettingsTrial, parts: SettingsSourceParts): SettingsSource {
  const { load, readAgain, restarting, clock, newer, backupOfFleet } = parts;
  const soon = (work: () => unknown) => void clock.wait(answerMs).then(work);
  const canRestart = async () => (await restarting?.canRestart()) === true;
  const facts = async () => ({
    can_restart: await canRestart(),
    newer: newer?.found ?? null,
    of_fleet: backupOfFleet !== undefined,
  });
  return {
    read: async () => readDocument(settings, trial.returned, await facts()),
    check: async (wanted, by) => settings.propose(wanted, await saverOf(by)),
    save: async (wanted, etag, by) => settings.save(wanted, etag, await saverOf(by)),
    takeUp: () =>
      soon(() => {
        trial.start();
        return readAgain();
      }),
    attempt: attemptsOf(settings, clock),
    backup: backupsOf(settings, parts),
    restart: async () => {
      if (restarting === undefined || !(await canRestart())) return false;
      if (restarting.endsAtOnce) soon(() => restarting.restart());
      else return Promise.race([restarting.restart(), clock.wait(refusalMs)]).then((why) => why ?? true);
      return true;
    },
    isOnTrial: () => trial.isUnderWay,
    readAgain: async () => {
      const result = await load();
      if (!result.ok) return result.problems.map(formatProblem).join("\n");
      soon(readAgain);
      return null;
    },
  };
}

const saverOf = async ({ language, admin }: Saver) => ({ tell: await tellIn(language), admin });

const attemptsOf = (settings: SettingsFile, clock: Clock): SettingsSource["attempt"] =>
  async function* (wanted, language, signal) {
    const { attemptAt } = await import("./page-setup.js");
    yield* attemptAt(settings, wanted, language, { clock, signal });
  };

function backupsOf(
  settings: SettingsFile,
  {
    load,
    dataDir,
    clock,
    backupOf = ofFile,
    backupOfFleet,
    backups = { isMaking: false },
  }: SettingsSourceParts,
): SettingsSource["backup"] {
  return async ({ password, fleet, language }, signal) => {
    const isThere = (own: string) => fleet || [own, dataDir()].some(existsSync);
    const remarks = await remarksTo({ language, password }, load, isThere);
    if (backups.isMaking) return null;
    backups.isMaking = true;
    const words = (fleet ? backupOfFleet : null) ?? backupOf(settings.file);
    const bytes = async function* () {
      try {
        yield* backupBy(words, { password, language }, clock, signal);
      } finally {
        backups.isMaking = false;
      }
    };
    return { name: backupName(clock.now(), password !== null), bytes: bytes(), remarks };
  };
}

/** Remarks on the backup. For a configuration with mistakes, the backup itself says what is wrong. */
async function remarksTo(
  { language, password }: Pick<Saver, "language"> & { readonly password: string | null },
  load: SettingsSourceParts["load"],
  isThere: (dataDir: string) => boolean,
): Promise<readonly string[]> {
  const loaded = await load();
  if (!loaded.ok) return [];
  const { remarksOn } = await import("../backup/command.js");
  const { formerLeftOut } = await import("../backup/backup.js");
  const { data_dir: own } = loaded.configuration;
  const former = password === null ? [] : await formerLeftOut(own);
  return [...remarksOn(loaded.configuration, isThere(own)), ...former].map(await tellIn(language));
}

/** The longest pause of a process that makes a backup. */
const longestPauseMs = 120_000;

const ofFile = (file: string): readonly string[] => ["--config", file];

/** Makes a backup in a process of its own: a password takes a second and 64 MiB, which must not delay commands. */
async function* backupBy(
  words: readonly string[],
  { password, language }: Pick<Saver, "language"> & { readonly password: string | null },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const given = ["backup", "-", ...words, ...(password === null ? [] : ["--password"])];
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...given], {
    ...{ signal, env: { ...process.env, LC_ALL: language } },
  });
  const ended = exitOf(child);
  ended.catch(ignored);
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said = `${said}${text.toString("utf8")}`.slice(-2_000)));
  child.stdin.on("error", ignored);
  child.stdin.end(`${password ?? ""}\n`);
  let isWhole = false;
  try {
    yield* piecesOf(child.stdout, clock, signal);
    isWhole = true;
  } finally {
    // A process that a disk holds up does not end by itself, and the next backup waits for it.
    if (!isWhole) {
      child.kill("SIGKILL");
      child.stdout.destroy();
    }
  }
  const code = await within(clock, longestPauseMs, () => ended, signal);
  if (code !== 0) throw new Error(said.trim() || `the backup ended with ${String(code)}`);
}

/** The pieces of a stream, which is given up if it pauses for too long. */
async function* piecesOf(stream: Readable, clock: Clock, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const pieces = stream.iterator() as AsyncIterator<Uint8Array, undefined>;
  for (;;) {
    const { done, value } = await within(clock, longestPauseMs, () => pieces.next(), signal);
    if (done === true) return;
    yield value;
  }
}

async function readDocument(
  settings: SettingsFile,
  returned: ReturnedSettings | null,
  facts: Pick<ProgramFacts, "can_restart" | "newer" | "of_fleet">,
): Promise<SettingsDocument> {
  const { notWritable, given, ...rest } = await settings.settings();
  const shown = Object.entries(given).map(
    ([key, { value, from, name, line, isSecret }]) =>
      [
        key,
        {
          ...{ from, line },
          ...(value !== undefined && { value }),
          ...(name !== undefined && { name }),
          ...(isSecret && { isSecret }),
        },
      ] as const,
  );
  return {
    ...rest,
    given: Object.fromEntries(shown),
    not_writable: notWritable,
    keys: schemaTree(),
    returned,
    program: { version: programVersion(), node: process.versions.node, ...facts },
  };
}
