import type { CommandResult } from "../../../src/greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../../src/greenhouse/events.js";
import type { Controller } from "../../../src/greenhouse/model.js";
import type { Bridge } from "../bridge.js";
import type { Ask, Post, Raw } from "../../judge/history.js";
import { alsoMeans, isDegree, isIdle, isPulse, shows, showsSending } from "../../judge/values.js";
import { Check } from "../judging.js";
import { AlarmChecks } from "./alarm-checks.js";
import { isAllowed } from "./guard-model.js";
import { LimitBook } from "./limit-book.js";
import { isStart, type Limited } from "./limited.js";
import { LeaseChecks, PauseChecks, RuleChecks } from "./rule-checks.js";

/** A healthy disk has a record within this time. */
const keptWithinMs = 60_000;
/** Events about a movement without an open command, which counts as a start and ends a lease. */
const ofOthers: ReadonlySet<BridgeEvent["type"]> = new Set([
  "changed_elsewhere",
  "ended_by_itself",
  "late_execution",
]);
/** The default of `polling.stale_after`. */
const staleAfterMs = 15 * 60_000;

/**
 * S17 to S23, judged from topics, states, commands and events: no POST against a guard, lock or hold; pauses; leases;
 * alarms; commands of rules; interlocks; published allowances.
 */
export class LimitChecks extends Check {
  readonly limits = new LimitBook(this.world);
  readonly leases = new LeaseChecks(this.limits, this.book);
  readonly alarms = new AlarmChecks(this.limits, this.book);
  readonly rules = new RuleChecks(this.limits, this.book);
  readonly #pauses = new PauseChecks(this.limits, this.book);

  mirrorChanged(before: Controller | undefined, after: Controller | undefined): void {
    if (after === undefined) return;
    const { code } = after.info;
    if (before?.sensors !== after.sensors)
      for (const [id, { value, quality }] of after.sensors) {
        const earlier = before?.sensors.get(id);
        if (earlier?.value !== value || earlier.quality !== quality)
          this.limits.read(code, "sensor", id, { value, isGood: quality === "good" });
      }
    if (before?.statuses !== after.statuses) this.#statusesChanged(code, before?.statuses, after.statuses);
  }

  #statusesChanged(
    code: string,
    before: Controller["statuses"] | undefined,
    after: Controller["statuses"],
  ): void {
    for (const [id, { state, quality }] of after) {
      const earlier = before?.get(id);
      if (earlier?.state !== state || earlier.quality !== quality)
        this.limits.read(code, "status", id, { value: state, isGood: quality === "good" });
    }
    // The device does not have it any more.
    for (const id of before?.keys() ?? [])
      if (!after.has(id)) this.limits.read(code, "status", id, { value: null, isGood: false });
  }

  event(event: BridgeEvent): void {
    this.alarms.event(event);
    if (!ofOthers.has(event.type)) return;
    const { controller, actuator, to } = event.facts ?? {};
    const one = this.limits.byId(controller, actuator);
    if (one === undefined) return;
    const isOwn = event.type === "late_execution";
    const wanted = this.limits.unfinished(one).find(({ posts }) => posts.length > 0)?.word;
    // A command of now with the same value moves it too, which was counted with its POST.
    if (!isOwn || wanted !== to) one.movedElsewhere(String(to), isOwn);
    this.rules.changedElsewhere(one);
  }

  /** A rule of the limits sends a command; `by` is the published sender. */
  ruleSends(ask: Ask, by: string): void {
    const one = this.limits.of(ask);
    if (one === undefined) return;
    const [, rule, name = ""] = /^(rule|lease) (.+)$/.exec(by) ?? [];
    if (rule === "rule" && ask.rule === "guard") this.rules.sends(one, ask, name);
    else if (rule === "lease" && ask.rule === "lease") this.leases.ends(one, ask);
    else this.broken("S21", `${by} sends to ${one.code}/${one.id}`);
  }

  /** Nothing is locked although a lock was in force. */
  lockLost({ code, id }: Limited): void {
    this.broken("S17", `the lock of ${code}/${id} is lost`);
  }

  /** A POST for an equal command counts for this one too. */
  takesOver(ask: Ask): void {
    const { journalist } = this.world;
    const last = ask.donor?.posts.at(-1);
    if (ask.rule !== null)
      this.broken("S21", `${ask.by} of a rule takes over what ${ask.donor?.by ?? ""} has sent`);
    const read = last && journalist.readsSince(ask.code, last.address, last.endedAt ?? Infinity).at(-1);
    if (last !== undefined && read !== undefined) {
      // A later poll counts as well.
      const newest = journalist.polledSince(ask.code, last.address, read.begunAt) ?? read.raw;
      const meant = ask.settings === null ? [] : alsoMeans(ask.readings, ask.settings, last.value);
      const goesToDegree = [last.value, ...meant].some(isDegree);
      const agrees = (raw: Raw) =>
        (isPulse(ask.readings, ask.settings) && isIdle(raw)) ||
        shows(ask, last, raw) ||
        showsSending(ask, last, raw) ||
        (goesToDegree && isDegree(raw));
      if (!agrees(read.raw) && !agrees(newest))
        this.broken(
          "S8",
          `${ask.by} takes over although ${ask.code}/${last.address} was read as ${String(read.raw)}`,
        );
    }
    this.limits.of(ask)?.begins(ask);
  }

  /** A POST begins. */
  posting(post: Post): void {
    const { ask } = post;
    const one = ask === null ? undefined : this.limits.of(ask);
    if (ask === null || one === undefined || ask.word === null) return;
    if (ask.word !== "stop") {
      this.#checkGuards(one, ask, post);
      this.#checkLock(one, ask);
      this.#checkHold(one, ask);
      if (ask.posts[0] === post && ask.rule === null) this.#pauses.check(one, ask);
    }
    one.sends(ask, post);
  }

  #checkGuards(one: Limited, ask: Ask, { value }: Post): void {
    const isLeadIn = one.section.kind === "light" && value === "1010" && ask.word !== "on";
    const words = [ask.word ?? "", ...(isLeadIn ? ["on"] : [])];
    for (const [name, { allow }] of Object.entries(one.limits?.guards ?? {})) {
      if (words.every((word) => isAllowed(allow, word))) continue;
      const why = this.limits.mustHold(one, name);
      if (why !== null)
        this.broken(
          "S17",
          `a POST of ${ask.by} (${words.join(", ")}) against the guard ${name} of ${one.code}/${one.id}: ${why}`,
        );
      else this.saw("a POST that a guard forbids at other times");
    }
  }

  #checkLock(one: Limited, ask: Ask): void {
    const { lock } = one;
    const { now } = this.world.time;
    if (lock === null || lock.isUncertain || now < lock.from || now >= lock.until - 2) return;
    this.broken("S17", `a POST of ${ask.by} to ${one.code}/${one.id}, which was locked at ${lock.from}`);
  }

  #checkHold(one: Limited, ask: Ask): void {
    const { hold } = one;
    if (hold === null || ask.rule !== null || ask.holdMs !== null || hold.ask === ask) return;
    if (!this.limits.isKept(hold) || this.world.time.now >= hold.until - 2) return;
    this.broken("S17", `a POST of ${ask.by} to ${one.code}/${one.id}, which ${hold.ask.by} holds`);
  }

  /** S22: exactly the results that a limit prevented have an interlock, and it is true. */
  result(ask: Ask, result: CommandResult): void {
    const { outcome, reason, interlock } = result;
    const tell = `${ask.by} (${ask.word ?? ask.payload}) ended ${outcome} ${reason ?? ""}`;
    if ((reason === "interlock") !== (interlock !== null))
      this.broken("S22", `${tell} with interlock ${JSON.stringify(interlock)}`);
    if (ask.word === "stop" && reason === "interlock") this.broken("S22", `${tell}: a stop always passes`);
    const one = this.limits.of(ask);
    if (one === undefined) return;
    if (interlock && !result.repeated) this.#checkInterlock(one, ask, interlock, tell);
    one.ended(ask, result);
    const hasToRest = one.limits !== null && one.limits.rest + one.limits.reversal > 0 && one.travelMs > 0;
    if (hasToRest && outcome === "confirmed" && !result.repeated) this.world.accidents.moving(ask);
    if (ask.rule === "guard" && !result.repeated && one.limits !== null)
      this.saw(`what a guard sends ends ${outcome}`);
  }

  #checkInterlock(
    one: Limited,
    ask: Ask,
    { rule, value, quality }: NonNullable<CommandResult["interlock"]>,
    tell: string,
  ): void {
    const { journalist, lastStallAt, time, wall } = this.world;
    const wrong = (why: string) => this.broken("S22", `${tell} for ${rule}: ${why}`);
    this.saw(`an interlock of ${reserved.has(rule) ? rule : "a guard"}`);
    if (rule === "lock") {
      if (one.lock === null && one.lastLockedAt < ask.at - 2) wrong("it was not locked");
    } else if (rule === "hold") {
      if (ask.rule !== null || ask.holdMs !== null) wrong("no hold concerns it");
      // A command that has ended already holds it too, before that is published.
      const lane = journalist.lane(one.code, one.id);
      // A hold of an earlier run ends by the clock, once the platform has given the time, or none for long. Its end may
      // have been written by a different clock.
      const startedAt = journalist.startedAt.get(ask.boot) ?? 0;
      const isClockOff = Math.abs(this.world.clockOff) >= 1_000;
      const mayBeUnjudged = isClockOff || ask.at < startedAt + staleAfterMs;
      const isHeld = lane.some(
        ({ at, holdMs, boot }) =>
          holdMs !== null &&
          (at + holdMs >= ask.at - 2 || (boot !== ask.boot && (mayBeUnjudged || at < wall.setAt))),
      );
      if (!isHeld && (one.hold === null || Math.max(one.hold.until, one.lastHeldAt) < ask.at - 2))
        wrong("nobody held it");
    } else if (reserved.has(rule)) {
      if (!isStart(ask.word) || ask.rule !== null) wrong("pauses never delay it");
      this.#pauses.checkRefusal(one, ask, rule, wrong);
    } else {
      const guard = one.limits?.guards[rule];
      if (guard?.status !== undefined) this.saw("an interlock of a guard on a running status");
      if (guard === undefined) wrong("there is no such guard");
      else if (isAllowed(guard.allow, ask.word ?? "") && one.section.kind !== "light")
        wrong("it allows this");
      // A stalled program may have missed the moment at which time cleared it.
      else if (lastStallAt < time.now - 1_200_000 && !this.limits.mayHoldSince(one, rule, ask.at))
        wrong("it did not hold");
      else if (quality === "good" && value === null) wrong("a good value that is none");
    }
  }

  /** Checks allowances, leases, alarms and what rules owe, at intervals. */
  look(): void {
    const { bridge } = this.world;
    if (bridge === null || !bridge.clock.isAlive || bridge.isStopping || bridge.isStarting) return;
    this.limits.lose(this.world.time.now);
    for (const one of this.limits.limited.values()) {
      if (one.limits !== null) this.#checkAllowed(bridge, one);
      this.leases.look(bridge, one);
      this.rules.look(bridge, one);
    }
    this.alarms.look(bridge);
  }

  /** S23: the published allowance is never more than may be sent. */
  #checkAllowed({ store }: Bridge, one: Limited): void {
    const allowed = store?.get(one.code)?.actuators.get(one.id)?.restrictions?.allowed;
    // After a stall, delayed work is done first.
    if (allowed === undefined || this.world.lastStallAt > this.world.time.now - 5_000) return;
    for (const [name, { allow }] of Object.entries(one.limits?.guards ?? {})) {
      if (one.watching.has(name)) continue;
      const word = allowed.words.find((each) => !isAllowed(allow, each));
      const isWide =
        allowed.degrees !== null &&
        !(isAllowed(allow, String(allowed.degrees.max)) && isAllowed(allow, String(allowed.degrees.min)));
      if (word === undefined && !isWide) continue;
      const why = this.limits.mustHold(one, name);
      if (why !== null)
        this.broken(
          "S23",
          `${one.code}/${one.id} is said to allow ${word ?? "more degrees"}, and the guard ${name} holds: ${why}`,
        );
    }
  }

  crashing(isPowerCut: boolean): void {
    const { disk, lastDiskTroubleAt, scenario, time } = this.world;
    const isBad =
      isPowerCut || disk.full || scenario.syncFailure > 0 || lastDiskTroubleAt > time.now - keptWithinMs;
    const lostFrom = isBad
      ? Math.min(time.now, lastDiskTroubleAt === Infinity ? 0 : time.now) - keptWithinMs
      : time.now;
    const from = disk.full || scenario.syncFailure > 0 || lastDiskTroubleAt > -Infinity ? 0 : lostFrom;
    this.limits.ended(from);
    this.alarms.crashing(from);
  }

  atTheEnd(): void {
    this.leases.atTheEnd();
    this.alarms.atTheEnd();
    this.#checkClear();
  }

  /** L6: no guard on the weather holds longer than it may. */
  #checkClear(): void {
    const { world } = this.limits;
    for (const one of this.limits.limited.values())
      for (const [name, model] of one.models) {
        const { now } = world.time;
        if (!model.guard.sensor?.startsWith("weather/") || model.mayHoldSince(now - 5_000, now)) continue;
        const because =
          world.bridge?.store?.get(one.code)?.actuators.get(one.id)?.restrictions?.allowed.because ?? [];
        if (because.some(({ rule }) => rule === name))
          this.broken(
            "L6",
            `the guard ${name} of ${one.code}/${one.id} still holds: ${JSON.stringify(because)}`,
          );
      }
  }
}

const reserved = new Set(["lock", "hold", "rest", "reversal", "starts_per_hour", "read_only"]);
