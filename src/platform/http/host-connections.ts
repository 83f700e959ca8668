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
  /** Stops what moves: does not wait for a free connection behind other commands. */
  readonly stops?: boolean;
  readonly patient: boolean;
  readonly signal: AbortSignal;
}

const bytesPerMiB = 1024 * 1024;
const commandConnections = 8;
const stopConnections = 4;
const pollingIdleMs = 15_000;
/** A warm connection is only worth something within one command; an old one may be dead and make a POST ambiguous. */
const commandIdleMs = 4_000;

/** Everything that leads to one host: polls, commands and stops on connections of their own, so that none waits for the others. */
export class HostConnections {
  readonly url: URL;
  readonly lane: Lane;
  readonly #timeouts: PlatformTimeouts;
  readonly #polling: Connections;
  readonly #commands: Connections;
  readonly #stops: Connections;
  readonly #reads: DeadlineQueue;
  readonly #controls: DeadlineQueue;

  constructor({ url, timeouts, concurrency }: HostSettings, clock: Clock) {
    const { connectMs } = timeouts;
    this.url = new URL(url);
    this.lane = new Lane(concurrency);
    this.#timeouts = timeouts;
    this.#polling = new Connections({ url, connections: concurrency, connectMs, idleMs: pollingIdleMs });
    const command = { url, connectMs, idleMs: commandIdleMs };
    this.#commands = new Connections({ ...command, connections: commandConnections });
    this.#stops = new Connections({ ...command, connections: stopConnections });
    this.#reads = new DeadlineQueue(clock, timeouts.readMs);
    this.#controls = new DeadlineQueue(clock, timeouts.controlMs);
  }

  /** Rejects with a TransportFailure. */
  exchange(
    { operation, path, body, urgent, stops = false, patient, signal }: Outgoing,
    headers: string[],
  ): Promise<HttpAnswer> {
    const deadlines = patient ? this.#controls : this.#reads;
    const others = urgent ? this.#commands : this.#polling;
    const connections = stops ? this.#stops : others;
    const { method, maxAnswerMiB } = operation;
    const maxBytes = maxAnswerMiB * bytesPerMiB;
    return connections.exchange({ method, path, headers, body, maxBytes, deadlines, signal });
  }

  deadlineMs = (patient: boolean): number => (patient ? this.#timeouts.controlMs : this.#timeouts.readMs);

  async close(): Promise<void> {
    await Promise.all([this.#polling.close(), this.#commands.close(), this.#stops.close()]);
    await Promise.all([this.#reads.close(), this.#controls.close()]);
  }
}
