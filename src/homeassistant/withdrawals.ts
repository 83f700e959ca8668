import type { Core } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import type { TextFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import {
  type Announced,
  type AnnouncedEntity,
  announcedIn,
  announcementBeside,
  bridgeDiscoveryTopic,
  foundDocument,
} from "./announced.js";
import { discoveryFilter } from "./identity.js";
import { fieldsOf } from "../runtime/objects.js";
import type { DocumentSettings } from "./documents.js";
import type { keys } from "./section.js";

type OnFound = (topic: string, payload: { toString(): string }) => void;

interface RetainedTopics {
  wanted(topic: string, payload: string, qos: 0 | 1): void;
  onFound(filters: readonly string[], finder: { onFound?: OnFound; onLooked?(): void }): void;
}

/**
 * Withdraws the announcements of an earlier run when nothing is announced any more. `scan` looks at single topics, for
 * many bridges on one broker; with null every announcement is looked at.
 */
function withdrawEarlier(
  retained: RetainedTopics,
  settings: Pick<DocumentSettings, "topics" | "prefix" | "clientId">,
  scan: ((topics: readonly string[], found: OnFound) => Promise<boolean>) | null,
  log: Pick<Logger, "info">,
): void {
  const { topics, prefix, clientId } = settings;
  const onFound: OnFound = (topic, payload) => {
    if (!topic.startsWith(`${prefix}/device/`) || foundDocument(payload.toString(), topics.base) === null)
      return;
    retained.wanted(topic, "", 1);
    log.info({ topic }, "cleared an announcement, as homeassistant.enabled is false");
  };
  if (scan === null) {
    retained.onFound([discoveryFilter(prefix)], { onFound });
    return;
  }
  const own = new Set([bridgeDiscoveryTopic(prefix, clientId)]);
  retained.onFound([], {
    onFound: (topic, payload) => {
      const announcement = announcementBeside(topic, payload, settings);
      if (announcement !== null) own.add(announcement.topic);
    },
    onLooked: () => void scan([...own], onFound),
  });
}

/** Components withdrawn from a discovery topic, each with its wall-clock time. */
interface Withdrawn {
  /** The device code; null for the bridge's own device. */
  readonly code: string | null;
  readonly components: Map<string, AnnouncedEntity & { readonly at: number }>;
}

const keptForMs = 30 * 24 * 3_600_000;
/** The oldest topics are dropped beyond this number; an account has far fewer. */
const mostTopics = 2_000;

/**
 * Remembers withdrawn components by discovery topic over restarts, so that they are withdrawn once more when Home
 * Assistant starts.
 */
export class Withdrawals {
  readonly #memory: TextFile;
  readonly #log: Logger;
  #kept = new Map<string, Withdrawn>();

  constructor(memory: TextFile, log: Logger) {
    this.#memory = memory;
    this.#log = log;
  }

  async load(): Promise<void> {
    try {
      this.#kept = decode(await this.#memory.read());
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot read what was withdrawn from Home Assistant before; entities removed while it was away may stay there",
      );
    }
  }

  /**
   * Has to be called before the withdrawal goes out, so that a crash in between forgets nothing. `now` is wall-clock
   * time.
   */
  async note(topic: string, code: string | null, gone: Announced, now: number): Promise<void> {
    // A stub's component was withdrawn earlier and keeps that time.
    const news = [...gone].filter(([, { by, unique_id: id }]) => by !== "stub" && id !== "");
    if (news.length === 0) return;
    const components = new Map(this.#kept.get(topic)?.components);
    for (const [key, entity] of news) components.set(key, { ...entity, at: now });
    this.#kept.delete(topic);
    this.#kept.set(topic, { code, components });
    const topics = [...this.due(now)].map(
      ([name, kept]) => [name, { code: kept.code, components: Object.fromEntries(kept.components) }] as const,
    );
    try {
      await this.#memory.write(JSON.stringify({ version: 1, topics: Object.fromEntries(topics) }));
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot keep what is withdrawn from Home Assistant; if it is away now, delete those entities there by hand",
      );
    }
  }

  /** Components to withdraw again, by topic. */
  due(now: number): ReadonlyMap<string, { readonly code: string | null; readonly components: Announced }> {
    for (const [topic, { components }] of this.#kept) {
      for (const [key, { at }] of components) if (now - at > keptForMs) components.delete(key);
      if (components.size === 0 || this.#kept.size > mostTopics) this.#kept.delete(topic);
    }
    return this.#kept;
  }
}

/** Unreadable parts of the file are left out, as it is only a reminder. */
function decode(text: string | null): Map<string, Withdrawn> {
  const read = fieldsOf(text === null ? null : (JSON.parse(text) as unknown));
  const topics = Object.entries(fieldsOf(read["topics"]));
  return new Map(
    topics.map(([topic, kept]) => {
      const { code, components } = fieldsOf(kept);
      const entities = [...announcedIn(components, "earlier run")].flatMap(([key, entity]) => {
        const { at } = fieldsOf(fieldsOf(components)[key]);
        return typeof at === "number" ? [[key, { ...entity, at }] as const] : [];
      });
      return [topic, { code: typeof code === "string" ? code : null, components: new Map(entities) }];
    }),
  );
}

/** Withdraws what an earlier run announced, as nothing is announced any more. */
export function withdraw(core: Core, { homeassistant, mqtt }: Configured<typeof keys>): null {
  const { retained, connection, topics, log } = core;
  const settings = { topics, prefix: homeassistant.discovery_prefix, clientId: mqtt.client_id };
  const scan = core.isOneOfMany ? connection.scan.bind(connection) : null;
  withdrawEarlier(retained, settings, scan, log);
  return null;
}
