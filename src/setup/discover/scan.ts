import { setMaxListeners } from "node:events";
import { type DeviceRecord, PlatformError, type PlatformReader } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import { Asker, type Reply, ScanEnded, type ScanPorts, type ScanSignals } from "./scan-context.js";
import {
  type AccountLists,
  type Answer,
  type Ask,
  type DeviceSurvey,
  type ListedDevice,
  type ListedStation,
  type PlannedDevice,
  planScan,
  type Selection,
  type Survey,
  unknownNames,
} from "./survey.js";
import { commentText } from "./text.js";

export interface ListPorts {
  readonly platform: PlatformReader;
  readonly turn: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Told what is missing from the lists, as one sentence. */
  readonly note: (sentence: string) => void;
}

/**
 * Stations and devices of the account. Rejects with the PlatformError where the list of controllers, or permission for
 * anything, is missing; without the other lists a scan still makes sense.
 */
export async function readLists(ports: ListPorts): Promise<AccountLists> {
  const { platform, signal, now } = ports;
  await ports.turn();
  const controllers = await platform.controllers(signal);
  if (controllers.isPage === true) ports.note(pageNote);
  const takenAt = now();
  const others = [
    ...(await orNone(ports, () => platform.devices("TEXT", signal))),
    ...(await orNone(ports, () => platform.devices("STREAM", signal))),
  ];
  const stations = await orNone(ports, () => platform.stations(signal));
  return { takenAt, stations: stations.map(station), devices: merged(controllers, others) };
}

async function orNone<Item>(
  { turn, note }: ListPorts,
  ask: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  await turn();
  try {
    return await ask();
  } catch (error) {
    const isBearable = error instanceof PlatformError && bearable.has(error.facts.kind);
    if (!isBearable) throw error;
    note(`going on without a list: ${error.message}`);
    return [];
  }
}

const pageNote =
  "the list of controllers is a page of a longer one, so devices may be missing here; platform.shapes.control/mqtt.params can ask for all of it, such as { pageSize: 500 }";

const bearable: ReadonlySet<string> = new Set(["rejected", "protocol", "server", "timeout"]);

/** The list of controllers comes first: it alone tells who is online. */
function merged(
  controllers: readonly DeviceRecord[],
  others: readonly DeviceRecord[],
): readonly ListedDevice[] {
  const byCode = new Map<string, ListedDevice>();
  for (const record of controllers) byCode.set(record.code, listed(record, true));
  for (const record of others) if (!byCode.has(record.code)) byCode.set(record.code, listed(record, false));
  return [...byCode.values()].sort((one, other) => (one.code < other.code ? -1 : 1));
}

// Nothing else of a record is kept: a stream's address may carry a password.
function listed(record: DeviceRecord, isController: boolean): ListedDevice {
  const { code, name, type, typeName, stationName, online } = record;
  return { code, name, type, typeName, stationName, online, isController };
}

const station = ({ id, name }: ListedStation): ListedStation => ({ id, name });

type DevicePorts = Pick<ScanPorts, "platform" | "progress" | "watcher">;

/**
 * Asks one device what is planned and not known yet. Addresses are flushed from the device itself, so one that is not
 * connected is not asked for them: its single-device status decides, as the list's flag may be minutes old.
 */
export async function scanDevice(
  { device, asks }: PlannedDevice,
  ports: DevicePorts,
  asker: Asker,
): Promise<DeviceSurvey> {
  const { platform, progress, watcher } = ports;
  const answers = new Map<Ask, Answer>();
  const unanswered: { ask: Ask; why: string }[] = [];
  const connection = new ConnectionCheck(device.code, platform, asker);
  const open = asks.filter((ask) => {
    const kept = progress.answer(device.code, ask);
    if (kept !== null) answers.set(ask, kept);
    return kept === null;
  });
  for (const [at, ask] of open.entries()) {
    const reply = await replyTo(ask, device, platform, { asker, connection });
    if (reply === "offline") {
      watcher.spared(open.length - at);
      return { device, answers, unanswered, isOffline: true };
    }
    if (reply.type === "unanswered") unanswered.push({ ask, why: reply.why });
    else {
      const answer = reply.type === "answer" ? reply.answer : reply;
      answers.set(ask, answer);
      progress.add(device.code, ask, answer);
    }
    watcher.asked(device.code);
    await keep(ports);
  }
  return { device, answers, unanswered, isOffline: false };
}

interface DeviceQuestions {
  readonly asker: Asker;
  readonly connection: ConnectionCheck;
}

async function replyTo(
  ask: Ask,
  device: ListedDevice,
  platform: PlatformReader,
  { asker, connection }: DeviceQuestions,
): Promise<Reply<Answer> | "offline"> {
  const isAddress = typeof ask === "number";
  if (isAddress && device.online === false && (await connection.isGone())) return "offline";
  const reply = await asker.ask((signal) => answerTo(ask, device.code, platform, signal));
  // A refusal may be about this type or about the whole device; only the device's status can tell.
  return isAddress && reply.type === "refused" && (await connection.isGone()) ? "offline" : reply;
}

/** Asks for the single-device status at most once. */
class ConnectionCheck {
  readonly #code: string;
  readonly #platform: PlatformReader;
  readonly #asker: Asker;
  #isGone: boolean | null = null;

  constructor(code: string, platform: PlatformReader, asker: Asker) {
    this.#code = code;
    this.#platform = platform;
    this.#asker = asker;
  }

  async isGone(): Promise<boolean> {
    if (this.#isGone !== null) return this.#isGone;
    const reply = await this.#asker.ask((signal) => this.#platform.connection(this.#code, signal));
    this.#isGone = reply.type === "answer" && reply.answer.state === "offline";
    return this.#isGone;
  }
}

async function answerTo(
  ask: Ask,
  code: string,
  platform: PlatformReader,
  signal: AbortSignal,
): Promise<Answer> {
  if (ask === "sensors") return { type: "sensors", items: await platform.sensors(code, signal) };
  if (ask === "statuses") return { type: "statuses", items: await platform.runningStatuses(code, signal) };
  return { type: "values", values: await platform.values(code, ask, signal) };
}

/** A disk that takes nothing costs the resuming, not the scan. */
async function keep({ progress, watcher }: DevicePorts): Promise<void> {
  await progress.saveNowAndThen().catch((error: unknown) => {
    watcher.note(`the progress cannot be kept, an interruption would start over: ${String(error)}`);
  });
}

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
