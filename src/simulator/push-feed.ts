import { writeBody } from "./call.js";
import type { PlatformState, RegisterChange } from "./platform-state.js";
import { statusItems } from "./realtime-operations.js";
import { type Fields, registerValue } from "./register-shapes.js";
import { sensorAnswer } from "./sensors.js";
import { writeTime } from "./weather.js";

export type PushChannel = "device-status" | "set-value" | "weather-station-data";

/** One frame to send; `code` is the device of a weather-station channel. */
export interface PushFrame {
  readonly channel: PushChannel;
  readonly code: string;
  readonly text: string;
}

/** Turns what changed on the platform into frames of its push channels. */
export class PushFeed {
  readonly #state: PlatformState;
  readonly #shownStatuses = new Map<string, readonly string[]>();
  readonly #sampledAt = new Map<string, number>();

  constructor(state: PlatformState) {
    this.#state = state;
  }

  /** Register changes since the last call. */
  registerFrames(): readonly PushFrame[] {
    this.#state.settle();
    return this.#state
      .takeChanges()
      .map((change) => this.#frame("set-value", change.device.code, this.#register(change)));
  }

  /**
   * Running statuses, connections and weather readings that differ from the last call; the first one is silent. `stations` are the
   * device codes of open weather-station channels; nothing is worked out without a reader.
   */
  changeFrames({
    statuses,
    stations,
  }: {
    statuses: boolean;
    stations: ReadonlySet<string>;
  }): readonly PushFrame[] {
    const stationFrames = [...stations].flatMap((code) => this.#stationFrames(code));
    return [...(statuses ? this.#statusFrames() : []), ...stationFrames];
  }

  #statusFrames(): readonly PushFrame[] {
    return this.#state.touched().flatMap((controller) => {
      controller.advance(this.#state.simulatedNow);
      const { code } = controller.device;
      const items = [{ online: controller.isOnline() }, ...statusItems(this.#state, controller)];
      const texts = items.map((item) => JSON.stringify(item));
      const before = this.#shownStatuses.get(code);
      this.#shownStatuses.set(code, texts);
      if (!before) return [];
      const changed = items.filter((_, index) => texts[index] !== before[index]);
      return this.#statusFields(code, changed).map((fields) => this.#frame("device-status", code, fields));
    });
  }

  #stationFrames(code: string): readonly PushFrame[] {
    const sample = this.#state.controller(code)?.sample();
    const before = this.#sampledAt.get(code);
    if (!sample || sample.items.length === 0 || before === sample.at) return [];
    this.#sampledAt.set(code, sample.at);
    const { dialect } = this.#state.settings;
    const readings = sensorAnswer(dialect, sample.items, this.#state.timeline.realAt(sample.at));
    const fields = { ...this.#head("WEATHER_STATION"), deviceCode: code, ...readings };
    return [this.#frame("weather-station-data", code, fields)];
  }

  #register({ device, address, held }: RegisterChange): Fields {
    const { dialect } = this.#state.settings;
    const value = registerValue(dialect, held.value);
    if (dialect.push === "batch") return { deviceCode: device.code, data: { [address]: value } };
    return this.#news("SET_VALUE", { deviceCode: device.code, address, value });
  }

  #statusFields(code: string, changed: readonly Fields[]): readonly Fields[] {
    if (this.#state.settings.dialect.push === "batch")
      return changed.length === 0 ? [] : [{ deviceCode: code, data: changed }];
    return changed.map((item) => this.#news("DEVICE_STATUS", { deviceCode: code, ...item }));
  }

  /** One piece of news as a bare or an event-like dialect has it. */
  #news(type: string, fields: Fields): Fields {
    const { push, sensors } = this.#state.settings.dialect;
    if (push === "event") return { ...this.#head(type), data: fields };
    return { ...fields, dateTime: writeTime(this.#state.now, sensors.time) };
  }

  /** What an event-like dialect puts before the payload. */
  #head(type: string): Fields {
    return this.#state.settings.dialect.push === "event"
      ? { type, timestamp: Math.floor(this.#state.now) }
      : {};
  }

  #frame(channel: PushChannel, code: string, fields: Fields): PushFrame {
    return { channel, code, text: writeBody({ status: 200, body: fields }, this.#state.settings.dialect) };
  }
}
