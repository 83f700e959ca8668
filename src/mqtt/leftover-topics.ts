import type { Actuator, Controller } from "../greenhouse/model.js";
import type { Logger } from "../runtime/log.js";
import { type Place, placeOf, type Topics } from "./topics.js";

export interface LeftoverParts {
  readonly topics: Topics;
  readonly qos: 0 | 1;
  /** Resolves when the broker has it; rejects when it has not or that cannot be known. */
  readonly publish: (
    topic: string,
    payload: string,
    options: { readonly retain: true; readonly qos: 0 | 1 },
  ) => Promise<void>;
  readonly view: {
    get(code: string): Controller | undefined;
    byId(id: string): Controller | undefined;
  };
  readonly gate?:
    | {
        /** Whether a removed controller's topics may be emptied; null for those that an earlier run left. */
        mayClear(code: string | null): boolean;
      }
    | undefined;
  /** Whether the configuration says that a controller, by topic id, is not to be mirrored. */
  readonly isLeftOut: (controllerId: string) => boolean;
  /** Whether a successful list that was not empty has been seen since start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform has had the time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  readonly log: Pick<Logger, "warn" | "debug">;
}

/** A topic on the broker that nothing wants, or nothing yet. */
interface Leftover {
  /** Of the controller of this run that showed it; null for what an earlier run left. */
  readonly code: string | null;
  /** What it has to say meanwhile and the broker has not taken. */
  readonly owed: string | null;
}

/** What may go: what this run has ended; also what the configuration decides over; everything that nothing stands for. */
type Extent = "ended" | "settled" | "all";

const mostFound = 500_000;

/**
 * Topics on the broker that nothing wants. What this run has ended is emptied as soon as that may be. What an earlier run left
 * is marked stale at once, and emptied when it is certain that nothing stands for it any more.
 */
export class LeftoverTopics {
  readonly #parts: LeftoverParts;
  /** By the controller's topic id and the topic. */
  readonly #topics = new Map<string, Map<string, Leftover>>();
  /** Topic ids of an earlier run, of controllers that have another one now. */
  readonly #formerIds = new Set<string>();
  #found = 0;

  constructor(parts: LeftoverParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#topics.size === 0;
  }

  /** A retained message that was found under the base topic. */
  found(topic: string, payload: string): void {
    const { topics, view } = this.#parts;
    const place = placeOf(topics.base, topic);
    if (payload === "" || place === null || isShown(place, view.byId(place.controllerId))) return;
    if (this.#topics.get(place.controllerId)?.has(topic) || this.#found >= mostFound) return;
    this.#found += 1;
    const code = place.leaf === "info" ? codeIn(payload) : null;
    if (code !== null && view.get(code) !== undefined) this.#formerIds.add(place.controllerId);
    this.#keep(place.controllerId, topic, { code: null, owed: null });
    const stale = staleForm(place, payload);
    if (stale !== null && stale !== payload) this.#publish(place.controllerId, topic, stale, null);
  }

  /** What this run has shown there is over. */
  ended(id: string, topic: string, code: string): void {
    this.#keep(id, topic, { code, owed: null });
  }

  /** Clears what is certain to be unwanted; call it now and then. Returns how many topics of an earlier run were cleared. */
  sweep(): number {
    if (this.isEmpty) return 0;
    const { isAccountKnown, platformHadTime, gate } = this.#parts;
    const mayClear = isAccountKnown() && (gate?.mayClear(null) ?? true);
    return this.clear(!mayClear ? "ended" : platformHadTime() ? "all" : "settled");
  }

  clear(extent: Extent): number {
    let cleared = 0;
    for (const id of this.#topics.keys()) cleared += this.clearUnder(id, extent);
    return cleared;
  }

  /** Clears what may go under a controller's topic id. Returns how many topics of an earlier run were cleared. */
  clearUnder(id: string, extent: Extent): number {
    const { view, gate, topics } = this.#parts;
    const leftovers = this.#topics.get(id);
    const controller = view.byId(id);
    let cleared = 0;
    for (const [topic, { code, owed }] of leftovers ?? []) {
      const place = placeOf(topics.base, topic);
      if (place === null || isShown(place, controller)) {
        leftovers?.delete(topic);
        continue;
      }
      if (owed !== null) this.#publish(id, topic, owed, code);
      const mayGo =
        code === null ? this.#isForgotten(id, place, controller, extent) : (gate?.mayClear(code) ?? true);
      if (!mayGo) continue;
      this.#publish(id, topic, "", code);
      if (code === null) cleared++;
    }
    if (leftovers?.size === 0) this.#topics.delete(id);
    return cleared;
  }

  /** Whether what an earlier run left there may go. */
  #isForgotten(id: string, place: Place, controller: Controller | undefined, extent: Extent): boolean {
    if (extent !== "settled") return extent === "all";
    return this.#parts.isLeftOut(id) || this.#formerIds.has(id) || isSettled(place, controller);
  }

  #keep(id: string, topic: string, leftover: Leftover): void {
    const topics = this.#topics.get(id) ?? new Map<string, Leftover>();
    this.#topics.set(id, topics.set(topic, leftover));
  }

  /** Empties the topic, or marks it until that may be; what the broker does not take is said again with the next sweep. */
  #publish(id: string, topic: string, payload: string, code: string | null): void {
    const { publish, qos, log } = this.#parts;
    if (payload === "") this.#topics.get(id)?.delete(topic);
    else this.#keep(id, topic, { code, owed: null });
    publish(topic, payload, { retain: true, qos }).catch((error: unknown) => {
      this.#keep(id, topic, { code, owed: payload === "" ? null : payload });
      log.debug({ topic, reason: String(error) }, "could not mark or clear a topic that nothing stands for");
    });
  }
}

/** Whether this run has something to show there, so that its topics are kept by what publishes them. */
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
  if (leaf === "lock" || leaf === "lease") return (actuator?.restrictions?.[leaf] ?? null) !== null;
  return (actuator?.readAt ?? null) !== null;
}

/** The configuration alone decides: it has no such actuator or parameter any more. */
function isSettled({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  if (!controller) return false;
  // What an earlier run left is in force no more, or stands there again.
  if (leaf === "lock" || leaf === "lease") return true;
  if (folder === "actuator") return !controller.actuators.has(id);
  // Nothing follows a raw address of an earlier run, so what its topic says is of unknown age.
  return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
}

/** The payload that says "not read since the start"; null where nothing in the topic says so. */
function staleForm({ folder, leaf }: Place, payload: string): string | null {
  if (folder === "sensor" && leaf === "quality") return "stale";
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
