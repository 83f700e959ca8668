import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { TextFile } from "../runtime/file-system.js";
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
  /** A hash of cookie and password, so that a new password ends the session. */
  readonly proof: string;
}

const hourMs = 3_600_000;
const longestUnusedMs = 12 * hourMs;
const longestMs = 7 * 24 * hourMs;
/** Most sessions of one user; one more ends the one unused for longest. */
const mostOfOne = 20;
/** A session that began more than this in the future was written under another clock. */
const mostAheadMs = 300_000;
/** Least pause between writes of the file while sessions are only used. */
const keepUseMs = 600_000;

/** `loginAttempts`: wrong logins a minute from one address for one name, before further ones wait. */
const pace = { loginAttempts: 10, loginTurnMs: 2_000, longestWaitMs: 30_000 };
/** Repeated guesses are answered so late that others get their turn in between. */
const blockedAfterMs = 2_000;

/** How long a browser that has logged in once is remembered. */
const knownForMs = 180 * 24 * hourMs;
const mostKnownOfOne = 20;

/** No answer waits longer than this for the disk. */
const longestKeepMs = 5_000;
/** Pause before a failed write is tried again. */
const keepAgainMs = 15_000;

const notKept = (cookie: Answer["headers"]): Answer =>
  failure(
    503,
    "not_kept",
    "You are logged out here and now, but the disk of the bridge did not take it: should the bridge be restarted before it does, this login would count again. Make room on the disk, or log out once more later.",
    cookie,
  );

const refusals = {
  wrong: failure(401, "wrong_login", "There is no such user, or the password is another one."),
  blocked: failure(
    429,
    "too_many_logins",
    "Too many wrong logins; try later, or with a browser that has logged in here before. The commands on the computer of the bridge need no login.",
    { "retry-after": "20" },
  ),
  busy: busy("Too many log in at once; try again."),
};

const digest = (secret: string) => createHash("sha256").update(secret).digest("base64url");
/** To guess the password from it, one needs the 256 bits of the cookie too. */
const proofOf = (secret: string, { password }: User) => digest(`${secret} ${password}`);

/** `known`: no session, but a record that a browser has had one. */
const keptSessions = z.array(
  z.object({
    kind: z.literal("known").optional(),
    session: z.string(),
    proof: z.string(),
    user: z.string(),
    began_at: z.number(),
    used_at: z.number(),
  }),
);

type User = Listener["users"][number];

/** A session as other code may see it. Times are epoch ms. */
interface Login {
  readonly who: string;
  readonly user: string;
  readonly beganAt: number;
  readonly usedAt: number;
}

/** Where a login comes from. */
interface Coming {
  readonly remote: string;
  readonly cookie: string;
  /** Whether it came over https. */
  readonly isSecure: boolean;
}

/**
 * Who is logged in, also after a restart. Memory and disk hold only digests of the cookies, so nobody can log in with
 * what the file says.
 */
export class Sessions {
  readonly #users: () => Listener["users"];
  readonly #kept: TextFile;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #logins: ThrottledLogins;
  /** For browsers that are recognised by another cookie. */
  readonly #knownLogins: ThrottledLogins;
  readonly #sessions = new Map<string, Session>();
  readonly #known = new Map<string, Session>();
  readonly #cookieName: string;
  #keptAt: number;
  #writing: Promise<void> | null = null;
  #isChanged = false;
  /** Called with whether the disk has the present state. */
  #waiting: ((isKept: boolean) => void)[] = [];
  #takeBackRetry: () => void = () => undefined;

  /** `users` returns the present users. `port` names the cookie, since the ports of one host share their cookies. */
  constructor(
    { users, port }: { readonly users: () => Listener["users"]; readonly port: number },
    kept: TextFile,
    clock: Clock,
    log: Logger,
  ) {
    this.#users = users;
    this.#kept = kept;
    this.#clock = clock;
    this.#log = log;
    this.#logins = new ThrottledLogins(pace, clock);
    this.#knownLogins = new ThrottledLogins(pace, clock, { parallel: 1, maxWaiting: 8 });
    this.#cookieName = `greenhouse2mqtt_${port}`;
    this.#keptAt = clock.monotonic();
  }

  /** Loads the sessions of an earlier run, but none of users who are gone. */
  async restore(): Promise<void> {
    const wall = this.#clock.now();
    const now = this.#clock.monotonic();
    try {
      const read = await this.#kept.read();
      for (const one of read === null ? [] : keptSessions.parse(JSON.parse(read))) {
        const user = this.#users().find(({ username }) => username === one.user);
        if (user === undefined || one.began_at > wall + mostAheadMs) continue;
        const beganAt = now - wall + one.began_at;
        const usedAt = Math.min(now, now - wall + one.used_at);
        const kept = one.kind === "known" ? this.#known : this.#sessions;
        kept.set(one.session, { username: one.user, beganAt, usedAt, proof: one.proof });
      }
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "the logins of the page cannot be read, so people log in again",
      );
    }
  }

  /**
   * Returns the answer that sets the cookie, or says why there is none. A browser that has logged in before is checked
   * apart from all others, so that guesses from the same computer do not lock its user out.
   */
  async login(username: string, password: string, { remote, cookie, isSecure }: Coming): Promise<Answer> {
    const source = sourceOf(remote);
    const known = this.knownAs(cookie);
    const isKnown = known !== null && this.#known.get(known)?.username === username;
    const own = { key: JSON.stringify(isKnown ? ["known", known] : [source, username]), share: 1 };
    const guessers = isKnown ? [own] : [own, { key: source, share: sourceShare }];
    const logins = isKnown ? this.#knownLogins : this.#logins;
    const user = this.#users().find((one) => one.username === username);
    // Comparing a plain password takes no time, so the time of a hash is spent too.
    const isPlain = user !== undefined && !isPasswordHash(user.password);
    const stored = user === undefined || isPlain ? unknownUserHash : user.password;
    const isRight = (checked: boolean): boolean =>
      user !== undefined && (isPlain ? sameSecret(password, user.password) : checked);
    const cameAt = this.#clock.monotonic();
    const checked = await logins.check(
      guessers,
      password,
      stored,
      user === undefined || isKnown ? null : { guesser: own, isRight },
    );
    // The time so far depends on whether such a name exists; this pause hides it.
    if (checked === "blocked")
      await this.#clock.wait(Math.max(0, cameAt + blockedAfterMs - this.#clock.monotonic()));
    if (checked === "blocked" || checked === "busy") return refusals[checked];
    if (user === undefined || !isRight(checked)) {
      logins.onFailure(guessers);
      return refusals.wrong;
    }
    const session = this.#begin(this.#sessions, user, mostOfOne);
    const cookies = [this.#cookie("", session, longestMs / 1000, isSecure)];
    if (!isKnown) {
      const secret = this.#begin(this.#known, user, mostKnownOfOne);
      cookies.push(this.#cookie(knownSuffix, secret, knownForMs / 1000, isSecure));
    }
    // A session that the disk did not take counts until the program ends.
    await this.#keep();
    return { status: 204, headers: { "set-cookie": cookies } };
  }

  /** Begins a session and returns the secret for its cookie. */
  #begin(sessions: Map<string, Session>, user: User, most: number): string {
    const secret = randomBytes(32).toString("base64url");
    const now = this.#clock.monotonic();
    makeRoomFor(user, sessions, most);
    const { username } = user;
    sessions.set(digest(secret), { username, beganAt: now, usedAt: now, proof: proofOf(secret, user) });
    return secret;
  }

  /** The key of a browser that has logged in before; null for others, and once its user has another password. */
  knownAs(cookie: string): string | null {
    for (const secret of secretsIn(cookie, `${this.#cookieName}${knownSuffix}`)) {
      const who = digest(secret);
      const known = this.#known.get(who);
      const user = known && this.#users().find((one) => one.username === known.username);
      if (known === undefined || user === undefined || proofOf(secret, user) !== known.proof) continue;
      if (this.#clock.monotonic() - known.beganAt <= knownForMs) return who;
    }
    return null;
  }

  /**
   * The user of the session in a `Cookie` header, with his present role; null without one. `isUse` prolongs the
   * session.
   */
  find(cookie: string, isUse: boolean): Visitor | null {
    const now = this.#clock.monotonic();
    for (const secret of secretsIn(cookie, this.#cookieName)) {
      const who = digest(secret);
      const session = this.#sessions.get(who);
      if (session === undefined) continue;
      const user = this.#userOf(session, secret, now);
      if (user === null) {
        this.#sessions.delete(who);
        void this.#keep();
        continue;
      }
      if (isUse) session.usedAt = now;
      if (isUse && now - this.#keptAt >= keepUseMs) void this.#keep();
      return visitorOf(user, who);
    }
    return null;
  }

  /** Null where the session is over. */
  #userOf({ username, beganAt, usedAt, proof }: Session, secret: string, now: number): User | null {
    const user = this.#users().find((one) => one.username === username);
    return isInTime({ beganAt, usedAt }, now) && user !== undefined && proofOf(secret, user) === proof
      ? user
      : null;
  }

  /** Ends a session. The answer takes the cookie away, once the disk has it. */
  async logout({ who }: Visitor): Promise<Answer> {
    this.#sessions.delete(who);
    const headers = { "set-cookie": this.#cookie("", "", 0, false) };
    return (await this.#keep()) ? { status: 204, headers } : notKept(headers);
  }

  /** Present sessions, the most recently used first. */
  list(): readonly Login[] {
    const now = this.#clock.monotonic();
    const wall = this.#clock.now() - now;
    const named = new Set(this.#users().map(({ username }) => username));
    return [...this.#sessions]
      .filter(([, session]) => isInTime(session, now) && named.has(session.username))
      .map(([who, { username, beganAt, usedAt }]) => ({
        who,
        user: username,
        beganAt: wall + beganAt,
        usedAt: wall + usedAt,
      }))
      .toSorted((one, other) => other.usedAt - one.usedAt);
  }

  /** Ends these sessions; resolves with whether the disk has it. */
  end(whos: readonly string[]): Promise<boolean> {
    for (const who of whos) this.#sessions.delete(who);
    return this.#keep();
  }

  /** Resolves once the present state is on disk. */
  async close(): Promise<void> {
    this.#logins.close();
    this.#knownLogins.close();
    this.#takeBackRetry();
    if (this.#sessions.size > 0) void this.#keep();
    await this.#writing;
  }

  /**
   * Writes the file, and once more if something changes meanwhile. Resolves with whether the disk has it; false as well
   * after `longestKeepMs`.
   */
  #keep(): Promise<boolean> {
    this.#isChanged = true;
    const kept = new Promise<boolean>((resolve) => {
      const takeBack = this.#clock.after(longestKeepMs, () => resolve(false));
      this.#waiting.push((isKept) => {
        takeBack();
        resolve(isKept);
      });
    });
    this.#writing ??= this.#write();
    return kept;
  }

  async #write(): Promise<void> {
    // Changes of one task are written together.
    await Promise.resolve();
    while (this.#isChanged) {
      this.#isChanged = false;
      this.#keptAt = this.#clock.monotonic();
      const waiting = this.#waiting.splice(0);
      const isKept = await this.#kept.write(this.#text()).then(
        () => true,
        (error: unknown) => {
          this.#log.warn(
            { reason: String(error) },
            "the logins of the page cannot be kept for the next start",
          );
          return false;
        },
      );
      this.#takeBackRetry();
      if (!isKept) this.#takeBackRetry = this.#clock.after(keepAgainMs, () => void this.#keep());
      for (const tell of waiting) tell(isKept);
    }
    // At once: any change from here on starts another write.
    this.#writing = null;
  }

  #text(): string {
    const wall = this.#clock.now() - this.#clock.monotonic();
    const kept =
      (kind?: "known") =>
      ([session, { username, beganAt, usedAt, proof }]: readonly [string, Session]) => ({
        kind,
        session,
        proof,
        user: username,
        began_at: Math.round(wall + beganAt),
        used_at: Math.round(wall + usedAt),
      });
    return JSON.stringify([...[...this.#sessions].map(kept()), ...[...this.#known].map(kept("known"))]);
  }

  /**
   * Without `Path` the cookie is valid for `api/` alone, below whatever path a proxy gave the page. `isSecure`: the
   * login came over https, as all that follows will.
   */
  #cookie(suffix: string, value: string, seconds: number, isSecure: boolean): string {
    const secure = isSecure ? "; Secure" : "";
    const name = `${this.#cookieName}${suffix}`;
    return `${name}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }
}

const isInTime = ({ beganAt, usedAt }: Pick<Session, "beganAt" | "usedAt">, now: number): boolean =>
  now - usedAt <= longestUnusedMs && now - beganAt <= longestMs;

const knownSuffix = "_known";

/** The values under a name in a `Cookie` header. */
const secretsIn = (cookie: string, wanted: string): readonly string[] =>
  cookie.split(";").flatMap((part) => {
    const [name, secret = ""] = part.trim().split("=");
    return name === wanted ? [secret] : [];
  });

/** A user who logs in again and again ends his own oldest sessions, and nobody else's. */
function makeRoomFor({ username }: User, sessions: Map<string, Session>, most: number): void {
  const own = [...sessions].filter(([, session]) => session.username === username);
  const sorted = own.toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
  for (const [who] of sorted.slice(0, Math.max(0, own.length - most + 1))) sessions.delete(who);
}

const visitorOf = ({ username: user, role, accounts }: User, who: string): Visitor => ({
  user,
  role,
  via: `page:${user}`,
  who,
  accounts,
});
