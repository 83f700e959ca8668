/**
 * Why no whole answer came. `sent`: the connection stood and the request was being written, so the platform may
 * have seen it. `status` is 0 when no answer had begun.
 */
export class TransportFailure extends Error {
  override name = "TransportFailure" as const;
  readonly reason: "connection" | "timeout" | "aborted" | "too_large";
  readonly sent: boolean;
  readonly status: number;

  constructor(reason: TransportFailure["reason"], sent: boolean, status: number, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
    this.sent = sent;
    this.status = status;
  }
}
