import type { Core, Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { DiscoveryOutput } from "./discovery-output.js";
import type { Tell } from "../language/words.js";
import type { keys } from "./section.js";
import { withdrawEarlier } from "./withdrawals.js";

type Settings = Configured<typeof keys>;

/** Announces everything, each state behind its announcement. */
export function announce(core: Core, configuration: Settings, tell: Tell): Running {
  const { mirror, retained, outputs, connection, commands, clock } = core;
  const { store, inventory, poller } = mirror;
  const discovery = new DiscoveryOutput(
    {
      announce: (topic, text) => retained.announce(topic, text),
      publishStates: (code, which) => {
        if (code !== null) retained.release(code, which === "all");
        else if (which === "all") retained.repeat(bridgeStates(core));
      },
      listen: core.isOneOfMany ? (topics) => connection.listen(topics) : null,
      memory: core.file("homeassistant-withdrawn.json"),
      view: {
        controllers: () => store.controllers(),
        get: (code) => store.get(code),
        platformHadTime: () => inventory.hadTime,
        mayForget: (code) => code === null || inventory.mayForget(code),
      },
      clock,
      random: core.random,
      log: core.log,
    },
    settingsOf(core, configuration, tell),
  );
  retained.gateBy(discovery.gate);
  outputs.announceBy(discovery);
  discovery.onBirth(() => retained.republish());
  discovery.onBirth(() => commands.outbox.repeatLate());
  poller.onTried((code) => discovery.onTried(code));
  retained.onFound([], { onFound: (...found) => discovery.onFound(...found) });
  return { part: discovery };
}

/** What the device of the bridge shows. */
const bridgeStates = ({ topics, groupsAndScenes: { groups } }: Core): readonly string[] => [
  ...[topics.bridge.platform, topics.bridge.info, topics.bridge.health, topics.bridge.alarms],
  ...Array.from(groups.keys(), (id) => topics.group(id).json),
];

function settingsOf({ topics, version, page, groupsAndScenes }: Core, configuration: Settings, tell: Tell) {
  const { homeassistant, mqtt, platform } = configuration;
  return {
    topics,
    version,
    clientId: mqtt.client_id,
    pageUrl: page.url,
    prefix: homeassistant.discovery_prefix,
    statusTopic: homeassistant.status_topic,
    language: homeassistant.language,
    tell,
    sensorNames: homeassistant.sensor_names,
    hasBudget: platform.requests_per_minute > 0,
    groupsAndScenes,
  };
}

/** Takes back what an earlier run announced, as nothing is announced any more. */
export function withdraw(core: Core, { homeassistant, mqtt }: Settings): null {
  const { retained, connection, topics, log } = core;
  const settings = { topics, prefix: homeassistant.discovery_prefix, clientId: mqtt.client_id };
  const scan = core.isOneOfMany ? connection.scan.bind(connection) : null;
  withdrawEarlier(retained, settings, scan, log);
  return null;
}
