import { setMaxListeners } from "node:events";
import { isIPv6 } from "node:net";
import { forgetOldest } from "./table.js";
import type { Clock } from "./clock.js";
import { verifyPassword } from "./passwords.js";
import { isLoopback } from "./sockets.js";

/* Logins of the embedded broker and the page: guessing is slowed down, and simultaneous checks are bounded. */

/**
 * The source of a login, so far as a client cannot change it at will: this computer has 16 million addresses of its
 * own, and a machine with IPv6 a whole network of them.
 */
export function sourceOf(address: string): string {
  if (isLoopback(address)) return "this computer";
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? `${networkOf(address)}::/64` : address;
}

function networkOf(address: string): string {
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const first = groups(head);
  const last = groups(tail ?? "");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const all = tail === undefined ? first : [...first, ...zeros, ...last];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}

const windowMs = 60_000;
/** The longest wait of a login for its turn; programs give up before. */
const maxWaitMs = 10_000;
// Bounds the memory that an attacker with many addresses can use; the oldest records are forgotten first.
const maxRecords = 4_096;

/** Clients choose the length of names; no more of one is stored. */
const mostKeyLength = 300;

interface LoginLimits {
  /** Wrong logins within a minute before further ones wait for their turn. */
  readonly loginAttempts: number;
  readonly loginTurnMs: number;
  /** The longest wait of a login for its turn; programs give up after 10 s. */
  readonly longestWaitMs?: number;
}

/** A source or name that logs in, with an allowance of its own. */
interface Guesser {
  readonly key: string;
  /** Its allowance as a multiple of that of one name. */
  readonly share: number;
}

/**
 * Counts wrong logins. A guesser above its allowance is not locked out, as that would lock out the name's owner too.
 * Each further login, right or wrong, waits for its turn, one every `loginTurnMs`.
 */
export class LoginThrottle {
  readonly #limits: LoginLimits;
  readonly #clock: Clock;
  readonly #records = new Map<string, { failedAt: number[]; nextAt: number }>();

  constructor(limits: LoginLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  isSlowed(guessers: readonly Guesser[]): boolean {
    return guessers.some((guesser) => this.#isOver(guesser));
  }

  /** Takes the next turn and returns the ms until then; null, without a turn, if the wait would be too long. */
  turn(guessers: readonly Guesser[]): number | null {
    const now = this.#clock.monotonic();
    const over = guessers.filter((guesser) => this.#isOver(guesser));
    const at = over.map(({ key }) => Math.max(now, this.#recordOf(key)?.nextAt ?? now));
    const wait = Math.max(now, ...at) - now;
    if (wait > (this.#limits.longestWaitMs ?? maxWaitMs)) return null;
    for (const guesser of over) this.#takeTurn(guesser, now);
    return wait;
  }

  /**
   * Takes a turn of those above their allowance, without waiting: an attempt outside the line counts like one in it.
   */
  charge(guessers: readonly Guesser[]): void {
    const now = this.#clock.monotonic();
    for (const guesser of guessers) if (this.#isOver(guesser)) this.#takeTurn(guesser, now);
  }

  /** Notes a wrong login. Returns whether it used up the allowance of a name. */
  onFailure(guessers: readonly Guesser[]): boolean {
    const now = this.#clock.monotonic();
    return guessers
      .map((guesser) => {
        const wasOver = this.#isOver(guesser);
        const key = guesser.key.slice(0, mostKeyLength);
        const { failedAt = [], nextAt = now } = this.#records.get(key) ?? {};
        const counted = guesser.share * this.#limits.loginAttempts;
        this.#records.delete(key);
        this.#records.set(key, { failedAt: [...failedAt, now].slice(-counted), nextAt });
        forgetOldest(this.#records, maxRecords);
        const isOver = this.#isOver(guesser);
        if (isOver && !wasOver) this.#takeTurn(guesser, now);
        return isOver && !wasOver;
      })
      .some(Boolean);
  }

  #recordOf(key: string) {
    return this.#records.get(key.slice(0, mostKeyLength));
  }

  #isOver({ key, share }: Guesser): boolean {
    const since = this.#clock.monotonic() - windowMs;
    const failed = this.#recordOf(key)?.failedAt.filter((at) => at > since).length ?? 0;
    return failed >= share * this.#limits.loginAttempts;
  }

  #takeTurn({ key, share }: Guesser, now: number): void {
    const record = this.#recordOf(key);
    if (record) record.nextAt = Math.max(now, record.nextAt) + this.#limits.loginTurnMs / share;
  }
}

/**
 * Checks passwords, two at a time; the others wait in a line of bounded length. Each check takes 32 MiB and a thread of
 * Node's pool, which files and DNS need too.
 */
export class PasswordChecks {
  readonly #parallel: number;
  readonly #maxWaiting: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(parallel = 2, maxWaiting = 64) {
    this.#parallel = parallel;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Resolves to `busy` if the line is full, and to `off` if `isOff` holds when its turn comes; nothing is checked then.
   */
  async verify(
    password: string | Buffer,
    stored: string,
    isOff: () => boolean = () => false,
  ): Promise<boolean | "busy" | "off"> {
    if (this.#running >= this.#parallel) {
      if (this.#waiting.length >= this.#maxWaiting) return "busy";
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return isOff() ? "off" : await verifyPassword(password, stored);
    } finally {
      // The place goes straight to the next in line, so that no newcomer can take it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** An existing name, with its own allowance. */
interface OwnName {
  readonly guesser: Guesser;
  /** Decides from the result of the password check, or without it, whether the login is right. */
  readonly isRight: (checked: boolean) => boolean;
}

/** Checks passwords at the pace that earlier wrong ones allow. */
export class ThrottledLogins {
  readonly #checks: PasswordChecks;
  readonly #throttle: LoginThrottle;
  readonly #clock: Clock;
  readonly #life = new AbortController();

  /** `checks`: how many run at once and how many wait; see PasswordChecks. */
  constructor(
    limits: LoginLimits,
    clock: Clock,
    checks: { readonly parallel?: number; readonly maxWaiting?: number } = {},
  ) {
    this.#throttle = new LoginThrottle(limits, clock);
    this.#clock = clock;
    this.#checks = new PasswordChecks(checks.parallel, checks.maxWaiting);
    // As many listeners as logins that wait for a turn.
    setMaxListeners(0, this.#life.signal);
  }

  /** Ends every wait for a turn. */
  close(): void {
    this.#life.abort();
  }

  /** Notes a wrong login. Returns whether further ones have to wait now. */
  onFailure(guessers: readonly Guesser[]): boolean {
    return this.#throttle.onFailure(guessers);
  }

  /** Gives `blocked` if too many wait after wrong logins, `busy` if too many come at once. `own`: an existing name. */
  async check(
    guessers: readonly Guesser[],
    given: string | Buffer,
    stored: string,
    own: OwnName | null = null,
  ): Promise<boolean | "blocked" | "busy"> {
    const isSlowed = () => this.#throttle.isSlowed(guessers);
    if (!isSlowed()) {
      // Guesses made at the same time as the one that was too many have to wait as well.
      const right = await this.#checks.verify(given, stored, isSlowed);
      if (right !== "off") return right;
    }
    const isEarly = own !== null && (await this.#isRightEarly(own, guessers, given, stored));
    return isEarly || this.#inTurn(guessers, given, stored);
  }

  /**
   * Checks a login before its turn if only other names have used up the source's allowance, so that somebody who knows
   * his password need not wait. A wrong one is answered no sooner than any other and counts against name and source as
   * in its turn, so it allows no further guess. If the name itself is guessed, its user waits with the guessers. Only a
   * browser or program that has logged in before is spared, as its callers count it under a key of its own.
   */
  async #isRightEarly(
    { guesser, isRight }: OwnName,
    guessers: readonly Guesser[],
    given: string | Buffer,
    stored: string,
  ): Promise<boolean> {
    const isSlowed = () => this.#throttle.isSlowed([guesser]);
    if (isSlowed()) return false;
    const checked = await this.#checks.verify(given, stored, isSlowed);
    if (typeof checked === "string") return false;
    if (isRight(checked)) return true;
    this.#throttle.onFailure([guesser]);
    this.#throttle.charge(guessers.filter(({ key }) => key !== guesser.key));
    return false;
  }

  async #inTurn(
    guessers: readonly Guesser[],
    given: string | Buffer,
    stored: string,
  ): Promise<boolean | "blocked" | "busy"> {
    const wait = this.#throttle.turn(guessers);
    if (wait === null) return "blocked";
    try {
      await this.#clock.wait(wait, this.#life.signal);
    } catch {
      return "busy";
    }
    const right = await this.#checks.verify(given, stored);
    return right === "off" ? "busy" : right;
  }
}

// Checked if the user does not exist, so that the time taken does not tell which users do.
export const unknownUserHash = `scrypt:15:8:1:${"A".repeat(22)}:${"A".repeat(43)}`;

// A source's allowance for all names together, as a multiple of that of one name.
export const sourceShare = 10;
