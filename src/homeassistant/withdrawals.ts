import type { Logger } from "../runtime/log.js";
import { type AnnouncedEntity, record, type WithdrawnDevice } from "./announced.js";
import { platforms } from "./documents.js";

/*
 * Home Assistant removes only what it has discovered since its own start. What was withdrawn while it was away stays in
 * its registry for ever, unless it is announced and withdrawn once more when it is back.
 */

/** A file of the data directory. */
export interface WithdrawalMemory {
  /** The text last written; null when there is none. */
  read(): Promise<string | null>;
  /** Durable when it resolves. */
  write(text: string): Promise<void>;
}

interface Kept {
  readonly code: string | null;
  readonly components: Map<string, AnnouncedEntity & { readonly at: number }>;
}

const keptForMs = 30 * 24 * 3_600_000;
/** The oldest topics go first; an account has far fewer. */
const mostTopics = 2_000;

/** What was withdrawn, by discovery topic. */
export class Withdrawals {
  readonly #memory: WithdrawalMemory;
  readonly #log: Logger;
  #kept = new Map<string, Kept>();

  constructor(memory: WithdrawalMemory, log: Logger) {
    this.#memory = memory;
    this.#log = log;
  }

  async load(): Promise<void> {
    try {
      this.#kept = decoded(await this.#memory.read());
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot read what was withdrawn from Home Assistant before; entities removed while it was away may stay there",
      );
    }
  }

  /** Call it before the withdrawal goes out, so that no crash in between forgets it. `now` is of the wall clock. */
  async note(topic: string, { code, components }: WithdrawnDevice, now: number): Promise<void> {
    if (components.size === 0) return;
    const kept = this.#kept.get(topic)?.components ?? new Map<string, AnnouncedEntity & { at: number }>();
    for (const [key, entity] of components)
      if (entity.unique_id !== "") kept.set(key, { ...entity, at: now });
    this.#kept.delete(topic);
    this.#kept.set(topic, { code, components: kept });
    this.#expire(now);
    await this.#save();
  }

  /** What is to be withdrawn again, by topic. */
  due(now: number): ReadonlyMap<string, WithdrawnDevice> {
    this.#expire(now);
    return this.#kept;
  }

  #expire(now: number): void {
    for (const [topic, { components }] of this.#kept) {
      for (const [key, { at }] of components) if (now - at > keptForMs) components.delete(key);
      if (components.size === 0 || this.#kept.size > mostTopics) this.#kept.delete(topic);
    }
  }

  async #save(): Promise<void> {
    try {
      await this.#memory.write(encoded(this.#kept));
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot keep what is withdrawn from Home Assistant; if it is away now, delete those entities there by hand",
      );
    }
  }
}

const encoded = (kept: ReadonlyMap<string, Kept>): string =>
  JSON.stringify({
    version: 1,
    topics: Object.fromEntries(
      [...kept].map(([topic, { code, components }]) => [
        topic,
        { code, components: Object.fromEntries(components) },
      ]),
    ),
  });

/** Whatever cannot be read of the file is left out: it is only a reminder. */
function decoded(text: string | null): Map<string, Kept> {
  const kept = new Map<string, Kept>();
  if (text === null) return kept;
  for (const [topic, entry] of entries(record(JSON.parse(text))?.["topics"])) {
    const { code, components } = record(entry) ?? {};
    const read: Kept["components"] = new Map();
    for (const [key, entity] of entries(components)) {
      const { platform: name, unique_id: id, at } = record(entity) ?? {};
      const platform = platforms.find((one) => one === name);
      if (platform !== undefined && typeof id === "string" && typeof at === "number")
        read.set(key, { platform, unique_id: id, at });
    }
    kept.set(topic, { code: typeof code === "string" ? code : null, components: read });
  }
  return kept;
}

const entries = (value: unknown): [string, unknown][] => Object.entries(record(value) ?? {});
