import { hasRunTime } from "../greenhouse/actuator-kinds.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import { WaitingLine } from "../runtime/waiting-line.js";
import { qualityCodes } from "./codes.js";
import { type Place, placeOf, type Topics } from "./topics.js";

/* Rules about retained topics under a controller's id that nothing wants any more, or nothing yet. */

/** A topic on the broker that nothing wants. */
export interface Leftover {
  /** Device code of the controller of this run that showed it; null for what an earlier run left. */
  readonly code: string | null;
  /** What it has to say until it may be emptied, and the broker has not acknowledged. */
  readonly owed: string | null;
}

/**
 * What may be emptied: what this run has ended; also what the configuration decides over; everything that nothing stands for.
 * Each holds the one before.
 */
export type Extent = "ended" | "settled" | "all";

const extents: readonly Extent[] = ["ended", "settled", "all"];

/** What is left over, changed in place. */
export interface Leftovers {
  /** By the controller's topic id and the topic. */
  readonly under: Map<string, Map<string, Leftover>>;
  /** Topic ids under which something may be emptied or marked now. */
  readonly sweeping: WaitingLine<string>;
  /** How much of each of them. */
  readonly widest: Map<string, Extent>;
  /** Topic ids of an earlier run, of controllers that have another one now. */
  readonly formerIds: Set<string>;
  found: number;
  /** Topics of an earlier run that were emptied. */
  cleared: number;
}

export const noLeftovers = (): Leftovers => ({
  under: new Map(),
  sweeping: new WaitingLine(),
  widest: new Map(),
  formerIds: new Set(),
  found: 0,
  cleared: 0,
});

const mostFound = 500_000;

/** Whether what is announced stands against emptying topics. */
export interface ClearingGate {
  /** Whether the topics of a removed controller may be emptied. */
  mayClear(code: string): boolean;
}

/** What decides over them. */
export interface LeftoverContext {
  readonly topics: Topics;
  readonly view: {
    get(code: string): Controller | undefined;
    byId(id: string): Controller | undefined;
  };
  /** Null where nothing is announced. */
  readonly gate: ClearingGate | null;
  /** Whether the configuration says that a controller, by topic id, is not to be mirrored. */
  readonly isLeftOut: (controllerId: string) => boolean;
}

export function keepLeftover({ under }: Leftovers, id: string, topic: string, leftover: Leftover): void {
  const topics = under.get(id) ?? new Map<string, Leftover>();
  under.set(id, topics.set(topic, leftover));
}

export function dropLeftover({ under }: Leftovers, id: string, topic: string): void {
  under.get(id)?.delete(topic);
  if (under.get(id)?.size === 0) under.delete(id);
}

export function sweepUnder({ sweeping, widest }: Leftovers, id: string, extent: Extent): void {
  const known = widest.get(id);
  const isWider = known === undefined || extents.indexOf(extent) > extents.indexOf(known);
  if (isWider) widest.set(id, extent);
  sweeping.add(id);
}

/** The broker holds what nothing wants: it is marked as not read since the start, and emptied once nothing stands for it. */
export function findLeftover(
  left: Leftovers,
  { view }: LeftoverContext,
  topic: string,
  payload: string,
  place: Place,
): void {
  const { controllerId: id, leaf } = place;
  if (left.under.get(id)?.has(topic) || left.found >= mostFound) return;
  left.found += 1;
  const code = leaf === "info" ? codeIn(payload) : null;
  if (code !== null && view.get(code) !== undefined) left.formerIds.add(id);
  const stale = staleForm(place, payload);
  const owed = stale === payload ? null : stale;
  keepLeftover(left, id, topic, { code: null, owed });
  if (owed !== null) sweepUnder(left, id, "ended");
}

/** The broker has what was said there. */
export function leftoverTaken(left: Leftovers, base: string, topic: string, payload: string): void {
  const id = placeOf(base, topic)?.controllerId ?? "";
  const leftover = left.under.get(id)?.get(topic);
  if (leftover === undefined) return;
  if (payload !== "") {
    if (leftover.owed === payload) keepLeftover(left, id, topic, { ...leftover, owed: null });
    return;
  }
  if (leftover.code === null) left.cleared += 1;
  dropLeftover(left, id, topic);
}

/** What may be said there now: an empty text where it may go; null for nothing. */
export function dueAt(
  { formerIds }: Leftovers,
  context: LeftoverContext,
  { code, owed }: Leftover,
  place: Place,
  extent: Extent,
): string | null {
  const mayGo =
    code === null
      ? extent === "all" || (extent === "settled" && isForgotten(formerIds, context, place))
      : (context.gate?.mayClear(code) ?? true);
  return mayGo ? "" : owed;
}

/** What an earlier run left there may go by what the configuration says. */
function isForgotten(
  formerIds: ReadonlySet<string>,
  { isLeftOut, topics, view }: LeftoverContext,
  place: Place,
): boolean {
  const { controllerId: id } = place;
  if (!topics.hasLeaf(place.leaf)) return true;
  return isLeftOut(id) || formerIds.has(id) || isSettled(place, view.byId(id));
}

/** Somebody wants the topic as it is, or has something to say there: `document`, what is wanted on it as on one of its own. */
export function isWanted(
  { view, topics }: LeftoverContext,
  place: Place,
  document: string | undefined,
): boolean {
  const isOurs = topics.hasLeaf(place.leaf) && isShown(place, view.byId(place.controllerId));
  return isOurs || (document ?? "") !== "";
}

/** Whether the mirror has something to show there, so that the topic is not left over. */
function isShown({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  switch (folder) {
    case "sensor":
      return controller?.sensors.has(id) ?? false;
    case "status":
      return controller?.statuses.has(id) ?? false;
    case "actuator":
      return isActuatorShown(leaf, controller?.actuators.get(id));
    case "parameter":
      return (controller?.parameters.get(id)?.register ?? null) !== null;
    case "address":
      return controller?.addresses.has(id) ?? false;
    default:
      return controller !== undefined;
  }
}

function isActuatorShown(leaf: string, actuator: Actuator | undefined): boolean {
  if (leaf === "allowed") return actuator !== undefined;
  if (leaf === "run_time") return actuator?.runTime !== undefined;
  if (isRestriction(leaf)) return (actuator?.restrictions?.[leaf] ?? null) !== null;
  return (actuator?.readAt ?? null) !== null;
}

const isRestriction = (leaf: string): leaf is "lock" | "lease" => leaf === "lock" || leaf === "lease";

/** What is there only while it limits an actuator. */
export const isOfRestriction = ({ folder, leaf }: Place): boolean =>
  folder === "actuator" && isRestriction(leaf);

/** The configuration alone decides: it has no such actuator or parameter any more. */
function isSettled({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  if (!controller) return false;
  // What an earlier run left is in force no more, or stands there again.
  if (isRestriction(leaf)) return true;
  if (folder === "actuator") {
    const actuator = controller.actuators.get(id);
    return actuator === undefined || (leaf === "run_time" && !hasRunTime(actuator.settings.kind));
  }
  // Nothing follows a raw address of an earlier run, so what its topic says is of unknown age.
  return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
}

/** The payload that says "not read since the start"; null where nothing in the topic says so. */
function staleForm({ folder, leaf }: Place, payload: string): string | null {
  if (folder === "sensor" && leaf === "quality") return "stale";
  if (leaf === "quality_code") return String(qualityCodes.stale);
  if (leaf === "availability") return "unknown";
  const parsed = leaf === "json" ? objectIn(payload) : null;
  if (parsed === null || !("quality" in parsed)) return null;
  return parsed.quality === "stale" ? payload : JSON.stringify({ ...parsed, quality: "stale" });
}

/** The device code in the payload of an `info` topic. */
function codeIn(payload: string): string | null {
  const parsed = objectIn(payload);
  return parsed !== null && "code" in parsed && typeof parsed.code === "string" ? parsed.code : null;
}

function objectIn(payload: string): object | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}
