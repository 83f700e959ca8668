import { type Text, TextError } from "../language/text.js";
import type { DeviceType, ParameterGroup, StatusNumber } from "./device-types.js";

export type PlatformHost = "business" | "realtime";

/** The link to a host. Instants are monotonic ms, null for never. */
export interface HostFacts {
  /** The last usable answer. */
  readonly contactAt: number | null;
  /** The last answer of any kind. */
  readonly heardAt: number | null;
  /** Attempts in a row without connection or answer, and since when. */
  readonly failures: number;
  readonly failingSince: number | null;
  /**
   * The only operation without answers over good connections; null where others, or the connection itself, fail too.
   */
  readonly silent: string | null;
  /** Why the newest attempt failed, with the host and the key to look at; null where unknown. */
  readonly trouble: string | null;
  /** The credential is refused: never accepted so far, refused twice in a row, or signing in is refused. */
  readonly unauthorized: boolean;
  /** Operations that fail although the host answers, each with the sentence of its newest error. */
  readonly unusable: readonly { readonly operation: string; readonly trouble: string }[];
}

/**
 * - `unreachable`: no connection, or it was not trusted (DNS, refused, TLS, connect time-out)
 * - `timeout`: the total deadline passed
 * - `interrupted`: the connection ended before a whole answer had come
 * - `unauthorized`: 401 or 403, as HTTP status or body code
 * - `throttled`: 429, or 503 with Retry-After
 * - `rejected`: a parsed body whose `code` is not 200
 * - `server`: an HTTP error status without a body code
 * - `protocol`: an answer that is not what the operation returns (HTML, broken JSON, redirect, too large)
 * - `paused`: not sent; the circuit of this host or of this operation is open
 * - `withheld`: not sent; it was not wanted any more when its connection stood
 * - `invalid_request`: not sent; an argument could not safely be put into a request
 */
export type PlatformErrorKind =
  | "unreachable"
  | "timeout"
  | "interrupted"
  | "unauthorized"
  | "throttled"
  | "rejected"
  | "server"
  | "protocol"
  | "paused"
  | "withheld"
  | "invalid_request";

export interface PlatformErrorFacts {
  readonly kind: PlatformErrorKind;
  readonly host: PlatformHost;
  readonly operation: string;
  /** HTTP status, if there was an answer. */
  readonly status?: number;
  /** The body's `code`, as text. */
  readonly code?: string;
  /** The platform's own `message`, as one line of text. */
  readonly platformMessage?: string;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
  /** Whether any byte of the request may have reached the platform. */
  readonly sent: boolean;
  /** For `paused`: only this operation fails, for all devices or this one. */
  readonly ofOperation?: true;
}

/** A failed call of the platform. The message says what happened and what to do; it never holds a secret. */
export class PlatformError extends TextError {
  override name = "PlatformError" as const;
  readonly facts: PlatformErrorFacts;

  constructor(message: Text, facts: PlatformErrorFacts, options?: { cause?: unknown }) {
    super(message, options);
    this.facts = facts;
  }
}

/** Whether a refusal says that the device code is missing. */
export const missesDeviceCode = (error: unknown): boolean =>
  error instanceof PlatformError && namesDevice.test(error.facts.platformMessage ?? "");

const namesDevice = /device[ _-]?(?:code|sn|no|id)(?![A-Za-z])|\bsn\b/i;

/*
 * What the core needs from a platform, in the core's words. Every read rejects with a PlatformError. Instants are epoch
 * ms. The adapter leaves unreadable items out and counts them; nothing here is guessed.
 */

/** A device of the account, from a list. `null` means that the platform did not say. */
export interface DeviceRecord {
  readonly code: string;
  readonly name: string | null;
  readonly type: DeviceType | null;
  readonly typeName: string | null;
  readonly stationId: string | null;
  readonly stationName: string | null;
  readonly brand: string | null;
  /** Address of a video stream; it may hold a password. */
  readonly hls: string | null;
  readonly version: string | null;
  readonly online: boolean | null;
  /** Further fields of the list, as text: id, customerId, channel, number, tag, prefix, type, sortOrder. */
  readonly extra: Readonly<Record<string, string>>;
}

/** The devices of one answer. */
export interface DeviceList extends ReadonlyArray<DeviceRecord> {
  /** By its own count the answer is one page of a longer list, so devices that it lacks may exist. */
  readonly isPage?: boolean;
}

/** The single-device status. Everything except the state is given for online devices only. */
export interface ClientStatus {
  /** An unknown device code reads `offline` too. */
  readonly state: "online" | "offline" | "unknown";
  /** Version of the interface, not of the device's software. */
  readonly version: string | null;
  readonly description: string | null;
  readonly lastOnlineAt: number | null;
  /** The interface's type marker; absent where it gives none. */
  readonly marker?: string | null;
}

/**
 * The pace of a request. `polled` waits its turn in polling; `urgent` goes at once, except behind unanswered ones of
 * its controller; `first` waits for none.
 */
export type Pace = "polled" | "urgent" | "first";

/** An item of the real-time sensor data. */
export interface SensorItem {
  /** The platform's spelling; empty where it gives none. */
  readonly name: string;
  readonly factor: string | null;
  readonly channel: string | null;
  /** A number where the text is one, with or without a unit; else the text; null for no reading. */
  readonly value: number | string | null;
  readonly raw: string | number | boolean | null;
  readonly unit: string | null;
  readonly measuredAt: number | null;
  /** From `weather-data/avg`; its name and factor say so too. */
  readonly average?: true;
}

/** One past reading. */
export interface HistoryPoint {
  /** Epoch ms. */
  readonly at: number;
  /** The platform's spelling. */
  readonly name: string;
  /** A word for a sensor that shows words, such as a wind direction. */
  readonly value: number | string;
}

export interface History {
  /** Oldest first. */
  readonly points: readonly HistoryPoint[];
  /** Every item in the answer names the device that was asked for. */
  readonly isOwn: boolean;
  /** There were more than the bound allows. */
  readonly truncated: boolean;
}

export interface RunningStatusItem {
  readonly name: string;
  readonly number: StatusNumber | null;
  readonly value: string | number | boolean | null;
}

/** A register as the platform returned it. */
export type RawValue = string | number | boolean;

export type Query = Readonly<Record<string, string>>;

export interface PlatformStation {
  readonly id: string;
  readonly name: string | null;
  /** A possible device code: a weather station may only be listed as a station. */
  readonly device: string | null;
}

/** An address in the answer about its group, in the platform's words. */
export interface ListedAddress {
  readonly address: string;
  readonly value: RawValue | null;
  readonly name: string | null;
  readonly unit: string | null;
  /**
   * Why the value is null although there is one: `doubtful` for several that differ, `strange` for anything that is no
   * value.
   */
  readonly unclear?: "doubtful" | "strange";
}

/** Receives each unreadable item of an answer, with the names of its fields; the adapter left it out. */
export type OnUnread = (what: Text) => void;

export interface PlatformReader {
  /** All controllers with their online flag (`GET /api/control/mqtt`); empty where the account has none. */
  controllers(signal: AbortSignal, onUnread?: OnUnread): Promise<DeviceList>;
  /** The device list (`GET /api/device`), without an online flag. */
  devices(dataType: "TEXT" | "STREAM", signal: AbortSignal, onUnread?: OnUnread): Promise<DeviceList>;
  stations(signal: AbortSignal, onUnread?: OnUnread): Promise<readonly PlatformStation[]>;
  /**
   * Devices with the addresses of their video streams (`GET /api/video-data/list`). With `code`: of one device, where the
   * platform lists videos by device.
   */
  videos(signal: AbortSignal, code?: string): Promise<DeviceList>;
  /** The single-device status; by default urgent. */
  connection(code: string, signal: AbortSignal, pace?: Pace): Promise<ClientStatus>;
  sensors(code: string, signal: AbortSignal, onUnread?: OnUnread): Promise<readonly SensorItem[]>;
  /** Averages of a device (`GET /api/weather-data/avg`), over a time that the platform decides. */
  averages(code: string, signal: AbortSignal): Promise<readonly SensorItem[]>;
  runningStatuses(
    code: string,
    signal: AbortSignal,
    onUnread?: OnUnread,
  ): Promise<readonly RunningStatusItem[]>;
  /** Past readings of a device (`GET /api/weather-data/list`). */
  history(code: string, signal: AbortSignal): Promise<History>;
  /**
   * `null` where the answer has no value for the address. `fresh` asks the device itself (`flush=1`), by default
   * urgently.
   */
  value(
    code: string,
    address: string,
    fresh: boolean,
    signal: AbortSignal,
    pace?: Pace,
  ): Promise<RawValue | null>;
  /** All values of a parameter group; it is unknown whether they come from the device. */
  values(code: string, group: ParameterGroup, signal: AbortSignal): Promise<ReadonlyMap<string, RawValue>>;
  /** The same answer with all addresses, including those without a value. */
  listing(
    code: string,
    group: ParameterGroup,
    signal: AbortSignal,
    onUnread?: OnUnread,
  ): Promise<readonly ListedAddress[]>;
  /** Any read-only operation of the interface (`weather-data/list`), with the parsed answer as it is. */
  get(operation: string, query: Query, signal: AbortSignal): Promise<unknown>;
}

/** The platform's parsed answer to one POST. */
export interface WriteAccepted {
  readonly requestId: string | null;
  /** Null where the answer has no code but echoes everything that was sent. */
  readonly code: string | null;
}

interface WriteManner {
  /** By default `urgent`. */
  readonly pace?: Pace;
  /** The POST stops a movement, so it waits for nothing that can be skipped. */
  readonly isStop?: boolean;
  /** Its target by the journal's key (`aboutKey`). */
  readonly lane?: string;
  /**
   * Asked once, when the connection is ready and before the first byte: whether the value may still be sent. If not,
   * the POST ends as `withheld`.
   */
  readonly mayPost?: () => boolean;
}

export interface PlatformWriter {
  /** Opens a connection for a write that will probably follow soon, so that it need not wait for one. */
  readonly prepareWrite?: () => void;
  /**
   * One `POST /api/set-value`, which no layer repeats. Rejects with a PlatformError whose `facts.sent` and `kind` show
   * whether the value may have reached the device. The signal ends only the wait for a connection, as the effect of an
   * interrupted POST would be unknown.
   */
  write(
    code: string,
    address: string,
    value: string,
    signal: AbortSignal,
    manner?: WriteManner,
  ): Promise<WriteAccepted>;
}

/** A channel on which the platform pushes changes. */
export type PushChannel =
  | { readonly type: "device-status" }
  | { readonly type: "set-value" }
  | { readonly type: "weather-station"; readonly code: string };

/** News about one device in a frame. Readings carry their own time. */
export type PushNews =
  | { readonly type: "registers"; readonly code: string; readonly values: ReadonlyMap<string, RawValue> }
  | { readonly type: "statuses"; readonly code: string; readonly items: readonly RunningStatusItem[] }
  | { readonly type: "connection"; readonly code: string; readonly online: boolean }
  | {
      readonly type: "sensors";
      readonly code: string;
      readonly items: readonly SensorItem[];
      /** Epoch ms. */
      readonly receivedAt: number;
    };

/** The listener of a channel. Nothing here may throw. */
export interface PushListener {
  /** Whether a device matters; news about others is skipped. */
  knows(code: string): boolean;
  onOpen(): void;
  news(news: PushNews): void;
  /** A frame was only a greeting or a sign of life. */
  greeted?(): void;
  /** An open channel ended; it reopens by itself. */
  onLost(): void;
  /** It did not open, or did not stay open, and why; it tries again by itself. */
  onClosed?(why: Text): void;
}

export interface PlatformPush {
  /**
   * Keeps one connection of the channel open until the signal aborts; then resolves when it is closed. Never rejects.
   */
  listen(channel: PushChannel, listener: PushListener, signal: AbortSignal): Promise<void>;
}
