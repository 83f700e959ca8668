import { type PollOperation, pollOperations } from "../../bridge/poll-cost.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import type { PlatformReader } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";

/** `held`: not sent, because the host is away or asked for a pause. */
export const pollResults = ["ok", "failed", "held"] as const;
export type PollResult = (typeof pollResults)[number];

const key = (operation: PollOperation, code: string | null) => `${operation} ${code ?? ""}`;

/** Notes what polling asked and when it was answered; instants are monotonic ms. */
export class ReadBook {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #answeredAt = new Map<string, number>();
  #endedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When any read ended, well or not: the sign that polling goes on. Null before the first. */
  get endedAt(): number | null {
    return this.#endedAt;
  }

  /** When the platform last answered this; null while it has not. */
  answeredAt(operation: PollOperation, code: string | null): number | null {
    return this.#answeredAt.get(key(operation, code)) ?? null;
  }

  count(operation: PollOperation, result: PollResult): number {
    return this.#counts.get(`${operation} ${result}`) ?? 0;
  }

  forget(code: string): void {
    for (const operation of pollOperations) this.#answeredAt.delete(key(operation, code));
  }

  /** The same reader, with a note of every read that polling makes. */
  watching(reader: PlatformReader): PlatformReader {
    return {
      ...others(reader),
      controllers: (signal) => this.#noted("controllers", null, reader.controllers(signal)),
      devices: (dataType, signal) => this.#noted("devices", null, reader.devices(dataType, signal)),
      connection: (code, signal, pace) =>
        this.#noted("connection", code, reader.connection(code, signal, pace)),
      sensors: (code, signal) => this.#noted("sensors", code, reader.sensors(code, signal)),
      runningStatuses: (code, signal) =>
        this.#noted("running_status", code, reader.runningStatuses(code, signal)),
      value: (code, address, fresh, signal) =>
        this.#noted("register", code, reader.value(code, address, fresh, signal)),
      values: (code, group, signal) => this.#noted("registers", code, reader.values(code, group, signal)),
    };
  }

  async #noted<T>(operation: PollOperation, code: string | null, read: Promise<T>): Promise<T> {
    try {
      const answer = await read;
      this.#answeredAt.set(key(operation, code), this.#clock.monotonic());
      this.#ended(operation, "ok");
      return answer;
    } catch (error) {
      const isHeld = error instanceof PlatformError && error.facts.kind === "paused";
      this.#ended(operation, isHeld ? "held" : "failed");
      throw error;
    }
  }

  #ended(operation: PollOperation, result: PollResult): void {
    this.#endedAt = this.#clock.monotonic();
    const counted = `${operation} ${result}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}

const others = (reader: PlatformReader): Pick<PlatformReader, "stations" | "get"> => ({
  stations: (signal) => reader.stations(signal),
  get: (operation, query, signal) => reader.get(operation, query, signal),
});
