import { JetStreamApiError } from "@nats-io/jetstream";
import type { Clock } from "../runtime/clock.js";
import type { AccountStream, Bucket } from "./ports.js";

/*
 * A server that lost its peers answers pings, but nothing that needs a majority. So answers to requests show whether a
 * server is of use, and not its link. A former leader goes on answering reads for some seconds, so that reads do not
 * prove that it can write.
 */

/** Short enough for an owner to reach another server between two failed renewals and the end of its lease. */
const muteMs = 3_000;

/** What a request asks for: `kept` needs a majority, `told` only an answer. */
type Kind = "kept" | "told";

/** JetStream's code for having no leader now. */
const unavailable = 10_008;

/** Whether an error is the answer of a server that knows. */
const isAnswer = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code !== unavailable;

/** Notices a server that answers no requests. */
export class ServerWatchdog {
  readonly #clock: Pick<Clock, "after">;
  readonly #onMute: () => void;
  /** Cancels the timer of each kind of request that waits for an answer. */
  readonly #watching = new Map<Kind, () => void>();
  #isOver = false;

  /** `onMute`: called when requests of one kind had no answer for `muteMs`. */
  constructor(clock: Pick<Clock, "after">, onMute: () => void) {
    this.#clock = clock;
    this.#onMute = onMute;
  }

  async of<T>(asked: Promise<T>, kind: Kind = "told"): Promise<T> {
    this.#watch(kind);
    try {
      const answer = await asked;
      this.#heard(kind);
      return answer;
    } catch (error) {
      if (isAnswer(error)) this.#heard(kind);
      throw error;
    }
  }

  /** A bucket whose server is left if it does not answer. */
  bucket(bucket: Bucket): Bucket {
    return {
      claim: (...given) => this.of(bucket.claim(...given), "kept"),
      renew: (...given) => this.of(bucket.renew(...given), "kept"),
      release: (...given) => this.of(bucket.release(...given), "kept"),
      get: (...given) => this.of(bucket.get(...given)),
      put: (...given) => this.of(bucket.put(...given), "kept"),
      watch: (...given) => this.of(bucket.watch(...given)),
    };
  }

  stream(stream: AccountStream): AccountStream {
    return {
      append: (...given) => this.of(stream.append(...given), "kept"),
      state: () => this.of(stream.state()),
      newest: (...given) => this.of(stream.newest(...given)),
      read: (...given) => stream.read(...given),
      purge: (...given) => this.of(stream.purge(...given), "kept"),
    };
  }

  close(): void {
    this.#isOver = true;
    this.#heard("kept");
  }

  #watch(kind: Kind): void {
    if (this.#isOver || this.#watching.has(kind)) return;
    const takeBack = this.#clock.after(muteMs, () => {
      this.#heard("kept");
      this.#onMute();
    });
    this.#watching.set(kind, takeBack);
  }

  /** A write that was kept answers for the reads too. */
  #heard(kind: Kind): void {
    for (const one of kind === "kept" ? (["kept", "told"] as const) : ([kind] as const)) {
      this.#watching.get(one)?.();
      this.#watching.delete(one);
    }
  }
}
