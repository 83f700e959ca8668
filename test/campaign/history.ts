/* The recorded history of one lane, on which all invariants are judged. Instants are epoch ms of this computer's clock. */

export type Fields = Readonly<Record<string, unknown>>;

export interface Message {
  readonly at: number;
  readonly topic: string;
  readonly payload: string;
  /** Delivered because it was retained, not because it was published just now. */
  readonly retain: boolean;
}

/** A command as the load sent it. */
export interface Sent {
  readonly id: string;
  readonly at: number;
  readonly actuator: string;
  readonly command: string;
  /** The value its last step writes. */
  readonly value: string;
  readonly address: string;
  /** The broker took it. */
  acknowledged: boolean;
}

/** A control value that reached a host. */
export interface Post {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly effect: string;
}

/** From when on a register held a value. */
export interface Held {
  readonly at: number;
  readonly value: string;
}

/** A sensor was made to show a number; it showed it at the earliest at `from`. */
export interface Shown {
  readonly topic: string;
  readonly value: number;
  readonly from: number;
}

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A stretch of time in which messages to the bridge, or what it had in memory, may be gone without anybody's fault. */
export interface Gap extends Stretch {
  /** The process itself died, so that commands it had not journaled are gone too. */
  readonly died: boolean;
}

/** A record of the journal with its instant on this computer's clock, whatever the bridge's clock said. */
export interface Recorded {
  readonly at: number;
  readonly record: Fields;
}

export interface History {
  readonly messages: readonly Message[];
  readonly sent: readonly Sent[];
  readonly posts: readonly Post[];
  /** Requests to the realtime host: method and path with its query. */
  readonly requests: readonly { readonly at: number; readonly line: string }[];
  readonly journal: readonly Recorded[];
  /** Of every register, by `<code>/<address>`, oldest first. */
  readonly held: ReadonlyMap<string, readonly Held[]>;
  readonly shown: readonly Shown[];
  readonly gaps: readonly Gap[];
  /** By how much the bridge's clock was off at some time, ms; 0 among them. */
  readonly clockOffsets: readonly number[];
  /** When the recorder heard nothing. */
  readonly absences: readonly Stretch[];
  /** When the journal could not be written. */
  readonly unwritable: readonly Stretch[];
}

type Invariant = "lost command" | "wrong state" | "POST";

export interface Breach {
  readonly at: number;
  readonly invariant: Invariant;
  readonly text: string;
}

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A payload's fields; `{}` for what is no JSON object. */
export function fieldsOf(payload: string): Fields {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}
