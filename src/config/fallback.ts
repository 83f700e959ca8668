import { keysForRun, waitingKeys, withLiveKeys } from "./live-settings.js";
import type { Configuration } from "./schema.js";

/** What a file that was read again means for the run. */
export interface Judged {
  /** The bridge did not come up by it before, and no key that takes a new run is another one since. */
  readonly isRefused: boolean;
  /** The bridge has come up by it before. */
  readonly isKnown: boolean;
  /** The keys that take a new run. */
  readonly keys: readonly string[];
  /** Of a refused one: what would count at once and is not taken up without the rest. */
  readonly waiting: readonly string[];
}

/** What ran before a file was edited by hand, as an earlier process has left it; `isRefused`: the file is tried no more. */
export interface FormerRun {
  readonly configuration: Configuration;
  readonly isRefused: boolean;
}

/**
 * What a run goes back to where it does not come up by a configuration. It is kept as it was in force, not as a file: the file may be
 * another one by now, and `!env` or the defaults of a fleet may say something else.
 */
export class Fallback {
  /** Null where nothing is tried. */
  #former: Configuration | null;
  #refused: Configuration | null = null;

  constructor(former: Configuration | null = null) {
    this.#former = former;
  }

  judge(inForce: Configuration, read: Configuration): Judged {
    const isRefused = this.#isRefused(read);
    return {
      isRefused,
      isKnown: keysForRun(this.#former ?? inForce, read).length === 0,
      keys: keysForRun(inForce, read),
      waiting: isRefused ? waitingKeys(inForce, read) : [],
    };
  }

  /**
   * What is taken up of it. Of a refused one only what counts at once, as each reload, also one for another account, would stop the
   * houses for a minute.
   */
  taken(inForce: Configuration, read: Configuration): Configuration {
    if (this.#isRefused(read)) return withLiveKeys(inForce, read);
    // What is gone back to may not run yet, and is known to.
    if (this.#refused !== null && keysForRun(inForce, read).length > 0) this.keep(inForce);
    this.#refused = null;
    return read;
  }

  #isRefused(read: Configuration): boolean {
    return this.#refused !== null && keysForRun(this.#refused, read).length === 0;
  }

  /** Another configuration follows this one, by which the bridge has come up. */
  keep(former: Configuration): void {
    this.#former ??= former;
  }

  /** The former one, with what counts at once as it is now: a user who was taken out since stays out. Null where there is none. */
  refuse(tried: Configuration): Configuration | null {
    const former = this.#former;
    if (former === null) return null;
    this.#former = null;
    this.#refused = tried;
    return withLiveKeys(former, tried);
  }

  /** Nothing is tried any more. */
  settle(): void {
    this.#former = null;
  }
}
