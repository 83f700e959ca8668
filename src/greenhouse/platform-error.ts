export type PlatformHost = "business" | "realtime";

/**
 * - `unreachable`: no connection, or it was not trusted (DNS, refused, TLS, connect time-out)
 * - `timeout`: the total deadline passed
 * - `interrupted`: the connection ended before a whole answer had come
 * - `unauthorized`: 401 or 403, as HTTP status or body code
 * - `throttled`: 429, or 503 with Retry-After
 * - `rejected`: a parsed body whose `code` is not 200
 * - `server`: an HTTP error status without a body code
 * - `protocol`: an answer that is not what the operation returns (HTML, broken JSON, redirect, too large)
 * - `paused`: not sent; the circuit of this host is open
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
}

/** Every failed call of the platform. The message says what happened and what to do next; it never holds a secret. */
export class PlatformError extends Error {
  override name = "PlatformError" as const;
  readonly facts: PlatformErrorFacts;

  constructor(message: string, facts: PlatformErrorFacts, options?: { cause?: unknown }) {
    super(message, options);
    this.facts = facts;
  }
}
