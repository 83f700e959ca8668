import { createHash, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import { forgetOldest, sourceOf, sourceShare, ThrottledLogins, unknownUserHash } from "../runtime/logins.js";
import { isPasswordHash, sameSecret } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import type { Role } from "../page/protocol.js";

export type Listener = Exclude<Configuration["http"], false>;

/** What a request or an upgrade shows of itself; `remote` is what the socket says, never a header. */
export interface RequestFacts {
  readonly remote: string;
  /** The address of this computer that the socket came to. */
  readonly local: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly ingressPath: string | undefined;
  readonly ingressUser: string | undefined;
}

/** Who asks. Without a role the data need a login. */
export interface Visitor {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** The key of the session, where there is one. */
  readonly session: string | null;
  readonly isIngress: boolean;
  /** A token was shown and it was the wrong one. */
  readonly isWrongToken?: true;
}

export interface Refusal {
  readonly status: 403 | 421;
  readonly error: string;
  readonly message: string;
}

/** Whether the page and its API are served: never where nobody could be let in. */
export const servesPage = ({ page, host, users, ingress }: Listener): boolean =>
  page ?? (isLoopback(host) || users.length > 0 || ingress.enabled);

const stranger = { user: null, role: null, via: null, session: null, isIngress: false } as const;

/**
 * The page's address as other machines reach it; undefined where it is not served, for this computer alone, or at every
 * address, of which none says which is the right one.
 */
export function reachableAt(http: Listener | false): string | undefined {
  if (http === false || !servesPage(http) || isLoopback(http.host) || isAnyAddress(http.host))
    return undefined;
  return `http://${isIPv6(http.host) ? `[${http.host}]` : http.host}:${http.port}/`;
}

const isAnyAddress = (host: string): boolean => host === "0.0.0.0" || host === "::";

/** Who a request comes from, or why it is not served at all. */
export function judge(
  facts: RequestFacts,
  listener: Listener,
  sessions: Pick<Sessions, "find">,
): Visitor | Refusal {
  const guest = ingressVisitor(facts, listener);
  if (guest !== null) return guest;
  const { origin, host = "" } = facts;
  if (!isOwnHost(host, facts.local, listener))
    return foreign(421, "foreign_host", "This address is not served here; see http.allowed_hosts.");
  if (origin !== undefined && !isSameOrigin(origin, host))
    return foreign(403, "foreign_origin", "The request comes from the page of another address.");
  const shown = /^Bearer +(\S+) *$/i.exec(facts.authorization ?? "")?.[1];
  if (shown !== undefined)
    return listener.token !== undefined && sameSecret(shown, listener.token)
      ? { ...stranger, role: "viewer", via: "token" }
      : { ...stranger, isWrongToken: true };
  const session = sessions.find(facts.cookie);
  if (session !== null) return { ...stranger, ...session, via: `page:${session.user}` };
  const isFree = listener.users.length === 0 && isLoopback(listener.host);
  return isFree ? { ...stranger, role: "viewer" } : stranger;
}

const foreign = (status: 403 | 421, error: string, message: string): Refusal => ({ status, error, message });

/** Home Assistant passes the browser's `Host` and `Origin` on, so that only the socket tells that it is Home Assistant. */
function ingressVisitor(
  { remote, ingressPath, ingressUser }: RequestFacts,
  { ingress }: Listener,
): Visitor | null {
  if (!ingress.enabled || plainAddress(remote) !== plainAddress(ingress.address)) return null;
  if (ingressPath === undefined || !/^(?=.{2,200}$)(?:\/[A-Za-z0-9_-]+)+\/?$/.test(ingressPath)) return null;
  // Node reads headers as Latin-1, and names are sent as UTF-8.
  const name = Buffer.from(ingressUser ?? "", "latin1").toString("utf8");
  const user = name.replace(/\p{C}/gu, "").slice(0, 100) || "home-assistant";
  return { user, role: ingress.role, via: `ingress:${user}`, session: null, isIngress: true };
}

const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");

/** A proxy may speak https to the browser and http to us. */
function isSameOrigin(origin: string, host: string): boolean {
  const [given, own] = [origin.toLowerCase(), host.toLowerCase()];
  return given === `http://${own}` || given === `https://${own}`;
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * A page on the internet that resolves to this address must not get answers, so only known names count, and the address
 * itself, which is no name that could resolve to something else.
 */
function isOwnHost(
  host: string,
  local: string,
  { host: own, allowed_hosts: allowedHosts }: Listener,
): boolean {
  const name = withoutPort(host).toLowerCase();
  const known = [own, plainAddress(local), ...loopbackNames, ...allowedHosts.map(withoutPort)];
  return name !== "" && known.some((one) => hostName(one) === name);
}

/** An IPv6 address without brackets has no port behind its last colon. */
const withoutPort = (host: string) => (isIPv6(host) ? host : host.replace(/:\d+$/, ""));

/** As it stands in a Host header: an IPv6 address is in brackets there, in its short form and without a zone. */
function hostName(known: string): string {
  const bare = known.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname : known.toLowerCase();
}

interface SessionEntry {
  readonly user: string;
  readonly role: Role;
  readonly beganAt: number;
  usedAt: number;
}

const hourMs = 3_600_000;
const longestUnusedMs = 12 * hourMs;
const longestMs = 7 * 24 * hourMs;
const mostSessions = 200;

/** Wrong logins a minute from one address for one name, before further ones wait. */
const pace = { loginAttempts: 10, loginTurnMs: 2_000 };

type LoginVerdict =
  { readonly kind: "in"; readonly cookie: string } | { readonly kind: "wrong" | "blocked" | "busy" };

/** Who is logged in, in memory alone: a restart ends every session. What a cookie holds is kept as its digest. */
export class Sessions {
  readonly #listener: Listener;
  readonly #clock: Clock;
  readonly #logins: ThrottledLogins;
  readonly #sessions = new Map<string, SessionEntry>();
  readonly #cookieName: string;

  /** `port` is the one listened at: cookies of one host do not tell ports apart. */
  constructor(listener: Listener, port: number, clock: Clock) {
    this.#listener = listener;
    this.#clock = clock;
    this.#logins = new ThrottledLogins(pace, clock);
    this.#cookieName = `greenhouse2mqtt_${port}`;
  }

  async login(username: string, password: string, remote: string): Promise<LoginVerdict> {
    const source = sourceOf(remote);
    const guessers = [
      { key: JSON.stringify([source, username]), share: 1 },
      { key: source, share: sourceShare },
    ];
    const user = this.#listener.users.find((one) => one.username === username);
    // A plain password is compared in no time, so the time of a hash is spent on it too.
    const stored = user !== undefined && isPasswordHash(user.password) ? user.password : unknownUserHash;
    const isPlainRight = user?.password !== stored && sameSecret(password, user?.password ?? "");
    const checked = await this.#logins.check(guessers, password, stored);
    const right = checked === false ? user !== undefined && isPlainRight : checked;
    if (right === "blocked" || right === "busy") return { kind: right };
    if (!right || user === undefined) {
      this.#logins.failed(guessers);
      return { kind: "wrong" };
    }
    const secret = randomBytes(32).toString("base64url");
    const now = this.#clock.monotonic();
    this.#sessions.set(digest(secret), { user: username, role: user.role, beganAt: now, usedAt: now });
    forgetOldest(this.#sessions, mostSessions);
    return { kind: "in", cookie: this.#cookie(secret, longestMs / 1000) };
  }

  /** The session of a `Cookie` header; looking at it counts as use. */
  find(
    cookie: string | undefined,
  ): { readonly user: string; readonly role: Role; readonly session: string } | null {
    for (const part of (cookie ?? "").split(";")) {
      const [name, value = ""] = part.trim().split("=");
      const session = name === this.#cookieName ? digest(value) : "";
      const entry = this.isOpen(session) ? this.#sessions.get(session) : undefined;
      if (entry !== undefined) return { user: entry.user, role: entry.role, session };
    }
    return null;
  }

  /** Whether a session goes on; asking for it counts as use. */
  isOpen(session: string): boolean {
    const entry = this.#sessions.get(session);
    if (entry === undefined) return false;
    const now = this.#clock.monotonic();
    const isOver = now - entry.usedAt > longestUnusedMs || now - entry.beganAt > longestMs;
    if (isOver) this.#sessions.delete(session);
    else entry.usedAt = now;
    return !isOver;
  }

  /** Ends a session; the answer is the header that takes the cookie away. */
  logout(session: string | null): string {
    if (session !== null) this.#sessions.delete(session);
    return this.#cookie("", 0);
  }

  close(): void {
    this.#logins.close();
  }

  /** Without a path it holds for `api/` alone, below whatever path a proxy gave the page. */
  #cookie(value: string, seconds: number): string {
    return `${this.#cookieName}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
  }
}

const digest = (secret: string) => createHash("sha256").update(secret).digest("base64url");
