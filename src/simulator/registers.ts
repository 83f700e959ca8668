import type { AddressTable } from "./address-table.js";

/** Who put a value into a register. */
export type Cause = "initial" | "command" | "hand" | "storm" | "rain" | "rotation_end" | "revert";

export interface HeldValue {
  readonly at: number;
  readonly value: string;
  readonly by: Cause;
}

/** The registers of one controller with what they held when; a register nobody touched costs nothing. */
export class RegisterBank {
  readonly table: AddressTable;
  readonly #startAt: number;
  readonly #limit: number;
  /** Made with the first value that is put. */
  #held: Map<string, HeldValue[]> | null = null;

  constructor(table: AddressTable, startAt: number, limit: number) {
    this.table = table;
    this.#startAt = startAt;
    this.#limit = limit;
  }

  /** The value now; null for an address the device does not have. */
  read(address: string): string | null {
    return this.#held?.get(address)?.at(-1)?.value ?? this.table.get(address)?.initial ?? null;
  }

  readAsOf(address: string, at: number): string | null {
    const earlier = this.#held?.get(address)?.findLast((held) => held.at <= at);
    return earlier?.value ?? this.table.get(address)?.initial ?? null;
  }

  /** Oldest first; only the newest values are kept. */
  history(address: string): readonly HeldValue[] {
    const initial = this.table.get(address)?.initial;
    if (initial === undefined) return [];
    return this.#held?.get(address) ?? [{ at: this.#startAt, value: initial, by: "initial" }];
  }

  put(address: string, held: HeldValue): void {
    const list = this.#held?.get(address) ?? [...this.history(address)];
    list.push(held);
    if (list.length > this.#limit) list.splice(0, list.length - this.#limit);
    this.#held ??= new Map();
    this.#held.set(address, list);
  }
}
