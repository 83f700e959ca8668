import { falseIfFailed, ignored } from "../../runtime/failures.js";
import { randomUUID } from "node:crypto";
import { cameWithin, type Clock, untilAborted } from "../../runtime/clock.js";
import { ArrivalAge, noGaps } from "../../runtime/gaps.js";
import { filterCovers } from "../../runtime/mqtt.js";
import type { BrokerLink } from "./link.js";
import type { PublishQueue } from "./publish.js";
import type {
  BrokerFacts,
  ConnectionLimits,
  ConnectionPorts,
  ConnectionSettings,
  ConnectionState,
  IncomingMessage,
  LinkEnd,
} from "./settings.js";

export type RetainedFound = (topic: string, payload: Buffer) => void;

/**
 * Quiet marks needed in a row. A broker with several threads may answer one mark before all retained messages are sent,
 * but hardly two.
 */
const quietMarks = 2;

/** If a broker does not send us our own messages, arrival is proven by marks after this time. */
const echoWithinMs = 5_000;

/** Resolves when the marks are answered and nothing was counted while they were on their way. */
export async function seenThrough(count: () => number, mark: () => Promise<unknown>): Promise<void> {
  for (let quiet = 0; quiet < quietMarks;) {
    const before = count();
    await mark();
    quiet = count() === before ? quiet + 1 : 0;
  }
}

/** A filter that nobody subscribes to, for when only the answer matters. */
const noFilter = "greenhouse2mqtt/none";

/** The most filters in one packet. */
const mostFilters = 50;

const lookMs = 5;
const mostHeldBytes = 8 * 1024 * 1024;

/**
 * Messages that a scan brought and that are not processed yet. Commands come in the same stream, behind all that the
 * broker holds. So messages are only stored on arrival, and processed when nothing else is due.
 */
class Unlooked {
  readonly #clock: Pick<Clock, "monotonic" | "soon">;
  readonly #look: RetainedFound;
  #held: { readonly topic: string; readonly payload: Buffer }[] = [];
  #bytes = 0;
  #isLooking = false;
  #onNone: () => void = () => undefined;

  constructor(clock: Pick<Clock, "monotonic" | "soon">, look: RetainedFound) {
    this.#clock = clock;
    this.#look = look;
  }

  add(topic: string, payload: Buffer): void {
    this.#held.push({ topic, payload });
    this.#bytes += payload.length;
    if (this.#bytes > mostHeldBytes) this.#lookAtAll(Infinity);
    else if (!this.#isLooking) {
      this.#isLooking = true;
      this.#clock.soon(this.#goOn);
    }
  }

  /** Resolves when none is left. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#held.length === 0) resolve();
      else this.#onNone = resolve;
    });
  }

  /** Drops the rest. */
  clear(): void {
    this.#held = [];
    this.#bytes = 0;
    this.#onNone();
  }

  readonly #goOn = (): void => {
    this.#lookAtAll(lookMs);
    this.#isLooking = this.#held.length > 0;
    if (this.#isLooking) this.#clock.soon(this.#goOn);
    else this.#onNone();
  };

  #lookAtAll(ms: number): void {
    const end = this.#clock.monotonic() + ms;
    let looked = 0;
    for (const { topic, payload } of this.#held) {
      this.#look(topic, payload);
      looked += 1;
      this.#bytes -= payload.length;
      if (this.#clock.monotonic() >= end) break;
    }
    this.#held.splice(0, looked);
  }
}

/** What outlives one link. */
interface SessionParts {
  readonly queue: PublishQueue;
  readonly settings: ConnectionSettings;
  readonly limits: ConnectionLimits;
  readonly ports: ConnectionPorts;
  readonly tally: { repairs: number };
  /** Calls a listener; resolves to whether it succeeded. */
  readonly contain: (what: string, listener: () => unknown) => Promise<boolean>;
  readonly enter: (state: ConnectionState) => void;
}

/** The life of an accepted link: subscriptions, scans, overdue acknowledgements, our own status, and an orderly end. */
export class Session {
  /** The running scans; each takes the messages that came because of it. */
  readonly scans = new Set<(message: IncomingMessage) => boolean>();
  readonly #link: BrokerLink;
  readonly #facts: BrokerFacts;
  readonly #parts: SessionParts;
  readonly #life = new AbortController();
  readonly #age: ArrivalAge;
  /** Messages that we sent to hear them ourselves, with what to do when they are heard. */
  readonly #echoes = new Map<string, () => void>();
  /** Whether messages that the broker kept are still to come. */
  #isCatchingUp: boolean;
  #received = 0;
  #online = false;
  #isRepairDue = false;
  #repairedAt = -Infinity;

  constructor(link: BrokerLink, facts: BrokerFacts, parts: SessionParts) {
    this.#link = link;
    this.#facts = facts;
    this.#parts = parts;
    const { clock, gaps = noGaps } = parts.ports;
    this.#isCatchingUp = parts.settings.session !== undefined && facts.isResumed === true;
    this.#age = new ArrivalAge(clock, gaps, (proven) =>
      this.#proveArrival(() => {
        proven();
        this.#isCatchingUp &&= this.#age.ms() > 0;
      }),
    );
  }

  /** The message with its greatest possible age; null for our own echo. */
  aged(message: IncomingMessage): IncomingMessage | null {
    const { settings, ports } = this.#parts;
    const isEcho = message.topic === settings.echoTopic && this.#heard(message.payload.toString());
    // Kept echoes of other runs mean nothing.
    if (isEcho || (this.#isCatchingUp && message.topic === settings.echoTopic)) return null;
    this.#received += 1;
    const { sentSince } = message.properties;
    const ofSender = sentSince === undefined ? 0 : ports.clock.monotonic() - sentSince;
    const ageMs = Math.max(this.#age.ms(), ofSender);
    const aged = ageMs === 0 ? message : { ...message, ageMs };
    return this.#isCatchingUp ? { ...aged, isKept: true } : aged;
  }

  #heard(said: string): boolean {
    const proven = this.#echoes.get(said);
    this.#echoes.delete(said);
    proven?.();
    return proven !== undefined;
  }

  /**
   * Sends a message to ourselves: when we hear it, everything that the broker sent before has been read, since it
   * travels like a command. An acknowledgement would overtake messages that wait because we have not acknowledged
   * earlier ones.
   */
  #proveArrival(proven: () => void): void {
    const { settings, queue } = this.#parts;
    const { echoTopic: topic } = settings;
    if (topic === undefined) {
      void this.#proveByMarks(proven);
      return;
    }
    const said = `still here ${randomUUID()}`;
    this.#echoes.clear();
    this.#echoes.set(said, proven);
    const bytes = topic.length + said.length;
    queue.publish({ topic, payload: said, options: { qos: 1 }, bytes }).catch(ignored);
    void this.#proveByMarks(proven, echoWithinMs);
  }

  /** Waits until nothing arrives before the answer to a mark, so nothing waits any more. */
  async #proveByMarks(proven: () => void, afterMs = 0): Promise<void> {
    const { clock } = this.#parts.ports;
    for (let waitMs = afterMs; ; waitMs = echoWithinMs) {
      if (waitMs > 0 && !(await hasResolved(clock.wait(waitMs, this.#life.signal)))) return;
      if (this.#life.signal.aborted || this.#age.ms() === 0) return;
      const isThrough = await hasResolved(
        seenThrough(
          () => this.#received,
          () => this.#prove(),
        ),
      );
      if (!isThrough) continue;
      proven();
      return;
    }
  }

  /**
   * Runs until the link closes; an abort ends it in order. Resolves to the link's end and the number of publishes it
   * cut off.
   */
  async run(signal: AbortSignal): Promise<{ readonly end: LinkEnd; readonly lost: number }> {
    const { queue, settings, ports } = this.#parts;
    queue.open(this.#link, this.#facts);
    const { forS = 0 } = settings.session ?? {};
    if (this.#isCatchingUp) this.#age.resume(ports.clock.monotonic() - forS * 1_000);
    const chores = Promise.all([queue.watch(ports.log, this.#life.signal), this.#subscribe()]);
    await Promise.race([this.#link.closed, untilAborted(signal, this.#life.signal)]);
    if (signal.aborted) await this.#endInOrder();
    const end = await this.#link.closed;
    this.#online = false;
    const lost = queue.close(`the link to the broker is gone: ${String(end.reason)}`);
    this.#age.close();
    this.#life.abort();
    await chores;
    return { end, lost };
  }

  /** Handles a message on our own status topic, which shows what another client wrote there. */
  ownStatus(message: IncomingMessage, guard: NonNullable<ConnectionSettings["guard"]>): void {
    if (this.#contradicts(message, guard.expected)) void this.#repair(guard);
  }

  /**
   * A broker sends retained messages behind its answer to the subscription, and answers in order. So all have come when
   * later marks are acknowledged and nothing came before them. Resolves to whether the scan was complete.
   */
  async scan(filters: readonly string[], found: RetainedFound): Promise<boolean> {
    let count = 0;
    const unlooked = new Unlooked(this.#parts.ports.clock, (topic, payload) => {
      void this.#parts.contain("scan", () => found(topic, payload));
    });
    const takes = ({ topic, payload, retain }: IncomingMessage) => {
      if (!filters.some((filter) => filterCovers(filter, topic))) return false;
      // Live messages under its filters, also our own, are not shown.
      if (!retain) return true;
      count += 1;
      unlooked.add(topic, payload);
      return true;
    };
    const whole = async () => {
      const refused = await this.#link.subscribeWithRetained(filters, this.#parts.settings.echoTopic);
      await seenThrough(
        () => count,
        () => this.#prove(),
      );
      await unlooked.none();
      return refused.length === 0;
    };
    this.scans.add(takes);
    const closed = this.#link.closed.then(() => false);
    const isThrough = await Promise.race([whole(), closed]).catch(falseIfFailed);
    const unsubscribed = this.#link.unsubscribe(filters);
    // A broker that has not answered so far may not answer this either.
    if (isThrough) await Promise.race([unsubscribed, closed]);
    this.scans.delete(takes);
    unlooked.clear();
    return isThrough;
  }

  /**
   * Subscribes to these topics, including their retained messages, until the link ends. All subscriptions are sent
   * before this yields, so that nothing is published there first. Resolves when the retained ones have come, as far as
   * granted, or the link is gone.
   */
  async listen(topics: readonly string[]): Promise<void> {
    const wanted = new Set(topics);
    let count = 0;
    const counts = ({ topic }: IncomingMessage) => {
      if (wanted.has(topic)) count += 1;
      return false;
    };
    const packets = Array.from({ length: Math.ceil(topics.length / mostFilters) }, (_, n) =>
      this.#link.subscribeWithRetained(
        topics.slice(n * mostFilters, (n + 1) * mostFilters),
        this.#parts.settings.echoTopic,
      ),
    );
    const whole = async () => {
      await Promise.all(packets);
      await seenThrough(
        () => count,
        () => this.#prove(),
      );
    };
    this.scans.add(counts);
    await Promise.race([whole(), this.#link.closed]).catch(ignored);
    this.scans.delete(counts);
  }

  /** Resolves when the broker answers in order: to a mark, or to an UNSUBSCRIBE if it acknowledges no publish. */
  #prove(): Promise<void> {
    const { queue, settings } = this.#parts;
    const { markTopic } = settings;
    return this.#facts.maximumQos > 0 && markTopic !== null
      ? queue.prove()
      : this.#link.unsubscribe([markTopic ?? noFilter]);
  }

  /**
   * Whether a status differs from ours. On MQTT 3.1.1 the retain flag means an old message that came with the
   * subscription; the birth message has overwritten it or is about to.
   */
  #contradicts({ payload, retain }: IncomingMessage, expected: string): boolean {
    const { protocolVersion, maximumQos, retainAvailable } = this.#facts;
    if (!this.#online || maximumQos === 0 || !retainAvailable) return false;
    return !(protocolVersion === 4 && retain) && payload.toString() !== expected;
  }

  /** Publishes our status again after another client wrote it; seldom, so that two bridges at odds make no storm. */
  async #repair({ topic, expected: payload }: NonNullable<ConnectionSettings["guard"]>): Promise<void> {
    if (this.#isRepairDue) return;
    this.#isRepairDue = true;
    const { ports, limits, tally, queue } = this.#parts;
    const dueInMs = this.#repairedAt + limits.repairEveryMs - ports.clock.monotonic();
    if (!(await hasResolved(ports.clock.wait(Math.max(0, dueInMs), this.#life.signal)))) return;
    this.#isRepairDue = false;
    // Nothing may follow the last messages.
    if (!this.#online) return;
    this.#repairedAt = ports.clock.monotonic();
    tally.repairs += 1;
    const options = { qos: 1, retain: true } as const;
    await queue.publish({ topic, payload, options, bytes: payload.length }).catch((error: unknown) => {
      if (!this.#life.signal.aborted) ports.log.warn({ err: error }, "could not repair the bridge's status");
    });
  }

  async #subscribe(): Promise<void> {
    const { settings, enter } = this.#parts;
    const own = settings.guard?.topic;
    const filters = [...new Set([...settings.subscriptions, ...(own === undefined ? [] : [own])])];
    const isGranted = await this.#ask(filters, this.#plainly, (missing) => {
      enter("degraded");
      this.#parts.ports.log.warn(
        { filters: missing },
        "the broker did not grant these subscriptions, so commands cannot arrive: allow them in its access list; asking again",
      );
    });
    if (isGranted) this.#onGranted();
  }

  /**
   * Subscribes until every filter is granted, and reports each time which are not. Resolves to false if the link goes
   * first.
   */
  async #ask(
    filters: readonly string[],
    subscribe: (filters: readonly string[]) => Promise<readonly string[]>,
    refused: (missing: readonly string[]) => void,
  ): Promise<boolean> {
    const { limits, ports } = this.#parts;
    for (let missing = filters; missing.length > 0;) {
      missing = await this.#missing(missing, subscribe(missing));
      if (this.#life.signal.aborted) return false;
      if (missing.length === 0) break;
      refused(missing);
      if (!(await hasResolved(ports.clock.wait(limits.subscribeRetryMs, this.#life.signal)))) return false;
    }
    return true;
  }

  /** The filters that were not granted; all of them if the broker does not answer in time. */
  async #missing(
    filters: readonly string[],
    subscribed: Promise<readonly string[]>,
  ): Promise<readonly string[]> {
    const { ports, limits } = this.#parts;
    const answered = Promise.race([subscribed.catch(() => filters), this.#link.closed.then(() => filters)]);
    return (await cameWithin(ports.clock, limits.subackTimeoutMs, answered)) ? answered : filters;
  }

  #onGranted(): void {
    const { settings, contain, enter } = this.#parts;
    this.#online = true;
    enter("online");
    void contain("connected", () => settings.on?.onConnected?.(this.#facts));
    const { withRetained = [], heard = [], kept = [] } = settings;
    // Without retained messages, as their age is unknown.
    void this.#ask(heard, this.#plainly, this.#unheard);
    void this.#ask(kept, (filters) => this.#link.subscribeToKept(filters), this.#unheard);
    // This only fails when the link goes, and the next link asks again.
    if (withRetained.length > 0)
      void this.#link.subscribeWithRetained(withRetained, settings.echoTopic).catch(ignored);
  }

  readonly #plainly = (filters: readonly string[]) =>
    this.#link.subscribe(filters, this.#parts.settings.guard?.topic);

  readonly #unheard = (missing: readonly string[]): void => {
    const message = "the broker does not let the bridge hear these topics; allow them in its access list";
    this.#parts.ports.log.warn({ filters: missing }, message);
  };

  /**
   * Last messages, DISCONNECT, close; each has a time limit, so that a dead broker cannot hold up a shutdown. If the
   * last messages are not acknowledged, the link is cut: after a DISCONNECT the broker would drop the will and show us
   * as online for ever.
   */
  async #endInOrder(): Promise<void> {
    const { settings, limits, ports, contain, queue, enter } = this.#parts;
    enter("ending");
    this.#online = false;
    const late = () =>
      hasResolved(ports.clock.wait(limits.endTimeoutMs, this.#life.signal)).then(() => false);
    const said = contain("beforeEnd", () => settings.on?.beforeEnd?.());
    const isSaid = await Promise.race([said, this.#link.closed.then(() => false), late()]);
    queue.close("the connection to the broker is being closed");
    const withWill = settings.endsWithWill === true && this.#facts.protocolVersion === 5;
    if (isSaid) this.#link.end(withWill);
    else this.#link.destroy(null);
    await Promise.race([this.#link.closed, late()]);
    this.#link.destroy(null);
  }
}

/** Whether a wait ran to its end. */
const hasResolved = (wait: Promise<unknown>): Promise<boolean> =>
  wait.then(
    () => true,
    () => false,
  );
