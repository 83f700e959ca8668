import type { RawValue } from "../greenhouse/ports.js";

/** Returns whether the pushed value is what the listener waits for. */
export type BellListener = (raw: RawValue) => boolean;

/** Tells whoever reads an address back that the platform has just pushed a value of it. */
export class PushBell {
  readonly #listeners = new Map<string, Set<BellListener>>();

  /** Whether somebody is reading the address back. */
  isAwaited(code: string, address: string): boolean {
    return this.#listeners.has(keyOf(code, address));
  }

  /** Whether somebody waited for just this value and reads it back now. */
  ring(code: string, address: string, raw: RawValue): boolean {
    let isWanted = false;
    for (const listener of this.#listeners.get(keyOf(code, address)) ?? [])
      isWanted = listener(raw) || isWanted;
    return isWanted;
  }

  /** Returns the function that ends listening. */
  listen(code: string, address: string, listener: BellListener): () => void {
    const key = keyOf(code, address);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
    };
  }
}

const keyOf = (code: string, address: string): string => `${code} ${address}`;
