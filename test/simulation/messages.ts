import { type KindRow, kindRows } from "../../src/greenhouse/actuator-kinds.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { IncomingMessage } from "../../src/mqtt/connection/settings.js";
import type { Chance } from "./scenario.js";

/** An actuator that somebody may command. */
export interface Point {
  readonly code: string;
  readonly controllerId: string;
  readonly settings: ActuatorSettings;
}

/** A message's text with its meaning. */
interface Said {
  readonly payload: string;
  /** The canonical word or degree that it means; null if it means nothing. */
  readonly word: string | null;
  readonly ownId: string | null;
  readonly retained: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** How long it counts and how long it keeps others off, in ms. */
  readonly forMs: number | null;
  readonly holdMs: number | null;
  /** Why it must never lead to a POST, as far as the sender knows; null if it may. */
  readonly mustNotPost: string | null;
}

/** A message of somebody. */
export interface Message extends Said {
  readonly point: Point | null;
  readonly target: string;
  /** The sender's own limit, counted from the sending. */
  readonly goodForMs: number;
  readonly expiryS: number | null;
  /** The sender's time, in the world's ms. */
  readonly at: number | null;
}

/** The fields of a message with nothing but its word. */
const unsaid = {
  force: false,
  dryRun: false,
  forMs: null,
  holdMs: null,
  goodForMs: Infinity,
  expiryS: null,
  at: null,
  mustNotPost: null,
};

export const plain = (point: Point, word: string): Message => ({
  point,
  target: point.settings.id,
  payload: word,
  word,
  ownId: null,
  retained: false,
  ...unsaid,
});

/** The message for a target that does not exist. */
export const nowhere = (message: Message): Message => ({
  ...message,
  target: "nowhere",
  point: null,
  word: null,
  mustNotPost: "an unknown actuator",
});

/** Another command under the id of an earlier one. */
function otherUnderItsId(message: Message): Message {
  const { point, ownId } = message;
  const word =
    point === null ? "open" : (words(point.settings).find((one) => one !== message.word) ?? "open");
  const payload = JSON.stringify({ command: word, id: ownId });
  return { ...message, ...unsaid, payload, word };
}

/** The message as it comes from the broker; `by` is unique for each delivery. */
export const packet = (message: Message, by: string): IncomingMessage => ({
  topic: `greenhouse/${message.point?.controllerId ?? "gh-0001"}/actuator/${message.target}/set`,
  payload: Buffer.from(message.payload),
  retain: message.retained,
  properties: {
    by,
    ...(message.expiryS === null ? {} : { messageExpiryIntervalS: message.expiryS }),
  },
});

/** Command words of an actuator, with degrees if it takes them. */
export function words(settings: ActuatorSettings): readonly string[] {
  const row: KindRow = kindRows[settings.kind];
  const own = Object.keys({ ...row.values, ...settings.values });
  const stop = settings.stop && !own.includes("stop") ? ["stop"] : [];
  const degrees = row.positionMode === null ? [] : ["0", "25", "45", "100", "45"];
  return [...own, ...stop, ...degrees];
}

const hourMs = 3_600_000;

const nonsense = [
  "",
  "{",
  "dance",
  "101",
  "-1",
  "050",
  "1e1",
  '{"command":"open","comand":1}',
  "null",
  "[]",
] as const;

export interface SenderParts {
  /** The draws of durations for `for` and `hold`; null for none. */
  readonly terms: Chance | null;
  readonly points: readonly Point[];
  /** The probability of a message that no actuator may follow. */
  readonly twisted: number;
  /** The world's ms, and the true epoch ms. */
  readonly now: () => number;
  readonly epochNow: () => number;
  readonly onRepeat: () => void;
}

/** The word that ends a lease, and its greatest length. */
function pointTerms({ settings }: Point) {
  const { kind, limits } = settings;
  const isConfigured = kind === "motor" || kind === "custom";
  const own = isConfigured ? null : kindRows[kind].positionMode === null ? "off" : "close";
  return { endsWith: limits?.endsWith ?? own, atMostMs: limits?.atMostMs ?? null };
}

/** Writes the messages of people and automations. */
export class Sender {
  readonly #chance: Chance;
  readonly #parts: SenderParts;
  #ids = 0;
  /** Earlier messages with an id, newest last. */
  #withId: readonly Message[] = [];

  constructor(chance: Chance, parts: SenderParts) {
    this.#chance = chance;
    this.#parts = parts;
  }

  message(near: Point | null = null): Message {
    const chance = this.#chance;
    const { points, twisted } = this.#parts;
    const point = near ?? chance.of(points);
    if (chance.hits(twisted)) return this.#twisted(point);
    const message = plain(point, chance.of(words(point.settings)));
    return chance.hits(0.4) ? this.#detailed(message) : message;
  }

  /** A JSON payload with some of the optional keys. */
  #detailed(message: Message): Message {
    const chance = this.#chance;
    const ownId = this.#id();
    const at = chance.hits(0.3) ? this.#parts.now() - chance.logUniform(10, 20_000) : null;
    const maxAgeS = chance.hits(0.2) ? chance.whole(5, 90) : null;
    const force = chance.hits(0.1);
    const dryRun = chance.hits(0.05);
    const isNumber = /^\d+$/.test(message.word ?? "") && chance.hits(0.5);
    const { forMs, holdMs, mustNotPost } = this.#terms(message);
    const fields = {
      ...(forMs === null ? {} : { for: `${forMs / 1_000}s` }),
      ...(holdMs === null ? {} : { hold: `${holdMs / 1_000}s` }),
      command: isNumber ? Number(message.word) : message.word,
      ...(ownId === null ? {} : { id: ownId }),
      ...(at === null ? {} : { at: this.#isoAt(at) }),
      ...(maxAgeS === null ? {} : { max_age: `${maxAgeS}s` }),
      ...(force ? { force } : {}),
      ...(dryRun ? { dry_run: dryRun } : {}),
    };
    const detailed = {
      ...message,
      payload: JSON.stringify(fields),
      ownId,
      force,
      dryRun,
      forMs,
      holdMs,
      at,
      goodForMs: (maxAgeS ?? Infinity) * 1_000,
      expiryS: chance.hits(0.2) ? chance.whole(1, 60) : null,
      mustNotPost: dryRun ? "a dry run" : mustNotPost,
    };
    if (ownId !== null) this.#withId = [...this.#withId.slice(-7), detailed];
    return detailed;
  }

  #terms({ point, word }: Message): Pick<Message, "forMs" | "holdMs" | "mustNotPost"> {
    const { terms } = this.#parts;
    const none = { forMs: null, holdMs: null, mustNotPost: null };
    if (terms === null || point === null || word === null) return none;
    const forMs = terms.hits(0.35) ? terms.of([30, 120, 600, 3_600]) * 1_000 : null;
    const holdMs = terms.hits(0.1) ? terms.of([60, 600, 2_400]) * 1_000 : null;
    if (forMs === null && holdMs === null) return none;
    const { endsWith, atMostMs } = pointTerms(point);
    const isEnd = word === "stop" || word === endsWith;
    const isOutside = forMs !== null && (endsWith === null || forMs > (atMostMs ?? Infinity));
    return { forMs, holdMs, mustNotPost: isEnd || isOutside ? "without such a time" : null };
  }

  /** An id of its own, or a scene's, which goes to several actuators. */
  #id(): string | null {
    const isOfScene = this.#chance.hits(0.1);
    if (!this.#chance.hits(0.7)) return null;
    this.#ids += 1;
    return isOfScene ? `scene-${Math.floor(this.#ids / 4)}` : `own-${this.#ids}`;
  }

  #isoAt(worldMs: number): string {
    const { epochNow, now } = this.#parts;
    return new Date(epochNow() - now() + worldMs).toISOString();
  }

  /** A message that no actuator may follow, or a repeated one. */
  #twisted(point: Point): Message {
    const chance = this.#chance;
    const word = chance.of(words(point.settings));
    const message = plain(point, word);
    const now = this.#parts.now();
    const dated = (at: number) => JSON.stringify({ command: word, at: this.#isoAt(at) });
    switch (chance.whole(0, 6)) {
      case 0:
        return { ...message, retained: true, mustNotPost: "retained" };
      case 1: {
        const at = now - chance.logUniform(300_000, 30 * 24 * hourMs);
        return { ...message, payload: dated(at), at, mustNotPost: "stale" };
      }
      case 2: {
        const at = now + chance.logUniform(200_000, 30 * 24 * hourMs);
        return { ...message, payload: dated(at), mustNotPost: "of the future" };
      }
      case 3:
        return { ...message, payload: chance.of(nonsense), word: null, mustNotPost: "no command" };
      case 4:
        return nowhere(message);
      default:
        return this.#again() ?? message;
    }
  }

  /** A repetition of a message with an id; null if there was none. */
  repeated(chance: Chance): Message | null {
    return this.#withId.length === 0 ? null : { ...chance.of(this.#withId), expiryS: null };
  }

  #again(): Message | null {
    if (this.#withId.length === 0) return null;
    const again = this.#chance.of(this.#withId);
    this.#parts.onRepeat();
    return this.#chance.hits(0.8) ? { ...again, expiryS: null } : otherUnderItsId(again);
  }
}
