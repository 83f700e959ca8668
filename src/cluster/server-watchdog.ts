import { JetStreamApiError } from "@nats-io/jetstream";
import type { Clock } from "../runtime/clock.js";
import type { AccountStream, Bucket } from "./ports.js";

/*
 * A server that lost its peers answers to pings, and to nothing that only a majority can say. So what is asked for tells whether a
 * server is of use, and not that its link stands. One that led goes on telling what it had for some seconds: that it reads is no sign
 * that it writes.
 */

/** Less than what an owner has between two renewals and the end of its lease: it is at another server by then. */
const muteMs = 3_000;

/** What is asked for: to be kept, which takes a majority, or to be told. */
type Kind = "kept" | "told";

/** Of servers that have no leader now. */
const unavailable = 10_008;

/** Whether what was asked for came to a server that knows. */
const isAnswer = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code !== unavailable;

/** Notices that a server answers nothing of what is asked for. */
export class ServerWatchdog {
  readonly #clock: Pick<Clock, "after">;
  readonly #onMute: () => void;
  /** Takes back what watches for an answer, where one is waited for. */
  readonly #watching = new Map<Kind, () => void>();
  #isOver = false;

  /** `onMute`: nothing of what was asked for was answered for so long. */
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

  /** What is asked for of the bucket is answered, or its server left. */
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

  /** What was kept answers for all that was asked. */
  #heard(kind: Kind): void {
    for (const one of kind === "kept" ? (["kept", "told"] as const) : ([kind] as const)) {
      this.#watching.get(one)?.();
      this.#watching.delete(one);
    }
  }
}
