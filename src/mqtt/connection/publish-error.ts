/**
 * - `invalid`: the topic or size would cut the link, so it was not sent
 * - `offline`: there is no link, or it went away before the acknowledgement
 * - `busy`: too many publishes wait already; await `ready()` first
 * - `unacknowledged`: the broker did not acknowledge in time
 * - `refused`: the broker answered with an error code
 */
export type PublishErrorKind = "invalid" | "offline" | "busy" | "unacknowledged" | "refused";

/** A publish that did not happen, or that nobody can vouch for (`offline`, `unacknowledged`). */
export class PublishError extends Error {
  override name = "PublishError" as const;
  readonly kind: PublishErrorKind;

  constructor(kind: PublishErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}
