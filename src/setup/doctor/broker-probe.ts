import { BrokerLink, openLink, versionAfter } from "../../mqtt/connection/link.js";
import {
  type BrokerFacts,
  type ConnectionSettings,
  defaultLimits,
  type IncomingMessage,
  type LinkEnd,
  type ProtocolVersion,
} from "../../mqtt/connection/settings.js";
import { seenThrough } from "../../mqtt/connection/session.js";
import { streamFrom } from "../../mqtt/connection/stream.js";
import type { Clock } from "../../runtime/clock.js";
import { cameWithin } from "./finding.js";

export type ProbeSettings = Pick<
  ConnectionSettings,
  "url" | "username" | "password" | "clientId" | "tls" | "protocolVersion"
>;

type Watcher = (message: IncomingMessage) => void;

/** One link to the broker for trying things out: a client id of its own, no will, no reconnecting. */
export class BrokerProbe {
  readonly facts: BrokerFacts;
  readonly #link: BrokerLink;
  readonly #clock: Clock;
  readonly #watchers: Set<Watcher>;

  constructor(link: BrokerLink, facts: BrokerFacts, clock: Clock, watchers: Set<Watcher>) {
    this.#link = link;
    this.facts = facts;
    this.#clock = clock;
    this.#watchers = watchers;
  }

  /** The filters the broker did not grant. */
  async refused(filters: readonly string[]): Promise<readonly string[]> {
    const refused = await this.#link.subscribe(filters, undefined).catch(() => filters);
    await this.#link.unsubscribe(filters);
    return refused;
  }

  /** Resolves once the broker acknowledged it; rejects with what it said, or with why the link ended. */
  publish(topic: string, payload: string, retain: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#link.send({ topic, payload, options: { retain } }, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
      void this.#link.closed.then((end) => reject(new LinkLost(end.reason)));
    });
  }

  /** Publishes to a topic and listens for the same message to come back. `taken` on MQTT 3.1.1 says nothing about permission. */
  async roundTrip(topic: string, payload: string, waitMs: number) {
    let end: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      end = this.#watch((message) => {
        if (message.topic === topic && message.payload.toString() === payload) resolve();
      });
    });
    const granted = (await this.#link.subscribe([topic], undefined).catch(() => [topic])).length === 0;
    const { published, why } = await this.publish(topic, payload, false).then(
      () => ({ published: "taken" as const, why: null }),
      (error: unknown) => ({
        published: error instanceof LinkLost ? ("lost" as const) : ("refused" as const),
        why: error instanceof Error ? error.message : String(error),
      }),
    );
    const arrived = granted && published === "taken" && (await cameWithin(this.#clock, waitMs, back));
    await this.#link.unsubscribe([topic]);
    end();
    return { published, granted, arrived, why };
  }

  /**
   * Everything retained under the filters, by topic. The broker sends what it holds behind its answer to the subscription, so
   * all of it has come when later questions are answered and nothing came before their answers.
   */
  async retained(filters: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    let count = 0;
    const end = this.#watch(({ topic, payload, retain }) => {
      if (!retain) return;
      count += 1;
      found.set(topic, payload.toString());
    });
    const whole = async () => {
      await this.#link.subscribeWithRetained(filters);
      await seenThrough(
        () => count,
        () => this.#link.unsubscribe([unused]),
      );
      await this.#link.unsubscribe(filters);
    };
    await Promise.race([whole(), this.#link.closed]).catch(() => undefined);
    end();
    return found;
  }

  /** Resolves when the socket is closed, at most after a second. */
  async close(): Promise<void> {
    this.#link.end();
    await cameWithin(this.#clock, 1_000, this.#link.closed);
    this.#link.destroy(null);
  }

  #watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** No filter of ours, so taking it back changes nothing; the broker answers all the same. */
const unused = "greenhouse2mqtt/doctor/unused";

class LinkLost extends Error {
  override name = "LinkLost" as const;
}

/** Connects once, falling back to MQTT 3.1.1 as the bridge would. Never rejects. */
export async function openProbe(
  settings: ProbeSettings,
  clock: Clock,
  connectMs: number,
): Promise<BrokerProbe | LinkEnd> {
  let version = settings.protocolVersion;
  for (;;) {
    const result = await attempt(settings, version, clock, connectMs);
    if (result instanceof BrokerProbe) return result;
    const next = versionAfter(version, result, settings.protocolVersion);
    if (next >= version) return result;
    version = next;
  }
}

async function attempt(
  settings: ProbeSettings,
  version: ProtocolVersion,
  clock: Clock,
  connectMs: number,
): Promise<BrokerProbe | LinkEnd> {
  const watchers = new Set<Watcher>();
  const link = await openLink({
    settings: { ...settings, will: undefined },
    limits: { ...defaultLimits, connectTimeoutMs: connectMs },
    version,
    message: (message) => {
      for (const watcher of [...watchers]) watcher(message);
    },
    openStream: streamFrom(settings, connectMs),
  });
  if (!(link instanceof BrokerLink)) return link;
  const facts = await link.accepted;
  return facts === null ? await link.closed : new BrokerProbe(link, facts, clock, watchers);
}
