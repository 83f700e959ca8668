import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller, PlatformState } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Rest } from "../runtime/schedule.js";
import type { BrokerConnection } from "./connection.js";
import { PublishError } from "./connection/publish.js";
import { Outbox } from "./outbox.js";
import { type RetainedParts, RetainedStates, type Shown, type StateGate } from "./retained-states.js";
import { controllersDocument, eventDocument, restrictionMessages } from "./projection.js";

const retained = { retain: true, qos: 1 } as const;

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
}

interface OutputParts extends Pick<
  RetainedParts,
  "topics" | "qos" | "isLeftOut" | "isAccountKnown" | "platformHadTime"
> {
  readonly connection: BrokerConnection;
  readonly store: RetainedParts["view"] & {
    onChange(listener: (before: Controller | undefined, after: Controller | undefined) => void): () => void;
  };
  /** Null where nothing is announced. */
  readonly announcer: Announcer | null;
  /** Takes back what an earlier run announced, where nothing is announced any more; resolves with whether all of it was seen. */
  readonly withdraw: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
}

const mostEvents = 100;
/** Changes of a second are one message; and so often is shown that this half still works. */
const choresMs = 1_000;
const choresEveryMs = 10_000;

/** The publishing half: the retained state of every controller, and what the bridge says of itself and the account. */
export class Outputs {
  readonly #parts: OutputParts;
  readonly #states: RetainedStates;
  readonly #events: Outbox;
  readonly #rest: Rest;
  #recentEvents: readonly string[] = [];
  #platformState: PlatformState | null = null;
  #workedAt: number | null = null;
  #isScanned = false;
  #isAllowedSaid = false;
  #controllersDue = true;

  constructor(parts: OutputParts) {
    this.#parts = parts;
    const { connection, store, announcer, clock, log } = parts;
    this.#rest = new Rest(clock);
    this.#states = new RetainedStates({
      ...parts,
      publish: (topic, payload, options) => connection.publish(topic, payload, options),
      view: store,
      gate: announcer?.gate,
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
  }

  /** When the chores were last done, monotonic ms; every ten seconds or so while all is well. */
  get workedAt(): number | null {
    return this.#workedAt;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#states.run(signal), this.#keepUp(signal)]);
  }

  async #keepUp(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (!this.#controllersDue && this.#states.leftovers.isEmpty)
        await this.#rest.for(choresEveryMs, signal);
      await this.#parts.clock.wait(choresMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#chores();
    }
  }

  /** Resolves with whether this link was told everything, false where it went meanwhile. */
  async connected(): Promise<boolean> {
    const { connection, topics, announcer, log } = this.#parts;
    await this.#sayAllowed();
    const isSaid = await announceOnline({
      publish: () => connection.publish(topics.bridge.state, "online", retained),
      ready: () => connection.ready(),
      isEnding: () => connection.state === "ending",
      log,
    });
    if (!isSaid) return false;
    this.republish();
    announcer?.connected();
    this.#events.connected();
    if (!this.#isScanned) void this.#scan();
    return true;
  }

  /** Before the first `online` of a run everybody can see what may be commanded. */
  async #sayAllowed(): Promise<void> {
    if (this.#isAllowedSaid) return;
    const { connection, topics, store } = this.#parts;
    for (const controller of store.controllers()) {
      await connection.ready();
      for (const { topic, payload } of restrictionMessages(topics, undefined, controller))
        this.send(topic, payload);
    }
    this.#isAllowedSaid = connection.state === "online";
  }

  disconnected(): void {
    this.#states.disconnected();
    this.#parts.announcer?.disconnected();
  }

  /** The last words of a link that ends in order. */
  leave(): Promise<void> {
    const { connection, topics } = this.#parts;
    return connection.publish(topics.bridge.state, "offline", retained);
  }

  /** Publishes every retained state again. */
  republish(): void {
    this.#states.connected();
    this.#controllersDue = true;
    this.#rest.wake();
    this.#publishPlatformState();
  }

  /** What was announced may be shown: of one controller, or of the bridge itself. */
  release(code: string | null, again: boolean): void {
    if (code !== null) this.#states.release(code, again);
    else if (again) this.#publishPlatformState();
  }

  showAgain(about: Parameters<RetainedStates["showAgain"]>[0]): void {
    this.#states.showAgain(about);
  }

  /** What a result tells is shown before it. */
  hasten(controllerId: string, about?: Shown): void {
    const controller = this.#parts.store.byId(controllerId);
    if (controller) this.#states.hasten(controller.info.code, about);
  }

  platformState(state: PlatformState): void {
    this.#platformState = state;
    this.#publishPlatformState();
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

  /** Publishes a retained state without waiting; what cannot be published now is dropped and counted by the connection. */
  send(topic: string, payload: string, qos = this.#parts.qos): void {
    this.#parts.connection
      .publish(topic, payload, { retain: true, qos })
      .catch((error: unknown) => this.#parts.log.debug({ topic, reason: String(error) }, "not published"));
  }

  #changed(before: Controller | undefined, after: Controller | undefined): void {
    if (before?.availability === "online" && after?.availability === "offline")
      this.event(wentOffline(after, this.#parts.clock.now()));
    // First, as it decides what of the change may be published before it is announced.
    this.#parts.announcer?.controllerChanged(before, after);
    this.#states.changed(before, after);
    if (before?.info === after?.info) return;
    this.#controllersDue = true;
    this.#rest.wake();
  }

  /** Looks at what an earlier run left on the broker; what was not seen through is looked at again with the next link. */
  async #scan(): Promise<void> {
    const { connection, topics, announcer, withdraw } = this.#parts;
    const isSeen = await connection.scan(topics.retained, (topic, payload) =>
      this.#states.leftovers.found(topic, payload.toString()),
    );
    this.#rest.wake();
    this.#isScanned = (announcer !== null || (await withdraw())) && isSeen;
  }

  #chores(): void {
    const { clock, connection, topics, store, log } = this.#parts;
    this.#workedAt = clock.monotonic();
    if (connection.state !== "online") return;
    if (this.#controllersDue) this.send(topics.bridge.controllers, controllersDocument(store.controllers()));
    this.#controllersDue = false;
    const cleared = this.#states.leftovers.sweep();
    if (cleared > 0) log.info({ topics: cleared }, "cleared topics that nothing stands for any more");
  }

  #publishPlatformState(): void {
    if (this.#platformState !== null) this.send(this.#parts.topics.bridge.platform, this.#platformState);
  }
}

const wentOffline = ({ info: { id, name } }: Controller, at: number): BridgeEvent => ({
  type: "controller_offline",
  severity: "warning",
  message: `The platform says ${name} is offline: its readings are stale and its commands are refused. Check its power and network.`,
  at,
  facts: { controller: id },
});
