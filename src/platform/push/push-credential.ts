import type { Clock } from "../../runtime/clock.js";
import type { Credential, CredentialSource } from "../session/credential.js";

/** A channel that refuses a renewed credential too asks for no other one for this long. */
const barredMs = 600_000;

interface Refusals {
  /** The generation that took the place of a refused one. */
  readonly renewedTo: number;
  readonly barredUntil: number;
}

const none: Refusals = { renewedTo: -1, barredUntil: -Infinity };

/**
 * The credential of the handshakes. A refused one leads to one renewal, as with a read; but the refusal of a channel says
 * less about the token than that of a read, so a renewal that did not help bars the next one for this kind of channel.
 */
export class PushCredential {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  readonly #refusals = new Map<string, Refusals>();

  constructor(source: CredentialSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** The configuration key to look at when it is refused. */
  get key(): string {
    return this.#source.key;
  }

  /** Rejects with a PlatformError when there is none now. */
  async obtain(signal: AbortSignal): Promise<Credential> {
    return this.#source.current() ?? (await this.#source.obtain(signal));
  }

  accepted(kind: string): void {
    this.#refusals.delete(kind);
  }

  /** After 401 or 403: whether there is another credential to try at once. Never rejects. */
  async renewed(refused: Credential, kind: string, signal: AbortSignal): Promise<boolean> {
    const now = this.#clock.monotonic();
    const { renewedTo, barredUntil } = this.#refusals.get(kind) ?? none;
    if (refused.generation === renewedTo) {
      this.#refusals.set(kind, { renewedTo, barredUntil: now + barredMs });
      return false;
    }
    if (now < barredUntil || !(await this.#renew(refused, kind, signal))) return false;
    const newest = this.#source.current()?.generation ?? refused.generation + 1;
    this.#refusals.set(kind, { renewedTo: newest, barredUntil });
    return true;
  }

  async #renew(refused: Credential, kind: string, signal: AbortSignal): Promise<boolean> {
    try {
      const newest = this.#source.current();
      if (newest !== null && newest.generation > refused.generation) return true;
      return await this.#source.renew(refused, "realtime", `WS ${kind}`, signal);
    } catch {
      return false;
    }
  }
}
