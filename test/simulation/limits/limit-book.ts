import { trustedSkewMs } from "../../../src/runtime/clock.js";
import type { Configuration } from "../../../src/config/schema.js";
import type { Ask } from "../../judge/history.js";
import { Check, type PostBook } from "../judging.js";
import type { World } from "../world.js";
import { type GuardModel, type GuardSection, isAllowed, isTrueOf, saidBy, type Seen } from "./guard-model.js";
import { type Kept, Limited, type Move } from "./limited.js";

interface Heard {
  readonly text: string;
  readonly at: number;
}

/** What an outside observer can know of all limits, from topics, states, commands and events. */
export class LimitBook {
  readonly world: World;
  readonly limited = new Map<string, Limited>();
  readonly #weather: Configuration["weather"];
  readonly #heard = new Map<string, Heard>();

  constructor(world: World) {
    this.world = world;
    const { controllers, weather } = world.scenario.configuration;
    this.#weather = weather;
    for (const [code, { id, actuators }] of Object.entries(controllers))
      for (const [actuator, section] of Object.entries(actuators))
        this.limited.set(
          `${code}/${actuator}`,
          new Limited(world, { code, controllerId: id ?? code.toLowerCase(), id: actuator, section }),
        );
  }

  of({ code, actuator }: Pick<Ask, "code" | "actuator">): Limited | undefined {
    return this.limited.get(`${code}/${actuator}`);
  }

  byId(controllerId: unknown, actuator: unknown): Limited | undefined {
    for (const one of this.limited.values())
      if (one.controllerId === controllerId && one.id === actuator) return one;
    return undefined;
  }

  /** A live message on a weather topic. */
  heard(topic: string, text: string): void {
    const { now } = this.world.time;
    this.lose(now);
    for (const [name, section] of Object.entries(this.#weather))
      if (section.topic === topic) {
        this.#heard.set(name, { text, at: now });
        const value = saidBy(text, section.field);
        for (const model of this.#modelsOf(`weather/${name}`)) model.reads({ value, isGood: true }, now);
      }
  }

  *#modelsOf(
    id: string,
    of: "sensor" | "status" = "sensor",
    code: string | null = null,
  ): Iterable<GuardModel> {
    for (const one of this.limited.values())
      if (code === null || one.code === code)
        for (const model of one.models.values()) if (model.guard[of] === id) yield model;
  }

  /** A published sensor or running status. */
  read(code: string, of: "sensor" | "status", id: string, seen: Seen): void {
    const { now } = this.world.time;
    for (const model of this.#modelsOf(id, of, code)) model.reads(seen, now);
  }

  /** Drops values that are too old. */
  lose(now: number): void {
    for (const [name, { at }] of this.#heard) {
      const staleAt = at + (this.#weather[name]?.stale_after ?? 0) + 1;
      if (now < staleAt) continue;
      this.#heard.delete(name);
      for (const model of this.#modelsOf(`weather/${name}`))
        model.reads({ value: null, isGood: false }, staleAt);
    }
  }

  /** Nothing was checked from then until now. */
  unwatched(from: number): void {
    const { now } = this.world.time;
    for (const one of this.limited.values())
      for (const model of one.models.values()) model.unwatched(from, now);
  }

  /** The program has ended. */
  ended(lostFrom: number): void {
    const { now } = this.world.time;
    this.lose(now);
    this.#heard.clear();
    for (const one of this.limited.values()) {
      for (const model of one.models.values()) model.ended(now, lostFrom);
      for (const move of one.moves) if (move.ask === null && move.at >= lostFrom) move.isUncertain = true;
      if (one.lock?.isUncertain === false && one.lock.from >= now) one.lock.isUncertain = true;
    }
  }

  /** Commands accepted by this run that have not ended. */
  unfinished({ code, id }: Limited): readonly Ask[] {
    const { journalist, bridge, disk } = this.world;
    return journalist
      .lane(code, id)
      .slice(-40)
      .filter(({ phases, posts, dryRun, word, rule }) => {
        const last = phases.at(-1);
        // Without the directory nothing of it is sent any more; its refusal is published once the directory is back.
        if (disk.gone && rule === null && posts.length === 0 && last?.phase === "checking") return false;
        return (
          last !== undefined &&
          last.boot === bridge?.boot &&
          last.phase !== "done" &&
          !dryRun &&
          word !== "stop"
        );
      });
  }

  /** Until when it moves, certainly (`must`) or perhaps (`may`). */
  movesUntil(one: Limited, which: "must" | "may"): number {
    let until = -Infinity;
    const { now } = this.world.time;
    for (const move of one.moves) {
      if (
        move.posts.every(({ begunAt }) => begunAt < now - one.travelMs) &&
        move.at < now - one.travelMs - 90_000
      )
        continue;
      const isSure =
        !move.isUncertain &&
        this.#isClockAsThen(move) &&
        move.word !== "auto" &&
        !this.#wasStopped(one, move);
      if (which === "must" && !isSure) continue;
      for (const at of timesOf(move, which)) until = Math.max(until, at + one.travelMs);
    }
    return until;
  }

  /**
   * Whether the clock is the same as then: an earlier run dated its records by its clock, which may have been set
   * since.
   */
  #isClockAsThen({ boot, clockOff }: Pick<Move, "boot" | "clockOff">): boolean {
    const { bridge, clockOff: now } = this.world;
    return (
      boot === bridge?.boot || [now, bridge?.clockOff ?? now].every((at) => Math.abs(clockOff - at) < 1_000)
    );
  }

  /** How wrong a run may date it, in ms. If its clock is not trusted the platform's counts, in whole seconds. */
  clockErrorMs({ boot, clockOff }: Pick<Move, "boot" | "clockOff">): number {
    const { bridge, clockOff: now } = this.world;
    if (boot === bridge?.boot) return 0;
    return Math.abs(clockOff - now) + (Math.abs(now) > trustedSkewMs ? 1_000 : 0);
  }

  isKept({ isUncertain, clockOff }: Kept): boolean {
    return !isUncertain && Math.abs(clockOff - this.world.clockOff) < 1_000;
  }

  isSure(move: Move): boolean {
    return !move.isUncertain && this.#isClockAsThen(move);
  }

  #wasStopped({ code, id }: Limited, { at }: Move): boolean {
    return this.world.journalist
      .lane(code, id)
      .some(({ word, posts, at: askedAt }) => word === "stop" && posts.length > 0 && askedAt >= at - 200_000);
  }

  /** Whether nothing outside prevents a rule's command there. */
  isFree(one: Limited, word: string): boolean {
    const { bridge, scenario } = this.world;
    const controller = bridge?.store?.get(one.code);
    if (scenario.configuration.commands.read_only || one.section.read_only || one.lock !== null) return false;
    if (controller?.platformAnswers !== true || controller.availability !== "online") return false;
    return Object.values(one.limits?.guards ?? {}).every(({ allow }) => isAllowed(allow, word));
  }

  /** Why a guard surely holds now, for a message; null if it may be clear. */
  mustHold(one: Limited, name: string): string | null {
    const { now } = this.world.time;
    this.lose(now);
    const model = one.models.get(name);
    if (model !== undefined) {
      if (!model.mustHold(now)) return null;
      return model.isBlind ? "its input is not good" : `its input is ${String(model.value)}`;
    }
    const guard = one.watching.get(name);
    return guard === undefined ? null : this.#watchedHolds(one, guard);
  }

  mayHoldSince(one: Limited, name: string, since: number): boolean {
    const { now } = this.world.time;
    this.lose(now);
    const model = one.models.get(name);
    if (model !== undefined) return model.mayHoldSince(since, now);
    // It is unknown what another actuator was about to do then.
    return one.watching.has(name);
  }

  #watchedHolds(one: Limited, guard: GuardSection): string | null {
    const other = this.limited.get(`${one.code}/${guard.actuator ?? ""}`);
    const { bridge, time } = this.world;
    if (other === undefined) return "there is no such actuator";
    const shown = bridge?.store?.get(other.code)?.actuators.get(other.id);
    // Only its position is uncertain: its word was read, and no guard here looks at a degree.
    const isRead = shown?.quality === "good" || shown?.quality === "uncertain";
    if (shown === undefined || shown.state === null || !isRead) return `${other.id} is not good`;
    const unfinished = this.unfinished(other);
    const [going] = unfinished;
    if (guard.moving === true) {
      if (going !== undefined) return `${other.id} has ${going.by} unfinished`;
      const until = this.movesUntil(other, "must");
      return time.now < until - 2 ? `${other.id} moves until ${until}` : null;
    }
    const goals = unfinished.map(({ word }) => stateOf(word ?? ""));
    const found = [shown.state, ...goals].find((state) => isTrueOf(guard, state, "begins"));
    return found === undefined ? null : `${other.id} is or becomes ${found}`;
  }
}

/** Watches some rules of the contract about limits. */
export abstract class LimitCheck extends Check {
  protected readonly limits: LimitBook;

  constructor(limits: LimitBook, posts: PostBook) {
    super(posts);
    this.limits = limits;
  }
}

/** When POSTs of a movement began; for its longest duration, when they ended. */
const timesOf = ({ at, ask, posts }: Move, which: "must" | "may"): readonly number[] => {
  if (ask === null) return [at];
  if (which === "must")
    return posts.flatMap(({ begunAt, sent, wires }) => (sent || wires > 0 ? [begunAt] : []));
  return [at, ...posts.map(({ begunAt, endedAt }) => endedAt ?? begunAt + 60_000)];
};

const stateOf = (word: string): string =>
  /^\d+$/.test(word) ? "position" : word === "close" ? "closed" : word;
