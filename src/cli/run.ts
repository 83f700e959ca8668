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
import { commandSentences } from "../commands/endings.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { CommandFailure, endProcess, usageFailure } from "../runtime/ending.js";
import { lazy } from "../runtime/lazy.js";
import { adjustableLogs, createLogger, isText, type Logger, RecentLog } from "../runtime/log.js";
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

/** `greenhouse2mqtt run`: until a signal. */
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
  // Two at once could leave the older file in force.
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

/** Tokens that the run under way has learned. */
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

/** What there is of it so far. */
interface Now {
  runs: Runs | null;
  log: Logger;
}

/** Of a file that was edited by hand with what ran before it. */
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

/** By the file as it is, or as it was before settings of an earlier process by which nothing can be started. */
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

/** One run of the bridge, by the configuration that it is given. */
function oneRun(running: Running): (given: Run) => Promise<void> {
  const { named, context, runs, learned, log, recentLog, recording, settings, trial } = running;
  const manager = managerFor(context, log);
  return ({ configuration, live, stop, isRenewed, onMade, onPage }) => {
    const isReadable = isText(configuration.log, context.err);
    const logs = adjustableLogs(log, () => runs.live.current.log.level, isReadable);
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

/** A run that makes room for the next one is no end of the service. */
const unlessRenewed = (manager: ServiceManager, isRenewed: () => boolean): ServiceManager => ({
  watchdogMs: manager.watchdogMs,
  tell: (...assignments) => {
    const told = isRenewed() ? assignments.filter((one) => one !== "STOPPING=1") : assignments;
    manager.tell(...told);
  },
});

/** Of an account of a fleet its own file. */
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

/** Of a member of a cluster: while it owns the account. */
async function runHere(bridge: BridgeOptions, stop: AbortSignal, account: string | undefined): Promise<void> {
  if (bridge.configuration.cluster === undefined) return runBridge(bridge, stop);
  const { runByItself } = await import("./clustered.js");
  return runByItself(bridge.configuration.cluster, bridge, stop, account);
}

const pageSetup = lazy(() => import("./page-setup.js"));

/** What `doctor` finds, for the page, by the configuration as it counts then. */
export const doctorFor = (now: () => Configuration, account?: string) =>
  async function* (...of: [AbortSignal, Language]): AsyncGenerator {
    yield* (await pageSetup()).pageFindings(now(), account, ...of);
  };

/** Which configuration is run: its file, and of a fleet whose it is. */
interface Named {
  readonly file: string;
  readonly account: string | undefined;
}

/** What the page of a bridge does beyond it. */
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
 * Says in the log where the page is and who may command there, once it can be opened. The page shows `log` to everybody on this
 * computer; the code that makes the first operator is for who sees the terminal or the service's log.
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
 * Has garbage among old objects collected when the heap has grown by four tenths of what was alive. By itself V8 waits until it
 * has grown to several times that where collecting is cheap: every poll replaces old readings, so that a bridge of 2,000
 * controllers that needs 60 MiB took 300 MiB, of a computer that may have 1 GiB in all.
 *
 * The place for new objects grows no more either: loading the program has made it twice 4 MiB, and twice 16 MiB, as far as it would
 * go, are no faster. Where little goes on V8 makes it smaller, and then it stays so, which a burst pays with a third more of processor
 * time. What may be set once V8 has begun is only by how much it grows at a time.
 *
 * `growingPercent`: of many accounts each collection holds up commands for tenths of a second, so that there are to be some fewer.
 */
export function keepHeapSmall(growingPercent = 40): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** For a maintainer: every step of the book of commands goes to a new file, which `npm run replay` plays once more. */
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

/** A service manager is promised an end within ten seconds, whatever still holds it up: by then outcomes are on disk. */
export async function endInTime(ended: AbortSignal, log: Logger, stop: AbortSignal): Promise<void> {
  const isOver = await systemClock.wait(longestEndMs, ended).then(
    () => false,
    () => true,
  );
  if (isOver || ended.aborted) return;
  log.warn("the end was held up, so it is cut short; open commands are in the journal for the next start");
  await endProcess(process, exitCodeAfter(stop));
}

/** Mistakes that an alarm names. */
const mostTold = 3;

/**
 * SIGHUP, and settings that were saved: what can change while running is taken over, the rest takes a new run; a file with mistakes
 * changes nothing, and what is wrong with it is answered.
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
