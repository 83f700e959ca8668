import type { Bridge } from "../bridge.js";
import type { Ask, Post } from "../../judge/history.js";
import { modeProofMs } from "../../judge/timing.js";
import { isDegree, sameAs, shows, stateAddresses, targetOf } from "../../judge/values.js";
import type { Beginning } from "./guard-model.js";
import { LimitCheck } from "./limit-book.js";
import { isStart, type Lease, type Limited, type Move } from "./limited.js";
import type { World } from "../world.js";

/** Where nothing keeps it back, an end goes out within this: what kept it back is looked at every 30 s. */
const soonMs = 45_000;
/** Who is told, within this, that an end did not come about. */
const alarmedMs = 420_000;
/** A slow disk has a record by then. */
const toldWithinMs = 15_000;

/** S19: every lease is on disk before its POST, ends, or is alarmed; and none ends before its time. */
export class LeaseChecks extends LimitCheck {
  readonly #owed = new Owed(this.world);
  /** Commands of which an end says that they found their value there after their time; each is told as soon as the disk has it. */
  readonly #overSoon = new Map<Ask, { readonly one: Limited; readonly at: number }>();

  /** The bytes of a POST leave: its lease is on disk by then. */
  leaving({ ask }: Post): void {
    const one = ask === null ? undefined : this.limits.of(ask);
    if (ask === null || one?.lease?.ask !== ask || one.lease.isUncertain) return;
    const { disk, time } = this.world;
    if (!disk.durable.has(`lease ${ask.by}`))
      this.broken("S19", `a POST of ${ask.by} leaves before its lease is on disk at ${time.now}`);
  }

  /** A lease's end is taken up. */
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

  /** A command that has ended began a lease, perhaps one that is over, or ended one, before anybody is told. */
  #isUntold({ code, id }: Limited): boolean {
    return this.world.journalist
      .lane(code, id)
      .some(
        ({ rule, phases, results }) =>
          rule === null && phases.at(-1)?.phase === "done" && results.length === 0,
      );
  }

  /** A command for a time that was over while it was checked: it may have found its value there. */
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

  /** Whether those of which an end said so have ended as such. */
  #lookAtOverSoon(boot: number): void {
    for (const [ask, { one, at }] of this.#overSoon) {
      const isOpen = ask.results.length === 0 && ask.boot === boot;
      if (isOpen && this.world.time.now < at + toldWithinMs) continue;
      this.#overSoon.delete(ask);
      if (ask.boot === boot && ask.results[0]?.result.outcome !== "already")
        this.broken("S19", `${one.code}/${one.id} is ended, and ${ask.by} had not found its value there`);
    }
  }

  /** The command of it is over, perhaps badly, and the lease before is in force again. */
  #mayHaveGone({ isUncertain, ask }: Lease): boolean {
    const isDone = ask.phases.at(-1)?.phase === "done" || this.#isVain(ask);
    return isUncertain || (isDone && ask.results.length === 0);
  }

  /**
   * Nothing of it was accepted, and by now it may have ended so, which is told a moment after what follows from it: by what the platform
   * said, or when its time to be read back is over. Of what an earlier run sent nobody saw when it ended.
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

  /** Of an actuator, every few seconds while the bridge runs. */
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

  /** The platform itself holds what it was to end with, or has since an end was sent, or has shown it since. */
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
    // A window that tells how far it is may have come there by something else.
    if (sent === undefined) return false;
    // Of polls the newest alone is known: one that showed it ended the lease, also where it told what was not so.
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
   * What an earlier run let is ended after a first read, as somebody may have moved it meanwhile; while a command is still being
   * read back and another value is read, that value may be the one from before it, or on the way to its own.
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
  /** The first POST of a command of somebody. */
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

  /** When the newest movement ended, at the earliest; null where nobody can tell. */
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

  /** Whether a refusal for a pause can be true. */
  checkRefusal(one: Limited, ask: Ask, rule: string, wrong: (why: string) => void): void {
    const { limits, moves } = one;
    if (limits === null) {
      wrong("there is no such limit");
      return;
    }
    const { clockJumpsPerHour } = this.world.scenario;
    // What was kept with a clock that was wrong then counts as now.
    if (clockJumpsPerHour > 0) return;
    const recent = moves.filter(({ at, word }) => at >= ask.at - hourMs - 1_000 && isStart(word));
    // What the disk knew as sent when its process was killed counts, although it may never have left.
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
    // What the travel time does not end, its result does, however long the program was down meanwhile.
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

/** What a guard wants is so, or is not to be sent. */
const done = new Set(["confirmed", "already", "dry_run"]);

/** First, after 30 s, after 2 min; then so seldom. */
const mostTimes = 3;
const laterMs = 590_000;

/** S21: what a guard sends goes out once each time it begins, also over a restart, and only what it allows. */
export class RuleChecks extends LimitCheck {
  readonly #owed = new Owed(this.world);
  readonly #excused = new WeakSet<Beginning>();

  /** A guard has something sent. */
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
    // Where only the lead-in left, what was to be sent was not.
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

  /** Nothing is sent against what somebody else did. */
  changedElsewhere(one: Limited): void {
    for (const { beginning } of one.models.values()) if (beginning !== null) this.#excused.add(beginning);
  }

  /** What was to be sent is not forgotten. */
  look({ boot }: Bridge, one: Limited): void {
    for (const [name, model] of one.models) {
      const { beginning, guard } = model;
      if (beginning === null || guard.then === undefined || guard.blind === "act") continue;
      // A stalled program may have missed that it was let go in between.
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

  /** Something of it was sent, is under way, or was kept back a moment ago. */
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

/** What a run of the program owes: for how long, and for how long nothing has kept it back. */
class Owed {
  readonly #world: World;
  readonly #waits = new WeakMap<object, { boot: number; at: number; freeMs: number; owedMs: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Every few seconds while it is owed; a longer time was none in which the program ran. */
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
