import { msg, textOf } from "../language/text.js";
import { openSync, writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { type BridgeOptions, runBridge } from "../bridge.js";
import { features } from "../config/features.js";
import { guardProcess } from "../status/crash-loop.js";
import type { StepRecording } from "../commands/recording.js";
import type { Configuration } from "../config/schema.js";
import type { Language } from "../greenhouse/labels.js";
import { zoneProblem } from "../settings/values.js";
import type { SettingsSource } from "../page/settings-source.js";
import { commandSentences } from "../commands/log-lines.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { CommandFailure, endProcess, usageFailure } from "../runtime/ending.js";
import { lazy } from "../runtime/lazy.js";
import { adjustableLogs, createLogger, type Logger, RecentLog } from "../runtime/log.js";
import { oneAtATime } from "../runtime/schedule.js";
import { type ServiceManager, serviceManager } from "../runtime/systemd.js";
import { inShort } from "../config/load.js";
import { formatProblem } from "../settings/problem.js";
import {
  loadedFile,
  loadNamed,
  loggerFor,
  overridden,
  readConfiguration,
  sayProblems,
} from "../terminal/common.js";
import { NewerVersion } from "./newer-version.js";
import { type Run, Runs } from "./runs.js";
import { restartingOf } from "./restarting.js";
import { settingsOn } from "./settings-source.js";
import { type SettingsTrial, notYetRun } from "./trial.js";
import {
  type CommonOptions,
  exitCodeAfter,
  programVersion,
  type ProcessContext,
  screenOf,
  unlessStopped,
} from "../terminal/context.js";

/** `greenhouse2mqtt run`: runs the bridge until a signal. */
export async function run(context: ProcessContext, options: CommonOptions): Promise<void> {
  keepHeapSmall();
  const early = createLogger({ level: "info", format: "auto", secrets: () => [] }, screenOf(context));
  const now: Now = { runs: null, log: early };
  const named = { file: await fileOf(options, context), account: options.account };
  const { source: settings, trial } = settingsOf(options, named, context, now, () => reloadOnce());
  const runs: Runs = (now.runs = await startingRuns(options, context, trial));
  const { configuration } = runs;
  await trial.recall();
  const learned: Learned = { secrets: () => [] };
  const secrets = () => [...runs.live.secrets, ...learned.secrets()];
  const recentLog = new RecentLog(undefined, commandSentences);
  const log = loggerFor(configuration, context, secrets, recentLog, () => runs.configuration.log.format);
  now.log = log;
  // Two reloads at once could leave the older file in force.
  const reloadOnce = oneAtATime(() => reload(options, context, { runs, trial, log }));
  const unguard = guardProcess({
    process,
    dataDir: configuration.data_dir,
    now: () => systemClock.now(),
    secrets,
    fatal: (facts, message) => log.fatal(facts, message),
  });
  context.onReload?.(() => void reloadOnce());
  const ended = new AbortController();
  // The signal may have come before any of this was loaded.
  void untilAborted(context.stop).then(() => endInTime(ended.signal, log, context.stop));
  log.info({ version: programVersion(), config: named.file }, "starting");
  try {
    const recording = await recordingTo(context, log);
    const start = oneRun({ named, context, runs, learned, log, recentLog, recording, settings, trial });
    await runs.run({ start, trial, log }, context.stop);
  } finally {
    unguard();
    ended.abort();
  }
  log.info("stopped");
}

type OnListening = NonNullable<BridgeOptions["page"]>["onListening"];

/** Tokens that the present run has learned. */
interface Learned {
  secrets: () => readonly string[];
}

interface Running {
  readonly named: Named;
  readonly context: ProcessContext;
  readonly runs: Runs;
  readonly learned: Learned;
  readonly log: ReturnType<typeof loggerFor>;
  readonly recentLog: RecentLog;
  readonly recording: StepRecording | undefined;
  readonly settings: SettingsSource;
  readonly trial: SettingsTrial;
}

/** The runs and the log, as far as they exist yet. */
interface Now {
  runs: Runs | null;
  log: Logger;
}

/** Begins with the file's configuration; after an edit by hand, keeps the former one to fall back to. */
async function startingRuns(
  options: CommonOptions,
  context: ProcessContext,
  trial: SettingsTrial,
): Promise<Runs> {
  const configuration = await startingConfiguration(options, context, trial);
  const noZones = zoneProblem();
  if (noZones !== null) throw usageFailure(noZones);
  const former = await trial.former();
  const runs = new Runs(configuration, systemClock, former && overridden(former.configuration, options));
  if (former?.isRefused === true) runs.goBack();
  return runs;
}

/**
 * The file's configuration; if it is unusable because of settings that an earlier process saved, the one before them.
 */
async function startingConfiguration(
  options: CommonOptions,
  context: ProcessContext,
  trial: SettingsTrial,
): Promise<Configuration> {
  await trial.resume();
  return readConfiguration(options, context).catch(async (error: unknown) => {
    if (!(error instanceof CommandFailure) || !(await trial.refuse(textOf(error)))) throw error;
    return readConfiguration(options, context);
  });
}

/** One run of the bridge with the given configuration. */
function oneRun(running: Running): (given: Run) => Promise<void> {
  const { named, context, runs, learned, log, recentLog, recording, settings, trial } = running;
  const manager = managerFor(context, log);
  return ({ configuration, live, stop, isRenewed, onMade, onPage }) => {
    const logs = adjustableLogs(log, () => runs.live.current.log.level);
    const page = pageOf(() => live.configured, named, context, log);
    const onListening: OnListening = (...of) => {
      onPage();
      page.onListening?.(...of);
    };
    return runHere(
      {
        ...{ configuration, live, onMade, clock: systemClock, random: systemRandom },
        ...{ ...logs, recentLog, recording, version: programVersion() },
        page: { ...page, settings, onListening },
        manager: manager && unlessRenewed(manager, isRenewed),
        settingsReturned: () => trial.returnedAlarm(),
        onSecrets: (list) => (learned.secrets = list),
      },
      stop,
      named.account,
    );
  };
}

/** A run that makes room for the next one must not look like the end of the service. */
const unlessRenewed = (manager: ServiceManager, isRenewed: () => boolean): ServiceManager => ({
  watchdogMs: manager.watchdogMs,
  tell: (...assignments) => {
    const told = isRenewed() ? assignments.filter((one) => one !== "STOPPING=1") : assignments;
    manager.tell(...told);
  },
});

/** The configuration file; of an account of a fleet, its own one. */
const fileOf = async (options: CommonOptions, context: ProcessContext): Promise<string> =>
  options.account === undefined
    ? options.config
    : (await unlessStopped(loadedFile(options, context.env), context)).file;

const settingsOf = (
  options: CommonOptions,
  { file }: Named,
  context: ProcessContext,
  now: Now,
  readAgain: () => Promise<string | null>,
) =>
  settingsOn({
    file,
    env: context.env,
    load: (reads) => loadedFile(options, context.env, reads),
    dataDir: () => now.runs?.configuration.data_dir ?? "",
    readAgain,
    seen: () => now.runs?.runState() ?? notYetRun,
    goBack: () => now.runs?.goBack() ?? false,
    settle: () => now.runs?.settle(),
    clock: systemClock,
    log: () => now.log,
    restarting: restartingOf(context, () => now.log),
    backupOf: () => [
      ...["--config", options.config],
      ...(options.dataDir === undefined ? [] : ["--data-dir", options.dataDir]),
      ...(options.account === undefined ? [] : ["--account", options.account]),
    ],
    newer: newerFor(() => now.runs?.configuration.updates ?? false),
  });

const newerFor = (isWanted: () => boolean) =>
  new NewerVersion(systemClock, fetch, programVersion(), isWanted);

/** Runs the bridge; as a member of a cluster, while it owns the account. */
async function runHere(bridge: BridgeOptions, stop: AbortSignal, account: string | undefined): Promise<void> {
  if (bridge.configuration.cluster === undefined) return runBridge(bridge, stop);
  const { runByItself } = await import("./clustered.js");
  return runByItself(bridge.configuration.cluster, bridge, stop, account);
}

const pageSetup = lazy(() => import("./page-setup.js"));

/** The findings of `doctor` for the page, with the configuration in force at that time. */
export const doctorFor = (now: () => Configuration, account?: string) =>
  async function* (...of: [AbortSignal, Language]): AsyncGenerator {
    yield* (await pageSetup()).pageFindings(now(), account, ...of);
  };

/** The configuration that runs: its file, and its account in a fleet. */
interface Named {
  readonly file: string;
  readonly account: string | undefined;
}

/** What the page offers beyond its bridge. */
export const pageOf = (
  now: () => Configuration,
  { file, account }: Named,
  context: ProcessContext,
  log: Logger,
) => ({
  doctor: doctorFor(now, account),
  discover: async function* (...of: [AbortSignal, Language]): AsyncGenerator {
    yield* (await pageSetup()).discoverForPage(now(), file, context, of);
  },
  onListening: whereaboutsOf(context, log, () => loggerFor(now(), context)),
});

/**
 * Logs where the page is and who may command there, once it can be opened. The page shows `log` to everybody on this
 * computer, so the code for the first operator goes to the terminal or the service's log alone.
 */
export const whereaboutsOf =
  (context: ProcessContext, log: Logger, unseenLog: () => Logger): OnListening =>
  (port, listener, code) => {
    void features.http.pageAddress().then(async ({ pageAddressLines, firstOperatorLine, qrOf }) => {
      for (const line of pageAddressLines(listener, port, context.env)) log.info(line);
      const picture = context.err.isTTY === true ? await qrOf(listener, port) : null;
      if (picture !== null) context.err.write(`${picture}\n`);
      if (code !== null) unseenLog().warn(firstOperatorLine(listener, port, code));
    });
  };

/**
 * Makes V8 collect old objects when the heap has grown by four tenths of what was alive. By itself V8 waits for several
 * times that where collecting is cheap. Every poll replaces readings, so a bridge of 2,000 controllers that needs 60
 * MiB took 300 MiB, on a computer that may have 1 GiB.
 *
 * The space for new objects does not grow either: loading has made it twice 4 MiB, and the most, twice 16 MiB, is no
 * faster. When little happens V8 makes it smaller and it stays so, which costs a burst a third more processor time.
 * Once V8 runs, only its growth can be set.
 *
 * `growingPercent`: with many accounts each collection delays commands by tenths of a second, so there should be fewer.
 */
export function keepHeapSmall(growingPercent = 40): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** For maintainers: writes every step of the book of commands to a new file, which `npm run replay` plays again. */
async function recordingTo({ env }: ProcessContext, log: Logger): Promise<StepRecording | undefined> {
  const file = env["GREENHOUSE2MQTT_RECORD"];
  if (file === undefined || file === "") return undefined;
  const { StepRecording } = await import("../commands/recording.js");
  try {
    const descriptor = openSync(file, "wx", 0o600);
    log.warn({ file }, "every step of the commands is recorded, with senders and payloads");
    return new StepRecording((bytes) => writeSync(descriptor, bytes));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageFailure(msg`GREENHOUSE2MQTT_RECORD names no new file: ${why}`);
  }
}

const longestEndMs = 9_000;

/**
 * Cuts a slow end short: a service manager is promised an end within ten seconds, and outcomes are on disk before that.
 */
export async function endInTime(ended: AbortSignal, log: Logger, stop: AbortSignal): Promise<void> {
  const isOver = await systemClock.wait(longestEndMs, ended).then(
    () => false,
    () => true,
  );
  if (isOver || ended.aborted) return;
  log.warn("the end was held up, so it is cut short; open commands are in the journal for the next start");
  await endProcess(process, exitCodeAfter(stop));
}

/** Most mistakes that an alarm names. */
const mostTold = 3;

/**
 * For SIGHUP and saved settings: applies what can change while running; the rest takes a new run. A file with mistakes
 * changes nothing; resolves with what is wrong with it.
 */
async function reload(
  options: CommonOptions,
  context: ProcessContext,
  { runs, trial, log }: Pick<Running, "runs" | "trial" | "log">,
): Promise<string | null> {
  const refuse = (reason?: string) =>
    log.error(
      { reason },
      "the configuration was not read again because of mistakes in it; the old settings stay",
    );
  try {
    const result = await loadNamed(options, context);
    const problems = result.ok ? [] : result.problems;
    sayProblems(
      { warnings: result.warnings, problems },
      { out: (text) => context.err.write(text), tell: context.speech.tell },
    );
    if (!result.ok) {
      trial.mistaken(inShort(problems, mostTold) ?? "");
      refuse();
      return problems.map(formatProblem).join("\n");
    }
    await takeUp(overridden(result.configuration, options), { runs, trial, log });
    return null;
  } catch (error) {
    refuse(String(error));
    return error instanceof Error ? error.message : String(error);
  }
}

async function takeUp(next: Configuration, { runs, trial, log }: Pick<Running, "runs" | "trial" | "log">) {
  await trial.edited(runs.judge(next));
  const { applied, needRestart } = runs.take(next);
  void trial.tookUp();
  if (applied.length + needRestart.length === 0) log.info("configuration read again: nothing has changed");
  if (applied.length > 0)
    log.info({ keys: applied }, `configuration read again; in force now: ${applied.join(", ")}`);
  if (needRestart.length > 0)
    log.info(
      { keys: needRestart },
      `configuration read again; a new run begins, for: ${needRestart.join(", ")}`,
    );
}

export const managerFor = ({ env }: ProcessContext, log: Logger) =>
  serviceManager({
    env,
    pid: process.pid,
    onFailure: (reason) =>
      log.error(
        { reason },
        "systemd cannot be told that the bridge works: systemd-notify must be installed, and the unit needs NotifyAccess=all",
      ),
  });
