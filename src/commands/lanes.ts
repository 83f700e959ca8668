import type { Step } from "../greenhouse/command/plan.js";
import { PlatformError, type RawValue } from "../greenhouse/ports.js";
import type { PushBell } from "../sync/push-mirror.js";
import {
  type Answer,
  type Connection,
  type Effect,
  emptyLane,
  type HeldCommand,
  type Input,
  type Interrupted,
  type Lane,
  type Read,
} from "./book.js";
import { type Command, type CommandPorts, laneKey } from "./command.js";
import { awaits, isMoving, nextWakeAt, openCommands, step } from "./lane.js";
import type { Ending } from "./report.js";

type About = Pick<Command, "code" | "target" | "targetId">;

export interface LanesPorts extends CommandPorts {
  readonly ended: (command: Command, ending: Ending) => void;
  /** The register shows another value than the one a command was confirmed by. */
  readonly reverted: (news: Extract<Effect, { type: "reverted" }>) => void;
}

// A POST is never aborted: what it did would be unknown. Its own deadline ends it.
const untilItEnds = new AbortController().signal;

/** Does what the lanes of all actuators say is to be done, feeds the answers back, and wakes them with one timer. */
export class Lanes {
  readonly #ports: LanesPorts;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with a command on its way. */
  readonly #busy = new Set<string>();
  readonly #wakes = new Map<string, number>();
  readonly #questions = new Map<string, AbortController>();
  #closed = false;
  #onUnread: Parameters<PushBell["onUnread"]>[0] = () => undefined;
  #timer: { readonly at: number; readonly stop: AbortController } | null = null;

  constructor(ports: LanesPorts) {
    this.#ports = ports;
  }

  submit(command: Command): void {
    this.#feed(laneKey(command), { type: "asked", command });
  }

  adopt(one: Interrupted): void {
    this.#feed(laneKey(one.command), { type: "interrupted", one });
  }

  /** A command that an earlier run confirmed and had not looked at again. */
  hold(command: HeldCommand, step: Step): void {
    this.#feed(laneKey(command), { type: "holding", command, step });
  }

  /** Actuators whose last POST of an earlier run nobody has read back yet. */
  restoreUnread(keys: Iterable<string>): void {
    for (const key of keys) {
      const lane = this.#lanes.get(key) ?? emptyLane;
      const posts = { ...lane.posts, unread: true, endedAt: this.#ports.clock.monotonic() };
      this.#lanes.set(key, { ...lane, posts });
    }
  }

  /** Commands taken and not ended. */
  open(): readonly Command[] {
    return [...this.#lanes.values()].flatMap(openCommands);
  }

  isMoving(about: About, travelMs: number): boolean {
    const lane = this.#lanes.get(laneKey(about));
    return lane !== undefined && isMoving(lane, travelMs, this.#ports.clock.monotonic());
  }

  /** Whether a command reads the address back. */
  isAwaited(code: string, address: string): boolean {
    return this.#of(code).some(([, lane]) => awaits(lane, address));
  }

  /** The platform pushed a value of the address; whether a command waits for just this one and reads it back now. */
  ring(code: string, address: string, raw: RawValue): boolean {
    const waiting = this.#of(code).filter(([, lane]) => awaits(lane, address));
    const isWanted = waiting.some(([, lane]) => awaits(lane, address, raw));
    for (const [key] of waiting) this.#feed(key, { type: "pushed", address, raw });
    return isWanted;
  }

  onUnread(listener: Parameters<PushBell["onUnread"]>[0]): void {
    this.#onUnread = listener;
  }

  #of(code: string): readonly (readonly [string, Lane])[] {
    const keys = [...this.#busy].filter((key) => key.startsWith(`${code} `));
    return keys.map((key) => [key, this.#lanes.get(key) ?? emptyLane] as const);
  }

  close(): void {
    this.#closed = true;
    for (const key of this.#lanes.keys()) this.#feed(key, { type: "closing" });
  }

  #feed(key: string, input: Input): void {
    const { clock } = this.#ports;
    const before = this.#lanes.get(key) ?? { ...emptyLane, closed: this.#closed };
    const { lane, effects } = step(before, input, { at: clock.now(), mono: clock.monotonic() });
    this.#lanes.set(key, lane);
    if (lane.running ?? lane.confirming) this.#busy.add(key);
    else this.#busy.delete(key);
    const wake = nextWakeAt(lane);
    if (wake === null) this.#wakes.delete(key);
    else this.#wakes.set(key, wake);
    for (const effect of effects) this.#perform(key, effect);
    this.#arm();
  }

  #perform(key: string, effect: Effect): void {
    const { audience, log } = this.#ports;
    switch (effect.type) {
      case "phase":
        audience.phase(effect.command, effect.phase);
        return;
      case "end":
        this.#ports.ended(effect.command, effect.ending);
        return;
      case "reverted":
        this.#ports.reverted(effect);
        return;
      case "warn":
        log.error({ reason: effect.reason }, effect.message);
        return;
      case "posted":
      case "steps_ended":
        this.#standing(effect);
        return;
      case "unread":
        this.#onUnread(effect.command.code, effect.address, effect.raw);
        return;
      case "forget":
        this.#questions.get(`${key} ${effect.token}`)?.abort();
        return;
      case "journal":
        this.#journal(key, effect);
        return;
      case "connection":
      case "read":
      case "post":
      case "renew":
        void this.#asking(key, effect);
    }
  }

  /** Where a command's steps stand, for what the mirror may show of them. */
  #standing(effect: Extract<Effect, { type: "posted" | "steps_ended" }>): void {
    const { store, clock } = this.#ports;
    const { code, target, targetId: id } = effect.command;
    if (effect.type === "steps_ended") store.dispatch(code, { type: "steps_ended", target, id });
    else store.dispatch(code, { type: "posted", target, id, at: clock.monotonic(), between: effect.between });
  }

  #journal(key: string, { record, unlessOpen, durable, token }: Extract<Effect, { type: "journal" }>): void {
    const { journal } = this.#ports;
    const isMissing = unlessOpen !== undefined && !journal.isOpen(unlessOpen, unlessOpen.id);
    const records = isMissing ? [unlessOpen, record] : [record];
    Promise.all(records.map((one) => journal.append(one, { durable }))).then(
      () => {
        if (token !== null) this.#feed(key, { type: "journaled", token, problem: null });
      },
      (error: unknown) => {
        const why = error instanceof Error ? error.message : "unknown reason";
        if (token !== null) this.#feed(key, { type: "journaled", token, problem: why });
        else
          this.#ports.log.error(
            { reason: why },
            "the journal could not take a record of a command under way",
          );
      },
    );
  }

  async #asking(
    key: string,
    effect: Extract<Effect, { type: "connection" | "read" | "post" | "renew" }>,
  ): Promise<void> {
    const { token } = effect;
    const question = new AbortController();
    this.#questions.set(`${key} ${token}`, question);
    try {
      this.#feed(key, await this.#answer(effect, question.signal));
    } catch (error) {
      // Nobody waits for the answer of a question that was broken off.
      if (!question.signal.aborted) {
        this.#ports.log.error({ err: error }, "a command ended by a defect of the bridge");
        this.#feed(key, { type: "defect", token });
      }
    } finally {
      this.#questions.delete(`${key} ${token}`);
    }
  }

  async #answer(
    effect: Extract<Effect, { type: "connection" | "read" | "post" | "renew" }>,
    signal: AbortSignal,
  ): Promise<Input> {
    const { token } = effect;
    const { platform } = this.#ports;
    if (effect.type === "renew")
      return { type: "renewed", token, isNew: await platform.renewCredential(signal) };
    const { code } = effect.command;
    if (effect.type === "connection")
      return { type: "connection", token, connection: await this.#connection(code, signal) };
    if (effect.type === "read") {
      const { address } = effect;
      return { type: "read", token, address, read: await this.#read(code, address, signal) };
    }
    const before = this.#registerOf(effect.command, effect.step.address);
    return { type: "answered", token, answer: await this.#post(effect), before };
  }

  /** What the mirror holds of the address. */
  #registerOf({ code, targetId }: Command, address: string): RawValue | null {
    return this.#ports.store.get(code)?.actuators.get(targetId)?.registers[address]?.raw ?? null;
  }

  /** The single-device status, folded into the mirror. */
  async #connection(code: string, signal: AbortSignal): Promise<Connection> {
    const { platform, store } = this.#ports;
    try {
      const status = await platform.connection(code, signal);
      store.dispatch(code, { type: "connection", status });
      return { type: status.state };
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return { type: "unanswered", reason: error.message, facts: error.facts };
    }
  }

  /** One fresh read of an address, folded into the mirror. */
  async #read(code: string, address: string, signal: AbortSignal): Promise<Read> {
    const { platform, clock, store } = this.#ports;
    const startedMono = clock.monotonic();
    try {
      const raw = await platform.value(code, address, true, signal);
      if (raw === null) return { type: "absent" };
      const values = new Map([[address, raw]]);
      const readAt = clock.now();
      store.dispatch(code, {
        type: "registers_read",
        ...{ values, startedAt: startedMono, readAt, fresh: true, source: "read_back" },
      });
      return { type: "value", raw, startedMono };
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return { type: "unanswered", reason: error.message, facts: error.facts };
    }
  }

  async #post({
    command,
    step: { address, value, purpose },
  }: Extract<Effect, { type: "post" }>): Promise<Answer> {
    try {
      const manner = { stops: purpose === "stop" };
      const answer = await this.#ports.platform.write(command.code, address, value, untilItEnds, manner);
      return { type: "accepted", answer };
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      return { type: "error", message: error.message, facts: error.facts };
    }
  }

  #arm(): void {
    const at = Math.min(...this.#wakes.values());
    if (this.#timer !== null && this.#timer.at <= at) return;
    this.#timer?.stop.abort();
    this.#timer = null;
    if (at === Infinity) return;
    const timer = { at, stop: new AbortController() };
    this.#timer = timer;
    const { clock } = this.#ports;
    void clock.wait(Math.max(0, at - clock.monotonic()), timer.stop.signal).then(
      () => {
        this.#timer = null;
        this.#wake();
      },
      () => undefined,
    );
  }

  #wake(): void {
    const now = this.#ports.clock.monotonic();
    for (const [key, at] of [...this.#wakes]) if (at <= now) this.#feed(key, { type: "woke" });
    this.#arm();
  }
}
