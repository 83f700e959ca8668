import type { Clock } from "../../runtime/clock.js";
import type { PlatformTimeouts } from "../settings.js";
import { Connections } from "./connections.js";
import { DeadlineQueue } from "./deadline-queue.js";
import type { HttpAnswer } from "./exchange.js";
import { Lane } from "./lane.js";

export interface HostSettings {
  readonly url: string;
  readonly timeouts: PlatformTimeouts;
  /** Of polling. */
  readonly concurrency: number;
}

export interface Outgoing {
  readonly operation: { readonly method: "GET" | "POST"; readonly maxAnswerMiB: number };
  readonly path: string;
  readonly body?: string;
  readonly urgent: boolean;
  readonly patient: boolean;
  readonly signal: AbortSignal;
}

const bytesPerMiB = 1024 * 1024;
const commandConnections = 8;
const pollingIdleMs = 15_000;
/** A warm connection is only worth something within one command; an old one may be dead and make a POST ambiguous. */
const commandIdleMs = 4_000;

/** Everything that leads to one host: polls and commands on connections of their own, so that neither waits for the other. */
export class HostConnections {
  readonly url: URL;
  readonly lane: Lane;
  readonly #timeouts: PlatformTimeouts;
  readonly #polling: Connections;
  readonly #commands: Connections;
  readonly #reads: DeadlineQueue;
  readonly #controls: DeadlineQueue;

  constructor({ url, timeouts, concurrency }: HostSettings, clock: Clock) {
    const { connectMs } = timeouts;
    this.url = new URL(url);
    this.lane = new Lane(concurrency);
    this.#timeouts = timeouts;
    this.#polling = new Connections({ url, connections: concurrency, connectMs, idleMs: pollingIdleMs });
    this.#commands = new Connections({
      url,
      connections: commandConnections,
      connectMs,
      idleMs: commandIdleMs,
    });
    this.#reads = new DeadlineQueue(clock, timeouts.readMs);
    this.#controls = new DeadlineQueue(clock, timeouts.controlMs);
  }

  /** Rejects with a TransportFailure. */
  exchange(
    { operation, path, body, urgent, patient, signal }: Outgoing,
    headers: string[],
  ): Promise<HttpAnswer> {
    const deadlines = patient ? this.#controls : this.#reads;
    const connections = urgent ? this.#commands : this.#polling;
    const { method, maxAnswerMiB } = operation;
    const maxBytes = maxAnswerMiB * bytesPerMiB;
    return connections.exchange({ method, path, headers, body, maxBytes, deadlines, signal });
  }

  deadlineMs = (patient: boolean): number => (patient ? this.#timeouts.controlMs : this.#timeouts.readMs);

  async close(): Promise<void> {
    await Promise.all([this.#polling.close(), this.#commands.close()]);
    await Promise.all([this.#reads.close(), this.#controls.close()]);
  }
}
