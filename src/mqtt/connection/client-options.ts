import type { IClientOptions } from "mqtt";
import type { LinkOptions } from "./link.js";

export function clientOptions({ settings, limits, version }: LinkOptions): IClientOptions {
  const { username, password, will } = settings;
  const url = credentialsOf(settings.url);
  return {
    protocolId: "MQTT",
    protocolVersion: version,
    clientId: settings.clientId,
    username: username ?? url.username,
    password: password ?? url.password,
    clean: true,
    keepalive: limits.keepaliveS,
    connectTimeout: limits.connectTimeoutMs,
    // The reconnect loop is ours: the library's gives up after a refusal and replays what cut the link.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // Its cache of number buffers takes 10 MB and saves next to nothing.
    writeCache: false,
    ...(will && { will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
    ...(version === 5 && {
      properties: { sessionExpiryInterval: 0, maximumPacketSize: limits.maxPacketBytes },
    }),
    log: () => undefined,
  };
}

function credentialsOf(url: string): { username?: string; password?: string } {
  const { username, password } = new URL(url);
  return {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  };
}
