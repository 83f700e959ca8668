import { setMaxListeners } from "node:events";
import { msg, type Text } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import { PlatformError, type PlatformErrorFacts, type PlatformHost } from "../../greenhouse/ports.js";
import { abortReason } from "../../runtime/clock.js";
import { textsIn } from "../../runtime/redaction.js";
import type { SignInAnswer } from "../decode/sign-in.js";
import type { PlatformInside } from "../inside.js";
import { operations } from "../operations.js";
import { credential, type Credential, type CredentialSource, isCodeless } from "./credential.js";
import { noCodes, type SavedToken, type SessionStore, type VainCodes } from "./session-store.js";
import { type SignInHistory, SignInPace } from "./sign-in-pace.js";

/** Whether the platform refused a sign-in, as opposed to a failed connection. */
function isRefusal(error: unknown): error is PlatformError {
  if (!(error instanceof PlatformError)) return false;
  const { kind, status = 0, sent } = error.facts;
  if (kind === "server") return status < 500;
  // A sign-in held back because of the host's pause was not tried at all.
  if (kind === "throttled") return sent;
  return kind === "unauthorized" || kind === "rejected";
}

/** The error of calls that waited for a failed sign-in; they were not sent. */
const unauthorized = (message: Text, facts: Partial<PlatformErrorFacts> = {}): PlatformError =>
  new PlatformError(message, {
    ...facts,
    kind: "unauthorized",
    host: "business",
    operation: operations.signIn.label,
    sent: false,
  });

function notHelped({ text, facts }: PlatformError): PlatformError {
  const { status, code, platformMessage, requestId, retryAfterMs } = facts;
  return unauthorized(text, { status, code, platformMessage, requestId, retryAfterMs });
}

const noToken = msg`the platform answered the sign-in, but no token was found in the answer; set platform.sign_in.token_path to where it is`;

const doubted = (code: string): Text =>
  msg`the platform refuses with code ${code} what it let in before, so a new token is tried; where this code means a refused token, write it into platform.sign_in.refused_codes`;

const doubtedWithoutCode = (answer: string): Text =>
  msg`the platform answers ${answer} with no data to what it let in before; perhaps it says so that the token has ended, so a new one is tried`;

/** The error of calls while the next sign-in has to wait. */
function heldBack(refusals: number, waitMs: number): PlatformError {
  const times = refusals === 1 ? msg`once` : msg`${refusals} times`;
  return unauthorized(
    msg`not sent; signing in did not help ${times} in a row, so the next try is in ${Math.ceil(waitMs / 1000)} s; check the account and password in platform.sign_in.body`,
    { retryAfterMs: waitMs },
  );
}

/** Sends the one POST; rejects with a PlatformError. Null: the answer had code 200 but no token. */
type Post = (signal: AbortSignal) => Promise<SignInAnswer | null>;

type Inside = Pick<PlatformInside, "clock" | "log" | "links" | "tally">;

interface Token {
  readonly credential: Credential;
  /** Monotonic ms, as below; null where its end is unknown. */
  readonly since: number;
  readonly renewFrom: number | null;
  readonly endsAt: number | null;
}

/** How long an operation that a good token may not use, or a channel that refuses a renewed one, asks for no other. */
export const barredMs = 600_000;
const saveAgainMs = 600_000;
/** How long a code against which a new token did not help asks for none. */
const vainForMs = 3_600_000;
/**
 * If nothing is accepted meanwhile, it may mean the token after all: this long at first, then twice as long each time.
 */
const vainAloneForMs = 600_000;
const mostVain = 20;

/** A token from an account: one sign-in at a time, as rarely as possible, remembered over restarts. */
export class SignIn implements CredentialSource {
  readonly key = "platform.sign_in";
  readonly #post: Post;
  readonly #store: SessionStore;
  readonly #parts: Inside;
  readonly #secrets: readonly string[];
  readonly #pace: SignInPace;
  readonly #closing = new AbortController();
  readonly #barredUntil = new Map<string, number>();
  #loading: Promise<void> | null = null;
  #renewing: Promise<void> | null = null;
  #saving: Promise<void> = Promise.resolve();
  #token: Token | null = null;
  #oldToken: string | null = null;
  #generation = 0;
  #acceptedBy = new Set<PlatformHost>();
  /** Whether the newest sign-in was refused, and nothing has shown since that the present token works. */
  #isRefused = false;
  #isWaiting = false;
  #countedGeneration = 0;
  /** Generation of the last token read from disk; it counts as accepted before. */
  #savedGeneration = 0;
  #vain: VainCodes = noCodes;
  /** How often in a row another token did not help against a code, since the host last accepted anything. */
  readonly #vainTimes: Readonly<Record<PlatformHost, Map<string, number>>> = {
    business: new Map(),
    realtime: new Map(),
  };
  #savedAttempt: { readonly refusals: number; readonly at: number } | null = null;

  constructor(body: unknown, post: Post, store: SessionStore, inside: Inside) {
    this.#post = post;
    this.#store = store;
    this.#parts = inside;
    this.#secrets = textsIn(body);
    this.#pace = new SignInPace(inside.clock);
  }

  current(): Credential | null {
    const token = this.#token;
    if (token === null || (token.renewFrom !== null && this.#now() >= token.renewFrom)) return null;
    return token.credential;
  }

  async atHand(): Promise<Credential | null> {
    await this.#whenLoaded();
    const token = this.#token;
    return token === null || (token.endsAt !== null && this.#now() >= token.endsAt) ? null : token.credential;
  }

  async obtain(signal: AbortSignal): Promise<Credential> {
    await this.#whenLoaded();
    const atHand = this.current();
    if (atHand) return atHand;
    const old = this.#token;
    try {
      await this.#renew(signal);
    } catch (error) {
      const endsAt = old?.endsAt ?? 0;
      if (old !== null && this.#now() < endsAt && !signal.aborted) return old.credential;
      throw error;
    }
    if (this.#token === null) throw heldBack(this.#pace.history.refusals, 0);
    return this.#token.credential;
  }

  async renew(
    refused: Credential,
    host: PlatformHost,
    operation: string,
    signal: AbortSignal,
    doubt?: string,
  ): Promise<boolean> {
    if (refused.generation < this.#generation) return true;
    if (this.#now() < (this.#barredUntil.get(operation) ?? 0)) return false;
    const hasEnded = this.#renewing === null && this.#acceptedBy.has(host);
    const since = this.#token?.since ?? 0;
    if (hasEnded && this.#pace.onEnd(this.#generation, since, doubt !== undefined))
      this.#parts.tally.contested += 1;
    if (doubt !== undefined && this.#renewing === null)
      this.#parts.log.warn(
        { host, operation, code: doubt },
        String(isCodeless(doubt) ? doubtedWithoutCode(doubt) : doubted(doubt)),
      );
    try {
      await this.#renew(signal, doubt !== undefined && isCodeless(doubt));
    } catch (error) {
      if (error instanceof PlatformError && error.facts.kind === "unauthorized") return false;
      throw error;
    }
    return this.#generation > refused.generation;
  }

  onAccepted(used: Credential, host: PlatformHost): void {
    if (used.generation !== this.#generation) return;
    this.#acceptedBy.add(host);
    this.#vainTimes[host].clear();
    this.#isRefused = false;
    if (this.#pace.acceptedBy(host)) this.#saveLater();
  }

  refusedAgain(used: Credential, host: PlatformHost, operation: string): void {
    if (this.#acceptedBy.has(host)) {
      const isYoung = this.#now() - (this.#token?.since ?? 0) < barredMs;
      if (isYoung) this.#barredUntil.set(operation, this.#now() + barredMs);
      return;
    }
    if (this.#countedGeneration >= used.generation || used.generation !== this.#generation) return;
    this.#countedGeneration = used.generation;
    this.#pace.refusedBy(host);
    this.#saveLater();
    this.#parts.log.error(
      { host, operation },
      "the platform refuses a token it has just issued; the account may lack the right, or this machine's address must be registered",
    );
  }

  hasWorked({ generation }: Credential): boolean {
    return generation === this.#savedGeneration;
  }

  isVain(code: string, host: PlatformHost, isAlone: boolean): boolean {
    const at = this.#vain.get(code);
    const aloneForMs = vainAloneForMs * 2 ** ((this.#vainTimes[host].get(code) ?? 1) - 1);
    const forMs = isAlone ? Math.min(vainForMs, aloneForMs) : vainForMs;
    return at !== undefined && Math.abs(this.#parts.clock.now() - at) < forMs;
  }

  doubtedInVain(code: string, host: PlatformHost): void {
    const times = this.#vainTimes[host];
    const before = times.get(code) ?? 0;
    if (times.size >= mostVain) times.clear();
    times.set(code, before + 1);
    const others = [...this.#vain].filter(([other]) => other !== code).slice(1 - mostVain);
    this.#vain = new Map([...others, [code, this.#parts.clock.now()]]);
    this.#saveLater();
  }

  secrets(): readonly string[] {
    return [...this.#secrets, ...this.tokens()];
  }

  tokens(): readonly string[] {
    return [this.#token?.credential.token, this.#oldToken].filter((token) => typeof token === "string");
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loading;
    await this.#renewing?.catch(ignored);
    await this.#saving;
  }

  #now(): number {
    return this.#parts.clock.monotonic();
  }

  #whenLoaded(): Promise<void> {
    return (this.#loading ??= this.#load());
  }

  async #load(): Promise<void> {
    const { token, history, vain = noCodes } = await this.#store.load();
    this.#pace.resume(history);
    this.#vain = vain;
    if (token !== null && this.#useSaved(token)) return;
    this.#isRefused = history.refusals > 0;
    void this.#tryLater();
  }

  /** Makes the next attempt when its time has come, whether or not a call asks for the token. */
  async #tryLater(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    try {
      // Timers may end a little early.
      for (let left = this.#pace.waitMs(); left > 0; left = this.#pace.waitMs())
        await clock.wait(left, signal);
      this.#isWaiting = false;
      if (this.#isRefused) await this.#renew(signal);
    } catch {
      // It was closed, or the attempt has reported its failure itself.
    }
  }

  /** Waits for the sign-in under way, or starts one. If the caller stops waiting, the sign-in goes on. */
  #renew(signal: AbortSignal, isGuess = false): Promise<void> {
    const renewing = (this.#renewing ??= this.#signIn(isGuess).finally(() => {
      this.#renewing = null;
    }));
    // Any number of calls may wait with one signal; Node would warn of a leak from the eleventh listener on.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(abortReason(signal));
      signal.addEventListener("abort", giveUp, { once: true });
      if (signal.aborted) giveUp();
      void renewing.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
    });
  }

  /** Signs in. `isGuess`: nobody refused the present token, so it stays usable if the sign-in is refused. */
  async #signIn(isGuess: boolean): Promise<void> {
    await this.#whenLoaded();
    if (await this.#adoptSaved()) return;
    const waitMs = this.#pace.waitMs();
    if (waitMs > 0) throw heldBack(this.#pace.history.refusals, waitMs);
    const attempt = this.#pace.attempt();
    await this.#saveAttempt(attempt);
    try {
      const answer = await this.#post(this.#closing.signal);
      if (answer === null) throw unauthorized(noToken);
      this.#pace.onSuccess(attempt);
      this.#use(answer.token, answer.lifetimeMs);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      throw isGuess && this.#token !== null ? this.#inVain(error) : this.#refused(attempt, error);
    }
    this.#savedAttempt = null;
    await this.#save(this.#pace.history);
    this.#parts.log.info("signed in to the platform");
  }

  #refused(attempt: SignInHistory, error: PlatformError): PlatformError {
    const pauseMs = this.#pace.refused(attempt, error.facts.retryAfterMs ?? 0);
    this.#isRefused = true;
    void this.#tryLater();
    this.#parts.log.error({ refusals: attempt.refusals, nextTryInS: pauseMs / 1000 }, error.message);
    this.#parts.links.credentialMissing();
    return notHelped(error);
  }

  /** Reports a failed guess. The present token stays in use, and the failure adds no pause before the next sign-in. */
  #inVain(error: PlatformError): PlatformError {
    this.#parts.log.warn(error.message);
    // On disk the attempt counts as refused, until this write.
    this.#saveLater();
    return notHelped(error);
  }

  /** Adopts a token that another program of this account has fetched meanwhile. */
  async #adoptSaved(): Promise<boolean> {
    if (this.#generation === 0) return false;
    const { token } = await this.#store.load();
    return token !== null && !this.tokens().includes(token.token) && this.#useSaved(token);
  }

  #useSaved({ token, expiresAt }: SavedToken): boolean {
    const leftMs = expiresAt === null ? null : expiresAt - this.#parts.clock.now();
    if (leftMs !== null && leftMs <= 0) return false;
    this.#use(token, leftMs);
    this.#savedGeneration = this.#generation;
    return true;
  }

  #use(token: string, lifetimeMs: number | null): void {
    this.#oldToken = this.#token?.credential.token ?? this.#oldToken;
    this.#generation += 1;
    this.#isRefused = false;
    this.#acceptedBy = new Set();
    const since = this.#now();
    const earlyMs = lifetimeMs === null ? 0 : Math.min(60_000, lifetimeMs / 10);
    this.#token = {
      credential: credential(token, this.#generation),
      since,
      endsAt: lifetimeMs === null ? null : since + lifetimeMs,
      renewFrom: lifetimeMs === null ? null : since + lifetimeMs - earlyMs,
    };
    this.#parts.links.credentialRenewed();
  }

  /** Saves the attempt before the POST, so that a crash counts too; an outage of days costs few writes. */
  async #saveAttempt(attempt: SignInHistory): Promise<void> {
    const { refusals: saved, at = -Infinity } = this.#savedAttempt ?? {};
    if (saved === attempt.refusals && this.#now() - at < saveAgainMs) return;
    this.#savedAttempt = { refusals: attempt.refusals, at: this.#now() };
    await this.#save(attempt);
  }

  #saveLater(): void {
    this.#savedAttempt = null;
    this.#saving = this.#saving.then(() => this.#save(this.#pace.history));
  }

  #save(history: SignInHistory): Promise<void> {
    const { clock } = this.#parts;
    const store = this.#store;
    const vain = this.#vain;
    if (this.#token === null) return store.save({ token: null, history, vain });
    const { endsAt, credential: used } = this.#token;
    const expiresAt = endsAt === null ? null : clock.now() + endsAt - this.#now();
    return store.save({ token: { token: used.token, expiresAt }, history, vain });
  }
}
