import { type Text, TextError } from "../language/text.js";
import type { DeviceType, ParameterGroup, StatusNumber } from "./device-types.js";

export type PlatformHost = "business" | "realtime";

/** How the link to a host is. Instants are monotonic ms, null while it did not happen. */
export interface HostFacts {
  /** When the platform last answered something usable. */
  readonly contactAt: number | null;
  /** When it last answered anything. */
  readonly heardAt: number | null;
  /** Consecutive attempts without connection or answer, and since when. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** The operation that alone had no answer, over connections that stood; null where the way itself or others fail, too. */
  readonly silent: string | null;
  /** Why the newest of them brought none, with the host and the key to look at; null where it is not known. */
  readonly trouble: string | null;
  /** The credential is refused: never accepted since it is in use, or refused twice in a row; or signing in is refused. */
  readonly unauthorized: boolean;
  /** Operations that cannot be used although the host is there, each with the sentence of its newest error. */
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
  /** The platform's own `message`, flattened to text. */
  readonly platformMessage?: string;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
  /** Whether any byte of the request may have reached the platform. */
  readonly sent: boolean;
  /** Of `paused`: this operation alone brings nothing usable, for all devices or for this one. */
  readonly ofOperation?: true;
}

/** Every failed call of the platform. The message says what happened and what to do next; it never holds a secret. */
export class PlatformError extends TextError {
  override name = "PlatformError" as const;
  readonly facts: PlatformErrorFacts;

  constructor(message: Text, facts: PlatformErrorFacts, options?: { cause?: unknown }) {
    super(message, options);
    this.facts = facts;
  }
}

/** Whether a refusal says that the device code is what it misses. */
export const missesDeviceCode = (error: unknown): boolean =>
  error instanceof PlatformError && namesDevice.test(error.facts.platformMessage ?? "");

const namesDevice = /device[ _-]?(?:code|sn|no|id)(?![A-Za-z])|\bsn\b/i;

/*
 * What the core needs from a platform, in the core's words. Every read rejects with a PlatformError. Instants are epoch
 * ms. Unreadable items are left out by the adapter, which counts them; nothing here was ever guessed.
 */

/** A device of the account as a list shows it. `null` means the platform did not say. */
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
  /** Whatever else the list says, as text: id, customerId, channel, number, tag, prefix, type, sortOrder. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Devices as one answer lists them. */
export interface DeviceList extends ReadonlyArray<DeviceRecord> {
  /** By its own count the answer is a page of a longer list: what it leaves out may well be there. */
  readonly isPage?: boolean;
}

/** What the single-device status says. All but the state is given of an online device only. */
export interface ClientStatus {
  /** An unknown code reads `offline` too. */
  readonly state: "online" | "offline" | "unknown";
  /** Of the interface, not of the device's software. */
  readonly version: string | null;
  readonly description: string | null;
  readonly lastOnlineAt: number | null;
  /** What the interface calls a type marker; absent where it gives none. */
  readonly marker?: string | null;
}

/**
 * How a request is paced: `polled` keeps to the polling's turn and pauses; `urgent` goes at once, but for its own controller's
 * unanswered ones; `first` waits for none.
 */
export type Pace = "polled" | "urgent" | "first";

/** One item of the real-time sensor data. */
export interface SensorItem {
  /** As the platform writes it; empty when it gives none. */
  readonly name: string;
  readonly factor: string | null;
  readonly channel: string | null;
  /** A number wherever the text is one (with or without a unit); text otherwise; null when there is no reading. */
  readonly value: number | string | null;
  readonly raw: string | number | boolean | null;
  readonly unit: string | null;
  readonly measuredAt: number | null;
  /** Of `weather-data/avg`; its name and factor say so too. */
  readonly average?: true;
}

/** One past reading. */
export interface HistoryPoint {
  /** Epoch ms. */
  readonly at: number;
  /** As the platform writes it. */
  readonly name: string;
  /** A word where the sensor shows one, such as the direction of the wind. */
  readonly value: number | string;
}

export interface History {
  /** Oldest first. */
  readonly points: readonly HistoryPoint[];
  /** The answer says of each that it is of the device that was asked for. */
  readonly isOwn: boolean;
  /** There were too many. */
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
  /** What may be the code of a device: a weather station may be listed as a station and nowhere else. */
  readonly device: string | null;
}

/** An address as the answer about its group lists it, in the platform's own words. */
export interface ListedAddress {
  readonly address: string;
  readonly value: RawValue | null;
  readonly name: string | null;
  readonly unit: string | null;
  /** Why the value is null though something stands there: several that differ, or what is no value. */
  readonly unclear?: "doubtful" | "strange";
}

/** Told of each thing in an answer that could not be read, with the names of its fields; the adapter has left it out. */
export type OnUnread = (what: Text) => void;

export interface PlatformReader {
  /** All controllers with their online flag (`GET /api/control/mqtt`); empty when the account shows none. */
  controllers(signal: AbortSignal, onUnread?: OnUnread): Promise<DeviceList>;
  /** The device list (`GET /api/device`), without an online flag. */
  devices(dataType: "TEXT" | "STREAM", signal: AbortSignal, onUnread?: OnUnread): Promise<DeviceList>;
  stations(signal: AbortSignal, onUnread?: OnUnread): Promise<readonly PlatformStation[]>;
  /** Devices with the addresses of their video streams (`GET /api/video-data/list`). */
  /** Of one device, where the platform lists them so. */
  videos(signal: AbortSignal, code?: string): Promise<DeviceList>;
  /** The single-device status; urgent where no pace is given. */
  connection(code: string, signal: AbortSignal, pace?: Pace): Promise<ClientStatus>;
  sensors(code: string, signal: AbortSignal, onUnread?: OnUnread): Promise<readonly SensorItem[]>;
  /** Averages of a device (`GET /api/weather-data/avg`); over which time is for the platform to say. */
  averages(code: string, signal: AbortSignal): Promise<readonly SensorItem[]>;
  runningStatuses(
    code: string,
    signal: AbortSignal,
    onUnread?: OnUnread,
  ): Promise<readonly RunningStatusItem[]>;
  /** Past readings of a device (`GET /api/weather-data/list`). */
  history(code: string, signal: AbortSignal): Promise<History>;
  /**
   * `null` when the answer holds no value for the address. `fresh` asks the device itself (`flush=1`), and is urgent where no
   * pace is given.
   */
  value(
    code: string,
    address: string,
    fresh: boolean,
    signal: AbortSignal,
    pace?: Pace,
  ): Promise<RawValue | null>;
  /** All addresses of one parameter group; whether they are read from the device is not known. */
  values(code: string, group: ParameterGroup, signal: AbortSignal): Promise<ReadonlyMap<string, RawValue>>;
  /** The same answer with all that it lists, without a value too. */
  listing(
    code: string,
    group: ParameterGroup,
    signal: AbortSignal,
    onUnread?: OnUnread,
  ): Promise<readonly ListedAddress[]>;
  /** Any read-only operation the interface names (`weather-data/list`); the parsed answer as it came. */
  get(operation: string, query: Query, signal: AbortSignal): Promise<unknown>;
}

/** The platform's answer to one POST, when it could be parsed. */
export interface WriteAccepted {
  readonly requestId: string | null;
  /** Null where the answer has none, and all that was sent is echoed in it. */
  readonly code: string | null;
}

interface WriteManner {
  /** `urgent` where nothing is said. */
  readonly pace?: Pace;
  /** It is sent to stop a movement, which waits for nothing that may be waited for. */
  readonly isStop?: boolean;
  /** What it is for, by the key that the journal has of it (`aboutKey`). */
  readonly lane?: string;
  /**
   * Asked once, when the connection stands and before the first byte: whether the value may still be sent. Where it may not, the
   * POST ends `withheld`.
   */
  readonly mayPost?: () => boolean;
}

export interface PlatformWriter {
  /**
   * One `POST /api/set-value`, never repeated by any layer. Rejects with a PlatformError whose `facts.sent` and `kind`
   * tell whether the value may have reached the device. The signal ends only the waiting for a connection: what a POST did that
   * was broken off would be unknown.
   */
  write(
    code: string,
    address: string,
    value: string,
    signal: AbortSignal,
    manner?: WriteManner,
  ): Promise<WriteAccepted>;
}

/** A channel on which the platform says by itself what changed. */
export type PushChannel =
  | { readonly type: "device-status" }
  | { readonly type: "set-value" }
  | { readonly type: "weather-station"; readonly code: string };

/** What one frame says about one device. Readings carry their own time. */
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

/** Who listens on a channel. Nothing here may throw. */
export interface PushListener {
  /** Whether a device is of interest; what a frame says about others is passed over. */
  knows(code: string): boolean;
  onOpen(): void;
  news(news: PushNews): void;
  /** A frame greeted, or was a sign of life, and said nothing else. */
  greeted?(): void;
  /** An open channel ended; it is opened again by itself. */
  onLost(): void;
  /** It did not open, or did not stay open, and why; it is tried again by itself. */
  onClosed?(why: Text): void;
}

export interface PlatformPush {
  /** Keeps one connection of the channel open until the signal aborts; resolves when it is released. Never rejects. */
  listen(channel: PushChannel, listener: PushListener, signal: AbortSignal): Promise<void>;
}
