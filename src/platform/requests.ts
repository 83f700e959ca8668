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

/** How often a read may be repeated within one call, and how fast. */
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
/** Someone waits for the answer: once more, soon. */
export const commandRetries: RetryPolicy = {
  retries: 1,
  range: { firstMs: 1_000, maxMs: 1_000 },
  maxRetryAfterMs: 2_000,
};

/**
 * How long to wait before a failed read is tried again; null when it is not. A time-out is not repeated: the time was
 * the try. Neither is what we held back ourselves. `attempt` counts from 0, `chance` is in [0, 1).
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
 * So many requests of commands are under way at once for one controller: few enough that one that does not answer takes little,
 * and enough for all its actuators to be commanded at a time where each answer takes a second or two. One that does not answer fills its
 * own places alone, and holds up nobody else.
 */
const placesOfOne = 4;

const secondLookMs = 1_000;

/** What an answer that is no success says about the way to the host: whoever answers is there. */
function requestEnd({ kind }: PlatformErrorFacts): RequestEnd {
  if (kind === "rejected" || kind === "throttled") return { type: "answered" };
  return { type: kind === "unauthorized" ? "challenged" : "heard" };
}

const uselessKinds: ReadonlySet<PlatformErrorKind> = new Set([
  ...(["server", "protocol", "timeout", "interrupted", "throttled"] as const),
]);

/** Whether an operation brought nothing usable although a connection stood. Who is asked to wait waits, and counts nothing. */
const isUseless = ({ kind, sent, retryAfterMs }: PlatformErrorFacts): boolean =>
  sent && uselessKinds.has(kind) && retryAfterMs === undefined;

const heldBackWords = {
  lost: ["paused", msg`the host did not answer several times in a row`],
  useless: ["paused", msg`nothing usable was answered several times in a row`],
  refused: ["unauthorized", msg`the host refused the credential several times in a row`],
  held: ["throttled", msg`the platform asked to be left alone for a while`],
} as const;

type HeldBack = Extract<Admission, { go: false }>;

/** An answer, and the generation of the credential that it was asked with. */
type ReadAnswer = LinedAnswer & Pick<Credential, "generation">;

/** With its headers, and the connection over which it came, where another answer came before it. */
type LinedAnswer = GoodAnswer & Pick<HttpAnswer, "line" | "headers">;

type Inside = Omit<
  PlatformInside,
  "log" | "files" | "names" | "readTime" | "offset" | "pushTally" | "reports" | "frameReports"
>;

/**
 * Sends requests as circuit and connections allow, and turns every bad end into a PlatformError. Puts the credential on them and
 * answers refusals: one renewal for all who wait, one replay for each read.
 */
export class Requests {
  readonly #parts: Inside;
  readonly #closing = new AbortController();
  readonly #reads = new Semaphores(placesOfOne);
  readonly #posts = new Semaphores(placesOfOne);
  #refusedWrite: Credential | null = null;
  #renewedForWrite = 0;
  /** When a new token was tried for what holds no code. */
  #codelessAt = -Infinity;

  constructor(parts: Inside) {
    this.#parts = parts;
  }

  async read(call: Call): Promise<ReadAnswer> {
    // Callers pass one signal to any number of calls, where Node warns of a leak from the eleventh listener on.
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

  /** Once more with the credential that was renewed, for a `doubt` about the old one where that is how it came. */
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
      // It is refused as before, so the code meant something else.
      if (doubt !== null && doubtfulCode(error) === doubt) source.doubtedInVain?.(doubt, call.operation.host);
      if (!wasRefused(error)) throw error;
      source.refusedAgain?.(renewed, call.operation.host, call.operation.label);
      throw this.#final(call, error);
    }
  }

  /** An answer was read: the operation can be used, and the credential was let in. */
  onUsable(call: Call, { generation, line }: Pick<ReadAnswer, "generation" | "line">): void {
    const { operation, device } = call;
    this.#parts.links.onUsable(call, generation);
    line?.onLeftOver(`${operation.name} ${device ?? ""}`, () =>
      this.#parts.onMixedUp?.(operation.label, device),
    );
  }

  /** An answer that came well, but is none of the operation's. */
  onUnreadable(call: Call, { message }: PlatformError): void {
    this.#parts.links.onUseless(call);
    this.#parts.links.onGivenUp(call, message);
  }

  /**
   * The code of a refusal that nobody knows, where it may say that the credential is refused: it was let in for this read before, and
   * refused twice in a row since. Null where it says something else.
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

  /** A web page in the place of every answer may be one of maintenance. Then signing in fails too, and the page stays what is reported. */
  async #renewInDoubt(call: Call, credential: Credential, doubt: string): Promise<boolean> {
    if (!isCodeless(doubt)) return this.#renew(call, credential, doubt);
    this.#codelessAt = this.#parts.clock.monotonic();
    return this.#renew(call, credential, doubt).catch(falseIfFailed);
  }

  /** A list is asked for every few minutes: whether an unknown code is said of the credential shows at once. */
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

  /** One POST. Without a credential at hand nothing is sent, as signing in could take longer than the command may. */
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
      // One POST tries a renewed credential; a refusal after that is its end, which the next renewal is for.
      if (wasJustRenewed && credential.generation === this.#renewedForWrite) this.#renewedForWrite = 0;
    }
  }

  /** After a refused write: whether another credential is ready now. Never rejects but for the signal. */
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

  /** The one call without a credential. */
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

  /** What an error about an operation has to know. */
  context(operation: Operation): RequestContext {
    const { url } = this.#parts.hosts[operation.host];
    const { source, refusedCodes, redact, redactLine } = this.#parts;
    return { operation, url, credentialKey: source.key, refusedCodes, redact, redactLine };
  }

  /** Ends every open request and every pause between retries. */
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

  /** No new credential helps this host's refusal. */
  #final({ operation }: Call, error: unknown): unknown {
    this.#parts.links.settle(operation.host, { type: "refused" });
    return error;
  }

  /** A read, tried again as the retry policy says. */
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

  /** A call has ended with this error. */
  #ended(call: Call, error: PlatformError): PlatformError {
    const isGivenUp = call.signal.aborted || this.#closing.signal.aborted;
    if (!isGivenUp && isUseless(error.facts)) this.#parts.links.onGivenUp(call, error.message);
    return error;
  }

  /** Before a read is sent once more: a poll needs another request of the budget for it. */
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

  /** One request at most, as soon as there is a place for it. */
  async #once(call: Call, headers: string[]): Promise<LinedAnswer> {
    const places = this.#placesFor(call);
    if (places !== null && !places.take()) await this.#place(call, places);
    try {
      return await this.#send(call, headers);
    } finally {
      places?.leave();
    }
  }

  /** The places that a request needs: one of the host for polling, one of its controller for a command; a stop needs none. */
  #placesFor({ pace, device, operation }: Call): Semaphore | null {
    if (pace === "polled") return this.#parts.hosts[operation.host].semaphore;
    if (pace === "first" || device === undefined) return null;
    return (operation.method === "GET" ? this.#reads : this.#posts).of(device);
  }

  /** Of a command a read waits no longer than an answer may take; a POST as long as its command is young enough. */
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
    // The date of an answer that lay in its socket would make this clock look wrong.
    if (clock.monotonic() - begunAt <= hosts[host].deadlineMs(call)) skew.note(answer.headers.date);
    // A new sign-in may well bring the token we have; there it is what was asked for.
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

  /** What no whole answer says about the host: where one had begun it is there, as it is where it answered others meanwhile. */
  #lost({ operation }: Call, { reason, sent, status }: TransportFailure, begunAt: number): RequestEnd {
    if (status !== 0) return { type: "heard" };
    const hasAnsweredOthers =
      reason === "timeout" && this.#parts.links.hasAnsweredSince(operation.host, begunAt);
    return hasAnsweredOthers
      ? { type: "abandoned" }
      : { type: "failed", operation: sent ? operation.label : null };
  }

  /** Signing in keeps to pauses of its own, and is what ends the refusals of a credential. */
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
 * What a refusal says with a code that the interface does not explain: the body's, or an HTTP status of the client's kind without
 * one; and what some platforms answer in the place of any refusal. Null for everything else, and for what is known to be about the
 * request itself.
 */
function doubtfulCode(error: unknown): string | null {
  if (!(error instanceof PlatformError) || !error.facts.sent) return null;
  const { kind, status = 0, code } = error.facts;
  if (kind === "rejected") return code ?? "none";
  if (kind === "server" && status >= 400 && status < 500 && !ofTheRequest.has(status)) return `${status}`;
  const isInItsPlace = kind === "protocol" || (kind === "server" && status === 500);
  return isInItsPlace && status !== 0 ? `${codeless}${status}` : null;
}

/** What a broken server answers as well, whatever the token. */
const outageLike = `${codeless}500`;

/** A sign-in for it is tried no more often. */
const codelessEveryMs = 600_000;

const ofTheRequest: ReadonlySet<number> = new Set([404, 405, 408, 411, 413, 414, 415, 431]);

const wasRefused = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.facts.kind === "unauthorized" && error.facts.sent;

/** The credential is accepted for everything else. */
const withoutRight = ({ text, facts, cause }: PlatformError): PlatformError =>
  new PlatformError(
    msg`${text} (other requests are accepted, so the account may have no right to this one)`,
    { ...facts, kind: "rejected" },
    { cause },
  );

/** Waiting for a credential ended otherwise than with one; this call itself was not sent. */
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
