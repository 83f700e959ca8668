import { type Command, laneKey } from "./command.js";
import { Lane, type LanePorts } from "./lane.js";

type About = Pick<Command, "code" | "target" | "targetId">;

/** The lanes of all actuators, each made with its first command. */
export class LaneBook {
  readonly #lanes = new Map<string, Lane>();
  readonly #unread = new Set<string>();
  readonly #make: (about: About) => LanePorts;

  constructor(make: (about: About) => LanePorts) {
    this.#make = make;
  }

  /** Commands taken and not ended. */
  open(): readonly Command[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.open());
  }

  /** Whether a command is open, or one of ours may still be moving the actuator. */
  isMoving(about: About, travelMs: number): boolean {
    return this.#lanes.get(laneKey(about))?.isMoving(travelMs) ?? false;
  }

  of(about: About): Lane {
    const key = laneKey(about);
    const held = this.#lanes.get(key);
    if (held) return held;
    const lane = new Lane(this.#make(about), this.#unread.has(key));
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Actuators whose last POST of an earlier run nobody has read back yet. */
  restoreUnread(keys: Iterable<string>): void {
    for (const key of keys) this.#unread.add(key);
  }

  close(): void {
    for (const lane of this.#lanes.values()) lane.close();
  }
}
