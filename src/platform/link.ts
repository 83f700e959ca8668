import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import {
  type Admission,
  admit,
  type Circuit,
  closedCircuit,
  type Outcome,
  renewed,
  settle,
} from "./circuit.js";

/** What is known of the way to one host. Instants are monotonic ms, null while it did not happen. */
export interface HostLink {
  readonly host: PlatformHost;
  /** Whether the newest attempt got an HTTP answer of any status; null before the first. */
  readonly reachable: boolean | null;
  /** When the platform last answered something usable. */
  readonly contactAt: number | null;
  /** Consecutive attempts without a usable answer, and since when. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** The credential is refused: never accepted since it is in use, or refused twice in a row; or signing in is refused. */
  readonly unauthorized: boolean;
  /** Calls are held back; one probe per 30 s goes out. */
  readonly paused: boolean;
}

export type OnLink = (link: HostLink) => void;

interface Contact {
  reachable: boolean | null;
  contactAt: number | null;
  /** The credential in use has been accepted here. */
  accepted: boolean;
  told: HostLink | null;
}

const untried = (): Contact => ({ reachable: null, contactAt: null, accepted: false, told: null });

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

  /** Notes how an admitted request ended; `reachable` is null when it tells nothing. */
  settle(host: PlatformHost, outcome: Outcome, reachable: boolean | null): void {
    const now = this.#clock.monotonic();
    const contact = this.#contacts[host];
    const before = this.#circuit;
    this.#circuit = settle(before, host, outcome, now);
    if (contacts.has(outcome.type)) contact.contactAt = now;
    const isNews = this.#circuit !== before || contact.reachable !== (reachable ?? contact.reachable);
    contact.reachable = reachable ?? contact.reachable;
    if (outcome.type === "answered" && !contact.accepted) contact.accepted = true;
    else if (!isNews) return;
    this.#tell(host);
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
    const { reachable, contactAt, accepted } = this.#contacts[host];
    const { failures, failingSince, refusals, open } = this.#circuit[host];
    const unauthorized = this.#isMissing || refusals >= (accepted ? 2 : 1);
    return { host, reachable, contactAt, failures, failingSince, unauthorized, paused: open };
  }

  #tell(host: PlatformHost): void {
    const link = this.link(host);
    const contact = this.#contacts[host];
    if (contact.told !== null && isSame(contact.told, link)) return;
    contact.told = link;
    this.#onLink(link);
  }
}

const contacts: ReadonlySet<Outcome["type"]> = new Set(["answered", "challenged", "held"]);

const hosts = ["business", "realtime"] as const;

const isSame = (one: HostLink, other: HostLink): boolean =>
  one.reachable === other.reachable &&
  one.failures === other.failures &&
  one.unauthorized === other.unauthorized &&
  one.paused === other.paused &&
  (one.contactAt === null) === (other.contactAt === null);
