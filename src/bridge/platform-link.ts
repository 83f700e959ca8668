import type { PlatformState } from "../greenhouse/model.js";

/** What is known of the way to a host. Instants are monotonic ms, null while it did not happen. */
export interface HostFacts {
  readonly contactAt: number | null;
  readonly failures: number;
  readonly failingSince: number | null;
  /** Refused again after a sign-in. */
  readonly unauthorized: boolean;
}

export interface LinkFacts {
  readonly realtime: HostFacts;
  readonly business: HostFacts;
  /** The request budget stretches the polling intervals. */
  readonly stretched: boolean;
  readonly startedAt: number;
}

export const untriedHost: HostFacts = {
  contactAt: null,
  failures: 0,
  failingSince: null,
  unauthorized: false,
};

const patienceMs = 30_000;
const patienceFailures = 2;

/** A host counts as gone after two failed attempts, or after 30 s of failing. */
export function isGone(host: HostFacts, now: number): boolean {
  if (host.failures >= patienceFailures) return true;
  return host.failingSince !== null && now - host.failingSince >= patienceMs;
}

/** The state to publish, or null while nothing has been learnt yet. The first that applies wins. */
export function platformState(
  { realtime, business, stretched, startedAt }: LinkFacts,
  now: number,
): PlatformState | null {
  const untried = realtime.contactAt === null && realtime.failures === 0;
  if (isGone(realtime, now)) return "unreachable";
  // Without a credential nothing may be tried at all, which is not the host's doing.
  if (realtime.unauthorized || business.unauthorized) return "unauthorized";
  if (untried && now - startedAt >= patienceMs) return "unreachable";
  if (realtime.contactAt === null) return null;
  return isGone(business, now) || stretched ? "degraded" : "online";
}
