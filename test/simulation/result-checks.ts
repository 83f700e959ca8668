import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { Bridge } from "./bridge.js";
import type { Ask } from "./history.js";
import { laneOf } from "./judging.js";
import { Check } from "./post-book.js";
import { TruthChecks } from "./truth-checks.js";

/** Judges every result when it is published or tried to be: one to a command, journaled first, and never another. */
export class ResultChecks extends Check {
  readonly #truth = new TruthChecks(this.book);

  result(bridge: Bridge, result: CommandResult): void {
    const { journalist, time } = this.world;
    const { by, outcome, reason, repeated, read_back, steps } = result;
    journalist.note("result", { by, outcome, reason, repeated, read_back, steps });
    this.saw(`outcome ${outcome}${reason === null ? "" : ` ${reason}`}`);
    if (JSON.stringify(result).includes("secret-canary")) this.broken("S15", "a secret in a result");
    const ask = journalist.asks.get(by ?? "");
    if (!ask) {
      this.broken("S7", `a result for a command nobody gave: ${JSON.stringify(result)}`);
      return;
    }
    if (ask.results.length > 0) {
      this.#again(ask, result);
      return;
    }
    ask.results.push({ result, at: time.now, boot: bridge.boot });
    this.#checkJournaled(bridge, ask, outcome);
    if (ask.boot !== bridge.boot && !repeated) this.saw(`recovered as ${outcome}`);
    if (outcome === "refused") this.#refused(bridge, ask, reason);
    this.#truth.check(bridge, ask, result);
  }

  #again(ask: Ask, { outcome, reason, finished_at, repeated }: CommandResult): void {
    const first = ask.results[0]?.result;
    const isSame = first?.outcome === outcome && first.finished_at === finished_at;
    if (!isSame && this.book.unjournaled.has(ask.by)) {
      this.saw("the outcome of a stop that the journal could not take is found out again");
      return;
    }
    // The outcome of a dry run is not waited for on the disk: a power cut may keep its beginning alone.
    if (!isSame && first?.outcome === "dry_run" && outcome === "refused") return;
    const earlier = `${first?.outcome ?? ""} ${first?.reason ?? ""}`;
    if (!isSame) this.broken("S7", `${ask.by} has two results: ${earlier}, then ${outcome} ${reason ?? ""}`);
    else if (!repeated) this.broken("S7", `${ask.by}: its result came again without repeated`);
    else this.saw("a result repeated");
  }

  #checkJournaled(bridge: Bridge, ask: Ask, outcome: string): void {
    const { disk, lastDiskTroubleAt, scenario, time } = this.world;
    const isJournaled = disk.written.has(`result ${ask.by}`) || disk.written.has(`refusal ${ask.by}`);
    if (isJournaled) return;
    // A stop is told whatever the disk does, and of very many stops those whose turn never came are only counted.
    if (ask.word === "stop") {
      this.book.unjournaled.add(ask.by);
      const isExcused = bridge.journal?.state().available === false || time.now - lastDiskTroubleAt < 60_000;
      const isCounted = ask.writes.length === 0 && this.#sentBefore(ask) > 60;
      if (isExcused || isCounted || lastDiskTroubleAt === Infinity || scenario.syncFailure > 0) return;
    }
    // Refusals are journaled without waiting; of a command that never came into the journal nothing is found out again.
    if (outcome === "refused" && !this.#isOpen(bridge, ask)) return;
    this.broken("S7", `the result of ${ask.by} is published before it is journaled`);
  }

  #isOpen({ journal }: Bridge, { code, actuator, by }: Ask): boolean {
    const open = journal?.history().open ?? [];
    return open.some(
      ({ taken }) => taken.by === by && taken.controller === code && taken.actuator === actuator,
    );
  }

  /** Rare ways of being refused. */
  #refused(bridge: Bridge, ask: Ask, reason: string | null): void {
    const { journalist, time } = this.world;
    if (ask.word === "stop" && ask.ownId === null && (reason === "duplicate" || reason === "overloaded"))
      this.broken("S11", `the stop ${ask.by} is refused as ${reason}`);
    if (reason === "overloaded") this.#overloaded(ask);
    if (reason === "duplicate") this.saw(`a duplicate by ${ask.ownId === null ? "payload" : "id"}`);
    if (reason === "expired" && bridge.clock.signInsOpen > 0) this.saw("a command expires while signing in");
    // By its own time it may be older than the sender's clock says here.
    if (reason === "expired" && !ask.payload.includes('"at"') && time.now < ask.latestPostAt - 1)
      this.broken("S7", `${ask.by} is refused as too old, ${ask.latestPostAt - time.now} ms too early`);
    if (
      reason === "no_read_back" &&
      !journalist.valueless.some((one) => one.code === ask.code && one.at >= ask.at)
    )
      this.broken("S7", `${ask.by}: no answer of the platform lacked a value`);
    const last = this.book.lastPosted.get(laneOf(ask));
    if (reason === "shutting_down" && last !== undefined && last.endedAt === null)
      this.saw("a command waiting for another's POST is refused by SIGTERM");
    if (ask.at === time.now && bridge.isStopping) this.saw("a command after SIGTERM");
  }

  /** A flood hurts nobody but its own target; those that do not exist are as one. */
  #overloaded(ask: Ask): void {
    const sent = this.#sentBefore(ask);
    if (sent <= 60) this.broken("S16", `${ask.by} is overloaded with ${sent} commands to ${laneOf(ask)}`);
  }

  /** Commands to its target in the minute until it, itself included. */
  #sentBefore(ask: Ask): number {
    const asks = [...this.world.journalist.asks.values()];
    const isOfTarget = (one: Ask) =>
      ask.settings === null ? one.settings === null : laneOf(one) === laneOf(ask);
    return asks.filter((one) => one.at > ask.at - 60_000 && one.at <= ask.at && isOfTarget(one)).length;
  }
}
