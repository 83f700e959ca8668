import type { Duplex } from "node:stream";
import type { Clock } from "../runtime/clock.js";
import type { BrokerLimits } from "./settings.js";

type Waiter = (error: Error | null, client: unknown) => void;

/** The part of an aedes client that decides how long a full socket is waited for. */
export interface Drainable {
  readonly conn: Duplex;
  waitForDrain: (done: Waiter) => void;
}

/**
 * aedes holds back the publisher, and with it everybody who listens, until the slowest subscriber has room again. That
 * is right for a moment and wrong for a frozen one: here the others go on after `stallGraceMs`, its messages pile up in
 * its own socket up to `bufferedBytes`, and after `drainTimeoutMs` without a byte taken it is disconnected.
 */
export function limitDrainWait(
  client: Drainable,
  limits: BrokerLimits,
  clock: Clock,
  stuck: () => void,
): void {
  const wait = new DrainWait(client, limits, clock, stuck);
  client.waitForDrain = (done) => wait.add(done);
}

class DrainWait {
  readonly #client: Drainable;
  readonly #limits: BrokerLimits;
  readonly #clock: Clock;
  readonly #stuck: () => void;
  #waiters: Waiter[] = [];
  #stall: AbortController | null = null;
  #goOn = false;

  constructor(client: Drainable, limits: BrokerLimits, clock: Clock, stuck: () => void) {
    this.#client = client;
    this.#limits = limits;
    this.#clock = clock;
    this.#stuck = stuck;
  }

  add(done: Waiter): void {
    const { conn } = this.#client;
    this.#waiters.push(done);
    if (conn.destroyed) this.#release(new Error("connection closed"));
    else if (conn.writableLength > this.#limits.bufferedBytes) this.#disconnect();
    else if (this.#goOn) this.#release(null);
    else if (this.#stall === null) void this.#watch();
  }

  async #watch(): Promise<void> {
    const stall = new AbortController();
    this.#stall = stall;
    const { conn } = this.#client;
    const over = () => stall.abort();
    conn.once("drain", over).once("close", over);
    const { stallGraceMs, drainTimeoutMs } = this.#limits;
    try {
      await this.#clock.wait(stallGraceMs, stall.signal);
      this.#goOn = true;
      this.#release(null);
      await this.#clock.wait(Math.max(0, drainTimeoutMs - stallGraceMs), stall.signal);
      this.#disconnect();
    } catch {
      // Drained or closed in time: nothing to do but let the waiting ones go.
    }
    conn.off("drain", over).off("close", over);
    this.#stall = null;
    this.#goOn = false;
    this.#release(conn.destroyed ? new Error("connection closed") : null);
  }

  #release(error: Error | null): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const done of waiters) setImmediate(done, error, this.#client);
  }

  #disconnect(): void {
    this.#stuck();
    this.#client.conn.destroy();
    this.#release(new Error("the subscriber reads too slowly"));
  }
}
