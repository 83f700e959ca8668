import { isLanguage } from "../greenhouse/labels.js";
import { joinSignals } from "../runtime/signals.js";
import { tellIn } from "../language/languages.js";
import { documentText, msg, type Text, TextError, textOf } from "../language/text.js";
import type { Via } from "../greenhouse/command/outcomes.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Answers } from "./answers.js";
import type { FloodListener, IncomingMessage, PublishOptions } from "./connection/settings.js";
import { bridgeRequests, incomingOn, type Topics } from "./topics.js";

const known: ReadonlySet<string> = new Set(bridgeRequests);
/** The shared allowance of requests that do not exist. */
const unknownRequests = "requests that do not exist";

/** A request as it arrives on `<base>/bridge/request/<name>`; an empty or non-JSON payload counts as `{}`. */
export interface BridgeRequestBody {
  /** Why the payload cannot be used. */
  readonly problem?: Text;
  readonly transaction: unknown;
  /** The language of a refusal; English where absent. */
  readonly language?: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Handles a request; `via` says how its sender is known. */
export type RequestHandler = (fields: BridgeRequestBody["fields"], signal: AbortSignal, via: Via) => unknown;

/** Why a request cannot be served, as a sentence for its sender. */
export class RequestError extends TextError {
  override name = "RequestError" as const;
}

const notAnObject = msg`The payload is JSON but no object; send an object of fields, or nothing.`;
const inexact = msg`The "transaction" has more digits than a number keeps; write it in quotes.`;
/** Far more than any request needs; many may be waiting at once. */
const mostBytes = 16 * 1024;

export function parseRequest(payload: Uint8Array): BridgeRequestBody {
  const refused = (problem: Text): BridgeRequestBody => ({ problem, transaction: undefined, fields: {} });
  if (payload.length > mostBytes)
    return refused(msg`The request has ${payload.length} bytes; at most ${mostBytes} are read.`);
  const parsed = parseJson(new TextDecoder().decode(payload));
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return refused(notAnObject);
  const around: ReadonlySet<string> = new Set(["transaction", "language"]);
  const fields = Object.fromEntries(Object.entries(parsed).filter(([key]) => !around.has(key)));
  const language = "language" in parsed && isLanguage(parsed.language) ? parsed.language : "en";
  const transaction = "transaction" in parsed ? parsed.transaction : undefined;
  // A rounded number would not match, and the sender would wait for ever.
  const isOther = typeof transaction === "number" && Math.abs(transaction) > Number.MAX_SAFE_INTEGER;
  return isOther ? refused(inexact) : { transaction, fields, language };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Makes the response's text; `transaction` is echoed if the request had one. */
export async function answerRequest(
  name: string,
  body: BridgeRequestBody,
  handlers: ReadonlyMap<string, RequestHandler>,
  signal: AbortSignal,
  via: Via = null,
): Promise<string> {
  const { transaction, problem, language = "en" } = body;
  const tell = await tellIn(language);
  const refused = (why: Text) => errorAnswer(transaction, tell(why));
  if (problem !== undefined) return refused(problem);
  const handler = handlers.get(name);
  if (!handler) {
    const known = [...handlers.keys()].join(", ");
    return refused(msg`There is no request "${name}". Known are: ${known}.`);
  }
  try {
    const data = (await handler(body.fields, signal, via)) ?? {};
    return documentText({ status: "ok", transaction, data }, tell);
  } catch (error) {
    return refused(textOf(error));
  }
}

function errorAnswer(transaction: unknown, error: string): string {
  try {
    return JSON.stringify({ status: "error", transaction, error });
  } catch {
    // JSON nested this deeply can be parsed but not written again; it must not end the bridge.
    return JSON.stringify({ status: "error", error });
  }
}

export function textField(fields: BridgeRequestBody["fields"], key: string): string {
  const value = fields[key];
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number") return String(value);
  throw new RequestError(msg`The field "${key}" is missing; give it as text.`);
}

export function optionalTextField(fields: BridgeRequestBody["fields"], key: string): string | null {
  return fields[key] === undefined || fields[key] === null ? null : textField(fields, key);
}

/** `usual` is the value of an absent field. */
export function flagField(fields: BridgeRequestBody["fields"], key: string, usual: boolean): boolean {
  const flag = fields[key] ?? usual;
  if (typeof flag !== "boolean") throw new RequestError(msg`"${key}" must be true or false.`);
  return flag;
}

interface LineSize {
  readonly atOnce: number;
  readonly waiting: number;
  /** Work that takes longer is answered with an error and gives up its place, whether it ends or not. */
  readonly longestMs: number;
}

/** A queue: some work runs at once, some more waits in order, the rest is refused. */
class Line {
  readonly size: LineSize;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;

  constructor(size: LineSize) {
    this.size = size;
  }

  /** Runs `work` now or in its turn; returns false if there is no place. `work` must not reject. */
  take(work: () => Promise<void>): boolean {
    if (this.#running < this.size.atOnce) {
      void this.#run(work);
      return true;
    }
    if (this.#waiting.length >= this.size.waiting) return false;
    this.#waiting.push(work);
    return true;
  }

  async #run(first: () => Promise<void>): Promise<void> {
    this.#running += 1;
    for (let work: typeof first | undefined = first; work !== undefined; work = this.#waiting.shift())
      await work();
    this.#running -= 1;
  }
}

/**
 * Requests that lock, end or forbid something. They wait for the disk at most, and run even if nobody receives the
 * answer.
 */
const acts: ReadonlySet<string> = new Set([
  ...["lock", "unlock", "release", "acknowledge", "read_only", "log_level"],
]);

const secondMs = 1_000;
const minuteMs = 60_000;

/**
 * A line for each sort of work, by what it waits for, so that none holds up another. Acts never wait in a line: each
 * begins when it comes, and a later one takes effect later.
 */
function linesFor(concurrency: number): ReadonlyMap<string, Line> {
  const atOnce = readsAtOnce(concurrency);
  const oneByOne = { atOnce: 1, waiting: 10, longestMs: 2 * minuteMs };
  return new Map([
    ...[...acts].map(
      (name) => [name, new Line({ atOnce: 100, waiting: 0, longestMs: 30 * secondMs })] as const,
    ),
    ["read", new Line({ atOnce, waiting: 50, longestMs: 5 * minuteMs })],
    ["get", new Line({ atOnce, waiting: 50, longestMs: 5 * minuteMs })],
    // It only waits for polling, where requests at the same time share one round.
    ["refresh", new Line({ atOnce: 50, waiting: 0, longestMs: 30 * minuteMs })],
    ["journal", new Line(oneByOne)],
    ["bundle", new Line(oneByOne)],
    // These wait for a service that may not answer.
    ["notify_daily", new Line({ atOnce: 1, waiting: 3, longestMs: 30 * secondMs })],
    ["notify_test", new Line({ atOnce: 1, waiting: 3, longestMs: 30 * secondMs })],
  ]);
}

interface RequestServerParts {
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  readonly topics: Topics;
  readonly publisher: {
    publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
  };
  /** The number of simultaneous reads that polling may make at one host. */
  readonly concurrency: number;
  /** The greatest age of a request that allows movement again. */
  readonly maxAgeMs: () => number;
  /** Aborts when the bridge is to end. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The earliest time it may have been sent, in monotonic ms, and how long it is valid. */
interface Sent {
  readonly since: number;
  readonly expiryMs: number;
}

/**
 * Whether a request allows movement that was blocked. After a wait, such as in a stopped process or a line, it is as
 * dangerous as an old command; one that locks or forbids is never too old.
 */
const letsGo = (name: string, { fields }: BridgeRequestBody): boolean =>
  name === "unlock" ||
  name === "release" ||
  (name === "lock" && fields["locked"] === false) ||
  (name === "read_only" && fields["read_only"] === false);

const tooOld = (ageMs: number) =>
  `The request may have been sent ${Math.round(ageMs / 1_000)} s before it was read or had its turn, which is older than commands.max_age allows for what lets something move again; ask once more if it is still wanted.`;

const saidEveryMs = 60_000;
const tickMs = 5_000;
const tooMany = "Too many requests wait for an answer already; ask again later.";
const stopping = "The bridge is stopping; ask again when it is back.";

/**
 * Answers `bridge/request/<name>`. Every client of the broker may ask as often as it likes, so simultaneous work is
 * bounded for each sort. No answer keeps a place until the broker has it.
 */
export class RequestServer {
  readonly #parts: RequestServerParts;
  readonly #lines: ReadonlyMap<string, Line>;
  /** For requests answered at once, and for invalid ones. */
  readonly #local = new Line({ atOnce: 1, waiting: 50, longestMs: 30 * secondMs });
  readonly #answers: Answers;
  #refused = 0;
  #unanswered = 0;
  #saidAt: number | null = null;

  constructor(parts: RequestServerParts) {
    this.#parts = parts;
    this.#lines = linesFor(parts.concurrency);
    this.#answers = new Answers(parts.publisher, parts.clock, parts.log);
  }

  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return every(tickMs, this.#parts.clock, signal, () => this.#answers.tick());
  }

  onConnected(): void {
    this.#answers.onConnected();
  }

  onDisconnected(): void {
    this.#answers.onDisconnected();
  }

  /** Each name has its own allowance, so that a flood of others cannot keep a lock back. */
  readonly flood: FloodListener = {
    allowanceOf: (topic) => {
      const asked = incomingOn(this.#parts.topics, topic);
      if (asked?.type !== "request") return null;
      return { key: known.has(asked.name) ? topic : unknownRequests, isUrgent: null };
    },
    onSurplus: ({ key, count }) => {
      if (key !== unknownRequests && this.flood.allowanceOf(key) === null) return;
      this.#refused += count;
      this.#unanswered += count;
    },
  };

  /** Takes messages on request topics. */
  onMessage({ topic, payload, retain, properties, ageMs = 0 }: IncomingMessage): boolean {
    const { topics, signal } = this.#parts;
    const asked = incomingOn(topics, topic);
    if (asked?.type !== "request") return false;
    const { name } = asked;
    if (retain || !topicIdPattern.test(name)) return true;
    const body = parseRequest(payload);
    const via = properties.via ?? null;
    const expiryMs = (properties.messageExpiryIntervalS ?? Infinity) * 1_000;
    const sent = { since: this.#parts.clock.monotonic() - ageMs, expiryMs };
    const line = this.#lineOf(name, body);
    const answer = async () => {
      if (!this.#send(name, await this.#answer(name, body, sent, signal, via))) this.#unanswered += 1;
    };
    // A request whose answer has no room is not served, unless it is an act.
    const isWorthIt = acts.has(name) || this.#answers.hasRoom(false);
    if (!isWorthIt || !line.take(answer)) this.#turnAway(name, body, via?.client ?? null);
    return true;
  }

  #turnAway(name: string, { transaction }: BridgeRequestBody, client: string | null): void {
    this.#refused += 1;
    if (!this.#send(name, errorAnswer(transaction, tooMany))) this.#unanswered += 1;
    this.#say(name, client);
  }

  #lineOf(name: string, { problem }: BridgeRequestBody): Line {
    return (problem === undefined && this.#lines.get(name)) || this.#local;
  }

  /** Answers a request that did not come over the broker; null if too many wait. */
  ask(
    name: string,
    payload: Uint8Array,
    signal: AbortSignal,
    via: Via = null,
    ageMs = 0,
  ): Promise<string | null> {
    const body = parseRequest(payload);
    const sent = { since: this.#parts.clock.monotonic() - ageMs, expiryMs: Infinity };
    return new Promise((resolve) => {
      const isTaken = this.#lineOf(name, body).take(async () =>
        resolve(await this.#answer(name, body, sent, signal, via)),
      );
      if (!isTaken) resolve(null);
    });
  }

  async #answer(
    name: string,
    body: BridgeRequestBody,
    sent: Sent,
    stop: AbortSignal,
    via: Via,
  ): Promise<string> {
    const { transaction } = body;
    if (stop.aborted) return errorAnswer(transaction, stopping);
    const { clock, handlers, maxAgeMs } = this.#parts;
    const ageMs = clock.monotonic() - sent.since;
    if (letsGo(name, body) && ageMs >= Math.min(maxAgeMs(), sent.expiryMs))
      return errorAnswer(transaction, tooOld(ageMs));
    const { longestMs } = this.#lineOf(name, body).size;
    // A handler that runs when the bridge stops reports its outcome itself.
    const work = (late: AbortSignal) => {
      const ended = joinSignals(stop, late);
      return answerRequest(name, body, handlers, ended.signal, via).finally(ended.release);
    };
    return within(clock, longestMs, work).catch(() => {
      const seconds = longestMs / secondMs;
      return errorAnswer(
        transaction,
        `It was given up after ${seconds} s: what it waits for does not answer.`,
      );
    });
  }

  #send(name: string, answer: string): boolean {
    return this.#answers.send(this.#parts.topics.bridge.response(name), answer, acts.has(name));
  }

  /** Warns once a minute, as clients that ask too often keep asking. */
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

/** At most half of polling's places, and two of the connections for commands, as both must go on. */
const readsAtOnce = (concurrency: number): number => Math.min(2, Math.max(1, Math.floor(concurrency / 2)));
