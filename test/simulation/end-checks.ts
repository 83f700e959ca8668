import type { Ask } from "./history.js";
import { isDegree } from "./judging.js";
import { Check } from "./post-book.js";

const endWithinMs = 240_000;

/** Liveness, once every fault has been gone for half an hour. */
export class EndChecks extends Check {
  /** World time from which on commands are sent to see whether everything works again. */
  probesFrom = Infinity;

  atTheEnd(): void {
    const { journalist, bridge } = this.world;
    for (const ask of journalist.asks.values()) this.#checkEnded(ask);
    for (const lane of journalist.lanes.values()) {
      const probe = lane.findLast(({ at, rule }) => at >= this.probesFrom && rule === null);
      if (probe) this.#checkProbe(probe);
    }
    this.#checkJournal();
    const waiting = bridge?.waitingResults ?? 0;
    if (waiting > 0) this.broken("L3", `${waiting} results still wait for the broker`);
    if (bridge === null || !bridge.clock.isAlive) this.broken("L1", "the bridge does not run");
  }

  #checkEnded(ask: Ask): void {
    const { bridge, disk, time } = this.world;
    // A retained command is answered once for a topic and connection.
    if (ask.retained || time.now - ask.at < endWithinMs) return;
    if (ask.results.length > 0) {
      this.#checkDelivered(ask);
      return;
    }
    const isLost =
      ask.boot !== bridge?.boot &&
      !disk.written.has(`command_taken ${ask.by}`) &&
      !disk.written.has(`refusal ${ask.by}`);
    if (!isLost)
      this.broken("L1", `${ask.by} of ${Math.round((time.now - ask.at) / 1000)} s ago has no result`);
  }

  /** Whatever cuts the link or kills the bridge meanwhile: a result that is on disk arrives. */
  #checkDelivered({ by, delivered, results }: Ask): void {
    const { outcome } = results[0]?.result ?? {};
    if (delivered || outcome === "refused" || !this.world.disk.durable.has(`result ${by}`)) return;
    this.broken("L1", `the result of ${by}, ${outcome ?? "none"}, never arrived`);
  }

  #checkProbe(probe: Ask): void {
    if (probe.mustNotPost !== null || probe.settings === null) return;
    const { kind, leadIn, travelMs } = probe.settings;
    // This light is told never to be switched on first, whatever its controller wants.
    if (kind === "light" && leadIn === "never") return;
    const [end] = probe.results;
    const { outcome, reason, message } = end?.result ?? {};
    // Registers as slow as this leave a command of two steps no time within its max_age.
    const isSlow = this.world.scenario.registerLagMs > 10_000;
    if (outcome === "failed" && reason === "expired_midway" && isSlow) return;
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
