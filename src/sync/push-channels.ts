import type { Controller } from "../greenhouse/model.js";
import type { PlatformPush, PushChannel, PushListener } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { PushMirror } from "./push-mirror.js";
import type { PushReads, PushRecovery } from "./push-reads.js";
import type { GreenhouseStore } from "./store.js";

export interface PushChannelsPorts {
  readonly platform: PlatformPush;
  readonly store: GreenhouseStore;
  readonly mirror: PushMirror;
  readonly reads: PushReads;
  readonly recovery: PushRecovery;
  readonly clock: Clock;
  readonly log: Logger;
}

const mostStations = 16;
const lookEveryMs = 60_000;

/** Listens on the channels of the account, and on one for each weather station that the mirror holds. */
export class PushChannels {
  readonly #ports: PushChannelsPorts;
  readonly #stations = new Map<string, AbortController>();
  #isCut = false;

  constructor(ports: PushChannelsPorts) {
    this.#ports = ports;
  }

  /** Resolves once every connection is released after the signal's abort. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, reads, recovery } = this.#ports;
    const account = (["device-status", "set-value"] as const).map((type) =>
      platform.listen({ type }, this.#listener({ type }), AbortSignal.any([signal])),
    );
    await Promise.all([...account, reads.run(signal), recovery.run(signal), this.#followStations(signal)]);
  }

  async #followStations(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#ports;
    const open = new Set<Promise<void>>();
    let rest = new AbortController();
    const wake = () => {
      rest.abort();
    };
    const stopWatching = store.onChange((before, after) => {
      if (before?.info.type !== after?.info.type) wake();
    });
    signal.addEventListener("abort", wake);
    while (!signal.aborted) {
      rest = new AbortController();
      const wanted = this.#wantedStations();
      for (const [code, stop] of this.#stations) if (!wanted.includes(code)) this.#leave(code, stop);
      for (const code of wanted) {
        if (this.#stations.has(code)) continue;
        const done = this.#openStation(code, signal).finally(() => open.delete(done));
        open.add(done);
      }
      await clock.wait(lookEveryMs, rest.signal).catch(() => undefined);
    }
    signal.removeEventListener("abort", wake);
    stopWatching();
    await Promise.all(open);
  }

  #openStation(code: string, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    this.#stations.set(code, stop);
    const channel = { type: "weather-station", code } as const;
    return this.#ports.platform.listen(
      channel,
      this.#listener(channel),
      AbortSignal.any([signal, stop.signal]),
    );
  }

  #leave(code: string, stop: AbortController): void {
    stop.abort();
    this.#stations.delete(code);
  }

  #wantedStations(): readonly string[] {
    const all = stationsAmong(this.#ports.store.controllers());
    if (all.length > mostStations && !this.#isCut)
      this.#ports.log.warn(
        { stations: all.length },
        `only the first ${mostStations} weather stations are listened to; the others are polled as everything is`,
      );
    this.#isCut = all.length > mostStations;
    return all.slice(0, mostStations);
  }

  #listener(channel: PushChannel): PushListener {
    const { store, mirror, recovery, clock } = this.#ports;
    const isOfAccount = channel.type !== "weather-station";
    let openedAt: number | null = null;
    return {
      knows: (code) => store.get(code) !== undefined,
      opened: () => {
        if (openedAt !== null && isOfAccount) recovery.want();
        openedAt = clock.monotonic();
      },
      news: (news) => {
        if (openedAt !== null) mirror.fold(news, openedAt);
      },
      lost: () => {
        if (isOfAccount) recovery.want();
      },
    };
  }
}

/** Data collectors are what the interface calls weather stations; their type begins with W. In the order of their codes. */
export const stationsAmong = (controllers: Iterable<Controller>): readonly string[] =>
  [...controllers]
    .filter(({ info }) => info.type?.startsWith("W") === true)
    .map(({ info }) => info.code)
    .sort();
