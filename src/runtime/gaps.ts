import { type Clock, every } from "./clock.js";

/*
 * Finds out whether the process stood still: stopped, frozen, suspended with its computer, or busy for seconds. Data
 * that lay in its sockets meanwhile looks new when it is read, so receivers ask here how old it may be.
 */

/** A time in which the process stood still, in monotonic ms. */
export interface Gap {
  readonly from: number;
  readonly until: number;
}

/** The newest gap, and the age of data read after it. */
export interface Gaps {
  /** The newest gap longer than this; null for none. Whoever asks first finds it, a timer or a message that is read. */
  newest(longerThanMs?: number): Gap | null;
  /**
   * The earliest time, in monotonic ms, at which data was sent that was read from a socket at `readAt`: before the
   * newest gap, if the sockets were not read empty since.
   */
  sentSince(readAt: number): number;
  /** Calls `listener` when a gap is found; the returned function ends that. */
  onGap(listener: () => void): () => void;
}

/** For a process that never stands still. */
export const noGaps: Gaps = {
  newest: () => null,
  sentSince: (readAt) => readAt,
  onGap: () => () => undefined,
};

const beatMs = 1_000;
/** A smaller delay of the event loop is ordinary work. */
const noticedMs = 2_500;
/** Within this time the event loop has had several turns, each of which read every socket. */
const readEmptyMs = 100;
const mostKept = 10;

const lengthOf = ({ from, until }: Gap): number => until - from;

/** Checks the clock at intervals, so that a time without checks is noticed. */
export class GapWatch implements Gaps {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #lookedAt: number;
  /** The newest first; each is longer than all newer ones. */
  #gaps: readonly Gap[] = [];
  /** The gap after which sockets are not read empty yet; data read meanwhile may be as old as its beginning. */
  #unread: Gap | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
  }

  run(signal: AbortSignal): Promise<void> {
    return every(beatMs, this.#clock, signal, () => this.#look());
  }

  newest(longerThanMs = 0): Gap | null {
    this.#look();
    return this.#gaps.find((gap) => lengthOf(gap) > longerThanMs) ?? null;
  }

  sentSince(readAt: number): number {
    this.#look();
    const unread = this.#unread;
    return unread !== null && readAt > unread.from && readAt <= unread.until ? unread.from : readAt;
  }

  onGap(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const from = this.#lookedAt;
    this.#lookedAt = now;
    if (now - from > noticedMs) this.#onGap({ from, until: now });
  }

  #onGap(gap: Gap): void {
    this.#gaps = [gap, ...this.#gaps.filter((one) => lengthOf(one) > lengthOf(gap))].slice(0, mostKept);
    const isUnread = this.#unread?.until === Infinity;
    const from = isUnread ? Math.min(this.#unread?.from ?? gap.from, gap.from) : gap.from;
    this.#unread = { from, until: Infinity };
    this.#clock.after(readEmptyMs, () =>
      this.#clock.soon(() => {
        if (this.#gaps[0] === gap) this.#unread = { from, until: this.#clock.monotonic() };
      }),
    );
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Resolves after `ms` in which the process ran. While it stood still nothing could arrive, so such a time counts only
 * as far as a delay by ordinary work. Rejects with the signal's reason if it aborts first.
 */
export async function waitAwake(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  for (let left = ms; left > 0;) {
    const before = clock.monotonic();
    await clock.wait(Math.min(beatMs, left), signal);
    left -= Math.min(noticedMs, clock.monotonic() - before);
  }
}

/** Watches until the signal aborts. */
export function watchGaps(clock: Clock, signal: AbortSignal): Gaps {
  const watch = new GapWatch(clock);
  void watch.run(signal);
  return watch;
}

/**
 * How old data from one peer may be: after a gap as old as that, until the peer has answered something sent after it.
 */
export class ArrivalAge {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #gaps: Gaps;
  readonly #ask: (proven: () => void) => void;
  readonly #beganAt: number;
  readonly #leave: () => void;
  /** Everything sent before this time has been read. */
  #provenAt: number;
  #since: number | null = null;
  /** Whether `resume` began it, and no gap. */
  #isResumed = false;

  /**
   * `ask` makes the peer answer, and calls `proven` when the answer is read. It is called again after a further gap;
   * only the newest call counts.
   */
  constructor(clock: Pick<Clock, "monotonic">, gaps: Gaps, ask: (proven: () => void) => void) {
    this.#clock = clock;
    this.#gaps = gaps;
    this.#ask = ask;
    this.#beganAt = clock.monotonic();
    this.#provenAt = this.#beganAt;
    this.#leave = gaps.onGap(() => this.#look());
  }

  /** The greatest age in ms of data read now; 0 if data is read as it comes. */
  ms(): number {
    this.#look();
    return this.#since === null ? 0 : this.#clock.monotonic() - this.#since;
  }

  /** Data read from now on may have waited since then. */
  resume(since: number): void {
    this.#since = since;
    this.#isResumed = true;
    const provenAt = this.#clock.monotonic();
    this.#provenAt = provenAt;
    this.#ask(() => {
      if (this.#provenAt === provenAt) this.#since = null;
    });
  }

  /** Data read from now on was sent after that. */
  advance(to: number): void {
    this.#look();
    if (this.#since !== null && this.#isResumed) this.#since = Math.max(this.#since, to);
  }

  /** To be called when the peer is gone. */
  close(): void {
    this.#leave();
  }

  #look(): void {
    const gap = this.#gaps.newest();
    if (gap === null || gap.until <= this.#provenAt) return;
    // Nobody sent anything to a peer before it existed.
    this.#since ??= Math.max(gap.from, this.#beganAt);
    this.#provenAt = gap.until;
    this.#isResumed = false;
    this.#ask(() => {
      if (this.#provenAt === gap.until) this.#since = null;
    });
  }
}
