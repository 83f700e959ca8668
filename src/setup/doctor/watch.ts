import { anyOf } from "../../runtime/signals.js";
import { msg, row, type Text } from "../../language/text.js";
import { degreeOf, sameValue, textOf } from "../../greenhouse/actuator-kinds.js";
import { type ParameterGroup, typeRows } from "../../greenhouse/device-types.js";
import { listingOf } from "../../greenhouse/group-listing.js";
import {
  PlatformError,
  type PlatformPush,
  type PlatformReader,
  type PushNews,
  type RawValue,
  type RunningStatusItem,
} from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import { type Sighting, sightingLine, type Way, type WatchRecord } from "./watch-conclusions.js";

type Asked = PlatformPush & Pick<PlatformReader, "value" | "values" | "runningStatuses">;

const roundMs = 2_000;
/** Watched on after the travel time, so that late changes are seen. */
const afterwardsMs = 30_000;
const quietMs = 15_000;
/** Most other addresses followed, as a type may list many. */
const mostOthers = 20;

/**
 * Watches one movement that a person makes: what each way of reading and both channels show at which second. Sends
 * nothing. Ends after the travel time once nothing changes, after `patienceMs` without a change, or with the signal;
 * never rejects for a failed read. `say` prints lines for the person.
 */
export async function watchMovement(
  platform: Asked,
  movement: Pick<WatchRecord, "actuator" | "word"> & { readonly patienceMs: number },
  { clock, say }: { readonly clock: Clock; readonly say: (line: Text) => void },
  stop: AbortSignal,
): Promise<WatchRecord> {
  const over = new AbortController();
  const signal = anyOf(stop, over.signal);
  const watch = new Watch(platform, movement, { clock, say }, signal);
  const channels = (["set-value", "device-status"] as const).map((type) =>
    platform.listen({ type }, watch.listener(`ws/${type}`), anyOf(signal)),
  );
  await watch.findType();
  await watch.round();
  watch.begin();
  while (!watch.isOver() && (await waitRound(clock, signal))) await watch.round();
  over.abort();
  await Promise.all(channels);
  return watch.record();
}

/** Whether the pause before the next round ended without an abort. */
const waitRound = (clock: Clock, signal: AbortSignal): Promise<boolean> =>
  clock.wait(roundMs, signal).then(
    () => true,
    () => false,
  );

class Watch {
  readonly #platform: Asked;
  readonly #movement;
  readonly #clock: Clock;
  readonly #say: (line: Text) => void;
  readonly #signal: AbortSignal;
  readonly #sightings: Sighting[] = [];
  /** The newest value by way and subject. */
  readonly #newest = new Map<string, string>();
  readonly #troubles = new Set<string>();
  #startedAt: number;
  #isBegun = false;
  /** The type whose other addresses may show the degree. */
  #listed: ParameterGroup | null;
  /** The unowned addresses in its newest list. */
  #free: WatchRecord["free"] = null;

  constructor(
    platform: Asked,
    movement: Parameters<typeof watchMovement>[1],
    { clock, say }: Parameters<typeof watchMovement>[2],
    signal: AbortSignal,
  ) {
    this.#platform = platform;
    this.#movement = movement;
    this.#clock = clock;
    this.#say = say;
    this.#signal = signal;
    this.#startedAt = clock.monotonic();
    this.#listed = movement.actuator.group;
  }

  /** For a degree, finds which type of its kind lists the address, if the configuration does not say it. */
  async findType(): Promise<void> {
    const platform = this.#platform;
    const { actuator, word } = this.#movement;
    const { code, kind, modeAddress } = actuator;
    if (this.#listed !== null || degreeOf(word) === null) return;
    for (const [group, row] of typeRows) {
      if (row.role !== "actuator" || row.kind !== kind || this.#signal.aborted) continue;
      await this.#ask("set-value/flush", platform.values(code, group, this.#signal), (values) => {
        if (values.has(modeAddress)) this.#listed ??= group;
      });
      if (this.#knowsType()) return;
    }
  }

  /** A method, as it changes while something is awaited. */
  #knowsType(): boolean {
    return this.#listed !== null;
  }

  /** Everything was read once; from now on changes count. */
  begin(): void {
    const { word, actuator } = this.#movement;
    const say = this.#say;
    this.#isBegun = true;
    this.#startedAt = this.#clock.monotonic();
    say("");
    say(msg`Now send "${word}" to ${actuator.id}, once, in the vendor's app or with`);
    say(`  greenhouse2mqtt set ${actuator.code} ${actuator.id} ${word}`);
    say(msg`and look at the real thing. Nothing is sent from here. Ctrl-C ends the watch early.`);
    say("");
  }

  isOver(): boolean {
    const now = this.#now();
    const { patienceMs, actuator } = this.#movement;
    const changes = this.#sightings.filter(({ before }) => before !== null);
    const [first] = changes;
    const last = changes.at(-1);
    if (first === undefined || last === undefined) return now >= patienceMs;
    const longest = first.atMs + 2 * actuator.travelMs + 4 * afterwardsMs;
    const wanted = Math.max(first.atMs + actuator.travelMs + afterwardsMs, last.atMs + quietMs);
    return now >= Math.min(wanted, longest);
  }

  /** Reads in every way once, all at the same time. */
  async round(): Promise<void> {
    const platform = this.#platform;
    const { actuator } = this.#movement;
    const { code } = actuator;
    const group = this.#listed;
    const signal = this.#signal;
    const addresses = [...new Set([actuator.modeAddress, actuator.positionAddress])];
    await Promise.all([
      ...addresses.flatMap((address) => [
        this.#ask("get-value flush=1", platform.value(code, address, true, signal), (raw) =>
          this.#seeValue("get-value flush=1", address, raw),
        ),
        this.#ask("get-value", platform.value(code, address, false, signal, "urgent"), (raw) =>
          this.#seeValue("get-value", address, raw),
        ),
      ]),
      ...(group === null
        ? []
        : [
            this.#ask("set-value/flush", platform.values(code, group, signal), (values) => {
              for (const address of actuator.group === null ? [] : addresses)
                this.#seeValue("set-value/flush", address, values.get(address) ?? null);
              this.#seeOthers(values);
            }),
          ]),
      this.#ask("device_status", platform.runningStatuses(code, signal), (items) =>
        this.#seeStatuses("device_status", items),
      ),
    ]);
  }

  listener(way: "ws/set-value" | "ws/device-status") {
    const { code } = this.#movement.actuator;
    return {
      knows: (named: string) => named === code,
      onOpen: () => undefined,
      onLost: () => undefined,
      onClosed: (why: Text) => this.#trouble(msg`${way} is not open: ${why}`),
      news: (news: PushNews) => {
        if (news.type === "registers")
          for (const [address, raw] of news.values) this.#seePushed(way, address, raw);
        if (news.type === "statuses") this.#seeStatuses(way, news.items);
      },
    };
  }

  record(): WatchRecord {
    const { actuator, word } = this.#movement;
    return { actuator, word, sightings: this.#sightings, free: this.#free, endedMs: this.#now() };
  }

  #now(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  async #ask<T>(what: string, question: Promise<T>, seen: (answer: T) => void): Promise<void> {
    try {
      seen(await question);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (!this.#signal.aborted) this.#trouble(row`${what}: ${error.text}`);
    }
  }

  #trouble(text: Text): void {
    if (this.#troubles.has(String(text))) return;
    this.#troubles.add(String(text));
    this.#say(text);
  }

  #seeValue(way: Way, address: string, raw: RawValue | null): void {
    if (raw !== null) this.#see(way, address, textOf(raw), null);
  }

  /** Looks for the degree of a positioner at other addresses of its type. */
  #seeOthers(values: ReadonlyMap<string, RawValue>): void {
    const { actuator, word } = this.#movement;
    if (degreeOf(word) === null) return;
    const owned = [...actuator.owned, actuator.modeAddress, actuator.positionAddress];
    const { free } = listingOf(values, (address) => owned.some((own) => sameValue(own, address)));
    this.#free = free;
    for (const { address, value } of free.slice(0, mostOthers))
      this.#see("set-value/flush", address, value, null);
  }

  /** A channel has no earlier value, so its first one is compared with what was read. */
  #seePushed(way: Way, address: string, raw: RawValue): void {
    const value = textOf(raw);
    const read = this.#newest.get(`get-value flush=1 ${address}`) ?? null;
    const before = this.#newest.get(`${way} ${address}`) ?? read;
    if (before !== null && sameValue(before, value)) return;
    this.#see(way, address, value, before);
  }

  #seeStatuses(way: Way, items: readonly RunningStatusItem[]): void {
    for (const { number, name, value } of items)
      if (value !== null) this.#see(way, `${number ?? ""} ${name}`.trim(), String(value), null);
  }

  #see(way: Way, subject: string, value: string, read: string | null): void {
    const key = `${way} ${subject}`;
    const before = this.#newest.get(key) ?? read;
    if (before === value) return;
    this.#newest.set(key, value);
    // A change before the person was asked to move it only shows where it stood.
    const sighting = {
      atMs: this.#isBegun ? this.#now() : 0,
      way,
      subject,
      before: this.#isBegun ? before : null,
      value,
    };
    this.#sightings.push(sighting);
    this.#say(sightingLine(sighting));
  }
}
