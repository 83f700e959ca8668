import type { Controller } from "../greenhouse/model.js";
import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { GreenhouseStore } from "../sync/store.js";
import { afterRead, type Counted, isCounted, isOn, nothingCounted, runTimeOf } from "./count.js";

/* How long each actuator was on, kept over restarts in a file of its own. */

interface RunTimePorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<GreenhouseStore, "onChange" | "get" | "dispatch" | "controllers">;
  readonly timeZone: string;
  readonly memory: { read(): Promise<string | null>; write(text: string): Promise<void> };
}

/** What is lost at most where the power goes. */
const writeEveryMs = 30_000;
/** Reads are counted also where the disk does not answer. */
const longestReadMs = 5_000;

const keyOf = (code: string, id: string): string => JSON.stringify([code, id]);

const isCounting = (value: unknown): value is Counted =>
  typeof value === "object" && value !== null && "total" in value && "today" in value && "since" in value;

export class RunTimes {
  readonly #ports: RunTimePorts;
  readonly #dayFormat: Intl.DateTimeFormat;
  readonly #counted = new Map<string, Counted>();
  readonly #dirty = new Set<string>();
  #isChanged = false;

  constructor(ports: RunTimePorts) {
    this.#ports = ports;
    this.#dayFormat = new Intl.DateTimeFormat("sv-SE", { timeZone: ports.timeZone, dateStyle: "short" });
    ports.store.onChange((_, after) => after && this.#mark(after), ["actuators"]);
  }

  /** What earlier runs counted, before anything is read. */
  async restore(): Promise<void> {
    const { clock, log, memory } = this.#ports;
    try {
      const kept: unknown = JSON.parse((await within(clock, longestReadMs, () => memory.read())) ?? "{}");
      for (const [key, one] of Object.entries({ ...Object(kept) } as object))
        // What happened while nobody looked counts nothing.
        if (isCounting(one)) this.#counted.set(key, { ...one, last: null });
    } catch (problem) {
      log.warn({ problem }, "how long actuators were on before the start is not known; counting begins anew");
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await every(writeEveryMs, this.#ports.clock, signal, () => void this.#write());
    await this.#write();
  }

  /** A listener of the store must not dispatch. */
  #mark({ info }: Controller): void {
    if (this.#dirty.size === 0) this.#ports.clock.soon(this.#countAll);
    this.#dirty.add(info.code);
  }

  readonly #countAll = (): void => {
    const codes = [...this.#dirty];
    this.#dirty.clear();
    for (const code of codes) {
      const controller = this.#ports.store.get(code);
      if (controller !== undefined) this.#count(controller);
    }
  };

  #count({ info: { code }, actuators }: Controller): void {
    for (const actuator of actuators.values()) {
      const { readAt, settings } = actuator;
      if (readAt === null || !isCounted(actuator)) continue;
      const key = keyOf(code, settings.id);
      const day = this.#dayFormat.format(readAt);
      const before = this.#counted.get(key) ?? nothingCounted(readAt, day);
      const after = afterRead(before, readAt, isOn(actuator), day);
      this.#counted.set(key, after);
      this.#isChanged ||= after !== before;
      const runTime = runTimeOf(after);
      if (JSON.stringify(runTime) !== JSON.stringify(actuator.runTime))
        this.#ports.store.dispatch(code, { type: "run_time", id: settings.id, runTime });
    }
  }

  /** Never rejects; what could not be written is written the next time. */
  async #write(): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const text = JSON.stringify(Object.fromEntries(this.#counted));
    await this.#ports.memory.write(text).catch((problem: unknown) => {
      this.#isChanged = true;
      this.#ports.log.debug({ problem }, "how long actuators were on could not be kept; it is tried again");
    });
  }
}
