import { randomBytes } from "node:crypto";
import { BrokerLink, openLink, versionAfter } from "../../mqtt/connection/link.js";
import {
  type BrokerFacts,
  type ConnectionSettings,
  defaultLimits,
  type IncomingMessage,
  type LinkEnd,
  type ProtocolVersion,
} from "../../mqtt/connection/settings.js";
import { streamFrom } from "../../mqtt/connection/stream.js";
import type { Clock } from "../../runtime/clock.js";
import { cameWithin } from "./finding.js";

export type ProbeSettings = Pick<
  ConnectionSettings,
  "url" | "username" | "password" | "clientId" | "tls" | "protocolVersion"
>;

export interface RoundTrip {
  /** What the broker said to the publish; `taken` on MQTT 3.1.1 says nothing about permission. */
  readonly published: "taken" | "refused" | "lost";
  readonly granted: boolean;
  readonly arrived: boolean;
  readonly why: string | null;
}

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
      void this.#link.closed.then((end) => {
        reject(new LinkLost(end.reason));
      });
    });
  }

  /** Publishes to a topic and listens for the same message to come back. */
  async roundTrip(topic: string, payload: string, waitMs: number): Promise<RoundTrip> {
    let came: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      came = resolve;
    });
    const watcher: Watcher = (message) => {
      if (message.topic === topic && message.payload.toString() === payload) came();
    };
    this.#watchers.add(watcher);
    try {
      const granted = (await this.#link.subscribe([topic], undefined).catch(() => [topic])).length === 0;
      const { published, why } = await this.#told(topic, payload);
      const arrived = granted && published === "taken" && (await cameWithin(this.#clock, waitMs, back));
      await this.#link.unsubscribe([topic]);
      return { published, granted, arrived, why };
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Whether the broker gives a retained message back to whoever subscribes after it. */
  async keeps(topic: string, payload: string, waitMs: number): Promise<boolean> {
    let came: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      came = resolve;
    });
    const watcher: Watcher = (message) => {
      if (message.retain && message.topic === topic && message.payload.toString() === payload) came();
    };
    this.#watchers.add(watcher);
    try {
      await this.#link.subscribeWithRetained([topic]).catch(() => undefined);
      const isKept = await cameWithin(this.#clock, waitMs, back);
      await this.#link.unsubscribe([topic]);
      return isKept;
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Everything retained under the filters, by topic; over when none came for `quietMs`. */
  async retained(filters: readonly string[], quietMs: number): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    let news = 0;
    const watcher: Watcher = ({ topic, payload, retain }) => {
      if (!retain) return;
      news += 1;
      found.set(topic, payload.toString());
    };
    this.#watchers.add(watcher);
    try {
      await this.#link.subscribeWithRetained(filters).catch(() => undefined);
      let seen = -1;
      while (seen !== news && found.size < 10_000) {
        seen = news;
        await this.#clock.wait(quietMs);
      }
      await this.#link.unsubscribe(filters);
      return found;
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Resolves when the socket is closed, at most after a second. */
  async close(): Promise<void> {
    this.#link.end();
    await cameWithin(this.#clock, 1_000, this.#link.closed);
    this.#link.destroy(null);
  }

  async #told(topic: string, payload: string): Promise<Pick<RoundTrip, "published" | "why">> {
    try {
      await this.publish(topic, payload, false);
      return { published: "taken", why: null };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { published: error instanceof LinkLost ? "lost" : "refused", why };
    }
  }
}

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

/** Beside a running bridge: never its own client id. */
export const probeId = (clientId: string): string => `${clientId}-${randomBytes(4).toString("hex")}`;
