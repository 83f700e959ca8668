import type { CommandResult } from "../../../src/greenhouse/command/outcomes.js";
import type { Bridge } from "../bridge.js";
import type { Ask, Write } from "../history.js";
import { sameAs } from "../judging.js";
import { targetOf } from "../messages.js";
import { isAllowed, type Lease, LimitCheck, type Limited } from "./limit-book.js";

/** Where nothing keeps it back, an end goes out within this: what kept it back is looked at every 30 s. */
const soonMs = 45_000;
/** Who is told, within this, that an end did not come about. */
const alarmedMs = 420_000;

/** S19: every lease is on disk before its POST, ends, or is alarmed; and none ends before its time. */
export class LeaseChecks extends LimitCheck {
  /** How long nothing has kept an overdue end back, ms, and how long it is overdue while the bridge runs. */
  readonly #waits = new Map<
    Limited,
    { lease: Lease; boot: number; freeMs: number; overdueMs: number; at: number }
  >();

  /** How long a command counts by the contract, ms; null where it has no end. */
  #termOf({ limits, endsWith }: Limited, { word, forMs }: Ask): number | null {
    if (word === null || word === "stop" || word === endsWith) return null;
    if (forMs !== null) return forMs;
    return word === "auto" ? null : (limits?.for ?? limits?.at_most ?? null);
  }

  /** The lease that a command begins or renews; the same one where it leaves it as it is. */
  #leaseFor(one: Limited, ask: Ask): Lease | null {
    const ms = this.#termOf(one, ask);
    const { endsWith, lease: running } = one;
    if (ms === null || endsWith === null || ask.word === null) return null;
    if (running !== null && running.word === ask.word && ask.forMs === null) return running;
    const { clockOff } = this.limits;
    // Perhaps an earlier one is in force again, whose deadline stays.
    const isUncertain = running?.isUncertain === true && ask.forMs === null;
    return { ask, word: ask.word, endsWith, until: ask.at + ms, clockOff, isUncertain };
  }

  begins(one: Limited, ask: Ask): void {
    const lease = this.#leaseFor(one, ask);
    if (lease === null || lease === one.lease) return;
    one.lease = lease;
    this.saw("a lease begins");
  }

  /** The bytes of a POST leave: its lease is on disk by then. */
  leaving({ ask }: Write): void {
    const one = ask === null ? undefined : this.limits.of(ask);
    if (ask === null || one?.lease?.ask !== ask || one.lease.isUncertain) return;
    const { disk, time } = this.world;
    if (!disk.durable.has(`lease ${ask.by}`))
      this.broken("S19", `a POST of ${ask.by} leaves before its lease is on disk at ${time.now}`);
  }

  /** A lease's end is taken up. */
  ends(one: Limited, ask: Ask): void {
    const { lease } = one;
    const { journalist, scenario, time } = this.world;
    this.saw("a lease's end is sent");
    if (ask.word !== one.endsWith)
      this.broken("S19", `${one.code}/${one.id} is ended with ${ask.word ?? ""}`);
    if (scenario.clockJumpsPerHour > 0) return;
    // One that ended already begins a lease, and perhaps one that is over, before anybody is told.
    const lane = journalist.lane(one.code, one.id);
    const isUntold = lane.some(
      ({ rule, phases, results }) => rule === null && phases.at(-1)?.phase === "done" && results.length === 0,
    );
    if (isUntold) return;
    if (lease === null) this.broken("S19", `${one.code}/${one.id} is ended, and nothing was to end`);
    else if (time.now < lease.until - 1_000 && !this.#mayHaveGone(lease))
      this.broken("S19", `${one.code}/${one.id} is ended ${Math.round(lease.until - time.now)} ms too early`);
  }

  /** The command of it is over, perhaps badly, and the lease before is in force again. */
  #mayHaveGone({ isUncertain, ask }: Lease): boolean {
    return isUncertain || (ask.phases.at(-1)?.phase === "done" && ask.results.length === 0);
  }

  result(one: Limited, ask: Ask, { outcome }: CommandResult): void {
    const { lease } = one;
    if (outcome === "rejected" || outcome === "failed") {
      // Perhaps the one before is in force again.
      if (lease?.ask === ask) lease.isUncertain = true;
      return;
    }
    if (outcome !== "confirmed" && outcome !== "already") return;
    if (lease !== null && lease.ask === ask) return;
    const next = this.#leaseFor(one, ask);
    if (next !== null) {
      // Nothing was sent: whether it is on disk, nobody outside can tell.
      if (outcome === "already" && next !== lease && ask.boot === this.world.bridge?.boot && !ask.dryRun)
        one.lease = { ...next, isUncertain: true };
      else if (next !== lease && lease !== null) lease.isUncertain = true;
      return;
    }
    if (ask.dryRun || lease === null || lease.word === ask.word) return;
    if (ask.word === "stop" && ask.word !== lease.endsWith) {
      lease.isUncertain = true;
      return;
    }
    // One that was sent before the lease began and shows only now ends it all the same, or not.
    if (ask.at >= lease.ask.at) one.lease = null;
    else lease.isUncertain = true;
  }

  changedElsewhere(one: Limited): void {
    one.lease = null;
  }

  /** Of an actuator, every few seconds while the bridge runs. */
  look(bridge: Bridge, one: Limited): void {
    const { lease } = one;
    const { time } = this.world;
    if (lease === null || lease.isUncertain || time.now < lease.until + 2 || this.#isOver(one, lease)) {
      this.#waits.delete(one);
      return;
    }
    const before = this.#waits.get(one);
    const isSame = before?.lease === lease && before.boot === bridge.boot;
    const wait = isSame ? before : { lease, boot: bridge.boot, freeMs: 0, overdueMs: 0, at: time.now };
    const passed = time.now - wait.at;
    const isFree = this.#isFree(bridge, one, lease);
    const next = {
      ...{ lease, boot: bridge.boot, at: time.now, overdueMs: wait.overdueMs + passed },
      freeMs: isFree ? wait.freeMs + passed : 0,
    };
    this.#waits.set(one, next);
    const where = `the lease of ${lease.ask.by} at ${one.code}/${one.id}, over since ${lease.until},`;
    if (!this.limits.isKept(lease)) return;
    const sent = this.#newestEnd(one, lease, bridge.boot);
    if (next.freeMs > soonMs && sent === undefined)
      this.broken("S19", `${where} is not ended, and nothing keeps it back`);
    const isTried = sent !== undefined && sent.results.length === 0;
    if (next.overdueMs > alarmedMs && !isTried && !this.#isAlarmed(one))
      this.broken("S19", `${where} is neither ended nor alarmed`);
  }

  #newestEnd(one: Limited, lease: Lease, boot: number): Ask | undefined {
    return this.world.journalist
      .lane(one.code, one.id)
      .findLast((ask) => ask.rule === "lease" && ask.boot === boot && ask.at >= lease.until - 2);
  }

  #isAlarmed({ controllerId, id }: Limited): boolean {
    return this.world.checks.limits.alarms.isOn(`lease_overrun.${controllerId}.${id}`);
  }

  /** The platform itself holds what it was to end with, or has since an end was sent. */
  #isOver(one: Limited, { endsWith, ask, until }: Lease): boolean {
    const { settings } = ask;
    if (settings === null) return true;
    const { address, value } = targetOf(settings, endsWith);
    const { world } = this.limits;
    const { now } = world.time;
    const sent = world.journalist
      .lane(one.code, one.id)
      .find(({ rule, at }) => rule === "lease" && at >= until - 2);
    const held = world.heldBetween(one.code, address, sent?.at ?? now, now);
    return held.some((each) => sameAs(value, each));
  }

  /** Nothing outside keeps the end back. */
  #isFree({ store }: Bridge, one: Limited, { endsWith }: Lease): boolean {
    const controller = store?.get(one.code);
    const { commands } = this.world.scenario.configuration;
    if (controller === undefined || !controller.platformReachable || controller.availability !== "online")
      return false;
    if (commands.read_only || commands.dry_run || one.section.read_only || one.lock !== null) return false;
    const guards = Object.entries(one.limits?.guards ?? {});
    return guards.every(([, { allow }]) => isAllowed(allow, endsWith));
  }

  /** L6 */
  atTheEnd(): void {
    const { time } = this.world;
    for (const one of this.limits.limited.values()) {
      const { lease } = one;
      if (lease === null || lease.isUncertain || !this.limits.isKept(lease)) continue;
      const { commands } = this.world.scenario.configuration;
      if (commands.dry_run || time.now < lease.until + 900_000 || this.#isOver(one, lease)) continue;
      const { bridge } = this.world;
      if (bridge !== null && this.#isFree(bridge, one, lease))
        this.broken("L6", `the lease of ${lease.ask.by} at ${one.code}/${one.id} has not ended`);
    }
  }
}
