import type { Clock } from "../../runtime/clock.js";
import type { ConnectionLimits } from "./settings.js";

export interface SubscriptionPlan {
  readonly filters: readonly string[];
  readonly limits: Pick<ConnectionLimits, "subackTimeoutMs" | "subscribeRetryMs">;
  readonly clock: Clock;
  /** Resolves with the filters not granted. */
  readonly subscribe: (filters: readonly string[]) => Promise<readonly string[]>;
  readonly granted: () => void;
  /** These were refused or not answered in time; they are asked for again. */
  readonly missing: (filters: readonly string[]) => void;
}

/** Asks until every filter is granted or `signal` aborts; then it simply returns. */
export async function subscribeUntilGranted(plan: SubscriptionPlan, signal: AbortSignal): Promise<void> {
  let filters = plan.filters;
  while (!signal.aborted) {
    filters = filters.length === 0 ? [] : await withinTime(plan, filters, signal);
    if (isAborted(signal)) return;
    if (filters.length === 0) {
      plan.granted();
      return;
    }
    plan.missing(filters);
    await plan.clock.wait(plan.limits.subscribeRetryMs, signal).catch(() => undefined);
  }
}

/** A broker that does not answer has granted nothing. */
async function withinTime(
  { subscribe, clock, limits }: SubscriptionPlan,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = clock.wait(limits.subackTimeoutMs, AbortSignal.any([signal, answered.signal]));
  try {
    return await Promise.race([subscribe(filters).catch(() => filters), late.then(() => filters)]);
  } catch {
    return filters;
  } finally {
    answered.abort();
    await late.catch(() => undefined);
  }
}

// The signal changes during the awaits, which the compiler's narrowing of `aborted` does not know.
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
