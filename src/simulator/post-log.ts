import type { Ignored } from "./actuators.js";

/**
 * What became of a POST at the device: `waiting` until the value arrives there, `taken` when the register holds it,
 * `ignored_by_fault` and the other `ignored_…` when it never will, `offline` when the device was not there,
 * `not_processed` when the platform did not take the request at all.
 */
export type PostEffect = "waiting" | "taken" | "ignored_by_fault" | "offline" | "not_processed" | Ignored;

/** One `POST /api/set-value` as it reached the platform; `at` is real epoch ms. */
export interface PostRecord {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly requestId: string;
  /** The platform carried it out or passed it on, whatever it answered. */
  accepted: boolean;
  effect: PostEffect;
}

/** The newest POSTs. Dropping is done in chunks, so that a long soak does not copy the list each time. */
export class PostLog {
  readonly #limit: number;
  #records: PostRecord[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(record: PostRecord): PostRecord {
    if (this.#records.length >= this.#limit * 1.25) this.#records = this.#records.slice(-this.#limit);
    this.#records.push(record);
    return record;
  }

  list(): readonly PostRecord[] {
    return this.#records.slice(-this.#limit);
  }
}
