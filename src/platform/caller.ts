import { PlatformError, type PlatformErrorFacts, type PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { type BackoffRange, fullJitter, type Random } from "../runtime/random.js";
import type { Blank, Redact } from "../runtime/redaction.js";
import {
  answerError,
  type BadAnswer,
  type FailureScene,
  type GoodAnswer,
  judgeAnswer,
  made,
  placeOf,
  transportError,
} from "./answer.js";
import type { Admission, Outcome } from "./circuit.js";
import type { Tally } from "./counters.js";
import type { HostConnections } from "./http/connections.js";
import { type HttpAnswer, TransportFailure } from "./http/exchange.js";
import type { LinkBook } from "./link.js";
import { type Operation, operations } from "./operations.js";
import type { ClockSkew } from "./time.js";

/** How often a read may be repeated within one call, and how fast. */
export interface RetryPolicy {
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
  facts: PlatformErrorFacts,
  chance: number,
): number | null {
  if (attempt >= policy.retries) return null;
  const jitterMs = fullJitter(attempt, policy.range, chance);
  switch (facts.kind) {
    case "unreachable":
    case "interrupted":
      return jitterMs;
    case "server":
      return (facts.status ?? 0) >= 500 ? jitterMs : null;
    case "throttled": {
      if (!facts.sent) return null;
      const asked = facts.retryAfterMs ?? 0;
      return asked <= policy.maxRetryAfterMs ? asked + jitterMs : null;
    }
    case "timeout":
    case "unauthorized":
    case "rejected":
    case "protocol":
    case "paused":
    case "invalid_request":
      return null;
  }
}

export interface Call {
  readonly operation: Operation;
  readonly path: string;
  readonly body?: string;
  /** Somebody waits for it: own connections, and it goes out even while the circuit is open. */
  readonly urgent: boolean;
  /** It stops what moves, on connections for that alone. */
  readonly stops?: boolean;
  /** The longer of the two total deadlines. */
  readonly patient: boolean;
  readonly signal: AbortSignal;
}

export interface CallerPorts {
  readonly hosts: Readonly<Record<PlatformHost, HostConnections>>;
  readonly link: LinkBook;
  readonly skew: ClockSkew;
  readonly clock: Clock;
  readonly random: Random;
  readonly tally: Tally;
  readonly credentialKey: string;
  readonly redact: Redact;
  readonly blank: Blank;
}

/** Sends requests as circuit and connections allow, and turns every bad end into a PlatformError. */
export class Caller {
  readonly #ports: CallerPorts;
  readonly #closing = new AbortController();

  constructor(ports: CallerPorts) {
    this.#ports = ports;
  }

  /** A read, repeated as the retry policy says. */
  async read(call: Call, headers: string[]): Promise<GoodAnswer> {
    const { link, random, clock, tally } = this.#ports;
    const policy = call.urgent ? commandRetries : pollingRetries;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.once(call, headers);
      } catch (error) {
        if (!(error instanceof PlatformError) || call.signal.aborted || link.isPaused(call.operation.host))
          throw error;
        const delayMs = retryDelayMs(policy, attempt, error.facts, random());
        if (delayMs === null) throw error;
        tally.retries += 1;
        const signal = AbortSignal.any([call.signal, this.#closing.signal]);
        await clock.wait(delayMs, signal).catch(() => {
          throw error;
        });
      }
    }
  }

  /** One request at most. */
  async once(call: Call, headers: string[]): Promise<GoodAnswer> {
    if (call.urgent) return this.#send(call, headers);
    const { lane } = this.#ports.hosts[call.operation.host];
    const turn = lane.enter(call.signal);
    if (turn !== null)
      await turn.catch(() => {
        throw transportError(new TransportFailure("aborted", false, 0), this.#scene(call));
      });
    try {
      return await this.#send(call, headers);
    } finally {
      lane.leave();
    }
  }

  /** A call with a credential was answered. */
  accepted(host: PlatformHost): void {
    this.#ports.link.credentialAccepted(host);
  }

  /** No new credential helps this host's refusal. */
  refused(host: PlatformHost): void {
    this.#ports.link.settle(host, { type: "refused" }, null);
  }

  /** Ends every open request and every pause between retries. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(Object.values(this.#ports.hosts).map((host) => host.close()));
  }

  async #send(call: Call, headers: string[]): Promise<GoodAnswer> {
    const { hosts, link, skew, tally } = this.#ports;
    const { host } = call.operation;
    const admission = link.admit(host, call.urgent);
    if (!admission.go && !this.#isRemedy(call, admission)) throw this.#heldBack(call, admission);
    tally.requests += 1;
    if (call.operation === operations.setValue) tally.writes += 1;
    if (call.operation === operations.signIn) tally.signins += 1;
    let answer: HttpAnswer;
    try {
      answer = await hosts[host].exchange(call, headers);
    } catch (error) {
      throw this.#lost(call, error);
    }
    skew.note(answer.headers.date);
    const judged = this.#judged(call, answer);
    const outcome = outcomeOf(judged, answer.status);
    if (outcome.type === "failed") tally.failures += 1;
    link.settle(host, outcome, true);
    if (judged.ok) return judged;
    throw answerError(judged, answer.status, this.#scene(call));
  }

  #judged({ operation }: Call, answer: HttpAnswer): GoodAnswer | BadAnswer {
    const { hosts, clock, blank } = this.#ports;
    // A new sign-in may well bring the token we have; there it is what was asked for.
    const blankHere = operation === operations.signIn ? undefined : blank;
    return judgeAnswer(answer, hosts[operation.host].url, clock.now(), operation.maxAnswerMiB, blankHere);
  }

  #lost(call: Call, error: unknown): unknown {
    if (!(error instanceof TransportFailure)) return error;
    const { link, tally } = this.#ports;
    const { host } = call.operation;
    const wasGivenUp = error.reason === "aborted" || this.#closing.signal.aborted;
    if (wasGivenUp) link.settle(host, { type: "abandoned" }, null);
    else {
      tally.failures += 1;
      link.settle(host, { type: "failed" }, error.status > 0);
    }
    return transportError(error, this.#scene(call));
  }

  /** Signing in keeps to pauses of its own, and is what ends the refusals of a credential. */
  #isRemedy({ operation }: Call, { because }: Extract<Admission, { go: false }>): boolean {
    if (operation !== operations.signIn) return false;
    const { link } = this.#ports;
    return because === "refused" || (because === "held" && link.heldForMs(operation.host) >= signInHeldMs);
  }

  #heldBack(call: Call, { because, retryInMs }: Extract<Admission, { go: false }>): PlatformError {
    this.#ports.tally.paused += 1;
    const wait = `the next try is possible in ${Math.ceil(retryInMs / 1000)} s`;
    const facts = { ...placeOf(call), sent: false, retryAfterMs: retryInMs };
    const [kind, why] = heldBackWords[because];
    return made(`not sent; ${why}, ${wait}`, { ...facts, kind }, this.#scene(call));
  }

  #scene(call: Call): FailureScene {
    const { hosts, credentialKey, redact } = this.#ports;
    const { url, deadlineMs } = hosts[call.operation.host];
    return { operation: call.operation, url, credentialKey, redact, deadlineMs: deadlineMs(call.patient) };
  }
}

/** Polling leaves a host alone for a day where it asks for that; signing in, which commands need, for less. */
const signInHeldMs = 15 * 60_000;

const heldBackWords = {
  lost: ["paused", "the host did not answer several times in a row"],
  refused: ["unauthorized", "the host refused the credential several times in a row"],
  held: ["throttled", "the platform asked to be left alone for a while"],
} as const;

/** What an answer says about the way to the host. */
function outcomeOf(answer: GoodAnswer | BadAnswer, status: number): Outcome {
  if (answer.ok) return { type: "answered" };
  switch (answer.kind) {
    case "unauthorized":
      return { type: "challenged" };
    case "rejected":
      return { type: "answered" };
    case "throttled":
      return answer.retryAfterMs === null ? { type: "answered" } : { type: "held", ms: answer.retryAfterMs };
    case "server":
      return { type: status >= 500 ? "failed" : status === 404 ? "misplaced" : "answered" };
    case "protocol":
    case "unreachable":
    case "timeout":
    case "interrupted":
    case "paused":
    case "invalid_request":
      return { type: "failed" };
  }
}
