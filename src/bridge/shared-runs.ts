/**
 * One run at a time for each key. Who asks while it goes on shares the next one with everybody else who does: a run that
 * began earlier may have passed over what he wants to see.
 */
export class SharedRuns<Key> {
  readonly #running = new Map<Key, Promise<void>>();
  readonly #following = new Map<Key, Promise<void>>();

  /** Resolves when a run that began with or after this call has ended. `work` must not reject. */
  run(key: Key, work: () => Promise<void>): Promise<void> {
    const following = this.#following.get(key);
    if (following !== undefined) return following;
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key, work);
    const next = running.then(() => {
      this.#following.delete(key);
      return this.#start(key, work);
    });
    this.#following.set(key, next);
    return next;
  }

  #start(key: Key, work: () => Promise<void>): Promise<void> {
    const run = work().then(() => {
      this.#running.delete(key);
    });
    this.#running.set(key, run);
    return run;
  }
}
