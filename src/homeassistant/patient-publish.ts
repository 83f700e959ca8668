import type { DiscoveryPorts } from "./discovery-ports.js";
import type { TaskLoop } from "./task-loop.js";

const spacingMs = 5;
const pauseAfterFailureMs = 1_000;

export type Taken = "taken" | "refused" | "failed";

/** Publishes a retained message and tells what became of it. A failure pauses all announcing, as most come from a lost link. */
export async function patientPublish(
  { publish, clock, log, isRefusal }: Pick<DiscoveryPorts, "publish" | "clock" | "log" | "isRefusal">,
  tasks: Pick<TaskLoop, "rest">,
  { topic, payload }: { readonly topic: string; readonly payload: string },
): Promise<Taken> {
  try {
    await publish(topic, payload, { retain: true });
    await clock.wait(spacingMs);
    return "taken";
  } catch (error) {
    log.debug({ err: error, topic }, "the broker did not take an announcement; it is tried again");
    await tasks.rest(pauseAfterFailureMs);
    return isRefusal(error) ? "refused" : "failed";
  }
}
