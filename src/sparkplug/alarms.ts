import type { AlarmType } from "../greenhouse/limits.js";
import type { Clock } from "../runtime/clock.js";
import type { ShownAlarm } from "./metrics.js";

/*
 * What is wrong with the edge node that a person should know: raised by it, and ended by it too where an earlier run raised it.
 */

type OwnType = Extract<AlarmType, "birth_too_large" | "duplicate_node">;

export type SetAlarm = (
  type: OwnType,
  about: { readonly controller: string | null; readonly actuator: null },
  message: string | null,
) => void;

type Shown = () => readonly Pick<ShownAlarm, "type" | "controller" | "state">[];

const itself = { controller: null, actuator: null } as const;
/** The broker may still bring the ones before, where births follow each other. */
const mostOwnBirths = 8;
/** So long after the last birth of another node of the name there is none. */
const duplicateClearsMs = 600_000;

const isOwn = (type: AlarmType): type is OwnType => type === "birth_too_large" || type === "duplicate_node";

/** Where there is no edge node nobody would judge what an earlier run left. */
export function endAll(alarms: Shown, setAlarm: SetAlarm): void {
  for (const { type, controller, state } of alarms())
    if (isOwn(type) && state !== "cleared") setAlarm(type, { controller, actuator: null }, null);
}

export class NodeAlarms {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #alarms: Shown;
  readonly #setAlarm: SetAlarm;
  /** Births that the broker takes no more, by device; the node's own under no name. */
  readonly #tooLarge = new Set<string>();
  /** Those of an earlier run, until the first birth of this one. */
  readonly #leftTooLarge = new Set<string>();
  #ownBirths: readonly Buffer[] = [];
  #isDuplicateLeft = false;
  #duplicateAt: number | null = null;

  constructor(clock: Pick<Clock, "monotonic">, alarms: Shown, setAlarm: SetAlarm) {
    this.#clock = clock;
    this.#alarms = alarms;
    this.#setAlarm = setAlarm;
  }

  /** What an earlier run left. */
  restore(): void {
    for (const { type, controller, state } of this.#alarms()) {
      if (state === "cleared") continue;
      if (type === "birth_too_large") this.#leftTooLarge.add(controller ?? "");
      if (type === "duplicate_node") this.#isDuplicateLeft = true;
    }
  }

  /** From here on another node of the name would be heard. */
  onLinked(): void {
    if (this.#isDuplicateLeft) this.#duplicateAt ??= this.#clock.monotonic();
    this.#isDuplicateLeft = false;
  }

  /** Whether a message of a device, or with null of the node, left the bridge. */
  tellSize(device: string | null, problem: string | null): void {
    const key = device ?? "";
    const isNew = this.#leftTooLarge.delete(key);
    const isAsBefore = problem === null ? !this.#tooLarge.delete(key) : this.#tooLarge.has(key);
    if (isAsBefore && !isNew) return;
    if (problem !== null) this.#tooLarge.add(key);
    const message = problem && `Sparkplug hosts do not see ${device ?? "the edge node"}: ${problem}.`;
    this.#setAlarm("birth_too_large", { controller: device, actuator: null }, message);
  }

  /** Its alarms end with it; one that comes back is judged anew. */
  deviceGone(device: string): void {
    this.#tooLarge.delete(device);
  }

  birthSent(payload: Buffer): void {
    this.#ownBirths = [...this.#ownBirths, payload].slice(-mostOwnBirths);
  }

  isOwnBirth(payload: Buffer): boolean {
    return this.#ownBirths.some((own) => own.equals(payload));
  }

  duplicateSeen(group: string, node: string): void {
    this.#isDuplicateLeft = false;
    this.#duplicateAt = this.#clock.monotonic();
    const message = `Another Sparkplug edge node calls itself ${group}/${node} too; hosts cannot tell the two apart.`;
    this.#setAlarm("duplicate_node", itself, message);
  }

  /** When the alarm of another node is over, monotonic ms; null where there is none. */
  get duplicateEndsAt(): number | null {
    return this.#duplicateAt === null ? null : this.#duplicateAt + duplicateClearsMs;
  }

  passTime(): void {
    if (this.#clock.monotonic() < (this.duplicateEndsAt ?? Infinity)) return;
    this.#duplicateAt = null;
    this.#setAlarm("duplicate_node", itself, null);
  }
}
