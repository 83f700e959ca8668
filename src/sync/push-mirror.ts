import { sameValue, textOf } from "../greenhouse/actuator-kinds.js";
import { isDated } from "../greenhouse/fold-sensors.js";
import { differsFrom } from "../greenhouse/fold-statuses.js";
import type { Controller, Register } from "../greenhouse/model.js";
import { PlatformError, type PlatformReader, type PushNews, type RawValue } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { type RequestBudget, Rest, Schedule } from "../runtime/schedule.js";
import { registerAt } from "./poll-reads.js";
import type { GreenhouseStore } from "./store.js";

/** The commands that read an address back are told of a pushed value of it. */
export interface PushBell {
  /** Whether a command reads the address back. */
  readsBack(code: string, address: string): boolean;
  /** Whether a command waited for just this value and reads it back now. */
  ring(code: string, address: string, raw: RawValue): boolean;
  /** Who looks after a value that was pushed after the last read of a command that has ended. */
  onPushed(listener: (code: string, address: string, raw: RawValue) => void): void;
}

interface PushMirrorParts {
  readonly store: GreenhouseStore;
  readonly platform: Pick<PlatformReader, "connection" | "runningStatuses" | "value">;
  readonly bell: PushBell;
  readonly reads: PushReads;
  readonly clock: Clock;
}

/** Short enough for a switch that is pressed twice, long enough for what never rests. */
const gapMs = 2_000;
/** For statuses that say nothing new, or that no read has shown. */
const idleGapMs = 60_000;

type News<Type extends PushNews["type"]> = Extract<PushNews, { type: Type }>;

/**
 * What the platform pushes may be as old as it likes, so it is not shown: where it differs from what is shown, it is read now.
 * Only readings, which carry the time of their measurement, are folded as they come.
 */
export class PushMirror {
  readonly #parts: PushMirrorParts;
  /** What was said last, by the name of the read that looks after it, until a read begun later has ended. */
  readonly #told = new Map<string, string>();

  constructor(parts: PushMirrorParts) {
    this.#parts = parts;
  }

  /** `openedAt` is when the channel was opened, monotonic ms. */
  fold(news: PushNews, openedAt: number): void {
    const controller = this.#parts.store.get(news.code);
    if (!controller) return;
    switch (news.type) {
      case "registers":
        this.#registers(controller, news);
        return;
      case "statuses":
        this.#statuses(controller, news);
        return;
      case "connection":
        this.#connection(controller, news);
        return;
      case "sensors":
        this.#sensors(controller, news, openedAt);
    }
  }

  /** What was pushed while a command read the address back that has ended without reading once more. */
  pushed(code: string, address: string, raw: RawValue): void {
    const controller = this.#parts.store.get(code);
    const register = controller && registerAt(controller, address);
    if (register !== undefined) this.#register(code, address, raw, register);
  }

  #registers(controller: Controller, { code, values }: News<"registers">): void {
    const { bell } = this.#parts;
    for (const [address, raw] of values) {
      // A command that waits for this value reads it back now, and the mirror shows what it reads.
      if (bell.ring(code, address, raw) || bell.readsBack(code, address)) continue;
      const register = registerAt(controller, address);
      if (register !== undefined) this.#register(code, address, raw, register);
    }
  }

  #register(code: string, address: string, raw: RawValue, shown: Register | null): void {
    const { store, platform, clock } = this.#parts;
    const isShown = shown !== null && sameValue(textOf(shown.raw), textOf(raw));
    this.#look(`registers ${code} ${address}`, textOf(raw), isShown, async (told, signal) => {
      const startedAt = clock.monotonic();
      const read = await platform.value(code, address, true, signal, "polled");
      if (read === null) return;
      // Where the read shows what was pushed, the news came from there.
      const source = sameValue(told(), textOf(read)) ? "push" : "poll";
      const event = { type: "registers_read", startedAt, readAt: clock.now(), fresh: true, source } as const;
      store.dispatch(code, { ...event, values: new Map([[address, read]]) });
    });
  }

  #statuses({ statuses }: Controller, { code, items }: News<"statuses">): void {
    const { store, clock, reads, platform } = this.#parts;
    const isNews = differsFrom(statuses, items);
    reads.want(`statuses ${code}`, isNews ? gapMs : idleGapMs, async (signal) => {
      const read = await platform.runningStatuses(code, signal);
      store.dispatch(code, { type: "statuses_read", items: read, receivedAt: clock.now() });
    });
  }

  /** A device that neither a list nor its own status ever gave a flag has none that could change. */
  #connection({ info, availability }: Controller, { code, online }: News<"connection">): void {
    const { store, platform } = this.#parts;
    if ((info.record?.online ?? null) === null && availability === "unknown") return;
    const said = online ? "online" : "offline";
    this.#look(`connection ${code}`, said, availability === said, async (told, signal) => {
      const status = await platform.connection(code, signal, "polled");
      if (status.state === told()) store.dispatch(code, { type: "connection", status });
    });
  }

  /** Reads what differs from what is shown, and once more what was said while a read was under way: that may be older. */
  #look(
    name: string,
    said: string,
    isShown: boolean,
    read: (told: () => string, signal: AbortSignal) => Promise<void>,
  ): void {
    if (isShown && !this.#told.has(name)) return;
    this.#told.set(name, said);
    const { reads } = this.#parts;
    reads.want(name, gapMs, async (signal) => {
      try {
        await read(() => this.#told.get(name) ?? said, signal);
      } finally {
        if (!reads.isWaiting(name)) this.#told.delete(name);
      }
    });
  }

  #sensors(controller: Controller, { code, items }: News<"sensors">, openedAt: number): void {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const openedWall = now - (clock.monotonic() - openedAt);
    const isRead = [...controller.sensors.values()].some(
      ({ source, receivedAt }) => source !== "push" && receivedAt >= openedWall,
    );
    const usable = isRead ? items : items.filter((item) => isDated(item, now));
    if (usable.length > 0)
      store.dispatch(code, { type: "sensors_read", items: usable, receivedAt: now, source: "push" });
  }
}

type WantedRead = (signal: AbortSignal) => Promise<void>;

/** One that fails is made again after such pauses; then it is left to polling. */
const repeatAfterMs = [5_000, 10_000, 20_000, 40_000, 80_000];
const mostAtOnce = 4;
const mostWaiting = 1_000;

/**
 * The reads that pushes ask for: each thing once however often it is wanted, with a pause between two reads of it, within
 * the request budget, and never more than a few at once. What finds no place is left to polling.
 */
export class PushReads {
  readonly #clock: Clock;
  readonly #budgets: readonly RequestBudget[];
  readonly #log: Logger;
  readonly #rest: Rest;
  readonly #wanted = new Map<string, { readonly read: WantedRead; readonly failures: number }>();
  readonly #due = new Schedule<string>();
  readonly #begunAt = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  /** Every budget has to have room: polling's, and a share of its own that leaves polling the rest. */
  constructor({ clock, budgets, log }: { clock: Clock; budgets: readonly RequestBudget[]; log: Logger }) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.#log = log;
    this.#rest = new Rest(clock);
  }

  get waiting(): number {
    return this.#wanted.size;
  }

  /** Whether a read under this name is still to begin. */
  isWaiting(name: string): boolean {
    return this.#wanted.has(name);
  }

  /** Reads soon, but not sooner than `gapMs` after the last read under this name; what waits already may come sooner by it. */
  want(name: string, gapMs: number, read: WantedRead): void {
    if (!this.#wanted.has(name) && this.#wanted.size >= mostWaiting) return;
    const at = Math.max(this.#clock.monotonic(), (this.#begunAt.get(name) ?? -Infinity) + gapMs);
    if (at >= (this.#due.dueAt(name) ?? Infinity)) return;
    this.#plan(name, at, read, 0);
  }

  #plan(name: string, at: number, read: WantedRead, failures: number): void {
    this.#wanted.set(name, { read, failures });
    this.#due.set(name, at);
    this.#rest.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ms = this.#restMs();
      if (ms > 0) {
        await this.#rest.for(ms, signal);
        continue;
      }
      const done = this.#startFirst(signal).finally(() => {
        this.#running.delete(done);
        this.#rest.wake();
      });
      this.#running.add(done);
    }
    await Promise.allSettled(this.#running);
  }

  /** Ms until a read may be started; an end or a new wish wakes sooner. */
  #restMs(): number {
    const first = this.#due.first();
    if (first === null || this.#running.size >= mostAtOnce) return Infinity;
    const now = this.#clock.monotonic();
    return Math.max(first.at - now, ...this.#budgets.map((budget) => budget.waitMs(now)), 0);
  }

  async #startFirst(signal: AbortSignal): Promise<void> {
    const name = this.#due.take() ?? "";
    const wanted = this.#wanted.get(name);
    if (wanted === undefined) return;
    this.#wanted.delete(name);
    this.#remember(name);
    for (const budget of this.#budgets) budget.spend(this.#clock.monotonic());
    try {
      await wanted.read(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PlatformError) {
        this.#log.debug({ read: name }, error.message);
        const pauseMs = repeatAfterMs[wanted.failures];
        if (pauseMs !== undefined && !this.#wanted.has(name))
          this.#plan(name, this.#clock.monotonic() + pauseMs, wanted.read, wanted.failures + 1);
      } else this.#log.error({ err: error, read: name }, "a read after a push failed unexpectedly");
    }
  }

  /** Names are bounded by what the mirror holds; a mirror that changes for months must not fill this. */
  #remember(name: string): void {
    if (this.#begunAt.size >= 10 * mostWaiting) this.#begunAt.clear();
    this.#begunAt.set(name, this.#clock.monotonic());
  }
}
