import type { PlatformHost } from "../greenhouse/ports.js";

/*
 * Decides which requests may go out while a host does not answer or refuses us. Pure; instants are monotonic ms. While
 * a circuit is open, one probe per 30 s passes for both hosts together, so that an hour of outage costs few requests.
 * Trouble of a single operation is handled in `operation-circuit.ts`.
 */

interface HostCircuit {
  /** Attempts in a row without connection or answer, and since when. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** The only operation without answers over good connections, so the host may be well for all others; else null. */
  readonly silent: string | null;
  /** Answers 401 or 403 in a row. */
  readonly refusals: number;
  readonly open: boolean;
  readonly probingSince: number | null;
  /** Whether a call was held back since the last probe; its caller will come for the next one. */
  readonly wanted: boolean;
  /** Until when the host asked for a pause, and when it did. */
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
 * How a request ended. `answered`: usable, even a refusal of the request; `signedIn`: a credential was accepted.
 * `heard`: the host is there, but its answer is useless or incomplete. `challenged`: 401 or 403 that a new credential
 * may solve, or a pause of this operation. `refused`: no credential helps. `abandoned`: the caller gave up. `failed`:
 * no connection or answer; `operation` is set where there was a connection.
 */
export type RequestEnd =
  | { readonly type: "answered"; readonly signedIn?: boolean }
  | { readonly type: "heard" }
  | { readonly type: "challenged" }
  | { readonly type: "failed"; readonly operation?: string | null }
  | { readonly type: "refused" }
  | { readonly type: "held"; readonly ms: number }
  | { readonly type: "abandoned" };

export type Admission =
  | { readonly go: true; readonly probe: boolean }
  | {
      readonly go: false;
      readonly because: "lost" | "refused" | "held" | "useless";
      readonly retryInMs: number;
    };

export const openAfter = 5;
export const probeEveryMs = 30_000;
/** How much longer the other host's turn is awaited. */
const turnGraceMs = 15_000;
const probeLostMs = 90_000;

const calm: HostCircuit = {
  failures: 0,
  failingSince: null,
  silent: null,
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

export const withHost = (circuit: Circuit, host: PlatformHost, change: Partial<HostCircuit>): Circuit => ({
  ...circuit,
  [host]: { ...circuit[host], ...change },
});

/** Whether a request may go out now. An urgent one always may; with an open circuit it counts as the probe. */
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
  const because = now < state.heldUntil ? "held" : isLost(state) ? "lost" : "refused";
  const noted = !state.open || state.wanted ? circuit : withHost(circuit, host, { wanted: true });
  return { circuit: noted, admission: { go: false, because, retryInMs } };
}

/** Ms until this host's next probe; 0 for now. */
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

/** The circuit after an admitted request ended. Unchanged circuits keep their reference. */
export function settle(circuit: Circuit, host: PlatformHost, outcome: RequestEnd, now: number): Circuit {
  switch (outcome.type) {
    case "answered":
      return onAnswered(circuit, host);
    case "held":
      return withHost(onAnswered(circuit, host), host, { heldUntil: now + outcome.ms, heldAt: now });
    case "failed":
      return onFailed(circuit, host, outcome, now);
    case "heard":
    case "challenged":
      return onHeard(circuit, host);
    case "refused":
      return onRefused(circuit, host, now);
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

/** Counts a failure. As long as only one operation gets no answer, the host counts as present. */
function onFailed(
  circuit: Circuit,
  host: PlatformHost,
  { operation = null }: Extract<RequestEnd, { type: "failed" }>,
  now: number,
): Circuit {
  const state = circuit[host];
  const failures = state.failures + 1;
  const silent = failures === 1 || state.silent === operation ? operation : null;
  const failingSince = state.failingSince ?? now;
  const next = withHost(circuit, host, { failures, failingSince, silent, probingSince: null });
  return onOpened(next, host, isLost(next[host]), now);
}

const isLost = ({ failures, silent }: HostCircuit): boolean => failures >= openAfter && silent === null;

function onHeard(circuit: Circuit, host: PlatformHost): Circuit {
  const state = circuit[host];
  if (state.failures === 0 && state.probingSince === null) return circuit;
  const open = state.refusals >= openAfter;
  const reached = { failures: 0, failingSince: null, silent: null, probingSince: null, open };
  const next = withHost(circuit, host, reached);
  return state.open && !open ? { ...next, probedAt: null } : next;
}

function onRefused(circuit: Circuit, host: PlatformHost, now: number): Circuit {
  const refusals = circuit[host].refusals + 1;
  return onOpened(withHost(circuit, host, { refusals }), host, refusals >= openAfter, now);
}

function onOpened(circuit: Circuit, host: PlatformHost, isOver: boolean, now: number): Circuit {
  if (!isOver || circuit[host].open) return circuit;
  return { ...withHost(circuit, host, { open: true }), probedAt: circuit.probedAt ?? now };
}

/** The circuit with a new credential: refusals of the old one no longer count. */
export function renew(circuit: Circuit): Circuit {
  const { business, realtime } = circuit;
  if (business.refusals === 0 && realtime.refusals === 0) return circuit;
  return { ...circuit, business: forgive(business), realtime: forgive(realtime) };
}

const forgive = (state: HostCircuit): HostCircuit =>
  state.refusals === 0 ? state : { ...state, refusals: 0, open: isLost(state) };
