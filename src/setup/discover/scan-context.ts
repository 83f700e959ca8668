import { PlatformError } from "../../greenhouse/platform-error.js";
import type { PlatformReader } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import { afterFailure } from "./failure-policy.js";
import type { Pace } from "./pace.js";
import type { Progress } from "./progress.js";

/** What the user sees of a scan while it runs. */
export interface ScanWatcher {
  /** `total` requests are planned, `done` of them were answered in an earlier run. */
  begin(total: number, done: number): void;
  asked(code: string): void;
  /** So many requests of the plan are not needed after all. */
  spared(requests: number): void;
  end(): void;
  /** One sentence about something that went otherwise than planned. */
  note(sentence: string): void;
}

export interface ScanPorts {
  readonly platform: PlatformReader;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly progress: Progress;
  readonly watcher: ScanWatcher;
  /** Devices asked at the same time; each is asked one thing after the other. */
  readonly concurrency: number;
}

/** A scan ended before its end; what was learnt is kept. */
export class ScanEnded extends Error {
  override name = "ScanEnded" as const;
  readonly reason: "stopped" | "gave_up";

  constructor(reason: ScanEnded["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export type Reply<T> =
  | { readonly type: "answer"; readonly answer: T }
  | { readonly type: "refused"; readonly why: string }
  | { readonly type: "unanswered"; readonly why: string };

/** `stop` begins nothing new; `cut` ends what is under way. */
export interface ScanSignals {
  readonly stop: AbortSignal;
  readonly cut: AbortSignal;
}

/** Asks one question after the other, in the pace of the budget, until an answer or the end of patience. */
export class Asker {
  readonly #ports: Pick<ScanPorts, "clock" | "pace">;
  readonly #signals: ScanSignals;
  #leftOutInARow = 0;

  constructor(ports: Pick<ScanPorts, "clock" | "pace">, signals: ScanSignals) {
    this.#ports = ports;
    this.#signals = signals;
  }

  /** Waits for its turn. Rejects with ScanEnded when the scan is to end, whoever wanted that. */
  async turn(): Promise<void> {
    await this.#untilStopped(this.#ports.pace.turn(this.#signals.stop));
  }

  async ask<T>(question: (signal: AbortSignal) => Promise<T>): Promise<Reply<T>> {
    const { stop, cut } = this.#signals;
    for (let tries = 0; ; tries += 1) {
      await this.turn();
      try {
        const answer = await question(cut);
        this.#leftOutInARow = 0;
        return { type: "answer", answer };
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (cut.aborted) throw stopped();
        const next = afterFailure(error.facts, tries, this.#leftOutInARow);
        if (next.type === "give_up") throw new ScanEnded("gave_up", error.message);
        if (next.type === "again") await this.#untilStopped(this.#ports.clock.wait(next.afterMs, stop));
        else return this.#without(error, next.type);
      }
    }
  }

  #without(error: PlatformError, how: "refused" | "leave_out"): Reply<never> {
    const { code, platformMessage } = error.facts;
    if (how === "leave_out") {
      this.#leftOutInARow += 1;
      return { type: "unanswered", why: error.message };
    }
    this.#leftOutInARow = 0;
    return { type: "refused", why: [`code ${code ?? "?"}`, platformMessage ?? ""].join(" ").trim() };
  }

  async #untilStopped(wait: Promise<void>): Promise<void> {
    await wait.catch((error: unknown) => {
      throw this.#signals.stop.aborted ? stopped() : error;
    });
  }
}

const stopped = (): ScanEnded => new ScanEnded("stopped", "stopped");
