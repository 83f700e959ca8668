import type { HostFacts, PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import {
  type Admission,
  admit,
  type Circuit,
  closedCircuit,
  renew,
  type RequestEnd,
  settle,
  withHost,
} from "./circuit.js";
import type { Operation } from "./operations.js";
import { type Asked, OperationCircuits } from "./operation-circuit.js";

export type HostLink = HostFacts & { readonly host: PlatformHost };
export type OnLink = (link: HostLink) => void;

interface Contact {
  contactAt: number | null;
  heardAt: number | null;
  trouble: string | null;
  /** Whether the present credential has been accepted here. */
  accepted: boolean;
  told: HostLink | null;
}

const noContact = (): Contact => ({
  contactAt: null,
  heardAt: null,
  trouble: null,
  accepted: false,
  told: null,
});

const hosts = ["business", "realtime"] as const;

/**
 * Keeps the circuits of hosts and operations, and calls the listener when a host's link changes; a further success is
 * no change.
 */
export class HostLinks {
  readonly #clock: Clock;
  readonly #onLink: OnLink;
  readonly #renewalListeners: (() => void)[] = [];
  readonly #answerListeners: ((host: PlatformHost, waitMs: number | null) => void)[] = [];
  readonly #contacts: Readonly<Record<PlatformHost, Contact>> = {
    business: noContact(),
    realtime: noContact(),
  };
  readonly #operations = new OperationCircuits();
  #circuit: Circuit = closedCircuit;
  #isMissing = false;

  constructor(clock: Clock, onLink: OnLink) {
    this.#clock = clock;
    this.#onLink = onLink;
  }

  /** Calls back when a host answered a read, with the pause that it asks for; null for none. */
  onReadAnswered(listener: (host: PlatformHost, waitMs: number | null) => void): void {
    this.#answerListeners.push(listener);
  }

  /** Calls back when there is a new credential. */
  onRenewed(listener: () => void): void {
    this.#renewalListeners.push(listener);
  }

  /** Notes an answer; `signedIn`: with a credential. */
  onAnswered(operation: Operation, signedIn: boolean): void {
    this.settle(operation.host, { type: "answered", signedIn });
    this.#tellAnswer(operation, null);
  }

  /** Only reads count: commands are sent during pauses too, and may have their own quota. */
  #tellAnswer({ method, host }: Operation, waitMs: number | null): void {
    if (method === "GET") for (const listener of this.#answerListeners) listener(host, waitMs);
  }

  /** Pauses a host that asked other accounts to wait, unless it pauses longer already. */
  hold(host: PlatformHost, ms: number): void {
    const now = this.#clock.monotonic();
    if (now + ms > this.#circuit[host].heldUntil)
      this.#circuit = withHost(this.#circuit, host, { heldUntil: now + ms, heldAt: now });
  }

  /** Whether a request may go out. Failures of its operation do not stop an urgent one. */
  admit(asked: Asked, urgent: boolean): Admission {
    const now = this.#clock.monotonic();
    const { circuit, admission } = admit(this.#circuit, asked.operation.host, now, urgent);
    this.#circuit = circuit;
    return urgent || !admission.go || admission.probe ? admission : this.#operations.admit(asked, now);
  }

  /** Whether requests to the host are held back, as it does not answer or refuses them. */
  isCircuitOpen(host: PlatformHost): boolean {
    return this.#circuit[host].open;
  }

  /** Whether the host has accepted the present credential. */
  hasAccepted(host: PlatformHost): boolean {
    return this.#contacts[host].accepted;
  }

  /** Whether the host has answered anything since a monotonic instant. */
  hasAnsweredSince(host: PlatformHost, since: number): boolean {
    const { heardAt } = this.#contacts[host];
    return heardAt !== null && heardAt > since;
  }

  /**
   * Whether an immediate repetition is useless. Failures of the operation do not count where somebody waits for the
   * answer.
   */
  isPaused(asked: Asked, urgent: boolean): boolean {
    return this.isCircuitOpen(asked.operation.host) || (!urgent && this.#operations.isFailing(asked));
  }

  /** How long this has paused at the platform's request, ms. */
  heldForMs(operation: Operation): number {
    const { heldAt } = this.#circuit[operation.host];
    return this.#clock.monotonic() - Math.max(heldAt, this.#operations.heldAt(operation));
  }

  /** Notes the end of an admitted request; `trouble` is the sentence of its error. */
  settle(host: PlatformHost, outcome: RequestEnd, trouble: string | null = null): void {
    const now = this.#clock.monotonic();
    const contact = this.#contacts[host];
    const wasOpen = this.#circuit[host].open;
    this.#circuit = settle(this.#circuit, host, outcome, now);
    if (wasOpen && !this.#circuit[host].open) this.#operations.onHostBack(host);
    const { type } = outcome;
    if (type === "abandoned") return;
    if (type !== "failed" && type !== "refused") contact.heardAt = now;
    if (type === "answered" || type === "challenged" || type === "held") contact.contactAt = now;
    if (type === "answered") contact.accepted = true;
    contact.trouble = type === "heard" ? null : trouble;
    // An answered read on the business host ends a refusal of sign-in, even with the old credential.
    const isBack = this.#isMissing && host === "business" && type === "answered" && outcome.signedIn === true;
    if (isBack) this.#isMissing = false;
    for (const one of isBack ? hosts : [host]) this.#tell(one);
  }

  /**
   * Notes the platform's request to wait: for this operation, and for the whole host if another operation waits too.
   */
  onAskedToWait(asked: Asked, ms: number, trouble: string): void {
    const { host } = asked.operation;
    const isOfHost = this.#operations.onHeld(asked, ms, this.#clock.monotonic());
    this.#tellAnswer(asked.operation, ms);
    this.settle(host, isOfHost ? { type: "held", ms } : { type: "challenged" }, trouble);
  }

  /** Notes a usable answer. */
  onUsable(asked: Asked, generation: number): void {
    this.#operations.onUsable(asked, generation, this.#clock.monotonic());
    this.#tell(asked.operation.host);
  }

  /** Notes an attempt without a usable answer, although there was a connection. */
  onUseless(asked: Asked): void {
    this.#operations.onUseless(asked, this.#clock.monotonic());
  }

  /** Notes a call that ended without a usable answer. */
  onGivenUp(asked: Asked, trouble: string): void {
    this.#operations.onGivenUp(asked, trouble);
    this.#tell(asked.operation.host);
  }

  /** Notes a refusal with an unknown code; returns whether it may be about the credential. */
  onRefused(asked: Asked, code: string, trouble: string): boolean {
    const isDoubtful = this.#operations.onRefused(asked, code, trouble, this.#clock.monotonic());
    this.#tell(asked.operation.host);
    return isDoubtful;
  }

  onCodeless(asked: Asked, mayBeOutage: boolean): boolean {
    return this.#operations.onCodeless(asked, mayBeOutage, this.#clock.monotonic());
  }

  wasLetIn(asked: Asked, generation: number): boolean {
    return this.#operations.wasLetIn(asked, generation, this.#clock.monotonic());
  }

  /** Notes that this host checks credentials. */
  onChecked(host: PlatformHost): void {
    this.#operations.onChecked(host);
  }

  /** Whether nothing was accepted for minutes, as far as this host is concerned. */
  letsNothingIn(host: PlatformHost): boolean {
    return this.#operations.letsNothingIn(host, this.#clock.monotonic());
  }

  credentialRenewed(): void {
    this.#circuit = renew(this.#circuit);
    this.#operations.onRenewed();
    this.#isMissing = false;
    for (const host of hosts) {
      this.#contacts[host].accepted = false;
      this.#tell(host);
    }
    for (const listener of this.#renewalListeners) listener();
  }

  /** Notes that there is no credential: the sign-in is refused, or the token file is empty. */
  credentialMissing(): void {
    this.#isMissing = true;
    for (const host of hosts) this.#tell(host);
  }

  link(host: PlatformHost): HostLink {
    const { contactAt, heardAt, trouble, accepted } = this.#contacts[host];
    const { failures, failingSince, silent, refusals } = this.#circuit[host];
    const unauthorized = this.#isMissing || refusals >= (accepted ? 2 : 1);
    const unusable = this.#operations.unusable(host, this.#clock.monotonic());
    return { host, contactAt, heardAt, failures, failingSince, silent, trouble, unauthorized, unusable };
  }

  #tell(host: PlatformHost): void {
    const link = this.link(host);
    const contact = this.#contacts[host];
    const { told } = contact;
    const isSame =
      told?.failures === link.failures &&
      told.unauthorized === link.unauthorized &&
      (told.contactAt === null) === (link.contactAt === null) &&
      (told.heardAt === null) === (link.heardAt === null) &&
      told.unusable.length === link.unusable.length &&
      told.unusable.every(({ operation }, at) => operation === link.unusable[at]?.operation);
    if (isSame) return;
    contact.told = link;
    this.#onLink(link);
  }
}
