import type { HostFacts, PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";

/*
 * Decides which requests may go out while a host is lost or refuses us; `HostLinks` at the end holds what is decided about.
 * All else is pure; instants are monotonic ms. While something is open, one probe per 30 s is let through for both hosts
 * together, so that an hour without platform costs few requests.
 */

interface HostCircuit {
  /** Consecutive attempts that brought no usable answer; since when. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** The device whose reads alone failed so far, with answers: the host may be well for all others. */
  readonly failedFor: string | null;
  /** Consecutive answers 401 or 403, with no other answer between them. */
  readonly refusals: number;
  readonly open: boolean;
  readonly probingSince: number | null;
  /** A call was held back since the last probe: its caller will come for the next one. */
  readonly wanted: boolean;
  /** Until when the host asked to be left alone, and when it did. */
  readonly heldUntil: number;
  readonly heldAt: number;
}

export interface Circuit {
  readonly business: HostCircuit;
  readonly realtime: HostCircuit;
  readonly probedAt: number | null;
  readonly probedHost: PlatformHost | null;
}

/**
 * `answered`: the platform said something usable, also a refusal of the request; `signedIn` where it let a credential in. `misplaced`: the host has no such path,
 * which is no sign that the platform is there. `challenged`: 401 or 403, while a new credential may still help; `refused`:
 * none will. `abandoned`: the caller gave up. `failed` has the device where the host did answer, but with an error or with
 * nothing usable, and whether it was the same request once more.
 */
export type RequestEnd =
  | { readonly type: "answered"; readonly signedIn?: boolean }
  | { readonly type: "misplaced" }
  | { readonly type: "challenged" }
  | { readonly type: "failed"; readonly device?: string | null; readonly isRetry?: boolean }
  | { readonly type: "refused" }
  | { readonly type: "held"; readonly ms: number }
  | { readonly type: "abandoned" };

export type Admission =
  | { readonly go: true; readonly probe: boolean }
  | { readonly go: false; readonly because: "lost" | "refused" | "held"; readonly retryInMs: number };

export const openAfter = 5;
const probeEveryMs = 30_000;
/** How much longer a host may wait for the other's turn before it takes it. */
const turnGraceMs = 15_000;
const probeLostMs = 90_000;
/** For so long errors about one device alone are that device's. */
const aloneForMs = 30_000;

const calm: HostCircuit = {
  failures: 0,
  failingSince: null,
  failedFor: null,
  refusals: 0,
  open: false,
  probingSince: null,
  wanted: false,
  heldUntil: 0,
  heldAt: 0,
};

export const closedCircuit: Circuit = { business: calm, realtime: calm, probedAt: null, probedHost: null };

const pass: Admission = { go: true, probe: false };
const probe: Admission = { go: true, probe: true };

const otherHost = (host: PlatformHost): PlatformHost => (host === "business" ? "realtime" : "business");

const withHost = (circuit: Circuit, host: PlatformHost, change: Partial<HostCircuit>): Circuit => ({
  ...circuit,
  [host]: { ...circuit[host], ...change },
});

/** Whether a request may go out now. An urgent one always may; where it finds the circuit open it counts as the probe. */
export function admit(
  circuit: Circuit,
  host: PlatformHost,
  now: number,
  urgent: boolean,
): { readonly circuit: Circuit; readonly admission: Admission } {
  const state = circuit[host];
  if (!state.open && (urgent || now >= state.heldUntil)) return { circuit, admission: pass };
  const retryInMs = urgent ? 0 : probeDueInMs(circuit, host, now);
  if (retryInMs === 0) return { circuit: probing(circuit, host, now), admission: probe };
  const because = now < state.heldUntil ? "held" : state.failures >= openAfter ? "lost" : "refused";
  const noted = !state.open || state.wanted ? circuit : withHost(circuit, host, { wanted: true });
  return { circuit: noted, admission: { go: false, because, retryInMs } };
}

/** Ms until this host's next probe may go out; 0 now. */
function probeDueInMs(circuit: Circuit, host: PlatformHost, now: number): number {
  const state = circuit[host];
  if (now < state.heldUntil) return state.heldUntil - now;
  if (!state.open) return 0;
  const isProbing = state.probingSince !== null && now - state.probingSince < probeLostMs;
  const dueAt = (circuit.probedAt ?? -Infinity) + probeEveryMs;
  if (isProbing) return Math.max(1_000, dueAt - now);
  const other = circuit[otherHost(host)];
  const isOthersTurn = circuit.probedHost === host && other.open && other.wanted;
  return Math.max(0, dueAt + (isOthersTurn ? turnGraceMs : 0) - now);
}

const probing = (circuit: Circuit, host: PlatformHost, now: number): Circuit => ({
  ...withHost(circuit, host, { probingSince: now, wanted: false }),
  probedAt: now,
  probedHost: host,
});

/** The circuit after a request that was let through has ended. Unchanged circuits keep their reference. */
export function settle(circuit: Circuit, host: PlatformHost, outcome: RequestEnd, now: number): Circuit {
  switch (outcome.type) {
    case "answered":
    case "misplaced":
      return onAnswered(circuit, host);
    case "held":
      return withHost(onAnswered(circuit, host), host, { heldUntil: now + outcome.ms, heldAt: now });
    case "failed":
      return onFailed(circuit, host, outcome, now);
    case "challenged":
      return onChallenged(circuit, host);
    case "refused":
      return refused(circuit, host, now);
    case "abandoned":
      return circuit[host].probingSince === null ? circuit : withHost(circuit, host, { probingSince: null });
  }
}

function onAnswered(circuit: Circuit, host: PlatformHost): Circuit {
  const state = circuit[host];
  if (state.failures === 0 && state.refusals === 0 && !state.open) return circuit;
  const next = { ...circuit, [host]: { ...calm, heldUntil: state.heldUntil, heldAt: state.heldAt } };
  return state.open ? { ...next, probedAt: null } : next;
}

/**
 * A device with a record that the platform stumbles over must not take all others away: however often its reads are answered
 * with an error, they are one failure, which lasts from its second read on. Where no other read is answered for long, it is
 * the host's trouble.
 */
function onFailed(
  circuit: Circuit,
  host: PlatformHost,
  { device = null, isRetry = false }: Extract<RequestEnd, { type: "failed" }>,
  now: number,
): Circuit {
  const state = circuit[host];
  const isFirst = device !== null && state.failures === 0;
  if (isFirst) return withHost(circuit, host, { failures: 1, failedFor: device, probingSince: null });
  const failingSince = state.failingSince ?? now;
  if (device !== null && device === state.failedFor && now - failingSince < aloneForMs)
    return withHost(circuit, host, {
      failingSince: isRetry ? state.failingSince : failingSince,
      probingSince: null,
    });
  const failures = state.failures + 1;
  const since = { failures, failingSince, failedFor: null, probingSince: null };
  return onOpened(withHost(circuit, host, since), host, failures >= openAfter, now);
}

function onChallenged(circuit: Circuit, host: PlatformHost): Circuit {
  const state = circuit[host];
  if (state.failures === 0 && state.probingSince === null) return circuit;
  const open = state.refusals >= openAfter;
  const reached = { failures: 0, failingSince: null, failedFor: null, probingSince: null, open };
  const next = withHost(circuit, host, reached);
  return state.open && !open ? { ...next, probedAt: null } : next;
}

function refused(circuit: Circuit, host: PlatformHost, now: number): Circuit {
  const refusals = circuit[host].refusals + 1;
  return onOpened(withHost(circuit, host, { refusals }), host, refusals >= openAfter, now);
}

function onOpened(circuit: Circuit, host: PlatformHost, isOver: boolean, now: number): Circuit {
  if (!isOver || circuit[host].open) return circuit;
  return { ...withHost(circuit, host, { open: true }), probedAt: circuit.probedAt ?? now };
}

/** A new credential: refusals of the old one no longer count. */
export function renew(circuit: Circuit): Circuit {
  const { business, realtime } = circuit;
  if (business.refusals === 0 && realtime.refusals === 0) return circuit;
  return { ...circuit, business: forgiven(business), realtime: forgiven(realtime) };
}

const forgiven = (state: HostCircuit): HostCircuit =>
  state.refusals === 0 ? state : { ...state, refusals: 0, open: state.failures >= openAfter };

export type HostLink = HostFacts & { readonly host: PlatformHost };
export type OnLink = (link: HostLink) => void;

interface Contact {
  contactAt: number | null;
  trouble: string | null;
  /** The credential in use has been accepted here. */
  accepted: boolean;
  told: HostLink | null;
}

const noContact = (): Contact => ({
  contactAt: null,
  trouble: null,
  accepted: false,
  told: null,
});

const hosts = ["business", "realtime"] as const;

/** Keeps the circuit and tells the listener whenever a host's link changes; plain success tells nothing new. */
export class HostLinks {
  readonly #clock: Clock;
  readonly #onLink: OnLink;
  readonly #heldListeners: ((host: PlatformHost, ms: number) => void)[] = [];
  readonly #contacts: Readonly<Record<PlatformHost, Contact>> = {
    business: noContact(),
    realtime: noContact(),
  };
  #circuit: Circuit = closedCircuit;
  #isMissing = false;

  constructor(clock: Clock, onLink: OnLink) {
    this.#clock = clock;
    this.#onLink = onLink;
  }

  /** Calls back when a host asked to be left alone. */
  onHeld(listener: (host: PlatformHost, ms: number) => void): void {
    this.#heldListeners.push(listener);
  }

  /** Leaves a host alone that asked others for it; for longer than it is left alone anyway. */
  hold(host: PlatformHost, ms: number): void {
    const now = this.#clock.monotonic();
    if (now + ms > this.#circuit[host].heldUntil)
      this.#circuit = withHost(this.#circuit, host, { heldUntil: now + ms, heldAt: now });
  }

  admit(host: PlatformHost, urgent: boolean): Admission {
    const { circuit, admission } = admit(this.#circuit, host, this.#clock.monotonic(), urgent);
    this.#circuit = circuit;
    return admission;
  }

  /** Whether the credential in use has been accepted here. */
  hasAccepted(host: PlatformHost): boolean {
    return this.#contacts[host].accepted;
  }

  /** Whether the host answered anything since then, monotonic ms. */
  hasAnsweredSince(host: PlatformHost, since: number): boolean {
    const { contactAt } = this.#contacts[host];
    return contactAt !== null && contactAt > since;
  }

  isPaused(host: PlatformHost): boolean {
    return this.#circuit[host].open;
  }

  /** For how long the host has been left alone as it asked, ms. */
  heldForMs(host: PlatformHost): number {
    return this.#clock.monotonic() - this.#circuit[host].heldAt;
  }

  /** Notes how an admitted request ended; `trouble` is the sentence of its error. */
  settle(host: PlatformHost, outcome: RequestEnd, trouble: string | null = null): void {
    const now = this.#clock.monotonic();
    const contact = this.#contacts[host];
    this.#circuit = settle(this.#circuit, host, outcome, now);
    const { type } = outcome;
    if (type === "held") for (const listener of this.#heldListeners) listener(host, outcome.ms);
    if (type === "answered" || type === "challenged" || type === "held") contact.contactAt = now;
    if (type === "answered") contact.accepted = true;
    if (type !== "abandoned") contact.trouble = trouble;
    // A read the business host answers ends a refusal of signing in, also when it was the old credential that helped.
    const isBack = this.#isMissing && host === "business" && type === "answered" && outcome.signedIn === true;
    if (isBack) this.#isMissing = false;
    if (type !== "abandoned") for (const one of isBack ? hosts : [host]) this.#tell(one);
  }

  credentialRenewed(): void {
    this.#circuit = renew(this.#circuit);
    this.#isMissing = false;
    for (const host of hosts) {
      this.#contacts[host].accepted = false;
      this.#tell(host);
    }
  }

  /** There is none to send: the sign-in is refused, the token file is empty. */
  credentialMissing(): void {
    this.#isMissing = true;
    for (const host of hosts) this.#tell(host);
  }

  link(host: PlatformHost): HostLink {
    const { contactAt, trouble, accepted } = this.#contacts[host];
    const { failures, failingSince, refusals } = this.#circuit[host];
    const unauthorized = this.#isMissing || refusals >= (accepted ? 2 : 1);
    return { host, contactAt, failures, failingSince, trouble, unauthorized };
  }

  #tell(host: PlatformHost): void {
    const link = this.link(host);
    const contact = this.#contacts[host];
    const { told } = contact;
    const isSame =
      told?.failures === link.failures &&
      told.unauthorized === link.unauthorized &&
      (told.contactAt === null) === (link.contactAt === null);
    if (isSame) return;
    contact.told = link;
    this.#onLink(link);
  }
}
