import type { PlatformHost } from "../greenhouse/ports.js";
import { type Admission, openAfter, probeEveryMs } from "./circuit.js";
import { type Operation, operations } from "./operations.js";

/*
 * Counts, by operation and device, what is unusable although the host is there, and refusals with unknown codes. A
 * broken operation or device does not affect others; each is tried again at its own pace.
 */

/** How often an unusable operation is tried, however many others use the shared probes. */
const ownProbeEveryMs = 300_000;
/** Attempts in a row without a usable answer that make an operation unusable. */
const badAfter = 2;
/** Older counts no longer matter. */
const forgottenAfterMs = 3 * 3_600_000;
/**
 * Polls come about every minute, so a credential that was accepted nowhere for this long may have expired unnoticed.
 */
const nothingLetInMs = 600_000;
/** A bound, as codes may be requested that no device has. */
const mostDevices = 20_000;

interface DeviceState {
  /** Attempts in a row without a usable answer, and the end of the newest. */
  failures: number;
  failedAt: number;
  /** Calls in a row without a usable answer. */
  failedCalls: number;
  /** Refusals in a row with an unknown code, and since when. */
  refusals: number;
  refusedSince: number;
  /** Generation of the credential last accepted. */
  letIn: number;
}

interface Refusal {
  readonly code: string;
  readonly count: number;
}

interface OperationState {
  readonly operation: Operation;
  readonly devices: Map<string, DeviceState>;
  /** Devices whose last call failed; the newest failure is at the end. */
  readonly bad: Set<string>;
  /** Attempts in a row without a usable answer for any device. */
  failures: number;
  probedAt: number;
  /** When it became usable again. */
  backAt: number;
  heldUntil: number;
  heldAt: number;
  refusal: Refusal | null;
  /** The sentence of the newest failure or refusal. */
  trouble: string | null;
}

/** An operation that is unusable now, as messages write it, with the reason. */
export interface UnusableOperation {
  readonly operation: string;
  readonly trouble: string;
}

/** A request, as the circuits see it. */
export interface Asked {
  readonly operation: Operation;
  readonly device?: string | undefined;
}

const pass: Admission = { go: true, probe: false };

/** Circuits by operation. Instants are monotonic ms. */
export class OperationCircuits {
  readonly #states = new Map<Operation, OperationState>();
  readonly #acceptedAt: Record<PlatformHost, number> = { business: -Infinity, realtime: -Infinity };
  /** By the interface document the business host checks credentials, and the realtime host does not yet. */
  readonly #checks: Record<PlatformHost, boolean> = { business: true, realtime: false };
  readonly #refusal: Record<PlatformHost, Refusal | null> = { business: null, realtime: null };
  /** Operations answered without a code since anything was last accepted. */
  readonly #codeless: Record<PlatformHost, Set<Operation>> = { business: new Set(), realtime: new Set() };
  /** The newest probe of any operation on either host. */
  #probedAt = -Infinity;

  /** Whether a poll may go out now. */
  admit({ operation, device = "" }: Asked, now: number): Admission {
    const heldUntil = this.#holding(operation)?.heldUntil ?? 0;
    if (now < heldUntil) return { go: false, because: "held", retryInMs: heldUntil - now };
    const state = this.#states.get(operation);
    if (state === undefined) return pass;
    const one = state.devices.get(device);
    if (state.failures >= openAfter && one?.failures !== 0) {
      const dueAt = Math.min(this.#probedAt + probeEveryMs, state.probedAt + ownProbeEveryMs);
      if (now < dueAt) return { go: false, because: "useless", retryInMs: dueAt - now };
      this.#probedAt = now;
      state.probedAt = now;
      return { go: true, probe: true };
    }
    if (one === undefined || one.failures < openAfter || one.failedAt < state.backAt) return pass;
    const retryInMs = one.failedAt + probeEveryMs - now;
    return retryInMs > 0 ? { go: false, because: "useless", retryInMs } : { go: true, probe: true };
  }

  /** Whether a repetition is useless, as the device's last call or the whole operation failed. */
  isFailing({ operation, device = "" }: Asked): boolean {
    const state = this.#states.get(operation);
    if (state === undefined) return false;
    return state.failures >= openAfter || (state.devices.get(device)?.failedCalls ?? 0) > 0;
  }

  /** Notes a usable answer; `generation`: of the credential used. */
  onUsable({ operation, device = "" }: Asked, generation: number, now: number): void {
    const state = this.#stateOf(operation);
    if (state.failures >= openAfter) {
      state.backAt = now;
      // Other operations may have recovered too.
      this.#probedAt = -Infinity;
    }
    state.failures = 0;
    state.refusal = null;
    const one = deviceIn(state, device);
    one.failures = 0;
    one.failedCalls = 0;
    one.refusals = 0;
    one.letIn = generation;
    state.bad.delete(device);
    this.#acceptedAt[operation.host] = now;
    this.#refusal[operation.host] = null;
    this.#codeless[operation.host].clear();
  }

  /** Notes an attempt without a usable answer. */
  onUseless({ operation, device = "" }: Asked, now: number): void {
    const state = this.#stateOf(operation);
    const one = deviceIn(state, device);
    state.failures += 1;
    one.failures += 1;
    one.failedAt = now;
    if (state.failures !== openAfter) return;
    state.probedAt = now;
    if (now - this.#probedAt > probeEveryMs) this.#probedAt = now;
  }

  /** Notes a call in which no attempt was usable. */
  onGivenUp({ operation, device = "" }: Asked, trouble: string): void {
    const state = this.#stateOf(operation);
    const one = deviceIn(state, device);
    state.trouble = trouble;
    one.failedCalls += 1;
    noteBad(state, device);
  }

  /** Notes the platform's request to wait; returns whether another operation of the host waits too. */
  onHeld({ operation }: Asked, ms: number, now: number): boolean {
    const state = this.#stateOf(operation);
    state.heldUntil = now + ms;
    state.heldAt = now;
    return [...this.#states.values()].some(
      (other) => other !== state && other.operation.host === operation.host && now < other.heldUntil,
    );
  }

  heldAt(operation: Operation): number {
    return this.#holding(operation)?.heldAt ?? -Infinity;
  }

  /** The longest pause that affects this operation: its own; for a sign-in that of any operation on its host. */
  #holding(operation: Operation): OperationState | undefined {
    if (operation !== operations.signIn) return this.#states.get(operation);
    let longest: OperationState | undefined;
    for (const state of this.#states.values())
      if (state.operation.host === operation.host && state.heldUntil > (longest?.heldUntil ?? 0))
        longest = state;
    return longest;
  }

  /**
   * Whether this read was ever answered with this credential. Where nothing was accepted for minutes, an earlier
   * credential counts too.
   */
  wasLetIn({ operation, device = "" }: Asked, generation: number, now: number): boolean {
    const letIn = this.#states.get(operation)?.devices.get(device)?.letIn ?? 0;
    return letIn === generation || (letIn > 0 && this.letsNothingIn(operation.host, now));
  }

  /** The host refused a credential, or accepted a second one after a refusal. */
  onChecked(host: PlatformHost): void {
    this.#checks[host] = true;
  }

  /**
   * Whether nothing was accepted for minutes. Only for a host that checks credentials its own acceptances count;
   * otherwise those of both.
   */
  letsNothingIn(host: PlatformHost, now: number): boolean {
    const { business, realtime } = this.#acceptedAt;
    const acceptedAt = this.#checks[host] ? this.#acceptedAt[host] : Math.max(business, realtime);
    return now - acceptedAt >= nothingLetInMs;
  }

  /**
   * Notes a refusal with an unknown code. Returns whether the credential is in doubt: for the second time in a row for
   * this operation, or for the host, without an acceptance in between.
   */
  onRefused(asked: Asked, code: string, trouble: string, now: number): boolean {
    const { operation, device = "" } = asked;
    const { host } = operation;
    const state = this.#stateOf(operation);
    const one = deviceIn(state, device);
    state.failures = 0;
    one.failures = 0;
    one.failedCalls = 0;
    if (one.refusals === 0) one.refusedSince = now;
    one.refusals += 1;
    state.trouble = trouble;
    state.refusal = countRefusal(state.refusal, code);
    this.#refusal[host] = countRefusal(this.#refusal[host], code);
    noteBad(state, device);
    return Math.max(state.refusal.count, this.#refusal[host].count) >= badAfter;
  }

  /**
   * Notes an answer without a code, such as a redirect to a login page. Returns whether the credential is in doubt:
   * another operation of the host got the same, without an acceptance in between. Where it may be an ordinary outage,
   * the other host has to have got it too, or to be one that may accept anything.
   */
  onCodeless({ operation }: Asked, mayBeOutage: boolean, now: number): boolean {
    const { business, realtime } = this.#codeless;
    const met = this.#codeless[operation.host].add(operation);
    if (!mayBeOutage || (business.size > 0 && realtime.size > 0)) return mayBeOutage || met.size > 1;
    return met === business && !this.#checks.realtime && met.size > 1 && this.letsNothingIn("business", now);
  }

  /** A host that did not answer at all is back, so failures meanwhile say nothing about its operations. */
  onHostBack(host: PlatformHost): void {
    for (const { operation, devices } of this.#states.values()) {
      if (operation.host !== host) continue;
      this.#stateOf(operation).failures = 0;
      for (const device of devices.values()) Object.assign(device, { failures: 0, failedCalls: 0 });
    }
  }

  /** Refusals of the old credential do not concern the new one. */
  onRenewed(): void {
    for (const host of ["business", "realtime"] as const) {
      this.#refusal[host] = null;
      this.#codeless[host].clear();
    }
    for (const state of this.#states.values()) state.refusal = null;
  }

  /** Operations of a host that fail for more than half of their devices. */
  unusable(host: PlatformHost, now: number): readonly UnusableOperation[] {
    const found: UnusableOperation[] = [];
    for (const state of this.#states.values()) {
      const { operation, trouble, bad, devices } = state;
      // Extra operations do not matter, as an account may have no right to them.
      if (operation.host !== host || operation.isExtra || bad.size === 0) continue;
      const isBad = this.#badIn(state, now) * 2 > devices.size;
      if (isBad) found.push({ operation: operation.label, trouble: trouble ?? "" });
    }
    return found;
  }

  #badIn({ operation, bad, devices, failures }: OperationState, now: number): number {
    // Where the operation failed for every device, one failure each is enough, as they are rarely tried now.
    const enough = failures >= openAfter ? 1 : badAfter;
    const acceptedAt = this.#acceptedAt[operation.host];
    let count = 0;
    for (const device of bad) {
      const one = devices.get(device);
      const since = one === undefined ? -Infinity : Math.max(one.failedAt, one.refusedSince);
      if (one === undefined || now - since > forgottenAfterMs) {
        bad.delete(device);
        devices.delete(device);
        continue;
      }
      // A refusal concerns only its device, as long as the host accepts anything.
      const isRefused = one.refusals >= badAfter && (device === "" || one.refusedSince > acceptedAt);
      if (one.failures >= enough || isRefused) count += 1;
    }
    return count;
  }

  #stateOf(operation: Operation): OperationState {
    const known = this.#states.get(operation);
    if (known !== undefined) return known;
    const state: OperationState = {
      operation,
      devices: new Map(),
      bad: new Set(),
      failures: 0,
      probedAt: -Infinity,
      backAt: -Infinity,
      heldUntil: 0,
      heldAt: -Infinity,
      refusal: null,
      trouble: null,
    };
    this.#states.set(operation, state);
    return state;
  }
}

function deviceIn({ devices, bad }: OperationState, device: string): DeviceState {
  const known = devices.get(device);
  if (known !== undefined) return known;
  const oldest = devices.size < mostDevices ? undefined : devices.keys().next().value;
  if (oldest !== undefined) {
    devices.delete(oldest);
    bad.delete(oldest);
  }
  const fresh: DeviceState = {
    failures: 0,
    failedAt: -Infinity,
    failedCalls: 0,
    refusals: 0,
    refusedSince: -Infinity,
    letIn: 0,
  };
  devices.set(device, fresh);
  return fresh;
}

function noteBad({ bad }: OperationState, device: string): void {
  bad.delete(device);
  bad.add(device);
}

const countRefusal = (before: Refusal | null, code: string): Refusal => ({
  code,
  count: before?.code === code ? before.count + 1 : 1,
});
