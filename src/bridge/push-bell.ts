import type { RawValue } from "../greenhouse/ports.js";

/** Returns whether the pushed value is what the listener waits for. */
export type BellListener = (raw: RawValue) => boolean;

export type UnreadListener = (code: string, address: string, raw: RawValue) => void;

/** Tells whoever reads an address back that the platform has just pushed a value of it. */
export class PushBell {
  readonly #listeners = new Map<string, Set<BellListener>>();
  #onUnread: UnreadListener = () => undefined;

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

  /** Returns the function that ends listening; it is given what was pushed after the listener's last read began. */
  listen(code: string, address: string, listener: BellListener): (unread: RawValue | null) => void {
    const key = keyOf(code, address);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return (unread) => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
      if (unread !== null) this.#onUnread(code, address, unread);
    };
  }

  /** Who looks after what a listener leaves unread. */
  onUnread(listener: UnreadListener): void {
    this.#onUnread = listener;
  }
}

const keyOf = (code: string, address: string): string => `${code} ${address}`;
