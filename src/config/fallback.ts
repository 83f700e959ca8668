import { type KnowsSensor, keysForRun, waitingKeys, withLiveKeys } from "./live-settings.js";
import type { Configuration } from "./schema.js";

/** What a file that was read again means for the run. */
export interface Judged {
  /** The bridge did not come up with it before, and no key that takes a new run has changed since. */
  readonly isRefused: boolean;
  /** The bridge has come up with it before. */
  readonly isKnown: boolean;
  /** The changed keys that take a new run. */
  readonly keys: readonly string[];
  /** For a refused one: the keys that would count at once, and are not taken up without the rest. */
  readonly waiting: readonly string[];
}

/**
 * The configuration before a file was edited by hand, left by an earlier process. `isRefused`: the file is not tried
 * again.
 */
export interface FormerRun {
  readonly configuration: Configuration;
  readonly isRefused: boolean;
}

/**
 * What a run goes back to if it does not come up with a configuration. It is kept as values, not as a file: the file
 * may change, and `!env` or a fleet's defaults may give something else.
 */
export class Fallback {
  /** Null while nothing is tried. */
  #former: Configuration | null;
  #refused: Configuration | null = null;
  readonly #knows: KnowsSensor | undefined;

  /** `knows`: by the run under way. */
  constructor(former: Configuration | null = null, knows?: KnowsSensor) {
    this.#former = former;
    this.#knows = knows;
  }

  judge(inForce: Configuration, read: Configuration): Judged {
    const isRefused = this.#isRefused(read);
    return {
      isRefused,
      isKnown: keysForRun(this.#former ?? inForce, read, this.#knows).length === 0,
      keys: keysForRun(inForce, read, this.#knows),
      waiting: isRefused ? waitingKeys(inForce, read, this.#knows) : [],
    };
  }

  /**
   * The configuration to take up. Of a refused one that is only what counts at once: otherwise each reload, even for
   * another account, would stop the houses for a minute.
   */
  taken(inForce: Configuration, read: Configuration): Configuration {
    if (this.#isRefused(read)) return withLiveKeys(inForce, read, this.#knows);
    // The configuration that was gone back to is known to work, even if it does not run yet.
    if (this.#refused !== null && keysForRun(inForce, read, this.#knows).length > 0) this.keep(inForce);
    this.#refused = null;
    return read;
  }

  #isRefused(read: Configuration): boolean {
    return this.#refused !== null && keysForRun(this.#refused, read, this.#knows).length === 0;
  }

  /** Another configuration follows this one, with which the bridge has come up. */
  keep(former: Configuration): void {
    this.#former ??= former;
  }

  /**
   * Returns the former configuration, with present values of keys that count at once: a user removed since stays out.
   * Null if there is none.
   */
  refuse(tried: Configuration): Configuration | null {
    const former = this.#former;
    if (former === null) return null;
    this.#former = null;
    this.#refused = tried;
    return withLiveKeys(former, tried, this.#knows);
  }

  /** Nothing is on trial any more. */
  settle(): void {
    this.#former = null;
  }
}
