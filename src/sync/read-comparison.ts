import { stateAddresses } from "../greenhouse/actuator-kinds.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";

/*
 * Compares both reads of an address. The interface document leaves open whether `set-value/flush` returns the set value
 * and `get-value` that of the device. Where they keep differing, `get-value` counts.
 */

/** One address with its value in both reads. */
export interface Compared {
  readonly code: string;
  readonly address: string;
  readonly group: RawValue;
  readonly value: RawValue;
}

/** Even a resting value may come late in one of the reads. */
const leastMs = 30_000;
/** An address that cannot be read is left to polling. */
const mostTries = 3;

interface Check {
  readonly code: string;
  readonly address: string;
  readonly tries: number;
}

/** The longest movement at the address, and when ours began, monotonic ms; null for none. */
function movementAt({ actuators }: Controller, address: string) {
  for (const { settings, postedAt, between } of actuators.values())
    if (stateAddresses(settings).includes(address))
      return { lastsMs: Math.max(leastMs, settings.travelMs), postedAt, isBetween: between !== null };
  return { lastsMs: leastMs, postedAt: null, isBetween: false };
}

/** Comparisons of all addresses; instants are monotonic ms. */
export class ReadComparison {
  /** Addresses to read once by `get-value`, so that the group's next answer can be compared. */
  readonly #checks: Check[] = [];
  readonly #begun = new Map<string, Set<ParameterGroup>>();
  /** Since when both reads differ, by device code and address. */
  readonly #differing = new Map<string, Map<string, number>>();
  readonly #apart = new Map<string, Set<string>>();

  /** Addresses whose group is ignored, by device code. */
  get apart(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#apart;
  }

  isApart(code: string, address: string): boolean {
    return this.#apart.get(code)?.has(address) === true;
  }

  /** The first answer about a group gives the addresses to compare. */
  onAnswer({ info: { code } }: Controller, group: ParameterGroup, addresses: readonly string[]): void {
    const begun = this.#begun.get(code) ?? new Set();
    if (addresses.length === 0 || begun.has(group)) return;
    this.#begun.set(code, begun.add(group));
    this.#checks.push(...addresses.map((address) => ({ code, address, tries: 0 })));
  }

  /** The next address to read; null for none. */
  next(): Check | null {
    return this.#checks.shift() ?? null;
  }

  onFailed({ tries, ...one }: Check): void {
    if (tries + 1 < mostTries) this.#checks.push({ ...one, tries: tries + 1 });
  }

  /** Notes a comparison; returns whether they have now differed for longer than any movement, for the first time. */
  onCompared(controller: Controller, address: string, isSame: boolean, now: number): boolean {
    const { code } = controller.info;
    const ofCode = this.#differing.get(code) ?? new Map<string, number>();
    if (isSame) {
      ofCode.delete(address);
      return false;
    }
    const { lastsMs, postedAt, isBetween } = movementAt(controller, address);
    const since = Math.max(ofCode.get(address) ?? now, isBetween ? now : (postedAt ?? -Infinity));
    this.#differing.set(code, ofCode.set(address, since));
    if (now - since < lastsMs || this.isApart(code, address)) return false;
    this.#apart.set(code, (this.#apart.get(code) ?? new Set()).add(address));
    return true;
  }

  forget(code: string): void {
    this.#checks.splice(0, Infinity, ...this.#checks.filter((one) => one.code !== code));
    for (const known of [this.#begun, this.#differing, this.#apart]) known.delete(code);
  }
}
