import { type KindRow, kindRows } from "../../src/greenhouse/actuator-kinds.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { IncomingMessage } from "../../src/mqtt/connection/settings.js";

/** An actuator somebody may command. */
export interface Point {
  readonly code: string;
  readonly controllerId: string;
  readonly settings: ActuatorSettings;
}

/** What a message says, with what is known of it besides its text. */
export interface Said {
  readonly payload: string;
  /** The canonical word or degree it should be understood as; null where it should not be understood. */
  readonly word: string | null;
  readonly ownId: string | null;
  readonly retained: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** For how long it counts, and keeps others off, ms. */
  readonly forMs: number | null;
  readonly holdMs: number | null;
  /** Why it must never lead to a POST, as far as the sender can tell; null when it may. */
  readonly mustNotPost: string | null;
}

/** What somebody sends. */
export interface Message extends Said {
  readonly point: Point | null;
  readonly target: string;
  /** The sender's own limit, from the sending. */
  readonly goodForMs: number;
  readonly expiryS: number | null;
  /** The sender's clock, world ms. */
  readonly at: number | null;
}

/** Of one that says nothing but its word. */
const unsaid = {
  ...{ force: false, dryRun: false, forMs: null, holdMs: null, goodForMs: Infinity, expiryS: null },
  ...{ at: null, mustNotPost: null },
};

export const plain = (point: Point, word: string): Message => ({
  ...{ point, target: point.settings.id, payload: word, word, ownId: null, retained: false },
  ...unsaid,
});

/** For a target that does not exist. */
export const nowhere = (message: Message): Message => ({
  ...message,
  target: "nowhere",
  point: null,
  word: null,
  mustNotPost: "an unknown actuator",
});

/** Another command under the id of one sent before. */
export function otherUnderItsId(message: Message): Message {
  const { point, ownId } = message;
  const word =
    point === null ? "open" : (words(point.settings).find((one) => one !== message.word) ?? "open");
  const payload = JSON.stringify({ command: word, id: ownId });
  return { ...message, ...unsaid, payload, word };
}

/** As it comes from the broker; `by` tells each delivery from all others. */
export const packet = (message: Message, by: string): IncomingMessage => ({
  topic: `greenhouse/${message.point?.controllerId ?? "gh-0001"}/actuator/${message.target}/set`,
  payload: Buffer.from(message.payload),
  retain: message.retained,
  properties: {
    userProperties: { by },
    ...(message.expiryS === null ? {} : { messageExpiryIntervalS: message.expiryS }),
  },
});

/** Command words of an actuator; degrees for those that take them. */
export function words(settings: ActuatorSettings): readonly string[] {
  const row: KindRow = kindRows[settings.kind];
  const own = Object.keys({ ...row.values, ...settings.values });
  const stop = settings.stop && !own.includes("stop") ? ["stop"] : [];
  const degrees = row.positionMode === null ? [] : ["0", "25", "45", "100", "45"];
  return [...own, ...stop, ...degrees];
}

/** The value a word finally sends, and where. */
export function targetOf(
  settings: ActuatorSettings,
  word: string,
): { readonly address: string; readonly value: string } {
  const row: KindRow = kindRows[settings.kind];
  if (word === "stop" && settings.stop) return settings.stop;
  if (row.positionMode !== null && /^\d+$/.test(word))
    return { address: settings.positionAddress ?? settings.address, value: word };
  const address = row.positionMode === null ? settings.address : (settings.modeAddress ?? settings.address);
  return { address, value: { ...row.values, ...settings.values }[word] ?? "" };
}
