import type { Configuration } from "../config/schema.js";

export interface AccountCounts {
  readonly controllers: number;
  readonly online: number;
  readonly sensors: number;
  readonly actuators: number;
}

/** What `bridge/info` tells: the settings by name, so that a secret added later cannot slip in. */
export function bridgeInfo(
  configuration: Configuration,
  facts: {
    version: string;
    /** Random id of this run. */
    instance: string;
    startedAt: number;
    counts: AccountCounts;
    readOnlyBecause: string | null;
    /** Null where there is no link. */
    mqtt: { readonly version: string; readonly because: string } | null;
  },
): string {
  const { platform, mqtt, homeassistant, polling, commands, mirror } = configuration;
  return JSON.stringify({
    version: facts.version,
    instance: facts.instance,
    started_at: new Date(facts.startedAt).toISOString(),
    account: facts.counts,
    read_only_because: facts.readOnlyBecause,
    mqtt: facts.mqtt,
    settings: {
      business_host: hostOf(platform.business_url),
      realtime_host: hostOf(platform.realtime_url),
      time_zone: platform.time_zone,
      requests_per_minute: platform.requests_per_minute,
      concurrency: platform.concurrency,
      push: platform.push.enabled,
      broker: mqtt.url === undefined ? "embedded" : hostOf(mqtt.url),
      client_id: mqtt.client_id,
      base_topic: mqtt.base_topic,
      state_qos: mqtt.state_qos,
      homeassistant: homeassistant.enabled,
      language: homeassistant.language,
      polling_ms: polling,
      commands: { ...commands },
      mirror,
    },
  });
}

// Without user, password and query, whatever somebody put there.
const hostOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
};
