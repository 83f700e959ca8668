import { JetStreamApiError } from "@nats-io/jetstream";
import type { Clock } from "../runtime/clock.js";
import type { AccountStream, Bucket } from "./ports.js";

/*
 * A server that lost its peers answers to pings, and to nothing that only a majority can say. So what is asked for tells whether a
 * server is of use, and not that its link stands.
 */

/** Less than what an owner has between two renewals and the end of its lease: it is at another server by then. */
const muteMs = 3_000;

/** Of servers that have no leader now. */
const unavailable = 10_008;

/** Whether what was asked for came to a server that knows. */
const isAnswer = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.code !== unavailable;

interface AnswersPorts {
  readonly clock: Pick<Clock, "after">;
  /** Nothing of what was asked for was answered for so long. */
  readonly onMute: () => void;
}

/** Notices that a server answers nothing of what is asked for. */
export class Answers {
  readonly #ports: AnswersPorts;
  /** Takes back what watches for an answer; null while nothing is waited for. */
  #takeBack: (() => void) | null = null;
  #isOver = false;

  constructor(ports: AnswersPorts) {
    this.#ports = ports;
  }

  async of<T>(asked: Promise<T>): Promise<T> {
    this.#watch();
    try {
      const answer = await asked;
      this.#heard();
      return answer;
    } catch (error) {
      if (isAnswer(error)) this.#heard();
      throw error;
    }
  }

  /** What is asked for of the bucket is answered, or its server left. */
  bucket(bucket: Bucket): Bucket {
    return {
      claim: (...given) => this.of(bucket.claim(...given)),
      renew: (...given) => this.of(bucket.renew(...given)),
      release: (...given) => this.of(bucket.release(...given)),
      get: (...given) => this.of(bucket.get(...given)),
      put: (...given) => this.of(bucket.put(...given)),
      watch: (...given) => this.of(bucket.watch(...given)),
    };
  }

  stream(stream: AccountStream): AccountStream {
    return {
      append: (...given) => this.of(stream.append(...given)),
      state: () => this.of(stream.state()),
      newest: (...given) => this.of(stream.newest(...given)),
      read: (...given) => stream.read(...given),
      purge: (...given) => this.of(stream.purge(...given)),
    };
  }

  close(): void {
    this.#isOver = true;
    this.#heard();
  }

  #watch(): void {
    if (this.#isOver) return;
    this.#takeBack ??= this.#ports.clock.after(muteMs, () => {
      this.#takeBack = null;
      this.#ports.onMute();
    });
  }

  #heard(): void {
    this.#takeBack?.();
    this.#takeBack = null;
  }
}
