import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import anyAscii from "any-ascii";
import type { RefusedLogin } from "./broker/authenticator.js";
import type { EmbeddedBroker } from "./broker/broker.js";
import type { Ownership } from "./cluster/tenure.js";
import { withLease } from "./cluster/lease.js";
import { restoreCommands } from "./commands/restore.js";
import type { StepRecording } from "./commands/recording.js";
import { CommandService, type CommandServiceParts } from "./commands/service.js";
import { LiveSettings, mayDo } from "./config/live-settings.js";
import { groupsAndScenesIn } from "./config/rules/groups.js";
import { notifierSettings } from "./config/load.js";
import type { Configuration } from "./config/schema.js";
import { type AccountSummary, summaryOf } from "./greenhouse/summary.js";
import { nameOf } from "./greenhouse/documents.js";
import type { BridgeEvent } from "./greenhouse/events.js";
import type { Alarm } from "./greenhouse/limits.js";
import { GroupService } from "./groups/service.js";
import { discoveryFilter } from "./homeassistant/announced.js";
import { DiscoveryOutput } from "./homeassistant/discovery-output.js";
import { withdrawEarlier } from "./homeassistant/withdrawals.js";
import type { Port } from "./http/port.js";
import type { PageService, PageSources } from "./http/service.js";
import type { Journal } from "./journal/journal.js";
import { openJournal } from "./journal/open.js";
import { journalReader } from "./journal/reader.js";
import { bridgeItself } from "./limits/alarm-store.js";
import { weatherTopics } from "./limits/service.js";
import type { DailyReport } from "./notify/daily.js";
import type { Notifier } from "./notify/notify.js";
import {
  BrokerConnection,
  type Connection,
  floodListener,
  type Part,
  partListeners,
} from "./mqtt/connection.js";
import {
  type ConnectionPorts,
  type ConnectionSettings,
  connectionSettings,
} from "./mqtt/connection/settings.js";
import { EventOutput } from "./mqtt/events.js";
import { Outputs } from "./mqtt/outputs.js";
import { RequestServer } from "./mqtt/requests.js";
import { RetainedTopics } from "./mqtt/retained-topics.js";
import { type Topics, topicsUnder } from "./mqtt/topics.js";
import type { SharedHosts } from "./platform/shared.js";
import { createPlatform, type PlatformClient, type PlatformOutside } from "./platform/client.js";
import { untilAborted, abortReason, type Clock, every, type Random } from "./runtime/clock.js";
import { type Files, FilesOfRun, type KeepElsewhere, textFile } from "./runtime/file-system.js";
import { type Gaps, watchGaps } from "./runtime/gaps.js";
import type { Logger, RecentLog } from "./runtime/log.js";
import type { ServiceManager } from "./runtime/systemd.js";
import { beginLife, endLife, refuseUnread } from "./status/crash-loop.js";
import type { LoopDelay } from "./status/health.js";
import { BrokerTests } from "./status/other-bridge.js";
import { OverdueWatch } from "./status/overdue.js";
import { requestHandlers } from "./status/requests.js";
import type { EdgeNode } from "./sparkplug/edge-node.js";
import { RunTimes } from "./run-time/watch.js";
import { Status } from "./status/status.js";
import { PlatformWatch } from "./sync/hosts.js";
import { isAdded } from "./sync/inventory.js";
import { createMirror, type Mirror } from "./sync/mirror.js";
import { leavesOut } from "./sync/settings.js";

/** What a bridge meets outside of its process; what is absent is the real one. A simulated world gives its own. */
interface Outside {
  /** The small files of the data directory. */
  readonly files?: Files;
  readonly platform?: PlatformOutside;
  /** Makes the link to the broker. */
  readonly connect?: (settings: ConnectionSettings, ports: ConnectionPorts) => Connection;
  /** The platform as commands ask it; called before anything that heeds what was read, but the outputs. */
  readonly forCommands?: (reading: Reading) => PlatformClient;
  /** Told each event, also while there is no broker. */
  readonly onEvent?: (event: BridgeEvent) => void;
}

/** What the outside gives a bridge to run with. */
export interface BridgeOptions {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** At which level the log names each controller and actuator found; `info` where absent. */
  readonly foundLevel?: "info" | "debug";
  /** Takes a line of each command taken and of each result; without it none is written. */
  readonly commandLog?: Logger | undefined;
  /** Takes every step of the book of commands, for a maintainer. */
  readonly recording?: StepRecording | undefined;
  /** The newest lines of the log; without it there are none to show. */
  readonly recentLog?: RecentLog;
  readonly setLogLevel: (level: string) => void;
  /** The level that is on; without it none is shown. */
  readonly logLevel?: () => string;
  readonly version: string;
  /** Where the configuration can be reloaded; without it the one of the start stays in force. */
  readonly live?: LiveSettings;
  /** Told that the bridge is ready, works, and stops. */
  readonly manager?: ServiceManager | null;
  /** Given what lists the tokens learned while running, which must never be shown. */
  readonly onSecrets?: (list: () => readonly string[]) => void;
  /** What the page can do beyond the bridge. */
  readonly page?: Pick<PageSources, "doctor" | "discover" | "demo" | "settings"> & Pick<Port, "onListening">;
  /** Where a page of several accounts shows this one too: the kinds of readings on its overview. */
  readonly shownElsewhere?: Pick<PageSources, "kinds"> | null;
  /** Called once, when the embedded broker, if there is one, lets clients in. */
  readonly onListening?: () => void;
  /** Where the journal is; in the data directory where absent. */
  readonly openJournal?: typeof openJournal;
  readonly outside?: Outside;
  /** Keeps a small file of the data directory where the next machine has it. */
  readonly keepFile?: KeepElsewhere;
  /** Where other machines may run this bridge as well: what this one may do now. */
  readonly ownership?: Ownership;
  /** Aborts, with the error as its reason, where something outside saw this bridge fail: it ends as by an error of its own. */
  readonly failing?: AbortSignal;
  /** How late the event loop is, where others in the process measure it already. */
  readonly loopDelay?: LoopDelay;
  /** What other accounts of the process share of the platform's hosts. */
  readonly sharedHosts?: SharedHosts;
  /** Why settings that were saved are not in force; null where none were taken back. */
  readonly settingsReturned?: (() => string | null) | undefined;
  /** Called once all parts are made. */
  readonly onMade?: (bridge: BridgeView) => void;
}

/** A bridge as whoever runs it sees it. */
export interface BridgeView {
  readonly status: Pick<Status, "facts" | "isHealthy" | "isReady">;
  readonly alarms: () => readonly Pick<Alarm, "state" | "severity">[];
  readonly summary: () => AccountSummary;
  /** Null where no page shows it. */
  readonly page: PageService | null;
  readonly retained: RetainedTopics;
  readonly commands: CommandService;
}

/** The whole bridge: makes every part, joins them, and runs until `stop` aborts or a part fails. */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  const { configuration, clock, log, live = new LiveSettings(configuration) } = options;
  const open = options.openJournal ?? openJournal;
  const opened = await open({ dataDir: configuration.data_dir, clock, log });
  const { journal } = opened;
  const failed = new AbortController();
  const signal = AbortSignal.any([stop, failed.signal]);
  const over = new AbortController();
  const gaps = watchGaps(clock, over.signal);
  // It may have been reloaded while nothing ran by it.
  const { level } = live.current.log;
  if (level !== configuration.log.level) options.setLogLevel(level);
  // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
  setMaxListeners(0, signal, stop);
  try {
    const broker = await startEmbeddedBroker({ configuration, clock, gaps, log, live }, journal);
    options.onListening?.();
    const crashLoop = await beginLife(journal, options, live);
    const loaded = await loadOptional(options);
    const files = new FilesOfRun(configuration.data_dir, options.outside?.files, options.keepFile);
    journal.onWrittenAgain(() => void files.writeAgain());
    const made = { journal, files, broker, crashLoop, ...loaded, gaps };
    const given = { ...options, live, ...made, signal };
    const bridge = joinParts(given);
    journal.compareClock(bridge.platform.clockSkewMs);
    try {
      if (journal.state().available) log.info(mayDo(live.current.commands));
      await bridge.restore();
      await runParts(bridge, failed, options.ownership?.cut);
      await endLife(journal);
    } finally {
      await broker?.close();
      await bridge.platform.close();
    }
  } finally {
    live.endRun();
    over.abort();
    await opened.close();
  }
}

/** The code of what not every bridge has; null for what this one has not. */
async function loadOptional({ configuration, shownElsewhere = null }: BridgeOptions) {
  const isServed = configuration.http !== false || shownElsewhere !== null;
  const serving = isServed ? await loadServing() : null;
  const hasWays = Object.keys(configuration.notify.ways).length > 0;
  const notifying = hasWays ? await loadNotifying() : null;
  return { serving, notifying };
}

/** What only a bridge with a port for HTTP needs. */
const loadServing = async () => ({
  ...(await import("./status/metrics.js")),
  ...(await import("./http/service.js")),
  ...(await import("./http/access.js")),
  ...(await import("./http/faults.js")),
  ...(await import("./http/first-operator.js")),
  ...(await import("./http/port.js")),
});

/** What only a bridge needs that tells people of alarms. */
const loadNotifying = async () => ({
  ...(await import("./notify/notify.js")),
  ...(await import("./notify/witness.js")),
  ...(await import("./notify/daily.js")),
});

/** Starts the embedded broker where no other is configured; null where one is. Its code is loaded only then. */
export async function startEmbeddedBroker(
  given: Pick<BridgeOptions, "configuration" | "clock" | "log" | "live"> & { readonly gaps?: Gaps },
  journal: Pick<Journal, "append">,
): Promise<EmbeddedBroker | null> {
  const { configuration, clock, gaps, log, live } = given;
  if (configuration.mqtt.url !== undefined) return null;
  const { startBroker } = await import("./broker/broker.js");
  const { brokerSettings } = await import("./broker/settings.js");
  // People type passwords into the wrong field, so the name is left out.
  const onRefusedLogin = (refused: RefusedLogin) => {
    const record = { type: "login_failed", listener: "broker", user: null, ...refused } as const;
    journal.append(record, { durable: false }).catch(() => undefined);
  };
  const broker = await startBroker(brokerSettings(configuration), { clock, gaps, log, onRefusedLogin });
  live?.onReload(() => void broker.renewCertificate());
  return broker;
}

/** Runs the parts until the signal aborts or one of them fails: then commands are closed first, and the link last. */
async function runParts(
  { parts, connection, links, signal }: Bridge,
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
  const linkSignal = cut === undefined ? linkEnd.signal : AbortSignal.any([linkEnd.signal, cut]);
  const running = [connection, ...links].map((link) => endWith(link.run?.(linkSignal)));
  const results = await Promise.allSettled(parts.map((part) => endWith(part.run?.(signal))));
  linkEnd.abort();
  const ofLinks = await Promise.allSettled(running);
  for (const result of [...ofLinks, ...results]) if (result.status === "rejected") throw result.reason;
}

/** What a run begins with, besides what the outside gives. */
interface Given extends BridgeOptions {
  readonly live: LiveSettings;
  readonly journal: Journal;
  readonly gaps: Gaps;
  readonly files: FilesOfRun;
  /** Null where another one is configured. */
  readonly broker: EmbeddedBroker | null;
  /** What is to be told of a crash loop; null for none. */
  readonly crashLoop: () => string | null;
  /** Null without a page, health checks and metrics. */
  readonly serving: Awaited<ReturnType<typeof loadServing>> | null;
  /** Null where nobody is told of alarms. */
  readonly notifying: Awaited<ReturnType<typeof loadNotifying>> | null;
  /** Aborts when the bridge is to end. */
  readonly signal: AbortSignal;
}

interface Bridge {
  /** In the order in which they are told of a link, and asked whether a message is theirs. */
  readonly parts: readonly Part[];
  readonly connection: Connection;
  /** Further links to the broker, which end with it. */
  readonly links: readonly Part[];
  readonly platform: PlatformClient;
  readonly signal: AbortSignal;
  /** Takes up what earlier runs left, before any part runs. */
  readonly restore: () => Promise<void>;
}

/** Makes each part from those above it. A new part is one line in the list at the end. */
function joinParts(given: Given): Bridge {
  const parts: Part[] = [];
  const link = joinLink(given, parts);
  const reading = { ...given, ...link, ...joinReading({ ...given, ...link }) };
  const { platform, mirror } = reading;
  given.onSecrets?.(() => platform.secrets());
  const publishing = { ...reading, ...joinPublishing(reading) };
  const commanding = joinGroups({ ...publishing, ...joinCommands(publishing) });
  const { retained, discovery, outputs, commands, groups } = commanding;
  const edgeNode = given.configuration.sparkplug.enabled ? edgeNodePart(commanding) : null;
  const status = new Status({ ...commanding, manager: given.manager ?? null, edgeNode });
  const told = joinTold(commanding);
  const requests = createRequests(commanding, status, told);
  const page = createPage(commanding, status, requests);
  joinStatus(commanding, status, page);
  parts.push(
    // Asked first, as most messages are commands.
    commands.incoming,
    outputs,
    retained,
    ...(discovery === null ? [] : [discovery]),
    link.events,
    weatherListener(commanding),
    status,
    commands,
    commands.limits,
    groups,
    requests,
    mirror.store,
    mirror.watch,
    mirror.poller,
    pushListener(commanding),
    ...told.parts,
    ...servers(commanding, status, requests, page),
    ...outsideParts(commanding),
  );
  const restore = () => restoreEarlier(commanding, told.runTimes);
  const links = edgeNode === null ? [] : [edgeNode];
  return { parts, connection: link.connection, links, platform, signal: given.signal, restore };
}

/** What follows from a look at the broker and from a reload, and who looks at the bridge from outside. */
function joinStatus(commanding: Joined, status: Status, page: PageService | null): void {
  lookAtBroker(commanding, status);
  commanding.onMade?.(viewOf(commanding, status, page));
  commanding.live.onReload(({ applied }) => onReload(applied, commanding, status));
  commanding.live.onReadOnlyChosen(() => inForce(commanding, status));
}

async function restoreEarlier(
  { commands, journal, mirror, clock, log, live, ownership, settingsReturned }: Joined,
  runTimes: RunTimes,
): Promise<void> {
  await runTimes.restore();
  const { store } = mirror;
  const onUnreadable = (problem: Error) => refuseUnread(journal, log, live, problem);
  const onUnderWay = ownership?.foundUnderWay;
  await restoreCommands(commands, { journal, store, clock, log, onUnderWay, onUnreadable });
  // That an earlier run could not send messages says nothing of this one.
  commands.limits.alarms.set("notify_failed", bridgeItself, null);
  commands.limits.alarms.set("cluster", bridgeItself, null);
  commands.limits.alarms.set("settings_returned", bridgeItself, settingsReturned?.() ?? null);
}

interface Link {
  readonly topics: Topics;
  readonly connection: Connection;
  readonly events: EventOutput;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Has a listener told of each event. */
  readonly listenToEvents: (listener: (event: BridgeEvent) => void) => void;
}

/** What no member of a cluster has dealt with the broker keeps for the next one, which ends each in a result. */
const commandsKeptForS = 3_600;

/** The link to the broker, which tells `parts` what happens on it once they are in the list. */
function joinLink(given: Given, parts: readonly Part[]): Link {
  const { configuration, broker, clock, gaps, random, log, sharedHosts, outside, ownership } = given;
  const { mqtt, homeassistant, weather } = configuration;
  const keptForS = ownership === undefined ? null : commandsKeptForS;
  const topics = topicsUnder(mqtt.base_topic, mqtt);
  const { enabled, status_topic: status, discovery_prefix: prefix } = homeassistant;
  const born = enabled ? [status] : [];
  const announced = enabled ? [discoveryFilter(prefix)] : [];
  // The accounts of a fleet are told apart by their files; each would hear each of the others, a million messages a minute of 1,000.
  const others = sharedHosts === undefined ? [...topics.othersSelfTest, ...born, ...announced] : born;
  const settings = connectionSettings(mqtt, topics, broker, others, partListeners(parts), keptForS);
  const heard = weatherTopics(weather);
  const connect = outside?.connect ?? ((...of) => new BrokerConnection(...of));
  const greetings = sharedHosts?.greetings.of(settings.url);
  // The embedded broker reads each client at a pace of its own.
  const flood = broker === null ? { flood: floodListener(parts) } : {};
  const connection = connect({ ...settings, ...flood, heard }, { clock, gaps, random, log, greetings });
  const events = new EventOutput({ topics, connection, clock, log });
  const listeners: ((event: BridgeEvent) => void)[] = [];
  const onEvent = (event: BridgeEvent) => {
    events.publish(event);
    outside?.onEvent?.(event);
    for (const listener of listeners) listener(event);
  };
  return { topics, connection, events, onEvent, listenToEvents: (listener) => void listeners.push(listener) };
}

export interface Reading {
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
}

/** A small file of the data directory. */
const smallFile = ({ configuration, files }: Given, name: string) =>
  textFile(configuration.data_dir, name, files);

/** What asks the platform, and holds what it showed. */
function joinReading(above: Given & Link): Reading {
  const { configuration, clock, random, log, foundLevel, onEvent, outside, sharedHosts } = above;
  const watch = new PlatformWatch({ clock, log, onEvent });
  const platform = createPlatform(configuration.platform, {
    clock,
    random,
    log,
    dataDir: configuration.data_dir,
    onLink: (link) => watch.onFacts(link.host, link),
    onMixedUp: (request, device) => watch.mixedUp(request, device),
    files: above.files,
    outside: outside?.platform,
    shared: sharedHosts,
  });
  const mirror = createMirror({
    configuration,
    platform,
    watch,
    clock,
    random,
    log,
    foundLevel,
    transliterate: anyAscii,
    onEvent,
    absences: smallFile(above, "absent-controllers.json"),
    seenAddresses: smallFile(above, "addresses-seen.json"),
  });
  return { platform, mirror };
}

interface Publishing {
  readonly retained: RetainedTopics;
  /** Null where nothing is announced. */
  readonly discovery: DiscoveryOutput | null;
  readonly outputs: Outputs;
  readonly platformHadTime: () => boolean;
}

/** What becomes of what the platform showed: retained topics, each behind its announcement. */
function joinPublishing(above: Given & Link & Reading): Publishing {
  const { configuration, clock, log, topics, connection, mirror, onEvent } = above;
  const { store, inventory, watch, poller } = mirror;
  const retained = new RetainedTopics({
    topics,
    qos: configuration.mqtt.state_qos,
    link: connection,
    view: store,
    gate: null,
    isLeftOut: leavesOut(configuration, anyAscii),
    clock,
    log,
  });
  watch.onState((state) => retained.wanted(topics.bridge.platform, state));
  const platformHadTime = () => inventory.hadTime(clock.monotonic());
  const discovery = createDiscovery({ ...above, retained, platformHadTime });
  if (discovery !== null) retained.gateBy(discovery.gate);
  discovery?.onBirth(() => retained.republish());
  poller.onTried((code) => discovery?.onTried(code));
  const outputs = new Outputs({
    topics,
    connection,
    retained,
    store,
    announcer: discovery,
    isAccountKnown: () => inventory.isKnown,
    platformHadTime,
    onEvent,
    clock,
    log,
  });
  return { retained, discovery, outputs, platformHadTime };
}

/** Null where nothing is announced. */
function createDiscovery(
  above: Given & Link & Reading & Pick<Publishing, "retained" | "platformHadTime">,
): DiscoveryOutput | null {
  const { configuration, clock, random, log, topics, mirror, retained, connection, sharedHosts } = above;
  if (!configuration.homeassistant.enabled) return null;
  const { store, inventory, watch } = mirror;
  return new DiscoveryOutput(
    {
      announce: (topic, text) => retained.announce(topic, text),
      publishStates: (code, which) => {
        if (code !== null) retained.release(code, which === "all");
        else if (which === "all" && watch.state !== null)
          retained.wanted(topics.bridge.platform, watch.state);
      },
      listen: sharedHosts === undefined ? null : (topics) => connection.listen(topics),
      memory: smallFile(above, "homeassistant-withdrawn.json"),
      view: {
        controllers: () => store.controllers(),
        get: (code) => store.get(code),
        platformHadTime: above.platformHadTime,
        mayForget: (code) => code === null || inventory.mayForget(code, clock.monotonic()),
      },
      clock,
      random,
      log,
    },
    discoverySettings(above),
  );
}

function discoverySettings({ configuration, version, serving, topics }: Given & Link) {
  const { homeassistant, mqtt, http } = configuration;
  return {
    topics,
    version,
    clientId: mqtt.client_id,
    pageUrl: serving?.reachableAt(http),
    prefix: homeassistant.discovery_prefix,
    statusTopic: homeassistant.status_topic,
    language: homeassistant.language,
    sensorNames: homeassistant.sensor_names,
    hasBudget: configuration.platform.requests_per_minute > 0,
    groupsAndScenes: groupsAndScenesIn(configuration),
  };
}

interface Commanding {
  readonly commands: CommandService;
  readonly tests: BrokerTests;
  readonly overdue: OverdueWatch;
}

/** The path of commands, and what stands against all of them. */
function joinCommands(above: Given & Link & Reading & Publishing): Commanding {
  const { configuration, clock, live, crashLoop, mirror, discovery, ownership, outside } = above;
  const tests = new BrokerTests(above);
  const overdue = new OverdueWatch({ clock, intervals: configuration.polling, mirror });
  const platform = ownership === undefined ? above.platform : withLease(above.platform, ownership);
  const commands = createCommands({
    ...above,
    platform: outside?.forCommands?.({ platform, mirror }) ?? platform,
    notTaking: ownership?.commandsProblem,
    isOfCluster: ownership !== undefined,
    link: above.connection,
    rules: live.commandRules,
    crashLoop,
    otherBridge: tests.isShared,
    overdue: () => overdue.now(),
  });
  discovery?.onBirth(() => commands.outbox.repeatLate());
  return { commands, tests, overdue };
}

type CommandParts = Reading & Omit<CommandServiceParts, "store" | "clockSkewMs" | "isAccountKnown">;

/** The path of commands on what was read. */
function createCommands(parts: CommandParts): CommandService {
  const { platform, mirror } = parts;
  const { store, inventory, watch } = mirror;
  const commands = new CommandService({
    ...parts,
    store,
    clockSkewMs: platform.clockSkewMs,
    isAccountKnown: () => inventory.isKnown,
  });
  watch.onState((state) => commands.limits.alarms.onPlatformState(state));
  inventory.onNews((news) => {
    if (isAdded(news)) commands.commander.feed({ type: "admitted", code: news.code });
  });
  return commands;
}

/** What is commanded together. */
function joinGroups<Above extends Given & Link & Reading & Publishing & Commanding>(above: Above) {
  const { configuration, live, clock, topics, mirror, retained, commands } = above;
  const groups = new GroupService({
    groupsAndScenes: groupsAndScenesIn(configuration),
    topics,
    store: mirror.store,
    submit: (request) => commands.commander.submit(request),
    outbox: commands.outbox,
    retained,
    responseTopics: () => live.commandRules().response_topics,
    clock,
    newId: randomUUID,
  });
  if (groups.hasSome) commands.listen(groups);
  retained.onFound(topics.groups, groups);
  return { ...above, groups };
}

type Joined = Given & Link & Reading & Publishing & Commanding & { readonly groups: GroupService };

const createRunTimes = (above: Joined): RunTimes =>
  new RunTimes({
    clock: above.clock,
    log: above.log,
    store: above.mirror.store,
    timeZone: above.configuration.platform.time_zone,
    memory: smallFile(above, "run-times.json"),
  });

function createNotifier(above: Joined): Notifier | null {
  const { configuration, clock, log, mirror, commands, notifying } = above;
  if (notifying === null) return null;
  const { alarms } = commands.limits;
  return new notifying.Notifier({
    settings: notifierSettings(configuration),
    clock,
    log,
    alarms: () => alarms.list,
    alarm: (message) => alarms.set("notify_failed", bridgeItself, message),
    nameOf: (id, actuator, sensor) => {
      const controller = mirror.store.byId(id);
      return controller
        ? nameOf(controller, actuator, { id: sensor, language: configuration.notify.language })
        : [id, actuator, sensor].filter(Boolean).join(" / ");
    },
    memory: smallFile(above, "notified.json"),
  });
}

/** Tells the notifier what ways ask for beside alarms. */
function witnessFor(
  notifier: Notifier,
  { notifying, clock, mirror, configuration, commands, listenToEvents }: Joined,
) {
  if (notifying === null) return;
  const witness = new notifying.Witness({
    clock,
    controller: mirror.store.find,
    unitOf: (name) => configuration.weather[name]?.unit,
    onHappened: (one) => notifier.happened(one),
  });
  mirror.store.onChange((before, after) => witness.onChange(before, after), ["actuators"]);
  commands.listen({ phase: () => undefined, result: (result) => witness.onResult(result) });
  listenToEvents((event) => witness.onEvent(event));
}

/** The message of every day, which can be asked for also where none is sent by itself. */
function createDaily(notifier: Notifier, above: Joined): DailyReport | null {
  const { notifying, clock, log, configuration, mirror, commands } = above;
  if (notifying === null) return null;
  const { notify, http } = configuration;
  const daily = new notifying.DailyReport({
    clock,
    log,
    at: notify.daily?.at ?? null,
    wording: notifier.wording,
    kinds: http === false ? ["temperature", "humidity"] : http.overview,
    controllers: () => mirror.store.controllers(),
    alarms: () => commands.limits.alarms.list,
    say: (message) => notifier.say(message, notify.daily?.ways),
    memory: smallFile(above, "daily.json"),
  });
  commands.listen({ phase: () => undefined, result: (result) => daily.onResult(result) });
  return daily;
}

interface Told {
  readonly notifier: Notifier | null;
  readonly daily: DailyReport | null;
  readonly runTimes: RunTimes;
  readonly parts: readonly Part[];
}

/** What people are told, and what is counted for them. */
function joinTold(above: Joined): Told {
  const notifier = createNotifier(above);
  const daily = notifier === null ? null : createDaily(notifier, above);
  const runTimes = createRunTimes(above);
  if (notifier?.asksForMore === true) witnessFor(notifier, above);
  const parts = [runTimes, ...(notifier === null ? [] : [notifier]), ...(daily === null ? [] : [daily])];
  return { notifier, daily, runTimes, parts };
}

function createRequests(
  above: Joined,
  status: Status,
  { notifier, daily }: Pick<Told, "notifier" | "daily">,
): RequestServer {
  const { configuration, clock, log, setLogLevel, topics, connection, onEvent } = above;
  const { mirror, platform, journal, retained, commands } = above;
  const handlers = requestHandlers({
    mirror,
    platform,
    journal,
    setLogLevel,
    live: above.live,
    commander: commands.commander,
    limits: commands.limits,
    clock,
    onEvent,
    republish: () => retained.republish(),
    health: () => status.health(),
    bundle: (redact) => status.bundle(redact),
    testNotify: notifier && ((stop) => notifier.test(stop)),
    dailyMessage:
      daily &&
      ((isSent) => {
        const message = daily.message();
        if (isSent) notifier?.say(message, configuration.notify.daily?.ways);
        return { title: message.title, text: message.text, sent: isSent };
      }),
  });
  return new RequestServer({
    handlers,
    topics,
    signal: above.signal,
    publisher: connection,
    concurrency: configuration.platform.concurrency,
    maxAgeMs: () => above.live.commandRules().max_age,
    clock,
    log,
  });
}

/** Null where nothing shows it. */
function createPage(above: Joined, status: Status, requests: RequestServer): PageService | null {
  const { configuration, live, clock, gaps, log, recentLog, serving, journal, mirror } = above;
  const { commands, signal } = above;
  const { http, data_dir: dataDir } = configuration;
  if (serving === null) return null;
  const ownKinds = () => (live.current.http || http || { overview: [] }).overview;
  const page = new serving.PageService({
    ...above.page,
    clock,
    log,
    recentLog,
    logLevel: above.logLevel,
    store: mirror.store,
    status,
    metrics: new serving.Metrics(() => status.figures()),
    kinds: http === false ? (above.shownElsewhere?.kinds ?? ownKinds) : ownKinds,
    submit: (request) => commands.commander.submit(request),
    groups: above.groups,
    ask: (name, payload, via, ageMs) => requests.ask(name, payload, signal, via, ageMs),
    sentSince: (readAt) => gaps.sentSince(readAt),
    alarms: () => commands.limits.alarms.list,
    seenAddresses: () => mirror.seen.list(),
    weather: () => commands.limits.weather(),
    settingsSaved: (by, via, keys) => noteSaved(above, by, via, keys),
    pastReadings: http !== false && http.past_readings ? pastReadings(above) : null,
    dataDir,
    journal,
    ...journalReader(journal.directory),
  });
  commands.listen(page);
  return page;
}

/** Who changed which settings: in the journal, which the answer waits for, and as an event. */
async function noteSaved(
  { journal, onEvent, clock }: Joined,
  by: string | null,
  via: string | null,
  keys: readonly string[],
): Promise<void> {
  const who = by ?? via ?? "somebody";
  const message = `${who} changed the settings: ${keys.join(", ")}`.slice(0, 500);
  const facts = { by: who, keys: keys.join(", ").slice(0, 500) };
  onEvent({ type: "settings_changed", severity: "info", message, at: clock.now(), facts });
  const record = { type: "configuration_changed", changes: keys, by: who } as const;
  await journal.append(record, { durable: true }).catch(() => undefined);
}

/** Null without a port for HTTP. */
function createPort(above: Joined, status: Status): Port | null {
  const { configuration, live, clock, log, serving, page } = above;
  const { http } = configuration;
  if (serving === null || http === false) return null;
  const firstOperator = new serving.FirstOperator({ file: smallFile(above, "page-users.json"), log });
  return {
    clock,
    log,
    listener: () => firstOperator.complete({ ...(live.current.http || http), host: http.host }),
    status,
    sessions: smallFile(above, "sessions.json"),
    firstOperator,
    onListening: page?.onListening,
    faults: new serving.Faults(log, clock),
  };
}

/** What the platform has kept, asked with requests that polling leaves over. */
const pastReadings = ({ configuration, clock, platform }: Joined): PageSources["pastReadings"] => ({
  ask: async (code, signal) => {
    await platform.budget.turn(clock, signal);
    return platform.history(code, signal);
  },
  pauseMs: () => {
    const left = platform.budget.remaining(clock.monotonic());
    return left === null || left > configuration.platform.requests_per_minute / 2 ? 0 : 5_000;
  },
});

const viewOf = (
  { commands, mirror, retained }: Joined,
  status: Status,
  page: PageService | null,
): BridgeView => ({
  status,
  alarms: () => commands.limits.alarms.list,
  summary: () => summaryOf(mirror.store.controllers()),
  page,
  retained,
  commands,
});

/** What the broker holds when a link begins is looked at once, for all. */
function lookAtBroker(joined: Joined, status: Status): void {
  const { configuration, log, topics, retained, discovery, commands, connection, sharedHosts } = joined;
  const { discovery_prefix: prefix } = configuration.homeassistant;
  const { client_id: clientId } = configuration.mqtt;
  retained.onFound([topics.bridge.info], status);
  retained.onFound([], commands.earlier);
  retained.onFound([topics.alarms], commands.limits);
  if (discovery !== null) retained.onFound([], { onFound: (...found) => discovery.onFound(...found) });
  else
    withdrawEarlier({
      retained,
      settings: { topics, prefix, clientId },
      scan: sharedHosts === undefined ? null : (...of) => connection.scan(...of),
      log,
    });
}

function onReload(changes: readonly string[], joined: Joined, status: Status): void {
  const { journal, live, setLogLevel } = joined;
  if (changes.length === 0) return;
  if (changes.includes("log.level")) setLogLevel(live.current.log.level);
  const record = { type: "configuration_changed", changes } as const;
  journal.append(record, { durable: false }).catch(() => undefined);
  inForce(joined, status);
}

/** What is in force now is told to whoever shows or heeds it. */
function inForce({ commands }: Joined, status: Status): void {
  status.publish();
  commands.limits.engine.readOnlyChanged();
}

/** The bridge as a Sparkplug edge node; its code is loaded while the first polls are on their way. */
function edgeNodePart(above: Joined): Part & { facts(): object | null } {
  const { configuration, mirror, commands, broker, clock, gaps, random, log, version } = above;
  const { alarms } = commands.limits;
  const { store, inventory, watch } = mirror;
  const made: { node: EdgeNode | null } = { node: null };
  return {
    facts: () => made.node?.facts() ?? null,
    run: async (signal) => {
      const { EdgeNode, edgeNodeBroker } = await import("./sparkplug/edge-node.js");
      const node = new EdgeNode({
        settings: configuration.sparkplug,
        broker: edgeNodeBroker(configuration.mqtt, broker),
        version,
        store,
        isAccountKnown: () => inventory.isKnown,
        platformState: () => watch.state,
        submit: (request) => commands.commander.submit(request),
        alarms: () => alarms.list,
        setAlarm: (type, about, message) => alarms.set(type, about, message),
        memory: smallFile(above, "sparkplug.json"),
        clock,
        gaps,
        random,
        log,
      });
      made.node = node;
      alarms.onChange(() => node.onAlarms());
      watch.onState(() => node.platformState());
      commands.listen(node);
      await node.run(signal);
    },
  };
}

/** Measured values from the broker. */
const weatherListener = ({ commands: { limits }, connection }: Joined): Part => ({
  onMessage: (message) => {
    const isWeather = limits.isWeatherTopic(message.topic);
    if (isWeather) limits.onWeather(message, connection.broker?.protocolVersion);
    return isWeather;
  },
});

/** Hears of changes before the next poll; its code is loaded while the first polls are on their way. */
const pushListener = ({ configuration, platform, mirror, commands, clock, gaps, log }: Joined): Part => ({
  run: async (signal) => {
    if (!configuration.platform.push.enabled) return;
    const { PushChannels } = await import("./sync/push-channels.js");
    const readBacks = commands.commander;
    await new PushChannels({ platform, mirror, readBacks, clock, gaps, log }).run(signal);
  },
});

/** Rejects with what was seen from outside. What may be wrong sends nothing more from that moment on. */
const failingWith = (failing: AbortSignal, platform: PlatformClient): Part => ({
  run: async (signal) => {
    await untilAborted(AbortSignal.any([failing, signal]));
    if (!failing.aborted) return;
    void platform.close();
    throw abortReason(failing);
  },
});

/** What heeds those that see this bridge from outside. */
const outsideParts = (joined: Joined): readonly Part[] => [
  ...(joined.ownership === undefined ? [] : [clusterPart(joined.ownership, joined)]),
  ...(joined.failing === undefined ? [] : [failingWith(joined.failing, joined.platform)]),
];

const clusterLookMs = 2_000;

/** Tells the owner of the account what it has to know, and people when nobody confirms that it is the owner. */
const clusterPart = (
  ownership: Ownership,
  { commands: { limits }, clock, connection, mirror }: Joined,
): Part => ({
  run: (signal) =>
    every(clusterLookMs, clock, signal, () => {
      limits.alarms.set("cluster", bridgeItself, ownership.alarm());
      ownership.lack([
        ...(connection.state === "online" ? [] : (["broker"] as const)),
        ...(mirror.watch.state === "unreachable" ? (["platform"] as const) : []),
      ]);
    }),
  onDisconnected: () => ownership.linkLost(),
});

/** Where the page and the command line ask; a simulated world has no command line. */
const servers = (
  above: Joined,
  status: Status,
  requests: RequestServer,
  page: PageService | null,
): readonly Part[] => [
  ...(page === null ? [] : [pageServer(page, createPort(above, status), above)]),
  ...(above.outside === undefined ? [ownerServer(above, status, requests, page)] : []),
];

/** The command line of the same user asks there. */
const ownerServer = (
  above: Joined,
  status: Status,
  requests: RequestServer,
  page: PageService | null,
): Part => ({
  run: async (signal) => {
    const { configuration, broker, clock, log } = above;
    const { serveOwner } = await import("./http/owner.js");
    const { Faults } = await import("./http/faults.js");
    const faults = new Faults(log, clock);
    const service = async () => {
      const made = page ?? createPage({ ...above, serving: await loadServing() }, status, requests);
      if (made === null) throw new Error("no page can be made");
      return made;
    };
    const { data_dir: dataDir } = configuration;
    const brokerPort = broker?.port ?? null;
    await serveOwner({ dataDir, brokerPort, clock, log, faults, service }, signal).catch((error: unknown) =>
      faults.note(error),
    );
  },
});

const pageServer = (
  page: PageService,
  port: Port | null,
  { serving, shownElsewhere = null }: Joined,
): Part => ({
  run: async (signal) => {
    try {
      const shown = shownElsewhere === null ? null : page.run(signal);
      if (port !== null) {
        const opened = serving?.openPort(port);
        const { serveHttp } = await import("./http/server.js");
        await serveHttp(page, port, signal, opened);
      }
      await shown;
    } catch (error) {
      // Whoever looks at a greenhouse over MQTT must not lose it for the page.
      page.faults.note(error);
    }
  },
});
