import { anyOf, joinSignals } from "./runtime/signals.js";
import type { Text } from "./language/text.js";
import { lazy } from "./runtime/lazy.js";
import { ignored } from "./runtime/failures.js";
import { setMaxListeners } from "node:events";
import { restoreCommands } from "./commands/restore.js";
import type { CommandService } from "./commands/service.js";
import { features } from "./config/features.js";
import { LiveSettings, mayDo } from "./config/live-settings.js";
import { allFeatures, type Configuration } from "./config/schema.js";
import { type BridgeCore, createCore, type Ground } from "./core.js";
import type { Core, Running } from "./feature/core.js";
import type { Faces } from "./feature/feature.js";
import { type AccountSummary, summaryOf } from "./greenhouse/summary.js";
import { type Alarm, bridgeItself } from "./greenhouse/limits.js";
import { openJournal } from "./journal/open.js";
import type { Part } from "./mqtt/connection.js";
import { RequestServer } from "./mqtt/requests.js";
import type { RetainedTopics } from "./mqtt/retained-topics.js";
import { type PlatformClient, pushCode } from "./platform/client.js";
import { untilAborted, abortReason } from "./runtime/clock.js";
import { FilesOfRun, type KeepElsewhere } from "./runtime/file-system.js";
import { type Gaps, watchGaps } from "./runtime/gaps.js";
import type { RecentLog } from "./runtime/log.js";
import type { ServiceManager } from "./runtime/systemd.js";
import { beginLife, endLife, refuseUnread } from "./status/crash-loop.js";
import type { LoopDelay } from "./status/health.js";
import { requestHandlers, requestRows } from "./status/requests.js";
import { Status } from "./status/status.js";
import { mirrorSettings } from "./sync/settings.js";

/** What the page is given beside the core. */
type Shown = Parameters<typeof features.http.serve>[2];
type RunningPage = Awaited<ReturnType<typeof features.http.serve>>;

/** Why saved settings are not in force. */
interface Returned {
  readonly message: string;
  readonly why: Text;
}

/** What the outside gives a bridge to run with. */
export interface BridgeOptions extends Omit<
  Ground,
  "live" | "gaps" | "signal" | "files" | "inPlace" | "journal" | "broker" | "crashLoop"
> {
  /** The newest lines of the log; without it there are none to show. */
  readonly recentLog?: RecentLog;
  readonly setLogLevel: (level: string) => void;
  /** The level that is on; without it none is shown. */
  readonly logLevel?: () => string;
  /** Where the configuration can be reloaded; without it the one of the start stays in force. */
  readonly live?: LiveSettings;
  /** Told that the bridge is ready, works, and stops. */
  readonly manager?: ServiceManager | null;
  /** Given what lists the tokens learned while running, which must never be shown. */
  readonly onSecrets?: (list: () => readonly string[]) => void;
  /** What the page can do beyond the bridge. */
  readonly page?: Partial<Pick<Shown, "doctor" | "discover" | "demo" | "settings" | "onListening">>;
  /** Where a page of several accounts shows this one too: the kinds of readings on its overview. */
  readonly shownElsewhere?: Shown["elsewhere"];
  /** Called once, when the embedded broker, if there is one, lets clients in. */
  readonly onListening?: () => void;
  /** Where the journal is; in the data directory where absent. */
  readonly openJournal?: typeof openJournal;
  /** Keeps a small file of the data directory where the next machine has it. */
  readonly keepFile?: KeepElsewhere;
  /** Aborts, with the error as its reason, where something outside saw this bridge fail: it ends as by an error of its own. */
  readonly failing?: AbortSignal;
  /** How late the event loop is, where others in the process measure it already. */
  readonly loopDelay?: LoopDelay;
  /** Whether the process stood still, where others in it look already. */
  readonly gaps?: Gaps;
  /** Why settings that were saved are not in force; null where none were taken back. */
  readonly settingsReturned?: (() => Returned | null) | undefined;
  /** What is done in place of all that a bridge does, such as one command. */
  readonly only?: (core: Core) => Promise<void>;
  /** Called once all parts are made. */
  readonly onMade?: (bridge: BridgeView) => void;
}

/** A bridge as whoever runs it sees it. */
export interface BridgeView {
  readonly status: Pick<Status, "facts" | "isHealthy" | "isReady">;
  readonly alarms: () => readonly Pick<Alarm, "state" | "severity">[];
  readonly summary: () => AccountSummary;
  /** Null where no page shows it. */
  readonly page: RunningPage["page"];
  readonly retained: RetainedTopics;
  readonly commands: CommandService;
}

/**
 * The whole bridge: makes every part, joins them, and runs until `stop` aborts or a part fails; with `only` it makes the core alone, and
 * runs until that is done.
 */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  const { clock, log, only, live = new LiveSettings(options.configuration) } = options;
  // It may have been reloaded while nothing ran by it.
  const configuration = live.configured;
  const open = options.openJournal ?? openJournal;
  const opened = await open({ dataDir: configuration.data_dir, clock, log });
  const { journal, inPlace } = opened;
  const failed = new AbortController();
  const { signal, release } = joinSignals(stop, failed.signal);
  const over = new AbortController();
  const { gaps = watchGaps(clock, over.signal) } = options;
  const { level } = configuration.log;
  if (level !== options.configuration.log.level) options.setLogLevel(level);
  // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
  setMaxListeners(0, signal, stop);
  try {
    const files = new FilesOfRun(configuration.data_dir, options.outside?.files, options.keepFile, inPlace);
    journal.onWrittenAgain(() => void files.writeAgain().catch(ignored));
    const given = { ...options, configuration, live, journal, files, inPlace, gaps, signal };
    await (only === undefined ? runAll(given, { ...options, configuration }, failed) : runAlone(given, only));
  } finally {
    release();
    live.endRun();
    over.abort();
    await opened.close();
  }
}

type Given = Omit<Ground, "broker" | "crashLoop">;

async function runAll(given: Given, options: BridgeOptions, failed: AbortController): Promise<void> {
  const { configuration, clock, log, live, journal, gaps } = given;
  const onReload = (listener: () => void) => live.onReload(listener);
  const broker = await features.broker.start(configuration, { clock, gaps, log, journal, onReload });
  options.onListening?.();
  const crashLoop = await beginLife(journal, options, live);
  const bridge = await joinParts({ ...given, broker, crashLoop }, options);
  journal.compareClock(bridge.core.platform.clockSkewMs);
  try {
    if (journal.state().available) log.info(mayDo(live.current.commands));
    await bridge.restore();
    await runParts(bridge, failed, options.ownership?.cut);
    await endLife(journal);
  } finally {
    await broker?.close();
    await bridge.core.platform.close();
  }
}

/** No part runs, so that nothing is polled, published or raised as an alarm, and it counts as no start of the bridge. */
async function runAlone(given: Given, work: (core: Core) => Promise<void>): Promise<void> {
  const core = await createCore({ ...given, broker: null, crashLoop: () => null }, []);
  core.journal.compareClock(core.platform.clockSkewMs);
  try {
    await work(core);
  } finally {
    await core.platform.close();
  }
}

const pushChannels = lazy(() => import("./sync/push-channels.js"));
const metricsCode = lazy(() => import("./status/metrics.js"));

/** Loads the code that a bridge runs by: whoever stands by loads it before it has to take over. */
export async function loadAhead({
  configuration,
  shownElsewhere = null,
}: Pick<BridgeOptions, "configuration" | "shownElsewhere">): Promise<void> {
  await Promise.all([
    ...allFeatures.map(({ load }) => load?.(configuration)),
    shownElsewhere === null ? null : features.http.loadPage(),
    configuration.platform.push.enabled ? Promise.all([pushChannels(), pushCode()]) : null,
    metricsCode(),
  ]);
}

/** Runs the parts until the signal aborts or one of them fails: then commands are closed first, and the link last. */
async function runParts(
  { parts, links, core: { connection, signal } }: Bridge,
  failed: AbortController,
  cut: AbortSignal | undefined,
): Promise<void> {
  const endWith = async (running: Promise<void> | undefined) => {
    try {
      await running;
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  const linkEnd = new AbortController();
  // Another member of a cluster may be at the broker with this client id.
  const linkSignal = cut === undefined ? linkEnd.signal : anyOf(linkEnd.signal, cut);
  const running = [connection, ...links].map((link) => endWith(link.run?.(linkSignal)));
  const results = await Promise.allSettled(parts.map((part) => endWith(part.run?.(signal))));
  linkEnd.abort();
  const ofLinks = await Promise.allSettled(running);
  for (const result of [...ofLinks, ...results]) if (result.status === "rejected") throw result.reason;
}

interface Bridge {
  readonly core: Core;
  /** In the order in which they are told of a link, and asked whether a message is theirs. */
  readonly parts: readonly Part[];
  /** Further links to the broker, which end with it. */
  readonly links: readonly Part[];
  /** Takes up what earlier runs left, before any part runs. */
  readonly restore: () => Promise<void>;
}

/** What each feature is once it was made. */
type Made = {
  readonly [Name in keyof typeof features]: (typeof features)[Name] extends {
    make: (...of: never[]) => Promise<infer Feature>;
  }
    ? Feature
    : null;
};

/** One after the other. The page shows all that the others are, so that it is made last. */
async function makeFeatures(core: Core, configuration: Configuration, live: LiveSettings): Promise<Made> {
  const made: [string, Running | null][] = [];
  const now = () => live.configured;
  for (const [name, { make }] of Object.entries<Faces<Configuration>>(features))
    made.push([name, (await make?.(core, configuration, now)) ?? null]);
  return Object.fromEntries(made) as unknown as Made;
}

/** Makes the core, and from it each feature. */
async function joinParts(ground: Ground, options: BridgeOptions): Promise<Bridge> {
  const { configuration, live } = ground;
  const parts: Part[] = [];
  const core = await createCore(ground, parts);
  const { tests, overdue, events } = core;
  options.onSecrets?.(() => core.platform.secrets());
  const status = new Status(core, { ...options, live, tests, overdue, events });
  lookAtBroker(core, status);
  const made = await makeFeatures(core, configuration, live);
  status.show(made);
  const all: readonly (Running | null)[] = Object.values(made);
  const requests = createRequests(core, options, live, status, all);
  const http = await features.http.serve(core, configuration.http, {
    ...shownOf(core, options, live, status, requests),
    groups: made.groups.service,
  });
  parts.push(...inOrder(core, status, requests, { ...made, http }));
  if (options.failing !== undefined) parts.push(failingWith(options.failing, core.platform));
  options.onMade?.(viewOf(core, status, http.page));
  live.onReload(({ applied }) => onReload(applied, core, options, live, status));
  live.onReload(({ applied, needRestart }) => {
    // A run that is about to end leaves it to the next one.
    if (applied.length > 0 && needRestart.length === 0) takeUp(core, live, all);
  });
  if (live.configured !== configuration) takeUp(core, live, all);
  live.onReadOnlyChosen(() => inForce(core, status));
  const links = all.flatMap((one) => one?.link ?? []);
  return { core, parts, links, restore: () => restoreEarlier(core, options, live, all) };
}

/** Every part, in the order in which they are told of a link, and asked whether a message is theirs; last those that have no place. */
function inOrder(
  core: BridgeCore,
  status: Status,
  requests: Part,
  made: Readonly<Record<keyof Made, Running | null>>,
): readonly Part[] {
  const { commands, outputs, retained, events, mirror } = core;
  const { homeassistant, groups, runTime, notify, http, cluster, ...others } = made;
  const all: readonly (Part | undefined)[] = [
    // Asked first, as most messages are commands.
    commands.incoming,
    outputs,
    retained,
    homeassistant?.part,
    events,
    weatherListener(core),
    status,
    commands,
    commands.limits,
    groups?.part,
    requests,
    mirror.store,
    mirror.watch,
    mirror.poller,
    pushListener(core),
    runTime?.part,
    notify?.part,
    http?.part,
    cluster?.part,
    ...Object.values(others).map((one) => one?.part),
  ];
  return all.flatMap((part) => part ?? []);
}

async function restoreEarlier(
  { commands, journal, mirror, clock, log, ownership }: Core,
  { settingsReturned, configuration }: BridgeOptions,
  live: LiveSettings,
  running: readonly (Running | null)[],
): Promise<void> {
  for (const one of running) await one?.restore?.();
  const { chosen } = journal.history();
  if (ownership !== null && chosen !== undefined) live.recall(chosen);
  const { store } = mirror;
  const onUnreadable = (problem: Error) => refuseUnread(journal, log, live, problem);
  await restoreCommands(commands, { journal, store, clock, log, ownership, onUnreadable });
  // With any way the notifier itself says whether messages get out.
  if (Object.keys(configuration.notify.ways).length === 0)
    commands.limits.alarms.set("notify_failed", bridgeItself, null);
  // How an earlier run reached its cluster says nothing of this one.
  commands.limits.alarms.set("cluster", bridgeItself, null);
  const { message = null, why } = settingsReturned?.() ?? {};
  commands.limits.alarms.set(
    "settings_returned",
    bridgeItself,
    message,
    why === undefined ? undefined : { why },
  );
}

function createRequests(
  core: Core,
  { setLogLevel }: BridgeOptions,
  live: LiveSettings,
  status: Status,
  running: readonly (Running | null)[],
): RequestServer {
  const { configuration, clock, log, topics, connection, signal, rules } = core;
  const ofFeatures = running.flatMap((one) => one?.requests ?? []);
  return new RequestServer({
    handlers: requestHandlers([...requestRows(core, status, live, setLogLevel), ...ofFeatures]),
    topics,
    signal,
    publisher: connection,
    concurrency: configuration.platform.concurrency,
    maxAgeMs: () => rules().max_age,
    clock,
    log,
  });
}

/** What the page shows that is not the core's. */
function shownOf(
  core: Core,
  { page = {}, shownElsewhere = null, recentLog, logLevel, outside }: BridgeOptions,
  live: LiveSettings,
  status: Status,
  requests: RequestServer,
): Omit<Shown, "groups"> {
  return {
    ...page,
    onListening: page.onListening,
    recentLog,
    logLevel,
    status,
    metrics: async () => {
      const { Metrics } = await metricsCode();
      return new Metrics(
        () => status.figures(),
        () => status.ofFeatures(),
      );
    },
    ask: (name, payload, via, ageMs) => requests.ask(name, payload, core.signal, via, ageMs),
    current: () => live.current.http,
    elsewhere: shownElsewhere,
    hasOwner: outside === undefined,
  };
}

const viewOf = (
  { commands, mirror, retained }: Core,
  status: Status,
  page: RunningPage["page"],
): BridgeView => ({
  status,
  alarms: () => commands.limits.alarms.list,
  summary: () => summaryOf(mirror.store.controllers()),
  page,
  retained,
  commands,
});

/** What the broker holds when a link begins is looked at once, for all. */
function lookAtBroker({ retained, topics, commands }: Core, status: Status): void {
  retained.onFound([topics.bridge.info], status);
  retained.onFound([], commands.earlier);
  retained.onFound([topics.alarms], commands.limits);
}

/** What counts at once is taken up by whoever holds it. */
function takeUp({ mirror }: Core, live: LiveSettings, running: readonly (Running | null)[]): void {
  mirror.store.rename(mirrorSettings(live.configured));
  for (const one of running) one?.reload?.();
}

function onReload(
  changes: readonly string[],
  core: Core,
  { setLogLevel }: BridgeOptions,
  live: LiveSettings,
  status: Status,
): void {
  if (changes.length === 0) return;
  if (changes.includes("log.level")) setLogLevel(live.current.log.level);
  const isOfFile = changes.includes("commands.read_only");
  const record = { type: "configuration_changed", changes, ...(isOfFile && { chosen: null }) } as const;
  core.journal.append(record, { durable: false }).catch(ignored);
  inForce(core, status);
}

/** What is in force now is told to whoever shows or heeds it. */
function inForce({ commands }: Core, status: Status): void {
  status.publish();
  commands.limits.engine.readOnlyChanged();
}

/** Measured values from the broker. */
const weatherListener = ({ commands: { limits }, connection, log }: Core): Part => ({
  flood: {
    // Of many the newest gets through.
    allowanceOf: (topic) => (limits.isWeatherTopic(topic) ? { key: topic, isUrgent: () => true } : null),
    onSurplus: ({ key, count }) => {
      if (limits.isWeatherTopic(key))
        log.warn(
          { topic: key, count },
          "more values came on a weather topic than are looked at; the newest count: slow their sender down",
        );
    },
  },
  onMessage: (message) => {
    const isWeather = limits.isWeatherTopic(message.topic);
    if (isWeather) limits.onWeather(message, connection.broker?.protocolVersion);
    return isWeather;
  },
});

/** Hears of changes before the next poll; its code is loaded while the first polls are on their way. */
const pushListener = (core: Core): Part => ({
  run: async (signal) => {
    const { configuration, platform, mirror, commands } = core;
    if (!configuration.platform.push.enabled) return;
    const { PushChannels } = await pushChannels();
    await new PushChannels(platform, mirror, commands.commander, core).run(signal);
  },
});

/** Rejects with what was seen from outside. What may be wrong sends nothing more from that moment on. */
const failingWith = (failing: AbortSignal, platform: PlatformClient): Part => ({
  run: async (signal) => {
    await untilAborted(anyOf(failing, signal));
    if (!failing.aborted) return;
    void platform.close();
    throw abortReason(failing);
  },
});
