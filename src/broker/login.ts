import { randomBytes } from "node:crypto";
import type { Clock } from "../runtime/clock.js";
import { LoginThrottle } from "./login-throttle.js";
import { PasswordChecks, sameSecret } from "./password.js";
import { isLoopback } from "../runtime/loopback.js";
import type { BrokerLimits, BrokerUser } from "./settings.js";

export interface Credential {
  readonly username: string;
  readonly password: string;
}

export type Verdict =
  | { readonly kind: "bridge" }
  | { readonly kind: "anonymous" }
  | { readonly kind: "user"; readonly user: BrokerUser }
  /** `blocked`: too many wrong logins before; `busy`: too many at once. `newlyBlocked`: this one was the last straw. */
  | { readonly kind: "refused"; readonly why: "wrong" | "blocked" | "busy"; readonly newlyBlocked: boolean };

/** A user name and password that exist for one run of the broker, for the bridge alone. */
export function bridgeCredential(): Credential {
  return {
    username: `bridge-${randomBytes(6).toString("hex")}`,
    password: randomBytes(24).toString("base64url"),
  };
}

const refused = (why: "blocked" | "busy"): Verdict => ({ kind: "refused", why, newlyBlocked: false });

// Checked when the user does not exist, so that the time taken does not tell which users do.
const nobody = `scrypt:15:8:1:${"A".repeat(22)}:${"A".repeat(43)}`;

/** Decides who a connection is. The bridge's own login never waits behind, and is never blocked by, anybody else's. */
export class Logins {
  readonly #users: ReadonlyMap<string, BrokerUser>;
  readonly #bridge: Credential;
  readonly #checks = new PasswordChecks();
  readonly #throttle: LoginThrottle;

  constructor(users: readonly BrokerUser[], bridge: Credential, limits: BrokerLimits, clock: Clock) {
    this.#users = new Map(users.map((user) => [user.username, user]));
    this.#bridge = bridge;
    this.#throttle = new LoginThrottle(limits, clock);
  }

  async verdict(
    address: string,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<Verdict> {
    const given = password ?? Buffer.alloc(0);
    if (username === this.#bridge.username) {
      return sameSecret(given, this.#bridge.password) ? { kind: "bridge" } : this.#wrong(address);
    }
    if (this.#users.size === 0) return { kind: "anonymous" };
    // Everybody on this machine shares an address; one misconfigured program must not lock out the others.
    const origin = isLoopback(address) ? `${address} ${username ?? ""}` : address;
    const isBlocked = () => this.#throttle.isBlocked(origin);
    if (isBlocked()) return refused("blocked");
    if (username === undefined) return this.#wrong(origin);
    const user = this.#users.get(username);
    const right = await this.#checks.verify(given, user?.password ?? nobody, isBlocked);
    if (right === "busy") return refused("busy");
    // Guesses made at the same time as the one that was too many must not count either.
    if (right === "off" || isBlocked()) return refused("blocked");
    return right && user ? { kind: "user", user } : this.#wrong(origin);
  }

  #wrong(origin: string): Verdict {
    return { kind: "refused", why: "wrong", newlyBlocked: this.#throttle.failed(origin) };
  }
}
