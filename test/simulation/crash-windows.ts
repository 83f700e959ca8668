import { type Ask, type Post } from "../judge/history.js";
import { isModeStep } from "../judge/values.js";
import type { Bridge } from "./bridge.js";
import { Check } from "./judging.js";

/** Notes what a crash interrupts: each window of a command's path has to be met by one. */
export class CrashWindows extends Check {
  crashing(bridge: Bridge, isPowerCut: boolean): void {
    const { journalist } = this.world;
    const asks = [...journalist.asks.values()];
    // A power cut loses what an earlier crash of the program had left.
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

  /**
   * A command that takes over read-backs has no POST of its own that needs its record, yet the next start must know it.
   */
  #isForgotten({ by, donor, phases }: Ask): boolean {
    const last = phases.at(-1);
    if (donor === null || last?.phase !== "confirming") return false;
    const isExcused = this.#isDiskExcused(last.at);
    if (!isExcused) this.saw("a crash while an heir waits for read-backs");
    return !isExcused && !this.#isInJournal("took_over", by);
  }

  /** Whether the next start does not know an accepted command, which it would have to end. */
  #isUnknown({ by, boot, phases }: Ask): boolean {
    const taken = phases.find((phase) => phase.boot === boot);
    return taken !== undefined && !this.#isDiskExcused(taken.at) && !this.#isInJournal("command_taken", by);
  }

  #isInJournal(record: string, by: string): boolean {
    const { disk } = this.world;
    return disk.written.has(`${record} ${by}`) || disk.durable.has(`${record} ${by}`);
  }

  /** Whether a record written at this instant may be missing now. */
  #isDiskExcused(at: number): boolean {
    const { disk, lastDiskTroubleAt, lastStallAt, scenario, time } = this.world;
    const isTooSoon = time.now - at < 2_000 || lastStallAt > at - 30_000;
    return isTooSoon || disk.full || scenario.syncFailure > 0 || lastDiskTroubleAt > at - 60_000;
  }

  /**
   * Whether the answer to its last POST was written early enough to survive the program's end, if not the machine's.
   */
  #isAnswerKept({ posts }: Ask): boolean {
    const { disk, lastDiskTroubleAt, scenario, time } = this.world;
    const last = posts.at(-1);
    if (last === undefined || last.endedAt === null || last.endedAt >= time.now - 1) return false;
    return !disk.full && scenario.syncFailure === 0 && lastDiskTroubleAt < last.begunAt - 30_000;
  }
}

const isSecond = (ask: Ask, post: Post): boolean =>
  ask.posts.some((one) => one !== post && one.address === post.address && one.value === post.value);
