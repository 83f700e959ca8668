import type { Bridge } from "../bridge.js";
import type { Ask, Post } from "../../judge/history.js";
import { modeProofMs } from "../../judge/timing.js";
import { isDegree, sameAs, shows, stateAddresses, targetOf } from "../../judge/values.js";
import type { Beginning } from "./guard-model.js";
import { LimitCheck } from "./limit-book.js";
import { isStart, type Lease, type Limited, type Move } from "./limited.js";
import type { World } from "../world.js";

/** Without a hindrance an end is sent within this time: hindrances are checked every 30 s. */
const soonMs = 45_000;
/** Within this time an alarm says that an end failed. */
const alarmedMs = 420_000;
/** Even a slow disk has a record within this time. */
const toldWithinMs = 15_000;

/** S19: every lease is on disk before its POST, and ends or has an alarm; none ends too early. */
export class LeaseChecks extends LimitCheck {
  readonly #owed = new Owed(this.world);
  /**
   * Commands that must have found their value there after their time, by a lease's end; published once that is on disk.
   */
  readonly #overSoon = new Map<Ask, { readonly one: Limited; readonly at: number }>();

  /** The bytes of a POST leave: by now its lease is on disk. */
  leaving({ ask }: Post): void {
    const one = ask === null ? undefined : this.limits.of(ask);
    if (ask === null || one?.lease?.ask !== ask || one.lease.isUncertain) return;
    const { disk, time } = this.world;
    if (!disk.durable.has(`lease ${ask.by}`))
      this.broken("S19", `a POST of ${ask.by} leaves before its lease is on disk at ${time.now}`);
  }

  /** A lease's end is sent. */
  ends(one: Limited, ask: Ask): void {
    const { lease } = one;
    const { scenario, time } = this.world;
    this.saw("a lease's end is sent");
    if (ask.word !== one.endsWith)
      this.broken("S19", `${one.code}/${one.id} is ended with ${ask.word ?? ""}`);
    if (scenario.clockJumpsPerHour > 0) return;
    if (this.#isUntold(one)) return;
    const over = lease === null ? this.#overBeforeTold(one) : undefined;
    if (over !== undefined) this.#overSoon.set(over, { one, at: time.now });
    else if (lease === null) this.broken("S19", `${one.code}/${one.id} is ended, and nothing was to end`);
    else if (time.now < lease.until - 1_000 && !this.#mayHaveGone(lease))
      this.broken("S19", `${one.code}/${one.id} is ended ${Math.round(lease.until - time.now)} ms too early`);
  }

  /** Whether an ended command has begun or ended a lease that is not published yet. */
  #isUntold({ code, id }: Limited): boolean {
    return this.world.journalist
      .lane(code, id)
      .some(
        ({ rule, phases, results }) =>
          rule === null && phases.at(-1)?.phase === "done" && results.length === 0,
      );
  }

  /** A command whose time was over during its checks; it may have found its value there. */
  #overBeforeTold({ code, id }: Limited): Ask | undefined {
    const { now } = this.world.time;
    return this.world.journalist
      .lane(code, id)
      .find(
        ({ rule, at, forMs, posts, phases, results }) =>
          rule === null &&
          forMs !== null &&
          at + forMs <= now &&
          posts.length === 0 &&
          phases.at(-1)?.phase === "checking" &&
          results.length === 0,
      );
  }

  /** Checks that these commands ended as `already`. */
  #lookAtOverSoon(boot: number): void {
    for (const [ask, { one, at }] of this.#overSoon) {
      const isOpen = ask.results.length === 0 && ask.boot === boot;
      if (isOpen && this.world.time.now < at + toldWithinMs) continue;
      this.#overSoon.delete(ask);
      if (ask.boot === boot && ask.results[0]?.result.outcome !== "already")
        this.broken("S19", `${one.code}/${one.id} is ended, and ${ask.by} had not found its value there`);
    }
  }

  /** Whether its command is over, perhaps badly, so that the earlier lease is in force again. */
  #mayHaveGone({ isUncertain, ask }: Lease): boolean {
    const isDone = ask.phases.at(-1)?.phase === "done" || this.#isVain(ask) || this.#isTooOldHalfWay(ask);
    return isUncertain || (isDone && ask.results.length === 0);
  }

  /**
   * Whether it may have failed between its mode and its degree, as it grew too old. That is published a moment after
   * its effects.
   */
  #isTooOldHalfWay({ word, mayExpireAt }: Ask): boolean {
    return isDegree(word ?? "") && this.world.time.now >= mayExpireAt;
  }

  /**
   * Whether nothing of it was accepted, so that it may have ended so by now, by the platform's answer or at the end of
   * its read-backs. That is published a moment after its effects. The end of a command sent by an earlier run is
   * unseen.
   */
  #isVain({ posts: own, donor, settings, word, inherits, boot }: Ask): boolean {
    const posts = own.length > 0 ? own : (donor?.posts ?? []);
    const last = posts.at(-1);
    if (last === undefined || last.endedAt === null)
      return inherits || (last !== undefined && last.boot !== boot);
    if (posts.some(({ outcome }) => outcome === "accepted")) return false;
    const isTold = !last.sent || last.bodyCode !== null || last.outcome === "unauthorized";
    const isTravelling = settings !== null && settings.travelMs > 0;
    const confirmMs = isTravelling ? settings.travelMs + 30_000 : 60_000;
    const isRead = this.world.time.now >= last.endedAt + (isDegree(word ?? "") ? modeProofMs : confirmMs);
    return isTold || isRead;
  }

  /** Checks an actuator every few seconds while the bridge runs. */
  look({ boot }: Bridge, one: Limited): void {
    this.#lookAtOverSoon(boot);
    const { lease } = one;
    const { time } = this.world;
    if (lease === null || lease.isUncertain || time.now < lease.until + 2 || this.#isOver(one, lease)) return;
    const { freeMs, owedMs } = this.#owed.look(lease, boot, this.#isFree(one, lease, boot));
    const where = `the lease of ${lease.ask.by} at ${one.code}/${one.id}, over since ${lease.until},`;
    if (!this.limits.isKept(lease)) return;
    const sent = this.#newestEnd(one, lease, boot);
    if (freeMs > soonMs && sent === undefined)
      this.broken("S19", `${where} is not ended, and nothing keeps it back`);
    const isTried = sent !== undefined && sent.results.length === 0;
    if (owedMs > alarmedMs && !isTried && !this.#isAlarmed(one))
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

  /** Whether the platform holds the end's value, has held it since an end was sent, or has shown it since. */
  #isOver(one: Limited, lease: Lease): boolean {
    const { endsWith, ask, until } = lease;
    const { settings } = ask;
    if (settings === null) return true;
    const step = targetOf(settings, endsWith);
    const { address, value } = step;
    const { world } = this.limits;
    const { now } = world.time;
    const sent = world.journalist
      .lane(one.code, one.id)
      .find(({ rule, at }) => rule === "lease" && at >= until - 2);
    const held = world.heldBetween(one.code, address, sent?.at ?? now, now);
    if (held.some((each) => sameAs(value, each))) return true;
    // A window that shows its position may have come there for another reason.
    if (sent === undefined) return false;
    // Of polls only the newest is known: one that showed the value ended the lease, even if it was a lie.
    const polled = world.journalist.polledSince(one.code, address, sent.at);
    if (polled !== null && shows(ask, step, polled)) lease.isUncertain = true;
    const reads = world.journalist.readsSince(one.code, address, sent.at);
    return reads.some(({ raw }) => shows(ask, step, raw));
  }

  #isFree(one: Limited, lease: Lease, boot: number): boolean {
    const { scenario } = this.world;
    const isDryRun = scenario.configuration.commands.dry_run;
    if (isDryRun || this.#isUnread(lease, boot) || this.#isUntold(one)) return false;
    return this.limits.isFree(one, lease.endsWith);
  }

  /**
   * Whether it is still unread: a lease of an earlier run is ended after a first read, as somebody may have moved the
   * actuator. While a command is being read back, another value may be the old one, or one on its way.
   */
  #isUnread({ ask }: Lease, boot: number): boolean {
    const { journalist } = this.world;
    const startedAt = journalist.startedAt.get(boot);
    if (ask.boot === boot || ask.settings === null || startedAt === undefined) return false;
    const readsOf = (address: string) => journalist.readsSince(ask.code, address, startedAt);
    if (stateAddresses(ask.settings).some((address) => readsOf(address).length === 0)) return true;
    return journalist.lane(ask.code, ask.actuator).some(({ word, settings, phases }) => {
      if (word === null || settings === null || phases.at(-1)?.phase !== "confirming") return false;
      const { address, value } = targetOf(settings, word);
      return !readsOf(address).some(({ raw }) => sameAs(value, raw));
    });
  }

  /** L6 */
  atTheEnd(): void {
    const { bridge, time } = this.world;
    for (const one of this.limits.limited.values()) {
      const { lease } = one;
      if (bridge === null || lease === null || lease.isUncertain || !this.limits.isKept(lease)) continue;
      if (time.now < lease.until + 900_000 || this.#isOver(one, lease)) continue;
      if (this.#isFree(one, lease, bridge.boot))
        this.broken("L6", `the lease of ${lease.ask.by} at ${one.code}/${one.id} has not ended`);
    }
  }
}

const hourMs = 3_600_000;

/** S18: rest, reversal and starts per hour, also over restarts. */
export class PauseChecks extends LimitCheck {
  /** Checks the first POST of somebody's command. */
  check(one: Limited, ask: Ask): void {
    const { limits } = one;
    if (limits === null || !isStart(ask.word)) return;
    const { now } = this.world.time;
    const broken = (message: string) =>
      this.broken("S18", `a POST of ${ask.by} (${ask.word ?? ""}) to ${one.code}/${one.id} ${message}`);
    const starts = one.moves.filter(
      (move) =>
        move.at > now - hourMs + 2 + this.limits.clockErrorMs(move) &&
        isStart(move.word) &&
        this.limits.isSure(move) &&
        isSent(move),
    );
    if (limits.starts_per_hour !== undefined && starts.length >= limits.starts_per_hour)
      broken(`after ${starts.length} starts within the hour, of ${limits.starts_per_hour}`);
    const last = one.moves.at(-1);
    if (last === undefined) return;
    const endedAt = this.#endOf(one, last);
    if (endedAt === null) return;
    const aboutMs = 2 + this.limits.clockErrorMs(last);
    if (limits.rest > 0 && now < endedAt + limits.rest - aboutMs)
      broken(`${Math.round(now - endedAt)} ms after the last movement, rest is ${limits.rest}`);
    const isPaused = limits.reversal > 0 && now < endedAt + limits.reversal - aboutMs;
    if (isPaused && last.ask !== null && isOtherWay(last.word, ask.word ?? ""))
      broken(`${Math.round(now - endedAt)} ms after ${last.word}, reversal is ${limits.reversal}`);
    this.saw("a start where pauses are kept");
  }

  /** The earliest end of the newest movement; null if unknown. */
  #endOf(one: Limited, last: Move): number | null {
    const { bridge } = this.world;
    if (!this.limits.isSure(last) || !isSent(last)) return null;
    const stopped = this.world.journalist
      .lane(one.code, one.id)
      .some(({ word, posts }) => word === "stop" && posts.some(({ begunAt }) => begunAt >= last.at));
    if (stopped) return null;
    if (last.ask === null) return last.at + one.travelMs;
    if (one.travelMs > 0) return Math.max(...last.posts.map(({ begunAt }) => begunAt)) + one.travelMs;
    const done = last.ask.phases.findLast(({ phase }) => phase === "done");
    return done === undefined || done.boot !== bridge?.boot || last.boot !== bridge.boot ? null : done.at;
  }

  /** Checks whether a refusal because of a pause can be true. */
  checkRefusal(one: Limited, ask: Ask, rule: string, wrong: (why: string) => void): void {
    const { limits, moves } = one;
    if (limits === null) {
      wrong("there is no such limit");
      return;
    }
    const { clockJumpsPerHour } = this.world.scenario;
    // Movements saved with a wrong clock count as recent.
    if (clockJumpsPerHour > 0) return;
    const recent = moves.filter(({ at, word }) => at >= ask.at - hourMs - 1_000 && isStart(word));
    // A command saved as sent when its process was killed counts, although it may never have left.
    const mayHaveLeft = this.world.journalist
      .lane(one.code, one.id)
      .filter(
        ({ at, word, posts, phases, boot }) =>
          at >= ask.at - hourMs - 1_000 &&
          isStart(word) &&
          posts.length === 0 &&
          phases.some((each) => each.phase === "confirming" && each.boot !== boot),
      );
    const count = recent.length + mayHaveLeft.length;
    if (rule === "starts_per_hour" && count < (limits.starts_per_hour ?? Infinity))
      wrong(`there were ${count} starts`);
    const pauseMs = rule === "rest" ? limits.rest : rule === "reversal" ? limits.reversal : Infinity;
    const longestMs = pauseMs + one.travelMs + 400_000;
    // A movement without a travel time ends with its result, however long the program was down.
    const endedOfLate = this.world.journalist
      .lane(one.code, one.id)
      .some(
        ({ posts, phases }) =>
          posts.length > 0 &&
          phases.some(({ phase, at }) => phase === "done" && at >= ask.at - pauseMs - 1_000),
      );
    if (rule !== "starts_per_hour" && !endedOfLate && !moves.some(({ at }) => at >= ask.at - longestMs))
      wrong("nothing moved");
  }
}

const isSent = ({ ask, posts }: Move): boolean =>
  ask === null || posts.some(({ sent, wires }) => sent || wires > 0);

function isOtherWay(before: string, after: string): boolean {
  const ways: Readonly<Record<string, string>> = { open: "close", close: "open" };
  return after === "auto" || before === "auto" || ways[before] === after;
}

/** Outcomes after which the guard's wish is fulfilled, or is not to be sent. */
const done = new Set(["confirmed", "already", "dry_run"]);

/** Tries at first, after 30 s and after 2 min; later ones are at least this far apart. */
const mostTimes = 3;
const laterMs = 590_000;

/**
 * S21: a guard's command is sent once each time the guard begins, also over a restart, and only if the guards allow it.
 */
export class RuleChecks extends LimitCheck {
  readonly #owed = new Owed(this.world);
  readonly #excused = new WeakSet<Beginning>();

  /** A guard sends a command. */
  sends(one: Limited, ask: Ask, name: string): void {
    const { journalist, time } = this.world;
    const guard = one.limits?.guards[name];
    const model = one.models.get(name);
    const where = `the guard ${name} of ${one.code}/${one.id}`;
    this.saw("a guard sends");
    if (guard === undefined || model === undefined || guard.then !== ask.word) {
      this.broken("S21", `${where} sends ${ask.word ?? ""}, which it is not told to`);
      return;
    }
    this.limits.lose(time.now);
    const { beginning } = model;
    if (beginning === null) {
      if (guard.blind !== "act" && !model.isUncertain && !this.#isStalled())
        this.broken("S21", `${where} sends although it has not begun`);
      return;
    }
    if (guard.blind === "act" || beginning.isUncertain) return;
    const asks = beginning.sent.flatMap((by) => journalist.asks.get(by) ?? []);
    const isDone = asks.some(({ results }) =>
      ["confirmed", "already"].includes(results[0]?.result.outcome ?? ""),
    );
    if (isDone) this.broken("S21", `${where} sends again what was done`);
    // If only the lead-in left, the command was not sent.
    const posted = asks.filter(
      ({ posts, results }) => posts.some(({ sent }) => sent) && results[0]?.result.reason !== "not_sent",
    );
    const lastAt = posted.flatMap(({ posts }) => posts.map(({ begunAt }) => begunAt)).at(-1) ?? -Infinity;
    if (posted.length >= mostTimes && time.now < lastAt + laterMs)
      this.broken(
        "S21",
        `${where} sends for the ${posted.length + 1}th time ${time.now - lastAt} ms after the last`,
      );
    beginning.sent.push(ask.by);
  }

  #isStalled(): boolean {
    const { lastStallAt, time } = this.world;
    return lastStallAt > time.now - 600_000;
  }

  /** Somebody else changed the actuator; no guard may send against that. */
  changedElsewhere(one: Limited): void {
    for (const { beginning } of one.models.values()) if (beginning !== null) this.#excused.add(beginning);
  }

  /** Checks that no due command is forgotten. */
  look({ boot }: Bridge, one: Limited): void {
    for (const [name, model] of one.models) {
      const { beginning, guard } = model;
      if (beginning === null || guard.then === undefined || guard.blind === "act") continue;
      // A stalled program may have missed that it cleared in between.
      if (this.#isStalled()) this.#excused.add(beginning);
      if (beginning.isUncertain || this.#excused.has(beginning) || this.#isSending(beginning, boot)) continue;
      const isFree = !model.isBlind && this.limits.isFree(one, guard.then);
      if (this.#owed.look(beginning, boot, isFree).freeMs > soonMs)
        this.broken(
          "S21",
          `the guard ${name} of ${one.code}/${one.id} began at ${beginning.at} and sends nothing in run ${boot}`,
        );
    }
  }

  /** Whether one of its commands was sent, is open, or was prevented a moment ago. */
  #isSending({ sent }: Beginning, run: number): boolean {
    const { journalist, time } = this.world;
    const asks = sent.flatMap((by) => journalist.asks.get(by) ?? []);
    const newest = asks.at(-1);
    const isUnderWay = newest?.boot === run && newest.results.length === 0;
    const isRecent = newest?.results.some(({ at }) => at > time.now - soonMs) === true;
    const isDone = asks.some(
      ({ posts, results }) =>
        posts.some(({ sent }) => sent) || results.some(({ result }) => done.has(result.outcome)),
    );
    return isUnderWay || isRecent || isDone;
  }
}

/** What a run of the program owes: for how long, and for how long without a hindrance. */
class Owed {
  readonly #world: World;
  readonly #waits = new WeakMap<object, { boot: number; at: number; freeMs: number; owedMs: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Call it every few seconds while something is owed; in a longer time the program did not run. */
  look(what: object, boot: number, isFree: boolean): { readonly freeMs: number; readonly owedMs: number } {
    const { now } = this.#world.time;
    const known = this.#waits.get(what);
    const before = known?.boot === boot ? known : { at: now, freeMs: 0, owedMs: 0 };
    const passed = Math.min(6_000, now - before.at);
    const freeMs = isFree ? before.freeMs + passed : 0;
    const wait = { boot, at: now, freeMs, owedMs: before.owedMs + passed };
    this.#waits.set(what, wait);
    return wait;
  }
}
