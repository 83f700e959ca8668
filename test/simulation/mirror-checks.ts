import type { Actuator, Controller } from "../../src/greenhouse/model.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import { louvre } from "../../src/simulator/addresses.js";
import type { Bridge } from "./bridge.js";
import { type Ask, laneOf, type Read } from "../judge/history.js";
import { judgeEnd } from "../judge/results.js";
import { endWithinMs } from "../judge/timing.js";
import {
  isDegree,
  isNeverShown,
  isPulse,
  mayTell,
  modeAddress,
  readsLag,
  sameAs,
  targetOf,
} from "../judge/values.js";
import { Check } from "./judging.js";
import { falseModes } from "./scenario.js";

/** S3 and S10: the mirror holds only what a read returned, and never goes back. L2: in the end it is the truth. */
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
          .findLast((read) => read.boot === bridge.boot && read.begunMono === startedAt && read.raw === raw);
      // What is polled is not noted as a read.
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

  /** A mode or lead-in that a command sends on its way is nobody's wish: what it reads back is not the state. */
  #checkBetweenSteps(bridge: Bridge, code: string, earlier: Actuator, actuator: Actuator): void {
    const post = this.world.journalist.postsTo(code, actuator.settings.id).at(-1);
    const ask = post?.ask ?? null;
    if (post?.boot !== bridge.boot || bridge.isStopping || ask === null) return;
    if (ask.settings === null || ask.word === null) return;
    if (ask.phases.at(-1)?.phase === "done" || sameAs(targetOf(ask.settings, ask.word).value, post.value))
      return;
    this.saw("a read between two steps of a command");
    if (earlier.state !== actuator.state || earlier.position !== actuator.position)
      this.broken("S3", `${laneOf(ask)} shows ${post.value}, a step of ${ask.by} on its way to ${ask.word}`);
  }

  /** What the device itself said stands until the register holds something else: an older value is no news. */
  #checkNotOlder(
    bridge: Bridge,
    { code, address, raw, where }: Pick<Read, "code" | "address"> & { raw: RawValue; where: string },
  ): void {
    const { world } = this.book;
    // A poll may have been told a lie; and these platforms show where a window is while it travels.
    const { exists } = world.scenario;
    const isLie =
      exists.includes("wrong_read_back") || (address === louvre.mode && exists.includes(falseModes));
    // Where a read is only ordered, what is told without an order is as old as the last one.
    if (isLie || readsLag(world.platform.readings) || (world.showsTravel && isDegree(raw))) return;
    const proof = world.journalist
      .readsOf(code, address)
      .findLast((read) => read.boot === bridge.boot && read.fresh && read.answered && read.raw !== null);
    if (proof === undefined) return;
    const held = world.heldBetween(code, address, proof.begunAt, world.time.now);
    if (!held.some((value) => sameAs(value, raw) || mayTell(world.platform.readings, value, raw)))
      this.broken("S10", `${where} went back to ${String(raw)}, older than a fresh ${String(proof.raw)}`);
  }

  /** L2, long after every fault has gone. */
  atTheEnd(): void {
    for (const controller of this.world.bridge?.store?.controllers() ?? [])
      for (const actuator of controller.actuators.values()) this.#checkTrue(controller.info.code, actuator);
  }

  #checkTrue(code: string, { settings, quality, registers }: Actuator): void {
    const { world } = this.book;
    const where = `${code}/${settings.id}`;
    const { readings } = world.platform;
    const isUntold = readings.has("mode_stays") || isPulse(readings, settings);
    const isCertain = quality === "good" || (quality === "uncertain" && isUntold);
    if (!isCertain) this.broken("L2", `${where} is ${quality}`);
    if (readsLag(world.platform.readings)) return;
    const address = modeAddress(settings);
    const { now } = world.time;
    const held = world.heldBetween(code, address, now - 300_000, now);
    const raw = registers[address]?.raw;
    // What changes during these five minutes may be shown either way.
    if (raw === undefined || held.length > 1) return;
    const isTold = (value: string) => sameAs(value, raw) || mayTell(world.platform.readings, value, raw);
    if (!held.some(isTold) && !isDegree(raw))
      this.broken("L2", `${where} shows ${String(raw)}, the platform holds ${held.join()}`);
  }
}

/** Liveness, once every fault has been gone for half an hour. */
export class EndChecks extends Check {
  /** World time from which on commands are sent to see whether everything works again. */
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
    const { kind, leadIn, travelMs } = probe.settings;
    // This light is told never to be switched on first, whatever its controller wants.
    if (kind === "light" && leadIn === "never") return;
    if (isNeverShown(probe.readings, probe.settings, probe.word)) return;
    if (this.world.scenario.isNovice && isDegree(probe.word ?? "")) return;
    const [end] = probe.results;
    const { outcome, reason, message } = end?.result ?? {};
    // Registers as slow as this leave a command of two steps no time within its max_age.
    const isSlow =
      this.world.scenario.registerLagMs > 10_000 ||
      readsLag(probe.readings) ||
      probe.readings.has("one_at_a_time");
    if (isSlow && (reason === "expired_midway" || reason === "expired")) return;
    // A limit may keep it back (S22 judges whether that is true), and a lease that ends meanwhile takes its place.
    if (reason === "interlock" || (outcome === "superseded" && this.world.scenario.isLimited)) return;
    if (end === undefined || (outcome !== "confirmed" && outcome !== "already")) {
      const ending = `${outcome ?? "not at all"} ${reason ?? ""}`;
      this.broken("L4", `${probe.by} ended ${ending} with every fault gone: ${message ?? ""}`);
      return;
    }
    // Two steps, and the last look at the first may be the one that shows it.
    const modeMs = probe.word !== null && isDegree(probe.word) ? 30_000 : 0;
    // A pause of the limits lets it wait for as long as it may.
    const pauseMs = this.world.scenario.isLimited ? Math.max(0, probe.latestPostAt - probe.at) : 0;
    const withinMs = Math.max(travelMs, 60_000) + 45_000 + modeMs + pauseMs;
    if (end.at - probe.at > withinMs)
      this.broken("L4", `${probe.by} took ${Math.round((end.at - probe.at) / 1000)} s`);
  }

  #checkJournal(): void {
    const { bridge, journalist, time } = this.world;
    for (const { taken } of bridge?.journal?.history().open ?? []) {
      const ask = journalist.asks.get(taken.by ?? "");
      if (ask && time.now - ask.at > endWithinMs) this.broken("L5", `${ask.by} is still open in the journal`);
    }
  }
}
