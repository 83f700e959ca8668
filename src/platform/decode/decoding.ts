import type { ReadTime } from "../time.js";
import { type Fields, isContainer, isFields, own, textOf } from "./wire.js";

/** Takes what decoders of one operation could not read. */
export type ReportShape = (problem: string, sample: unknown) => void;

/** What every decoder is given beside the answer. */
export interface Decoding {
  /** The device and the address that were asked for; empty where none was. */
  readonly code: string;
  readonly address: string;
  readonly report: ReportShape;
  readonly readTime: ReadTime;
  /** Epoch ms. */
  readonly receivedAt: number;
}

/** Made once for the shape of an operation. Throws UnreadableShape for an answer that is not the operation's at all. */
export type Decode<T> = (answer: unknown, decoding: Decoding) => T;

/** An answer as a whole is not what the operation returns. */
export class UnreadableShape extends Error {
  override name = "UnreadableShape" as const;
}

/** What every answer of the platform may carry around its data. */
export interface Envelope {
  /** The body's `code` as text; null when it has none. */
  readonly code: string | null;
  readonly message: string | null;
  readonly requestId: string | null;
}

export const noEnvelope: Envelope = { code: null, message: null, requestId: null };

export function envelopeOf(body: unknown): Envelope {
  if (!isFields(body)) return noEnvelope;
  return { code: textOf(own(body, "code")), message: messageOf(body), requestId: requestIdOf(body) };
}

/** The message flattened: a String, or an Object `{code, message}`; the 403 body adds `error`. */
function messageOf(body: Fields): string | null {
  const message = own(body, "message") ?? own(body, "msg");
  const parts = isFields(message)
    ? [textOf(own(message, "code")), textOf(own(message, "message"))]
    : [textOf(own(body, "error")), textOf(message)];
  const text = parts.filter((part) => part !== null).join(": ");
  return text === "" ? null : text;
}

function requestIdOf(body: Fields): string | null {
  const data = own(body, "data");
  return textOf(own(body, "requestId")) ?? (isFields(data) ? textOf(own(data, "requestId")) : null);
}

const hostile = ["__proto__", "constructor", "prototype"] as const;

/** The same parsed answer without names that could change a prototype where somebody copies it. */
export function withoutHostileNames(answer: unknown): unknown {
  const open: unknown[] = [answer];
  while (open.length > 0) {
    const node = open.pop();
    if (!isContainer(node)) continue;
    for (const name of hostile) if (Object.hasOwn(node, name)) Reflect.deleteProperty(node, name);
    for (const child of Object.values(node)) if (isContainer(child)) open.push(child);
  }
  return answer;
}

/** Last words of names whose scalars describe a record or a page rather than being a reading or a register. */
const words = new Set(
  (
    "id code type status state flag version index order sort page pages size total count counts num number no " +
    "time date timestamp ts lng lat lon longitude latitude success name unit remark desc description message msg " +
    "online current deleted delete enabled enable by from to limit offset cost deviceid typeid stationid"
  ).split(" "),
);

const lastWord = /(?:[A-Z]+|[A-Z]?[a-z]+)$/;

export const isMetadata = (name: string): boolean =>
  words.has((lastWord.exec(name)?.[0] ?? "").toLowerCase());
