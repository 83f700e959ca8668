import { hasRunTime } from "../greenhouse/actuator-kinds.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import { WaitingLine } from "../runtime/waiting-line.js";
import { qualityCodes } from "./codes.js";
import { type Place, placeOf, type Topics } from "./topics.js";

/* Rules for retained topics under a controller's id that nothing wants any more, or not yet. */

/** A topic on the broker that nothing wants. */
export interface Leftover {
  /** Device code of this run's controller that showed it; null for a topic of an earlier run. */
  readonly code: string | null;
  /** The text that marks it as stale until it may be emptied; null where none is due or the broker has it. */
  readonly owed: string | null;
}

/**
 * What may be emptied: what this run has ended; also what the configuration decides; everything that nothing wants.
 * Each includes the one before.
 */
export type Extent = "ended" | "settled" | "all";

const extents: readonly Extent[] = ["ended", "settled", "all"];

/** All leftovers; changed in place. */
export interface Leftovers {
  /** By the controller's topic id, then by topic. */
  readonly under: Map<string, Map<string, Leftover>>;
  /** Topic ids under which something may be emptied or marked now. */
  readonly sweeping: WaitingLine<string>;
  /** What may be emptied under each of them. */
  readonly widest: Map<string, Extent>;
  /** Topic ids of an earlier run whose controllers have another id now. */
  readonly formerIds: Set<string>;
  found: number;
  /** Number of emptied topics of earlier runs. */
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

/** Tells whether an announcement still needs topics that are to be emptied. */
export interface ClearingGate {
  /** Whether the topics of a removed controller may be emptied. */
  mayClear(code: string): boolean;
}

/** What the rules about leftovers look at. */
export interface LeftoverContext {
  readonly topics: Topics;
  readonly view: {
    get(code: string): Controller | undefined;
    byId(id: string): Controller | undefined;
  };
  /** Null if nothing is announced. */
  readonly gate: ClearingGate | null;
  /** Whether the configuration excludes a controller, given by topic id. */
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

/** Notes a topic that the broker holds and nothing wants. It is marked as stale, and emptied when it may be. */
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

/** The broker has acknowledged what was published there. */
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

/** The text to publish there now: empty where the topic may go, null for nothing. */
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

/** Whether the configuration decides that a topic of an earlier run may go. */
function isForgotten(
  formerIds: ReadonlySet<string>,
  { isLeftOut, topics, view }: LeftoverContext,
  place: Place,
): boolean {
  const { controllerId: id } = place;
  if (!topics.hasLeaf(place.leaf)) return true;
  return isLeftOut(id) || formerIds.has(id) || isSettled(place, view.byId(id));
}

/** Whether the topic is in use: the mirror shows something there, or `document` is wanted on it. */
export function isWanted(
  { view, topics }: LeftoverContext,
  place: Place,
  document: string | undefined,
): boolean {
  const isOurs = topics.hasLeaf(place.leaf) && isShown(place, view.byId(place.controllerId));
  return isOurs || (document ?? "") !== "";
}

/** Whether the mirror shows something there, so that the topic is no leftover. */
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

/** Whether the topic exists only while something limits an actuator. */
export const isOfRestriction = ({ folder, leaf }: Place): boolean =>
  folder === "actuator" && isRestriction(leaf);

/**
 * Whether the topic has no meaning after a restart: its actuator or parameter is not configured, or its content has
 * expired.
 */
function isSettled({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  if (!controller) return false;
  // A restriction of an earlier run is over, or is published again.
  if (isRestriction(leaf)) return true;
  if (folder === "actuator") {
    const actuator = controller.actuators.get(id);
    return actuator === undefined || (leaf === "run_time" && !hasRunTime(actuator.settings.kind));
  }
  // Nobody reads a raw address of an earlier run again, so the age of its topic is unknown.
  return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
}

/** The payload that says "not read since the start"; null if the topic cannot say so. */
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
