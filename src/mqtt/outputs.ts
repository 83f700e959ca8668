import { ignored } from "../runtime/failures.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller } from "../greenhouse/model.js";
import { type Clock, Rest } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { mayFollow, standings } from "../greenhouse/steady.js";
import type { Connection, Part } from "./connection.js";
import { PublishError } from "./connection/publish.js";
import type { Extent } from "./leftovers.js";
import type { RetainedTopics } from "./retained-topics.js";
import { controllersDocument, stationsDocument } from "./projection.js";
import type { Topics } from "./topics.js";

/**
 * Says `online` until the broker has it. Whatever follows on this link waits for it: a broker that takes it late would
 * otherwise show a bridge that is online beside the readings of before. Resolves with false when the link went meanwhile, or
 * is ending. `publish` rejects with a PublishError, `ready` resolves when a publish would go out at once.
 */
export async function announceOnline(
  publish: () => Promise<void>,
  ready: () => Promise<void>,
  isEnding: () => boolean,
  log: Logger,
): Promise<boolean> {
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
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void;
  /** Whether what an earlier run left may be emptied: whatever reads it was told, and had the time to take that in. */
  mayClearLeftovers(): boolean;
}

interface OutputParts {
  readonly topics: Topics;
  readonly connection: Connection;
  /** The keeper of everything retained. */
  readonly retained: RetainedTopics;
  readonly store: {
    controllers(): Iterable<Controller>;
    onChange(listener: (before: Controller | undefined, after: Controller | undefined) => void): () => void;
  };
  /** Whether a successful list that was not empty has been seen since start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform has had the time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Changes of a second are one message; and so often is shown that this half still works. */
const choresMs = 1_000;
const choresEveryMs = 10_000;

/** The publishing half: what the greenhouse shows becomes wanted on its topics, and the bridge says that it is online. */
export class Outputs implements Part {
  readonly #parts: OutputParts;
  readonly #rest: Rest;
  #workedAt: number | null = null;
  #controllersDue = true;
  /** When it was told last of a controller, by its code, that it went offline. */
  readonly #offlineTold = new Map<string, number>();
  /** Controllers whose outage is an event later, should they stay offline. */
  readonly #offlineDue = new Set<string>();
  /** Null where nothing is announced. */
  #announcer: Announcer | null = null;

  constructor(parts: OutputParts) {
    this.#parts = parts;
    const { store, retained, clock } = parts;
    this.#rest = new Rest(clock);
    store.onChange(this.#onChange);
    retained.onFound([], { onLooked: () => this.#rest.wake() });
  }

  /** From now on others are told which states there are before these are shown; to be called before the first link. */
  announceBy(announcer: Announcer): void {
    this.#announcer = announcer;
  }

  /** When the chores were last done, monotonic ms; every ten seconds or so while all is well. */
  get workedAt(): number | null {
    return this.#workedAt;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, retained } = this.#parts;
    for (;;) {
      if (!this.#controllersDue && !retained.hasLeftovers) await this.#rest.for(choresEveryMs, signal);
      await clock.wait(choresMs, signal).catch(ignored);
      if (signal.aborted) return;
      this.#chores();
    }
  }

  /** Resolves with whether this link was told everything, false where it went meanwhile. */
  async onConnected(): Promise<boolean> {
    const { connection, topics, retained, log } = this.#parts;
    // Before the first `online` of a run everybody can see what may be commanded.
    if (!(await retained.onLinked())) return false;
    const isSaid = await announceOnline(
      () => connection.publish(topics.bridge.state, "online", { retain: true }),
      () => connection.ready(),
      () => connection.state === "ending",
      log,
    );
    if (isSaid) retained.online();
    return isSaid;
  }

  onDisconnected(): void {
    this.#parts.retained.onUnlinked();
  }

  leave(): Promise<void> {
    const { connection, topics } = this.#parts;
    return connection.publish(topics.bridge.state, "offline", { retain: true });
  }

  readonly #onChange = (before: Controller | undefined, after: Controller | undefined): void => {
    const { retained } = this.#parts;
    if (before?.availability === "online" && after?.availability === "offline") this.#tellOffline(after);
    if (before !== undefined && after === undefined) this.#offlineTold.delete(before.info.code);
    // First, as it decides what of the change may be published before it is announced.
    this.#announcer?.controllerChanged(before, after);
    retained.onChange(before, after);
    if (before?.info === after?.info) return;
    this.#controllersDue = true;
    this.#rest.wake();
  };

  #tellOffline(controller: Controller): void {
    const { clock, onEvent } = this.#parts;
    const { code } = controller.info;
    const now = clock.monotonic();
    const since = this.#offlineTold.get(code);
    const told = since === undefined ? null : { state: true, since };
    if (!mayFollow(told, true, now, standings.offlineTold)) {
      this.#offlineDue.add(code);
      return;
    }
    this.#offlineDue.delete(code);
    this.#offlineTold.set(code, now);
    onEvent(wentOffline(controller, clock.now()));
  }

  /** Those that went offline again too soon, and stay so. */
  #tellOfflineLate(): void {
    if (this.#offlineDue.size === 0) return;
    const due = new Set(this.#offlineDue);
    this.#offlineDue.clear();
    for (const controller of this.#parts.store.controllers())
      if (due.has(controller.info.code) && controller.availability === "offline")
        this.#tellOffline(controller);
  }

  #chores(): void {
    const { clock, connection, topics, store, retained, log } = this.#parts;
    this.#workedAt = clock.monotonic();
    this.#tellOfflineLate();
    if (connection.state !== "online") return;
    if (this.#controllersDue) {
      retained.wanted(topics.bridge.controllers, controllersDocument(store.controllers()));
      retained.wanted(topics.bridge.stations, stationsDocument(store.controllers()));
    }
    this.#controllersDue = false;
    if (retained.hasLeftovers) retained.sweep(this.#mayBeEmptied());
    const cleared = retained.takeCleared();
    if (cleared > 0) log.info({ topics: cleared }, "cleared topics that nothing stands for any more");
  }

  #mayBeEmptied(): Extent {
    const { isAccountKnown, platformHadTime } = this.#parts;
    if (!isAccountKnown() || this.#announcer?.mayClearLeftovers() === false) return "ended";
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
