import { anyOf } from "../runtime/signals.js";
import { ignored } from "../runtime/failures.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformPush, PushChannel, PushListener } from "../greenhouse/ports.js";
import { type Clock, Rest } from "../runtime/clock.js";
import type { Gaps } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { Mirror } from "./mirror.js";
import { type PushedTo, PushMirror, type ReadBacks } from "./push-mirror.js";

const mostStations = 16;
const recoveryPauseMs = 60_000;

interface Listening extends PushedTo {
  readonly poller: PushedTo["poller"] & Pick<Mirror["poller"], "refresh">;
  readonly seen: PushedTo["seen"] & Pick<Mirror["seen"], "restore">;
}

/** Listens on the account's channels, and on one for each mirrored weather station. */
export class PushChannels {
  readonly #platform: PlatformPush;
  readonly #mirror: Listening;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pushed: PushMirror;
  readonly #stations = new Map<string, AbortController>();
  readonly #look: Rest;
  readonly #recovery: Rest;
  #isCut = false;

  constructor(
    platform: PlatformPush,
    mirror: Listening,
    readBacks: ReadBacks,
    {
      clock,
      gaps,
      log,
    }: { readonly clock: Clock; readonly gaps?: Pick<Gaps, "newest">; readonly log: Logger },
  ) {
    this.#platform = platform;
    this.#mirror = mirror;
    this.#clock = clock;
    this.#log = log;
    this.#look = new Rest(clock);
    this.#recovery = new Rest(clock);
    this.#pushed = new PushMirror(mirror, readBacks, clock, gaps);
    readBacks.onPushed((code, address, raw) => this.#pushed.onPushed(code, address, raw));
  }

  /** Resolves once every connection is released after the signal's abort. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#mirror.seen.restore();
    const account = (["device-status", "set-value"] as const).map((type) =>
      this.#platform.listen({ type }, this.#listener({ type }), anyOf(signal)),
    );
    const own = [this.#recover(signal), this.#followStations(signal)];
    await Promise.all([...account, ...own]);
  }

  /**
   * Reads everything once after a channel was lost, and once it is open again, as changes in between were not pushed.
   * However often channels come and go, the next round begins only a pause after the previous one ended.
   */
  async #recover(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#recovery.for(Infinity, signal);
      if (signal.aborted) return;
      await this.#mirror.poller.refresh();
      await this.#clock.wait(recoveryPauseMs, signal).catch(ignored);
    }
  }

  async #followStations(signal: AbortSignal): Promise<void> {
    const open = new Set<Promise<void>>();
    const stopWatching = this.#mirror.store.onChange((before, after) => {
      if (before?.info.type !== after?.info.type) this.#look.wake();
    });
    while (!signal.aborted) {
      const wanted = this.#wantedStations();
      for (const [code, stop] of this.#stations) {
        if (wanted.includes(code)) continue;
        stop.abort();
        this.#stations.delete(code);
      }
      for (const code of wanted) {
        if (this.#stations.has(code)) continue;
        const done = this.#openStation(code, signal).finally(() => open.delete(done));
        open.add(done);
      }
      await this.#look.for(Infinity, signal);
    }
    stopWatching();
    await Promise.all(open);
  }

  #openStation(code: string, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    this.#stations.set(code, stop);
    const channel = { type: "weather-station", code } as const;
    return this.#platform.listen(channel, this.#listener(channel), anyOf(signal, stop.signal));
  }

  #wantedStations(): readonly string[] {
    const all = stationsAmong(this.#mirror.store.controllers());
    if (all.length > mostStations && !this.#isCut)
      this.#log.warn(
        { stations: all.length },
        `only the first ${mostStations} weather stations are listened to; the others are polled as everything is`,
      );
    this.#isCut = all.length > mostStations;
    return all.slice(0, mostStations);
  }

  #listener(channel: PushChannel): PushListener {
    const isOfAccount = channel.type !== "weather-station";
    let openedAt: number | null = null;
    return {
      knows: (code) => this.#mirror.store.get(code) !== undefined,
      onOpen: () => {
        if (openedAt !== null && isOfAccount) this.#recovery.wake();
        openedAt = this.#clock.monotonic();
      },
      news: (news) => {
        if (openedAt !== null) this.#pushed.fold(news, openedAt);
      },
      onLost: () => {
        if (isOfAccount) this.#recovery.wake();
      },
    };
  }
}

/** Codes of weather stations in order; the interface means data collectors, whose type begins with W. */
const stationsAmong = (controllers: Iterable<Controller>): readonly string[] =>
  [...controllers]
    .filter(({ info }) => info.type?.startsWith("W") === true)
    .map(({ info }) => info.code)
    .sort();
