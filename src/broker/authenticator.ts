import { randomBytes } from "node:crypto";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import { sourceOf, sourceShare, ThrottledLogins, unknownUserHash } from "../runtime/logins.js";
import { sameSecret } from "../runtime/passwords.js";
import type { BrokerLimits, BrokerUser } from "./settings.js";

export interface Credential {
  readonly username: string;
  readonly password: string;
}

type Verdict =
  | { readonly kind: "bridge" }
  | { readonly kind: "anonymous" }
  | { readonly kind: "user"; readonly user: BrokerUser }
  /**
   * `blocked`: too many already wait after wrong logins; `busy`: too many at once. `newlySlowed`: logins wait from now
   * on.
   */
  | { readonly kind: "refused"; readonly why: "wrong" | "blocked" | "busy"; readonly newlySlowed: boolean };

/** Name and password for the bridge alone, valid for one run of the broker. */
export function bridgeCredential(): Credential {
  return {
    username: `bridge-${randomBytes(6).toString("hex")}`,
    password: randomBytes(24).toString("base64url"),
  };
}

interface Login {
  readonly address: string;
  readonly client: string;
  readonly username?: string;
  readonly password?: Buffer;
}

// The most programs remembered that have logged in since the start.
const maxKnown = 1_024;

/**
 * Decides who a connection is. The bridge's own login never waits. A guesser slows down only logins with the same name
 * from the same source. A program that has logged in before is slowed down only by somebody who knows its
 * client id, too.
 */
export class Authenticator {
  #users: ReadonlyMap<string, BrokerUser>;
  readonly #bridge: Credential;
  readonly #logins: ThrottledLogins;
  readonly #known = new Set<string>();

  constructor(users: readonly BrokerUser[], bridge: Credential, limits: BrokerLimits, clock: Clock) {
    this.#users = new Map(users.map((user) => [user.username, user]));
    this.#bridge = bridge;
    this.#logins = new ThrottledLogins(limits, clock);
  }

  async verdict(login: Login): Promise<Verdict> {
    const { username, password: given = Buffer.alloc(0) } = login;
    const source = sourceOf(login.address);
    const stranger = { key: source, share: sourceShare };
    const isBridge = username === this.#bridge.username;
    if (isBridge && sameSecret(given, this.#bridge.password)) return { kind: "bridge" };
    if (!isBridge && this.#users.size === 0) return { kind: "anonymous" };
    const name = JSON.stringify([source, username ?? null]);
    const program = JSON.stringify([source, username ?? null, login.client]);
    const isKnown = this.#known.has(program);
    const own = { key: isKnown ? program : name, share: 1 };
    const guessers = isKnown ? [own] : [own, stranger];
    const user = username === undefined ? undefined : this.#users.get(username);
    const early = user && !isKnown ? { guesser: own, isRight: (checked: boolean) => checked } : null;
    const right = await this.#logins.check(guessers, given, user?.password ?? unknownUserHash, early);
    if (right === "blocked" || right === "busy") return { kind: "refused", why: right, newlySlowed: false };
    if (!right || !user || !this.isStill(user))
      return { kind: "refused", why: "wrong", newlySlowed: this.#logins.onFailure(guessers) };
    this.#known.delete(program);
    this.#known.add(program);
    forgetOldest(this.#known, maxKnown);
    return { kind: "user", user };
  }

  /** Replaces the users. Returns the names that are gone or have changed; null stands for clients without a login. */
  replace(users: readonly BrokerUser[]): ReadonlySet<string | null> {
    const before = this.#users;
    const kept = (user: BrokerUser) => {
      const known = before.get(user.username);
      return known !== undefined && JSON.stringify(known) === JSON.stringify(user) ? known : user;
    };
    this.#users = new Map(users.map((user) => [user.username, kept(user)]));
    const gone = [...before.values()].filter((user) => !this.isStill(user)).map(({ username }) => username);
    return new Set(before.size === 0 && users.length > 0 ? [null] : gone);
  }

  /** Whether this user, or nobody (null), would be let in again with the same rights. */
  isStill(user: BrokerUser | null): boolean {
    return user === null ? this.#users.size === 0 : this.#users.get(user.username) === user;
  }

  /** The present user of that name. */
  userOf(name: string | null): BrokerUser | null {
    return (name === null ? undefined : this.#users.get(name)) ?? null;
  }

  /** Ends all waiting logins. */
  close(): void {
    this.#logins.close();
  }
}

/** A login with a wrong user name or password. */
export interface RefusedLogin {
  readonly address: string;
  /** The client id that it gave. */
  readonly client: string;
}

const reportWindowMs = 60_000;
/** A bound for all addresses together, as a guesser with many of them must not fill a disk. */
const mostPerWindow = 10;

/** Reports refused logins: one for each address a minute, up to a bound for all. */
export class RefusedLogins {
  readonly #clock: Clock;
  readonly #tell: (refused: RefusedLogin) => void;
  #toldAt: { readonly address: string; readonly at: number }[] = [];

  constructor(clock: Clock, tell: (refused: RefusedLogin) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  note(refused: RefusedLogin): void {
    const now = this.#clock.monotonic();
    this.#toldAt = this.#toldAt.filter(({ at }) => now - at < reportWindowMs);
    const isTold = this.#toldAt.some(({ address }) => address === refused.address);
    if (isTold || this.#toldAt.length >= mostPerWindow) return;
    this.#toldAt.push({ address: refused.address, at: now });
    this.#tell(refused);
  }
}
