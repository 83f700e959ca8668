import type { BridgeEvent } from "../../../src/greenhouse/events.js";
import type { Bridge } from "../bridge.js";
import type { PostBook } from "../post-book.js";
import type { LimitBook } from "./limit-book.js";

interface Told {
  isOn: boolean;
  at: number;
  /** A crash may have taken what was told. */
  isUncertain: boolean;
}

/** S20: every alarm is raised once and cleared once, and shown so. */
export class AlarmChecks {
  readonly #book: LimitBook;
  readonly #posts: PostBook;
  readonly #told = new Map<string, Told>();
  /** What the broker holds below `alarm/`. */
  readonly #topics = new Map<string, string>();
  /** What came within a flood was not told one by one. */
  readonly #changedAt = new Map<string, number>();
  readonly #untold = new Set<string>();
  #isFlood = false;

  constructor(book: LimitBook, posts: PostBook) {
    this.#book = book;
    this.#posts = posts;
  }

  isOn(id: string): boolean {
    const shown = this.#shown(id);
    return shown === "active" || shown === "acknowledged";
  }

  #shown(id: string): string {
    const text = this.#topics.get(id) ?? "";
    return text === "" ? "" : String((JSON.parse(text) as { state: unknown }).state);
  }

  /** A message on an alarm's topic; also what the broker does not hear. */
  published(id: string, payload: string): void {
    const { bridge } = this.#book.world;
    const wasOn = this.isOn(id);
    this.#topics.set(id, payload);
    if (id === "flood") this.#isFlood = this.isOn(id);
    const { now } = this.#book.world.time;
    if (wasOn !== this.isOn(id)) this.#changedAt.set(id, now);
    // Also the one that made it a flood.
    if (this.#isFlood) for (const [one, at] of this.#changedAt) if (at === now) this.#untold.add(one);
    this.#book.world.journalist.note("alarm", { id, state: this.#shown(id), boot: bridge?.boot });
  }

  event({ type, facts }: BridgeEvent): void {
    const { now } = this.#book.world.time;
    if (type !== "alarm" && type !== "alarm_cleared" && type !== "flood") return;
    const id = String(facts?.["alarm"]);
    const isOn = type !== "alarm_cleared";
    const before = this.#told.get(id);
    const isExcused = before?.isUncertain === true || this.#untold.delete(id);
    if (!isExcused && isOn === (before?.isOn ?? false))
      this.#posts.broken("S20", `the alarm ${id} is ${isOn ? "raised" : "cleared"} twice`);
    this.#told.set(id, { isOn, at: now, isUncertain: false });
  }

  crashing(lostFrom: number): void {
    const { now } = this.#book.world.time;
    for (const told of this.#told.values())
      if (told.at >= lostFrom && lostFrom < now) told.isUncertain = true;
  }

  /** A guard whose value is gone for long is alarmed. */
  look({ clock, boot }: Bridge): void {
    const { time, lastStallAt, journalist } = this.#book.world;
    const upMs = clock.monotonic();
    for (const { controllerId, id, models } of this.#book.limited.values())
      for (const [name, model] of models) {
        const { guard, isBlind, seenAt, blindSince } = model;
        const isLong = isBlind && seenAt !== null && time.now - blindSince > 10_000;
        const neverSeen = isBlind && seenAt === null && upMs > 1_000_000;
        if (guard.sensor === undefined || !(isLong || neverSeen) || lastStallAt > time.now - 60_000) continue;
        journalist.saw("a guard is blind for long");
        if (!this.isOn(`guard_blind.${controllerId}.${id}`))
          this.#posts.broken(
            "S20",
            `${controllerId}/${id}: the guard ${name} is blind since ${blindSince} and no alarm says so (run ${boot})`,
          );
      }
  }

  atTheEnd(): void {
    for (const [id, { isOn, isUncertain }] of this.#told) {
      if (isUncertain || this.#untold.has(id)) continue;
      if (isOn !== this.isOn(id))
        this.#posts.broken(
          "S20",
          `the alarm ${id} was told as ${isOn ? "on" : "off"} and shows ${this.#shown(id)}`,
        );
    }
  }
}
