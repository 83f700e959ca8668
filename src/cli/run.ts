import { openSync, writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { type BridgeOptions, runBridge } from "../bridge.js";
import { guardProcess } from "../status/crash-loop.js";
import type { StepRecording } from "../commands/recording.js";
import type { Configuration } from "../config/schema.js";
import { zoneProblem } from "../settings/values.js";
import type { Language } from "../greenhouse/labels.js";
import type { Port } from "../http/port.js";
import type { SettingsSource } from "../http/settings-source.js";
import { commandSentences } from "../commands/endings.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { endProcess } from "../runtime/ending.js";
import { adjustableLogs, isText, type Logger, RecentLog, silentLog } from "../runtime/log.js";
import { oneAtATime } from "../runtime/schedule.js";
import { type ServiceManager, serviceManager } from "../runtime/systemd.js";
import { loadedFile, loggerFor, readConfiguration } from "./common.js";
import { type Run, Runs } from "./runs.js";
import { settingsSource } from "./settings-source.js";
import { tellIn } from "./speech.js";
import {
  CommandFailure,
  type CommonOptions,
  exitCodes,
  programVersion,
  type ProcessContext,
} from "./context.js";

/** `greenhouse2mqtt run`: until a signal. */
export async function run(context: ProcessContext, options: CommonOptions): Promise<void> {
  keepHeapSmall();
  const configuration = await readConfiguration(options, context);
  const noZones = zoneProblem();
  if (noZones !== null) throw new CommandFailure(noZones, exitCodes.usage);
  const runs = new Runs(configuration, systemClock);
  const learned: Learned = { secrets: () => [] };
  const secrets = () => [...runs.live.secrets, ...learned.secrets()];
  const recentLog = new RecentLog(undefined, commandSentences);
  const log = loggerFor(configuration, context, secrets, recentLog);
  // Two at once could leave the older file in force.
  const reloadOnce = oneAtATime(() => reload(options, context, runs, log));
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
  void untilAborted(context.stop).then(() => endInTime(ended.signal, log));
  log.info({ version: programVersion(), config: options.config }, "starting");
  try {
    const recording = await recordingTo(context, log);
    const start = oneRun({ options, context, runs, learned, log, recentLog, recording, reloadOnce });
    await runs.run({ start, readAgain: reloadOnce, log }, context.stop);
  } finally {
    unguard();
    ended.abort();
  }
  log.info("stopped");
}

/** Tokens that the run under way has learned. */
interface Learned {
  secrets: () => readonly string[];
}

interface Running {
  readonly options: CommonOptions;
  readonly context: ProcessContext;
  readonly runs: Runs;
  readonly learned: Learned;
  readonly log: ReturnType<typeof loggerFor>;
  readonly recentLog: RecentLog;
  readonly recording: StepRecording | undefined;
  readonly reloadOnce: () => Promise<string | null>;
}

/** One run of the bridge, by the configuration that it is given. */
function oneRun(running: Running): (given: Run) => Promise<void> {
  const { options, context, runs, learned, log, recentLog, recording, reloadOnce } = running;
  const isReadable = isText(runs.configuration.log, context.err);
  const logs = adjustableLogs(log, () => runs.live.current.log.level, isReadable);
  const manager = managerFor(context, log);
  const settings = settingsOf(options, context, runs, reloadOnce);
  return ({ configuration, live, stop, isRenewed, onMade, onPage }) => {
    const page = pageOf(configuration, options.config, context, log);
    const onListening: Port["onListening"] = (...of) => {
      onPage();
      page.onListening?.(...of);
    };
    return runHere(
      {
        ...{ configuration, live, onMade, clock: systemClock, random: systemRandom },
        ...{ ...logs, recentLog, recording, version: programVersion() },
        page: { ...page, settings, onListening },
        manager: manager && unlessRenewed(manager, isRenewed),
        settingsReturned: () => runs.returnedSentence(),
        onSecrets: (list) => (learned.secrets = list),
      },
      stop,
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

const settingsOf = (
  options: CommonOptions,
  context: ProcessContext,
  runs: Runs,
  readAgain: () => Promise<string | null>,
): SettingsSource =>
  settingsSource({
    file: options.config,
    env: context.env,
    load: (reads) => loadedFile(options, context.env, reads),
    dataDir: () => runs.configuration.data_dir,
    readAgain,
    onSaved: (change, file) => runs.onSaved(change, file),
    returned: () => runs.returned,
  });

/** Of a member of a cluster: while it owns the account. */
async function runHere(bridge: BridgeOptions, stop: AbortSignal): Promise<void> {
  if (bridge.configuration.cluster === undefined) return runBridge(bridge, stop);
  const { runByItself } = await import("./clustered.js");
  return runByItself(bridge.configuration.cluster, bridge, stop);
}

/** What the page of a bridge does beyond it. */
export const pageOf = (configuration: Configuration, file: string, context: ProcessContext, log: Logger) => ({
  doctor: doctorFor(configuration),
  discover: discoverFor(configuration, file, context),
  onListening: whereaboutsOf(context, log, () => loggerFor(configuration, context)),
});

/**
 * Says in the log where the page is and who may command there, once it can be opened. The page shows `log` to everybody on this
 * computer; the code that makes the first operator is for who sees the terminal or the service's log.
 */
export const whereaboutsOf =
  (context: ProcessContext, log: Logger, unseenLog: () => Logger): Port["onListening"] =>
  (port, listener, code) => {
    void import("../http/entrance.js").then(async ({ entranceLines, firstOperatorLine, qrOf }) => {
      for (const line of entranceLines(listener, port, context.env)) log.info(line);
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
 * `growingPercent`: of many accounts each collection holds up commands for tenths of a second, so that there are to be fewer.
 */
export function keepHeapSmall(growingPercent = 40): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** What `doctor` finds, for the page; its code is loaded only when the page asks. */
export const doctorFor = (configuration: Configuration) =>
  async function* (signal: AbortSignal, language: Language): AsyncGenerator {
    const { diagnose, openContext } = await import("../setup/doctor/doctor.js");
    const tell = await tellIn(language);
    const scene = openContext(configuration, { clock: systemClock, random: systemRandom, log: silentLog });
    for await (const { check, status, summary, remedy } of diagnose(scene, signal))
      yield { check, status, summary: tell(summary), remedy: remedy && tell(remedy) };
  };

/** What `discover --merge` finds, for the page. */
const discoverFor = (configuration: Configuration, file: string, context: ProcessContext) =>
  async function* (signal: AbortSignal, language: Language): AsyncGenerator {
    const { discoverSteps } = await import("./discover.js");
    const tell = await tellIn(language);
    for await (const step of discoverSteps(configuration, file, context, signal)) {
      if ("notes" in step) yield { ...step, notes: step.notes.map(tell) };
      else yield "problem" in step ? { problem: tell(step.problem) } : step;
    }
  };

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
    throw new CommandFailure(`GREENHOUSE2MQTT_RECORD names no new file: ${why}`, exitCodes.usage);
  }
}

const longestEndMs = 9_000;

/** A service manager is promised an end within ten seconds, whatever still holds it up: by then outcomes are on disk. */
export async function endInTime(ended: AbortSignal, log: Logger): Promise<void> {
  const isOver = await systemClock.wait(longestEndMs, ended).then(
    () => false,
    () => true,
  );
  if (isOver || ended.aborted) return;
  log.warn("the end was held up, so it is cut short; open commands are in the journal for the next start");
  await endProcess(process, 0);
}

/**
 * SIGHUP, and settings that were saved: what can change while running is taken over, the rest takes a new run; a file with mistakes
 * changes nothing, and what is wrong with it is answered.
 */
async function reload(
  options: CommonOptions,
  context: ProcessContext,
  runs: Runs,
  log: Logger,
): Promise<string | null> {
  try {
    const { applied, needRestart } = runs.take(await readConfiguration(options, context));
    if (applied.length + needRestart.length === 0) log.info("configuration read again: nothing has changed");
    if (applied.length > 0)
      log.info({ keys: applied }, `configuration read again; in force now: ${applied.join(", ")}`);
    if (needRestart.length > 0)
      log.info(
        { keys: needRestart },
        `configuration read again; a new run begins, for: ${needRestart.join(", ")}`,
      );
    return null;
  } catch (error) {
    if (error instanceof CommandFailure) context.err.write(`${error.message}\n`);
    const reason = error instanceof CommandFailure ? undefined : String(error);
    log.error(
      { reason },
      "the configuration was not read again because of mistakes in it; the old settings stay",
    );
    return error instanceof Error ? error.message : String(error);
  }
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
