import { TextError } from "../language/text.js";
import { falseIfFailed } from "../runtime/failures.js";
import { rightsOf } from "../broker/acl.js";
import { brokerSettings, type BrokerUser, reachable } from "../broker/settings.js";
import type { Configuration } from "../config/schema.js";
import { BrokerLink, openLink, streamFrom, versionAfter } from "../mqtt/connection/link.js";
import { seenThrough } from "../mqtt/connection/session.js";
import {
  type BrokerFacts,
  clientIdBeside,
  connectionSettings,
  type ConnectionSettings,
  defaultLimits,
  type Embedded,
  type IncomingMessage,
  type LinkEnd,
  type ProtocolVersion,
} from "../mqtt/connection/settings.js";
import { topicsUnder } from "../mqtt/topics.js";
import { cameWithin, type Clock } from "../runtime/clock.js";
import { isPasswordHash } from "../runtime/passwords.js";

type ClientSettings = Pick<
  ConnectionSettings,
  "url" | "username" | "password" | "clientId" | "tls" | "protocolVersion"
>;

/**
 * The login of a client on this computer at a running bridge's embedded broker; null if its passwords are known only as
 * hashes. It uses `mqtt.username`, else a user with a plain password, preferably one that may send requests.
 */
function embeddedLogin(configuration: Configuration) {
  const { broker, mqtt } = configuration;
  const { bridge } = topicsUnder(mqtt.base_topic);
  const mayAsk = (user: BrokerUser) => {
    const rights = rightsOf(user, brokerSettings(configuration).topics);
    return rights.maySubscribe(bridge.state) && rights.mayPublish(bridge.request("health"), 1);
  };
  const plain = broker.users.filter(({ password }) => !isPasswordHash(password));
  const user = mqtt.username === undefined ? (plain.find(mayAsk) ?? plain[0]) : mqtt;
  if (user === undefined && broker.users.length > 0) return null;
  return { username: user?.username, password: user?.password };
}

/** Whether there is a login for the running bridge's broker. */
export const hasLogin = (configuration: Configuration): boolean =>
  configuration.mqtt.url !== undefined || embeddedLogin(configuration) !== null;

/** Whether a password would be sent to whatever listens at the embedded broker's port. */
export const needsProof = (configuration: Configuration): boolean =>
  configuration.mqtt.url === undefined && embeddedLogin(configuration)?.password !== undefined;

/**
 * Settings for a link beside the bridge's: another client id, and no will, which would say "offline". Without
 * `embedded` and `mqtt.url` it leads to the running bridge's own broker.
 */
export function settingsBeside(
  configuration: Configuration,
  embedded: Embedded | null = null,
): ClientSettings {
  const { mqtt, broker } = configuration;
  const { host, port } = broker;
  const local = { url: `mqtt://${reachable(host)}:${port}`, ...embeddedLogin(configuration) };
  const reached = mqtt.url === undefined && embedded === null ? { ...mqtt, ...local } : mqtt;
  const settings = connectionSettings(reached, topicsUnder(mqtt.base_topic), embedded, [], {});
  const { url, username, password, tls, protocolVersion, clientId } = settings;
  return { url, username, password, tls, protocolVersion, clientId: clientIdBeside(clientId) };
}

type Watcher = (message: IncomingMessage) => void;

/** A link to the broker beside the bridge's own; once lost, it is not made again. */
export class BrokerClient {
  readonly facts: BrokerFacts;
  readonly closed: Promise<LinkEnd>;
  readonly #link: BrokerLink;
  readonly #clock: Clock;
  readonly #watchers: Set<Watcher>;

  constructor(link: BrokerLink, facts: BrokerFacts, clock: Clock, watchers: Set<Watcher>) {
    this.#link = link;
    this.facts = facts;
    this.closed = link.closed;
    this.#clock = clock;
    this.#watchers = watchers;
  }

  /** Calls the watcher, which must not throw, for each message. The returned function ends that. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Resolves with the filters that the broker did not grant. */
  subscribe(filters: readonly string[]): Promise<readonly string[]> {
    return this.#link.subscribe(filters, undefined).catch(() => filters);
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return this.#link.unsubscribe(filters);
  }

  /** Resolves when the broker has acknowledged the message; rejects with its refusal, or with a LinkLost. */
  publish(topic: string, payload: string, retain = false): Promise<void> {
    const publish = { topic, payload, options: { retain } };
    return new Promise((resolve, reject) => {
      // A broker without QoS 1 acknowledges nothing.
      if (this.facts.maximumQos === 0) {
        this.#link.publish(publish);
        resolve();
      } else
        this.#link.publish(publish, (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      void this.closed.then((end) => reject(new LinkLost(end.reason)));
    });
  }

  /**
   * Subscribes, and resolves when all retained messages have come, to whether that was all of them. The broker sends
   * them after its answer to the subscription, so all have come once later questions are answered with nothing before
   * their answers.
   */
  async subscribeWithRetained(filters: readonly string[]): Promise<boolean> {
    let count = 0;
    const end = this.watch(({ retain }) => {
      if (retain) count += 1;
    });
    const whole = async () => {
      const refused = await this.#link.subscribeWithRetained(filters, undefined);
      await seenThrough(
        () => count,
        () => this.#link.unsubscribe([unused]),
      );
      return refused.length === 0;
    };
    const isWhole = await Promise.race([whole(), this.closed.then(() => false)]).catch(falseIfFailed);
    end();
    return isWhole;
  }

  /** Retained messages under the filters, by topic; `isWhole` says whether the broker sent all of them. */
  async readRetained(filters: readonly string[]) {
    const found = new Map<string, string>();
    const end = this.watch(({ topic, payload, retain }) => {
      if (retain) found.set(topic, payload.toString());
    });
    const isWhole = await this.subscribeWithRetained(filters);
    if (isWhole) await this.unsubscribe(filters);
    end();
    return { found, isWhole };
  }

  /** Resolves when the socket is closed, after a second at most. */
  async close(): Promise<void> {
    this.#link.end();
    await cameWithin(this.#clock, 1_000, this.closed);
    this.#link.destroy(null);
  }
}

/** Never subscribed, so unsubscribing changes nothing; the broker answers all the same. */
const unused = "greenhouse2mqtt/unused";

export class LinkLost extends TextError {
  override name = "LinkLost" as const;
}

/** Connects once, falling back to MQTT 3.1.1 as the bridge would. Never rejects. */
export async function openClient(
  settings: ClientSettings,
  clock: Clock,
  connectMs: number,
): Promise<BrokerClient | LinkEnd> {
  const attempt = async (version: ProtocolVersion): Promise<BrokerClient | LinkEnd> => {
    const watchers = new Set<Watcher>();
    const link = await openLink({
      settings,
      limits: { ...defaultLimits, connectTimeoutMs: connectMs },
      version,
      message: (message) => {
        for (const watcher of [...watchers]) watcher(message);
      },
      openStream: streamFrom(settings, connectMs),
    });
    if (!(link instanceof BrokerLink)) return link;
    const facts = await link.accepted;
    return facts === null ? await link.closed : new BrokerClient(link, facts, clock, watchers);
  };
  const wanted = settings.protocolVersion;
  const first = await attempt(wanted);
  if (first instanceof BrokerClient) return first;
  const next = versionAfter(wanted, first, wanted);
  return next === wanted ? first : attempt(next);
}
