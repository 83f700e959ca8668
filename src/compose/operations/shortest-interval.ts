import { jobIntervalMs, jobsOf, type PollIntervals } from "../../bridge/poll-jobs.js";
import type { Controller } from "../../greenhouse/model.js";

/**
 * The shortest interval of the reads that are made, not of those configured: an account without sensors is asked for its list of
 * controllers only.
 */
export function shortestIntervalMs(
  intervals: PollIntervals,
  controllers: Iterable<Controller>,
  hasReadings: (code: string) => boolean,
): number {
  let shortest = intervals.controllersMs;
  for (const controller of controllers)
    for (const job of jobsOf(controller, hasReadings(controller.info.code)))
      shortest = Math.min(shortest, jobIntervalMs(job, intervals, controller));
  return shortest;
}
