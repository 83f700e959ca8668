import type { BridgeEvent } from "../../../src/greenhouse/events.js";
import type { Bridge } from "../bridge.js";
import { LimitCheck } from "./limit-book.js";

/** A record that nothing waits for is written within this time. */
const writtenWithinMs = 1_000;

interface Told {
  isOn: boolean;
  at: number;
  /** Whether a crash may have lost the report. */
  isUncertain: boolean;
}

/** An acknowledgement of an alarm that is on. */
interface Acknowledged {
  readonly since: string | undefined;
  readonly at: number;
  readonly boot: number | undefined;
  /** Whether a crash may have lost it. */
  isUncertain: boolean;
}

/** Time passes within a turn too, as the clock is read. */
const sameTurnMs = 5;

/**
 * S20: every alarm is raised once, cleared once, and shown accordingly. An acknowledgement clears nothing, and is shown
 * until the alarm is over, also by later runs.
 */
export class AlarmChecks extends LimitCheck {
  readonly #told = new Map<string, Told>();
  /** The broker's topics below `alarm/`. */
  readonly #topics = new Map<string, string>();
  /** Changes during a flood, which are not reported one by one. */
  readonly #changedAt = new Map<string, number>();
  readonly #untold = new Set<string>();
  readonly #acknowledged = new Map<string, Acknowledged>();
  #isFlood = false;

  isOn(id: string): boolean {
    const shown = this.#shown(id);
    return shown === "active" || shown === "acknowledged";
  }

  /** The alarms that are on. */
  on(): readonly string[] {
    return [...this.#topics.keys()].filter((id) => this.isOn(id));
  }

  #shown(id: string): string {
    return this.#said(id).state ?? "";
  }

  #said(id: string): { readonly state?: string; readonly since?: string } {
    const text = this.#topics.get(id) ?? "";
    return text === "" ? {} : (JSON.parse(text) as { state: string; since: string });
  }

  /** Somebody acknowledges alarms; `ask` returns which. */
  acknowledge(ask: () => readonly string[]): void {
    const { bridge, time } = this.world;
    const before = this.on().join();
    for (const id of ask()) {
      this.saw("an alarm is acknowledged");
      const { since } = this.#said(id);
      this.#acknowledged.set(id, { since, at: time.now, boot: bridge?.boot, isUncertain: false });
      this.#checkAcknowledged(id);
    }
    if (this.on().join() !== before)
      this.broken("S20", `of the alarms ${before} those are on after a person saw some: ${this.on().join()}`);
  }

  #checkAcknowledged(id: string): void {
    const seen = this.#acknowledged.get(id);
    if (seen === undefined) return;
    const { state, since } = this.#said(id);
    const isKept = state === "acknowledged" && since === seen.since;
    if (!isKept) this.#acknowledged.delete(id);
    const { bridge } = this.world;
    if (isKept && bridge?.boot !== seen.boot) this.saw("an acknowledged alarm is shown by a later run");
    if (isKept || !this.isOn(id) || seen.isUncertain) return;
    this.broken(
      "S20",
      `the alarm ${id}, seen by a person at ${seen.at}, is shown as ${state ?? "nothing"} again`,
    );
  }

  /** Notes a message on an alarm's topic, also one that the broker does not hear. */
  published(id: string, payload: string): void {
    const { bridge } = this.world;
    const wasOn = this.isOn(id);
    this.#topics.set(id, payload);
    this.#checkAcknowledged(id);
    if (id === "flood") this.#isFlood = this.isOn(id);
    const { now } = this.world.time;
    if (wasOn !== this.isOn(id)) this.#changedAt.set(id, now);
    // Also the alarm that made it a flood, just before.
    if (this.#isFlood)
      for (const [one, at] of this.#changedAt) if (now - at <= sameTurnMs) this.#untold.add(one);
    this.world.journalist.note("alarm", { id, state: this.#shown(id), boot: bridge?.boot });
  }

  event({ type, facts }: BridgeEvent): void {
    const { now } = this.world.time;
    if (type !== "alarm" && type !== "alarm_cleared" && type !== "flood") return;
    const id = String(facts?.["alarm"]);
    const isOn = type !== "alarm_cleared";
    const before = this.#told.get(id);
    const isExcused = before?.isUncertain === true || this.#untold.delete(id);
    if (!isExcused && isOn === (before?.isOn ?? false))
      this.broken("S20", `the alarm ${id} is ${isOn ? "raised" : "cleared"} twice`);
    this.#told.set(id, { isOn, at: now, isUncertain: false });
  }

  crashing(lostFrom: number): void {
    const { now } = this.world.time;
    for (const told of this.#told.values())
      if (told.at >= lostFrom && lostFrom < now) told.isUncertain = true;
    for (const seen of this.#acknowledged.values())
      if (seen.at >= Math.min(lostFrom, now - writtenWithinMs)) seen.isUncertain = true;
  }

  /** A guard without a value for a long time must have an alarm. */
  look({ clock, boot }: Bridge): void {
    const { time, lastStallAt } = this.world;
    const upMs = clock.monotonic();
    for (const { controllerId, id, models } of this.limits.limited.values())
      for (const [name, model] of models) {
        const { isBlind, seenAt, blindSince } = model;
        const isLong = isBlind && seenAt !== null && time.now - blindSince > 10_000;
        const neverSeen = isBlind && seenAt === null && upMs > 1_000_000;
        if (!(isLong || neverSeen) || lastStallAt > time.now - 60_000) continue;
        this.saw("a guard is blind for long");
        if (!this.isOn(`guard_blind.${controllerId}.${id}`))
          this.broken(
            "S20",
            `${controllerId}/${id}: the guard ${name} is blind since ${blindSince} and no alarm says so (run ${boot})`,
          );
      }
  }

  atTheEnd(): void {
    for (const [id, { isOn, isUncertain }] of this.#told) {
      if (isUncertain || this.#untold.has(id)) continue;
      if (isOn !== this.isOn(id))
        this.broken("S20", `the alarm ${id} was told as ${isOn ? "on" : "off"} and shows ${this.#shown(id)}`);
    }
  }
}
