import type { AddressRow } from "../addresses.js";
import type { Call } from "../call.js";
import type { SimulatedController } from "../device.js";
import type { Dialect } from "../dialects.js";
import type { SampleItem } from "../sensors.js";

/** A register that somebody asks for; `level` is how far the first device behind it is, 0 to 1. */
export interface Held {
  readonly row: AddressRow;
  readonly value: string;
  readonly level: number;
}

/** A value that a device has taken, and what its register held before. */
export interface Put {
  readonly controller: SimulatedController;
  readonly row: AddressRow;
  readonly value: string;
  readonly before: string | null;
  /** Simulated epoch ms. */
  readonly at: number;
}

/** What the platform shows of an address to a call that asks for it. */
export interface Asked {
  readonly call: Call;
  readonly controller: SimulatedController;
  readonly row: AddressRow;
  /** Null where it shows nothing anyway. */
  readonly value: string | null;
  /** Whether the read is forced. */
  readonly isFresh: boolean;
}

/** What a reading does that a platform has to remember things for; each platform has its own. */
export interface Behaviour {
  /** What is shown instead; null for nothing. */
  readonly shown?: (asked: Asked) => string | null;
  /** Why a POST is not taken; null where it is. */
  readonly refusal?: (call: Call) => string | null;
}

/**
 * One way in which the words of the interface document can be meant, told from the document and from nothing of the program. A reading is
 * one file here; what it leaves out is as usual.
 */
export interface Trait {
  /** What is so, for the guide. */
  readonly text: string;
  /** What of a dialect is decided by it. */
  readonly dialect?: Partial<Dialect>;
  /** What stands in the address table in the place of a row. */
  readonly rows?: (row: AddressRow) => readonly AddressRow[];
  /** What a register tells instead of what it holds; null for what it holds. */
  readonly told?: (held: Held) => string | null;
  /** What a device does of its own accord once it has taken a value. */
  readonly taken?: (put: Put) => void;
  /** What `sensor-data` lists in the place of these. */
  readonly items?: (items: readonly SampleItem[], dialect: Dialect) => readonly SampleItem[];
  /** What an operation does not answer without. */
  readonly needs?: Readonly<Record<string, readonly string[]>>;
  readonly begin?: () => Behaviour;
}
