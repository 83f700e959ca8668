import { sameValue, textOf } from "../greenhouse/actuator-values.js";
import type { Availability, Controller, Source } from "../greenhouse/model.js";
import type { PlatformReader, RawValue } from "../greenhouse/ports.js";
import { isDated, knownStatuses } from "../greenhouse/push-fold.js";
import type { PushNews } from "../greenhouse/push.js";
import type { Clock } from "../runtime/clock.js";
import type { PushBell } from "./push-bell.js";
import { type Followed, followedAddress } from "./push-held.js";
import { judgePush, platformInstant } from "./push-judgement.js";
import type { PushReads } from "./push-reads.js";
import type { GreenhouseStore } from "./store.js";

export interface PushMirrorPorts {
  readonly store: GreenhouseStore;
  readonly platform: Pick<PlatformReader, "connection" | "runningStatuses" | "value" | "values">;
  readonly bell: PushBell;
  readonly reads: PushReads;
  readonly clock: Clock;
  /** Ms the platform's clock is ahead of ours; null while nobody knows. */
  readonly skewMs: () => number | null;
}

const registerGapMs = 5_000;
const connectionGapMs = 5_000;
const statusGapMs = 60_000;
const lateMs = 60_000;

type News<Type extends PushNews["type"]> = Extract<PushNews, { type: Type }>;

/**
 * Folds what the platform pushes into the mirror. What may be older than the mirror, or is not known since the channel was
 * opened, is never taken on its word: it leads to a fresh read instead.
 */
export class PushMirror {
  readonly #ports: PushMirrorPorts;
  /** The last doubtful value of an address, by code and address. */
  readonly #doubtful = new Map<string, RawValue>();
  readonly #connections = new Map<string, Availability>();
  /** When the statuses of a controller were last read because of a push; monotonic ms. */
  readonly #statusesReadAt = new Map<string, number>();

  constructor(ports: PushMirrorPorts) {
    this.#ports = ports;
  }

  /** `openedAt` is when the channel was opened, monotonic ms. */
  fold(news: PushNews, openedAt: number): void {
    const controller = this.#ports.store.get(news.code);
    if (!controller) return;
    switch (news.type) {
      case "registers":
        this.#registers(controller, news, openedAt);
        return;
      case "statuses":
        this.#statuses(controller, news, openedAt);
        return;
      case "connection":
        this.#connection(controller, news);
        return;
      case "sensors":
        this.#sensors(controller, news, openedAt);
    }
  }

  #registers(controller: Controller, { code, values, at }: News<"registers">, openedAt: number): void {
    const { bell } = this.#ports;
    const arrivedAt = this.#ports.clock.monotonic();
    const pushedAt = this.#instant(at);
    for (const [address, raw] of values) {
      // Whoever waits for this value reads it back now, and that is what the mirror will show.
      if (bell.ring(code, address, raw)) continue;
      const held = followedAddress(controller, address);
      if (held === null) continue;
      const verdict = judgePush(held, { raw, at: pushedAt, arrivedAt }, openedAt);
      if (verdict.type === "take") this.#take(code, new Map([[address, raw]]), verdict.startedAt, "push");
      if (verdict.type === "doubtful" && !bell.isAwaited(code, address))
        this.#verify(code, address, raw, held);
    }
  }

  #take(code: string, values: ReadonlyMap<string, RawValue>, startedAt: number, source: Source): void {
    const { store, clock } = this.#ports;
    if (values.size === 0) return;
    const agoMs = Math.max(0, clock.monotonic() - startedAt);
    const readAt = source === "push" ? clock.now() - agoMs : clock.now();
    store.dispatch(code, { type: "registers_read", values, startedAt, readAt, fresh: true, source });
  }

  #verify(code: string, address: string, raw: RawValue, { group }: Followed): void {
    this.#doubtful.set(`${code} ${address}`, raw);
    const { reads, platform, clock } = this.#ports;
    const name = group === null ? `address ${address}` : `group ${group}`;
    reads.want(`registers ${code} ${name}`, registerGapMs, async (signal) => {
      const startedAt = clock.monotonic();
      const values =
        group === null
          ? single(address, await platform.value(code, address, true, signal))
          : await platform.values(code, group, signal);
      this.#verified(code, values, startedAt);
    });
  }

  /** The read decides; where it shows what was pushed, the push is where the news came from. */
  #verified(code: string, values: ReadonlyMap<string, RawValue>, startedAt: number): void {
    const pushed = new Map<string, RawValue>();
    const others = new Map<string, RawValue>();
    for (const [address, raw] of values) {
      const key = `${code} ${address}`;
      const told = this.#doubtful.get(key);
      const isTold = told !== undefined && sameValue(textOf(told), textOf(raw));
      (isTold ? pushed : others).set(address, raw);
      this.#doubtful.delete(key);
    }
    this.#take(code, pushed, startedAt, "push");
    this.#take(code, others, startedAt, "poll");
  }

  #statuses(controller: Controller, { code, items, at }: News<"statuses">, openedAt: number): void {
    const { store, clock, reads, platform } = this.#ports;
    const pushedAt = this.#instant(at);
    const isLate = pushedAt !== null && clock.monotonic() - pushedAt > lateMs;
    const isTrusted = (this.#statusesReadAt.get(code) ?? -Infinity) >= openedAt;
    const known = isTrusted && !isLate ? knownStatuses(controller.statuses, items) : [];
    if (known.length > 0)
      store.dispatch(code, { type: "statuses_read", items: known, receivedAt: clock.now() });
    // Statuses carry no time that orders them, so what was pushed is always looked at once more.
    reads.want(`statuses ${code}`, statusGapMs, async (signal) => {
      const startedAt = clock.monotonic();
      const read = await platform.runningStatuses(code, signal);
      store.dispatch(code, { type: "statuses_read", items: read, receivedAt: clock.now() });
      this.#statusesReadAt.set(code, startedAt);
    });
  }

  /** A device the list gives no flag for has none that could change. */
  #connection(controller: Controller, { code, online }: News<"connection">): void {
    const { store, reads, platform } = this.#ports;
    const told = online ? "online" : "offline";
    if ((controller.info.record?.online ?? null) === null || controller.availability === told) return;
    this.#connections.set(code, told);
    reads.want(`connection ${code}`, connectionGapMs, async (signal) => {
      const availability = await platform.connection(code, signal);
      if (availability === this.#connections.get(code))
        store.dispatch(code, { type: "connection", availability });
    });
  }

  #sensors(controller: Controller, { code, items }: News<"sensors">, openedAt: number): void {
    const { store, clock } = this.#ports;
    const now = clock.now();
    const openedWall = now - (clock.monotonic() - openedAt);
    const isRead = [...controller.sensors.values()].some(
      ({ source, receivedAt }) => source !== "push" && receivedAt >= openedWall,
    );
    const usable = isRead ? items : items.filter((item) => isDated(item, now));
    if (usable.length > 0)
      store.dispatch(code, { type: "sensors_read", items: usable, receivedAt: now, source: "push" });
  }

  #instant(at: number | null): number | null {
    const { clock, skewMs } = this.#ports;
    return platformInstant(at, skewMs(), { now: clock.now(), monotonic: clock.monotonic() });
  }
}

const single = (address: string, raw: RawValue | null): ReadonlyMap<string, RawValue> =>
  new Map(raw === null ? [] : [[address, raw]]);
