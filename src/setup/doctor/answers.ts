import type { PlatformReader, Query } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";

/** An answer of the platform as it came, parsed. */
export interface RawAnswer {
  /** `sensor-data`, `control/mqtt`, … */
  readonly operation: string;
  /** With the parameter names of the interface document. */
  readonly query: Query;
  /** Epoch ms. */
  readonly receivedAt: number;
  readonly body: unknown;
}

/** Asks the platform each question once and keeps the answers. */
export interface AnswerBook {
  /** Rejects with a PlatformError. */
  ask(operation: string, query: Query, signal: AbortSignal): Promise<RawAnswer>;
  list(): readonly RawAnswer[];
}

export function answerBook(platform: Pick<PlatformReader, "get">, clock: Clock): AnswerBook {
  const kept = new Map<string, RawAnswer>();
  return {
    ask: async (operation, query, signal) => {
      const key = JSON.stringify([operation, query]);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const body = await platform.get(operation, query, signal);
      const answer = { operation, query, receivedAt: clock.now(), body };
      kept.set(key, answer);
      return answer;
    },
    list: () => [...kept.values()],
  };
}
