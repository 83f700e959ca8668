import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Connection } from "./connection.js";
import { PublishError } from "./connection/publish.js";
import type { PublishOptions } from "./connection/settings.js";
import { Outbox } from "./outbox.js";

/** The most answers that may wait for the broker; requests that lock, end or forbid something may use ten more. */
const most = 100;
const mostOfActs = 110;
const mostBytes = 8 * 1024 * 1024;
/** After this time the sender has given up, and the answer is out of date. */
const longestMs = 60_000;

/** How to ask for a smaller answer, for requests that allow it. */
const askForLess: ReadonlyMap<string, string> = new Map([
  ["journal", 'ask with a smaller "limit", a later "since" or one "controller"'],
  ["get", 'ask for less with "query"'],
  ["state", 'ask for one "controller"'],
]);

/**
 * Answers to requests on their way to a broker, which may acknowledge one late or never; nothing waits for that. What a
 * dead link did not deliver follows on the next one. The number and total size of answers are bounded.
 */
export class Answers {
  readonly #outbox: Outbox;
  #count = 0;
  #bytes = 0;

  constructor(publisher: Pick<Connection, "publish">, clock: Pick<Clock, "monotonic">, log: Logger) {
    const publish = (topic: string, payload: string, options: PublishOptions) =>
      publisher.publish(topic, payload, options).catch((error: unknown) => {
        if (!(error instanceof PublishError) || error.kind !== "invalid") throw error;
        return publisher.publish(topic, tooLarge(topic, payload, error), options);
      });
    this.#outbox = new Outbox({
      ...{ link: { publish }, clock, most: mostOfActs, longestMs },
      repeat: (answer) => ({ ...answer, repeated: true }),
      gaveUp: (topic, { message: reason }) => log.debug({ topic, reason }, "an answer was not published"),
    });
    // Requests arrive over a link, so one exists.
    this.#outbox.onConnected();
  }

  hasRoom(isAct: boolean): boolean {
    return this.#count < (isAct ? mostOfActs : most) && this.#bytes < mostBytes;
  }

  /** Returns false if there is no room for the answer. */
  send(topic: string, answer: string, isAct: boolean): boolean {
    if (!this.hasRoom(isAct)) return false;
    const bytes = Buffer.byteLength(answer);
    this.#count += 1;
    this.#bytes += bytes;
    this.#outbox.send({
      controllerId: null,
      destinations: [{ topic, options: {}, isOwn: true }],
      document: answer,
      onDelivered: () => {
        this.#count -= 1;
        this.#bytes -= bytes;
      },
    });
    return true;
  }

  onConnected(): void {
    this.#outbox.onConnected();
  }

  onDisconnected(): void {
    this.#outbox.onDisconnected();
  }

  /** Sends again what was not delivered; call it at intervals. */
  tick(): void {
    this.#outbox.tick();
  }
}

/** The error that replaces an answer too large to publish; it names the sizes. */
function tooLarge(topic: string, answer: string, { message }: PublishError): string {
  const { transaction } = JSON.parse(answer) as { readonly transaction?: unknown };
  const less = askForLess.get(topic.slice(topic.lastIndexOf("/") + 1));
  const error = `The answer is too large and was ${message}${less === undefined ? "" : `; ${less}`}.`;
  return JSON.stringify({ status: "error", transaction, error });
}
