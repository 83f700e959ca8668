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
 * What every bridge has, whatever its features are, made in one go: the link, what was read, what is published of it, and the path of
 * commands.
 */

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

/** What asks the platform, and holds what it showed. */
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
  /** What is to be told of a crash loop; null for none. */
  readonly crashLoop: () => string | null;
  /** Is told how the platform answers and what is found there; the log of all where absent. */
  readonly mirrorLog?: Logger;
  /** At which level the log names each controller and actuator found; `info` where absent. */
  readonly foundLevel?: "info" | "debug";
  /** Takes a line of each command taken and of each result; without it none is written. */
  readonly commandLog?: Logger | undefined;
  /** Takes every step of the book of commands, for a maintainer. */
  readonly recording?: StepRecording | undefined;
  readonly outside?: Outside;
  /** Where other machines may run this bridge as well: what this one may do now. */
  readonly ownership?: Ownership;
  /** What other accounts of the process share of the platform's hosts. */
  readonly sharedHosts?: SharedHosts;
}

/** The core with what of it nobody but the bridge itself asks. */
export interface BridgeCore extends Core {
  readonly events: EventOutput;
  readonly tests: BrokerTests;
  readonly overdue: OverdueWatch;
}

/** The link tells `parts` what happens on it, once they are in the list. */
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

/** Read anew where the configuration is another one. */
function groupsAndScenesOf(live: LiveSettings): Core["groupsAndScenes"] {
  let of = live.configured;
  let read = features.groups.read(of);
  return () => {
    if (of !== live.configured) read = features.groups.read((of = live.configured));
    return read;
  };
}

/** What no member of a cluster has dealt with the broker keeps for the next one, which ends each in a result. */
const commandsKeptForS = 3_600;

function createLink(ground: Ground, parts: readonly Part[]) {
  const { configuration, broker, clock, gaps, random, log, sharedHosts, outside, ownership } = ground;
  const { mqtt, weather } = configuration;
  const keptForS = ownership === undefined ? null : commandsKeptForS;
  const topics = topicsUnder(mqtt.base_topic, mqtt);
  const isOneOfMany = sharedHosts !== undefined;
  // The accounts of a fleet are told apart by their files; each would hear each of the others, a million messages a minute of 1,000.
  const others = [
    ...(isOneOfMany ? [] : topics.othersSelfTest),
    ...features.homeassistant.listensTo(configuration, isOneOfMany),
  ];
  const settings = connectionSettings(mqtt, topics, broker, others, partListeners(parts), keptForS);
  const heard = weatherTopics(weather);
  const connect = outside?.connect ?? ((...of) => new BrokerConnection(...of));
  const greetings = sharedHosts?.greetings.of(settings.url);
  // The embedded broker reads each client at a pace of its own.
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
  const { configuration, clock, random, log, mirrorLog = log, foundLevel, outside, sharedHosts } = ground;
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
    foundLevel,
    transliterate: anyAscii,
    onEvent,
    absences: file("absent-controllers.json"),
    seenAddresses: file("addresses-seen.json"),
  });
  return { platform, mirror };
}

/** What becomes of what the platform showed: retained topics. */
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

/** The path of commands on what was read, and what stands against all of them. */
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
