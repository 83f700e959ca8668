import { ignored } from "../runtime/failures.js";
import { plausibleValue } from "../greenhouse/fold-sensors.js";
import type { Controller, Sensor } from "../greenhouse/model.js";
import { type History, type HistoryPoint, PlatformError } from "../greenhouse/ports.js";
import { catalogueWord } from "../greenhouse/sensor-names.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { TrendKeeper } from "./trends.js";

/*
 * Fills the trends of a newly installed page with a day of readings that the platform has kept. Each controller is
 * asked once, after its first readings, with requests that polling leaves over. The operation's answers are
 * undocumented, so only points that certainly belong to the controller and sensor are taken.
 */

export interface PastSources {
  /** Asks for what the platform has kept of a controller. */
  readonly ask: (code: string, signal: AbortSignal) => Promise<History>;
  /** Ms until there are requests that polling does not need; 0 if there are now. */
  readonly pauseMs: () => number;
}

interface PastParts extends PastSources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly controllers: () => Iterable<Controller>;
  readonly trends: Pick<TrendKeeper, "add" | "of">;
}

const lookMs = 5_000;
/** The pause between two questions. */
const gapMs = 1_000;
/** Parts of a day; up to `fewParts` of them may lack readings. */
const parts = 96;
const fewParts = 8;
/** After this many empty answers in a row, the account counts as one without past readings. */
const mostInVain = 3;

/** What has been learnt about the operation's answers. */
interface Course {
  /** Empty answers in a row. */
  inVain: number;
  /**
   * An answer that does not name its controller. A second one that differs proves that each is about the controller
   * asked for.
   */
  unsure: { readonly controller: Controller; readonly points: readonly HistoryPoint[] } | null;
  isToldApart: boolean;
}

/** Runs until the signal aborts or no further answers are worth asking for. */
export async function fillTrends(given: PastParts, signal: AbortSignal): Promise<void> {
  const { clock, pauseMs } = given;
  const asked = new Set<string>();
  const course: Course = { inVain: 0, unsure: null, isToldApart: false };
  while (!signal.aborted) {
    const next = [...given.controllers()].find((one) => !asked.has(one.info.code) && hasReadings(one));
    const waitMs = next === undefined ? lookMs : pauseMs();
    if (waitMs > 0) await clock.wait(waitMs, signal).catch(ignored);
    if (next === undefined || waitMs > 0) continue;
    asked.add(next.info.code);
    if (!(await hasGaps(next, given.trends))) continue;
    if (!(await fillOne(next, course, given, signal))) return;
    await clock.wait(gapMs, signal).catch(ignored);
  }
}

const numericIn = ({ sensors }: Controller): readonly Sensor[] =>
  [...sensors.values()].filter(({ definition }) => definition.numeric && !definition.average);

const hasReadings = (controller: Controller): boolean =>
  controller.availability !== "offline" && numericIn(controller).length > 0;

async function hasGaps(controller: Controller, trends: PastParts["trends"]): Promise<boolean> {
  const ids = numericIn(controller).map(({ definition }) => definition.id);
  const { sensors } = await trends.of(controller.info.id, ids, null, parts);
  const isKnown = (at: number) => ids.some((id) => typeof sensors[id]?.[at] === "number");
  return Array.from({ length: parts }, (_, at) => isKnown(at)).filter((known) => !known).length > fewParts;
}

const nothing: Pick<History, "points" | "isOwn"> = { points: [], isOwn: false };

/** Returns whether other controllers are worth asking. */
async function fillOne(
  controller: Controller,
  course: Course,
  given: PastParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { code } = controller.info;
  const { points, isOwn } = await given.ask(code, signal).catch((error: unknown) => {
    if (!(error instanceof PlatformError)) {
      if (signal.aborted) return nothing;
      throw error;
    }
    given.log.debug({ controller: code }, `past readings: ${error.message}`);
    // Past readings are a convenience, so a refused credential is not tried again.
    if (error.facts.kind === "unauthorized") course.inVain = mostInVain;
    return nothing;
  });
  if (points.length === 0) {
    course.inVain += 1;
    if (course.inVain >= mostInVain) given.log.debug("the platform gives no past readings; trends begin now");
    return course.inVain < mostInVain;
  }
  course.inVain = 0;
  if (isOwn || course.isToldApart) return fill(controller, points, given.trends);
  const { unsure } = course;
  course.unsure = { controller, points };
  if (unsure === null) return true;
  if (sameText(unsure.points) === sameText(points)) {
    given.log.info("weather-data/list answers the same about each device, so trends are not filled from it");
    return false;
  }
  course.isToldApart = true;
  fill(unsure.controller, unsure.points, given.trends);
  return fill(controller, points, given.trends);
}

const sameText = (points: readonly HistoryPoint[]): string => JSON.stringify(points);

function fill(controller: Controller, points: readonly HistoryPoint[], trends: PastParts["trends"]): true {
  const byName = new Map<string, HistoryPoint[]>();
  for (const point of points) {
    const same = byName.get(point.name) ?? [];
    byName.set(point.name, same);
    same.push(point);
  }
  for (const [{ definition }, names] of namesOf(numericIn(controller), [...byName.keys()])) {
    const own = names.flatMap((name) => byName.get(name) ?? []);
    const values = own.flatMap(({ at, value }) => {
      const plausible = typeof value === "number" ? plausibleValue(definition, value) : null;
      return plausible === null ? [] : [{ at, value: plausible }];
    });
    trends.add(controller.info.id, definition.id, values);
  }
  return true;
}

const plain = (text: string | null): string => (text ?? "").trim().toLowerCase();

/**
 * The names that mean each sensor: its own name or code, else the only name of a quantity that only this sensor has.
 */
export function namesOf(
  sensors: readonly Sensor[],
  names: readonly string[],
): ReadonlyMap<Sensor, readonly string[]> {
  const found = new Map<Sensor, readonly string[]>();
  const left = new Set(names);
  for (const sensor of sensors) {
    const { platformName, factor } = sensor.definition;
    const exact = names.find((name) => [plain(platformName), plain(factor)].includes(plain(name)));
    if (exact === undefined || exact.trim() === "") continue;
    found.set(sensor, [exact]);
    left.delete(exact);
  }
  for (const name of left) {
    const word = catalogueWord(name);
    const same = sensors.filter(
      (one) => word !== null && catalogueWord(one.definition.platformName) === word,
    );
    const isAlone = [...left].filter((other) => catalogueWord(other) === word).length === 1;
    const [sensor] = same;
    if (sensor !== undefined && same.length === 1 && isAlone && !found.has(sensor)) found.set(sensor, [name]);
  }
  return found;
}
