import { PlatformError, type PlatformHost } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { Files } from "../../runtime/file-system.js";
import type { Logger } from "../../runtime/log.js";
import type { HostLinks } from "../circuit.js";

/** A token in use. A later one has a higher generation. */
export interface Credential {
  readonly token: string;
  readonly generation: number;
  /** Names and values in turn, ready to be sent; the same array for as long as the token is. */
  readonly headers: string[];
}

/** Where the token comes from and what happens when it is refused. */
export interface CredentialSource {
  /** The configuration key to look at when the credential is refused. */
  readonly key: "platform.token" | "platform.token_file" | "platform.sign_in";
  /** The token at hand, without any work; null when there is none or it has to be looked after first. */
  current(): Credential | null;
  /** A usable token that can be had without asking the platform; null when there is none. */
  atHand(): Promise<Credential | null>;
  /** A usable token, signing in where needed. Rejects with a PlatformError when there is none now. */
  obtain(signal: AbortSignal): Promise<Credential>;
  /**
   * After 401 or 403: whether there is another credential to try once. One sign-in serves any number of waiting calls.
   */
  renew(refused: Credential, host: PlatformHost, operation: string, signal: AbortSignal): Promise<boolean>;
  /** A call with this credential was let in; only signing in learns from it. */
  accepted?(credential: Credential, host: PlatformHost): void;
  /** A call was refused again with a credential that had just been renewed for it; as above. */
  refusedAgain?(credential: Credential, host: PlatformHost, operation: string): void;
  /** Everything that must never be shown. */
  secrets(): readonly string[];
  /** Those of them that requests carry or carried. */
  tokens(): readonly string[];
  close(): Promise<void>;
}

/** Headers every request carries; asking for gzip only keeps the memory that unpacking takes small. */
export const plainHeaders: readonly string[] = [
  ...["accept", "application/json"],
  ...["accept-encoding", "gzip"],
  ...["user-agent", "greenhouse2mqtt"],
];

export function credential(token: string, generation: number): Credential {
  return { token, generation, headers: ["authorization", `Bearer ${token}`, ...plainHeaders] };
}

/** Whether a text can be a bearer token in a header: visible ASCII of a sane length. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,8192}$/.test(text);

/** A token of the configuration: there is never another one. */
export function staticToken(token: string): CredentialSource {
  const only: Credential | null = isToken(token) ? credential(token, 1) : null;
  return {
    key: "platform.token",
    current: () => only,
    atHand: () => Promise.resolve(only),
    obtain: () => (only ? Promise.resolve(only) : Promise.reject(notSent(unusable))),
    renew: () => Promise.resolve(false),
    secrets: () => [token],
    tokens: () => [token],
    close: () => Promise.resolve(),
  };
}

const unusable = "platform.token is empty or holds characters that cannot be sent (a line break, a blank?)";

const notSent = (why: string): PlatformError =>
  new PlatformError(`not sent; ${why}`, {
    kind: "unauthorized",
    host: "business",
    operation: "credential",
    sent: false,
  });

const lookEveryMs = 5_000;

interface TokenFileParts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
  readonly links: HostLinks;
}

/** A token that something else writes into a file; looked at every few seconds and after each refusal. */
export class TokenFile implements CredentialSource {
  readonly key = "platform.token_file";
  readonly #path: string;
  readonly #parts: TokenFileParts;
  #credential: Credential | null = null;
  #previous: string | null = null;
  #version: string | null = null;
  #lookedAt: number | null = null;
  #looking: Promise<void> | null = null;

  constructor(path: string, parts: TokenFileParts) {
    this.#path = path;
    this.#parts = parts;
  }

  current(): Credential | null {
    const isFresh = this.#lookedAt !== null && this.#parts.clock.monotonic() - this.#lookedAt < lookEveryMs;
    return isFresh ? this.#credential : null;
  }

  async atHand(): Promise<Credential | null> {
    if (this.current() === null) await this.#look(false);
    return this.#credential;
  }

  async obtain(): Promise<Credential> {
    const found = await this.atHand();
    if (found !== null) return found;
    this.#parts.links.credentialMissing();
    throw notSent(`platform.token_file ${this.#path} is missing, unreadable or does not hold a token alone`);
  }

  async renew(refused: Credential): Promise<boolean> {
    const isNewer = () => (this.#credential?.generation ?? 0) > refused.generation;
    if (!isNewer()) await this.#look(true);
    return isNewer();
  }

  secrets(): readonly string[] {
    return this.tokens();
  }

  tokens(): readonly string[] {
    return [this.#credential?.token, this.#previous].filter((token) => typeof token === "string");
  }

  close(): Promise<void> {
    return this.#looking ?? Promise.resolve();
  }

  #look(always: boolean): Promise<void> {
    this.#looking ??= this.#read(always).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #read(always: boolean): Promise<void> {
    const { files, clock, log } = this.#parts;
    try {
      const version = await files.version(this.#path);
      if (always || version === null || version !== this.#version) await this.#take(version);
    } catch (error) {
      log.warn({ err: error }, "platform.token_file cannot be read; the last token stays in use");
    }
    this.#lookedAt = clock.monotonic();
  }

  async #take(version: string | null): Promise<void> {
    const token = (await this.#parts.files.read(this.#path))?.trim() ?? "";
    this.#version = version;
    // An empty file is a writer at work: the old token is worth keeping until there is another.
    if (!isToken(token) || token === this.#credential?.token) return;
    this.#previous = this.#credential?.token ?? null;
    this.#credential = credential(token, (this.#credential?.generation ?? 0) + 1);
    this.#parts.links.credentialRenewed();
  }
}

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
