import { joinSignals } from "../runtime/signals.js";
import { msg, type Text, row } from "../language/text.js";
import { setMaxListeners } from "node:events";
import { PlatformError, type PlatformErrorFacts, type PlatformErrorKind } from "../greenhouse/ports.js";
import { type BackoffRange, fullJitter } from "../runtime/clock.js";
import { falseIfFailed } from "../runtime/failures.js";
import { type Semaphore, Semaphores } from "../runtime/schedule.js";
import { errorAt, type GoodAnswer, judgeAnswer, type RequestContext, transportError } from "./answer.js";
import type { Admission, RequestEnd } from "./circuit.js";
import { type Call, type HttpAnswer, TransportFailure } from "./http.js";
import type { PlatformInside } from "./inside.js";
import { type Operation, operations } from "./operations.js";
import { codeless, type Credential, isCodeless, plainHeaders } from "./session/credential.js";
import { longestAskedMs } from "./session/sign-in-pace.js";

/** How often and how fast a read may be repeated within one call. */
interface RetryPolicy {
  readonly retries: number;
  readonly range: BackoffRange;
  /** A longer `Retry-After` ends the call; its caller comes back later. */
  readonly maxRetryAfterMs: number;
}

export const pollingRetries: RetryPolicy = {
  retries: 2,
  range: { firstMs: 1_000, maxMs: 60_000 },
  maxRetryAfterMs: 30_000,
};
/** Somebody waits for the answer, so one quick repetition. */
export const commandRetries: RetryPolicy = {
  retries: 1,
  range: { firstMs: 1_000, maxMs: 1_000 },
  maxRetryAfterMs: 2_000,
};

/**
 * The pause before a failed read is repeated; null for no repetition. A time-out is not repeated, as its time is used
 * up, nor is a request held back by us. `attempt` counts from 0, `chance` is in [0, 1).
 */
export function retryDelayMs(
  policy: RetryPolicy,
  attempt: number,
  { kind, status = 0, sent, retryAfterMs = 0 }: PlatformErrorFacts,
  chance: number,
): number | null {
  if (attempt >= policy.retries) return null;
  const jitterMs = fullJitter(attempt, policy.range, chance);
  if (kind === "unreachable" || kind === "interrupted") return jitterMs;
  if (kind === "server") return status >= 500 ? jitterMs : null;
  const isShort = kind === "throttled" && sent && retryAfterMs <= policy.maxRetryAfterMs;
  return isShort ? retryAfterMs + jitterMs : null;
}

/**
 * Concurrent requests of commands for one controller: few, so that an unresponsive one takes little; enough to command
 * all its actuators with answers of a second or two. An unresponsive controller fills only its own places.
 */
const placesOfOne = 4;

const secondLookMs = 1_000;

/** What a failed answer says about the host: whatever answers is there. */
function requestEnd({ kind }: PlatformErrorFacts): RequestEnd {
  if (kind === "rejected" || kind === "throttled") return { type: "answered" };
  return { type: kind === "unauthorized" ? "challenged" : "heard" };
}

const uselessKinds: ReadonlySet<PlatformErrorKind> = new Set([
  ...(["server", "protocol", "timeout", "interrupted", "throttled"] as const),
]);

/** Whether an operation brought nothing usable over a good connection. A request to wait does not count. */
const isUseless = ({ kind, sent, retryAfterMs }: PlatformErrorFacts): boolean =>
  sent && uselessKinds.has(kind) && retryAfterMs === undefined;

const heldBackWords = {
  lost: ["paused", msg`the host did not answer several times in a row`],
  useless: ["paused", msg`nothing usable was answered several times in a row`],
  refused: ["unauthorized", msg`the host refused the credential several times in a row`],
  held: ["throttled", msg`the platform asked to be left alone for a while`],
} as const;

type HeldBack = Extract<Admission, { go: false }>;

/** An answer with the generation of the credential used. */
type ReadAnswer = LinedAnswer & Pick<Credential, "generation">;

/** An answer with its headers and, where another answer came before it, its connection. */
type LinedAnswer = GoodAnswer & Pick<HttpAnswer, "line" | "headers">;

type Inside = Omit<
  PlatformInside,
  "log" | "files" | "names" | "readTime" | "offset" | "pushTally" | "reports" | "frameReports"
>;

/**
 * Sends requests as circuits and connections allow, and turns every failure into a PlatformError. It adds the
 * credential and handles refusals: one renewal for all that wait, one repetition for each read.
 */
export class Requests {
  readonly #parts: Inside;
  readonly #closing = new AbortController();
  readonly #reads = new Semaphores(placesOfOne);
  readonly #posts = new Semaphores(placesOfOne);
  #refusedWrite: Credential | null = null;
  #renewedForWrite = 0;
  /** When a new token was last tried after answers without a code. */
  #codelessAt = -Infinity;

  constructor(parts: Inside) {
    this.#parts = parts;
  }

  async read(call: Call): Promise<ReadAnswer> {
    // Callers share one signal between any number of calls; Node would warn of a leak from the eleventh listener on.
    setMaxListeners(0, call.signal);
    const credential = this.#parts.source.current() ?? (await this.#obtain(call));
    let doubt: string | null = null;
    try {
      return await this.#repeat(call, credential);
    } catch (error) {
      doubt = this.#doubt(call, credential, error);
      if (doubt !== null) {
        if (!(await this.#renewInDoubt(call, credential, doubt))) throw error;
      } else {
        if (!wasRefused(error)) throw error;
        const { host, isExtra } = call.operation;
        if (isExtra && this.#parts.links.hasAccepted(host)) throw withoutRight(error);
        if (!(await this.#renew(call, credential))) throw this.#final(call, error);
      }
    }
    return this.#replay(call, doubt);
  }

  /** Repeats a read with the renewed credential; `doubt` is the unknown code that led to it, if any. */
  async #replay(call: Call, doubt: string | null): Promise<ReadAnswer> {
    const { source } = this.#parts;
    const renewed = source.current() ?? (await this.#obtain(call));
    await this.#turn(call).catch((error: unknown) => {
      throw asPlatformError(call, error);
    });
    try {
      const answer = await this.#repeat(call, renewed);
      this.#parts.links.onChecked(call.operation.host);
      return answer;
    } catch (error) {
      // The new credential got the same code, so it means something else.
      if (doubt !== null && doubtfulCode(error) === doubt) source.doubtedInVain?.(doubt, call.operation.host);
      if (!wasRefused(error)) throw error;
      source.refusedAgain?.(renewed, call.operation.host, call.operation.label);
      throw this.#final(call, error);
    }
  }

  /** Notes a usable answer: the operation works, and the credential was accepted. */
  onUsable(call: Call, { generation, line }: Pick<ReadAnswer, "generation" | "line">): void {
    const { operation, device } = call;
    this.#parts.links.onUsable(call, generation);
    line?.onLeftOver(`${operation.name} ${device ?? ""}`, () =>
      this.#parts.onMixedUp?.(operation.label, device),
    );
  }

  /** Notes an answer of another shape. */
  onUnreadable(call: Call, { message }: PlatformError): void {
    this.#parts.links.onUseless(call);
    this.#parts.links.onGivenUp(call, message);
  }

  /**
   * The unknown code of a refusal that may mean the credential: it was accepted for this read before, and refused twice
   * in a row since. Otherwise null.
   */
  #doubt(call: Call, credential: Credential, error: unknown): string | null {
    const { links, clock } = this.#parts;
    const code = doubtfulCode(error);
    if (code === null || !(error instanceof PlatformError) || call.operation.isExtra) return null;
    const wasLetIn = this.#wasLetIn(call, credential);
    const isDoubtful = isCodeless(code)
      ? links.onCodeless(call, code === outageLike) && clock.monotonic() - this.#codelessAt >= codelessEveryMs
      : links.onRefused(call, code, error.message);
    return wasLetIn && isDoubtful && !this.#isVain(call, code) ? code : null;
  }

  /**
   * Renews the credential in doubt. A web page instead of every answer may mean maintenance; then the sign-in fails
   * too, and the page stays the reported error.
   */
  async #renewInDoubt(call: Call, credential: Credential, doubt: string): Promise<boolean> {
    if (!isCodeless(doubt)) return this.#renew(call, credential, doubt);
    this.#codelessAt = this.#parts.clock.monotonic();
    return this.#renew(call, credential, doubt).catch(falseIfFailed);
  }

  /**
   * The pause before a list with an unknown code is read again; null for none. Lists come only every few minutes, and
   * this shows at once whether the code means the credential.
   */
  #secondLookMs(call: Call, credential: Credential, error: PlatformError, attempt: number): number | null {
    const { links } = this.#parts;
    const code = doubtfulCode(error);
    const isList = call.device === undefined && call.pace === "polled" && !call.operation.isExtra;
    if (code === null || isCodeless(code) || attempt > 0 || !isList) return null;
    if (this.#isVain(call, code)) return null;
    if (!this.#wasLetIn(call, credential)) return null;
    links.onRefused(call, code, error.message);
    return secondLookMs;
  }

  #isVain({ operation: { host } }: Call, code: string): boolean {
    const { links, source } = this.#parts;
    return source.isVain?.(code, host, links.letsNothingIn(host)) === true;
  }

  #wasLetIn(call: Call, credential: Credential): boolean {
    const { links, source } = this.#parts;
    return source.hasWorked?.(credential) === true || links.wasLetIn(call, credential.generation);
  }

  /** Opens a connection for a write, unless the host is known not to answer. */
  prepareWrite(): void {
    const { host } = operations.setValue;
    if (!this.#parts.links.isCircuitOpen(host)) this.#parts.hosts[host].preparePost();
  }

  /**
   * Sends one POST. Without a credential at hand nothing is sent, as a sign-in could take longer than the command may.
   */
  async write(call: Call): Promise<ReadAnswer> {
    setMaxListeners(0, call.signal);
    const { host, label } = call.operation;
    const credential = this.#parts.source.current() ?? (await this.#parts.source.atHand());
    if (credential === null) {
      this.#refusedWrite = null;
      const why = msg`not sent; there is no credential at hand, it has to be renewed first`;
      throw notSent(call, "unauthorized", why);
    }
    const wasJustRenewed = credential.generation === this.#renewedForWrite;
    try {
      const answer = await this.#once(call, [...credential.headers, ...jsonBody]);
      this.#parts.source.onAccepted?.(credential, host);
      return { ...answer, generation: credential.generation };
    } catch (error) {
      if (error instanceof PlatformError) this.#ended(call, error);
      if (!wasRefused(error)) throw error;
      this.#refusedWrite = credential;
      if (!wasJustRenewed) throw error;
      this.#parts.source.refusedAgain?.(credential, host, label);
      throw this.#final(call, error);
    } finally {
      // The renewed credential is tried by one POST; a later refusal needs a new renewal.
      if (wasJustRenewed && credential.generation === this.#renewedForWrite) this.#renewedForWrite = 0;
    }
  }

  /** After a refused write: resolves to whether another credential is ready. Never rejects. */
  async renewForWrite(signal: AbortSignal): Promise<boolean> {
    const { host, label } = operations.setValue;
    const refused = this.#refusedWrite;
    try {
      const isReady =
        refused === null
          ? (await this.#parts.source.obtain(signal)).token !== ""
          : await this.#parts.source.renew(refused, host, label, signal);
      if (isReady) this.#renewedForWrite = this.#parts.source.current()?.generation ?? 0;
      else this.#parts.links.settle(host, { type: "refused" });
      return isReady;
    } catch {
      return false;
    }
  }

  /** The only call without a credential. */
  async signIn(body: unknown, signal: AbortSignal): Promise<LinedAnswer> {
    const operation = operations.signIn;
    const call = {
      operation,
      path: operation.path,
      body: JSON.stringify(body),
      pace: "polled",
      signal,
    } as const;
    try {
      const answer = await this.#once(call, [...plainHeaders, ...jsonBody]);
      this.#parts.links.onUsable(call, 0);
      return answer;
    } catch (error) {
      throw error instanceof PlatformError ? this.#ended(call, error) : error;
    }
  }

  /** What an error about an operation needs to know. */
  context(operation: Operation): RequestContext {
    const { url } = this.#parts.hosts[operation.host];
    const { source, refusedCodes, redact, redactLine } = this.#parts;
    return { operation, url, credentialKey: source.key, refusedCodes, redact, redactLine };
  }

  /** Ends every open request and every pause. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(Object.values(this.#parts.hosts).map((host) => host.close()));
  }

  async #renew(call: Call, refused: Credential, doubt?: string): Promise<boolean> {
    const { host, label } = call.operation;
    try {
      return await this.#parts.source.renew(refused, host, label, call.signal, doubt);
    } catch (error) {
      throw asPlatformError(call, error);
    }
  }

  async #obtain(call: Call): Promise<Credential> {
    try {
      return await this.#parts.source.obtain(call.signal);
    } catch (error) {
      throw asPlatformError(call, error);
    }
  }

  /** Notes that no new credential helps against this host's refusal. */
  #final({ operation }: Call, error: unknown): unknown {
    this.#parts.links.settle(operation.host, { type: "refused" });
    return error;
  }

  /** Sends a read, and repeats it by the retry policy. */
  async #repeat(call: Call, credential: Credential): Promise<ReadAnswer> {
    const { source, links } = this.#parts;
    const policy = call.pace === "polled" ? pollingRetries : commandRetries;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await this.#once(call, credential.headers);
        source.onAccepted?.(credential, call.operation.host);
        return { ...answer, generation: credential.generation };
      } catch (error) {
        if (!(error instanceof PlatformError) || call.signal.aborted) throw error;
        const isOver = links.isPaused(call, call.pace !== "polled");
        const chance = this.#parts.random();
        const delayMs = isOver
          ? null
          : (retryDelayMs(policy, attempt, error.facts, chance) ??
            this.#secondLookMs(call, credential, error, attempt));
        if (delayMs === null) throw this.#ended(call, error);
        this.#parts.tally.retries += 1;
        await this.#turn(call, delayMs).catch(() => {
          throw error;
        });
      }
    }
  }

  /** Notes the end of a call with this error. */
  #ended(call: Call, error: PlatformError): PlatformError {
    const isGivenUp = call.signal.aborted || this.#closing.signal.aborted;
    if (!isGivenUp && isUseless(error.facts)) this.#parts.links.onGivenUp(call, error.message);
    return error;
  }

  /** Waits before a repetition; a poll needs another request of the budget. */
  async #turn({ pace, signal }: Call, delayMs = 0): Promise<void> {
    const { clock, budget } = this.#parts;
    const ended = joinSignals(signal, this.#closing.signal);
    try {
      if (delayMs > 0) await clock.wait(delayMs, ended.signal);
      if (pace === "polled") await budget.turn(clock, ended.signal);
    } finally {
      ended.release();
    }
  }

  /** Sends at most one request, as soon as there is a place. */
  async #once(call: Call, headers: string[]): Promise<LinedAnswer> {
    const places = this.#placesFor(call);
    if (places !== null && !places.take()) await this.#place(call, places);
    try {
      return await this.#send(call, headers);
    } finally {
      places?.leave();
    }
  }

  /**
   * The places for a request: the host's for polling, the controller's for a command. A stop and a rule's command need
   * none.
   */
  #placesFor({ pace, device, operation }: Call): Semaphore | null {
    if (pace === "polled") return this.#parts.hosts[operation.host].semaphore;
    if (pace === "first" || device === undefined) return null;
    return (operation.method === "GET" ? this.#reads : this.#posts).of(device);
  }

  /**
   * Waits for a place: a command's read only as long as an answer may take, a POST as long as its command is young
   * enough.
   */
  async #place(call: Call, places: Semaphore): Promise<void> {
    const { operation, signal } = call;
    if (call.pace === "polled") {
      await places.wait(signal).catch(() => {
        throw transportError(new TransportFailure("aborted", false, 0), this.context(operation), 0);
      });
      return;
    }
    const late = new AbortController();
    const waitMs = this.#parts.hosts[operation.host].deadlineMs(call);
    const takeBack =
      operation.method === "GET" ? this.#parts.clock.after(waitMs, () => late.abort()) : () => undefined;
    const ended = joinSignals(signal, this.#closing.signal, late.signal);
    try {
      await places.wait(ended.signal);
    } catch {
      const isLate = late.signal.aborted;
      const why = isLate
        ? msg`those before it to this controller took longer than ${waitMs / 1000} s`
        : msg`given up before an earlier request to this controller was answered`;
      throw notSent(call, isLate ? "timeout" : "interrupted", msg`not sent; ${why}`);
    } finally {
      takeBack();
      ended.release();
    }
  }

  async #send(call: Call, headers: string[]): Promise<LinedAnswer> {
    const { operation } = call;
    const { host } = operation;
    const { hosts, links, skew, tally, clock, blank } = this.#parts;
    const admission = links.admit(call, call.pace !== "polled");
    if (!admission.go && !this.#isRemedy(operation, admission)) throw this.#heldBack(operation, admission);
    const mayBegin = () => {
      if (call.mayBegin?.() === false) return false;
      tally.requests += 1;
      if (operation === operations.setValue) tally.writes += 1;
      if (operation === operations.signIn) tally.signins += 1;
      return true;
    };
    let answer: HttpAnswer;
    const begunAt = clock.monotonic();
    try {
      answer = await hosts[host].exchange({ ...call, mayBegin }, headers);
    } catch (error) {
      throw this.#onLost(call, error, begunAt);
    }
    // The date of an answer that waited in its socket would make our clock look wrong.
    if (clock.monotonic() - begunAt <= hosts[host].deadlineMs(call)) skew.note(answer.headers.date);
    // A sign-in may return the token that we have, which is then the result.
    const hidden = operation === operations.signIn ? undefined : blank;
    const judged = judgeAnswer(answer, this.context(operation), clock.now(), hidden);
    if (!(judged instanceof PlatformError)) {
      links.onAnswered(operation, operation !== operations.signIn);
      return { ...judged, line: answer.line, headers: answer.headers };
    }
    const { kind, retryAfterMs } = judged.facts;
    if (kind === "unauthorized") links.onChecked(host);
    if (isUseless(judged.facts)) {
      links.onUseless(call);
      if (kind !== "throttled") tally.failures += 1;
    }
    if (kind === "throttled" && retryAfterMs !== undefined)
      links.onAskedToWait(call, retryAfterMs, judged.message);
    else links.settle(host, requestEnd(judged.facts), judged.message);
    throw judged;
  }

  #onLost(call: Call, error: unknown, begunAt: number): unknown {
    if (!(error instanceof TransportFailure)) return error;
    const { host } = call.operation;
    const { reason } = error;
    const wasGivenUp = ["aborted", "withheld", "late"].includes(reason) || this.#closing.signal.aborted;
    if (!wasGivenUp) this.#parts.tally.failures += 1;
    const told = transportError(
      error,
      this.context(call.operation),
      this.#parts.hosts[host].deadlineMs(call),
    );
    if (!wasGivenUp && isUseless(told.facts)) this.#parts.links.onUseless(call);
    const outcome: RequestEnd = wasGivenUp ? { type: "abandoned" } : this.#lost(call, error, begunAt);
    this.#parts.links.settle(host, outcome, told.message);
    return told;
  }

  /**
   * What an incomplete answer says about the host: it is there if an answer had begun, or if it answered others
   * meanwhile.
   */
  #lost({ operation }: Call, { reason, sent, status }: TransportFailure, begunAt: number): RequestEnd {
    if (status !== 0) return { type: "heard" };
    const hasAnsweredOthers =
      reason === "timeout" && this.#parts.links.hasAnsweredSince(operation.host, begunAt);
    return hasAnsweredOthers
      ? { type: "abandoned" }
      : { type: "failed", operation: sent ? operation.label : null };
  }

  /** Whether a held-back sign-in may go out: it has its own pauses, and ends refusals of a credential. */
  #isRemedy(operation: Operation, { because }: HeldBack): boolean {
    if (operation !== operations.signIn) return false;
    const hasWaited = because === "held" && this.#parts.links.heldForMs(operation) >= longestAskedMs;
    return because === "refused" || hasWaited;
  }

  #heldBack(operation: Operation, { because, retryInMs }: HeldBack): PlatformError {
    this.#parts.tally.paused += 1;
    const [kind, why] = heldBackWords[because];
    const text = msg`not sent; ${why}, the next try is possible in ${Math.ceil(retryInMs / 1000)} s`;
    return errorAt(this.context(operation), text, {
      ...{ kind, sent: false, retryAfterMs: retryInMs },
      ...(because === "useless" && { ofOperation: true as const }),
    });
  }
}

const jsonBody = ["content-type", "application/json"] as const;

/**
 * The unexplained code of a refusal: the body's, else a client-error HTTP status, or what some platforms answer instead
 * of any refusal. Null for anything else, and for codes about the request itself.
 */
function doubtfulCode(error: unknown): string | null {
  if (!(error instanceof PlatformError) || !error.facts.sent) return null;
  const { kind, status = 0, code } = error.facts;
  if (kind === "rejected") return code ?? "none";
  if (kind === "server" && status >= 400 && status < 500 && !ofTheRequest.has(status)) return `${status}`;
  const isInItsPlace = kind === "protocol" || (kind === "server" && status === 500);
  return isInItsPlace && status !== 0 ? `${codeless}${status}` : null;
}

/** A broken server answers so too, whatever the token. */
const outageLike = `${codeless}500`;

/** The shortest time between sign-ins because of answers without a code. */
const codelessEveryMs = 600_000;

const ofTheRequest: ReadonlySet<number> = new Set([404, 405, 408, 411, 413, 414, 415, 431]);

const wasRefused = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.facts.kind === "unauthorized" && error.facts.sent;

/** The error of a missing right, as the credential is accepted for everything else. */
const withoutRight = ({ text, facts, cause }: PlatformError): PlatformError =>
  new PlatformError(
    msg`${text} (other requests are accepted, so the account may have no right to this one)`,
    { ...facts, kind: "rejected" },
    { cause },
  );

/** The error of a call that was not sent, as waiting for a credential failed. */
function asPlatformError(call: Call, error: unknown): PlatformError {
  if (error instanceof PlatformError)
    return new PlatformError(error.text, { ...error.facts, sent: false }, { cause: error.cause });
  return notSent(call, "interrupted", msg`given up by the caller`);
}

const notSent = (
  { operation }: Call,
  kind: "unauthorized" | "interrupted" | "timeout",
  why: Text,
): PlatformError =>
  new PlatformError(row`${operation.label}: ${why}`, {
    kind,
    host: operation.host,
    operation: operation.label,
    sent: false,
  });
