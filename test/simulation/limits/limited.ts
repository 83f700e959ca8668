import type { Configuration } from "../../../src/config/schema.js";
import type { Ask, Boot, Post, Result } from "../../judge/history.js";
import type { World } from "../world.js";
import { GuardModel, type GuardSection } from "./guard-model.js";

type ActuatorSection = Configuration["controllers"][string]["actuators"][string];
type LimitsSection = NonNullable<ActuatorSection["limits"]>;

export const isStart = (word: string | null): boolean => word !== null && word !== "stop" && word !== "off";

/** A movement of an actuator, and its cause. */
export interface Move {
  readonly at: number;
  readonly boot: Boot;
  readonly word: string;
  /** Null if somebody else moved it. */
  readonly ask: Ask | null;
  readonly posts: Post[];
  /** The machine's clock minus the true time then, as records are dated by that clock. */
  readonly clockOff: number;
  /** Whether the disk may lack it. */
  isUncertain: boolean;
}

/** A lease or hold of a command. */
export interface Kept {
  readonly ask: Ask;
  readonly until: number;
  readonly clockOff: number;
  /** Whether it may be over, or may never have been saved. */
  isUncertain: boolean;
}

export interface Lease extends Kept {
  readonly word: string;
  readonly endsWith: string;
}

interface LockHeld {
  readonly from: number;
  readonly until: number;
  /** Whether it is being set or removed, so that it is unknown. */
  isUncertain: boolean;
}

const degreeKinds = new Set(["skylight", "shade_curtain", "thermal_curtain", "side_vent", "positioner"]);

/**
 * What is in force at one actuator by the contract, as far as an outside observer can know. Instants are the world's
 * ms.
 */
export class Limited {
  readonly code: string;
  readonly controllerId: string;
  readonly id: string;
  readonly section: ActuatorSection;
  readonly limits: LimitsSection | null;
  /** Guards on read values, by name. */
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

  /** The word that ends its lease; null for none. */
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

  /** It was moved from elsewhere, which ends a lease. A command of ours that took effect late still ends as planned. */
  movedElsewhere(word: string, isOwn: boolean): void {
    this.#moved({ boot: this.#world.bridge?.boot ?? 0, word, ask: null, posts: [] });
    if (!isOwn || this.lease?.word !== word) this.lease = null;
  }

  #moved(about: Pick<Move, "boot" | "word" | "ask" | "posts">): void {
    const { clockOff, time } = this.#world;
    const recent = this.moves.filter(({ at }) => at > time.now - 2 * 3_600_000);
    this.moves = [...recent, { ...about, at: time.now, clockOff, isUncertain: false }];
  }

  /** It was sent, or shares an equal command's read-backs: its lease and hold are in force. */
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

  /** How long a command counts by the contract, in ms; null for no end. */
  #termOf({ word, forMs }: Ask): number | null {
    if (word === null || word === "stop" || word === this.endsWith) return null;
    if (forMs !== null) return forMs;
    return word === "auto" ? null : (this.limits?.for ?? this.limits?.at_most ?? null);
  }

  /** The lease that a command begins or renews; the same one if it stays unchanged. */
  #leaseFor(ask: Ask): Lease | null {
    const ms = this.#termOf(ask);
    const { endsWith, lease: running } = this;
    if (ms === null || endsWith === null || ask.word === null) return null;
    if (running !== null && running.word === ask.word && ask.forMs === null) return running;
    const { clockOff } = this.#world;
    // An earlier lease may be in force again, with its own end.
    const isUncertain = running?.isUncertain === true && ask.forMs === null;
    return { ask, word: ask.word, endsWith, until: ask.at + ms, clockOff, isUncertain };
  }

  /** A command has ended. */
  ended(ask: Ask, { outcome }: Result): void {
    const isOfNow = ask.boot === this.#world.bridge?.boot;
    if (!isOfNow && ask.posts.length === 0 && !ask.dryRun) this.#mayHaveBegun(ask);
    if (outcome === "confirmed" || outcome === "already") this.#shows(ask, outcome === "already" && isOfNow);
    // The earlier lease may be in force again.
    else if ((outcome === "rejected" || outcome === "failed") && this.lease?.ask === ask)
      this.lease.isUncertain = true;
    if (ask.holdMs === null) return;
    // The next run does not know whether a command left that the killed run was about to send. Its hold would be the
    // newer one.
    if (outcome === "unknown" && !isOfNow && this.hold !== null) this.hold.isUncertain = true;
    const isGone = outcome === "rejected" || outcome === "failed" || outcome === "refused";
    if (isGone && this.hold?.ask === ask) this.hold.isUncertain = true;
    if (outcome === "already" && isOfNow) this.#holds(ask, true);
    if (this.hold?.ask === ask) this.lastHeldAt = Math.max(this.lastHeldAt, this.hold.until);
  }

  /** A command that a run was about to send when it ended may have left, so its lease is kept. */
  #mayHaveBegun(ask: Ask): void {
    const next = this.#leaseFor(ask);
    if (next === null || (this.lease !== null && this.lease.ask.at >= ask.at)) return;
    this.lease = next === this.lease ? next : { ...next, isUncertain: true };
  }

  /** The platform shows what it wanted; with `isUnsent` without a POST of this run. */
  #shows(ask: Ask, isUnsent: boolean): void {
    const { lease } = this;
    if (lease !== null && lease.ask === ask) return;
    const next = this.#leaseFor(ask);
    if (next !== null) {
      // Nothing was sent, so nobody outside knows whether it is on disk.
      if (isUnsent && next !== lease && !ask.dryRun) this.lease = { ...next, isUncertain: true };
      else if (next !== lease && lease !== null) lease.isUncertain = true;
      return;
    }
    if (ask.dryRun || lease === null || lease.word === ask.word) return;
    // A command sent before the lease began that shows only now may end it or not; so may a stop.
    const isStop = ask.word === "stop" && ask.word !== lease.endsWith;
    // If the earlier lease may be in force again, its word may have been this one.
    if (!isStop && !lease.isUncertain && ask.at >= lease.ask.at) this.lease = null;
    else lease.isUncertain = true;
  }
}
