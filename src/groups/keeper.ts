import type { Core } from "../feature/core.js";
import type { GroupResult } from "../greenhouse/groups.js";
import type { GroupMemberTaken, GroupTaken } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import { endedOf, placeOfAll, type Running, takenOf } from "./running.js";

const minuteMs = 60_000;
/**
 * The most commands a minute for one target, as for each member. More is a flood, which the members refuse and which
 * must not fill the disk.
 */
const mostPerMinute = 60;
const againMs = 5_000;
const nothing = (): void => undefined;

/** The parts of the core that it needs. */
export interface KeeperCore extends Pick<Core, "signal"> {
  readonly journal: Pick<Core["journal"], "append"> & {
    history(): Pick<ReturnType<Core["journal"]["history"]>, "groups">;
  };
  readonly commands: Pick<Core["commands"], "keepResult">;
  readonly clock: Pick<Clock, "monotonic" | "wait">;
}

/**
 * Keeps commands to groups and scenes in the journal, so that each gets its one result even if the program ends
 * meanwhile.
 */
export class GroupKeeper {
  readonly #core: KeeperCore;
  /** Times of recent records by target; refusals share one entry. */
  readonly #kept = new Map<string, readonly number[]>();

  constructor(core: KeeperCore) {
    this.#core = core;
  }

  /**
   * Records a command. Has to be called before the members are asked, as the journal keeps the order and nothing of a
   * member may be on disk before it. Only `onDurable` waits for the disk. Null in a flood.
   */
  taken(
    running: Running,
    members: readonly GroupMemberTaken[],
    onDurable: () => void,
  ): Promise<boolean> | null {
    if (!this.#hasRoom(placeOfAll(running))) return null;
    const group = takenOf(running, members);
    return this.#core.journal.append({ type: "group_taken", group }, { durable: true }).then(
      () => {
        onDurable();
        return true;
      },
      () => this.#holds(group),
    );
  }

  /** A disk that did not answer in time may have the record all the same. */
  #holds({ kind, name, id }: GroupTaken): boolean {
    const { groups = [] } = this.#core.journal.history();
    return groups.some((one) => one.kind === kind && one.name === name && one.id === id);
  }

  /** Resolves when the result may be published; to null where that is left to the next start. */
  async ended(running: Running, result: GroupResult): Promise<(() => void) | null> {
    const { commands, clock, signal } = this.#core;
    if (running.isKept === null) return nothing;
    const record = { type: "group_ended", group: endedOf(running, result, true) } as const;
    // Without a record, the next start would end it once more, perhaps otherwise.
    const isHeld = await running.isKept;
    for (;;)
      try {
        return await commands.keepResult(record, true);
      } catch {
        if (!isHeld) return nothing;
        if (!(await waitAgain(clock, signal))) return null;
      }
  }

  /** Records a refusal, for which no member is asked; it is published whatever the journal says. */
  async refused(running: Running, result: GroupResult): Promise<() => void> {
    if (!this.#hasRoom("")) return nothing;
    const record = { type: "group_ended", group: endedOf(running, result, false) } as const;
    return this.#core.commands.keepResult(record, false).catch(() => nothing);
  }

  #hasRoom(of: string): boolean {
    const now = this.#core.clock.monotonic();
    const ofLate = (this.#kept.get(of) ?? []).filter((at) => now - at < minuteMs);
    const hasRoom = ofLate.length < mostPerMinute;
    this.#kept.set(of, hasRoom ? [...ofLate, now] : ofLate);
    return hasRoom;
  }
}

/** Waits; false where the bridge ends meanwhile. */
const waitAgain = (clock: Pick<Clock, "wait">, signal: AbortSignal): Promise<boolean> =>
  clock.wait(againMs, signal).then(
    () => true,
    () => false,
  );

/** A bound for all results together: some megabytes. */
const mostMembers = 1_000;

/** The newest results with their members. Older results are kept with their ids, without members. */
export class WholeResults {
  readonly #newest = new Map<string, GroupResult>();
  #members = 0;

  add(key: string, result: GroupResult): void {
    this.#drop(key);
    this.#newest.set(key, result);
    this.#members += result.members.length;
    for (const oldest of this.#newest.keys()) {
      if (this.#members <= mostMembers || this.#newest.size === 1) break;
      this.#drop(oldest);
    }
  }

  get(key: string): GroupResult | undefined {
    return this.#newest.get(key);
  }

  #drop(key: string): void {
    this.#members -= this.#newest.get(key)?.members.length ?? 0;
    this.#newest.delete(key);
  }
}
