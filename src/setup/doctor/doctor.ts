import { msg, textOf } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import { once } from "node:events";
import { allFeatures, type Configuration } from "../../config/schema.js";
import { createPlatform } from "../../platform/client.js";
import { cameWithin, nextTurn } from "../../runtime/clock.js";
import { Names } from "../../runtime/host-names.js";
import { addressChecks } from "./address-checks.js";
import { brokerChecks } from "./broker-checks.js";
import { failed, type Finding, notTried, type Verdict, within } from "./finding.js";
import { meaningChecks } from "./meaning-checks.js";
import { clockCheck, networkChecks, otherNamesCheck } from "./network-checks.js";
import { dataChecks, platformChecks, platformVerdict, pushChecks } from "./platform-checks.js";
import { type Check, defaultLimits, type DoctorLimits, type DoctorContext } from "./context.js";
import { shapeChecks } from "./shape-checks.js";
import { zoneCheck } from "./zone-check.js";

const stopped = notTried(msg`stopped`);

/**
 * Runs the checks in order and yields each finding as it is made; after a stop, the rest is not tried. A check that
 * breaks becomes a finding. Needs that none of these checks stands for are ignored.
 */
export async function* examine(
  checks: readonly Check[],
  context: DoctorContext,
  stop: AbortSignal,
  onBegin: (check: string) => void,
): AsyncGenerator<Finding> {
  const endAt = context.ports.clock.monotonic() + context.limits.totalMs;
  const lacking = new Set(checks.map(({ id }) => id));
  for (const check of checks) {
    if (!stop.aborted) onBegin(check.id);
    const missing = check.needs.find((need) => lacking.has(need));
    const verdict = stop.aborted
      ? stopped
      : missing === undefined
        ? await inTime(check, context, stop, endAt)
        : notTried(msg`it needs "${missing}", which did not pass`);
    if (verdict.status === "ok" || verdict.status === "warning") lacking.delete(check.id);
    yield { check: check.id, ...verdict };
  }
}

async function inTime(
  check: Check,
  context: DoctorContext,
  stop: AbortSignal,
  endAt: number,
): Promise<Verdict> {
  const { clock } = context.ports;
  const ms = Math.min(context.limits.checkMs, endAt - clock.monotonic());
  if (ms <= 0) return notTried(msg`the time for all checks is over; something above is very slow`);
  const tooSlow = failed(
    msg`no result within ${Math.round(ms / 1000)} s`,
    msg`the line or the other side is very slow; try again`,
  );
  return within(clock, ms, stop, async (signal) => {
    // Findings made until the abort still count.
    const cutOff = once(signal, "abort")
      .then(nextTurn)
      .then(() => (stop.aborted ? stopped : tooSlow));
    const verdict = await Promise.race([check.run(context, signal).catch(verdictOfError), cutOff]);
    // A check that was cut short says nothing about its subject.
    return stop.aborted && verdict.status === "failed" ? stopped : verdict;
  });
}

function verdictOfError(error: unknown): Verdict {
  const known = platformVerdict(error);
  if (known !== null) return known;
  return failed(msg`this check could not be carried out: ${textOf(error)}`, msg`please report it`);
}

/** The checks in the order of running and printing. */
const checksOf = async (configuration: Configuration): Promise<readonly Check[]> => [
  ...networkChecks("business"),
  ...networkChecks("realtime"),
  ...platformChecks,
  clockCheck,
  ...shapeChecks,
  ...addressChecks,
  ...meaningChecks,
  zoneCheck,
  ...pushChecks,
  ...brokerChecks,
  ...(await Promise.all(allFeatures.map(async ({ checks }) => (await checks?.(configuration)) ?? []))).flat(),
  otherNamesCheck,
  ...dataChecks,
];

export function openContext(
  configuration: Configuration,
  ports: DoctorContext["ports"],
  {
    account,
    limits = defaultLimits,
  }: { readonly account?: string | undefined; readonly limits?: DoctorLimits } = {},
): DoctorContext {
  const { clock, random, log, files } = ports;
  const dataDir = configuration.data_dir;
  const names = new Names();
  const platform = createPlatform(configuration.platform, { clock, random, log, dataDir, files, names });
  return {
    configuration,
    account,
    ports,
    limits,
    platform,
    names,
    answers: new Map(),
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

/** Something that does not close must not delay the report. */
const longestEndMs = 2_000;

interface Examination {
  readonly isWanted?: (check: Check) => boolean;
  /** Checks behind the others, such as recording. */
  readonly more?: readonly Check[];
  readonly onBegin?: (check: string) => void;
}

/**
 * Runs the wanted checks, then `more`, and closes the context. Only reads the platform; nothing is ever sent to an
 * actuator.
 */
export async function* diagnose(
  context: DoctorContext,
  stop: AbortSignal,
  { isWanted = () => true, more = [], onBegin = () => undefined }: Examination = {},
): AsyncGenerator<Finding> {
  try {
    const all = await checksOf(context.configuration);
    yield* examine([...all.filter(isWanted), ...more], context, stop, onBegin);
  } finally {
    for (const end of context.evidence.endings.reverse())
      await cameWithin(context.ports.clock, longestEndMs, end()).catch(ignored);
  }
}
