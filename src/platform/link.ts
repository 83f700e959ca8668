import type { HostFacts, PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import {
  type Admission,
  admit,
  type Circuit,
  closedCircuit,
  type RequestEnd,
  renewed,
  settle,
} from "./circuit.js";

export type HostLink = HostFacts & { readonly host: PlatformHost };
export type OnLink = (link: HostLink) => void;

interface Contact {
  contactAt: number | null;
  /** The credential in use has been accepted here. */
  accepted: boolean;
  told: HostLink | null;
}

const untried = (): Contact => ({ contactAt: null, accepted: false, told: null });

const hosts = ["business", "realtime"] as const;

/** Keeps the circuit and tells the listener whenever a host's link changes; plain success tells nothing new. */
export class HostLinks {
  readonly #clock: Clock;
  readonly #onLink: OnLink;
  readonly #contacts: Readonly<Record<PlatformHost, Contact>> = { business: untried(), realtime: untried() };
  #circuit: Circuit = closedCircuit;
  #isMissing = false;

  constructor(clock: Clock, onLink: OnLink) {
    this.#clock = clock;
    this.#onLink = onLink;
  }

  admit(host: PlatformHost, urgent: boolean): Admission {
    const { circuit, admission } = admit(this.#circuit, host, this.#clock.monotonic(), urgent);
    this.#circuit = circuit;
    return admission;
  }

  isPaused(host: PlatformHost): boolean {
    return this.#circuit[host].open;
  }

  /** For how long the host has been left alone as it asked, ms. */
  heldForMs(host: PlatformHost): number {
    return this.#clock.monotonic() - this.#circuit[host].heldAt;
  }

  /** Notes how an admitted request ended. */
  settle(host: PlatformHost, outcome: RequestEnd): void {
    const now = this.#clock.monotonic();
    const contact = this.#contacts[host];
    this.#circuit = settle(this.#circuit, host, outcome, now);
    const { type } = outcome;
    if (type === "answered" || type === "challenged" || type === "held") contact.contactAt = now;
    if (type === "answered") contact.accepted = true;
    if (type !== "abandoned") this.#tell(host);
  }

  credentialRenewed(): void {
    this.#circuit = renewed(this.#circuit);
    this.#isMissing = false;
    for (const host of hosts) {
      this.#contacts[host].accepted = false;
      this.#tell(host);
    }
  }

  /** A read the business host answers ends a refusal of signing in, also when it was the old credential that helped. */
  credentialAccepted(host: PlatformHost): void {
    if (!this.#isMissing || host !== "business") return;
    this.#isMissing = false;
    for (const one of hosts) this.#tell(one);
  }

  /** There is none to send: the sign-in is refused, the token file is empty. */
  credentialMissing(): void {
    this.#isMissing = true;
    for (const host of hosts) this.#tell(host);
  }

  link(host: PlatformHost): HostLink {
    const { contactAt, accepted } = this.#contacts[host];
    const { failures, failingSince, refusals } = this.#circuit[host];
    const unauthorized = this.#isMissing || refusals >= (accepted ? 2 : 1);
    return { host, contactAt, failures, failingSince, unauthorized };
  }

  #tell(host: PlatformHost): void {
    const link = this.link(host);
    const contact = this.#contacts[host];
    if (contact.told !== null && isSame(contact.told, link)) return;
    contact.told = link;
    this.#onLink(link);
  }
}

const isSame = (one: HostLink, other: HostLink): boolean =>
  one.failures === other.failures &&
  one.unauthorized === other.unauthorized &&
  (one.contactAt === null) === (other.contactAt === null);
