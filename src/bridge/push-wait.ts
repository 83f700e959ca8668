import type { RawValue } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { PushBell } from "./push-bell.js";

/** A push that shows the value is read back at once, but a torrent of them not more often than this. */
const wantedGapMs = 1_000;
/** Any other value changes nothing for the command; it is worth a look now and then. */
const otherGapMs = 10_000;

export type Woken = "due" | "pushed" | "aborted";

/** Waits for the time of the next read-back, or for a push that makes an earlier one worth it. Close it at the end. */
export class PushWait {
  readonly #clock: Clock;
  readonly #stopListening: (unread: RawValue | null) => void;
  /** What was pushed after the last read began. */
  #unread: RawValue | null = null;
  #wantedAt: number | null = null;
  #readAt = -Infinity;
  #wake: () => void = () => undefined;

  /** `shows` tells a value that ends the waiting. */
  constructor(
    about: { readonly code: string; readonly address: string },
    shows: (raw: RawValue) => boolean,
    { clock, bell }: { readonly clock: Clock; readonly bell?: PushBell },
  ) {
    this.#clock = clock;
    const pushed = (raw: RawValue) => {
      const isWanted = shows(raw);
      this.#unread = raw;
      this.#want(this.#readAt + (isWanted ? wantedGapMs : otherGapMs));
      return isWanted;
    };
    this.#stopListening = bell?.listen(about.code, about.address, pushed) ?? (() => undefined);
  }

  close(): void {
    this.#stopListening(this.#unread);
  }

  /** Until the monotonic instant `at`, a push, or the abort of the signal. */
  async until(at: number, signal: AbortSignal): Promise<Woken> {
    for (;;) {
      if (signal.aborted) return "aborted";
      const now = this.#clock.monotonic();
      const isPushed = this.#wantedAt !== null && now >= this.#wantedAt;
      if (isPushed || now >= at) {
        this.#wantedAt = null;
        this.#unread = null;
        this.#readAt = now;
        return now >= at ? "due" : "pushed";
      }
      const next = Math.min(at, this.#wantedAt ?? at);
      await this.#rest(next - now, signal);
    }
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const rest = new AbortController();
    this.#wake = () => {
      rest.abort();
    };
    const wake = this.#wake;
    signal.addEventListener("abort", wake);
    await this.#clock.wait(ms, rest.signal).catch(() => undefined);
    signal.removeEventListener("abort", wake);
  }

  #want(at: number): void {
    if (this.#wantedAt !== null && this.#wantedAt <= at) return;
    this.#wantedAt = at;
    this.#wake();
  }
}
