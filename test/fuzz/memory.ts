import type { Program } from "../end-to-end/support/program.js";
import { memoryOf } from "../proof/probed.js";
import { type Point, slopeOf } from "../proof/slope.js";

/* What a program holds while it is fuzzed, after garbage collections, over minutes. */

export interface MemoryWatch {
  /** MB over minutes. */
  readonly rss: readonly Point[];
  readonly heap: readonly Point[];
  /** The last question is answered. */
  readonly over: Promise<void>;
}

/** Asks every 20 s, in short runs more often, as long as `goesOn`. */
export function watchMemory(
  program: Program,
  folder: string,
  seconds: number,
  goesOn: () => boolean,
): MemoryWatch {
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const rss: Point[] = [];
  const heap: Point[] = [];
  const everyMs = Math.min(20_000, (seconds * 1_000) / 12);
  const watch = async () => {
    for (let due = everyMs; goesOn(); due += everyMs) {
      while (goesOn() && elapsedMs() < due) await new Promise((resolve) => setTimeout(resolve, 50));
      if (!goesOn()) return;
      const memory = await memoryOf(program, folder);
      const x = elapsedMs() / 60_000;
      rss.push({ x, y: memory.rss / 1e6 });
      heap.push({ x, y: (memory.heapUsed + memory.external) / 1e6 });
    }
  };
  return { rss, heap, over: watch() };
}

const none = { value: NaN, margin: NaN };

/** MB a minute, once a quarter of the time is over and everything has been used. */
export function growthOf(points: readonly Point[]): typeof none {
  const end = points.at(-1)?.x ?? 0;
  return points.length < 4 ? none : slopeOf(points.filter(({ x }) => x >= end / 4));
}
