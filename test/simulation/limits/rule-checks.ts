import type { CommandResult } from "../../../src/greenhouse/command/outcomes.js";
import type { Bridge } from "../bridge.js";
import type { Ask } from "../history.js";
import type { Beginning } from "./guard-model.js";
import { isAllowed, LimitCheck, type Limited } from "./limit-book.js";

/** First, after 30 s, after 2 min. */
const mostTimes = 3;
const soonMs = 45_000;

/** S21: what a guard sends goes out once each time it begins, also over a restart, and only what it allows. */
export class RuleChecks extends LimitCheck {
  readonly #waits = new Map<Beginning, { freeMs: number; at: number }>();
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
      if (guard.blind !== "act" && !this.#isStalled())
        this.broken("S21", `${where} sends although it has not begun`);
      return;
    }
    if (guard.blind === "act" || beginning.isUncertain) return;
    const asks = beginning.sent.flatMap((by) => journalist.asks.get(by) ?? []);
    const isDone = asks.some(({ results }) =>
      ["confirmed", "already"].includes(results[0]?.result.outcome ?? ""),
    );
    if (isDone) this.broken("S21", `${where} sends again what was done`);
    const posted = asks.filter(({ writes }) => writes.length > 0);
    if (posted.length >= mostTimes) this.broken("S21", `${where} sends for the ${posted.length + 1}th time`);
    beginning.sent.push(ask.by);
  }

  #isStalled(): boolean {
    const { lastStallAt, time } = this.world;
    return lastStallAt > time.now - 600_000;
  }

  result(one: Limited, ask: Ask, { outcome, repeated }: CommandResult): void {
    if (ask.rule !== "guard" || repeated || one.limits === null) return;
    this.saw(`what a guard sends ends ${outcome}`);
  }

  /** Nothing is sent against what somebody else did. */
  changedElsewhere(one: Limited): void {
    for (const { beginning } of one.models.values()) if (beginning !== null) this.#excused.add(beginning);
  }

  /** What was to be sent is not forgotten. */
  look({ store, boot }: Bridge, one: Limited): void {
    const { scenario, time } = this.world;
    const { commands } = scenario.configuration;
    for (const [name, model] of one.models) {
      const { beginning, guard } = model;
      if (beginning === null || guard.then === undefined || guard.blind === "act") continue;
      // A stalled program may have missed that it was let go in between.
      if (this.#isStalled()) this.#excused.add(beginning);
      const isDone = beginning.sent.length > 0 || beginning.isUncertain || this.#excused.has(beginning);
      if (isDone || commands.read_only || one.section.read_only) continue;
      const controller = store?.get(one.code);
      const others = Object.entries(one.limits?.guards ?? {});
      const isFree =
        controller?.platformReachable === true &&
        controller.availability === "online" &&
        one.lock === null &&
        !model.isBlind &&
        others.every(([, { allow }]) => isAllowed(allow, guard.then ?? ""));
      const before = this.#waits.get(beginning) ?? { freeMs: 0, at: time.now };
      const freeMs = isFree ? before.freeMs + Math.min(6_000, time.now - before.at) : 0;
      this.#waits.set(beginning, { freeMs, at: time.now });
      if (freeMs > soonMs)
        this.broken(
          "S21",
          `the guard ${name} of ${one.code}/${one.id} began at ${beginning.at} and sends nothing in run ${boot}`,
        );
    }
    if (this.#waits.size > 500) this.#waits.clear();
  }
}
