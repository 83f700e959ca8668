import { ignored } from "../runtime/failures.js";
import type { Addressee } from "../greenhouse/command/words.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { PublishError } from "./connection/publish.js";
import type { PublishOptions } from "./connection/settings.js";
import type { Topics } from "./topics.js";

interface Destination {
  readonly topic: string;
  readonly options: PublishOptions;
  /** False for a topic that a sender named for its answer. */
  readonly isOwn: boolean;
}

/** A message that has to reach its topics. */
interface Delivery {
  readonly controllerId: string | null;
  readonly destinations: readonly Destination[];
  /** A string is JSON already. */
  readonly document: object | string;
  /**
   * Called when nothing is left to publish: every topic that can take it has it, or it was dropped as too old or one
   * too many.
   */
  readonly onDelivered?: () => void;
}

interface Owed extends Delivery {
  readonly isRepeated: boolean;
  readonly sinceMono: number;
  /** The broker probably has it but acknowledged nothing, so only another link is worth a try. */
  readonly waitsForLink: boolean;
}

interface OutboxParts {
  readonly link: { publish(topic: string, payload: string, options: PublishOptions): Promise<void> };
  readonly clock: Pick<Clock, "monotonic">;
  /** The number of messages kept; older ones are dropped. */
  readonly most: number;
  readonly longestMs: number;
  /** Makes the document for a repetition, which a subscriber may have already. */
  readonly repeat: (document: object) => object;
  /** Called when a topic will never take the message. */
  readonly gaveUp: (topic: string, error: PublishError) => void;
}

/**
 * Publishes a message at least once on each of its topics. What came before the first link waits for it; what a broker
 * did not take follows later or on reconnect, marked as repeated. A topic that the broker never takes holds up no
 * other.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #waiting: Owed[] = [];
  /** Sent as soon as a link was back, when Home Assistant may not have been. */
  #late: Owed[] = [];
  #link: "none yet" | "up" | "lost" = "none yet";

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Ids of controllers with messages that wait for the next link. */
  get controllers(): ReadonlySet<string> {
    return new Set(this.#waiting.flatMap(({ controllerId }) => controllerId ?? []));
  }

  send(delivery: Delivery): void {
    const sinceMono = this.#parts.clock.monotonic();
    const owed = { ...delivery, isRepeated: false, sinceMono, waitsForLink: false };
    // Before the first link no subscriber can have it, so it will be no repetition.
    if (this.#link === "none yet") this.#keep(owed);
    else void this.#send(owed);
  }

  /** Takes a message of an earlier run, which may have arrived; it is sent with the next connection. */
  restore(delivery: Delivery): void {
    const sinceMono = this.#parts.clock.monotonic();
    this.#keep({ ...delivery, isRepeated: true, sinceMono, waitsForLink: false });
  }

  onConnected(): void {
    this.#link = "up";
    this.#dropOld();
    this.#late = [...this.#late, ...this.#waiting].slice(-this.#parts.most);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const owed of waiting) void this.#send(owed);
  }

  onDisconnected(): void {
    if (this.#link === "up") this.#link = "lost";
  }

  /**
   * Publishes late messages again once Home Assistant is back with its entities: after a broker outage it returns
   * seconds after this bridge and misses them. Only our own topics repeat, as a sender that asked for an answer was
   * there to get it.
   */
  repeatLate(): void {
    this.#dropOld();
    const late = this.#late;
    this.#late = [];
    const { link, repeat } = this.#parts;
    for (const { destinations, document } of late)
      for (const { topic, options, isOwn } of destinations)
        // It was sent already, so nothing is owed if the link goes just now.
        if (isOwn) link.publish(topic, textOf(document, repeat), options).catch(ignored);
  }

  /** Drops old messages and tries again; call it at intervals, since a link may stay up for days. */
  tick(): void {
    if (this.#waiting.length + this.#late.length === 0) return;
    this.#dropOld();
    if (this.#link !== "up") return;
    const again = this.#waiting.filter(({ waitsForLink }) => !waitsForLink);
    this.#waiting = this.#waiting.filter(({ waitsForLink }) => waitsForLink);
    for (const owed of again) void this.#send(owed);
  }

  #dropOld(): void {
    const latest = this.#parts.clock.monotonic() - this.#parts.longestMs;
    this.#late = this.#late.filter(({ sinceMono }) => sinceMono > latest);
    const old = this.#waiting.filter(({ sinceMono }) => sinceMono <= latest);
    this.#waiting = this.#waiting.filter(({ sinceMono }) => sinceMono > latest);
    for (const { onDelivered } of old) onDelivered?.();
  }

  async #send(owed: Owed): Promise<void> {
    const { destinations, document, isRepeated, onDelivered } = owed;
    const text = textOf(document, isRepeated ? this.#parts.repeat : null);
    const failed = new Set<Destination>();
    let waitsForLink = false;
    await Promise.all(
      destinations.map(async (destination) => {
        const { topic, options } = destination;
        try {
          await this.#parts.link.publish(topic, text, options);
        } catch (error) {
          if (isFinal(error)) this.#parts.gaveUp(topic, error);
          else failed.add(destination);
          waitsForLink ||= error instanceof PublishError && error.kind === "unacknowledged";
        }
      }),
    );
    if (failed.size === 0) {
      onDelivered?.();
      return;
    }
    this.#late = this.#late.filter((late) => late !== owed);
    // A subscriber may have it already, from this topic or another.
    const remaining = destinations.filter((one) => failed.has(one));
    this.#keep({ ...owed, destinations: remaining, isRepeated: true, waitsForLink });
  }

  #keep(owed: Owed): void {
    this.#waiting.push(owed);
    if (this.#waiting.length > this.#parts.most) this.#waiting.shift()?.onDelivered?.();
  }
}

function textOf(document: Delivery["document"], repeat: OutboxParts["repeat"] | null): string {
  if (repeat === null) return typeof document === "string" ? document : JSON.stringify(document);
  return JSON.stringify(repeat(typeof document === "string" ? (JSON.parse(document) as object) : document));
}

/** MQTT 5 codes for a broker that lacks something; they say nothing against the message. */
const passing: ReadonlySet<unknown> = new Set([0x88, 0x89, 0x8b, 0x91, 0x93, 0x96, 0x97, 0x9f]);

/** Whether another try would fail the same way. */
function isFinal(error: unknown): error is PublishError {
  if (!(error instanceof PublishError)) return false;
  if (error.kind !== "refused") return error.kind === "invalid";
  const { cause } = error;
  return !(cause instanceof Error && "code" in cause && passing.has(cause.code));
}

export interface ResultAddress extends Addressee {
  readonly response: { readonly topic: string; readonly correlationData: Uint8Array | null } | null;
}

/** The topics and document of a result. */
export function resultDelivery(
  { base }: Topics,
  result: CommandResult,
  { controllerId, target, targetId, response }: ResultAddress,
  onDelivered?: () => void,
): Delivery {
  const root = `${base}/${controllerId}`;
  const answer = `${root}/${target}/${targetId}/result`;
  // A duplicate is answered to its sender only; on the controller's topic it would raise an alarm for a double click.
  const own = result.reason === "duplicate" ? [answer] : [answer, `${root}/result`];
  const destinations = destinationsOf(own, response);
  return { controllerId: result.controller, destinations, document: result, onDelivered };
}

/** Our own topics, and the one that the sender named for its answer. */
export function destinationsOf(
  own: readonly string[],
  response: ResultAddress["response"],
): readonly Destination[] {
  const destinations = own.map((topic) => ({ topic, options: {}, isOwn: true }));
  if (response === null) return destinations;
  const { topic, correlationData } = response;
  const responseProperties = correlationData && { correlationData: Buffer.from(correlationData) };
  return [
    ...destinations,
    { topic, options: responseProperties ? { responseProperties } : {}, isOwn: false },
  ];
}

/** The most topics named in the log. */
const mostNamed = 100;
const refusedRemedy = "let the bridge publish there, or ask for the answer on another topic";
const invalidRemedy =
  "where that is the topic's fault, send commands to what bridge/controllers and the configuration name";

/** How many results wait for the broker, and for how long, over restarts too. */
export const mostResults = 1_000;
export const resultsKeptMs = 24 * 3_600_000;

/** Keeps the results of commands, the newest ones of one day. */
export function resultOutbox(
  { link, clock }: Pick<OutboxParts, "link" | "clock">,
  log: Pick<Logger, "warn">,
): Outbox {
  const told = new Set<string>();
  return new Outbox({
    link,
    clock,
    most: mostResults,
    longestMs: resultsKeptMs,
    repeat: (result) => ({ ...result, repeated: true }),
    gaveUp: (at, { kind, message }) => {
      const topic = at.slice(0, 200);
      if (told.has(topic) || told.size >= mostNamed) return;
      told.add(topic);
      const remedy = kind === "refused" ? refusedRemedy : invalidRemedy;
      log.warn(
        { topic },
        `a result is not on this topic, only on its others and in the journal: ${message}; ${remedy}`,
      );
    },
  });
}
