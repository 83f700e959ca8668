import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { type Clock, systemClock } from "../runtime/clock.js";
import { CommandFailure } from "./surroundings.js";

/** For a broker to show the retained state once the subscription stands. */
const shownMs = 1_000;
/** Longer than any command may take: its age, its steps and its read-backs. */
const longestMs = 15 * 60_000;

const journalShows = "`greenhouse2mqtt journal` shows what became of it";

/** Whether a bridge is there, and the wait for its answer: which ends too when it leaves, or the user has enough. */
export class BridgeWait {
  readonly #clock: Clock;
  readonly #spoke = new AbortController();
  readonly #over = new AbortController();
  #state: string | null = null;
  #isSent = false;
  #resolve: (result: CommandResult) => void = () => undefined;
  #reject: (why: CommandFailure) => void = () => undefined;
  readonly #result = new Promise<CommandResult>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#result.catch(() => undefined);
  }

  /** What stands in `bridge/state`. */
  said(state: string): void {
    this.#state = state;
    this.#spoke.abort();
    if (state !== "online" && this.#isSent)
      this.#giveUp(
        `the command was sent, but the bridge has gone offline; once it runs again ${journalShows}`,
      );
  }

  answered(result: CommandResult): void {
    this.#resolve(result);
  }

  async isOnline(): Promise<boolean> {
    await this.#clock.wait(shownMs, this.#spoke.signal).catch(() => undefined);
    return this.#state === "online";
  }

  /** Sends the command and waits for its result; rejects with a CommandFailure that says where it will be found. */
  async resultOf(send: () => Promise<unknown>, stop: AbortSignal): Promise<CommandResult> {
    if (stop.aborted) throw new CommandFailure("stopped; the command was not sent");
    const stopped = () => {
      this.#giveUp(`stopped; the command was sent, and ${journalShows}`);
    };
    stop.addEventListener("abort", stopped, { once: true });
    const late = () => {
      this.#giveUp(`the bridge did not answer; ${journalShows}`);
    };
    this.#clock.wait(longestMs, this.#over.signal).then(late, () => undefined);
    this.#isSent = true;
    try {
      // A publish that the broker does not acknowledge must not hold up the end.
      await Promise.race([send(), this.#result]);
      return await this.#result;
    } finally {
      stop.removeEventListener("abort", stopped);
      this.#over.abort();
    }
  }

  #giveUp(why: string): void {
    this.#reject(new CommandFailure(why));
  }
}
