import type { PlatformHost } from "../greenhouse/ports.js";
import { type Admission, openAfter, probeEveryMs } from "./circuit.js";
import { type Operation, operations } from "./operations.js";

/*
 * Counts by operation and device what brings nothing usable although the host is there, and refusals whose code nobody knows. One
 * operation that is broken takes no other one with it, and one device no other one; each is tried again at a pace of its own.
 */

/** An operation that brings nothing usable is tried this often, however many others take the shared probes. */
const ownProbeEveryMs = 300_000;
/** So many attempts in a row without anything usable, and it cannot be used. */
const badAfter = 2;
/** What was not asked for so long says nothing any more. */
const forgottenAfterMs = 3 * 3_600_000;
/** Polls come each minute or so: a credential that is let in for nothing for so long may have ended before anything showed it. */
const nothingLetInMs = 600_000;
/** Codes may be asked for that no device has. */
const mostDevices = 20_000;

interface DeviceState {
  /** Attempts in a row that brought nothing usable, and when the newest of them ended. */
  failures: number;
  failedAt: number;
  /** Whole calls in a row. */
  failedCalls: number;
  /** Refusals in a row, with a code that is not known to be about the credential; since when. */
  refusals: number;
  refusedSince: number;
  /** Generation of the credential that was let in last. */
  letIn: number;
}

interface Refusal {
  readonly code: string;
  readonly count: number;
}

interface OperationState {
  readonly operation: Operation;
  readonly devices: Map<string, DeviceState>;
  /** Devices for which it did not work last, the one that failed last at the end. */
  readonly bad: Set<string>;
  /** Attempts in a row that brought nothing usable for any device. */
  failures: number;
  probedAt: number;
  /** When it was usable again. */
  backAt: number;
  heldUntil: number;
  heldAt: number;
  refusal: Refusal | null;
  /** The sentence of the newest failure or refusal. */
  trouble: string | null;
}

/** An operation that cannot be used at present, as messages write it, and why. */
export interface UnusableOperation {
  readonly operation: string;
  readonly trouble: string;
}

/** One request, as far as the circuits care. */
export interface Asked {
  readonly operation: Operation;
  readonly device?: string | undefined;
}

const pass: Admission = { go: true, probe: false };

/** Instants are monotonic ms. */
export class OperationCircuits {
  readonly #states = new Map<Operation, OperationState>();
  readonly #acceptedAt: Record<PlatformHost, number> = { business: -Infinity, realtime: -Infinity };
  /** The interface document says that the business host checks credentials, and that the realtime host does not yet. */
  readonly #checks: Record<PlatformHost, boolean> = { business: true, realtime: false };
  readonly #refusal: Record<PlatformHost, Refusal | null> = { business: null, realtime: null };
  /** What was answered without a code, since anything was let in. */
  readonly #codeless: Record<PlatformHost, Set<Operation>> = { business: new Set(), realtime: new Set() };
  /** Of all operations of both hosts. */
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

  /** Whether the last call brought nothing usable, or none of the operation does, so that there is no use in trying twice. */
  isFailing({ operation, device = "" }: Asked): boolean {
    const state = this.#states.get(operation);
    if (state === undefined) return false;
    return state.failures >= openAfter || (state.devices.get(device)?.failedCalls ?? 0) > 0;
  }

  /** An answer was read; `generation` is of the credential that it was asked with. */
  onUsable({ operation, device = "" }: Asked, generation: number, now: number): void {
    const state = this.#stateOf(operation);
    if (state.failures >= openAfter) {
      state.backAt = now;
      // What was in its way may be over for the others as well.
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

  /** An attempt brought nothing usable. */
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

  /** A call has ended, and none of its attempts brought anything usable. */
  onGivenUp({ operation, device = "" }: Asked, trouble: string): void {
    const state = this.#stateOf(operation);
    const one = deviceIn(state, device);
    state.trouble = trouble;
    one.failedCalls += 1;
    noteBad(state, device);
  }

  /** The platform asked to wait. Returns whether it does so for another operation of the host, too. */
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

  /** What was asked to wait longest of what keeps this operation back: itself, and a sign-in by anything of its host. */
  #holding(operation: Operation): OperationState | undefined {
    if (operation !== operations.signIn) return this.#states.get(operation);
    let longest: OperationState | undefined;
    for (const state of this.#states.values())
      if (state.operation.host === operation.host && state.heldUntil > (longest?.heldUntil ?? 0))
        longest = state;
    return longest;
  }

  /** Whether this read was once answered with this credential. An earlier credential counts where the host answers nothing with this one. */
  wasLetIn({ operation, device = "" }: Asked, generation: number, now: number): boolean {
    const letIn = this.#states.get(operation)?.devices.get(device)?.letIn ?? 0;
    return letIn === generation || (letIn > 0 && this.letsNothingIn(operation.host, now));
  }

  /** It refused a credential, or let another one in to what it had refused before. */
  onChecked(host: PlatformHost): void {
    this.#checks[host] = true;
  }

  /**
   * Whether nothing was let in for minutes, as far as that concerns a host: one that checks credentials speaks for itself; of one that
   * may not check any the other host tells more.
   */
  letsNothingIn(host: PlatformHost, now: number): boolean {
    const { business, realtime } = this.#acceptedAt;
    const acceptedAt = this.#checks[host] ? this.#acceptedAt[host] : Math.max(business, realtime);
    return now - acceptedAt >= nothingLetInMs;
  }

  /**
   * Refused with a code that is not known. Returns whether the credential is in doubt: the second time in a row of this operation, or
   * of whatever was asked of the host, and nothing was let in between.
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
   * In the place of an answer came what holds no code, such as the way to a login page. Returns whether the credential is in doubt: another
   * operation of the host met the same, and nothing was let in between. Where it may be an ordinary outage, the other host has to have met
   * it too, or to be one that may let anything in.
   */
  onCodeless({ operation }: Asked, mayBeOutage: boolean, now: number): boolean {
    const { business, realtime } = this.#codeless;
    const met = this.#codeless[operation.host].add(operation);
    if (!mayBeOutage || (business.size > 0 && realtime.size > 0)) return mayBeOutage || met.size > 1;
    return met === business && !this.#checks.realtime && met.size > 1 && this.letsNothingIn("business", now);
  }

  /** A host that answered nothing at all is there again: what was asked of it meanwhile says nothing of an operation. */
  onHostBack(host: PlatformHost): void {
    for (const { operation, devices } of this.#states.values()) {
      if (operation.host !== host) continue;
      this.#stateOf(operation).failures = 0;
      for (const device of devices.values()) Object.assign(device, { failures: 0, failedCalls: 0 });
    }
  }

  /** A new credential: what the old one was refused is no trouble of this one. */
  onRenewed(): void {
    for (const host of ["business", "realtime"] as const) {
      this.#refusal[host] = null;
      this.#codeless[host].clear();
    }
    for (const state of this.#states.values()) state.refusal = null;
  }

  /** Operations of a host that cannot be used for more than half of what they are asked about. */
  unusable(host: PlatformHost, now: number): readonly UnusableOperation[] {
    const found: UnusableOperation[] = [];
    for (const state of this.#states.values()) {
      const { operation, trouble, bad, devices } = state;
      // What an account may have no right to makes no greenhouse.
      if (operation.host !== host || operation.isExtra || bad.size === 0) continue;
      const isBad = this.#badIn(state, now) * 2 > devices.size;
      if (isBad) found.push({ operation: operation.label, trouble: trouble ?? "" });
    }
    return found;
  }

  #badIn({ operation, bad, devices, failures }: OperationState, now: number): number {
    // Where nothing usable came for any device, those that are tried rarely now need not fail twice.
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
      // What a device refuses is its own matter, as long as the host lets anything in.
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
