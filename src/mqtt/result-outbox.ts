import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { PublishOptions } from "./connection.js";
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

interface Waiting {
  readonly result: CommandResult;
  readonly address: ResultAddress;
  readonly sinceMono: number;
  readonly delivered: () => void;
}

const mostWaiting = 1_000;
const longestMs = 24 * 3_600_000;

/**
 * Publishes results at least once: what came before the first link waits for it, what met a dead broker follows on
 * reconnect, marked as repeated.
 */
export class ResultOutbox {
  readonly #topics: Topics;
  readonly #publisher: ResultPublisher;
  readonly #monotonic: () => number;
  #waiting: Waiting[] = [];
  #wasLinked = false;

  constructor(topics: Topics, publisher: ResultPublisher, monotonic: () => number) {
    this.#topics = topics;
    this.#publisher = publisher;
    this.#monotonic = monotonic;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** `delivered` is called once the broker has acknowledged every publish of the result. */
  send(result: CommandResult, address: ResultAddress, delivered: () => void): void {
    const one = { result, address, sinceMono: this.#monotonic(), delivered };
    // Before the first link nobody can have been told, so this will be the first time and no repetition.
    if (this.#wasLinked) void this.#send(one);
    else this.#keep(one);
  }

  /** A result of an earlier run that may never have arrived; goes out with the next connection. */
  restore(result: CommandResult, address: ResultAddress, delivered: () => void = () => undefined): void {
    this.#keep({
      result: { ...result, repeated: true },
      address,
      sinceMono: this.#monotonic(),
      delivered,
    });
  }

  connected(): void {
    this.#wasLinked = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) if (this.#monotonic() - one.sinceMono < longestMs) void this.#send(one);
  }

  async #send(one: Waiting): Promise<void> {
    try {
      await Promise.all(this.#publishes(one));
      one.delivered();
    } catch {
      this.#keep({ ...one, result: { ...one.result, repeated: true } });
    }
  }

  #publishes({ result, address }: Waiting): Promise<void>[] {
    const { controllerId, target, targetId, response } = address;
    const payload = JSON.stringify(result);
    const plain = { retain: false, qos: 1 } as const;
    const root = `${this.#topics.base}/${controllerId}`;
    const sent = [
      this.#publisher.publish(`${root}/${target}/${targetId}/result`, payload, plain),
      this.#publisher.publish(`${root}/result`, payload, plain),
    ];
    if (response === null) return sent;
    const correlationData =
      response.correlationData === null ? undefined : Buffer.from(response.correlationData);
    const properties = correlationData === undefined ? {} : { responseProperties: { correlationData } };
    return [...sent, this.#publisher.publish(response.topic, payload, { ...plain, ...properties })];
  }

  #keep(one: Waiting): void {
    this.#waiting.push(one);
    if (this.#waiting.length > mostWaiting) this.#waiting.shift();
  }
}
