import type { Actuator, Controller } from "../../src/greenhouse/model.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import { louvre } from "../../src/simulator/addresses.js";
import type { Bridge } from "./bridge.js";
import { type Ask, laneOf, type Read } from "../judge/history.js";
import { judgeEnd, nextCheckedAt } from "../judge/results.js";
import { endWithinMs, modeProofMs } from "../judge/timing.js";
import {
  isDegree,
  isNeverShown,
  isPulse,
  isUnreadable,
  mayTell,
  modeAddress,
  readsLag,
  sameAs,
  targetOf,
} from "../judge/values.js";
import { Check } from "./judging.js";
import { calmMs, falseModes } from "./scenario.js";

/** The program reads the clock shortly before its request leaves. */
const leavesWithinMs = 5;

const isBegunAt = ({ begunMono }: { readonly begunMono: number }, startedAt: number): boolean =>
  begunMono >= startedAt && begunMono - startedAt <= leavesWithinMs;

/** S3 and S10: the mirror holds only what a read returned, and never goes back. L2: in the end it is true. */
export class MirrorChecks extends Check {
  readonly #qualities = new Map<string, string>();

  changed(bridge: Bridge, before: Controller | undefined, after: Controller | undefined): void {
    if (after === undefined || before === undefined || before.actuators === after.actuators) return;
    for (const [id, actuator] of after.actuators) {
      const earlier = before.actuators.get(id);
      if (earlier === undefined || earlier === actuator) continue;
      const where = `${after.info.code}/${id}`;
      if (earlier.quality !== actuator.quality) this.#qualityChanged(where, actuator.quality);
      if (earlier.registers === actuator.registers) continue;
      this.#checkRegisters(bridge, after.info.code, earlier, actuator);
      this.#checkBetweenSteps(bridge, after.info.code, earlier, actuator);
    }
  }

  #qualityChanged(where: string, quality: string): void {
    const path = `${this.#qualities.get(where) ?? ""} ${quality}`.split(" ").slice(-3).join(" ");
    this.#qualities.set(where, path);
    if (path === "stale good stale") this.saw("an actuator stale, good and stale again");
  }

  #checkRegisters(bridge: Bridge, code: string, earlier: Actuator, actuator: Actuator): void {
    for (const [address, register] of Object.entries(actuator.registers)) {
      const held = earlier.registers[address];
      if (held === register) continue;
      const { startedAt, raw, source } = register;
      const where = `${code}/${actuator.settings.id} address ${address}`;
      const isShown = () =>
        this.world.journalist
          .readsOf(code, address)
          .findLast((read) => read.boot === bridge.boot && isBegunAt(read, startedAt) && read.raw === raw);
      // Polls are not noted as reads.
      if (source === "poll")
        this.world.journalist.polled(code, address, bridge.clock.worldAt(startedAt), raw);
      if (source !== "poll" && isShown() === undefined)
        this.broken("S3", `${where} shows ${String(raw)} that no read returned`);
      if (held !== undefined && startedAt < held.startedAt) this.broken("S10", `${where} went back in time`);
      if (held !== undefined && source !== "read_back" && !sameAs(String(held.raw), raw))
        this.#checkNotOlder(bridge, { code, address, raw, where });
      const post = this.world.journalist.postsTo(code, actuator.settings.id).at(-1);
      if (post?.boot === bridge.boot && bridge.clock.worldAt(startedAt) < post.begunAt - 1e-6)
        this.broken("S10", `${where} changed by a read begun before our last POST`);
    }
  }

  /** S3: a mode or lead-in that a command sends is only a step, so reading it back changes no state. */
  #checkBetweenSteps(bridge: Bridge, code: string, earlier: Actuator, actuator: Actuator): void {
    const post = this.world.journalist.postsTo(code, actuator.settings.id).at(-1);
    const ask = post?.ask ?? null;
    if (post?.boot !== bridge.boot || bridge.isStopping || ask === null) return;
    if (ask.settings === null || ask.word === null) return;
    // Once the next command is checked it is over, although it is published only when it is on disk.
    const isOver =
      ask.phases.at(-1)?.phase === "done" || nextCheckedAt(this.book.history, ask) <= this.world.time.now;
    if (isOver || sameAs(targetOf(ask.settings, ask.word).value, post.value)) return;
    this.saw("a read between two steps of a command");
    if (earlier.state !== actuator.state || earlier.position !== actuator.position)
      this.broken("S3", `${laneOf(ask)} shows ${post.value}, a step of ${ask.by} on its way to ${ask.word}`);
  }

  /** A device's own statement stands until the register holds something else: an older value is no news. */
  #checkNotOlder(
    bridge: Bridge,
    { code, address, raw, where }: Pick<Read, "code" | "address"> & { raw: RawValue; where: string },
  ): void {
    const { world } = this.book;
    // A poll may have got a lie; and these platforms show a window's position while it travels.
    const { exists } = world.scenario;
    const isLie =
      exists.includes("wrong_read_back") || (address === louvre.mode && exists.includes(falseModes));
    if (isLie || (world.showsTravel && isDegree(raw))) return;
    const proof = world.journalist
      .readsOf(code, address)
      .findLast((read) => read.boot === bridge.boot && read.fresh && read.answered && read.raw !== null);
    if (proof === undefined) return;
    const held = world.heldBetween(code, address, this.#knownSince(proof), world.time.now);
    if (!held.some((value) => sameAs(value, raw) || mayTell(world.platform.readings, value, raw)))
      this.broken("S10", `${where} went back to ${String(raw)}, older than a fresh ${String(proof.raw)}`);
  }

  /** Since when the platform may know what a fresh read gives; if reads are only ordered, since the order before. */
  #knownSince({ code, address, begunAt }: Read): number {
    const { world } = this.book;
    if (!readsLag(world.platform.readings)) return begunAt;
    const isOrder = ({ fresh, answered, endedAt }: Read) =>
      fresh && answered && endedAt !== null && endedAt + orderedMs <= begunAt;
    return world.journalist.readsOf(code, address).findLast(isOrder)?.begunAt ?? -Infinity;
  }

  /** L2, long after every fault has gone. */
  atTheEnd(): void {
    for (const controller of this.world.bridge?.store?.controllers() ?? []) {
      for (const actuator of controller.actuators.values()) this.#checkTrue(controller.info.code, actuator);
      this.#checkRead(controller);
    }
    this.#checkLists();
    this.#checkPlatform();
  }

  /** With every fault gone the platform is shown as there, however the last one ended. */
  #checkPlatform(): void {
    const { watch, poller } = this.world.bridge ?? {};
    const expected = (poller?.stretch ?? 1) > 1 ? "degraded" : "online";
    if (watch && watch.state !== expected)
      this.broken("L2", `the platform is shown as ${watch.state ?? "nothing"}, and all of it answers`);
  }

  /** A list that a start could not read is read later, however seldom it is polled. */
  #checkLists(): void {
    const tally = this.world.bridge?.poller?.tally;
    for (const list of ["controllers", "devices"] as const)
      if (tally?.answeredAt(list, null) === null) this.broken("L2", `the list of ${list} was never read`);
  }

  /** Where nothing looks at sensors, they are polled so seldom that the calm may contain no poll. */
  #checkRead({ info, sensors }: Controller): void {
    if (!this.world.scenario.isLimited || sensors.size === 0) return;
    const newest = Math.max(...Array.from(sensors.values(), ({ receivedAt }) => receivedAt));
    if (newest < this.world.wall.now() - calmMs)
      this.broken("L2", `${info.code} has no readings of the calm`);
  }

  /**
   * The oldest time from which a value without an order may come; if reads are only ordered, since the last ordered
   * one.
   */
  #toldSince(code: string, address: string, at: number): number {
    const { world } = this.book;
    if (!readsLag(world.platform.readings)) return at;
    const isOrder = ({ fresh, answered, endedAt }: Read) =>
      fresh && answered && endedAt !== null && endedAt <= at;
    return world.journalist.readsOf(code, address).findLast(isOrder)?.begunAt ?? -Infinity;
  }

  #checkTrue(code: string, { settings, quality, registers }: Actuator): void {
    const { world } = this.book;
    const where = `${code}/${settings.id}`;
    const { readings } = world.platform;
    // A value that was never read is stale, and is shown so.
    if (isUnreadable(readings, settings)) {
      if (quality !== "stale") this.broken("L2", `${where} is ${quality}, and nobody can read it`);
      return;
    }
    const isUntold = readings.has("mode_stays") || isPulse(readings, settings);
    const isCertain = quality === "good" || (quality === "uncertain" && isUntold);
    if (!isCertain) this.broken("L2", `${where} is ${quality}`);
    const address = modeAddress(settings);
    const { now } = world.time;
    const held = world.heldBetween(code, address, this.#toldSince(code, address, now - 300_000), now);
    const raw = registers[address]?.raw;
    // A value that changes during these five minutes may be shown either way.
    if (raw === undefined || (held.length > 1 && !readsLag(readings))) return;
    const isTold = (value: string) => sameAs(value, raw) || mayTell(world.platform.readings, value, raw);
    if (!held.some(isTold) && !isDegree(raw))
      this.broken("L2", `${where} shows ${String(raw)}, the platform holds ${held.join()}`);
  }
}

/** The time from the order of a fresh read until its value is known, where reads are only ordered. */
const orderedMs = 5_000;

/** Liveness, after half an hour without any fault. */
export class EndChecks extends Check {
  /** World time from which commands test whether everything works again. */
  probesFrom = Infinity;

  atTheEnd(): void {
    const { journalist, bridge } = this.world;
    for (const ask of journalist.asks.values())
      this.book.found(judgeEnd(this.book.history, ask, this.world.time.now));
    for (const lane of journalist.lanes.values()) {
      const probe = lane.findLast(({ at, rule }) => at >= this.probesFrom && rule === null);
      if (probe) this.#checkProbe(probe);
    }
    this.#checkJournal();
    const waiting = bridge?.waitingResults ?? 0;
    if (waiting > 0) this.broken("L3", `${waiting} results still wait for the broker`);
    if (bridge === null || !bridge.clock.isAlive) this.broken("L1", "the bridge does not run");
  }

  #checkProbe(probe: Ask): void {
    if (probe.mustNotPost !== null || probe.settings === null) return;
    const { travelMs } = probe.settings;
    const [end] = probe.results;
    const { outcome, reason, message } = end?.result ?? {};
    const says = (...outcomes: readonly string[]) => outcome !== undefined && outcomes.includes(outcome);
    // With registers this slow a command of two steps exceeds its max_age, as with a controller that takes one at a
    // time.
    const isSlow = this.world.scenario.registerLagMs > 10_000 || probe.readings.has("one_at_a_time");
    if (isSlow && (reason === "expired_midway" || reason === "expired")) return;
    // A value that shows this late is missed by the last ordered read of a mode.
    const isLate =
      readsLag(probe.readings) && this.world.scenario.registerLagMs > modeProofMs - 2 * orderedMs;
    if (isLate && reason === "mode_not_confirmed") return;
    // If an unknown code ends a token, the bridge needs two refusals to understand it.
    const { unknownRefusal } = this.world.scenario;
    const isToken = unknownRefusal !== null && String(message).includes(`code ${unknownRefusal}`);
    if (isToken && (reason === "platform_unavailable" || outcome === "rejected")) return;
    // A limit may prevent it (S22 judges whether that is true), or an ending lease may replace it.
    if (reason === "interlock" || (outcome === "superseded" && this.world.scenario.isLimited)) return;
    const isFine = says("confirmed", "already") || (this.#isHidden(probe) && says("unconfirmed"));
    const isRefused = isUnreadable(probe.readings, probe.settings) && reason === "no_read_back";
    if (isRefused) return;
    if (end === undefined || !isFine) {
      const ending = `${outcome ?? "not at all"} ${reason ?? ""}`;
      this.broken("L4", `${probe.by} ended ${ending} with every fault gone: ${String(message ?? "")}`);
      return;
    }
    // It has two steps, and the last read of the first may be the one that shows it.
    const modeMs = probe.word !== null && isDegree(probe.word) ? 30_000 : 0;
    // A pause of the limits may delay it as long as allowed.
    const pauseMs = this.world.scenario.isLimited ? Math.max(0, probe.latestPostAt - probe.at) : 0;
    const withinMs = Math.max(travelMs, 60_000) + 45_000 + modeMs + pauseMs;
    if (end.at - probe.at > withinMs)
      this.broken("L4", `${probe.by} took ${Math.round((end.at - probe.at) / 1000)} s`);
  }

  /** Whether the platform never shows it, or does not do it: it is accepted, and read back to its end. */
  #isHidden({ settings, readings, word }: Ask): boolean {
    if (settings === null) return false;
    // This light is configured never to get `on` first, whatever its controller needs.
    if (settings.kind === "light" && settings.leadIn === "never") return true;
    const isNew = this.world.scenario.isNovice && isDegree(word ?? "");
    return isNew || isNeverShown(readings, settings, word);
  }

  #checkJournal(): void {
    const { bridge, journalist, time } = this.world;
    for (const { taken } of bridge?.journal?.history().open ?? []) {
      const ask = journalist.asks.get(taken.by ?? "");
      if (ask && time.now - ask.at > endWithinMs) this.broken("L5", `${ask.by} is still open in the journal`);
    }
  }
}
