import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { modeAddress } from "../../src/greenhouse/fold-registers.js";
import type { Bridge } from "./bridge.js";
import { type Ask, doneAt, type Read, type ValidRead, type Write } from "./history.js";
import {
  Check,
  isDegree,
  isNear,
  laneOf,
  proofOf,
  provesMode,
  sameAs,
  shows,
  showsSending,
} from "./judging.js";
import { targetOf } from "./messages.js";
import { mayTell } from "./readings.js";

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
    // What ends by itself counts from its arrival. By its own time it may be older than the sender's clock says here.
    const isOver =
      time.now >= Math.min(ask.latestPostAt, ask.at + (ask.settings?.limits?.forMs ?? Infinity)) - 1;
    if (reason === "expired" && !ask.payload.includes('"at"') && !isOver)
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

/** No command waits longer for its turn than its age allows. */
const longestWaitMs = 130_000;

type Step = Pick<Write, "address" | "value">;

/** What a result is held against. */
interface Case {
  readonly bridge: Bridge;
  readonly ask: Ask;
  readonly result: CommandResult;
  /** An earlier run of the program sent it. */
  readonly isRecovered: boolean;
  /** Whose POSTs count: its own, or those of the equal command whose read-backs it took over. */
  readonly poster: Ask;
  readonly last: Write | undefined;
  /** A POST of its own left, or may have. */
  readonly isSent: boolean;
  readonly target: Step;
  /** Valid reads of the last POST's address between it and the outcome. */
  readonly reads: readonly ValidRead[];
  /** No newer command's checks are among those reads. */
  readonly isAlone: boolean;
  readonly tell: string;
}

/** Judges whether what a result says is what happened. */
class TruthChecks extends Check {
  check(bridge: Bridge, ask: Ask, result: CommandResult): void {
    const isRecovered = ask.boot !== bridge.boot || ask.inherits;
    // After a crash the publication of an outcome from before it says nothing about now.
    if (isRecovered && result.repeated) return;
    const { outcome, reason } = result;
    const tell = `${ask.by} (${ask.word ?? ask.payload}) ended ${outcome} ${reason ?? ""}`;
    const poster = ask.writes.length > 0 ? ask : (ask.donor ?? ask);
    if (poster.writes.some((one) => one.endedAt === null && one.boot === bridge.boot))
      this.broken("S7", `${tell} while its POST is under way`);
    if (isRecovered && outcome !== "refused" && !this.#mayHaveBeenSent(ask, result.id))
      this.broken("S7", `${tell} after a restart although nothing of it was sent`);
    const isUnsent =
      outcome === "refused" || outcome === "already" || outcome === "dry_run" || reason === "before_sending";
    if (isUnsent && ask.writes.length > 0) this.broken("S4", `${tell} although it was sent`);
    if (ask.settings === null || ask.word === null) {
      if (outcome !== "refused") this.broken("S7", `${tell}: it is no command`);
      return;
    }
    const target = targetOf(ask.settings, ask.word);
    this.#checkOutcome({
      bridge,
      ask,
      result,
      isRecovered,
      poster,
      last: poster.writes.at(-1),
      isSent: ask.writes.some((one) => one.sent || one.wires > 0),
      target,
      ...this.#readsFor(ask, poster.writes.at(-1), target),
      tell,
    });
    if (!isRecovered && ask.writes.length > 0) this.#checkSteps(ask, result, tell);
  }

  /** An earlier run sent something of it, or of the equal command whose read-backs it took over; of a stop nobody knows. */
  #mayHaveBeenSent(ask: Ask, id: string): boolean {
    // Killed while the disk still took the record that it is sent: then the POST was to follow at any moment.
    if (this.world.disk.written.has(`sending ${id}`)) return true;
    if (ask.word === "stop" || ask.writes.length > 0 || ask.donor !== null || ask.inherits) return true;
    return ask.phases.some(({ phase }) => phase === "sending");
  }

  #readsFor(ask: Ask, last: Write | undefined, target: Step): Pick<Case, "reads" | "isAlone"> {
    const { time } = this.world;
    const since = last?.endedAt ?? last?.begunAt ?? ask.at;
    const until = doneAt(ask) ?? time.now;
    return {
      reads: this.world.journalist
        .readsSince(ask.code, last?.address ?? target.address, since)
        .filter(({ endedAt }) => endedAt !== null && endedAt <= until),
      isAlone: !this.#isAnotherChecking(ask, since - 60_000, until),
    };
  }

  #isAnotherChecking(ask: Ask, from: number, to: number): boolean {
    const lane = this.world.journalist.lane(ask.code, ask.actuator);
    const first = lane.findLastIndex(({ at }) => at < from - longestWaitMs) + 1;
    return lane
      .slice(first)
      .some(
        ({ phases, by }) =>
          by !== ask.by && phases.some(({ phase, at }) => phase === "checking" && at >= from && at <= to),
      );
  }

  #checkOutcome(one: Case): void {
    const { ask, result, isRecovered, tell, last, target } = one;
    const { time } = this.world;
    if (last?.endedAt && this.world.isOverridden(ask.code, target.address, last.endedAt, time.now))
      this.saw("somebody else moves it while it is confirmed");
    switch (result.outcome) {
      case "confirmed":
        this.#checkConfirmed(one);
        break;
      case "already":
        this.#checkAlready(one);
        break;
      case "unconfirmed":
        this.#checkUnconfirmed(one);
        break;
      case "failed":
        if (isRecovered) this.#checkFailedAfterCrash(one);
        else this.#checkFailed(one);
        break;
      case "unknown":
        this.#checkUnknown(one);
        break;
      case "rejected":
        this.#checkRejected(one);
        break;
      case "superseded":
        this.#checkSuperseded(one);
        break;
      case "dry_run":
        if (!ask.dryRun) this.broken("S7", `${tell}: nobody asked for a dry run`);
        break;
      case "refused":
        if (isRecovered && result.reason !== "shutting_down") this.broken("S7", `${tell} after a restart`);
        if (result.reason === "retained" && !ask.retained) this.broken("S7", `${tell}: it was not retained`);
        break;
    }
  }

  #checkConfirmed({ bridge, ask, isRecovered, poster, last, target, tell }: Case): void {
    // What a restarted program reads is begun after its start; its clock started a second before.
    const since = isRecovered ? bridge.clock.worldAt(1_000) : (last?.endedAt ?? last?.begunAt ?? ask.at);
    const proof = proofOf(this.world, ask, target, since);
    if (proof === undefined) this.broken("S8", `${tell}: no read-back shows ${target.value}`);
    else this.#checkHeld(ask, poster, target, proof, tell);
    if (last === undefined && !isRecovered) this.broken("S8", `${tell} without a POST`);
  }

  #checkAlready({ ask, target, tell }: Case): void {
    const { journalist, time } = this.world;
    const proof = proofOf(this.world, ask, target, ask.at);
    if (proof === undefined) this.broken("S8", `${tell}: no fresh read shows ${target.value}`);
    else this.#checkHeld(ask, ask, target, proof, tell);
    this.#checkModeShown(ask, tell);
    if (ask.force || ask.word === "stop") this.broken("S4", `${tell} although it was forced or is a stop`);
    const lastPosted = this.book.lastPosted.get(laneOf(ask));
    // It is told once it is on disk, and the next may have been sent by then.
    const last =
      lastPosted !== undefined && lastPosted.begunAt > (doneAt(ask) ?? time.now) ? undefined : lastPosted;
    if (last?.ask && last.ask.phases.at(-1)?.phase !== "done" && !sameAs(last.value, target.value))
      this.broken("S8", `${tell} while ${last.value} of ${last.ask.by} is on its way`);
    if (last === undefined || last.boot !== ask.boot || last.endedAt === null) return;
    const travelMs = ask.settings?.travelMs ?? 0;
    if (ask.word !== null && isDegree(ask.word) && time.now - last.endedAt < travelMs)
      this.broken("S8", `${tell} while the actuator may still travel`);
    if (last.sent && journalist.readsSince(ask.code, last.address, last.endedAt).length === 0)
      this.broken("S8", `${tell} although the POST of ${last.ask?.by ?? ""} was not read back`);
  }

  /** A degree counts only in position mode. */
  #checkModeShown({ code, settings, word, at }: Ask, tell: string): void {
    if (settings === null || word === null || !isDegree(word)) return;
    const modes = this.world.journalist.readsSince(code, modeAddress(settings), at);
    if (!modes.some(({ raw }) => provesMode(settings, raw)))
      this.broken("S8", `${tell} although no read shows position mode`);
  }

  #checkUnconfirmed({ ask, isRecovered, last, reads, isAlone, tell }: Case): void {
    if (isRecovered) return;
    if (last?.outcome !== "accepted") {
      this.broken("S7", `${tell}: nothing was accepted (${last?.outcome ?? "nothing sent"})`);
      return;
    }
    if (reads.length === 0) this.broken("S7", `${tell}: without a read after the POST it is unknown`);
    const shown = reads.find(({ raw }) => shows(ask, last, raw) || showsSending(ask, last, raw));
    if (isAlone && shown !== undefined)
      this.broken("S7", `${tell}: a read-back showed it at ${shown.begunAt}`);
  }

  #checkFailedAfterCrash({ ask, target, tell }: Case): void {
    const accepted = ask.writes.some(
      ({ outcome, value, address }) =>
        outcome === "accepted" && value === target.value && address === target.address,
    );
    if (accepted && this.book.survived.has(ask.by))
      this.broken("S7", `${tell} after a restart although the journal says that the platform accepted it`);
  }

  #checkFailed({ ask, result, last, reads, isAlone, tell }: Case): void {
    if (result.reason === "expired_midway") {
      if (ask.writes.length === 0 || this.world.time.now <= ask.latestPostAt - 121_000)
        this.broken("S7", `${tell}: too early`);
      return;
    }
    if (result.reason === "interlock") {
      if (ask.writes.length === 0) this.broken("S7", `${tell} although nothing was sent`);
      return;
    }
    if (result.reason === "not_sent") {
      const unsent = result.steps.at(-1);
      const isOf = ({ address, value }: Write) => address === unsent?.address && value === unsent.value;
      if (ask.writes.some((one) => isOf(one) && one.wires > 0))
        this.broken("S7", `${tell} although a POST left`);
      return;
    }
    const steps = ask.writes.filter((one) => one.address === last?.address && one.value === last.value);
    if (steps.some(({ outcome }) => outcome === "accepted"))
      this.broken("S7", `${tell} although the platform accepted it`);
    if (reads.length === 0) this.broken("S7", `${tell} without a read after the POST: it is unknown`);
    const shown = reads.find(({ raw }) => last !== undefined && shows(ask, last, raw));
    if (shown !== undefined && isAlone) this.broken("S7", `${tell} although a read showed the value`);
  }

  #checkUnknown({ ask, isSent, isRecovered, isAlone, last, reads, tell }: Case): void {
    if (isRecovered) return;
    if (!isSent && ask.donor === null) this.broken("S7", `${tell}: nothing was sent`);
    // What a read showed before the newest one may have been somebody else's doing, or a lie.
    const newest = reads.at(-1);
    if (isAlone && newest !== undefined && (last === undefined || !showsSending(ask, last, newest.raw)))
      this.broken("S7", `${tell} although the newest read after the POST showed ${String(newest.raw)}`);
  }

  #checkRejected({ ask, last, tell }: Case): void {
    const isFlagged = ask.readings.has("flagged_refusals") && last?.outcome !== "accepted";
    const code = last?.bodyCode ?? null;
    const isSaid = isFlagged || (code !== null && code !== "200");
    if (!isSaid && !ask.writes.some(({ outcome, sent }) => outcome === "unauthorized" && sent))
      this.broken("S7", `${tell}: the platform gave no other code (${last?.outcome ?? "nothing sent"})`);
  }

  #checkSuperseded({ ask, result, isSent, isRecovered, tell }: Case): void {
    const newest = this.world.journalist.lane(ask.code, ask.actuator).findLast((one) => one !== ask);
    if (newest === undefined || newest.at < ask.at) this.broken("S7", `${tell}: nothing newer came`);
    if (result.reason === "after_sending" && !isSent && ask.donor === null && !isRecovered)
      this.broken("S7", `${tell}: nothing was sent`);
  }

  /** S8: the platform truly held the value at some time, unless it told a lie that no client could see through. */
  #checkHeld(ask: Ask, poster: Ask, target: Step, proof: Read, tell: string): void {
    const { world } = this.book;
    if (proof.isLie) {
      this.saw("a lie was believed");
      return;
    }
    // These profiles show where a window is while it travels, and others no degree at all.
    if (world.showsTravel || showsSending(ask, target, proof.raw ?? "")) return;
    const from = Math.min(poster.writes[0]?.begunAt ?? ask.at, proof.begunAt);
    const held = world.heldBetween(ask.code, target.address, from, world.time.now);
    const wasHeld = (value: string) =>
      sameAs(target.value, value) ||
      isNear(ask.settings, target.value, value) ||
      mayTell(ask.readings, value, target.value);
    if (!held.some(wasHeld))
      this.broken("S8", `${tell} but the platform never held ${target.value}: ${held.join(", ")}`);
  }

  #checkSteps(ask: Ask, { steps }: CommandResult, tell: string): void {
    for (const { address, value, attempts, code } of steps) {
      const writes = ask.writes.filter((one) => one.address === address && one.value === value);
      if (writes.length !== attempts)
        this.broken("S7", `${tell}: its step says ${attempts} attempts, ${writes.length} were made`);
      const answered = writes.findLast(({ sent }) => sent)?.bodyCode ?? null;
      if (code !== answered)
        this.broken("S7", `${tell}: its step says code ${code ?? "null"}, it was ${answered ?? "null"}`);
    }
    if (steps.length === 0) this.broken("S7", `${tell} without telling its steps`);
  }
}
