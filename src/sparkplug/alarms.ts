import type { AlarmType } from "../greenhouse/limits.js";
import type { Clock } from "../runtime/clock.js";
import type { ShownAlarm } from "./metrics.js";

/* Alarms about the edge node. It also ends those that an earlier run raised. */

type OwnType = Extract<AlarmType, "birth_too_large" | "duplicate_node">;

export type SetAlarm = (
  type: OwnType,
  about: { readonly controller: string | null; readonly actuator: null },
  message: string | null,
) => void;

type Shown = () => readonly Pick<ShownAlarm, "type" | "controller" | "state">[];

const itself = { controller: null, actuator: null } as const;
/** Births that follow each other quickly come back late, so several of our own are remembered. */
const mostOwnBirths = 8;
/** The alarm ends when no birth of another node with our name has come for this long. */
const duplicateClearsMs = 600_000;

const isOwn = (type: AlarmType): type is OwnType => type === "birth_too_large" || type === "duplicate_node";

/** Ends the alarms of an earlier run when there is no edge node any more, as nobody else would. */
export function endAll(alarms: Shown, setAlarm: SetAlarm): void {
  for (const { type, controller, state } of alarms())
    if (isOwn(type) && state !== "cleared") setAlarm(type, { controller, actuator: null }, null);
}

export class NodeAlarms {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #alarms: Shown;
  readonly #setAlarm: SetAlarm;
  /** Devices whose birth the broker refuses as too large; the node itself is the empty name. */
  readonly #tooLarge = new Set<string>();
  /** The same from an earlier run, until this run's first birth of the device. */
  readonly #leftTooLarge = new Set<string>();
  #ownBirths: readonly Buffer[] = [];
  #isDuplicateLeft = false;
  #duplicateAt: number | null = null;

  constructor(clock: Pick<Clock, "monotonic">, alarms: Shown, setAlarm: SetAlarm) {
    this.#clock = clock;
    this.#alarms = alarms;
    this.#setAlarm = setAlarm;
  }

  /** Takes over the alarms of an earlier run. */
  restore(): void {
    for (const { type, controller, state } of this.#alarms()) {
      if (state === "cleared") continue;
      if (type === "birth_too_large") this.#leftTooLarge.add(controller ?? "");
      if (type === "duplicate_node") this.#isDuplicateLeft = true;
    }
  }

  /** From here on another node with our name would be heard. */
  onLinked(): void {
    if (this.#isDuplicateLeft) this.#duplicateAt ??= this.#clock.monotonic();
    this.#isDuplicateLeft = false;
  }

  /** Raises or ends the alarm that a birth is too large; `device` is null for the node, `problem` null once it left. */
  tellSize(device: string | null, problem: string | null): void {
    const key = device ?? "";
    const isNew = this.#leftTooLarge.delete(key);
    const isAsBefore = problem === null ? !this.#tooLarge.delete(key) : this.#tooLarge.has(key);
    if (isAsBefore && !isNew) return;
    if (problem !== null) this.#tooLarge.add(key);
    const message = problem && `Sparkplug hosts do not see ${device ?? "the edge node"}: ${problem}.`;
    this.#setAlarm("birth_too_large", { controller: device, actuator: null }, message);
  }

  /** Forgets a removed device; one that returns is judged anew. */
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

  /** When the alarm about another node ends, monotonic ms; null for none. */
  get duplicateEndsAt(): number | null {
    return this.#duplicateAt === null ? null : this.#duplicateAt + duplicateClearsMs;
  }

  passTime(): void {
    if (this.#clock.monotonic() < (this.duplicateEndsAt ?? Infinity)) return;
    this.#duplicateAt = null;
    this.#setAlarm("duplicate_node", itself, null);
  }
}
