import { nextTurn } from "../../runtime/clock.js";
import { failed, notTried, type Finding, type Verdict } from "./finding.js";
import { platformVerdict } from "./platform-verdict.js";
import type { Check, Scene } from "./scene.js";

const stopped = notTried("stopped");

/**
 * Runs the checks in their order and yields each finding as it is made; after a stop the rest is found not tried. Never
 * rejects for a check that breaks.
 */
export async function* examine(
  checks: readonly Check[],
  scene: Scene,
  stop: AbortSignal,
  begun: (check: string) => void,
): AsyncGenerator<Finding> {
  const { clock } = scene.ports;
  const endAt = clock.monotonic() + scene.limits.totalMs;
  const passed = new Set<string>();
  for (const check of checks) {
    if (stop.aborted) {
      yield { check: check.id, ...stopped };
      continue;
    }
    const missing = check.needs.find((need) => !passed.has(need));
    const leftMs = Math.min(scene.limits.checkMs, endAt - clock.monotonic());
    begun(check.id);
    const verdict =
      missing !== undefined
        ? notTried(`it needs "${missing}", which did not pass`)
        : leftMs <= 0
          ? notTried("the time for all checks is over; something above is very slow")
          : await inTime(check, scene, stop, leftMs);
    if (verdict.status === "ok" || verdict.status === "warning") passed.add(check.id);
    yield { check: check.id, ...verdict };
  }
}

async function inTime(check: Check, scene: Scene, stop: AbortSignal, ms: number): Promise<Verdict> {
  const late = new AbortController();
  const done = new AbortController();
  const tooLate = scene.ports.clock.wait(ms, AbortSignal.any([done.signal, stop])).then(
    () => {
      late.abort(new Error("out of time"));
      return failed(
        `no result within ${Math.round(ms / 1000)} s`,
        "the line or the other side is very slow; try again",
      );
    },
    // What the check has found by now is still taken.
    () => nextTurn().then(() => stopped),
  );
  const work = check.run(scene, AbortSignal.any([stop, late.signal])).catch(verdictOfError);
  try {
    const verdict = await Promise.race([work, tooLate]);
    // Being broken off says nothing about the thing examined.
    return stop.aborted && verdict.status === "failed" ? stopped : verdict;
  } finally {
    done.abort();
  }
}

function verdictOfError(error: unknown): Verdict {
  const known = platformVerdict(error);
  if (known !== null) return known;
  const message = error instanceof Error ? error.message : String(error);
  return failed(`this check could not be carried out: ${message}`, "please report it");
}
