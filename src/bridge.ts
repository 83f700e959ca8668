import { anyOf, joinSignals } from "./runtime/signals.js";
import type { Text } from "./language/text.js";
import { lazy } from "./runtime/lazy.js";
import { ignored } from "./runtime/failures.js";
import { setMaxListeners } from "node:events";
import { restoreCommands } from "./commands/restore.js";
import type { CommandService } from "./commands/service.js";
import { features } from "./config/features.js";
import { type KnowsSensor, LiveSettings, mayDo } from "./config/live-settings.js";
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

/** What the page shows beside the core. */
type Shown = Parameters<typeof features.http.serve>[2];
type RunningPage = Awaited<ReturnType<typeof features.http.serve>>;

/** Why saved settings are not in force. */
interface Returned {
  readonly message: string;
  readonly why: Text;
}

/** What a bridge runs with: services of the process, and what replaces them. */
export interface BridgeOptions extends Omit<
  Ground,
  "live" | "gaps" | "signal" | "files" | "inPlace" | "journal" | "broker" | "crashLoop"
> {
  /** The newest lines of the log; the page shows no log without it. */
  readonly recentLog?: RecentLog;
  readonly setLogLevel: (level: string) => void;
  /** The log level in force; not shown without it. */
  readonly logLevel?: () => string;
  /** Settings that can be reloaded; without them those of the start stay in force. */
  readonly live?: LiveSettings;
  /** The service manager, such as systemd, which learns that the bridge is ready, works and stops. */
  readonly manager?: ServiceManager | null;
  /** Receives a function that lists the tokens learned while running, so that the log hides them. */
  readonly onSecrets?: (list: () => readonly string[]) => void;
  /** What the page can do that no bridge does by itself, such as `doctor`. */
  readonly page?: Partial<Pick<Shown, "doctor" | "discover" | "demo" | "settings" | "onListening">>;
  /** Kinds of readings on the overview of a page that shows several accounts, this one among them. */
  readonly shownElsewhere?: Shown["elsewhere"];
  /** Called once, when the embedded broker, if any, accepts clients. */
  readonly onListening?: () => void;
  /** Opens the journal; by default the one in the data directory. */
  readonly openJournal?: typeof openJournal;
  /** Copies a small file of the data directory to where the next machine finds it. */
  readonly keepFile?: KeepElsewhere;
  /** Aborts when something outside saw this bridge fail; the bridge then ends with the abort's reason as its error. */
  readonly failing?: AbortSignal;
  /** Measures the delay of the event loop; absent where this bridge measures it itself. */
  readonly loopDelay?: LoopDelay;
  /** Notices that the process stood still; absent where this bridge looks for it itself. */
  readonly gaps?: Gaps;
  /** Says why saved settings were taken back; null where none were. */
  readonly settingsReturned?: (() => Returned | null) | undefined;
  /** Runs instead of all parts of the bridge, such as one command. */
  readonly only?: (core: Core) => Promise<void>;
  /** Called once all parts are made. */
  readonly onMade?: (bridge: BridgeView) => void;
}

/** A bridge as its caller sees it. */
export interface BridgeView {
  readonly status: Pick<Status, "facts" | "isHealthy" | "isReady">;
  readonly alarms: () => readonly Pick<Alarm, "state" | "severity">[];
  readonly summary: () => AccountSummary;
  readonly knowsSensor: KnowsSensor;
  /** Null where no page shows it. */
  readonly page: RunningPage["page"];
  readonly retained: RetainedTopics;
  readonly commands: CommandService;
}

/**
 * Runs a whole bridge: makes every part and runs them until `stop` aborts or one fails. With `only` it makes just the
 * core and runs that function.
 */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  const { clock, log, only, live = new LiveSettings(options.configuration) } = options;
  // The settings may have been reloaded while no bridge was running.
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
  // Every part and request listens to these signals; `platform.concurrency` bounds their number, not Node's default of
  // ten.
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
  const onReload = (listener: (now: Configuration) => void) => live.onReload(() => listener(live.configured));
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

/** Without parts nothing is polled, published or raised as an alarm, and the journal counts no start of the bridge. */
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

/** Loads a bridge's code in advance, so that a standby member need not load it when it takes over. */
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

/** Runs the parts until the signal aborts or one of them fails. The link to the broker ends last. */
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
  // Another member of a cluster may connect with the same client id, so `cut` ends the link at once.
  const linkSignal = cut === undefined ? linkEnd.signal : anyOf(linkEnd.signal, cut);
  const running = [connection, ...links].map((link) => endWith(link.run?.(linkSignal)));
  const results = await Promise.allSettled(parts.map((part) => endWith(part.run?.(signal))));
  linkEnd.abort();
  const ofLinks = await Promise.allSettled(running);
  for (const result of [...ofLinks, ...results]) if (result.status === "rejected") throw result.reason;
}

interface Bridge {
  readonly core: Core;
  /** All parts, in the order in which they hear of the link and are offered a message. */
  readonly parts: readonly Part[];
  /** Further links to the broker, which end together with it. */
  readonly links: readonly Part[];
  /** Restores what earlier runs left, before any part runs. */
  readonly restore: () => Promise<void>;
}

/** The result of each feature's `make`. */
type Made = {
  readonly [Name in keyof typeof features]: (typeof features)[Name] extends {
    make: (...of: never[]) => Promise<infer Feature>;
  }
    ? Feature
    : null;
};

/** Makes the features one by one; the page, which shows all others, is made after them. */
async function makeFeatures(core: Core, configuration: Configuration, live: LiveSettings): Promise<Made> {
  const made: [string, Running | null][] = [];
  const now = () => live.configured;
  for (const [name, { make }] of Object.entries<Faces<Configuration>>(features))
    made.push([name, (await make?.(core, configuration, now)) ?? null]);
  return Object.fromEntries(made) as unknown as Made;
}

/** Makes the core and, from it, each feature. */
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
  const saved = new Set<string>();
  const http = await features.http.serve(core, configuration.http, {
    ...shownOf(core, options, live, status, requests),
    groups: made.groups.service,
    onSaved: (keys) => keys.forEach((key) => saved.add(key)),
  });
  parts.push(...inOrder(core, status, requests, { ...made, http }));
  if (options.failing !== undefined) parts.push(failingWith(options.failing, core.platform));
  options.onMade?.(viewOf(core, status, http.page));
  live.onReload(({ applied }) => {
    noteRead(applied, saved, core);
    onReload(applied, core, options, live, status);
  });
  live.onReload(({ applied, needRestart }) => {
    // If a restart is needed, the next run takes up the changes.
    if (applied.length > 0 && needRestart.length === 0) takeUp(core, live, all);
  });
  if (live.configured !== configuration) takeUp(core, live, all);
  live.onReadOnlyChosen(() => inForce(core, status));
  const links = all.flatMap((one) => one?.link ?? []);
  return { core, parts, links, restore: () => restoreEarlier(core, options, live, all) };
}

/**
 * Every part, in the order in which parts hear of the link and are offered a message. Parts without a place of their
 * own come last.
 */
function inOrder(
  core: BridgeCore,
  status: Status,
  requests: Part,
  made: Readonly<Record<keyof Made, Running | null>>,
): readonly Part[] {
  const { commands, outputs, retained, events, mirror } = core;
  const { homeassistant, groups, runTime, notify, http, cluster, ...others } = made;
  const all: readonly (Part | undefined)[] = [
    // The first to be asked, as most messages are commands.
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
  // Where a way is configured, the notifier itself says whether messages get out.
  if (Object.keys(configuration.notify.ways).length === 0)
    commands.limits.alarms.set("notify_failed", bridgeItself, null);
  // A cluster's alarm of an earlier run says nothing about this one.
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

/** What the page shows that is not in the core. */
function shownOf(
  core: Core,
  { page = {}, shownElsewhere = null, recentLog, logLevel, outside }: BridgeOptions,
  live: LiveSettings,
  status: Status,
  requests: RequestServer,
): Omit<Shown, "groups" | "onSaved"> {
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
  knowsSensor: mirror.store.knowsSensor,
  page,
  retained,
  commands,
});

/** Names who hears which retained messages the broker already holds when a link begins. */
function lookAtBroker({ retained, topics, commands }: Core, status: Status): void {
  retained.onFound([topics.bridge.info], status);
  retained.onFound([], commands.earlier);
  retained.onFound([topics.alarms], commands.limits);
}

/** Hands changed settings that need no restart to every part that uses them. */
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
  inForce(core, status);
}

/** Records what a file brings that was read again, without the saved keys: these were recorded with who saved them. */
function noteRead(changes: readonly string[], saved: Set<string>, { journal }: Core): void {
  const others = changes.filter((key) => !saved.has(key));
  saved.clear();
  if (others.length === 0) return;
  const record = {
    type: "configuration_changed",
    changes: others,
    ...(others.includes("commands.read_only") && { chosen: null }),
  } as const;
  journal.append(record, { durable: false }).catch(ignored);
}

/** Publishes the settings in force, and tells the limits whether the bridge is read-only. */
function inForce({ commands }: Core, status: Status): void {
  status.publish();
  commands.limits.engine.readOnlyChanged();
}

/** Receives measured values from weather topics. */
const weatherListener = ({ commands: { limits }, connection, log }: Core): Part => ({
  flood: {
    // Of many values on one topic the newest gets through.
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

/** Receives changes that the platform pushes between polls; its code is loaded while the first polls run. */
const pushListener = (core: Core): Part => ({
  run: async (signal) => {
    const { configuration, platform, mirror, commands } = core;
    if (!configuration.platform.push.enabled) return;
    const { PushChannels } = await pushChannels();
    await new PushChannels(platform, mirror, commands.commander, core).run(signal);
  },
});

/**
 * Rejects with the failure seen from outside. From then on the platform client, which may be faulty, sends nothing
 * more.
 */
const failingWith = (failing: AbortSignal, platform: PlatformClient): Part => ({
  run: async (signal) => {
    await untilAborted(anyOf(failing, signal));
    if (!failing.aborted) return;
    void platform.close();
    throw abortReason(failing);
  },
});
