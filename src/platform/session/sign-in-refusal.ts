import { PlatformError, type PlatformErrorFacts } from "../../greenhouse/platform-error.js";

const place = { host: "business", operation: "POST /api/account/sign-in", sent: false } as const;

/** Whether a failed sign-in was a "no" of the platform, as opposed to a line that did not hold. */
export function isRefusal(error: unknown): error is PlatformError {
  if (!(error instanceof PlatformError)) return false;
  const { kind, status, sent } = error.facts;
  if (kind === "server") return (status ?? 0) < 500;
  // Held back because the host had asked to be left alone, it was not tried at all.
  if (kind === "throttled") return sent;
  return kind === "unauthorized" || kind === "rejected";
}

/**
 * What waiting calls get when the sign-in was refused (`cause`), or answered without a token that could be found (null). Their own
 * request was not sent.
 */
export function signInRefused(cause: PlatformError | null): PlatformError {
  if (cause === null) {
    return unauthorized(
      "the platform answered the sign-in, but no token was found in the answer; set platform.sign_in.token_path to where it is",
      {},
    );
  }
  const { status, code, platformMessage, requestId, retryAfterMs } = cause.facts;
  return unauthorized(cause.message, { status, code, platformMessage, requestId, retryAfterMs });
}

/** What calls get while the next sign-in has to wait. */
export function signInHeldBack(refusals: number, waitMs: number): PlatformError {
  const times = refusals === 1 ? "once" : `${refusals} times`;
  return unauthorized(
    `not sent; signing in did not help ${times} in a row, so the next try is in ${Math.ceil(waitMs / 1000)} s; check the account and password in platform.sign_in.body`,
    { retryAfterMs: waitMs },
  );
}

const unauthorized = (message: string, facts: Partial<PlatformErrorFacts>): PlatformError =>
  new PlatformError(message, { ...facts, ...place, kind: "unauthorized" });
