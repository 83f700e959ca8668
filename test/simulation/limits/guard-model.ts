/*
 * One guard by the contract, only for the checks; none of the product's own rules are used. Instants are the world's
 * ms.
 */

type Value = string | number | boolean | null;

export interface GuardSection {
  readonly sensor?: string | undefined;
  readonly actuator?: string | undefined;
  readonly status?: string | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly is?: string | readonly string[] | undefined;
  readonly is_not?: string | readonly string[] | undefined;
  readonly moving?: boolean | undefined;
  readonly clear_at?: number | undefined;
  readonly clear_after: number;
  readonly allow: readonly string[];
  readonly then?: string | undefined;
  readonly blind: "hold" | "act";
}

export interface Seen {
  readonly value: Value;
  readonly isGood: boolean;
}

/** How much later than by its own clock the program may notice a time, in ms: timers fire too early by up to 1. */
const delayMs = 2;

const absent = new Set(["", "null", "unknown", "unavailable"]);

/** The value in a message on a weather topic, by the configured path; null for none. */
export function saidBy(text: string, field: string | undefined): Value {
  let found: unknown = text;
  try {
    const parsed: unknown = JSON.parse(text);
    found = field === undefined ? parsed : (field.split(".").reduce<unknown>(inside, parsed) ?? null);
  } catch {
    if (field !== undefined) return null;
  }
  if (typeof found === "number" || typeof found === "boolean") return found;
  if (typeof found !== "string") return null;
  return absent.has(found.trim().toLowerCase()) ? null : found.trim();
}

const inside = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : null;

const listed = (words: string | readonly string[] | undefined): readonly string[] =>
  words === undefined ? [] : typeof words === "string" ? [words] : words;

/** Whether the condition is true for a value: `begins` beyond the limit, `lasts` until it is back beyond `clear_at`. */
export function isTrueOf(guard: GuardSection, value: Value, which: "begins" | "lasts"): boolean {
  const { above, below, clear_at: clearAt } = guard;
  if (above !== undefined) return Number(value) > (which === "begins" ? above : (clearAt ?? above));
  if (below !== undefined) return Number(value) < (which === "begins" ? below : (clearAt ?? below));
  const word = String(value).toLowerCase();
  if (guard.is !== undefined) return listed(guard.is).some((one) => one.toLowerCase() === word);
  return !listed(guard.is_not).some((one) => one.toLowerCase() === word);
}

/** Whether an allowance contains a word or a degree. */
export function isAllowed(allow: readonly string[], word: string): boolean {
  if (word === "stop" || allow.includes(word)) return true;
  if (!/^\d+$/.test(word)) return false;
  return allow.some((one) => {
    const [, from, to = from] = /^(\d+)(?:\.\.(\d+))?$/.exec(one) ?? [];
    return from !== undefined && Number(word) >= Number(from) && Number(word) <= Number(to);
  });
}

const needsNumber = ({ above, below }: GuardSection) => above !== undefined || below !== undefined;

/** A time for which the guard sends its command: it began and has not ended since. */
export interface Beginning {
  readonly at: number;
  /** Its commands in order, by their sender's tag. */
  readonly sent: string[];
  /** Whether it is unknown if the disk has it. */
  isUncertain: boolean;
}

/** A guard on a read value: whether it holds, and since when. */
export class GuardModel {
  readonly guard: GuardSection;
  /** Without a kept state it begins as holding. */
  #held = true;
  #isBlind = true;
  #wasLost = false;
  #calmSince: number | null = null;
  #heldLast = 0;
  /** Its state before each of its newest changes. */
  #changes: { readonly at: number; readonly held: boolean }[] = [];
  /**
   * Whether a power cut or a bad disk may have lost its state: it may still owe its command for a beginning that is
   * over.
   */
  #isUncertain = false;
  seenAt: number | null = null;
  blindSince = 0;
  value: Value = null;
  beginning: Beginning | null = null;

  constructor(guard: GuardSection) {
    this.guard = guard;
  }

  get isBlind(): boolean {
    return this.#isBlind;
  }

  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** Takes a new value, or its loss. */
  reads({ value, isGood }: Seen, now: number): void {
    this.#pass(now);
    if (this.holds(now)) this.#heldLast = now;
    const isUsable =
      isGood &&
      value !== null &&
      (!needsNumber(this.guard) || (String(value) !== "" && Number.isFinite(Number(value))));
    if (isUsable) this.#judges(value, now);
    else this.#loses(now);
    if (this.holds(now)) this.#heldLast = now;
  }

  #judges(value: Value, now: number): void {
    this.#isBlind = false;
    this.seenAt ??= now;
    this.value = value;
    if (isTrueOf(this.guard, value, "begins")) {
      // If the disk may not know that it had cleared, it is unknown whether this is a new beginning.
      const isUncertain = this.#isUncertain;
      this.#set(true, now);
      this.#calmSince = null;
      this.#wasLost = false;
      this.#isUncertain = false;
      this.beginning ??= { at: now, sent: [], isUncertain };
      return;
    }
    if (!this.#held && !this.#wasLost) return;
    if (isTrueOf(this.guard, value, "lasts")) {
      this.#calmSince = null;
      return;
    }
    this.#wasLost = false;
    if (this.#held) this.#calmSince ??= now;
    this.#pass(now);
  }

  #loses(now: number): void {
    if (!this.#isBlind) this.blindSince = now;
    this.#isBlind = true;
    this.#calmSince = null;
    this.#wasLost = true;
  }

  /** Clears it by time alone. */
  #pass(now: number): void {
    if (!this.#held || this.#calmSince === null || now - this.#calmSince < this.guard.clear_after) return;
    this.#heldLast = Math.max(this.#heldLast, this.#calmSince + this.guard.clear_after);
    this.#set(false, now);
    this.#isUncertain = false;
  }

  #set(held: boolean, now: number): void {
    if (!held) this.beginning = null;
    if (held === this.#held) return;
    this.#changes = [...this.#changes.slice(-20), { at: now, held: this.#held }];
    this.#held = held;
  }

  holds(now: number): boolean {
    this.#pass(now);
    return this.#isBlind || this.#held || this.#wasLost;
  }

  /** Whether it surely holds, with allowance for small delays and for losses of the disk. */
  mustHold(now: number): boolean {
    if (!this.holds(now)) return false;
    if (this.#isBlind) return now - this.blindSince > delayMs;
    const isAlmostOver =
      this.#calmSince !== null && now - this.#calmSince >= this.guard.clear_after - delayMs;
    if (isAlmostOver) return false;
    return !this.#isUncertain || isTrueOf(this.guard, this.value, "begins");
  }

  /** Whether it may have held at any time since. */
  mayHoldSince(since: number, now: number): boolean {
    return this.holds(now) || this.#isUncertain || this.#heldLast >= since - delayMs;
  }

  /** A time without checks: a pause that must be uninterrupted begins anew. */
  unwatched(from: number, until: number): void {
    this.#pass(from);
    if (this.#calmSince !== null && this.#held) this.#calmSince = until;
  }

  /** The program has ended, perhaps by a power cut; the disk may lack everything since `lostFrom`. */
  ended(now: number, lostFrom: number): void {
    this.#pass(now);
    if (this.holds(now)) this.#heldLast = now;
    const lost = this.#changes.filter(({ at }) => at >= lostFrom);
    if (lost.length > 0) this.#isUncertain = true;
    if (this.beginning !== null && (this.beginning.at >= lostFrom || lostFrom < now))
      this.beginning.isUncertain = true;
    this.#loses(now);
    this.seenAt = null;
  }
}
