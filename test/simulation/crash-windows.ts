import { type Ask, type Post } from "../judge/history.js";
import { isModeStep } from "../judge/values.js";
import type { Bridge } from "./bridge.js";
import { Check } from "./judging.js";

/** Notes what a crash interrupts: each window of the path has to be met by one. */
export class CrashWindows extends Check {
  crashing(bridge: Bridge, isPowerCut: boolean): void {
    const { journalist } = this.world;
    const asks = [...journalist.asks.values()];
    // It takes what an earlier crash of the program alone had left.
    if (isPowerCut) for (const ask of asks) ask.isAnswerKept = false;
    const open = asks.filter(
      ({ boot, results, phases }) => boot === bridge.boot && results.length === 0 && phases.length > 0,
    );
    for (const ask of open) {
      this.saw(`a crash ${this.#window(ask)}`);
      if (!isPowerCut && this.#isAnswerKept(ask)) ask.isAnswerKept = true;
      if (this.#isForgotten(ask))
        this.broken("S7", `${ask.by} took over read-backs and the journal does not know it`);
      if (this.#isUnknown(ask)) this.broken("S7", `${ask.by} was taken and the journal does not know it`);
    }
    if (open.length === 0) this.saw("a crash with nothing open");
    if (isPowerCut) this.saw("a power cut");
    if (bridge.isStopping) this.saw("a crash while stopping");
    if (bridge.isStarting) this.saw("a crash while starting");
    if (asks.some(({ results, delivered }) => results.some(({ boot }) => boot === bridge.boot) && !delivered))
      this.saw("a crash before a result was delivered");
    const isRecovering = ({ phases, boot, results }: Ask) =>
      boot !== bridge.boot && results.length === 0 && phases.at(-1)?.boot === bridge.boot;
    if (asks.some(isRecovering)) this.saw("a crash while recovering from the last");
    this.book.senders.clear();
  }

  #window(ask: Ask): string {
    const phase = ask.phases.at(-1)?.phase ?? "";
    const last = ask.posts.at(-1);
    if (phase === "waiting") return "while waiting";
    if (last === undefined) {
      const isTaken = this.world.disk.durable.has(`command_taken ${ask.by}`);
      return isTaken ? "while checking, journaled" : "while checking, not journaled";
    }
    const step = isModeStep(ask, last) ? "the mode" : "the value";
    if (last.endedAt === null) return isSecond(ask, last) ? "while posting again" : `while posting ${step}`;
    if (last.outcome !== "accepted") return "after a POST that may have been lost";
    const reads = this.world.journalist.readsSince(ask.code, last.address, last.endedAt);
    return reads.length === 0 ? `while ${step} settles` : `while ${step} is read back`;
  }

  /** Whoever takes over read-backs has no POST that would need its record first, yet the next start must know it. */
  #isForgotten({ by, donor, phases }: Ask): boolean {
    const last = phases.at(-1);
    if (donor === null || last?.phase !== "confirming") return false;
    const isExcused = this.#isDiskExcused(last.at);
    if (!isExcused) this.saw("a crash while an heir waits for read-backs");
    return !isExcused && !this.#isInJournal("took_over", by);
  }

  /** A command that was taken has to be ended by the next start, whatever became of it so far. */
  #isUnknown({ by, boot, phases }: Ask): boolean {
    const taken = phases.find((phase) => phase.boot === boot);
    return taken !== undefined && !this.#isDiskExcused(taken.at) && !this.#isInJournal("command_taken", by);
  }

  #isInJournal(record: string, by: string): boolean {
    const { disk } = this.world;
    return disk.written.has(`${record} ${by}`) || disk.durable.has(`${record} ${by}`);
  }

  /** What was to be written at this instant may be missing now. */
  #isDiskExcused(at: number): boolean {
    const { disk, lastDiskTroubleAt, lastStallAt, scenario, time } = this.world;
    const isTooSoon = time.now - at < 2_000 || lastStallAt > at - 30_000;
    return isTooSoon || disk.full || scenario.syncFailure > 0 || lastDiskTroubleAt > at - 60_000;
  }

  /** The answer to its last POST was written long enough ago to outlive the program, if not the machine. */
  #isAnswerKept({ posts }: Ask): boolean {
    const { disk, lastDiskTroubleAt, scenario, time } = this.world;
    const last = posts.at(-1);
    if (last === undefined || last.endedAt === null || last.endedAt >= time.now - 1) return false;
    return !disk.full && scenario.syncFailure === 0 && lastDiskTroubleAt < last.begunAt - 30_000;
  }
}

const isSecond = (ask: Ask, post: Post): boolean =>
  ask.posts.some((one) => one !== post && one.address === post.address && one.value === post.value);
