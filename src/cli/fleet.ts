import { msg } from "../language/text.js";
import { type BridgeOptions, runBridge } from "../bridge.js";
import { commandSentences } from "../commands/log-lines.js";
import {
  type FleetFiles,
  type FleetSettings,
  type LoadedAccount,
  loadFleet,
  ownAccounts,
  refusedAccounts,
} from "../config/fleet.js";
import { features } from "../config/features.js";
import { secretValues } from "../config/load.js";
import { type AccountRun, Fleet } from "../fleet/fleet.js";
import {
  accountLine,
  accountReport,
  type FleetReport,
  keepStatus,
  readStatus,
} from "../fleet/status-file.js";
import { SharedHosts } from "../platform/shared.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { type Gaps, watchGaps } from "../runtime/gaps.js";
import { adjustableLogs, createLogger, type Logger, RecentLog } from "../runtime/log.js";
import { ignoredTlsEnvironment } from "../runtime/sockets.js";
import { guardProcess, writeLastError } from "../status/crash-loop.js";
import type { LoopDelay } from "../status/health.js";
import { measuredLoopDelay, tellManager } from "../status/status.js";
import type { Membership } from "./clustered.js";
import { endInTime, keepHeapSmall, managerFor, pageOf, whereaboutsOf } from "./run.js";
import { AccountSettings } from "./account-settings.js";
import { Restoring } from "./restoring.js";
import { restartingOf } from "./restarting.js";
import { overridden, sayProblems } from "../terminal/common.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import { type CommonOptions, programVersion, type ProcessContext, screenOf } from "../terminal/context.js";

export interface FleetOptions extends CommonOptions {
  readonly json?: boolean;
}

/**
 * `greenhouse2mqtt fleet`: runs many accounts until a signal; `fleet status`: the state of those in a running fleet.
 */
export async function fleet(
  context: ProcessContext,
  what: string | undefined,
  options: FleetOptions,
): Promise<void> {
  const read = (inForce?: FleetSettings) => readFiles(options.config, { ...options, inForce }, context);
  const files = await read();
  const { fleet: settings } = files;
  if (settings === null) throw usageFailure("");
  if (what === "status") return tellStatus(files, settings, context, options);
  if (ownAccounts(files).size === 0)
    throw usageFailure(msg`there is no account to run; what is wrong stands above`);
  keepHeapSmall(60);
  await runFleet(files, settings, () => read(settings), context);
}

/** Says at once what is wrong; the accounts without mistakes run all the same. */
async function readFiles(
  file: string,
  { dataDir, logLevel, inForce }: FleetOptions & { readonly inForce?: FleetSettings | undefined },
  { env, err, speech }: ProcessContext,
): Promise<FleetFiles> {
  const files = await loadFleet(file, { env, dataDir, inForce });
  sayProblems(files, { out: (text) => err.write(text), tell: speech.tell });
  if (files.fleet === null || logLevel === undefined) return files;
  return { ...files, ...withLevel(logLevel, files.fleet, files.accounts) };
}

/** The level of the command line overrides those of all files. */
const withLevel = (
  level: FleetSettings["log"]["level"],
  fleet: FleetSettings,
  accounts: FleetFiles["accounts"],
) => ({
  fleet: { ...fleet, log: { ...fleet.log, level } },
  accounts: new Map(
    [...accounts].map(([name, one]) => [
      name,
      { ...one, configuration: overridden(one.configuration, { logLevel: level }) },
    ]),
  ),
});

async function tellStatus(
  files: FleetFiles,
  settings: FleetSettings,
  { out, isTerminal, speech }: ProcessContext,
  { json = !isTerminal }: FleetOptions,
): Promise<void> {
  const report = await readStatus(settings.data_dir, systemClock.now());
  if (report === null)
    throw new CommandFailure(
      msg`no fleet runs with ${settings.file}: nothing was written to ${settings.data_dir} within half a minute`,
    );
  if (json) {
    out(`${JSON.stringify(report, null, 2)}\n`);
    return;
  }
  const names = Object.keys(report.accounts);
  // The report is for programs and in English, so mistakes come from the files.
  const mistakes = refusedAccounts(files);
  const width = Math.max(...names.map((name) => name.length));
  for (const [name, account] of Object.entries(report.accounts))
    out(`${name.padEnd(width)}  ${speech.tell(accountLine(account, mistakes.get(name)))}\n`);
}

async function runFleet(
  files: FleetFiles,
  settings: FleetSettings,
  read: () => Promise<FleetFiles>,
  context: ProcessContext,
): Promise<void> {
  const version = programVersion();
  const log = fleetLog(settings, context);
  const page = new PageSettings(settings, log);
  const shared = await sharedOf(settings, context, log);
  const ended = new AbortController();
  const gaps = watchGaps(systemClock, ended.signal);
  const common = { ...shared, gaps, context, version, shownElsewhere: page.overviews() };
  const running: Fleet = new Fleet({
    read: async () => page.take(await read()),
    start: (run) => startAccount(run, { ...common, files: own }),
    ...{ onRead: (...read) => own.edited(...read), onTaken: (account) => own.tookUp(account) },
    ...{ onRemoved: (account) => own.forget(account), onMistaken: (...of) => own.mistaken(...of) },
    ...{ noteError, clock: systemClock, random: systemRandom, log },
  });
  const own = settingsOf(settings, context, running, log);
  const unguard = guardFleet(running, settings, log);
  context.onReload?.(() => void running.reload().catch(unreadTo(log)));
  void untilAborted(context.stop).then(() => endInTime(ended.signal, log, context.stop));
  log.info(startOf(files, settings, version), "starting a fleet");
  const beside = Promise.all([
    besideFleet(settings, () => reportOf(running, version), context, log),
    servePage({ ...shared, page, running, settings, version }, context, log),
  ]);
  try {
    const now = (await own.resume()) ? await read() : files;
    await running.run(now, context.stop, await own.formers());
    await beside;
  } finally {
    await shared.membership?.leave();
    unguard();
    ended.abort();
  }
  log.info("stopped");
}

const startOf = (files: FleetFiles, { file, shard }: FleetSettings, version: string) => ({
  version,
  config: file,
  accounts: ownAccounts(files).size,
  shard,
});

const settingsOf = (
  settings: FleetSettings,
  context: ProcessContext,
  running: Fleet,
  log: ReturnType<typeof fleetLog>,
): AccountSettings =>
  new AccountSettings({
    settings,
    env: context.env,
    restarting: restartingOf(context, () => log),
    running,
    clock: systemClock,
    logOf: (account) => log.child({ account }),
  });

const unreadTo = (log: Logger) => (error: unknown) =>
  log.error({ err: error }, "the files of the fleet could not be read");

/** What all accounts share. */
const sharedOf = async (settings: FleetSettings, context: ProcessContext, log: Logger) => ({
  loopDelay: sharedLoopDelay(),
  sharedHosts: new SharedHosts(settings.platform.requests_per_minute, systemClock),
  membership: await membershipOf(settings, context, log),
});

/** Null outside of a cluster, or if the fleet is stopped before a server answers. */
async function membershipOf(
  { cluster, http, data_dir: dataDir }: FleetSettings,
  { stop }: ProcessContext,
  log: Logger,
): Promise<Membership | null> {
  if (cluster === undefined) return null;
  const { StandbyProbes } = await import("./clustered.js");
  const { joinCluster } = await features.cluster.membership();
  const probes = new StandbyProbes(http, {
    clock: systemClock,
    log,
    isReady: () => false,
    facts: () => ({}),
    metrics: () => null,
  });
  probes.open();
  try {
    return await joinCluster({ settings: cluster, dataDir, log }, stop);
  } finally {
    await probes.close();
  }
}

/** The fleet's settings of the page, as far as they can change while it is served. */
class PageSettings {
  readonly #log: Logger;
  http: FleetSettings["http"];

  constructor({ http }: FleetSettings, log: Logger) {
    this.http = http;
    this.#log = log;
  }

  /** Null where no page shows the accounts. */
  overviews(): BridgeOptions["shownElsewhere"] {
    const { http } = this;
    return http === false ? null : { kinds: () => (this.http || http).overview };
  }

  /** Who may log in and what he sees counts from now on; the logins of all others stay. */
  take(files: FleetFiles): FleetFiles {
    const next = files.fleet?.http;
    if (next === undefined || (this.http === false && next === false)) return files;
    if (this.http === false || next === false) {
      this.#log.warn("whether there is a page of the fleet (http) changes with its next start");
      return files;
    }
    const { host, port, mdns } = this.http;
    if (host !== next.host || port !== next.port || mdns !== next.mdns)
      this.#log.warn("http.host, http.port and http.mdns of the fleet change with its next start");
    this.http = { ...next, host, port, mdns };
    return files;
  }
}

interface Served {
  readonly page: PageSettings;
  readonly membership: Membership | null;
  readonly running: Fleet;
  readonly settings: FleetSettings;
  readonly version: string;
  readonly loopDelay: LoopDelay;
}

/** Serves the page of all accounts; its code is loaded only if there is one. */
async function servePage(
  { page, running, settings, version, loopDelay, membership }: Served,
  context: ProcessContext,
  log: Logger,
): Promise<void> {
  const { http } = page;
  if (http === false) return;
  const startedAt = systemClock.monotonic();
  const { runFleetPage } = await import("../fleet/page.js");
  const restoring = new Restoring(settings, () => running.reload().catch(unreadTo(log)), systemClock);
  await restoring.clear();
  const parts = {
    http: () => page.http || http,
    dataDir: settings.data_dir,
    fleet: running,
    version,
    health: () => ({
      uptime_s: Math.round((systemClock.monotonic() - startedAt) / 1_000),
      rss_mb: Math.round(process.memoryUsage.rss() / 1024 / 102.4) / 10,
      event_loop_lag_ms: Math.round(loopDelay.percentile(99) / 100_000) / 10,
    }),
    canTakeOver: () => membership?.isReady() ?? false,
    clusterMetrics: (account: string) => membership?.metrics(account) ?? null,
    restore: restoring.take,
    onListening: whereaboutsOf(context, log, () => log),
    clock: systemClock,
    log,
  };
  await runFleetPage(parts, context.stop);
}

/** Reports on the fleet in a status file and to the service manager. */
async function besideFleet(
  { data_dir: dataDir }: FleetSettings,
  report: () => FleetReport,
  context: ProcessContext,
  log: Logger,
): Promise<void> {
  await Promise.all([
    keepStatus(dataDir, report, { clock: systemClock, log }, context.stop),
    tellFleetManager(context, report, log),
  ]);
}

const reportOf = (running: Fleet, version: string): FleetReport => ({
  at: new Date(systemClock.now()).toISOString(),
  pid: process.pid,
  version,
  accounts: Object.fromEntries([...running.states()].map(([name, state]) => [name, accountReport(state)])),
});

const fleetLog = (settings: FleetSettings, context: ProcessContext) => {
  // Secrets in the accounts' files are kept out of the log by the accounts' own loggers.
  const log = createLogger(
    { ...settings.log, secrets: () => settings.secrets, sentences: commandSentences },
    screenOf(context),
  );
  const ignored = ignoredTlsEnvironment(context.env);
  if (ignored !== null) log.warn(ignored);
  return log;
};

const noteError = ({ configuration }: LoadedAccount, error: unknown): void =>
  writeLastError(
    {
      dataDir: configuration.data_dir,
      now: () => systemClock.now(),
      secrets: () => secretValues(configuration),
    },
    error,
  );

/**
 * An uncaught error of an account ends that account alone; one of no account ends the process, as no part can be
 * trusted then.
 */
const guardFleet = (running: Fleet, settings: FleetSettings, log: Logger): (() => void) =>
  guardProcess({
    process,
    dataDir: settings.data_dir,
    now: () => systemClock.now(),
    secrets: () => [],
    isContained: running.isContained,
    fatal: (facts, message) => log.fatal(facts, message),
  });

/** One measurement for all accounts, which also share its resets, one a minute. */
function sharedLoopDelay(): LoopDelay {
  const delay = measuredLoopDelay();
  delay.enable();
  return {
    enable: () => true,
    disable: () => true,
    reset: () => delay.reset(),
    percentile: (share) => delay.percentile(share),
  };
}

function tellFleetManager(context: ProcessContext, report: () => FleetReport, log: Logger): Promise<void> {
  const manager = managerFor(context, log);
  if (manager === null) return Promise.resolve();
  const startedAt = systemClock.monotonic();
  // A part without progress concerns only its account; a blocked event loop concerns all.
  const look = () => {
    const now = systemClock.monotonic();
    const states = Object.values(report().accounts).map(({ state }) => state);
    const running = states.filter((state) => state === "running").length;
    const line = `${running} of ${states.length} accounts run`;
    return { startedAt, outputsAt: now, readEndedAt: now, readPauseMs: Infinity, line };
  };
  return tellManager(manager, look, { clock: systemClock, log }, context.stop);
}

/** Log lines kept for each account; enough for a person who looks at one of many. */
const linesOfAccount = 200;

interface Starting {
  readonly context: ProcessContext;
  readonly version: string;
  readonly loopDelay: LoopDelay;
  readonly gaps: Gaps;
  readonly sharedHosts: SharedHosts;
  readonly shownElsewhere: BridgeOptions["shownElsewhere"];
  /** Null outside of a cluster. */
  readonly membership: Membership | null;
  readonly files: AccountSettings;
}

/** Runs the bridge of one account, with a log of its own that names it. */
async function startAccount(
  { loaded, live, stop, failing, onMade, onStandby }: AccountRun,
  { context, version, loopDelay, gaps, sharedHosts, shownElsewhere, membership, files }: Starting,
): Promise<void> {
  const { account, configuration } = loaded;
  let learnedSecrets = (): readonly string[] => [];
  const secrets = () => [...live.secrets, ...learnedSecrets()];
  const recentLog = new RecentLog(linesOfAccount, commandSentences);
  const logging = { ...configuration.log, secrets, sentences: commandSentences };
  const own = createLogger(logging, screenOf(context), recentLog).child({ account });
  const logs = adjustableLogs(own, () => live.current.log.level);
  own.info({ config: loaded.file }, "starting an account");
  await files.recall(account);
  const runs = await runsOf(membership, account, onStandby);
  await runs(
    {
      configuration,
      clock: systemClock,
      random: systemRandom,
      ...logs,
      recentLog,
      version,
      live,
      manager: null,
      onSecrets: (list) => (learnedSecrets = list),
      page: { ...pageOf(() => live.configured, loaded, context, own), settings: files.source(account) },
      settingsReturned: () => files.returnedAlarm(account),
      failing,
      loopDelay,
      gaps,
      sharedHosts,
      shownElsewhere,
      onMade,
    },
    stop,
  );
  own.info("the account has stopped");
}

/** In a cluster the account runs whenever this member owns it. */
async function runsOf(
  membership: Membership | null,
  account: string,
  onStandby: (owner: string | null) => void,
): Promise<typeof runBridge> {
  if (membership === null) return runBridge;
  return (await import("./clustered.js")).ownBridge({ membership, account, onStandby });
}
