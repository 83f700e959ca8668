import { randomBytes } from "node:crypto";
import type { Clock } from "../runtime/clock.js";
import { sourceOf } from "./login-source.js";
import { type Guesser, LoginThrottle } from "./login-throttle.js";
import { PasswordChecks, sameSecret } from "./password.js";
import type { BrokerLimits, BrokerUser } from "./settings.js";

export interface Credential {
  readonly username: string;
  readonly password: string;
}

export type Verdict =
  | { readonly kind: "bridge" }
  | { readonly kind: "anonymous" }
  | { readonly kind: "user"; readonly user: BrokerUser }
  /** `blocked`: too many wait already after wrong logins; `busy`: too many at once. `newlySlowed`: from now on they wait. */
  | { readonly kind: "refused"; readonly why: "wrong" | "blocked" | "busy"; readonly newlySlowed: boolean };

/** A user name and password that exist for one run of the broker, for the bridge alone. */
export function bridgeCredential(): Credential {
  return {
    username: `bridge-${randomBytes(6).toString("hex")}`,
    password: randomBytes(24).toString("base64url"),
  };
}

const refused = (why: "blocked" | "busy"): Verdict => ({ kind: "refused", why, newlySlowed: false });

// Checked when the user does not exist, so that the time taken does not tell which users do.
const nobody = `scrypt:15:8:1:${"A".repeat(22)}:${"A".repeat(43)}`;

export interface LoginTry {
  readonly address: string;
  readonly client: string;
  readonly username?: string;
  readonly password?: Buffer;
}

// Programs that logged in since the start, so many are remembered.
const maxKnown = 1_024;
// The allowance of a source for all names together, as a multiple of the one for a name.
const sourceShare = 10;

/**
 * Decides who a connection is. The bridge's own login never waits behind anybody else's. A guesser slows down logins of the
 * same name from the same source alone, and those of no program that has logged in before: whoever knows neither its
 * client id nor a password cannot get in its way.
 */
export class Logins {
  readonly #users: ReadonlyMap<string, BrokerUser>;
  readonly #bridge: Credential;
  readonly #checks = new PasswordChecks();
  readonly #throttle: LoginThrottle;
  readonly #clock: Clock;
  readonly #known = new Set<string>();
  readonly #life = new AbortController();

  constructor(users: readonly BrokerUser[], bridge: Credential, limits: BrokerLimits, clock: Clock) {
    this.#users = new Map(users.map((user) => [user.username, user]));
    this.#bridge = bridge;
    this.#throttle = new LoginThrottle(limits, clock);
    this.#clock = clock;
  }

  async verdict(login: LoginTry): Promise<Verdict> {
    const { username, password: given = Buffer.alloc(0) } = login;
    const source = sourceOf(login.address);
    const stranger = { key: source, share: sourceShare };
    const isBridge = username === this.#bridge.username;
    if (isBridge && sameSecret(given, this.#bridge.password)) return { kind: "bridge" };
    if (!isBridge && this.#users.size === 0) return { kind: "anonymous" };
    const name = JSON.stringify([source, username ?? null]);
    const program = JSON.stringify([source, username ?? null, login.client]);
    const isKnown = this.#known.has(program);
    const guessers = isKnown ? [{ key: program, share: 1 }] : [{ key: name, share: 1 }, stranger];
    const user = username === undefined ? undefined : this.#users.get(username);
    const right = await this.#check(guessers, given, user?.password ?? nobody);
    if (right === "blocked" || right === "busy") return refused(right);
    if (!right || !user) return this.#wrong(guessers);
    this.#remember(program);
    return { kind: "user", user };
  }

  /** Nobody waits for a turn any longer. */
  close(): void {
    this.#life.abort();
  }

  async #check(
    guessers: readonly Guesser[],
    given: Buffer,
    stored: string,
  ): Promise<boolean | "blocked" | "busy"> {
    const isSlowed = () => this.#throttle.isSlowed(guessers);
    if (!isSlowed()) {
      // Guesses made at the same time as the one that was too many take turns as well.
      const right = await this.#checks.verify(given, stored, isSlowed);
      if (right !== "off") return right;
    }
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

  #remember(program: string): void {
    this.#known.delete(program);
    this.#known.add(program);
    const oldest = this.#known.keys().next();
    if (this.#known.size > maxKnown && !oldest.done) this.#known.delete(oldest.value);
  }

  #wrong(guessers: readonly Guesser[]): Verdict {
    return { kind: "refused", why: "wrong", newlySlowed: this.#throttle.failed(guessers) };
  }
}
