import type { ParameterGroup } from "../../src/greenhouse/device-types.js";
import {
  type ClientStatus,
  type DeviceList,
  type History,
  PlatformError,
  type PlatformHost,
  type PlatformReader,
  type RawValue,
  type RunningStatusItem,
  type SensorItem,
} from "../../src/greenhouse/ports.js";
import { clientStatus } from "./builders.js";
import type { VirtualClock } from "./virtual-clock.js";

export interface Call {
  /** Monotonic ms. */
  readonly at: number;
  /** `controllers`, `devices TEXT`, `sensors GH-1`, `value GH-1 101 fresh` … */
  readonly name: string;
  readonly host: PlatformHost;
}

/** A platform that answers after `latencyMs` with the test's data, and records the time of every request. */
export class CountingPlatform implements PlatformReader {
  readonly calls: Call[] = [];
  latencyMs = 20;
  /** The duration of a slower request. */
  slowMs: (name: string) => number | undefined = () => undefined;
  list: DeviceList = [];
  other: DeviceList = [];
  /** The single-device status; as in the list unless the test sets another. */
  status: (code: string) => ClientStatus = (code) =>
    clientStatus(this.list.find((one) => one.code === code)?.online === true ? "online" : "offline");
  statuses: readonly RunningStatusItem[] = [];
  readonly registers = new Map<string, RawValue | null>();
  /** `GH-1 101`: the value in its group, if that is another one. */
  readonly groupTells = new Map<string, RawValue>();
  /** `GH-1 101`: addresses that no group lists. */
  readonly unlisted = new Set<string>();
  readonly open = new Map<string, number>();
  mostAtOnce = 0;
  readonly overlaps: string[] = [];
  /** Throws the error that prevents a request, before it counts as a call. */
  gate: (host: PlatformHost) => void = () => undefined;
  /** Throws the error with which a request ends. */
  fate: (call: Call) => void = () => undefined;
  readonly #clock: VirtualClock;
  readonly #items: (code: string) => readonly SensorItem[];

  constructor(clock: VirtualClock, items: (code: string) => readonly SensorItem[] = () => []) {
    this.#clock = clock;
    this.#items = items;
  }

  controllers(signal: AbortSignal): Promise<DeviceList> {
    return this.#ask("controllers", "business", signal, () => this.list);
  }

  devices(dataType: "TEXT" | "STREAM", signal: AbortSignal): Promise<DeviceList> {
    return this.#ask(`devices ${dataType}`, "business", signal, () => this.other);
  }

  listing(): Promise<never> {
    return Promise.reject(new Error("not polled"));
  }

  stations(): Promise<never> {
    return Promise.reject(new Error("not polled"));
  }

  videos(signal: AbortSignal): Promise<DeviceList> {
    return this.#ask("videos", "business", signal, () => this.list);
  }

  connection(code: string, signal: AbortSignal): Promise<ClientStatus> {
    return this.#ask(`connection ${code}`, "realtime", signal, () => this.status(code));
  }

  sensors(code: string, signal: AbortSignal): Promise<readonly SensorItem[]> {
    return this.#ask(`sensors ${code}`, "realtime", signal, () => this.#items(code));
  }

  averages(code: string, signal: AbortSignal): Promise<readonly SensorItem[]> {
    return this.#ask(`averages ${code}`, "business", signal, () => this.#items(code));
  }

  runningStatuses(code: string, signal: AbortSignal): Promise<readonly RunningStatusItem[]> {
    return this.#ask(`running_status ${code}`, "realtime", signal, () => this.statuses);
  }

  value(code: string, address: string, fresh: boolean, signal: AbortSignal): Promise<RawValue | null> {
    const key = `${code} ${address}${fresh ? " fresh" : ""}`;
    return this.#ask(`value ${key}`, "realtime", signal, () => {
      const own = this.registers.get(key);
      return own === undefined ? (this.registers.get(`${code} ${address}`) ?? null) : own;
    });
  }

  values(code: string, group: ParameterGroup, signal: AbortSignal): Promise<ReadonlyMap<string, RawValue>> {
    return this.#ask(`values ${code} ${group}`, "realtime", signal, () => {
      const all = [...this.registers].flatMap(([key, raw]): [string, RawValue][] => {
        const [owner, address = ""] = key.split(" ");
        const isShown = owner === code && raw !== null && !this.unlisted.has(key);
        return isShown ? [[address, this.groupTells.get(key) ?? raw]] : [];
      });
      return new Map(all);
    });
  }

  history(): Promise<History> {
    return Promise.reject(new Error("not polled"));
  }

  get(): Promise<unknown> {
    return Promise.reject(new Error("not polled"));
  }

  times(name: string): readonly number[] {
    return this.calls.filter((call) => call.name === name).map(({ at }) => at);
  }

  async #ask<Answer>(
    name: string,
    host: PlatformHost,
    signal: AbortSignal,
    answer: () => Answer,
  ): Promise<Answer> {
    this.gate(host);
    const call = { at: this.#clock.monotonic(), name, host };
    this.calls.push(call);
    const already = this.open.get(name) ?? 0;
    if (already > 0) this.overlaps.push(name);
    this.open.set(name, already + 1);
    this.mostAtOnce = Math.max(
      this.mostAtOnce,
      [...this.open.values()].reduce((sum, one) => sum + one, 0),
    );
    try {
      await this.#clock.wait(this.slowMs(name) ?? this.latencyMs, signal);
      this.fate(call);
      return answer();
    } finally {
      this.open.set(name, (this.open.get(name) ?? 1) - 1);
    }
  }
}

export const failure = (
  kind: "paused" | "throttled" | "timeout" | "unreachable" | "rejected" | "unauthorized" | "server",
  host: PlatformHost,
): PlatformError =>
  new PlatformError(`the ${host} host did not do it`, {
    kind,
    host,
    operation: "sensor-data",
    sent: kind === "rejected" || kind === "timeout" || kind === "server",
  });
