import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Client } from "aedes";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { isLoopback } from "../runtime/sockets.js";
import { sameSecret, verifyPassword } from "../runtime/passwords.js";
import type { Acl } from "./acl.js";
import type { BrokerLimits, BrokerTally, BrokerUser } from "./settings.js";

/**
 * Where a login comes from, as far as nobody can change it at will: this computer has 16 million addresses of its own, and
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
/** Longer than this nobody waits for a turn; programs give up before. */
const maxWaitMs = 10_000;
// Bounds the memory an attacker with many addresses can claim; the oldest are forgotten first.
const maxRecords = 4_096;

function forgetOldest(
  kept: { readonly size: number; keys(): Iterable<string>; delete(key: string): boolean },
  most: number,
): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}

/** Who wants in, with an allowance of its own. */
interface Guesser {
  readonly key: string;
  /** How many times the allowance of one name. */
  readonly share: number;
}

/**
 * Counts wrong logins. Who has had so many within a minute is not locked out, which would let a guesser lock out the owner
 * of the name: each further login, right or wrong, waits for its turn, and there is one turn every `loginTurnMs`.
 */
export class LoginThrottle {
  readonly #limits: Pick<BrokerLimits, "loginAttempts" | "loginTurnMs">;
  readonly #clock: Clock;
  readonly #records = new Map<string, { failedAt: number[]; nextAt: number }>();

  constructor(limits: Pick<BrokerLimits, "loginAttempts" | "loginTurnMs">, clock: Clock) {
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
    const at = over.map(({ key }) => Math.max(now, this.#records.get(key)?.nextAt ?? now));
    const wait = Math.max(now, ...at) - now;
    if (wait > maxWaitMs) return null;
    for (const guesser of over) this.#takeTurn(guesser, now);
    return wait;
  }

  /** Notes a wrong login. True when it was the one that used up the allowance of one name. */
  failed(guessers: readonly Guesser[]): boolean {
    const now = this.#clock.monotonic();
    return guessers
      .map((guesser) => {
        const wasOver = this.#isOver(guesser);
        const { failedAt = [], nextAt = now } = this.#records.get(guesser.key) ?? {};
        const counted = guesser.share * this.#limits.loginAttempts;
        this.#records.delete(guesser.key);
        this.#records.set(guesser.key, { failedAt: [...failedAt, now].slice(-counted), nextAt });
        forgetOldest(this.#records, maxRecords);
        const isOver = this.#isOver(guesser);
        if (isOver && !wasOver) this.#takeTurn(guesser, now);
        return isOver && !wasOver;
      })
      .some(Boolean);
  }

  #isOver({ key, share }: Guesser): boolean {
    const since = this.#clock.monotonic() - windowMs;
    const failed = this.#records.get(key)?.failedAt.filter((at) => at > since).length ?? 0;
    return failed >= share * this.#limits.loginAttempts;
  }

  #takeTurn({ key, share }: Guesser, now: number): void {
    const record = this.#records.get(key);
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
      // The place goes straight to the next in line, so nobody can slip in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

export interface Credential {
  readonly username: string;
  readonly password: string;
}

type Verdict =
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

// Checked when the user does not exist, so that the time taken does not tell which users do.
const nobody = `scrypt:15:8:1:${"A".repeat(22)}:${"A".repeat(43)}`;

interface Login {
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
export class Authenticator {
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
    const guessers = isKnown ? [{ key: program, share: 1 }] : [{ key: name, share: 1 }, stranger];
    const user = username === undefined ? undefined : this.#users.get(username);
    const right = await this.#check(guessers, given, user?.password ?? nobody);
    if (right === "blocked" || right === "busy") return { kind: "refused", why: right, newlySlowed: false };
    if (!right || !user)
      return { kind: "refused", why: "wrong", newlySlowed: this.#throttle.failed(guessers) };
    this.#known.delete(program);
    this.#known.add(program);
    forgetOldest(this.#known, maxKnown);
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
}

/** A login with a wrong user name or password. */
export interface RefusedLogin {
  readonly address: string;
  /** What the client called itself. */
  readonly client: string;
}

const reportWindowMs = 60_000;
/** Of all addresses together: whoever has many of them must not fill a disk. */
const mostPerWindow = 10;

/** Hands refused logins on: one of each address a minute, and only so many in all. */
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

/** CONNACK codes of MQTT 3.1.1; aedes translates them for MQTT 5. */
export type RefusalCode = 2 | 3 | 4 | 5;

export interface LoginParts {
  readonly authenticator: Authenticator;
  readonly acl: Acl;
  readonly tally: BrokerTally;
  readonly maxClients: number;
  readonly log: Logger;
  readonly refused: RefusedLogins;
  /** The connected client with this id. */
  readonly clientWithId: (id: string) => Client | null;
  /** Beside the bridge. */
  readonly clientCount: () => number;
}

/** Lets a client in, noting who it is, or answers with the code to refuse it with. */
export async function admit(
  parts: LoginParts,
  client: Client,
  login: { readonly address: string; readonly username?: string; readonly password?: Buffer },
): Promise<RefusalCode | null> {
  const { acl, tally, log } = parts;
  const verdict = await parts.authenticator.verdict({ ...login, client: client.id });
  if (verdict.kind === "refused")
    return refuseLogin(parts, verdict, { address: login.address, client: client.id.slice(0, 64) });
  const user = verdict.kind === "user" ? verdict.user.username : null;
  if (verdict.kind !== "bridge") {
    const problem = placeProblem(parts, client.id, user);
    if (problem !== null) {
      tally.refusedClients += 1;
      log.warn({ address: login.address, client: client.id.slice(0, 64), user }, problem.text);
      return problem.code;
    }
  }
  tally.accepted += 1;
  if (verdict.kind === "bridge") acl.admitBridge(client);
  else acl.admit(client, verdict.kind === "user" ? verdict.user : null);
  log.debug({ address: login.address, client: client.id.slice(0, 64), user }, "client connected");
  return null;
}

function refuseLogin(
  { tally, log, refused }: LoginParts,
  verdict: Verdict & { kind: "refused" },
  { address, client }: RefusedLogin,
): RefusalCode {
  if (verdict.why === "busy") return 3;
  if (verdict.why === "blocked") {
    tally.blockedLogins += 1;
    return 5;
  }
  tally.refusedLogins += 1;
  // The name is left out: people type passwords into the wrong field.
  refused.note({ address, client });
  log.warn({ address }, "refused a login with a wrong user name or password");
  if (verdict.newlySlowed)
    log.warn({ address }, "too many wrong logins; further ones wait for their turn for a while");
  return 4;
}

function placeProblem(
  { clientWithId, acl, clientCount, maxClients }: LoginParts,
  id: string,
  user: string | null,
): { readonly code: RefusalCode; readonly text: string } | null {
  const present = clientWithId(id);
  const owner = present && acl.identityOf(present);
  // Taking over a client id closes the other connection, which must not be possible with the bridge's or across users.
  if (owner && (owner.bridge || owner.user !== user))
    return { code: 2, text: "refused a client: its client id is in use by another user" };
  if (!present && clientCount() >= maxClients)
    return {
      code: 3,
      text: `refused a client: ${maxClients} are connected already; raise broker.limits.clients`,
    };
  return null;
}
