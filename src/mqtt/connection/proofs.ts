import type { PublishError } from "./publish-error.js";

/** Publishes of QoS 0 that went out one after the other; proven together. */
export interface Proof {
  count: number;
  readonly proven: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: PublishError) => void;
}

/**
 * What was sent with QoS 0 and waits for an acknowledged message behind it. A broker reads what a client sends in order, so an
 * answer to a message says that everything before it has arrived.
 */
export class Proofs {
  /** False at a broker that acknowledges nothing at all (MQTT 5, maximum QoS 0): there, sent is all that can be known. */
  areGiven = true;
  /** Sent since the last message that will be acknowledged. */
  #open: Proof | null = null;
  readonly #all = new Set<Proof>();
  #size = 0;

  /** How many publishes are not proven yet. */
  get size(): number {
    return this.#size;
  }

  /** Whether something was sent that no acknowledgement on its way will prove. */
  get areOpen(): boolean {
    return this.#open !== null;
  }

  /** One more was sent. Resolves with its proof. */
  add(): Promise<void> {
    this.#open ??= this.#begin();
    this.#open.count += 1;
    this.#size += 1;
    return this.#open.proven;
  }

  /** Something that will be acknowledged is sent now; it proves what this returns. */
  take(): Proof | null {
    const proof = this.#open;
    this.#open = null;
    return proof;
  }

  /** What was to prove these was not acknowledged in time. Whatever is acknowledged next was sent later and proves them too. */
  reopen(proof: Proof | null): void {
    if (proof === null) return;
    const later = this.#open;
    this.#open = proof;
    if (later === null) return;
    proof.count += later.count;
    this.#all.delete(later);
    proof.proven.then(later.resolve, later.reject);
  }

  /** Returns how many are proven by it. */
  confirm(proof: Proof | null): number {
    if (proof === null) return 0;
    this.#all.delete(proof);
    this.#size -= proof.count;
    proof.resolve();
    return proof.count;
  }

  /** Nothing will be acknowledged any more. Returns how many are lost. */
  fail(error: PublishError): number {
    const lost = this.#size;
    for (const proof of this.#all) proof.reject(error);
    this.#all.clear();
    this.#open = null;
    this.#size = 0;
    return lost;
  }

  #begin(): Proof {
    let resolve: () => void = () => undefined;
    let reject: (error: PublishError) => void = () => undefined;
    const proven = new Promise<void>((resolved, rejected) => {
      resolve = resolved;
      reject = rejected;
    });
    // Where nobody waits for it, a lost link is no unhandled rejection.
    proven.catch(() => undefined);
    const proof = { count: 0, proven, resolve, reject };
    this.#all.add(proof);
    return proof;
  }
}
