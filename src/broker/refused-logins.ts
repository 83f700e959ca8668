import type { Clock } from "../runtime/clock.js";

/** A login with a wrong user name or password. */
export interface RefusedLogin {
  readonly address: string;
  /** What the client called itself. */
  readonly client: string;
}

const windowMs = 60_000;
/** Of all addresses together: whoever has many of them must not fill a disk. */
const mostPerWindow = 10;

/** Hands refused logins on: one of each address a minute, and only so many in all. */
export class RefusedLogins {
  readonly #clock: Clock;
  readonly #tell: (refused: RefusedLogin) => void;
  #toldAt: { readonly address: string; readonly at: number }[] = [];

  constructor(clock: Clock, tell: (refused: RefusedLogin) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  note(refused: RefusedLogin): void {
    const now = this.#clock.monotonic();
    this.#toldAt = this.#toldAt.filter(({ at }) => now - at < windowMs);
    const isTold = this.#toldAt.some(({ address }) => address === refused.address);
    if (isTold || this.#toldAt.length >= mostPerWindow) return;
    this.#toldAt.push({ address: refused.address, at: now });
    this.#tell(refused);
  }
}
