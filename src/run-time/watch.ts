import type { Core } from "../feature/core.js";
import { hasRunTime, isEnding } from "../greenhouse/actuator-kinds.js";
import type { Actuator, Controller, RunTime } from "../greenhouse/model.js";
import type { TextFile } from "../runtime/file-system.js";
import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { localText, type ZoneOffset, zoneOffset } from "../runtime/zone.js";
import type { GreenhouseStore } from "../sync/store.js";
import { fieldsOf } from "../runtime/objects.js";

/*
 * Counts how long an actuator was on: the time between two good reads that both say on. Unobserved time does not count.
 * Pure; instants are monotonic ms, except `since` in epoch ms. Only the day depends on a clock that may be set.
 */

export interface Counted {
  readonly total: { readonly onMs: number; readonly starts: number };
  /** Counts of the local day at the last look. */
  readonly today: { readonly day: string; readonly onMs: number; readonly starts: number };
  readonly since: number;
  /** The newest good read; null where the last read says nothing about what follows. */
  readonly last: { readonly at: number; readonly isOn: boolean } | null;
}

export const nothingCounted = (since: number, day: string): Counted => ({
  total: { onMs: 0, starts: 0 },
  today: { day, onMs: 0, starts: 0 },
  since,
  last: null,
});

/**
 * Whether an actuator is on by its newest read; null where unknown. Its running statuses are more reliable than the
 * register.
 */
export function isOn({ settings, state, quality, runs }: Actuator): boolean | null {
  if (quality !== "good" || state === null || state === "unknown") return null;
  if (runs === "on" || runs === "off") return runs === "on";
  if (state === "auto") return null;
  return !isEnding(settings.kind, state);
}

/** Begins a new day at zero, whatever the read says; the same object on the same day. */
const onDay = (before: Counted, day: string): Counted =>
  day === before.today.day ? before : { ...before, today: { day, onMs: 0, starts: 0 } };

/** The counts after a read that began at `at`, on that day; the same object where nothing changed. */
export function afterRead(counted: Counted, at: number, on: boolean | null, day: string): Counted {
  const before = onDay(counted, day);
  const { total, today, last } = before;
  if (on === null) return last === null ? before : { ...before, last: null };
  if (last !== null && at <= last.at) return before;
  const lasted = last !== null && last.isOn && on ? at - last.at : 0;
  const started = last !== null && !last.isOn && on ? 1 : 0;
  return {
    ...before,
    total: { onMs: total.onMs + lasted, starts: total.starts + started },
    today: { day, onMs: today.onMs + lasted, starts: today.starts + started },
    last: { at, isOn: on },
  };
}

export const runTimeOf = ({ total, today, since }: Counted): RunTime => ({
  on_s: Math.round(total.onMs / 1_000),
  starts: total.starts,
  today_on_s: Math.round(today.onMs / 1_000),
  today_starts: today.starts,
  since: new Date(since).toISOString(),
});

/* Counts each read, and keeps the counts over restarts in a file. */

/** The most time that a power cut can lose. */
const writeEveryMs = 30_000;
/** Reads are counted even if the disk does not answer. */
const longestReadMs = 5_000;

const isCounting = (value: unknown): value is Counted =>
  typeof value === "object" && value !== null && "total" in value && "today" in value && "since" in value;

export class RunTimes {
  readonly #store: GreenhouseStore;
  readonly #memory: TextFile;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #offset: ZoneOffset;
  readonly #counted = new Map<string, Counted>();
  /** Actuators with new reads, by the code of their controller. */
  readonly #dirty = new Map<string, Set<string>>();
  #written = "{}";
  #day: string | null = null;

  constructor(
    store: GreenhouseStore,
    memory: TextFile,
    timeZone: string,
    { clock, log }: Pick<Core, "clock" | "log">,
  ) {
    this.#store = store;
    this.#memory = memory;
    this.#clock = clock;
    this.#log = log;
    this.#offset = zoneOffset(timeZone);
    store.onChange(this.#mark, ["actuators"]);
  }

  /** Restores the counts of earlier runs, before anything is read. */
  async restore(): Promise<void> {
    try {
      const kept: unknown = JSON.parse(
        (await within(this.#clock, longestReadMs, () => this.#memory.read())) ?? "{}",
      );
      for (const [key, one] of Object.entries(fieldsOf(kept)))
        // Time between runs does not count.
        if (isCounting(one)) this.#counted.set(key, { ...one, last: null });
    } catch (problem) {
      this.#log.warn(
        { problem },
        "how long actuators were on before the start is not known; counting begins anew",
      );
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await every(writeEveryMs, this.#clock, signal, () => {
      this.#lookAtDay();
      void this.#write();
    });
    await this.#write();
  }

  /** Only marks the change and counts later, as a listener of the store must not dispatch. */
  readonly #mark = (before: Controller | undefined, after: Controller | undefined): void => {
    if (after === undefined) return;
    const { code } = after.info;
    if (this.#dirty.size === 0) this.#clock.soon(this.#countAll);
    const changed = this.#dirty.get(code) ?? new Set();
    this.#dirty.set(code, changed);
    for (const [id, actuator] of after.actuators) if (before?.actuators.get(id) !== actuator) changed.add(id);
  };

  readonly #countAll = (): void => {
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    for (const [code, ids] of dirty)
      for (const id of ids) {
        const actuator = this.#store.get(code)?.actuators.get(id);
        if (actuator !== undefined) this.#count(code, actuator);
      }
  };

  /** Begins a new day for actuators that are not read any more, too. */
  #lookAtDay(): void {
    const day = this.#today();
    if (day === this.#day) return;
    this.#day = day;
    for (const { info, actuators } of this.#store.controllers())
      for (const actuator of actuators.values()) this.#count(info.code, actuator);
  }

  #today(): string {
    return localText(this.#clock.now(), this.#offset).slice(0, 10);
  }

  #count(code: string, actuator: Actuator): void {
    const { readAt, settings, registers } = actuator;
    if (!hasRunTime(settings.kind)) return;
    const key = JSON.stringify([code, settings.id]);
    const day = this.#today();
    const before = this.#counted.get(key) ?? (readAt === null ? null : nothingCounted(readAt, day));
    if (before === null) return;
    const startedAt = Math.max(...Object.values(registers).map((register) => register.startedAt));
    const after = afterRead(before, startedAt, isOn(actuator), day);
    this.#counted.set(key, after);
    const runTime = runTimeOf(after);
    if (JSON.stringify(runTime) !== JSON.stringify(actuator.runTime))
      this.#store.dispatch(code, { type: "run_time", id: settings.id, runTime });
  }

  /**
   * Saves the counts. Never rejects; what failed is saved next time. The newest reads are left out, as they say nothing
   * about the time after a restart.
   */
  async #write(): Promise<void> {
    const kept = [...this.#counted].map(([key, { total, today, since }]) => [key, { total, today, since }]);
    const text = JSON.stringify(Object.fromEntries(kept));
    const before = this.#written;
    if (text === before) return;
    this.#written = text;
    await this.#memory.write(text).catch((problem: unknown) => {
      this.#written = before;
      this.#log.debug({ problem }, "how long actuators were on could not be kept; it is tried again");
    });
  }
}
