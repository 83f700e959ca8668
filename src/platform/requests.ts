import { setMaxListeners } from "node:events";
import { PlatformError, type PlatformErrorFacts, type PlatformHost } from "../greenhouse/ports.js";
import { type BackoffRange, type Clock, fullJitter, type Random } from "../runtime/clock.js";
import { type RequestBudget, type Semaphore, Semaphores } from "../runtime/schedule.js";
import type { Redact } from "../runtime/redaction.js";
import { errorAt, type GoodAnswer, judgeAnswer, type RequestContext, transportError } from "./answer.js";
import type { Admission, HostLinks, RequestEnd } from "./circuit.js";
import type { Tally } from "./counters.js";
import { type Call, type HostWay, type HttpAnswer, TransportFailure } from "./http.js";
import { type Operation, operations } from "./operations.js";
import { type Credential, type CredentialSource, plainHeaders, type Blank } from "./session/credential.js";
import { longestAskedMs } from "./session/sign-in-pace.js";
import type { ClockSkew } from "./time.js";

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

/** What an answer that is no success says about the way to the host. */
function requestEnd({ facts }: PlatformError, call: Call, isRetry: boolean): RequestEnd {
  const { kind, status = 0, retryAfterMs } = facts;
  if (kind === "rejected") return { type: "answered" };
  if (kind === "unauthorized") return { type: "challenged" };
  if (kind === "throttled")
    return retryAfterMs === undefined ? { type: "answered" } : { type: "held", ms: retryAfterMs };
  if (kind === "server" && status < 500) return { type: status === 404 ? "misplaced" : "answered" };
  return { type: "failed", device: call.operation.method === "GET" ? (call.device ?? null) : null, isRetry };
}

const heldBackWords = {
  lost: ["paused", "the host did not answer several times in a row"],
  refused: ["unauthorized", "the host refused the credential several times in a row"],
  held: ["throttled", "the platform asked to be left alone for a while"],
} as const;

type HeldBack = Extract<Admission, { go: false }>;

interface RequestParts {
  readonly hosts: Readonly<Record<PlatformHost, HostWay>>;
  readonly links: HostLinks;
  readonly budget: RequestBudget;
  readonly source: CredentialSource;
  readonly skew: ClockSkew;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly random: Random;
  readonly redact: Redact;
  readonly redactLine: Redact;
  readonly blank: Blank;
}

/**
 * Sends requests as circuit and connections allow, and turns every bad end into a PlatformError. Puts the credential on them and
 * answers refusals: one renewal for all who wait, one replay for each read.
 */
export class Requests {
  readonly #parts: RequestParts;
  readonly #closing = new AbortController();
  readonly #reads = new Semaphores(placesOfOne);
  readonly #posts = new Semaphores(placesOfOne);
  #refusedWrite: Credential | null = null;
  #renewedForWrite = 0;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  async read(call: Call): Promise<GoodAnswer> {
    // Callers pass one signal to any number of calls, where Node warns of a leak from the eleventh listener on.
    setMaxListeners(0, call.signal);
    const credential = this.#parts.source.current() ?? (await this.#obtain(call));
    try {
      return await this.#repeat(call, credential);
    } catch (error) {
      if (!wasRefused(error)) throw error;
      const { host, isExtra } = call.operation;
      if (isExtra && this.#parts.links.hasAccepted(host)) throw withoutRight(error);
      if (!(await this.#renew(call, credential))) throw this.#final(call, error);
    }
    const renewed = this.#parts.source.current() ?? (await this.#obtain(call));
    await this.#turn(call).catch((error: unknown) => {
      throw asPlatformError(call, error);
    });
    try {
      return await this.#repeat(call, renewed);
    } catch (error) {
      if (!wasRefused(error)) throw error;
      this.#parts.source.refusedAgain?.(renewed, call.operation.host, call.operation.label);
      throw this.#final(call, error);
    }
  }

  /** One POST. Without a credential at hand nothing is sent, as signing in could take longer than the command may. */
  async write(call: Call): Promise<GoodAnswer> {
    setMaxListeners(0, call.signal);
    const { host, label } = call.operation;
    const credential = this.#parts.source.current() ?? (await this.#parts.source.atHand());
    if (credential === null) {
      this.#refusedWrite = null;
      const why = "not sent; there is no credential at hand, it has to be renewed first";
      throw notSent(call, "unauthorized", why);
    }
    const wasJustRenewed = credential.generation === this.#renewedForWrite;
    try {
      const answer = await this.#once(call, [...credential.headers, ...jsonBody]);
      this.#parts.source.onAccepted?.(credential, host);
      return answer;
    } catch (error) {
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
  signIn(body: unknown, signal: AbortSignal): Promise<GoodAnswer> {
    const operation = operations.signIn;
    const call = {
      operation,
      path: operation.path,
      body: JSON.stringify(body),
      pace: "polled",
      signal,
    } as const;
    return this.#once(call, [...plainHeaders, ...jsonBody]);
  }

  /** What an error about an operation has to know. */
  context(operation: Operation): RequestContext {
    const { url } = this.#parts.hosts[operation.host];
    const { source, redact, redactLine } = this.#parts;
    return { operation, url, credentialKey: source.key, redact, redactLine };
  }

  /** Ends every open request and every pause between retries. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(Object.values(this.#parts.hosts).map((host) => host.close()));
  }

  async #renew(call: Call, refused: Credential): Promise<boolean> {
    const { host, label } = call.operation;
    try {
      return await this.#parts.source.renew(refused, host, label, call.signal);
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
  async #repeat(call: Call, credential: Credential): Promise<GoodAnswer> {
    const { source, links } = this.#parts;
    const { host } = call.operation;
    const policy = call.pace === "polled" ? pollingRetries : commandRetries;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await this.#once(call, credential.headers, attempt > 0);
        source.onAccepted?.(credential, host);
        return answer;
      } catch (error) {
        const isOver = call.signal.aborted || links.isPaused(host);
        if (!(error instanceof PlatformError) || isOver) throw error;
        const delayMs = retryDelayMs(policy, attempt, error.facts, this.#parts.random());
        if (delayMs === null) throw error;
        this.#parts.tally.retries += 1;
        await this.#turn(call, delayMs).catch(() => {
          throw error;
        });
      }
    }
  }

  /** Before a read is sent once more: a poll needs another request of the budget for it. */
  async #turn({ pace, signal }: Call, delayMs = 0): Promise<void> {
    const { clock, budget } = this.#parts;
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    if (delayMs > 0) await clock.wait(delayMs, ended);
    if (pace === "polled") await budget.turn(clock, ended);
  }

  /** One request at most, as soon as there is a place for it. */
  async #once(call: Call, headers: string[], isRetry = false): Promise<GoodAnswer> {
    const places = this.#placesFor(call);
    if (places !== null && !places.take()) await this.#place(call, places);
    try {
      return await this.#send(call, headers, isRetry);
    } finally {
      places?.leave();
    }
  }

  /** Of what no command waits for those of the host, of a command those of its controller; a stop needs none. */
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
    try {
      await places.wait(AbortSignal.any([signal, this.#closing.signal, late.signal]));
    } catch {
      const isLate = late.signal.aborted;
      const why = isLate
        ? `those before it to this controller took longer than ${waitMs / 1000} s`
        : "given up before an earlier request to this controller was answered";
      throw notSent(call, isLate ? "timeout" : "interrupted", `not sent; ${why}`);
    } finally {
      takeBack();
    }
  }

  async #send(call: Call, headers: string[], isRetry: boolean): Promise<GoodAnswer> {
    const { operation } = call;
    const { host } = operation;
    const { hosts, links, skew, tally, clock, blank } = this.#parts;
    const admission = links.admit(host, call.pace !== "polled");
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
      links.settle(host, { type: "answered", signedIn: operation !== operations.signIn });
      return judged;
    }
    const outcome = requestEnd(judged, call, isRetry);
    if (outcome.type === "failed") tally.failures += 1;
    links.settle(host, outcome, judged.message);
    throw judged;
  }

  #onLost(call: Call, error: unknown, begunAt: number): unknown {
    if (!(error instanceof TransportFailure)) return error;
    const { host } = call.operation;
    const { reason } = error;
    // A host that answered about others meanwhile is there: what hangs is the device.
    const isOfDevice =
      reason === "timeout" && call.device !== undefined && this.#parts.links.hasAnsweredSince(host, begunAt);
    const wasGivenUp = ["aborted", "withheld", "late"].includes(reason) || this.#closing.signal.aborted;
    if (!wasGivenUp) this.#parts.tally.failures += 1;
    const told = transportError(
      error,
      this.context(call.operation),
      this.#parts.hosts[host].deadlineMs(call),
    );
    this.#parts.links.settle(host, { type: wasGivenUp || isOfDevice ? "abandoned" : "failed" }, told.message);
    return told;
  }

  /** Signing in keeps to pauses of its own, and is what ends the refusals of a credential. */
  #isRemedy(operation: Operation, { because }: HeldBack): boolean {
    if (operation !== operations.signIn) return false;
    const hasWaited = because === "held" && this.#parts.links.heldForMs(operation.host) >= longestAskedMs;
    return because === "refused" || hasWaited;
  }

  #heldBack(operation: Operation, { because, retryInMs }: HeldBack): PlatformError {
    this.#parts.tally.paused += 1;
    const [kind, why] = heldBackWords[because];
    const text = `not sent; ${why}, the next try is possible in ${Math.ceil(retryInMs / 1000)} s`;
    return errorAt(this.context(operation), text, { kind, sent: false, retryAfterMs: retryInMs });
  }
}

const jsonBody = ["content-type", "application/json"] as const;

const wasRefused = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.facts.kind === "unauthorized" && error.facts.sent;

/** The credential is accepted for everything else. */
const withoutRight = ({ message, facts, cause }: PlatformError): PlatformError =>
  new PlatformError(
    `${message} (other requests are accepted, so the account may have no right to this one)`,
    { ...facts, kind: "rejected" },
    { cause },
  );

/** Waiting for a credential ended otherwise than with one; this call itself was not sent. */
function asPlatformError(call: Call, error: unknown): PlatformError {
  if (error instanceof PlatformError)
    return new PlatformError(error.message, { ...error.facts, sent: false }, { cause: error.cause });
  return notSent(call, "interrupted", "given up by the caller");
}

const notSent = (
  { operation }: Call,
  kind: "unauthorized" | "interrupted" | "timeout",
  why: string,
): PlatformError =>
  new PlatformError(`${operation.label}: ${why}`, {
    kind,
    host: operation.host,
    operation: operation.label,
    sent: false,
  });
