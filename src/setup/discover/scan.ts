import { setMaxListeners } from "node:events";
import type { Clock } from "../../runtime/clock.js";
import { readLists } from "./account-lists.js";
import { scanDevice } from "./device-scan.js";
import { planScan, unknownNames, type PlannedDevice, type Selection } from "./plan.js";
import { commentText } from "./safe-text.js";
import { Asker, ScanEnded, type ScanPorts, type ScanSignals } from "./scan-context.js";
import type { AccountLists, Ask, DeviceSurvey, Survey } from "./survey.js";

export interface ScanRequest extends Selection {
  /** Devices the configuration ignores; asked only when they are chosen by name. */
  readonly isLeftOut: (code: string) => boolean;
}

/** A name on the command line that no device of the account has. */
export class UnknownController extends Error {
  override name = "UnknownController" as const;
}

/** What a request under way may still take after a stop, so that it need not be made again. */
const graceMs = 5_000;
/** Waited for in steps: a computer that was busy for seconds has given nobody a chance to answer. */
const graceSteps = 5;

/**
 * Asks the platform for everything the request names; only reads. What an earlier, interrupted scan learnt is not asked
 * again. Rejects with ScanEnded when it was stopped or the platform gave no answers, with PlatformError where not even
 * the list of controllers could be read, and with UnknownController.
 */
export async function scanAccount(
  request: ScanRequest,
  ports: ScanPorts,
  stop: AbortSignal,
): Promise<Survey> {
  const halt = new AbortController();
  const cut = new AbortController();
  const over = new AbortController();
  const signals = { stop: AbortSignal.any([stop, halt.signal]), cut: cut.signal };
  setMaxListeners(0, signals.stop, signals.cut);
  signals.stop.addEventListener("abort", () => {
    endOfGrace(ports.clock, over.signal).then(
      () => {
        cut.abort();
      },
      () => undefined,
    );
  });
  try {
    return await scanWith(request, ports, signals, halt);
  } finally {
    over.abort();
    await ports.progress.save().catch((error: unknown) => {
      ports.watcher.note(`the progress could not be kept: ${String(error)}`);
    });
  }
}

async function endOfGrace(clock: Clock, over: AbortSignal): Promise<void> {
  for (let step = 0; step < graceSteps; step += 1) await clock.wait(graceMs / graceSteps, over);
}

async function scanWith(
  request: ScanRequest,
  ports: ScanPorts,
  signals: ScanSignals,
  halt: AbortController,
): Promise<Survey> {
  const asker = new Asker(ports, signals);
  const lists = await listsOf(ports, asker, signals);
  const unknown = unknownNames(lists.devices, request);
  if (unknown.length > 0)
    throw new UnknownController(
      `the account has no controller ${unknown.map((name) => commentText(name)).join(", ")}; \`greenhouse2mqtt get control/mqtt\` lists them`,
    );
  const plan = planScan(lists.devices, request, request.isLeftOut);
  announce(plan, ports);
  const devices = await inParallel(plan, ports.concurrency, halt, (planned) =>
    scanDevice(planned, ports, asker),
  );
  return { stations: lists.stations, devices };
}

function listsOf(ports: ScanPorts, asker: Asker, { cut }: ScanSignals): Promise<AccountLists> {
  const { platform, progress, watcher, clock } = ports;
  if (progress.lists !== null) return Promise.resolve(progress.lists);
  const read = readLists({
    platform,
    turn: () => asker.turn(),
    signal: cut,
    now: () => clock.now(),
    note: (sentence) => {
      watcher.note(sentence);
    },
  });
  return read.then(
    (lists) => {
      progress.setLists(lists);
      return lists;
    },
    (error: unknown) => {
      throw cut.aborted ? new ScanEnded("stopped", "stopped") : error;
    },
  );
}

function announce(plan: readonly PlannedDevice[], { progress, watcher }: ScanPorts): void {
  const asks = plan.flatMap(({ device, asks }) =>
    asks.map((ask): readonly [string, Ask] => [device.code, ask]),
  );
  const done = asks.filter(([code, ask]) => progress.answer(code, ask) !== null);
  watcher.begin(asks.length, done.length);
}

/** Keeps the plan's order in its result. The first failure halts the others, and is thrown once all have ended. */
async function inParallel(
  plan: readonly PlannedDevice[],
  atOnce: number,
  halt: AbortController,
  scan: (planned: PlannedDevice) => Promise<DeviceSurvey>,
): Promise<readonly DeviceSurvey[]> {
  const found = new Map<PlannedDevice, DeviceSurvey>();
  const waiting = plan.values();
  const worker = async () => {
    for (const planned of waiting) {
      try {
        found.set(planned, await scan(planned));
      } catch (error) {
        halt.abort();
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  const failures = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  );
  if (failures.length > 0) throw decisive(failures);
  return plan.flatMap((planned) => found.get(planned) ?? []);
}

/** Of all that ended, the one that made the others end. */
const decisive = (failures: readonly unknown[]): unknown =>
  failures.find((error) => !(error instanceof ScanEnded)) ??
  failures.find((error) => error instanceof ScanEnded && error.reason === "gave_up") ??
  failures[0];
