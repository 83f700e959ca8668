import { setMaxListeners } from "node:events";
import { isIPv6 } from "node:net";
import { forgetOldest } from "./table.js";
import type { Clock } from "./clock.js";
import { verifyPassword } from "./passwords.js";
import { isLoopback } from "./sockets.js";

/* What the embedded broker and the page have in common where people log in: guesses are slowed down, checks are bounded. */

/**
 * Where a login comes from, as far as the client cannot change it at will: this computer has 16 million addresses of its own, and
 * a machine with IPv6 a whole network of them.
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
/** No login waits longer than this for a turn; programs give up before. */
const maxWaitMs = 10_000;
// Bounds the memory an attacker with many addresses can claim; the oldest are forgotten first.
const maxRecords = 4_096;

/** Names are as long as their senders like; no more of one is kept. */
const mostKeyLength = 300;

interface LoginLimits {
  /** Wrong logins a minute before further ones wait for their turn. */
  readonly loginAttempts: number;
  readonly loginTurnMs: number;
  /** No login waits longer than this for a turn; programs give up after 10 s. */
  readonly longestWaitMs?: number;
}

/** A source or a name that tries to log in, with an allowance of its own. */
interface Guesser {
  readonly key: string;
  /** How many times the allowance of one name. */
  readonly share: number;
}

/**
 * Counts wrong logins. A guesser that has had so many within a minute is not locked out, which would let a guesser lock out the owner
 * of the name: each further login, right or wrong, waits for its turn, and there is one turn every `loginTurnMs`.
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

  /** Takes the next turn: how long until then. Null, and no turn, where too many wait already. */
  turn(guessers: readonly Guesser[]): number | null {
    const now = this.#clock.monotonic();
    const over = guessers.filter((guesser) => this.#isOver(guesser));
    const at = over.map(({ key }) => Math.max(now, this.#recordOf(key)?.nextAt ?? now));
    const wait = Math.max(now, ...at) - now;
    if (wait > (this.#limits.longestWaitMs ?? maxWaitMs)) return null;
    for (const guesser of over) this.#takeTurn(guesser, now);
    return wait;
  }

  /** Takes a turn of those that are over, whoever waits: what was tried beside the line counts as if it had stood in it. */
  charge(guessers: readonly Guesser[]): void {
    const now = this.#clock.monotonic();
    for (const guesser of guessers) if (this.#isOver(guesser)) this.#takeTurn(guesser, now);
  }

  /** Notes a wrong login. True when it was the one that used up the allowance of one name. */
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
 * Checks passwords, two at a time; the others wait in a line of bounded length. Each takes 32 MiB and a thread of Node's pool,
 * which files and DNS need too.
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

  /** `busy` when the line is full, `off` when `isOff` holds once it is this one's turn: then nothing was checked. */
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
      // The place goes straight to the next in line, so that no newcomer can slip in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** A name that there is, in its own allowance. */
interface OwnName {
  readonly guesser: Guesser;
  /** What a check says of it, or else what is compared without one. */
  readonly isRight: (checked: boolean) => boolean;
}

/** Passwords checked at the pace that wrong ones before allow. */
export class ThrottledLogins {
  readonly #checks: PasswordChecks;
  readonly #throttle: LoginThrottle;
  readonly #clock: Clock;
  readonly #life = new AbortController();

  /** `checks`: how many at once, and how many wait; see PasswordChecks. */
  constructor(
    limits: LoginLimits,
    clock: Clock,
    checks: { readonly parallel?: number; readonly maxWaiting?: number } = {},
  ) {
    this.#throttle = new LoginThrottle(limits, clock);
    this.#clock = clock;
    this.#checks = new PasswordChecks(checks.parallel, checks.maxWaiting);
    // As many wait for a turn as there is room for.
    setMaxListeners(0, this.#life.signal);
  }

  /** Ends every wait for a turn. */
  close(): void {
    this.#life.abort();
  }

  /** Notes a wrong login. True when further ones wait from now on. */
  onFailure(guessers: readonly Guesser[]): boolean {
    return this.#throttle.onFailure(guessers);
  }

  /** `blocked`: too many wait already after wrong logins; `busy`: too many at once. `own`: of a name that there is. */
  async check(
    guessers: readonly Guesser[],
    given: string | Buffer,
    stored: string,
    own: OwnName | null = null,
  ): Promise<boolean | "blocked" | "busy"> {
    const isSlowed = () => this.#throttle.isSlowed(guessers);
    if (!isSlowed()) {
      // Guesses made at the same time as the one that was too many take turns as well.
      const right = await this.#checks.verify(given, stored, isSlowed);
      if (right !== "off") return right;
    }
    const isEarly = own !== null && (await this.#isRightEarly(own, guessers, given, stored));
    return isEarly || this.#inTurn(guessers, given, stored);
  }

  /**
   * Whether it is right, asked before its turn where others' names alone have used up what its source has: who knows his password
   * does not wait for them. A wrong one is told no sooner than any other, and costs the name and the source what it would in its turn,
   * so that no guess comes of it that would not have been. Where the name itself is guessed nothing tells its user from who guesses, and whoever
   * is let in at once there may guess at once: he waits as they do, unless he shows what no guesser has, a browser or program that has logged in.
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

// Checked when the user does not exist, so that the time taken does not tell which users do.
export const unknownUserHash = `scrypt:15:8:1:${"A".repeat(22)}:${"A".repeat(43)}`;

// The allowance of a source for all names together, as a multiple of the one for a name.
export const sourceShare = 10;
