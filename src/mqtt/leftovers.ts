import type { Controller } from "../greenhouse/model.js";

/*
 * What an earlier run left on the broker. A value not read again since the start must not look fresh, so its quality is
 * marked stale at once; topics nothing stands for any more are cleared, but never before the account is known.
 */

export interface LeftoverPorts {
  readonly base: string;
  readonly view: { byId(id: string): Controller | undefined };
  readonly publish: (topic: string, payload: string) => Promise<void>;
  /** A controller that is to be mirrored, whether it was seen yet or not, by topic id; null when that is not known. */
  readonly isUnwanted: (controllerId: string) => boolean;
  /** Whether a successful list that was not empty has been seen since start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform has had the time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  /** Whether whatever reads the topics was told that they go. */
  readonly mayClear: () => boolean;
  readonly failed: (topic: string, error: unknown) => void;
}

const mostKept = 500_000;

interface Place {
  readonly controllerId: string;
  readonly folder: string;
  readonly id: string;
  readonly leaf: string;
}

export class Leftovers {
  readonly #ports: LeftoverPorts;
  readonly #topics = new Set<string>();
  /** Stale marks the broker has not taken yet. */
  readonly #unmarked = new Map<string, string>();

  constructor(ports: LeftoverPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#topics.size;
  }

  /** A retained message found under the base topic. */
  found(topic: string, payload: string): void {
    const place = placeOf(this.#ports.base, topic);
    if (payload === "" || place === null || this.#isCurrent(place)) return;
    if (this.#topics.size < mostKept) this.#topics.add(topic);
    const stale = staleForm(place, payload);
    if (stale !== null && stale !== payload) this.#publish(topic, stale);
  }

  /** Clears what is certain to be unwanted; call it now and then. Returns how many topics were cleared. */
  sweep(): number {
    this.#markAgain();
    if (this.#topics.size === 0 || !this.#ports.isAccountKnown() || !this.#ports.mayClear()) return 0;
    const patienceOver = this.#ports.platformHadTime();
    let cleared = 0;
    for (const topic of this.#topics) {
      const place = placeOf(this.#ports.base, topic);
      if (place === null || this.#isCurrent(place)) this.#topics.delete(topic);
      else if (patienceOver || this.#isSettledUnwanted(place)) {
        this.#topics.delete(topic);
        this.#publish(topic, "");
        cleared++;
      }
    }
    return cleared;
  }

  #markAgain(): void {
    for (const [topic, payload] of this.#unmarked) {
      this.#unmarked.delete(topic);
      const place = placeOf(this.#ports.base, topic);
      if (place !== null && !this.#isCurrent(place)) this.#publish(topic, payload);
    }
  }

  #publish(topic: string, payload: string): void {
    this.#ports.publish(topic, payload).catch((error: unknown) => {
      this.#topics.add(topic);
      if (payload !== "") this.#unmarked.set(topic, payload);
      this.#ports.failed(topic, error);
    });
  }

  /** Shown by this run already, so its topics are kept by whoever publishes them. */
  #isCurrent({ controllerId, folder, id }: Place): boolean {
    const controller = this.#ports.view.byId(controllerId);
    if (!controller) return false;
    switch (folder) {
      case "":
        return true;
      case "sensor":
        return controller.sensors.has(id);
      case "status":
        return controller.statuses.has(id);
      case "actuator":
        return (controller.actuators.get(id)?.readAt ?? null) !== null;
      case "parameter":
        return (controller.parameters.get(id)?.register ?? null) !== null;
      case "address":
        return controller.addresses.has(id);
      default:
        return true;
    }
  }

  /** The configuration alone decides: an ignored controller, or an actuator it no longer has. */
  #isSettledUnwanted({ controllerId, folder, id }: Place): boolean {
    if (this.#ports.isUnwanted(controllerId)) return true;
    const controller = this.#ports.view.byId(controllerId);
    if (!controller) return false;
    if (folder === "actuator") return !controller.actuators.has(id);
    // Nothing follows a raw address of an earlier run, so what its topic says is of unknown age.
    return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
  }
}

const rootLeaves = new Set(["availability", "info", "problem"]);
const folders = new Set(["sensor", "status", "actuator", "parameter", "address"]);

/** Null for what is not a retained topic of a controller of ours; commands are never touched. */
export function placeOf(base: string, topic: string): Place | null {
  if (!topic.startsWith(`${base}/`)) return null;
  const [controllerId = "", folder = "", id = "", leaf = "", ...rest] = topic
    .slice(base.length + 1)
    .split("/");
  if (controllerId === "bridge" || rest.length > 0 || leaf === "set") return null;
  if (id === "") return rootLeaves.has(folder) ? { controllerId, folder: "", id: "", leaf: folder } : null;
  return folders.has(folder) ? { controllerId, folder, id, leaf } : null;
}

/** The payload that says "not read since the start"; null where quality is not part of the topic. */
function staleForm({ folder, leaf }: Place, payload: string): string | null {
  if (folder === "sensor" && leaf === "quality") return "stale";
  if (leaf !== "json") return null;
  try {
    const parsed: unknown = JSON.parse(payload);
    if (typeof parsed !== "object" || parsed === null || !("quality" in parsed)) return null;
    return parsed.quality === "stale" ? payload : JSON.stringify({ ...parsed, quality: "stale" });
  } catch {
    return null;
  }
}
