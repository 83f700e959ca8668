import { anyOf } from "../../runtime/signals.js";
import { msg, type Text, TextError, textOf } from "../../language/text.js";
import { setMaxListeners } from "node:events";
import {
  type DeviceRecord,
  type OnUnread,
  PlatformError,
  type PlatformReader,
  type PlatformStation,
} from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { RequestBudget } from "../../runtime/schedule.js";
import {
  type AccountLists,
  type Answer,
  type Ask,
  Asker,
  type DeviceSurvey,
  isCalled,
  isUsableCode,
  type ListedDevice,
  type PlannedDevice,
  planScan,
  type Selection,
  type Survey,
} from "./survey.js";
import type { Meter, Progress } from "./progress.js";
import { pageProblem } from "../../platform/decode/lists.js";
import { commentText } from "../../saving/yaml-text.js";

interface ScanParts {
  readonly clock: Clock;
  readonly budget: RequestBudget;
  readonly platform: PlatformReader;
  readonly progress: Progress;
  readonly meter: Meter;
  /** Devices asked at the same time; each gets one question after the other. */
  readonly concurrency: number;
}

/** Notes on the lists, each sentence once: shown now, and kept for the written text. */
function notesOver(meter: Pick<Meter, "note">) {
  const notes = new Map<string, Text>();
  const note = (text: Text) => {
    if (notes.has(String(text))) return;
    notes.set(String(text), text);
    meter.note(text);
  };
  const unreadIn =
    (list: Text): OnUnread =>
    (what) =>
      // A list that is only a page gets a sentence of its own.
      String(what).startsWith(String(pageProblem)) ? undefined : note(msg`left out of ${list}: ${what}`);
  return { notes, note, unreadIn };
}

/** The account's stations and devices. Rejects without the list of controllers; the other lists may be missing. */
async function readLists({ platform, clock, meter }: ScanParts, asker: Asker): Promise<AccountLists> {
  const { notes, note, unreadIn } = notesOver(meter);
  const orNone = <Item>(list: Promise<readonly Item[]>) =>
    list.catch((error: unknown) => {
      if (!(error instanceof PlatformError)) throw error;
      note(msg`going on without a list: ${error.text}`);
      return [];
    });
  const all = unreadIn(msg`the list of controllers`);
  const controllers = await asker.ask((signal) => platform.controllers(signal, all));
  if (controllers.isPage === true) note(pageNote);
  const takenAt = clock.now();
  const some = unreadIn(msg`the list of devices`);
  const texts = await orNone(asker.ask((signal) => platform.devices("TEXT", signal, some)));
  const streams = await orNone(asker.ask((signal) => platform.devices("STREAM", signal, some)));
  const ofStations = unreadIn(msg`the list of stations`);
  const stations = await orNone(asker.ask((signal) => platform.stations(signal, ofStations)));
  // The list of controllers comes last and wins: it alone says who is online.
  const devices = new Map(
    [
      ...stations.flatMap(stationDevice),
      ...[...streams, ...texts].map((record) => toListed(record, false)),
      ...controllers.map((record) => toListed(record, true)),
    ].map((device) => [device.code, device]),
  );
  return {
    takenAt,
    stations: stations.map(({ id, name }) => ({ id, name })),
    ...(notes.size > 0 && { notes: [...notes.values()] }),
    devices: [...devices.values()].sort((one, other) => (one.code < other.code ? -1 : 1)),
  };
}

/** A device that only the list of stations may name. */
const stationDevice = ({ device: code, name }: PlatformStation): readonly ListedDevice[] => {
  if (code === null || !isUsableCode(code)) return [];
  const unknown = { type: null, typeName: null, online: null, isController: false };
  return [{ code, name, ...unknown, stationName: name, isOfStations: true }];
};

const pageNote = msg`the list of controllers is a page of a longer one, so devices may be missing here; platform.shapes.control/mqtt.params can ask for all of it, such as { pageSize: 500 }`;

// Keeps nothing else of a record: a stream's address may contain a password.
function toListed(record: DeviceRecord, isController: boolean): ListedDevice {
  const { code, name, type, typeName, stationName, online } = record;
  return { code, name, type, typeName, stationName, online, isController };
}

/**
 * Asks one device the planned questions without a known answer. Addresses are flushed from the device, so a
 * disconnected one is not asked for them. Its single-device status decides that, as the list's flag may be minutes old.
 */
async function scanDevice(
  { device, asks }: PlannedDevice,
  { platform, progress, meter }: ScanParts,
  asker: Asker,
): Promise<DeviceSurvey> {
  const answers = new Map<Ask, Answer>();
  const unanswered: { ask: Ask; why: Text }[] = [];
  const isGone = onlineCheck(device.code, platform, asker);
  const open = asks.filter((ask) => {
    const kept = progress.answer(device.code, ask);
    if (kept !== null) answers.set(ask, kept);
    return kept === null;
  });
  for (const [at, ask] of open.entries()) {
    const answer = await answerTo(ask, device, platform, asker, isGone);
    if (answer === "offline") {
      meter.onSpared(open.length - at);
      return { device, answers, unanswered, isOffline: true };
    }
    if (answer instanceof PlatformError) unanswered.push({ ask, why: whyOf(answer) });
    else {
      answers.set(ask, answer);
      await progress.add(device.code, ask, answer).catch(notKept(meter));
    }
    meter.onAsked(device.code);
  }
  return { device, answers, unanswered, isOffline: false };
}

/** Questions that are no longer even asked share one reason. */
const whyOf = ({ text, facts }: PlatformError): Text => (facts.ofOperation === true ? noUse : text);
const noUse = msg`nothing usable was answered to such a question several times in a row`;

/** If the disk takes nothing, only resuming is lost. */
const notKept = (meter: Meter) => (error: unknown) =>
  meter.note(msg`the progress cannot be kept, an interruption would start over: ${textOf(error)}`);

async function answerTo(
  ask: Ask,
  { code, online }: ListedDevice,
  platform: PlatformReader,
  asker: Asker,
  isGone: () => Promise<boolean>,
): Promise<Answer | PlatformError | "offline"> {
  const isAddress = typeof ask === "number";
  if (isAddress && online === false && (await isGone())) return "offline";
  try {
    return await asker.ask((signal) => read(ask, code, platform, signal));
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const { kind, code: number = "?", platformMessage = "" } = error.facts;
    if (kind !== "rejected") return error;
    // A refusal may be about this type or the whole device; only the device's status shows which.
    if (isAddress && (await isGone())) return "offline";
    return { type: "refused", why: `code ${number} ${platformMessage}`.trim() };
  }
}

/** Asks for the single-device status once at most. */
function onlineCheck(code: string, platform: PlatformReader, asker: Asker): () => Promise<boolean> {
  let gone: Promise<boolean> | null = null;
  const ask = async () => {
    const status = await asker
      .ask((signal) => platform.connection(code, signal))
      .catch((error: unknown) => {
        if (!(error instanceof PlatformError)) throw error;
        return null;
      });
    return status?.state === "offline";
  };
  return () => (gone ??= ask());
}

async function read(ask: Ask, code: string, platform: PlatformReader, signal: AbortSignal): Promise<Answer> {
  const unread = new Map<string, Text>();
  const onUnread: OnUnread = (what) => void unread.set(String(what), what);
  const left = () => (unread.size > 0 ? { unread: [...unread.values()] } : {});
  if (ask === "sensors") {
    const items = await platform.sensors(code, signal, onUnread);
    return { type: "sensors", items, ...left() };
  }
  if (ask === "statuses") {
    const items = await platform.runningStatuses(code, signal, onUnread);
    return { type: "statuses", items, ...left() };
  }
  const listed = await platform.listing(code, ask, signal, onUnread);
  const beside = listed.filter(({ value, name, unit }) => value === null || name !== null || unit !== null);
  const values = listed.flatMap(({ address, value }) => (value === null ? [] : [[address, value] as const]));
  return { type: "values", values, beside, ...left() };
}

/** No device of the account has this name from the command line. */
class UnknownController extends TextError {
  override name = "UnknownController" as const;
}

/** Time for requests under way after a stop, so that they need not be repeated. */
const graceMs = 5_000;
/** Waited for in steps: while a computer is busy for seconds, no question can be answered. */
const graceSteps = 5;

/**
 * Asks the platform for everything selected, except devices that `isLeftOut` and that are not named; only reads.
 * Answers of an interrupted scan are not asked for again. Rejects with ScanEnded if stopped or without answers, with
 * PlatformError if the list of controllers cannot be read, and with UnknownController.
 */
export async function scanAccount(
  selection: Selection,
  isLeftOut: (code: string) => boolean,
  parts: ScanParts,
  stop: AbortSignal,
): Promise<Survey> {
  const halt = new AbortController();
  const cut = new AbortController();
  const over = new AbortController();
  const signals = { stop: anyOf(stop, halt.signal), cut: cut.signal };
  setMaxListeners(0, signals.stop, signals.cut);
  const letFinish = () => {
    endOfGrace(parts.clock, over.signal).then(
      () => cut.abort(),
      () => undefined,
    );
  };
  // A joined signal, with all that its listeners hold, stays in memory until nobody listens to it.
  signals.stop.addEventListener("abort", letFinish, { signal: over.signal });
  const asker = new Asker(parts.clock, parts.budget, signals.stop, signals.cut);
  const { progress, meter } = parts;
  try {
    const lists = progress.lists ?? (await readLists(parts, asker));
    if (progress.lists === null) await progress.list(lists).catch(notKept(meter));
    const plan = planReads(lists, selection, isLeftOut);
    const asked = plan.flatMap(({ device, asks }) => asks.map((ask) => progress.answer(device.code, ask)));
    meter.begin(asked.length, asked.filter((answer) => answer !== null).length);
    const scan = (one: PlannedDevice) => scanDevice(one, parts, asker);
    const devices = await inParallel(plan, parts.concurrency, halt, scan);
    return { stations: lists.stations, notes: lists.notes ?? [], devices: devices.filter(isDevice) };
  } finally {
    over.abort();
  }
}

/** A station counts as a device if it has readings or was named; also if it did not answer, as nobody knows then. */
const isDevice = ({ device, answers, unanswered }: DeviceSurvey): boolean => {
  if (device.isOfStations !== true || answers.size > 1 || unanswered.length > 0) return true;
  const readings = answers.get("sensors");
  return readings?.type === "sensors" && readings.items.length > 0;
};

async function endOfGrace(clock: Clock, over: AbortSignal): Promise<void> {
  for (let step = 0; step < graceSteps; step += 1) await clock.wait(graceMs / graceSteps, over);
}

/** Which device to ask for what; throws UnknownController. */
function planReads(
  { devices }: AccountLists,
  selection: Selection,
  isLeftOut: (code: string) => boolean,
): readonly PlannedDevice[] {
  const unknown = selection.controllers.filter((name) => !devices.some((one) => isCalled(one, name)));
  if (unknown.length > 0)
    throw new UnknownController(
      msg`the account has no controller ${unknown.map((name) => commentText(name)).join(", ")}; \`greenhouse2mqtt get control/mqtt\` lists them`,
    );
  return planScan(devices, selection, isLeftOut);
}

/** The results keep the plan's order. The first failure stops the others, and is thrown once all have ended. */
async function inParallel(
  plan: readonly PlannedDevice[],
  atOnce: number,
  halt: AbortController,
  scan: (planned: PlannedDevice) => Promise<DeviceSurvey>,
): Promise<readonly DeviceSurvey[]> {
  const found = new Map<PlannedDevice, DeviceSurvey>();
  const waiting = plan.values();
  const worker = async () => {
    for (const planned of waiting) found.set(planned, await scan(planned));
  };
  // Only the first reason to abort counts.
  await Promise.all(
    Array.from({ length: atOnce }, () => worker().catch((error: unknown) => halt.abort(error))),
  );
  halt.signal.throwIfAborted();
  return plan.flatMap((planned) => found.get(planned) ?? []);
}
