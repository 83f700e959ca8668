import type { Ask } from "../history.js";
import { isStart, LimitCheck, type Limited, type Move } from "./limit-book.js";

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
      (move) => move.at > now - hourMs + 2 && isStart(move.word) && this.limits.isSure(move) && isSent(move),
    );
    if (limits.starts_per_hour !== undefined && starts.length >= limits.starts_per_hour)
      broken(`after ${starts.length} starts within the hour, of ${limits.starts_per_hour}`);
    const last = one.moves.at(-1);
    if (last === undefined) return;
    const endedAt = this.#endOf(one, last);
    if (endedAt === null) return;
    if (limits.rest > 0 && now < endedAt + limits.rest - 2)
      broken(`${Math.round(now - endedAt)} ms after the last movement, rest is ${limits.rest}`);
    const isPaused = limits.reversal > 0 && now < endedAt + limits.reversal - 2;
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
      .some(({ word, writes }) => word === "stop" && writes.some(({ begunAt }) => begunAt >= last.at));
    if (stopped) return null;
    if (last.ask === null) return last.at + one.travelMs;
    if (one.travelMs > 0) return Math.max(...last.writes.map(({ begunAt }) => begunAt)) + one.travelMs;
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
    if (rule === "starts_per_hour" && recent.length < (limits.starts_per_hour ?? Infinity))
      wrong(`there were ${recent.length} starts`);
    const pauseMs = rule === "rest" ? limits.rest : rule === "reversal" ? limits.reversal : Infinity;
    const longestMs = pauseMs + one.travelMs + 400_000;
    if (rule !== "starts_per_hour" && !moves.some(({ at }) => at >= ask.at - longestMs))
      wrong("nothing moved");
  }
}

const isSent = ({ ask, writes }: Move): boolean =>
  ask === null || writes.some(({ sent, wires }) => sent || wires > 0);

function isOtherWay(before: string, after: string): boolean {
  const ways: Readonly<Record<string, string>> = { open: "close", close: "open" };
  return after === "auto" || before === "auto" || ways[before] === after;
}
