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
  /** The credential in use has been accepted here. */
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

/** Keeps the circuits of hosts and operations and tells the listener whenever a host's link changes; plain success tells nothing new. */
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

  /** Calls back when a host answered a read: for how long it asks to be left alone, null where it does not. */
  onReadAnswered(listener: (host: PlatformHost, waitMs: number | null) => void): void {
    this.#answerListeners.push(listener);
  }

  /** Calls back when there is another credential than before. */
  onRenewed(listener: () => void): void {
    this.#renewalListeners.push(listener);
  }

  /** A request was answered; `signedIn`: with a credential. */
  onAnswered(operation: Operation, signedIn: boolean): void {
    this.settle(operation.host, { type: "answered", signedIn });
    this.#tellAnswer(operation, null);
  }

  /** Commands are sent in a pause too, and may have a quota of their own. */
  #tellAnswer({ method, host }: Operation, waitMs: number | null): void {
    if (method === "GET") for (const listener of this.#answerListeners) listener(host, waitMs);
  }

  /** Leaves a host alone that asked others for it; for longer than it is left alone anyway. */
  hold(host: PlatformHost, ms: number): void {
    const now = this.#clock.monotonic();
    if (now + ms > this.#circuit[host].heldUntil)
      this.#circuit = withHost(this.#circuit, host, { heldUntil: now + ms, heldAt: now });
  }

  /** Failures of its operation keep no urgent request back. */
  admit(asked: Asked, urgent: boolean): Admission {
    const now = this.#clock.monotonic();
    const { circuit, admission } = admit(this.#circuit, asked.operation.host, now, urgent);
    this.#circuit = circuit;
    return urgent || !admission.go || admission.probe ? admission : this.#operations.admit(asked, now);
  }

  /** Whether the credential in use has been accepted here. */
  hasAccepted(host: PlatformHost): boolean {
    return this.#contacts[host].accepted;
  }

  /** Whether the host answered anything since then, monotonic ms. */
  hasAnsweredSince(host: PlatformHost, since: number): boolean {
    const { heardAt } = this.#contacts[host];
    return heardAt !== null && heardAt > since;
  }

  /** Whether trying once more at once is of no use. Failures of the operation do not count where somebody waits for the answer. */
  isPaused(asked: Asked, urgent: boolean): boolean {
    const isOpen = this.#circuit[asked.operation.host].open;
    return isOpen || (!urgent && this.#operations.isFailing(asked));
  }

  /** For how long this has been left alone as the platform asked, ms. */
  heldForMs(operation: Operation): number {
    const { heldAt } = this.#circuit[operation.host];
    return this.#clock.monotonic() - Math.max(heldAt, this.#operations.heldAt(operation));
  }

  /** Notes how an admitted request ended; `trouble` is the sentence of its error. */
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
    // A read the business host answers ends a refusal of signing in, also when it was the old credential that helped.
    const isBack = this.#isMissing && host === "business" && type === "answered" && outcome.signedIn === true;
    if (isBack) this.#isMissing = false;
    for (const one of isBack ? hosts : [host]) this.#tell(one);
  }

  /** The platform asked to wait: with this operation, and with all of the host where it says so of another one as well. */
  onAskedToWait(asked: Asked, ms: number, trouble: string): void {
    const { host } = asked.operation;
    const isOfHost = this.#operations.onHeld(asked, ms, this.#clock.monotonic());
    this.#tellAnswer(asked.operation, ms);
    this.settle(host, isOfHost ? { type: "held", ms } : { type: "challenged" }, trouble);
  }

  /** An answer was read. */
  onUsable(asked: Asked, generation: number): void {
    this.#operations.onUsable(asked, generation, this.#clock.monotonic());
    this.#tell(asked.operation.host);
  }

  /** An attempt brought nothing usable, though a connection stood. */
  onUseless(asked: Asked): void {
    this.#operations.onUseless(asked, this.#clock.monotonic());
  }

  /** A call has ended without anything usable. */
  onGivenUp(asked: Asked, trouble: string): void {
    this.#operations.onGivenUp(asked, trouble);
    this.#tell(asked.operation.host);
  }

  /** It was refused with a code that is not known to be about the credential. Returns whether that may be meant. */
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

  /** This host is known to check credentials. */
  onChecked(host: PlatformHost): void {
    this.#operations.onChecked(host);
  }

  /** Whether nothing was let in for minutes, as far as that concerns this host. */
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

  /** There is none to send: the sign-in is refused, the token file is empty. */
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
