import anyAscii from "any-ascii";
import { CommandService } from "./commands/service.js";
import type { StepRecording } from "./commands/recording.js";
import { features } from "./config/features.js";
import type { LiveSettings } from "./config/live-settings.js";
import type { Configuration } from "./config/schema.js";
import type { Core, Ownership } from "./feature/core.js";
import type { BridgeEvent } from "./greenhouse/events.js";
import { weatherTopics } from "./limits/service.js";
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
import { RetainedTopics } from "./mqtt/retained-topics.js";
import { topicsUnder } from "./mqtt/topics.js";
import { createPlatform, type PlatformClient, type PlatformOutside } from "./platform/client.js";
import type { SharedHosts } from "./platform/shared.js";
import { type Files, textFile } from "./runtime/file-system.js";
import type { Logger } from "./runtime/log.js";
import { BrokerTests } from "./status/other-bridge.js";
import { OverdueWatch } from "./status/overdue.js";
import { PlatformWatch } from "./sync/hosts.js";
import { isAdded } from "./sync/inventory.js";
import { createMirror, type Mirror } from "./sync/mirror.js";
import { leavesOut } from "./sync/settings.js";

/*
 * What every bridge has whatever its features are: the link to the broker, the readings, their retained topics, and the
 * path of commands.
 */

/** What a bridge meets outside of its process; an absent member is the real thing. The simulation replaces it. */
interface Outside {
  /** The small files of the data directory. */
  readonly files?: Files;
  readonly platform?: PlatformOutside;
  /** Makes the link to the broker. */
  readonly connect?: (settings: ConnectionSettings, ports: ConnectionPorts) => Connection;
  /** The platform client that commands use; it is made before every listener to the readings except the outputs. */
  readonly forCommands?: (reading: Reading) => PlatformClient;
  /** Receives each event, also while there is no broker. */
  readonly onEvent?: (event: BridgeEvent) => void;
}

/** The platform client, and what it has read. */
export interface Reading {
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
}

/** What a run begins with. */
export interface Ground extends Pick<
  Core,
  "version" | "clock" | "gaps" | "random" | "log" | "signal" | "inPlace" | "journal" | "broker"
> {
  readonly configuration: Configuration;
  readonly live: LiveSettings;
  readonly files: Files;
  /** The text of the alarm `crash_loop`; null for none. */
  readonly crashLoop: () => string | null;
  /** Log of the platform's answers and of what was found there; by default the log of the bridge. */
  readonly mirrorLog?: Logger;
  /** Writes a line for each accepted command and each result; no lines without it. */
  readonly commandLog?: Logger | undefined;
  /** Records every step of the command book, for maintainers. */
  readonly recording?: StepRecording | undefined;
  readonly outside?: Outside;
  /** Whether this machine may act, where several machines can run this bridge. */
  readonly ownership?: Ownership;
  /** What the accounts of one process share for each host of the platform. */
  readonly sharedHosts?: SharedHosts;
}

/** The core, with members that only the bridge uses. */
export interface BridgeCore extends Core {
  readonly events: EventOutput;
  readonly tests: BrokerTests;
  readonly overdue: OverdueWatch;
}

/** Makes the core. The link passes messages and its own changes to `parts`, which may be filled later. */
export async function createCore(ground: Ground, parts: readonly Part[]): Promise<BridgeCore> {
  const { configuration, live, version, clock, gaps, random, log, signal, inPlace, journal, broker } = ground;
  const file = (name: string) => textFile(configuration.data_dir, name, ground.files);
  const link = createLink(ground, parts);
  const reading = createReading(ground, link.onEvent, file);
  const publishing = createOutputs(ground, { ...link, ...reading });
  const around = { ...ground, ...link, ...reading, ...publishing, file };
  const tests = new BrokerTests(around, live);
  const overdue = new OverdueWatch({ clock, gaps }, configuration.polling, reading.mirror);
  const commands = createCommands(around, tests, overdue);
  return {
    ...{ configuration, version, clock, gaps, random, log, signal, file, inPlace, journal, broker },
    ...{ ...link, ...reading, ...publishing, tests, overdue, commands },
    rules: () => live.commandRules(),
    groupsAndScenes: groupsAndScenesOf(live),
    secrets: () => live.secrets,
    page: {
      url: await features.http.addressOf(configuration.http),
      get kinds(): Core["page"]["kinds"] {
        const { http } = live.configured;
        return http === false ? ["temperature", "humidity"] : http.overview;
      },
    },
    ownership: ground.ownership ?? null,
    isOneOfMany: ground.sharedHosts !== undefined,
  };
}

/** Groups and scenes, read again after each change of the configuration. */
function groupsAndScenesOf(live: LiveSettings): Core["groupsAndScenes"] {
  let of = live.configured;
  let read = features.groups.read(of);
  return () => {
    if (of !== live.configured) read = features.groups.read((of = live.configured));
    return read;
  };
}

/**
 * In a cluster: how long, in seconds, the broker keeps unhandled commands for the next member, which ends each with a
 * result.
 */
const commandsKeptForS = 3_600;

function createLink(ground: Ground, parts: readonly Part[]) {
  const { configuration, broker, clock, gaps, random, log, sharedHosts, outside, ownership } = ground;
  const { mqtt, weather } = configuration;
  const keptForS = ownership === undefined ? null : commandsKeptForS;
  const topics = topicsUnder(mqtt.base_topic, mqtt);
  const isOneOfMany = sharedHosts !== undefined;
  // Accounts of a fleet are told apart by their files, so none has to hear the self-tests of the others. With 1,000 of
  // them these would be a million messages a minute.
  const others = [
    ...(isOneOfMany ? [] : topics.othersSelfTest),
    ...features.homeassistant.listensTo(configuration, isOneOfMany),
  ];
  const settings = connectionSettings(mqtt, topics, broker, others, partListeners(parts), keptForS);
  const heard = weatherTopics(weather);
  const connect = outside?.connect ?? ((...of) => new BrokerConnection(...of));
  const greetings = sharedHosts?.greetings.of(settings.url);
  // The embedded broker limits each client's pace itself.
  const flood = broker === null ? { flood: floodListener(parts) } : {};
  const connection = connect({ ...settings, ...flood, heard }, { clock, gaps, random, log, greetings });
  const events = new EventOutput(topics, connection, clock, log);
  const listeners: ((event: BridgeEvent) => void)[] = [];
  const onEvent = (event: BridgeEvent) => {
    events.publish(event);
    outside?.onEvent?.(event);
    for (const listener of listeners) listener(event);
  };
  const listenToEvents = (listener: (event: BridgeEvent) => void) => void listeners.push(listener);
  return { topics, connection, events, onEvent, listenToEvents };
}

type Link = ReturnType<typeof createLink>;

function createReading(ground: Ground, onEvent: Core["onEvent"], file: Core["file"]): Reading {
  const { configuration, clock, random, log, mirrorLog = log, outside, sharedHosts } = ground;
  const watch = new PlatformWatch(clock, mirrorLog, onEvent);
  const platform = createPlatform(configuration.platform, {
    clock,
    random,
    log,
    dataDir: configuration.data_dir,
    onLink: (link) => watch.onFacts(link.host, link),
    onCredential: () => watch.credentialRenewed(),
    onMixedUp: (request, device) => watch.mixedUp(request, device),
    files: ground.files,
    outside: outside?.platform,
    shared: sharedHosts,
  });
  const mirror = createMirror({
    configuration,
    platform,
    watch,
    clock,
    random,
    log: mirrorLog,
    transliterate: anyAscii,
    onEvent,
    absences: file("absent-controllers.json"),
    seenAddresses: file("addresses-seen.json"),
  });
  return { platform, mirror };
}

/** Makes the retained topics and the outputs that follow the readings. */
function createOutputs(ground: Ground, { topics, connection, mirror, onEvent }: Link & Reading) {
  const { configuration, clock, log } = ground;
  const { store, inventory, watch } = mirror;
  const context = {
    topics,
    qos: configuration.mqtt.state_qos,
    view: store,
    gate: null,
    isLeftOut: leavesOut(configuration, anyAscii),
  };
  const retained = new RetainedTopics(context, connection, clock, log);
  watch.onState((state) => retained.wanted(topics.bridge.platform, state));
  const outputs = new Outputs({
    topics,
    connection,
    retained,
    store,
    isAccountKnown: () => inventory.isKnown,
    platformHadTime: () => inventory.hadTime,
    onEvent,
    clock,
    log,
  });
  return { retained, outputs };
}

/** Makes the path of commands, with everything that may refuse one. */
function createCommands(
  around: Ground & Link & Reading & ReturnType<typeof createOutputs> & Pick<Core, "file">,
  tests: BrokerTests,
  overdue: OverdueWatch,
): CommandService {
  const { live, mirror, ownership, outside, file } = around;
  const { store, inventory, watch } = mirror;
  const underLease = ownership?.underLease(around.platform) ?? around.platform;
  const platform = outside?.forCommands?.({ platform: underLease, mirror }) ?? underLease;
  const commands = new CommandService({
    ...around,
    platform,
    store,
    clockSkewMs: platform.clockSkewMs,
    isAccountKnown: () => inventory.isKnown,
    notTaking: ownership?.commandsProblem,
    isOfCluster: ownership !== undefined,
    readingsKept: file("readings-pending.json"),
    link: around.connection,
    rules: live.commandRules,
    otherBridge: tests.isShared,
    overdue: () => {
      const { all: late, upToDate } = overdue.now();
      return { late, upToDate };
    },
    readingsAnsweredAt: (code) => mirror.poller.tally.answeredAt("sensors", code),
  });
  watch.onState((state) => commands.limits.alarms.onPlatformState(state));
  inventory.onNews((news) => {
    if (isAdded(news)) commands.commander.feed({ type: "admitted", code: news.code });
  });
  return commands;
}
