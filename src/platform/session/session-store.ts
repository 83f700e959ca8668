import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import type { PlatformHost } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { Files } from "../../runtime/file-system.js";
import type { Logger } from "../../runtime/log.js";
import { isFields, own } from "../decode/decoding.js";
import { isToken } from "./credential.js";

/*
 * When a sign-in may be tried. Vendors lock accounts that sign in again and again, so the pauses grow and are kept
 * over restarts.
 */

export interface SignInHistory {
  /** Attempts in a row that did not help. */
  readonly refusals: number;
  /** Epoch ms of the newest attempt; null before the first. */
  readonly attemptedAt: number | null;
  /** The host that refused a fresh token; null when the sign-in itself was refused. */
  readonly refusedBy: PlatformHost | null;
}

export const noHistory: SignInHistory = { refusals: 0, attemptedAt: null, refusedBy: null };

const pausesMs = [0, 10_000, 30_000, 60_000, 120_000, 600_000] as const;

/** Ms between an attempt and the next, after so many refusals in a row. */
const pauseAfter = (refusals: number): number => pausesMs[Math.min(refusals, 5)] ?? 600_000;

/**
 * Ms still to wait at start, from what an earlier run left behind. A clock that was set back meanwhile costs the
 * whole pause, never more.
 */
function remainingMs(history: SignInHistory, nowAt: number): number {
  const pauseMs = pauseAfter(history.refusals);
  if (history.attemptedAt === null) return 0;
  const passedMs = Math.max(0, nowAt - history.attemptedAt);
  return Math.max(0, pauseMs - passedMs);
}

/** Tokens that end sooner make the next sign-in wait: two programs may be throwing each other out. */
const shortLifeMs = 60_000;

/** Commands need a token, so no answer keeps the next sign-in away for longer. */
const longestAskedMs = 15 * 60_000;

/** Keeps count of attempts that did not help, and says when the next one may be made. */
export class SignInPace {
  readonly #clock: Clock;
  #history: SignInHistory = noHistory;
  #notBefore = 0;
  #shortLived = 0;
  #endedToken = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get history(): SignInHistory {
    return this.#history;
  }

  waitMs(): number {
    return Math.max(0, this.#notBefore - this.#clock.monotonic());
  }

  resume(history: SignInHistory): void {
    this.#history = history;
    this.#notBefore = this.#clock.monotonic() + remainingMs(history, this.#clock.now());
  }

  /** The history to keep on disk while an attempt is under way: should we die in the middle, it was a refusal. */
  attempt(): SignInHistory {
    return { ...this.#history, refusals: this.#history.refusals + 1, attemptedAt: this.#clock.now() };
  }

  /** A token was got. It forgives what the sign-in itself refused; a host that refused a fresh token has to accept one first. */
  succeeded({ attemptedAt }: SignInHistory): void {
    this.#history = this.#history.refusedBy === null ? noHistory : { ...this.#history, attemptedAt };
    this.#pause(0);
  }

  /** Returns the pause in ms. */
  refused(attempt: SignInHistory, retryAfterMs: number): number {
    this.#history = { ...attempt, refusedBy: null };
    return this.#pause(Math.min(retryAfterMs, longestAskedMs));
  }

  refusedBy(host: PlatformHost): void {
    const { refusals, attemptedAt } = this.#history;
    this.#history = {
      refusals: refusals + 1,
      attemptedAt: attemptedAt ?? this.#clock.now(),
      refusedBy: host,
    };
    this.#pause(0);
  }

  /** Returns whether that changed anything. */
  acceptedBy(host: PlatformHost): boolean {
    if (this.#history.refusals === 0 || this.#history.refusedBy !== host) return false;
    this.#history = noHistory;
    return true;
  }

  /**
   * A token that worked is refused: the first time a new one is got at once, then after growing pauses. It ends once, however
   * many calls meet its end before there is another. Returns whether tokens end soon again and again.
   */
  ended(token: number, since: number): boolean {
    if (token === this.#endedToken) return false;
    this.#endedToken = token;
    const isShort = this.#clock.monotonic() - since < shortLifeMs;
    this.#shortLived = isShort ? this.#shortLived + 1 : 0;
    this.#notBefore = Math.max(this.#notBefore, since + pauseAfter(Math.max(0, this.#shortLived - 1)));
    return this.#shortLived > 1;
  }

  #pause(atLeastMs: number): number {
    const pauseMs = Math.max(pauseAfter(this.#history.refusals), atLeastMs);
    this.#notBefore = this.#clock.monotonic() + pauseMs;
    return pauseMs;
  }
}

export interface SavedToken {
  readonly token: string;
  /** Epoch ms; null when the platform did not say. */
  readonly expiresAt: number | null;
}

export interface SavedSession {
  readonly token: SavedToken | null;
  readonly history: SignInHistory;
}

const nothing: SavedSession = { token: null, history: noHistory };

const derive = promisify<string, Buffer, number, Buffer>(scrypt);

/**
 * The token and the sign-in history in `data_dir`, mode 600. What another account or host left there is not used; the account is
 * recognised by a salted hash, so that nothing of it can be read from the file.
 */
export class SessionStore {
  readonly #path: string;
  readonly #account: string;
  readonly #files: Files;
  readonly #log: Logger;
  #salt: Buffer | null = null;
  #mark: Buffer = Buffer.alloc(0);

  /** `account` is any text that changes with host, account or password. */
  constructor(dataDir: string, account: string, files: Files, log: Logger) {
    this.#path = join(dataDir, "platform-session.json");
    this.#account = account;
    this.#files = files;
    this.#log = log;
  }

  async load(): Promise<SavedSession> {
    try {
      const saved = parsed(await this.#files.read(this.#path));
      if (saved !== null && (await this.#isOurs(saved))) return savedSession(saved);
    } catch (error) {
      this.#log.warn({ err: error }, `${this.#path} cannot be read; signing in starts afresh`);
    }
    return nothing;
  }

  /** A disk that is full or read-only costs the memory over restarts, not the session. */
  async save(session: SavedSession): Promise<void> {
    try {
      const salt = await this.#ownSalt();
      const { token, history } = session;
      const record = {
        version: 1,
        salt: salt.toString("hex"),
        account: this.#mark.toString("hex"),
        ...history,
        ...token,
      };
      await this.#files.writePrivate(this.#path, `${JSON.stringify(record)}\n`);
    } catch (error) {
      this.#log.warn({ err: error }, `${this.#path} cannot be written; the next start has to sign in again`);
    }
  }

  async #isOurs(saved: Record<string, unknown>): Promise<boolean> {
    const salt = Buffer.from(String(own(saved, "salt")), "hex");
    const theirs = Buffer.from(String(own(saved, "account")), "hex");
    if (salt.length < 16) return false;
    const mark = this.#salt?.equals(salt) === true ? this.#mark : await derive(this.#account, salt, 32);
    if (theirs.length !== mark.length || !timingSafeEqual(theirs, mark)) return false;
    this.#salt = salt;
    this.#mark = mark;
    return true;
  }

  async #ownSalt(): Promise<Buffer> {
    if (this.#salt) return this.#salt;
    const salt = randomBytes(16);
    this.#mark = await derive(this.#account, salt, 32);
    this.#salt = salt;
    return salt;
  }
}

function parsed(text: string | null): Record<string, unknown> | null {
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  return isFields(value) ? { ...value } : null;
}

function savedSession(saved: Record<string, unknown>): SavedSession {
  const { token, expiresAt, refusals, attemptedAt, refusedBy } = saved;
  return {
    token:
      typeof token === "string" && isToken(token)
        ? { token, expiresAt: typeof expiresAt === "number" ? expiresAt : null }
        : null,
    history: {
      refusals: typeof refusals === "number" && refusals > 0 ? Math.floor(refusals) : 0,
      attemptedAt: typeof attemptedAt === "number" ? attemptedAt : null,
      refusedBy: refusedBy === "business" || refusedBy === "realtime" ? refusedBy : null,
    },
  };
}
