import { createServer } from "node:net";
import { connectionSettings } from "../../compose/connection-settings.js";
import { startEmbeddedBroker } from "../../compose/embedded-broker.js";
import { topicsUnder } from "../../mqtt/topics.js";
import { brokerName } from "../../mqtt/connection/stream.js";
import type { Configuration } from "../../config/schema.js";
import { silentLog } from "./silent-log.js";
import { BrokerProbe, openProbe, probeId, type ProbeSettings } from "./broker-probe.js";
import { failed, ok as okVerdict, type Verdict } from "./finding.js";
import type { Scene } from "./scene.js";

export type Access =
  | {
      readonly ok: true;
      readonly probe: BrokerProbe;
      readonly name: string;
      /** Let in like any other client, without the bridge's own rights. */
      readonly isGuest: boolean;
    }
  | { readonly ok: false; readonly verdict: Verdict };

type Embedded = NonNullable<Awaited<ReturnType<typeof startEmbeddedBroker>>>;

/** A link to the broker the bridge would use: the configured one, or the embedded one. */
export async function openAtBroker(scene: Scene): Promise<Access> {
  const { url } = scene.configuration.mqtt;
  return url === undefined
    ? await openAtEmbedded(scene)
    : await opened(scene, probeSettings(scene, null), "mqtt.url");
}

/** What the bridge would connect with, but under another client id, and without its will: that would say "offline". */
export function probeSettings(
  { configuration }: Pick<Scene, "configuration">,
  embedded: Embedded | null,
): ProbeSettings {
  const topics = topicsUnder(configuration.mqtt.base_topic);
  const settings = connectionSettings(configuration, topics, embedded, {});
  const { url, username, password, tls, protocolVersion } = settings;
  return { url, username, password, tls, protocolVersion, clientId: probeId(configuration.mqtt.client_id) };
}

async function opened(scene: Scene, settings: ProbeSettings, key: string): Promise<Access> {
  const { ports, limits } = scene;
  const name = brokerName(settings.url);
  const probe = await openProbe(settings, ports.clock, limits.connectMs);
  if (probe instanceof BrokerProbe) return { ok: true, probe, name, isGuest: false };
  const [what, ...rest] = probe.reason.split(/: (?=check|is |use|put|allow|change|renew|give|raise)/);
  const remedy = rest.join(": ");
  const place = (what ?? "").startsWith(name) ? "" : `${name}: `;
  return {
    ok: false,
    verdict: failed(`${place}${what ?? probe.reason}`, remedy === "" ? `check ${key}` : remedy),
  };
}

/**
 * Beside a running bridge its embedded broker is reached as any client would. Otherwise one is started as configured, but
 * on a free port of this computer only, so that nobody else finds it; the configured port is only looked at.
 */
async function openAtEmbedded(scene: Scene): Promise<Access> {
  const { configuration } = scene;
  if ((await scene.ports.holder()) !== null) return await openAtRunning(scene);
  const { host, port } = configuration.broker;
  const busy = await whyBusy(host, port);
  if (busy !== null) return { ok: false, verdict: busy };
  try {
    const embedded = await startEmbeddedBroker({
      configuration: onFreePorts(configuration),
      clock: scene.ports.clock,
      random: scene.ports.random,
      log: silentLog,
      setLogLevel: () => undefined,
      version: scene.ports.version,
    });
    if (embedded === null) return { ok: false, verdict: failed("it was not started", "set mqtt.url") };
    scene.evidence.endings.push(() => embedded.close());
    const access = await opened(scene, probeSettings(scene, embedded), "broker");
    return access.ok ? { ...access, name: `the embedded broker (port ${port} is free)` } : access;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "BrokerStartError") throw error;
    return {
      ok: false,
      verdict: failed(`the embedded broker does not start: ${error.message}`, "correct the section broker"),
    };
  }
}

/** A user with a plain password serves as login; where all are hashed, being refused is as it should be. */
async function openAtRunning(scene: Scene): Promise<Access> {
  const { broker, mqtt } = scene.configuration;
  const user = broker.users.find(({ password }) => !/^\$?scrypt/.test(password));
  const local = broker.host === "0.0.0.0" || broker.host === "::" ? "127.0.0.1" : broker.host;
  const host = local.includes(":") && !local.startsWith("[") ? `[${local}]` : local;
  const settings: ProbeSettings = {
    url: `mqtt://${host}:${broker.port}`,
    clientId: probeId(mqtt.client_id),
    protocolVersion: mqtt.protocol_version,
    ...(user && { username: user.username, password: user.password }),
  };
  const probe = await openProbe(settings, scene.ports.clock, scene.limits.connectMs);
  const name = "the embedded broker of the running bridge";
  if (probe instanceof BrokerProbe) return { ok: true, probe, name, isGuest: true };
  return {
    ok: false,
    verdict:
      probe.kind === "refused" && user === undefined && broker.users.length > 0
        ? okVerdict(`${name} answers and wants a password; those in the configuration are only hashes`)
        : failed(`${name}: ${probe.reason}`, "look at the log of the bridge"),
  };
}

function onFreePorts(configuration: Configuration): Configuration {
  const { broker } = configuration;
  const { websocket_port: webSocketPort, tls } = broker;
  return {
    ...configuration,
    broker: {
      ...broker,
      host: "127.0.0.1",
      port: 0,
      websocket_port: webSocketPort === undefined ? undefined : 0,
      tls: { ...tls, port: 0 },
    },
  };
}

/** Opens the configured port for a moment. Null when the bridge could have it. */
function whyBusy(host: string, port: number): Promise<Verdict | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => {
      const code = "code" in error ? String(error.code) : error.message;
      resolve(
        code === "EADDRINUSE"
          ? failed(
              `port ${port} for the embedded broker is in use by another program`,
              "if that is Mosquitto, set mqtt.url to it; else set broker.port to a free port",
            )
          : failed(
              `the embedded broker cannot listen on ${host}, port ${port} (${code})`,
              "check broker.host and broker.port",
            ),
      );
    });
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port, exclusive: true }, () => {
      server.close(() => {
        resolve(null);
      });
    });
  });
}
