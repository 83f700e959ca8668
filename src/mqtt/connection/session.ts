import type { Clock } from "../../runtime/clock.js";
import type { BrokerLink } from "./link.js";
import type { Outbox } from "./outbox.js";
import type {
  BrokerFacts,
  ConnectionLimits,
  ConnectionPorts,
  ConnectionSettings,
  ConnectionState,
  Contained,
  IncomingMessage,
  LinkEnd,
} from "./settings.js";

export interface StatusRepair {
  readonly guard: NonNullable<ConnectionSettings["guard"]>;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly publish: (topic: string, payload: string) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/**
 * Whether a message on the own status topic contradicts us. On 3.1.1 a set retain flag means an old message that came
 * with the subscription; the birth message has overwritten it or is about to.
 */
export function contradicts(message: IncomingMessage, expected: string, protocolVersion: 4 | 5): boolean {
  if (protocolVersion === 4 && message.retain) return false;
  return message.payload.toString() !== expected;
}

/** Publishes the expected status again, at most once per `everyMs`, so that two bridges at odds make no storm. */
export class StatusGuard {
  readonly #repair: StatusRepair;
  readonly #signal: AbortSignal;
  #lastAt: number | null = null;
  #wanted = false;
  #busy = false;
  #repairs = 0;

  constructor(repair: StatusRepair, signal: AbortSignal) {
    this.#repair = repair;
    this.#signal = signal;
  }

  get repairs(): number {
    return this.#repairs;
  }

  /** Asked again while a repair is under way, it follows up: the foreign message may be newer than ours. */
  async repair(): Promise<void> {
    this.#wanted = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#wanted) {
        this.#wanted = false;
        await this.#publishOnce();
      }
    } catch (error) {
      if (!this.#signal.aborted) this.#repair.failed(error);
    } finally {
      this.#busy = false;
    }
  }

  async #publishOnce(): Promise<void> {
    const { clock, everyMs, guard, publish } = this.#repair;
    const due = this.#lastAt === null ? 0 : this.#lastAt + everyMs - clock.monotonic();
    if (due > 0) await clock.wait(due, this.#signal);
    this.#lastAt = clock.monotonic();
    this.#repairs += 1;
    await publish(guard.topic, guard.expected);
  }
}

export interface SubscriptionPlan {
  readonly filters: readonly string[];
  readonly limits: Pick<ConnectionLimits, "subackTimeoutMs" | "subscribeRetryMs">;
  readonly clock: Clock;
  /** Resolves with the filters not granted. */
  readonly subscribe: (filters: readonly string[]) => Promise<readonly string[]>;
  readonly granted: () => void;
  /** These were refused or not answered in time; they are asked for again. */
  readonly missing: (filters: readonly string[]) => void;
}

/** Asks until every filter is granted or `signal` aborts; then it simply returns. */
export async function subscribeUntilGranted(plan: SubscriptionPlan, signal: AbortSignal): Promise<void> {
  let filters = plan.filters;
  while (!signal.aborted) {
    filters = filters.length === 0 ? [] : await withinTime(plan, filters, signal);
    if (isAborted(signal)) return;
    if (filters.length === 0) {
      plan.granted();
      return;
    }
    plan.missing(filters);
    await plan.clock.wait(plan.limits.subscribeRetryMs, signal).catch(() => undefined);
  }
}

/** A broker that does not answer has granted nothing. */
async function withinTime(
  { subscribe, clock, limits }: SubscriptionPlan,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = clock.wait(limits.subackTimeoutMs, AbortSignal.any([signal, answered.signal]));
  try {
    return await Promise.race([subscribe(filters).catch(() => filters), late.then(() => filters)]);
  } catch {
    return filters;
  } finally {
    answered.abort();
    await late.catch(() => undefined);
  }
}

// The signal changes during the awaits, which the compiler's narrowing of `aborted` does not know.
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

export interface SessionParts {
  readonly link: BrokerLink;
  readonly facts: BrokerFacts;
  readonly outbox: Outbox;
  readonly settings: ConnectionSettings;
  readonly limits: ConnectionLimits;
  readonly ports: ConnectionPorts;
  readonly contained: Contained;
  readonly enter: (state: ConnectionState) => void;
}

/** The life of an accepted link: subscriptions, acknowledgement sweep, status guard, and the orderly end. */
export class Session {
  readonly #parts: SessionParts;
  readonly #life = new AbortController();
  readonly #guard: StatusGuard | null;
  #online = false;
  #lost = 0;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { settings, ports, limits, outbox } = parts;
    const { guard } = settings;
    const publish = (topic: string, payload: string) =>
      // Nothing may follow the last words.
      this.#online
        ? outbox.publish({ topic, payload, options: { qos: 1, retain: true }, bytes: payload.length })
        : Promise.resolve();
    const failed = (error: unknown) => {
      ports.log.warn({ err: error }, "could not repair the bridge's status");
    };
    this.#guard =
      guard && parts.facts.maximumQos > 0 && parts.facts.retainAvailable
        ? new StatusGuard(
            { guard, clock: ports.clock, everyMs: limits.repairEveryMs, publish, failed },
            this.#life.signal,
          )
        : null;
  }

  get repairs(): number {
    return this.#guard?.repairs ?? 0;
  }

  /** Publishes that the end of the link cut off. */
  get lost(): number {
    return this.#lost;
  }

  /** Somebody else wrote our status: say the truth again, unless the birth message is still to come or we are leaving. */
  contradicted(): void {
    if (this.#online && this.#guard) void this.#guard.repair();
  }

  /** Until the link closes; an abort ends it in order. Resolves with the link's end. */
  async run(signal: AbortSignal): Promise<LinkEnd> {
    const { link, outbox, facts } = this.#parts;
    outbox.open(link, facts);
    const chores = Promise.all([this.#sweep(), this.#subscribe()]);
    await Promise.race([link.closed, aborted(signal, this.#life.signal)]);
    if (signal.aborted) await this.#endInOrder();
    const end = await link.closed;
    this.#online = false;
    this.#lost += outbox.close(`the link to the broker is gone: ${end.reason}`);
    this.#life.abort();
    await chores;
    return end;
  }

  async #subscribe(): Promise<void> {
    const { settings, limits, ports, link } = this.#parts;
    const own = settings.guard?.topic;
    const filters = [...new Set([...settings.subscriptions, ...(own === undefined ? [] : [own])])];
    const plan = {
      filters,
      limits,
      clock: ports.clock,
      subscribe: (asked: readonly string[]) => link.subscribe(asked, own),
      granted: () => {
        this.#granted();
      },
      missing: (missing: readonly string[]) => {
        this.#degraded(missing);
      },
    };
    await subscribeUntilGranted(plan, this.#life.signal);
  }

  #granted(): void {
    const { settings, contained, facts, enter } = this.#parts;
    this.#online = true;
    enter("online");
    contained.call("connected", () => settings.on?.connected?.(facts));
    const { withRetained = [] } = settings;
    // It only fails when the link goes, and then the next link asks again.
    if (withRetained.length > 0)
      void this.#parts.link.subscribeWithRetained(withRetained).catch(() => undefined);
  }

  #degraded(missing: readonly string[]): void {
    const { settings, contained, ports, enter } = this.#parts;
    enter("degraded");
    ports.log.warn(
      { filters: missing },
      "the broker did not grant these subscriptions, so commands cannot arrive: allow them in its access list; asking again",
    );
    contained.call("degraded", () => settings.on?.degraded?.(missing));
  }

  async #sweep(): Promise<void> {
    const { ports, limits, outbox } = this.#parts;
    const everyMs = Math.max(50, limits.ackTimeoutMs / 10);
    let wasMute = false;
    for (;;) {
      if (!(await waited(ports.clock.wait(everyMs, this.#life.signal)))) return;
      const expired = outbox.sweep();
      if (expired > 0) this.#unacknowledged(expired, wasMute);
      if (wasMute && !outbox.isMute) ports.log.info("the broker acknowledges what we publish again");
      wasMute = outbox.isMute;
    }
  }

  #unacknowledged(count: number, isKnown: boolean): void {
    const { ports, outbox } = this.#parts;
    const text = outbox.isMute
      ? "the broker acknowledges nothing that we publish, so it may have none of it: look at its log and load; /healthz answers 503 until it does"
      : "the broker left publishes unacknowledged";
    if (isKnown) ports.log.debug({ count }, text);
    else ports.log.warn({ count }, text);
  }

  /**
   * Last words, DISCONNECT, close; each within its time, because a dead broker must not hold up a shutdown. Without an
   * acknowledgement of the last words the link is cut instead: after a DISCONNECT the broker would forget the will, and
   * say for ever that we are online.
   */
  async #endInOrder(): Promise<void> {
    const { settings, limits, ports, contained, link, outbox, enter } = this.#parts;
    enter("ending");
    this.#online = false;
    const { on } = settings;
    const lastWords = () => on?.beforeEnd?.() ?? Promise.resolve();
    const late = () => waited(ports.clock.wait(limits.endTimeoutMs, this.#life.signal));
    const said = contained.settle("beforeEnd", lastWords);
    const isSaid = await Promise.race([said, link.closed.then(() => false), late().then(() => false)]);
    outbox.close("the connection to the broker is being closed");
    if (isSaid) link.end();
    else link.destroy(null);
    await Promise.race([link.closed, late()]);
    link.destroy(null);
  }
}

function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      resolve();
    };
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true, signal: over });
  });
}

/** Whether a wait ran to its end. */
function waited(wait: Promise<void>): Promise<boolean> {
  return wait.then(
    () => true,
    () => false,
  );
}
