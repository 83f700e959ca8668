import { sameValue, textOf } from "../greenhouse/actuator-values.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import { isDated, knownStatuses } from "../greenhouse/fold-statuses.js";
import { futureToleranceMs } from "../greenhouse/freshness.js";
import type { Availability, Controller, Register, Source } from "../greenhouse/model.js";
import type { PlatformReader, PushNews, RawValue } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { PushReads } from "./push-reads.js";
import type { GreenhouseStore } from "./store.js";

/** What the mirror holds of one address; null for an address that nothing of the controller follows. */
export function followedAddress(controller: Controller, address: string): HeldRegister | null {
  for (const { settings, registers, postedAt } of controller.actuators.values())
    if (stateAddresses(settings).includes(address)) return { register: registers[address] ?? null, postedAt };
  for (const { settings, register, postedAt } of controller.parameters.values())
    if (settings.address === address) return { register, postedAt: postedAt ?? null };
  return controller.addresses.get(address) ?? null;
}

/*
 * What a pushed value may do to the mirror. A read says when it began, a push often not even when it was sent: so a push
 * is taken only where its own time shows that it is newer than what a read or a POST of ours has shown. One without a time
 * may have waited anywhere for any while. Pure; instants are monotonic ms.
 */

/** What the mirror holds of an address. */
export interface HeldRegister {
  readonly register: Register | null;
  /** Our last POST to it. */
  readonly postedAt: number | null;
}

export interface PushedValue {
  readonly raw: RawValue;
  /** The platform's own time of it; null when there is none that can be used. */
  readonly at: number | null;
  readonly arrivedAt: number;
}

export type Verdict =
  | { readonly type: "take"; readonly startedAt: number }
  /** The mirror shows it already. */
  | { readonly type: "known" }
  /** Older than what is held. */
  | { readonly type: "old" }
  /** Only a fresh read can tell. */
  | { readonly type: "doubtful" };

/** Times of the platform are exact to a second, its clock is known to a few. */
const toleranceMs = 5_000;
/** A value that shows already is worth taking once more after this: it is then known to be younger. */
const renewedAfterMs = 60_000;

/** `openedAt` is when the channel was opened: until the address was read since then, what came meanwhile is unknown. */
export function judgePush(held: HeldRegister, pushed: PushedValue, openedAt: number): Verdict {
  const { register } = held;
  const { at, arrivedAt } = pushed;
  // What came from the platform's memory may be older than the push, however late it was asked for.
  const provenAt = register?.fresh === true ? register.startedAt : -Infinity;
  if (at !== null && at < Math.max(provenAt, held.postedAt ?? -Infinity) - toleranceMs)
    return { type: "old" };
  if (register === null || register.startedAt < openedAt) return { type: "doubtful" };
  const newest = Math.max(register.startedAt, held.postedAt ?? -Infinity);
  const isSame = sameValue(textOf(register.raw), textOf(pushed.raw));
  if (isSame && (at === null || arrivedAt - newest < renewedAfterMs)) return { type: "known" };
  if (at === null || !isNewer(held, register, at)) return { type: "doubtful" };
  return { type: "take", startedAt: Math.max(at, newest) };
}

/** Pushes of one channel come in order, so a later one is newer. */
function isNewer({ postedAt }: HeldRegister, register: Register, at: number): boolean {
  const reference = register.source === "push" ? (postedAt ?? -Infinity) : register.startedAt;
  return at > Math.max(reference, postedAt ?? -Infinity) + toleranceMs;
}

/**
 * The monotonic instant of a platform time; null when it cannot be used: none given, our clocks not compared yet, or in
 * the future.
 */
export function platformInstant(
  at: number | null,
  skewMs: number | null,
  clock: { readonly now: number; readonly monotonic: number },
): number | null {
  if (at === null || skewMs === null) return null;
  const agoMs = clock.now - (at - skewMs);
  return agoMs < -futureToleranceMs ? null : clock.monotonic - Math.max(0, agoMs);
}

/** The commands that read an address back are told of a pushed value of it. */
export interface PushBell {
  /** Whether a command reads the address back. */
  isAwaited(code: string, address: string): boolean;
  /** Whether a command waited for just this value and reads it back now. */
  ring(code: string, address: string, raw: RawValue): boolean;
  /** Who looks after a value that was pushed after the last read of a command that has ended. */
  onUnread(listener: (code: string, address: string, raw: RawValue) => void): void;
}

export interface PushMirrorPorts {
  readonly store: GreenhouseStore;
  readonly platform: Pick<PlatformReader, "connection" | "runningStatuses" | "value">;
  readonly bell: PushBell;
  readonly reads: PushReads;
  readonly clock: Clock;
  /** Ms the platform's clock is ahead of ours; null while nobody knows. */
  readonly skewMs: () => number | null;
}

/** Short enough for a switch that is pressed twice, long enough for what never rests. */
const registerGapMs = 2_000;
const connectionGapMs = 2_000;
const statusGapMs = 60_000;
const lateMs = 60_000;

type News<Type extends PushNews["type"]> = Extract<PushNews, { type: Type }>;

/**
 * Folds what the platform pushes into the mirror. What may be older than the mirror, or is not known since the channel was
 * opened, is never taken on its word: it leads to a fresh read instead.
 */
export class PushMirror {
  readonly #ports: PushMirrorPorts;
  /** The last doubtful value of an address, by code and address, until a read begun after it has ended. */
  readonly #doubtful = new Map<string, RawValue>();
  /** The last doubtful connection of a controller, as long. */
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
      if (verdict.type === "take") this.#take(code, address, raw, verdict.startedAt, "push");
      // While the address is being read afresh the answer may be on its way already, and older than this.
      const isOpen = verdict.type === "known" && this.#doubtful.has(`${code} ${address}`);
      if ((verdict.type === "doubtful" || isOpen) && !bell.isAwaited(code, address))
        this.#verify(code, address, raw);
    }
  }

  /** What was pushed while somebody read the address back, who has ended without reading once more. */
  unread(code: string, address: string, raw: RawValue): void {
    const controller = this.#ports.store.get(code);
    const held = controller && followedAddress(controller, address);
    if (!held) return;
    const { register } = held;
    if (register === null || !sameValue(textOf(register.raw), textOf(raw))) this.#verify(code, address, raw);
  }

  #take(code: string, address: string, raw: RawValue, startedAt: number, source: Source): void {
    const { store, clock } = this.#ports;
    const values = new Map([[address, raw]]);
    const agoMs = Math.max(0, clock.monotonic() - startedAt);
    const readAt = source === "push" ? clock.now() - agoMs : clock.now();
    store.dispatch(code, { type: "registers_read", values, startedAt, readAt, fresh: true, source });
  }

  /** A fresh read decides; where it shows what was pushed, the push is where the news came from. */
  #verify(code: string, address: string, raw: RawValue): void {
    const key = `${code} ${address}`;
    this.#doubtful.set(key, raw);
    const { reads, platform, clock } = this.#ports;
    const name = `registers ${key}`;
    reads.want(name, registerGapMs, async (signal) => {
      const startedAt = clock.monotonic();
      const read = await platform.value(code, address, true, signal);
      const told = this.#doubtful.get(key);
      if (!reads.isWaiting(name)) this.#doubtful.delete(key);
      if (read === null) return;
      const isTold = told !== undefined && sameValue(textOf(told), textOf(read));
      this.#take(code, address, read, startedAt, isTold ? "push" : "poll");
    });
  }

  #statuses(controller: Controller, { code, items, at }: News<"statuses">, openedAt: number): void {
    const { store, clock, reads, platform } = this.#ports;
    const pushedAt = this.#instant(at);
    const isLate = pushedAt !== null && clock.monotonic() - pushedAt > lateMs;
    const isTrusted = (this.#statusesReadAt.get(code) ?? -Infinity) >= openedAt;
    const known = isTrusted && !isLate ? knownStatuses(controller.statuses, items) : [];
    if (known.length > 0)
      store.dispatch(code, { type: "statuses_read", items: known, receivedAt: clock.now(), source: "push" });
    // Statuses carry no time that orders them, so what was pushed is always looked at once more.
    reads.want(`statuses ${code}`, statusGapMs, async (signal) => {
      const startedAt = clock.monotonic();
      const read = await platform.runningStatuses(code, signal);
      store.dispatch(code, { type: "statuses_read", items: read, receivedAt: clock.now(), source: "poll" });
      this.#statusesReadAt.set(code, startedAt);
    });
  }

  /** A device that neither a list nor its own status ever gave a flag has none that could change. */
  #connection(controller: Controller, { code, online }: News<"connection">): void {
    const { store, reads, platform } = this.#ports;
    const told = online ? "online" : "offline";
    const hasNone =
      (controller.info.record?.online ?? null) === null && controller.availability === "unknown";
    if (hasNone || (controller.availability === told && !this.#connections.has(code))) return;
    this.#connections.set(code, told);
    const name = `connection ${code}`;
    reads.want(name, connectionGapMs, async (signal) => {
      const status = await platform.connection(code, signal);
      const isTold = status.state === this.#connections.get(code);
      if (!reads.isWaiting(name)) this.#connections.delete(code);
      if (isTold) store.dispatch(code, { type: "connection", status });
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
