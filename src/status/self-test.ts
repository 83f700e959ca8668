import { ignored } from "../runtime/failures.js";
import type { Connection } from "../mqtt/connection.js";
import type { Core } from "../feature/core.js";

/** The link as its tests need it. */
export type TestedLink = Pick<Connection, "publish" | "reconnect" | "state"> & {
  counters(): Pick<ReturnType<Connection["counters"]>, "connects" | "takenOver" | "received">;
};

/** Times in ms: until a message has to come back, and the pause after a good and after a failed test. */
export interface SelfTestTimes {
  readonly withinMs: number;
  readonly everyMs: number;
  readonly againMs: number;
}

export const selfTestTimes: SelfTestTimes = { withinMs: 10_000, everyMs: 180_000, againMs: 30_000 };

/** The pause before a deaf link is cut again, in ms; it grows, as a reconnect that failed twice hardly helps. */
export function pauseBeforeCutMs(failures: number): number {
  return failures <= 2 ? 0 : Math.min(60_000 * 2 ** (failures - 3), 900_000);
}

/** A test message on its way; instants are monotonic ms. */
interface Trial {
  readonly nonce: string;
  readonly payload: string;
  readonly sentAt: number;
  readonly repeated: boolean;
  /** When the link last delivered anything, and how many messages it had delivered by then. */
  readonly deliveredAt: number;
  readonly received: number;
}

/** A link that delivers other messages gets this many times `withinMs`, as ours waits behind them. */
const mostPatience = 6;

/**
 * Sends itself a message through the broker after each connect and every few minutes. A link that publishes but
 * receives nothing would otherwise look healthy and accept no command.
 */
export class SelfTest {
  readonly #core: Pick<Core, "clock" | "log"> & { readonly connection: TestedLink };
  readonly #topic: string;
  readonly #newMessage: () => { readonly nonce: string; readonly payload: string };
  readonly #times: () => SelfTestTimes;
  #onHearing: () => void = () => undefined;
  readonly counters = { heard: 0, failed: 0 };
  /** Epoch ms; null while the link is not deaf. */
  deafSince: number | null = null;
  /** Epoch ms of the last success; null before the first. */
  heardAt: number | null = null;
  #trial: Trial | null = null;
  #dueAt = 0;
  #failures = 0;
  #cutAt: number | null = null;

  /** `newMessage` makes a message with a new nonce. */
  constructor(
    core: Pick<Core, "clock" | "log"> & { readonly connection: TestedLink },
    topic: string,
    newMessage: () => { readonly nonce: string; readonly payload: string },
    times: () => SelfTestTimes,
  ) {
    this.#core = core;
    this.#topic = topic;
    this.#newMessage = newMessage;
    this.#times = times;
  }

  /** Calls back when a deaf link hears again. */
  onHearing(listener: () => void): void {
    this.#onHearing = listener;
  }

  /** A link is up and its subscriptions are granted. */
  onConnected(): void {
    this.#trial = null;
    this.soon();
  }

  /** Begins a new test now, or once the message of the one under way has come back. */
  soon(): void {
    this.#dueAt = 0;
    this.look();
  }

  /** Takes a nonce that came back. */
  onMessage(nonce: string): void {
    if (nonce !== this.#trial?.nonce) return;
    this.#trial = null;
    this.counters.heard += 1;
    this.#failures = 0;
    this.heardAt = this.#core.clock.now();
    const wasDeaf = this.deafSince !== null;
    this.deafSince = null;
    if (!wasDeaf) return;
    this.#core.log.info("the broker delivers messages to us again");
    this.#onHearing();
  }

  /** The time until something is due, ms; Infinity without a link. */
  restMs(): number {
    const { connection, clock } = this.#core;
    if (connection.state !== "online") return Infinity;
    const { withinMs } = this.#times();
    const trial = this.#trial;
    const at =
      trial === null
        ? this.#dueAt
        : trial.repeated
          ? trial.deliveredAt + withinMs
          : trial.sentAt + withinMs / 2;
    return Math.max(0, at - clock.monotonic());
  }

  /** Does what is due. */
  look(): void {
    const { connection, clock } = this.#core;
    const now = clock.monotonic();
    const trial = this.#trial;
    if (connection.state !== "online") this.#trial = null;
    else if (trial === null) {
      if (now >= this.#dueAt) this.#begin(now);
    } else if (now - trial.deliveredAt >= this.#times().withinMs) this.#judge(trial, now);
    // A broker may drop one message for a client that it floods, but hardly two.
    else if (!trial.repeated && now - trial.sentAt >= this.#times().withinMs / 2)
      this.#send({ ...trial, repeated: true });
  }

  #begin(now: number): void {
    this.#dueAt = now + this.#times().everyMs;
    const { received } = this.#core.connection.counters();
    const message = this.#newMessage();
    this.#send({ ...message, sentAt: now, repeated: false, deliveredAt: now, received });
  }

  /** Our message did not come. As long as others come, ours may be behind them. */
  #judge(trial: Trial, now: number): void {
    const { connection } = this.#core;
    const { received } = connection.counters();
    const isPatient = now - trial.sentAt < mostPatience * this.#times().withinMs;
    if (isPatient && received > trial.received) this.#trial = { ...trial, deliveredAt: now, received };
    else this.#onFailure(now);
  }

  #send(trial: Trial): void {
    this.#trial = trial;
    const { connection } = this.#core;
    connection.publish(this.#topic, trial.payload, {}).catch(ignored);
  }

  #onFailure(now: number): void {
    const { connection, clock, log } = this.#core;
    const topic = this.#topic;
    this.#trial = null;
    this.counters.failed += 1;
    this.#failures += 1;
    this.deafSince ??= clock.now();
    const mayCut = this.#cutAt === null || now - this.#cutAt >= pauseBeforeCutMs(this.#failures);
    log.error(
      { topic, failures: this.#failures },
      `the broker takes our messages but delivers none: commands cannot arrive.${mayCut ? " Reconnecting." : ""} If this stays, let this client read and write the topic in the broker's access list`,
    );
    this.#dueAt = now + this.#times().againMs;
    if (!mayCut) return;
    this.#cutAt = now;
    connection.reconnect("the link delivers no messages: a message to ourselves did not come back");
  }
}
