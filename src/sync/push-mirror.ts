import { sameValue, stateAddresses, textOf } from "../greenhouse/actuator-kinds.js";
import { isDated } from "../greenhouse/fold-sensors.js";
import { differsFrom } from "../greenhouse/fold-statuses.js";
import type { Controller, Register } from "../greenhouse/model.js";
import type { PushNews, RawValue, RunningStatusItem } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { type Gaps, noGaps } from "../runtime/gaps.js";
import type { Mirror } from "./mirror.js";
import type { PollJob } from "./poll-plan.js";
import { registerAt } from "./poll-reads.js";

/** Commands that read addresses back, which use pushed values. */
export interface ReadBacks {
  /** Whether a command reads the address back. */
  readsBack(code: string, address: string): boolean;
  /** Whether a command waited for this value and reads it back now. */
  readBackNow(code: string, address: string, raw: RawValue): boolean;
  /** Registers the handler of a value pushed after the last read of an ended command. */
  onPushed(listener: (code: string, address: string, raw: RawValue) => void): void;
}

/** Short enough for a switch pressed twice, long enough for what never rests. */
const gapMs = 2_000;
/** For statuses without news, or that no read has shown. */
const idleGapMs = 60_000;

type News<Type extends PushNews["type"]> = Extract<PushNews, { type: Type }>;

/** The parts of the mirror that take what is pushed. */
export interface PushedTo extends Pick<Mirror, "store"> {
  readonly poller: Pick<Mirror["poller"], "onSign" | "readSoon" | "isWanted">;
  readonly seen: Pick<Mirror["seen"], "see">;
}

/**
 * Pushed values may be of any age, so they are not shown: where they differ from what is shown, a read follows. Only
 * readings, which carry their time, are folded directly.
 */
export class PushMirror {
  readonly #mirror: PushedTo;
  readonly #readBacks: ReadBacks;
  readonly #clock: Clock;
  readonly #gaps: Pick<Gaps, "newest">;

  constructor(mirror: PushedTo, readBacks: ReadBacks, clock: Clock, gaps: Pick<Gaps, "newest"> = noGaps) {
    this.#mirror = mirror;
    this.#readBacks = readBacks;
    this.#clock = clock;
    this.#gaps = gaps;
  }

  /** `openedAt`: when the channel was opened, monotonic ms. */
  fold(news: PushNews, openedAt: number): void {
    const controller = this.#mirror.store.get(news.code);
    if (!controller) return;
    if (news.type !== "sensors") this.#mirror.poller.onSign(news.code);
    switch (news.type) {
      case "registers":
        this.#foldRegisters(controller, news);
        return;
      case "statuses":
        this.#foldStatuses(controller, news);
        return;
      case "connection":
        this.#foldConnection(controller, news);
        return;
      case "sensors":
        this.#foldSensors(controller, news, openedAt);
    }
  }

  /** Handles a value pushed while a command read the address back that then ended without another read. */
  onPushed(code: string, address: string, raw: RawValue): void {
    const controller = this.#mirror.store.get(code);
    const register = controller && registerAt(controller, address);
    if (register !== undefined) this.#foldRegister(code, address, raw, register);
  }

  #foldRegisters(controller: Controller, { code, values }: News<"registers">): void {
    const { seen } = this.#mirror;
    const registers = registersOf(controller);
    const statuses = statusesAmong(controller, values, registers);
    if (statuses.size > 0)
      this.#readStatuses(controller, { type: "statuses", code, items: [...statuses.values()] });
    this.#foldFollowed(code, registers, values, (address, raw) => {
      if (!statuses.has(address)) seen.see(code, address, raw);
    });
  }

  #foldFollowed(
    code: string,
    registers: Registers,
    values: ReadonlyMap<string, RawValue>,
    onOther: (address: string, raw: RawValue) => void,
  ): void {
    const readBacks = this.#readBacks;
    for (const [address, raw] of values) {
      // A command that waits for this value reads it now, and the mirror shows what it reads.
      if (readBacks.readBackNow(code, address, raw) || readBacks.readsBack(code, address)) continue;
      const register = registers.get(address);
      if (register === undefined) onOther(address, raw);
      else this.#foldRegister(code, address, raw, register);
    }
  }

  #foldRegister(code: string, address: string, raw: RawValue, register: Register | null): void {
    const isVisible = register !== null && sameValue(textOf(register.raw), textOf(raw));
    const { store } = this.#mirror;
    if (!isVisible)
      store.dispatch(code, { type: "register_pushed", address, raw, at: this.#clock.monotonic() });
    this.#readWhereNews(
      { kind: "registers", code, read: { type: "fresh", address } },
      textOf(raw),
      isVisible,
    );
  }

  #foldStatuses(controller: Controller, news: News<"statuses">): void {
    const registers = registersOf(controller);
    const values = new Map(news.items.flatMap((item) => registersOfNumber(registers, item)));
    this.#foldFollowed(news.code, registers, values, () => undefined);
    if (values.size < news.items.length) this.#readStatuses(controller, news);
  }

  #readStatuses({ statuses }: Controller, { code, items }: News<"statuses">): void {
    const isNews = differsFrom(statuses, items);
    this.#mirror.poller.readSoon({ kind: "running_status", code }, isNews ? gapMs : idleGapMs, null);
  }

  /** A device that never had a flag may have got one, but cannot have lost one. */
  #foldConnection({ info, availability }: Controller, { code, online }: News<"connection">): void {
    if ((info.record?.online ?? null) === null && availability === "unknown" && !online) return;
    const said = online ? "online" : "offline";
    this.#readWhereNews({ kind: "connection", code }, said, availability === said);
  }

  /** A visible value needs no read, unless a planned one may have begun before the announcement. */
  #readWhereNews(job: PollJob, said: string, isVisible: boolean): void {
    const { poller } = this.#mirror;
    if (!isVisible || poller.isWanted(job)) poller.readSoon(job, gapMs, said);
  }

  #foldSensors(
    controller: Controller,
    { code, items, receivedAt: arrivedAt }: News<"sensors">,
    openedAt: number,
  ): void {
    const { store } = this.#mirror;
    const now = this.#clock.now();
    // What waited in the socket during a freeze counts as sent before the channel was opened.
    const heardSince = Math.max(openedAt, this.#gaps.newest()?.until ?? -Infinity);
    const openedWall = now - (this.#clock.monotonic() - heardSince);
    const isRead = [...controller.sensors.values()].some(
      ({ source, receivedAt }) => source !== "push" && receivedAt >= openedWall,
    );
    const usable = isRead ? items : items.filter((item) => isDated(item, now));
    if (usable.length > 0)
      store.dispatch(code, { type: "sensors_read", items: usable, receivedAt: arrivedAt, source: "push" });
  }
}

/*
 * A frame with values by number does not say whether these are addresses or running statuses, and either channel may
 * carry either: the controller's own data decide. Both only lead to a read.
 */

type Registers = ReadonlyMap<string, Register | null>;

/** Every followed address with its register. */
function registersOf({ actuators, parameters, addresses }: Controller): Registers {
  const found = new Map<string, Register | null>();
  for (const [address, { register }] of addresses) found.set(address, register);
  for (const { settings, register } of parameters.values()) found.set(settings.address, register);
  for (const { settings, registers } of actuators.values())
    for (const address of stateAddresses(settings)) found.set(address, registers[address] ?? null);
  return found;
}

/** Configured addresses that a running status without a name may mean. */
function registersOfNumber(
  registers: Registers,
  { name, number, value }: RunningStatusItem,
): readonly (readonly [address: string, raw: RawValue])[] {
  if (name !== "" || number === null || value === null || typeof value === "boolean") return [];
  const followed = [...registers.keys()].filter((address) => sameValue(address, String(number)));
  return followed.map((address) => [address, value] as const);
}

/** Known running statuses whose number is among the frame's addresses and belongs to no configured one. */
function statusesAmong(
  { statuses }: Controller,
  values: ReadonlyMap<string, RawValue>,
  registers: Registers,
): ReadonlyMap<string, RunningStatusItem> {
  const numbers = new Map([...statuses.values()].map(({ number }) => [String(number), number] as const));
  const found = new Map<string, RunningStatusItem>();
  for (const [address, value] of values) {
    const number = numbers.get(address);
    if (number !== undefined && !registers.has(address)) found.set(address, { name: "", number, value });
  }
  return found;
}
