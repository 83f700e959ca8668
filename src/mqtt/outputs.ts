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
 * Publishes `online` until the broker has it. Everything else on this link waits for that: otherwise a slow broker
 * would show an online bridge beside old readings. Resolves to false if the link goes or is ending. `publish` rejects
 * with a PublishError; `ready` resolves when a publish would be sent at once.
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
          // The connection has logged that this broker acknowledges nothing.
          log.debug("the broker did not acknowledge that the bridge is online; saying it again");
          break;
        case "refused":
        case "invalid":
          // The readings are useful without it; this error gives the reason to anybody who waits for `online`.
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

/** Announces states to others before they are published. */
interface Announcer {
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void;
  /** Whether leftovers of an earlier run may be emptied: their readers have been told and had time to react. */
  mayClearLeftovers(): boolean;
}

interface OutputParts {
  readonly topics: Topics;
  readonly connection: Connection;
  /** Keeps all retained topics. */
  readonly retained: RetainedTopics;
  readonly store: {
    controllers(): Iterable<Controller>;
    onChange(listener: (before: Controller | undefined, after: Controller | undefined) => void): () => void;
  };
  /** Whether a non-empty list of controllers was received since the start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform had time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Changes within a second make one message; the second figure is the longest pause between signs of life. */
const choresMs = 1_000;
const choresEveryMs = 10_000;

/** The publishing half: it publishes the mirror's state on its topics, and says that the bridge is online. */
export class Outputs implements Part {
  readonly #parts: OutputParts;
  readonly #rest: Rest;
  #workedAt: number | null = null;
  #controllersDue = true;
  /** When an outage of a controller was last reported, by device code. */
  readonly #offlineTold = new Map<string, number>();
  /** Controllers whose outage is reported later if they stay offline. */
  readonly #offlineDue = new Set<string>();
  /** Null if nothing is announced. */
  #announcer: Announcer | null = null;

  constructor(parts: OutputParts) {
    this.#parts = parts;
    const { store, retained, clock } = parts;
    this.#rest = new Rest(clock);
    store.onChange(this.#onChange);
    retained.onFound([], { onLooked: () => this.#rest.wake() });
  }

  /** Has states announced before they are published; call before the first link. */
  announceBy(announcer: Announcer): void {
    this.#announcer = announcer;
  }

  /** When the chores were last done, in monotonic ms; about every ten seconds while all is well. */
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

  /** Resolves to whether everything was published on this link; false if it went meanwhile. */
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
    // First, as it decides which part of the change may be published before it is announced.
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

  /** Reports controllers that went offline again too soon to be reported then, and are still offline. */
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
