import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { sourceOf, sourceShare, ThrottledLogins, unknownUserHash } from "../runtime/logins.js";
import { isPasswordHash, sameSecret } from "../runtime/passwords.js";
import type { Listener, Visitor } from "./access.js";
import { type Answer, busy, failure } from "./answer.js";

interface Session {
  readonly username: string;
  /** Monotonic ms. */
  readonly beganAt: number;
  usedAt: number;
  /** What cookie and password give together, so that another password ends the session. */
  readonly proof: string;
}

const hourMs = 3_600_000;
const longestUnusedMs = 12 * hourMs;
const longestMs = 7 * 24 * hourMs;
/** Of one user: the one that was not used for longest goes. */
const mostOfOne = 20;
/** A session that began later than this from now was written under another clock. */
const mostAheadMs = 300_000;
/** So often the disk learns that sessions are in use. */
const keepUseMs = 600_000;

/** Wrong logins a minute from one address for one name, before further ones wait. */
const pace = { loginAttempts: 10, loginTurnMs: 2_000 };

const refusals = {
  wrong: failure(401, "wrong_login", "There is no such user, or the password is another one."),
  blocked: failure(429, "too_many_logins", "Too many wrong logins; try later.", { "retry-after": "20" }),
  busy: busy("Too many log in at once; try again."),
};

const digest = (secret: string) => createHash("sha256").update(secret).digest("base64url");
/** Nobody guesses the password by it without the cookie's 256 bits. */
const proofOf = (secret: string, { password }: User) => digest(`${secret} ${password}`);

const keptSessions = z.array(
  z.object({
    session: z.string(),
    proof: z.string(),
    user: z.string(),
    began_at: z.number(),
    used_at: z.number(),
  }),
);

type User = Listener["users"][number];

interface SessionPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** A file that only the bridge's user reads. */
  readonly kept: { read(): Promise<string | null>; write(text: string): Promise<void> };
}

/**
 * Who is logged in, over a restart too. Of what a cookie holds only a digest is kept, in memory as on disk: who reads the file
 * cannot log in with it.
 */
export class Sessions {
  readonly #users: () => Listener["users"];
  readonly #ports: SessionPorts;
  readonly #logins: ThrottledLogins;
  readonly #sessions = new Map<string, Session>();
  readonly #cookieName: string;
  #keptAt: number;
  #writing: Promise<void> | null = null;
  #isChanged = false;

  /** `users` are those of now. `port` is the one listened at: cookies of one host do not tell ports apart. */
  constructor(
    { users, port }: { readonly users: () => Listener["users"]; readonly port: number },
    ports: SessionPorts,
  ) {
    this.#users = users;
    this.#ports = ports;
    this.#logins = new ThrottledLogins(pace, ports.clock);
    this.#cookieName = `greenhouse2mqtt_${port}`;
    this.#keptAt = ports.clock.monotonic();
  }

  /** As an earlier run left them; of users that there are no more none. */
  async restore(): Promise<void> {
    const { kept, clock, log } = this.#ports;
    const wall = clock.now();
    const now = clock.monotonic();
    try {
      const read = await kept.read();
      for (const one of read === null ? [] : keptSessions.parse(JSON.parse(read))) {
        const user = this.#users().find(({ username }) => username === one.user);
        if (user === undefined || one.began_at > wall + mostAheadMs) continue;
        const beganAt = now - wall + one.began_at;
        const usedAt = Math.min(now, now - wall + one.used_at);
        this.#sessions.set(one.session, { username: one.user, beganAt, usedAt, proof: one.proof });
      }
    } catch (error) {
      log.warn({ reason: String(error) }, "the logins of the page cannot be read, so people log in again");
    }
  }

  /** The answer that sets the cookie, or says why there is none. */
  async login(username: string, password: string, remote: string, isSecure: boolean): Promise<Answer> {
    const source = sourceOf(remote);
    const guessers = [
      { key: JSON.stringify([source, username]), share: 1 },
      { key: source, share: sourceShare },
    ];
    const user = this.#users().find((one) => one.username === username);
    // A plain password is compared in no time, so the time of a hash is spent on it too.
    const isPlain = user !== undefined && !isPasswordHash(user.password);
    const stored = user === undefined || isPlain ? unknownUserHash : user.password;
    const checked = await this.#logins.check(guessers, password, stored);
    if (checked === "blocked" || checked === "busy") return refusals[checked];
    if (user === undefined || !(isPlain ? sameSecret(password, user.password) : checked)) {
      this.#logins.onFailure(guessers);
      return refusals.wrong;
    }
    const secret = randomBytes(32).toString("base64url");
    const who = digest(secret);
    const now = this.#ports.clock.monotonic();
    this.#makeRoomFor(user);
    this.#sessions.set(who, { username, beganAt: now, usedAt: now, proof: proofOf(secret, user) });
    this.#keep();
    return this.#withCookie(secret, longestMs / 1000, isSecure);
  }

  /** Whose session a `Cookie` header shows, with what he may by now. */
  find(cookie: string, isUse: boolean): Visitor | null {
    const now = this.#ports.clock.monotonic();
    for (const part of cookie.split(";")) {
      const [name, secret = ""] = part.trim().split("=");
      const who = name === this.#cookieName ? digest(secret) : "";
      const session = this.#sessions.get(who);
      if (session === undefined) continue;
      const user = this.#userOf(session, secret, now);
      if (user === null) {
        this.#sessions.delete(who);
        this.#keep();
        continue;
      }
      if (isUse) session.usedAt = now;
      if (isUse && now - this.#keptAt >= keepUseMs) this.#keep();
      return visitorOf(user, who);
    }
    return null;
  }

  /** Null where the session is over. */
  #userOf({ username, beganAt, usedAt, proof }: Session, secret: string, now: number): User | null {
    const user = this.#users().find((one) => one.username === username);
    const isInTime = now - usedAt <= longestUnusedMs && now - beganAt <= longestMs;
    return isInTime && user !== undefined && proofOf(secret, user) === proof ? user : null;
  }

  /** A user who logs in again and again ends his own sessions, and nobody else's. */
  #makeRoomFor({ username }: User): void {
    const own = [...this.#sessions].filter(([, session]) => session.username === username);
    const sorted = own.toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    for (const [who] of sorted.slice(0, Math.max(0, own.length - mostOfOne + 1))) this.#sessions.delete(who);
  }

  /** Ends a session; the answer takes the cookie away. */
  logout({ who }: Visitor): Answer {
    this.#sessions.delete(who);
    this.#keep();
    return this.#withCookie("", 0);
  }

  /** Resolves once what is known is on disk. */
  async close(): Promise<void> {
    this.#logins.close();
    if (this.#sessions.size > 0) this.#keep();
    await this.#writing;
  }

  /** Writes once more where something changed while it was written. */
  #keep(): void {
    this.#isChanged = true;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    const { kept, clock, log } = this.#ports;
    // What happens within one task is written once.
    await Promise.resolve();
    while (this.#isChanged) {
      this.#isChanged = false;
      this.#keptAt = clock.monotonic();
      const wall = clock.now() - clock.monotonic();
      const all = [...this.#sessions].map(([session, { username, beganAt, usedAt, proof }]) => ({
        session,
        proof,
        user: username,
        began_at: Math.round(wall + beganAt),
        used_at: Math.round(wall + usedAt),
      }));
      await kept.write(JSON.stringify(all)).catch((error: unknown) => {
        log.warn({ reason: String(error) }, "the logins of the page cannot be kept for the next start");
      });
    }
    // At once: what changes from here on is another write.
    this.#writing = null;
  }

  /**
   * Without a path it holds for `api/` alone, below whatever path a proxy gave the page. `isSecure`: the login came over https, and
   * so does all that follows.
   */
  #withCookie(value: string, seconds: number, isSecure = false): Answer {
    const secure = isSecure ? "; Secure" : "";
    const cookie = `${this.#cookieName}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
    return { status: 204, headers: { "set-cookie": cookie } };
  }
}

const visitorOf = ({ username: user, role, accounts }: User, who: string): Visitor => ({
  user,
  role,
  via: `page:${user}`,
  who,
  accounts,
});
