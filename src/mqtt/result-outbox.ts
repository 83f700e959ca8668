import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Logger } from "../runtime/log.js";
import { PublishError } from "./connection/publish.js";
import type { PublishOptions } from "./connection/settings.js";
import { eventDocument } from "./projection.js";
import type { Topics } from "./topics.js";

export interface ResultAddress {
  readonly controllerId: string;
  readonly target: "actuator" | "parameter" | "address";
  readonly targetId: string;
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

export interface ResultPublisher {
  publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
}

export interface OutboxPorts {
  readonly topics: Topics;
  readonly publisher: ResultPublisher;
  readonly monotonic: () => number;
  readonly log: Pick<Logger, "warn">;
}

interface Destination {
  readonly topic: string;
  readonly options: PublishOptions;
}

interface Waiting {
  readonly result: CommandResult;
  /** Where it is still owed. */
  readonly destinations: readonly Destination[];
  readonly sinceMono: number;
  readonly delivered: () => void;
}

const mostWaiting = 1_000;
const longestMs = 24 * 3_600_000;
/** Topics the log is told of; of more nobody reads. */
const mostNamed = 100;

/**
 * Publishes results at least once on each of their topics: what came before the first link waits for it, what met a dead
 * broker follows on reconnect, marked as repeated. A topic the broker never takes keeps nothing back from the others.
 */
export class ResultOutbox {
  readonly #ports: OutboxPorts;
  readonly #named = new Set<string>();
  #waiting: Waiting[] = [];
  /** Went out as soon as a link was back, when Home Assistant may not have been. */
  #late: Waiting[] = [];
  #wasLinked = false;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * `delivered` is called once nothing of the result is left to be published: every topic that can take it has it, or it
   * was dropped, as too old or one of too many.
   */
  send(result: CommandResult, address: ResultAddress, delivered: () => void): void {
    const destinations = destinationsOf(this.#ports.topics, address, result);
    const one = { result, destinations, sinceMono: this.#ports.monotonic(), delivered };
    // Before the first link nobody can have been told, so this will be the first time and no repetition.
    if (this.#wasLinked) void this.#send(one);
    else this.#keep(one);
  }

  /** A result of an earlier run that may never have arrived; goes out with the next connection. */
  restore(result: CommandResult, address: ResultAddress, delivered: () => void = () => undefined): void {
    this.#keep({
      result: { ...result, repeated: true },
      destinations: destinationsOf(this.#ports.topics, address, result),
      sinceMono: this.#ports.monotonic(),
      delivered,
    });
  }

  /** Controllers, by id, whose results wait for the next link. */
  get controllers(): ReadonlySet<string> {
    return new Set(this.#waiting.map(({ result }) => result.controller));
  }

  connected(): void {
    this.#wasLinked = true;
    this.dropOld();
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#late = [...this.#late, ...waiting].slice(-mostWaiting);
    for (const one of waiting) void this.#send(one);
  }

  /**
   * Home Assistant is there again and has its entities: after an outage of the broker it comes back seconds after this bridge, and
   * has missed what followed at once. Told once more, on our own topics: whoever asked for an answer was there to get it.
   */
  born(): void {
    this.dropOld();
    const late = this.#late;
    this.#late = [];
    for (const { result, destinations } of late) {
      const payload = JSON.stringify({ ...result, repeated: true });
      for (const { topic, options } of destinations)
        if (isOwn(this.#ports.topics, topic))
          // It was told already, so a link that goes just now owes it to nobody.
          this.#ports.publisher.publish(topic, payload, options).catch(() => undefined);
    }
  }

  /** Call it now and then: on a link that stays up for days nothing else ends the wait of what a broker did not take. */
  dropOld(): void {
    const latest = this.#ports.monotonic() - longestMs;
    this.#late = this.#late.filter(({ sinceMono }) => sinceMono > latest);
    const old = this.#waiting.filter(({ sinceMono }) => sinceMono <= latest);
    if (old.length === 0) return;
    this.#waiting = this.#waiting.filter(({ sinceMono }) => sinceMono > latest);
    for (const { delivered } of old) delivered();
  }

  async #send(whole: Waiting): Promise<void> {
    const one = { ...whole, destinations: await this.#publish(whole) };
    if (one.destinations.length === 0) one.delivered();
    else {
      // Somebody may have it already, of another topic or of this one.
      this.#keep({ ...one, result: { ...one.result, repeated: true } });
    }
  }

  /** Resolves with the destinations that may take it another time. */
  async #publish({ result, destinations }: Waiting): Promise<readonly Destination[]> {
    const payload = JSON.stringify(result);
    const tries = destinations.map(async (destination) => {
      try {
        await this.#ports.publisher.publish(destination.topic, payload, destination.options);
        return [];
      } catch (error) {
        if (!isFinal(error)) return [destination];
        this.#name(destination.topic, error);
        return [];
      }
    });
    return (await Promise.all(tries)).flat();
  }

  #name(topic: string, { kind, message }: PublishError): void {
    const named = topic.slice(0, 200);
    if (this.#named.has(named) || this.#named.size >= mostNamed) return;
    this.#named.add(named);
    const remedy = kind === "refused" ? refusedRemedy : invalidRemedy;
    this.#ports.log.warn(
      { topic: named },
      `a result is not on this topic, only on its others and in the journal: ${message}; ${remedy}`,
    );
  }

  #keep(one: Waiting): void {
    this.#waiting.push(one);
    if (this.#waiting.length > mostWaiting) this.#waiting.shift()?.delivered();
  }
}

const refusedRemedy = "let the bridge publish there, or ask for the answer on another topic";
const invalidRemedy =
  "where that is the topic's fault, send commands to what bridge/controllers and the configuration name";

/** MQTT 5: the broker is short of something, and says nothing against the message. */
const passing: ReadonlySet<unknown> = new Set([0x88, 0x89, 0x8b, 0x91, 0x93, 0x96, 0x97, 0x9f]);

/** Whether another try would end the same. */
function isFinal(error: unknown): error is PublishError {
  if (!(error instanceof PublishError)) return false;
  if (error.kind !== "refused") return error.kind === "invalid";
  const { cause } = error;
  return !(cause instanceof Error && "code" in cause && passing.has(cause.code));
}

/** Not a topic that a sender named for its answer. */
const isOwn = ({ base }: Topics, topic: string): boolean =>
  topic.startsWith(`${base}/`) && !topic.startsWith(`${base}/response/`);

function destinationsOf(
  { base }: Topics,
  address: ResultAddress,
  { reason }: CommandResult,
): readonly Destination[] {
  const { controllerId, target, targetId, response } = address;
  const options = { retain: false, qos: 1 } as const;
  const root = `${base}/${controllerId}`;
  const answer = `${root}/${target}/${targetId}/result`;
  // What came twice is answered to whoever sent it; on the controller's topic it would raise an alarm for a double click.
  const topics = reason === "duplicate" ? [answer] : [answer, `${root}/result`];
  const own = topics.map((topic) => ({ topic, options }));
  if (response === null) return own;
  const correlationData =
    response.correlationData === null ? undefined : Buffer.from(response.correlationData);
  const properties = correlationData === undefined ? {} : { responseProperties: { correlationData } };
  return [...own, { topic: response.topic, options: { ...options, ...properties } }];
}

const mostEventsWaiting = 100;

export interface EventPorts {
  /** Publishes one document, not retained; rejects with a PublishError. */
  readonly publish: (document: string) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** The bridge's events. Most are raised only once, so what met no broker follows with the next link: the newest hundred. */
export class EventOutbox {
  readonly #ports: EventPorts;
  #waiting: string[] = [];

  constructor(ports: EventPorts) {
    this.#ports = ports;
  }

  send(event: BridgeEvent): void {
    void this.#publish(eventDocument(event));
  }

  connected(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const document of waiting) void this.#publish(document);
  }

  async #publish(document: string): Promise<void> {
    try {
      await this.#ports.publish(document);
    } catch (error) {
      if (error instanceof PublishError && (error.kind === "offline" || error.kind === "unacknowledged"))
        this.#waiting = [...this.#waiting.slice(1 - mostEventsWaiting), document];
      else this.#ports.failed(error);
    }
  }
}
