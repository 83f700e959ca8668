import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller, PlatformState } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Rest } from "../runtime/schedule.js";
import type { BrokerConnection } from "./connection.js";
import { PublishError } from "./connection/publish.js";
import { Outbox } from "./outbox.js";
import type { Extent } from "./leftovers.js";
import type { StateGate } from "./retained-state.js";
import { RetainedTopics, type RetainedTopicsParts } from "./retained-topics.js";
import { controllersDocument, eventDocument } from "./projection.js";

interface BirthPorts {
  /** Publishes `online`, retained; rejects with a PublishError. */
  readonly publish: () => Promise<void>;
  /** The last words were said, or are about to be; nothing may follow them. */
  readonly isEnding: () => boolean;
  /** Resolves when a publish would go out at once. */
  readonly ready: () => Promise<void>;
  readonly log: Logger;
}

/**
 * Says `online` until the broker has it. Whatever follows on this link waits for it: a broker that takes it late would
 * otherwise show a bridge that is online beside the readings of before. Resolves with false when the link went meanwhile, or
 * is ending.
 */
export async function announceOnline({ publish, ready, isEnding, log }: BirthPorts): Promise<boolean> {
  while (!isEnding()) {
    try {
      await publish();
      return true;
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      switch (error.kind) {
        case "offline":
          return false;
        case "busy":
          await ready();
          break;
        case "unacknowledged":
          // The connection has told that this broker acknowledges nothing.
          log.debug("the broker did not acknowledge that the bridge is online; saying it again");
          break;
        case "refused":
        case "invalid":
          // Its readings are as useful without; a reader who waits for `online` is told the reason here.
          log.error(
            { reason: error.message },
            "the broker refuses the bridge's own state; allow it in the access list",
          );
          return true;
      }
    }
  }
  return false;
}

/** What tells others which states there are, before these are shown. */
interface Announcer {
  readonly gate: StateGate;
  connected(): void;
  disconnected(): void;
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void;
  /** Whether what an earlier run left may be emptied: whatever reads it was told, and had the time to take that in. */
  mayClearLeftovers(): boolean;
}

interface OutputParts extends Pick<RetainedTopicsParts, "topics" | "qos" | "isLeftOut"> {
  readonly connection: BrokerConnection;
  readonly store: RetainedTopicsParts["view"] & {
    onChange(listener: (before: Controller | undefined, after: Controller | undefined) => void): () => void;
  };
  /** Null where nothing is announced. */
  readonly announcer: Announcer | null;
  /** Whether a successful list that was not empty has been seen since start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform has had the time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const mostEvents = 100;
/** Changes of a second are one message; and so often is shown that this half still works. */
const choresMs = 1_000;
const choresEveryMs = 10_000;

/** The publishing half: the retained state of every controller, and what the bridge says of itself and the account. */
export class Outputs {
  /** The keeper of everything retained. */
  readonly retained: RetainedTopics;
  readonly #parts: OutputParts;
  readonly #events: Outbox;
  readonly #rest: Rest;
  #recentEvents: readonly string[] = [];
  #platformState: PlatformState | null = null;
  #workedAt: number | null = null;
  #controllersDue = true;

  constructor(parts: OutputParts) {
    this.#parts = parts;
    const { connection, store, announcer, clock, log } = parts;
    this.#rest = new Rest(clock);
    this.retained = new RetainedTopics({
      ...parts,
      link: connection,
      view: store,
      gate: announcer?.gate ?? null,
    });
    // Most events are raised only once, so what met no broker follows with the next link: the newest hundred.
    this.#events = new Outbox({
      link: connection,
      monotonic: () => clock.monotonic(),
      most: mostEvents,
      longestMs: Infinity,
      gaveUp: (_, error) => log.debug({ reason: String(error) }, "an event was not published"),
    });
    store.onChange((before, after) => this.#changed(before, after));
    this.retained.onFound([], { looked: () => this.#rest.wake() });
  }

  /** When the chores were last done, monotonic ms; every ten seconds or so while all is well. */
  get workedAt(): number | null {
    return this.#workedAt;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.retained.run(signal), this.#keepUp(signal)]);
  }

  async #keepUp(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    for (;;) {
      if (!this.#controllersDue && !this.retained.hasLeftovers) await this.#rest.for(choresEveryMs, signal);
      await clock.wait(choresMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#chores();
    }
  }

  /** Resolves with whether this link was told everything, false where it went meanwhile. */
  async connected(): Promise<boolean> {
    const { connection, topics, announcer, log } = this.#parts;
    // Before the first `online` of a run everybody can see what may be commanded.
    if (!(await this.retained.linked())) return false;
    const isSaid = await announceOnline({
      publish: () => connection.publish(topics.bridge.state, "online", { retain: true, qos: 1 }),
      ready: () => connection.ready(),
      isEnding: () => connection.state === "ending",
      log,
    });
    if (!isSaid) return false;
    this.retained.online();
    announcer?.connected();
    this.#events.connected();
    return true;
  }

  disconnected(): void {
    this.retained.unlinked();
    this.#parts.announcer?.disconnected();
  }

  /** The last words of a link that ends in order. */
  leave(): Promise<void> {
    const { connection, topics } = this.#parts;
    return connection.publish(topics.bridge.state, "offline", { retain: true, qos: 1 });
  }

  /** What was announced may be shown: of one controller, or of the bridge itself. */
  release(code: string | null, anew: boolean): void {
    if (code !== null) this.retained.release(code, anew);
    else if (anew && this.#platformState !== null) this.platformState(this.#platformState);
  }

  platformState(state: PlatformState): void {
    this.#platformState = state;
    this.retained.wanted(this.#parts.topics.bridge.platform, state);
  }

  /** The newest hundred events, oldest first, as they were published. */
  get recentEvents(): readonly unknown[] {
    return this.#recentEvents.map((document): unknown => JSON.parse(document));
  }

  event(event: BridgeEvent): void {
    const document = eventDocument(event);
    this.#recentEvents = [...this.#recentEvents.slice(1 - mostEvents), document];
    this.#events.send({
      controllerId: null,
      destinations: [{ topic: this.#parts.topics.bridge.event, options: { qos: 1 }, isOwn: true }],
      payload: () => document,
    });
  }

  #changed(before: Controller | undefined, after: Controller | undefined): void {
    if (before?.availability === "online" && after?.availability === "offline")
      this.event(wentOffline(after, this.#parts.clock.now()));
    // First, as it decides what of the change may be published before it is announced.
    this.#parts.announcer?.controllerChanged(before, after);
    this.retained.changed(before, after);
    if (before?.info === after?.info) return;
    this.#controllersDue = true;
    this.#rest.wake();
  }

  #chores(): void {
    const { clock, connection, topics, store, log } = this.#parts;
    this.#workedAt = clock.monotonic();
    if (connection.state !== "online") return;
    if (this.#controllersDue)
      this.retained.wanted(topics.bridge.controllers, controllersDocument(store.controllers()));
    this.#controllersDue = false;
    if (this.retained.hasLeftovers) this.retained.sweep(this.#mayBeEmptied());
    const cleared = this.retained.takeCleared();
    if (cleared > 0) log.info({ topics: cleared }, "cleared topics that nothing stands for any more");
  }

  #mayBeEmptied(): Extent {
    const { isAccountKnown, platformHadTime, announcer } = this.#parts;
    if (!isAccountKnown() || announcer?.mayClearLeftovers() === false) return "ended";
    return platformHadTime() ? "all" : "settled";
  }
}

const wentOffline = ({ info: { id, name } }: Controller, at: number): BridgeEvent => ({
  type: "controller_offline",
  severity: "warning",
  message: `The platform says ${name} is offline: its readings are stale and its commands are refused. Check its power and network.`,
  at,
  facts: { controller: id },
});
