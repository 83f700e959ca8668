import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { PublishError, type PublishOptions } from "../mqtt/connection.js";
import { RequestLane } from "../mqtt/request-lane.js";
import {
  answerRequest,
  type BridgeRequestBody,
  errorAnswer,
  parseRequest,
  type RequestHandler,
} from "../mqtt/requests.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";

export interface RequestDeskParts {
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  readonly responseTopic: (name: string) => string;
  readonly publisher: {
    publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
  };
  /** Places that polling has for its reads at one host. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const saidEveryMs = 60_000;
const tooMany = "Too many requests wait for an answer already; ask again later.";
const stopping = "The bridge is stopping; ask again when it is back.";

/** How to get less, where a request has a way to ask for it. */
const askForLess: ReadonlyMap<string, string> = new Map([
  ["journal", 'ask with a smaller "limit", a later "since" or one "controller"'],
  ["get", 'ask for less with "query"'],
]);

/**
 * Answers `bridge/request/<name>`. Anybody on the broker may ask as often as he likes, so what is done at once is bounded, apart
 * for what waits for different things: nobody's slow read holds up a request that needs no platform.
 */
export class RequestDesk {
  readonly #parts: RequestDeskParts;
  readonly #lanes: ReadonlyMap<string, RequestLane>;
  readonly #local = new RequestLane({ atOnce: 1, waiting: 50 });
  readonly #refusals = new RequestLane({ atOnce: 100, waiting: 0 });
  #refused = 0;
  #unanswered = 0;
  #saidAt: number | null = null;

  constructor(parts: RequestDeskParts) {
    this.#parts = parts;
    const platform = new RequestLane({ atOnce: readsAtOnce(parts.concurrency), waiting: 50 });
    this.#lanes = new Map([
      ["read", platform],
      ["get", platform],
      // Only waits for polling, where those who ask at the same time share one round.
      ["refresh", new RequestLane({ atOnce: 50, waiting: 0 })],
      ["journal", new RequestLane({ atOnce: 1, waiting: 10 })],
    ]);
  }

  /** `client` is who asks, where the broker is known to say so. */
  received(name: string, payload: Uint8Array, client: string | null, signal: AbortSignal): void {
    if (!topicIdPattern.test(name)) return;
    const body = parseRequest(payload);
    const lane = (body.problem === undefined && this.#lanes.get(name)) || this.#local;
    if (lane.take(() => this.#answer(name, body, signal))) return;
    this.#refused += 1;
    if (!this.#refusals.take(() => this.#publish(name, errorAnswer(body.transaction, tooMany), body)))
      this.#unanswered += 1;
    this.#say(name, client);
  }

  async #answer(name: string, body: BridgeRequestBody, signal: AbortSignal): Promise<void> {
    const answer = signal.aborted
      ? errorAnswer(body.transaction, stopping)
      : await answerRequest(name, body, this.#parts.handlers, signal);
    await this.#publish(name, answer, body);
  }

  /** Ends with the broker's word on it, so that answers cannot pile up before a slow broker either. */
  async #publish(name: string, answer: string, { transaction }: BridgeRequestBody): Promise<void> {
    try {
      await this.#send(name, answer).catch(async (error: unknown) => {
        if (!(error instanceof PublishError) || error.kind !== "invalid") throw error;
        await this.#send(name, errorAnswer(transaction, tooLarge(name, error)));
      });
    } catch (error) {
      this.#parts.log.debug({ request: name, reason: String(error) }, "an answer was not published");
    }
  }

  #send(name: string, answer: string): Promise<void> {
    const { publisher, responseTopic } = this.#parts;
    return publisher.publish(responseTopic(name), answer, { retain: false, qos: 1 });
  }

  /** Once a minute, as those who ask too often do not stop at that. */
  #say(name: string, client: string | null): void {
    const { clock, log } = this.#parts;
    const now = clock.monotonic();
    if (this.#saidAt !== null && now - this.#saidAt < saidEveryMs) return;
    this.#saidAt = now;
    log.warn(
      { request: name, client, refused: this.#refused, unanswered: this.#unanswered },
      "more requests come than are answered; some were told to ask again later",
    );
  }
}

/** The error names the sizes. */
function tooLarge(name: string, error: PublishError): string {
  const less = askForLess.get(name);
  return `The answer is too large and was ${error.message}${less === undefined ? "" : `; ${less}`}.`;
}

/** At most half of polling's places, and two of the connections that commands go out on: both have to go on. */
const readsAtOnce = (concurrency: number): number => Math.min(2, Math.max(1, Math.floor(concurrency / 2)));
