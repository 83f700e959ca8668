/*
 * One guard as the contract tells it, for the checks alone; nothing of the product's own rules is used. Instants are the world's ms.
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

const absent = new Set(["", "null", "unknown", "unavailable"]);

/** What a message on a weather topic says, by the configured path; null for nothing. */
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

/** Whether the condition is true of a value: `begins` beyond the limit, `lasts` until it is back beyond `clear_at`. */
export function isTrueOf(guard: GuardSection, value: Value, which: "begins" | "lasts"): boolean {
  const { above, below, clear_at: clearAt } = guard;
  if (above !== undefined) return Number(value) > (which === "begins" ? above : (clearAt ?? above));
  if (below !== undefined) return Number(value) < (which === "begins" ? below : (clearAt ?? below));
  const word = String(value).toLowerCase();
  if (guard.is !== undefined) return listed(guard.is).some((one) => one.toLowerCase() === word);
  return !listed(guard.is_not).some((one) => one.toLowerCase() === word);
}

/** Whether an allowance has a word or a degree. */
export function isAllowed(allow: readonly string[], word: string): boolean {
  if (word === "stop" || allow.includes(word)) return true;
  if (!/^\d+$/.test(word)) return false;
  return allow.some((one) => {
    const [, from, to = from] = /^(\d+)(?:\.\.(\d+))?$/.exec(one) ?? [];
    return from !== undefined && Number(word) >= Number(from) && Number(word) <= Number(to);
  });
}

const needsNumber = ({ above, below }: GuardSection) => above !== undefined || below !== undefined;

/** A time in which the condition is what it sends for: begun, and not let go since. */
export interface Beginning {
  readonly at: number;
  /** Commands that it sent, in their order, by their sender's tag. */
  readonly sent: string[];
  /** Nobody can tell whether the disk knows of it. */
  isUncertain: boolean;
}

/** A guard on something that is read: whether it holds, and since when. */
export class GuardModel {
  readonly guard: GuardSection;
  /** Without a kept state it begins as holding. */
  #held = true;
  #isBlind = true;
  #wasLost = false;
  #calmSince: number | null = null;
  #heldLast = 0;
  /** What it was before each of its newest changes. */
  #changes: { readonly at: number; readonly held: boolean }[] = [];
  /** A power cut or a bad disk may have taken what it was: it may owe what it sends for a beginning that is over. */
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

  /** Its value, or that there is none any more. */
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
      // Where the disk may not know that it was let go, nobody can tell whether it begins.
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

  /** Time alone lets it go. */
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

  /** Whether it surely holds: a little time and what the disk may have lost are in its favour. */
  mustHold(now: number): boolean {
    if (!this.holds(now)) return false;
    if (this.#isBlind) return true;
    const isAlmostOver = this.#calmSince !== null && now - this.#calmSince >= this.guard.clear_after - 2;
    if (isAlmostOver) return false;
    return !this.#isUncertain || isTrueOf(this.guard, this.value, "begins");
  }

  /** Whether it may have held at any time since. */
  mayHoldSince(since: number, now: number): boolean {
    return this.holds(now) || this.#isUncertain || this.#heldLast >= since - 2;
  }

  /** Nobody looked in between, so that what has to be good in one piece begins anew. */
  unwatched(from: number, until: number): void {
    this.#pass(from);
    if (this.#calmSince !== null && this.#held) this.#calmSince = until;
  }

  /** The program has ended, perhaps with the power; `lostFrom` is from when on the disk may not know. */
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
