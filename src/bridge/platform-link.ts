import type { PlatformState } from "../greenhouse/model.js";

/** What is known of the way to the platform; instants are monotonic ms, null while it did not happen. */
export interface HostLink {
  readonly contactAt: number | null;
  readonly failures: number;
  readonly failingSince: number | null;
}

export interface LinkFacts {
  readonly realtime: HostLink;
  readonly business: HostLink;
  /** Refused again after a sign-in. */
  readonly unauthorized: boolean;
  readonly stretched: boolean;
  readonly startedAt: number;
}

export const untriedHost: HostLink = { contactAt: null, failures: 0, failingSince: null };

const patienceMs = 30_000;
const patienceFailures = 2;

/** A host counts as gone after two failed attempts, or after 30 s of failing. */
export function isGone(link: HostLink, now: number): boolean {
  if (link.failures >= patienceFailures) return true;
  return link.failingSince !== null && now - link.failingSince >= patienceMs;
}

/** The state to publish, or null while nothing has been learnt yet. The first that applies wins. */
export function platformState(facts: LinkFacts, now: number): PlatformState | null {
  const { realtime, business } = facts;
  const untried = realtime.contactAt === null && realtime.failures === 0;
  if (isGone(realtime, now) || (untried && now - facts.startedAt >= patienceMs)) return "unreachable";
  if (facts.unauthorized) return "unauthorized";
  if (realtime.contactAt === null) return null;
  return isGone(business, now) || facts.stretched ? "degraded" : "online";
}

export const contacted = (link: HostLink, at: number): HostLink => ({
  ...link,
  contactAt: at,
  failures: 0,
  failingSince: null,
});

export const failed = (link: HostLink, at: number): HostLink => ({
  ...link,
  failures: link.failures + 1,
  failingSince: link.failingSince ?? at,
});
