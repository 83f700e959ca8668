import type { Configuration } from "../../config/schema.js";
import { createPlatform } from "../../platform/client.js";
import { nextTurn } from "../../runtime/clock.js";
import { brokerChecks } from "./broker-checks.js";
import { failed, type Finding, notTried, type Verdict, within } from "./finding.js";
import { clockCheck, networkChecks } from "./network-checks.js";
import { dataChecks, platformChecks, platformVerdict, pushChecks } from "./platform-checks.js";
import {
  Answers,
  type Check,
  defaultLimits,
  type DoctorLimits,
  type DoctorPorts,
  type Scene,
} from "./scene.js";
import { shapeChecks } from "./shape-checks.js";
import { zoneCheck } from "./zone-check.js";

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
  const tooSlow = failed(
    `no result within ${Math.round(ms / 1000)} s`,
    "the line or the other side is very slow; try again",
  );
  return within(scene.ports.clock, ms, stop, async (signal) => {
    const cutOff = new Promise<Verdict>((resolve) => {
      signal.addEventListener("abort", () => {
        if (!stop.aborted) resolve(tooSlow);
        // What the check has found by now is still taken.
        else void nextTurn().then(() => resolve(stopped));
      });
    });
    const verdict = await Promise.race([check.run(scene, signal).catch(verdictOfError), cutOff]);
    // Being broken off says nothing about the thing examined.
    return stop.aborted && verdict.status === "failed" ? stopped : verdict;
  });
}

function verdictOfError(error: unknown): Verdict {
  const known = platformVerdict(error);
  if (known !== null) return known;
  const message = error instanceof Error ? error.message : String(error);
  return failed(`this check could not be carried out: ${message}`, "please report it");
}

/** In the order in which they are carried out and printed. */
const checks: readonly Check[] = [
  ...networkChecks("business"),
  ...networkChecks("realtime"),
  ...platformChecks,
  clockCheck,
  ...shapeChecks,
  zoneCheck,
  ...pushChecks,
  ...brokerChecks,
  ...dataChecks,
];

export function openScene(
  configuration: Configuration,
  ports: DoctorPorts,
  limits: DoctorLimits = defaultLimits,
): Scene {
  const { clock, random, log, files } = ports;
  const dataDir = configuration.data_dir;
  const platform = createPlatform(configuration.platform, {
    ...{ clock, random, log, dataDir, files },
  });
  return {
    configuration,
    ports,
    limits,
    platform,
    answers: new Answers(platform, clock),
    evidence: {
      controllers: [],
      devices: [],
      swapped: null,
      channels: null,
      broker: null,
      isGuest: false,
      bridgeOnline: null,
      endings: [() => platform.close()],
    },
  };
}

interface Examination {
  readonly isWanted?: (check: Check) => boolean;
  /** Behind the others, such as recording. */
  readonly more?: readonly Check[];
  readonly begun?: (check: string) => void;
}

/** The wanted checks, then `more`; closes the scene. Only reads the platform; nothing is ever sent to an actuator. */
export async function* diagnose(
  scene: Scene,
  stop: AbortSignal,
  { isWanted = () => true, more = [], begun = () => undefined }: Examination = {},
): AsyncGenerator<Finding> {
  try {
    const wanted = checks.filter(isWanted);
    const isThere = new Set(wanted.map(({ id }) => id));
    // A check that nobody wants is not waited for.
    const asked = wanted.map((check) => ({
      ...check,
      needs: check.needs.filter((need) => isThere.has(need)),
    }));
    yield* examine([...asked, ...more], scene, stop, begun);
  } finally {
    for (const end of scene.evidence.endings.reverse()) await end().catch(() => undefined);
  }
}
