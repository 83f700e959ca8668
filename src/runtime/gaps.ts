import { type Clock, every } from "./clock.js";

/*
 * Whether the process stood still: stopped, frozen, suspended with its computer, or busy with one thing for seconds. What lay in its
 * sockets meanwhile is read as if it had just come, so whoever takes something in asks here how old it may be.
 */

/** A time in which nobody looked; monotonic ms. */
export interface Gap {
  readonly from: number;
  readonly until: number;
}

/** The newest gap, and what was sent before it. */
export interface Gaps {
  /** Of those longer than that; null before the first. It is noticed by whoever asks first, be that a timer or a message that is read. */
  newest(longerThanMs?: number): Gap | null;
  /**
   * When something was sent at the earliest that was read at that instant from a socket of the process: before the newest gap, where the
   * sockets had not been read empty since. Monotonic ms.
   */
  sentSince(readAt: number): number;
  /** Calls back when one is noticed; what it returns ends that. */
  onGap(listener: () => void): () => void;
}

/** For a process that never stands still. */
export const noGaps: Gaps = {
  newest: () => null,
  sentSince: (readAt) => readAt,
  onGap: () => () => undefined,
};

const beatMs = 1_000;
/** A loop that is late by less is ordinary work. */
const noticedMs = 2_500;
/** In this time a loop has had several turns, in each of which every socket was read. */
const readEmptyMs = 100;
const mostKept = 10;

const lengthOf = ({ from, until }: Gap): number => until - from;

/** Looks at the clock again and again, so that a time in which it could not is known. */
export class GapWatch implements Gaps {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #lookedAt: number;
  /** The newest first; each is longer than those after which it stands. */
  #gaps: readonly Gap[] = [];
  /** What was read in between may have lain in a socket from the beginning on. */
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
 * Resolves after so long in which the process ran: while it stood still nothing could come that is waited for, so of that time no more
 * counts than of ordinary work. Rejects with the signal's reason when it aborts first.
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
 * How old what is read of one peer may be: after a gap up to that, until the peer has answered something that was sent after it.
 */
export class ArrivalAge {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #gaps: Gaps;
  readonly #ask: (proven: () => void) => void;
  readonly #beganAt: number;
  readonly #leave: () => void;
  /** Whatever was sent before this has been read. */
  #provenAt: number;
  #since: number | null = null;
  /** It began without the process standing still. */
  #isResumed = false;

  /**
   * `ask` has the peer answer, and calls `proven` as the answer is read. It is called again where the process stood still meanwhile, and
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

  /** At most, ms, of what is read at this moment; 0 where it is read as it comes. */
  ms(): number {
    this.#look();
    return this.#since === null ? 0 : this.#clock.monotonic() - this.#since;
  }

  /** What is read from now on may have waited since then. */
  resume(since: number): void {
    this.#since = since;
    this.#isResumed = true;
    const provenAt = this.#clock.monotonic();
    this.#provenAt = provenAt;
    this.#ask(() => {
      if (this.#provenAt === provenAt) this.#since = null;
    });
  }

  /** What is read from now on was sent after that. */
  advance(to: number): void {
    this.#look();
    if (this.#since !== null && this.#isResumed) this.#since = Math.max(this.#since, to);
  }

  /** The peer is gone. */
  close(): void {
    this.#leave();
  }

  #look(): void {
    const gap = this.#gaps.newest();
    if (gap === null || gap.until <= this.#provenAt) return;
    // Nobody sent anything to a peer that was not there yet.
    this.#since ??= Math.max(gap.from, this.#beganAt);
    this.#provenAt = gap.until;
    this.#isResumed = false;
    this.#ask(() => {
      if (this.#provenAt === gap.until) this.#since = null;
    });
  }
}
