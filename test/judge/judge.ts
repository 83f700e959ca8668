import type { Breach, Findings, History } from "./history.js";
import { judgeLeaving, judgePost } from "./posts.js";
import { judgeAgain, judgeEnd, judgeResult } from "./results.js";
import type { Rule } from "./rules.js";

/** A broken rule, and when it was broken. */
export interface BrokenRule extends Breach<Rule> {
  readonly at: number;
}

/**
 * Judges a whole history: every POST, every result, and the end of every command. A running world judges each of them
 * with the same functions as it happens. `until`: when the last commands had had their time; Infinity if all of them
 * were awaited.
 */
export function judgeHistory(history: History, until = Infinity): readonly BrokenRule[] {
  const broken: BrokenRule[] = [];
  const add = (at: number, { breaches }: Findings<Rule>) => {
    for (const breach of breaches) broken.push({ ...breach, at });
  };
  for (const post of history.posts) {
    add(post.begunAt, judgePost(history, post));
    add(post.begunAt, judgeLeaving(history, post, post.begunAt));
  }
  for (const ask of history.asks.values()) {
    const [first, ...others] = ask.results;
    if (first !== undefined) add(first.at, judgeResult(history, ask, first));
    for (const again of others) if (first !== undefined) add(again.at, judgeAgain(ask, first, again));
    add(ask.at, judgeEnd(history, ask, until));
  }
  return broken;
}
