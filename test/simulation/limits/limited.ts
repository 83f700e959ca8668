import type { Configuration } from "../../../src/config/schema.js";
import type { Ask, Boot, Post, Result } from "../../judge/history.js";
import type { World } from "../world.js";
import { GuardModel, type GuardSection } from "./guard-model.js";

type ActuatorSection = Configuration["controllers"][string]["actuators"][string];
type LimitsSection = NonNullable<ActuatorSection["limits"]>;

export const isStart = (word: string | null): boolean => word !== null && word !== "stop" && word !== "off";

/** What moved an actuator. */
export interface Move {
  readonly at: number;
  readonly boot: Boot;
  readonly word: string;
  /** Null where somebody else did. */
  readonly ask: Ask | null;
  readonly posts: Post[];
  /** The machine's clock minus the true time then: what is kept is kept in its time. */
  readonly clockOff: number;
  /** The disk may not know it. */
  isUncertain: boolean;
}

/** What a command keeps up for a time. */
export interface Kept {
  readonly ask: Ask;
  readonly until: number;
  readonly clockOff: number;
  /** Perhaps it is over, or was never kept. */
  isUncertain: boolean;
}

export interface Lease extends Kept {
  readonly word: string;
  readonly endsWith: string;
}

interface LockHeld {
  readonly from: number;
  readonly until: number;
  /** It is being set or lifted: nobody can tell yet. */
  isUncertain: boolean;
}

const degreeKinds = new Set(["skylight", "shade_curtain", "thermal_curtain", "side_vent", "positioner"]);

/** What is in force at one actuator by the contract, as far as anybody outside can know. Instants are the world's ms. */
export class Limited {
  readonly code: string;
  readonly controllerId: string;
  readonly id: string;
  readonly section: ActuatorSection;
  readonly limits: LimitsSection | null;
  /** Guards on something that is read, by name. */
  readonly models: ReadonlyMap<string, GuardModel>;
  /** Guards on actuators, by name. */
  readonly watching: ReadonlyMap<string, GuardSection>;
  moves: readonly Move[] = [];
  lease: Lease | null = null;
  hold: Kept | null = null;
  lock: LockHeld | null = null;
  lastLockedAt = -Infinity;
  lastHeldAt = -Infinity;
  readonly #world: World;

  constructor(world: World, place: Pick<Limited, "code" | "controllerId" | "id" | "section">) {
    this.#world = world;
    this.code = place.code;
    this.controllerId = place.controllerId;
    this.id = place.id;
    this.section = place.section;
    this.limits = place.section.limits ?? null;
    const guards = Object.entries(this.limits?.guards ?? {});
    const read = guards.filter(([, { actuator }]) => actuator === undefined);
    this.models = new Map(read.map(([name, guard]) => [name, new GuardModel(guard)]));
    this.watching = new Map(guards.filter(([, { actuator }]) => actuator !== undefined));
  }

  get travelMs(): number {
    return this.section.travel_time;
  }

  /** The word that ends a lease of it; null where none does. */
  get endsWith(): string | null {
    if (this.limits?.ends_with !== undefined) return this.limits.ends_with;
    const { kind } = this.section;
    if (kind === "motor" || kind === "custom") return null;
    return degreeKinds.has(kind) ? "close" : "off";
  }

  /** A POST of a command begins. */
  sends(ask: Ask, post: Post): void {
    if (ask.word === "stop" || ask.word === null) return;
    if (ask.posts[0] !== post) {
      this.moves.findLast((move) => move.ask === ask)?.posts.push(post);
      return;
    }
    this.#moved({ boot: ask.boot, word: ask.word, ask, posts: [post] });
    this.begins(ask);
  }

  /** It was moved elsewhere: that ends a lease, unless it is a command of ours that was carried out late, which has to end as it was to. */
  movedElsewhere(word: string, isOwn: boolean): void {
    this.#moved({ boot: this.#world.bridge?.boot ?? 0, word, ask: null, posts: [] });
    if (!isOwn || this.lease?.word !== word) this.lease = null;
  }

  #moved(about: Pick<Move, "boot" | "word" | "ask" | "posts">): void {
    const { clockOff, time } = this.#world;
    const recent = this.moves.filter(({ at }) => at > time.now - 2 * 3_600_000);
    this.moves = [...recent, { ...about, at: time.now, clockOff, isUncertain: false }];
  }

  /** It was sent, or an equal one whose read-backs it takes over: its lease and its hold are in force. */
  begins(ask: Ask): void {
    const lease = this.#leaseFor(ask);
    if (lease !== null && lease !== this.lease) {
      this.lease = lease;
      this.#world.journalist.saw("a lease begins");
    }
    this.#holds(ask, false);
  }

  #holds(ask: Ask, isUncertain: boolean): void {
    const { clockOff } = this.#world;
    if (ask.holdMs !== null) this.hold = { ask, until: ask.at + ask.holdMs, clockOff, isUncertain };
  }

  /** How long a command counts by the contract, ms; null where it has no end. */
  #termOf({ word, forMs }: Ask): number | null {
    if (word === null || word === "stop" || word === this.endsWith) return null;
    if (forMs !== null) return forMs;
    return word === "auto" ? null : (this.limits?.for ?? this.limits?.at_most ?? null);
  }

  /** The lease that a command begins or renews; the same one where it leaves it as it is. */
  #leaseFor(ask: Ask): Lease | null {
    const ms = this.#termOf(ask);
    const { endsWith, lease: running } = this;
    if (ms === null || endsWith === null || ask.word === null) return null;
    if (running !== null && running.word === ask.word && ask.forMs === null) return running;
    const { clockOff } = this.#world;
    // Perhaps an earlier one is in force again, whose deadline stays.
    const isUncertain = running?.isUncertain === true && ask.forMs === null;
    return { ask, word: ask.word, endsWith, until: ask.at + ms, clockOff, isUncertain };
  }

  /** A command has ended. */
  ended(ask: Ask, { outcome }: Result): void {
    const isOfNow = ask.boot === this.#world.bridge?.boot;
    if (!isOfNow && ask.posts.length === 0 && !ask.dryRun) this.#mayHaveBegun(ask);
    if (outcome === "confirmed" || outcome === "already") this.#shows(ask, outcome === "already" && isOfNow);
    // Perhaps the one before is in force again.
    else if ((outcome === "rejected" || outcome === "failed") && this.lease?.ask === ask)
      this.lease.isUncertain = true;
    if (ask.holdMs === null) return;
    // What a run was about to send when it was killed may have left, as far as the next one knows, and its hold is the newer one.
    if (outcome === "unknown" && !isOfNow && this.hold !== null) this.hold.isUncertain = true;
    const isGone = outcome === "rejected" || outcome === "failed" || outcome === "refused";
    if (isGone && this.hold?.ask === ask) this.hold.isUncertain = true;
    if (outcome === "already" && isOfNow) this.#holds(ask, true);
    if (this.hold?.ask === ask) this.lastHeldAt = Math.max(this.lastHeldAt, this.hold.until);
  }

  /** What a run was about to send when it ended may have left, as far as the next one knows: its lease is kept. */
  #mayHaveBegun(ask: Ask): void {
    const next = this.#leaseFor(ask);
    if (next === null || (this.lease !== null && this.lease.ask.at >= ask.at)) return;
    this.lease = next === this.lease ? next : { ...next, isUncertain: true };
  }

  /** What it wanted is so; with `isUnsent` without a POST of this run. */
  #shows(ask: Ask, isUnsent: boolean): void {
    const { lease } = this;
    if (lease !== null && lease.ask === ask) return;
    const next = this.#leaseFor(ask);
    if (next !== null) {
      // Nothing was sent: whether it is on disk, nobody outside can tell.
      if (isUnsent && next !== lease && !ask.dryRun) this.lease = { ...next, isUncertain: true };
      else if (next !== lease && lease !== null) lease.isUncertain = true;
      return;
    }
    if (ask.dryRun || lease === null || lease.word === ask.word) return;
    // One that was sent before the lease began and shows only now ends it all the same, or not; so does a stop.
    const isStop = ask.word === "stop" && ask.word !== lease.endsWith;
    // Where the one before may be in force again, its word may have been this one.
    if (!isStop && !lease.isUncertain && ask.at >= lease.ask.at) this.lease = null;
    else lease.isUncertain = true;
  }
}
