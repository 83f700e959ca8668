import type { PlatformHost } from "../greenhouse/platform-error.js";
import { seededRandom, type Random } from "../runtime/random.js";
import { isEvent, isOneOf, type EventFault, type FaultName, type FaultOf, type FaultSpec } from "./faults.js";
import { mix } from "./noise.js";
import type { OperationName } from "./operations.js";

/** What a request is about, as far as faults care. */
export interface FaultTarget {
  readonly host: PlatformHost;
  readonly operation: OperationName;
  readonly controller: string | null;
  readonly address: string | null;
}

interface Armed {
  readonly spec: FaultSpec;
  /** Each fault draws from its own sequence, so that arming another one changes nothing for it. */
  readonly random: Random;
  readonly from: number;
  readonly until: number;
  left: number;
  nextAt: number;
}

export interface DueEvent {
  readonly at: number;
  readonly spec: FaultOf<EventFault>;
  readonly random: Random;
}

const hourMs = 3_600_000;

/** The faults that are armed; instants are real epoch ms. */
export class FaultBook {
  readonly #seed: number;
  #armed: readonly Armed[] = [];
  #count = 0;
  #nextEventAt = Infinity;

  constructor(seed: number) {
    this.#seed = seed;
  }

  arm(spec: FaultSpec, now: number): void {
    const random = seededRandom(mix(this.#seed, ++this.#count));
    const from = now + (spec.atMs ?? 0);
    const isEndless = spec.chance !== undefined || spec.perHour !== undefined || spec.forMs !== undefined;
    const armed: Armed = {
      spec,
      random,
      from,
      until: from + (isEvent(spec.fault) ? Infinity : (spec.forMs ?? Infinity)),
      left: spec.count ?? (isEvent(spec.fault) ? firings(spec) : isEndless ? Infinity : 1),
      nextAt: from,
    };
    if (spec.perHour !== undefined) armed.nextAt = from + gapMs(spec.perHour, random);
    this.#armed = [...this.#armed, armed];
    this.#scheduleEvents();
  }

  clear(): void {
    this.#armed = [];
    this.#nextEventAt = Infinity;
  }

  /** The first armed fault of these names that hits this request; using it counts. */
  take<Name extends FaultName>(
    names: readonly Name[],
    target: FaultTarget,
    now: number,
  ): FaultOf<Name> | null {
    for (const armed of this.#armed) {
      const { fault } = armed.spec;
      if (!isOneOf(names, fault) || now < armed.from || now >= armed.until) continue;
      if (!fits(armed.spec, target)) continue;
      if (armed.spec.chance !== undefined && armed.random() >= armed.spec.chance) continue;
      armed.left -= 1;
      if (armed.left <= 0) this.#armed = this.#armed.filter((other) => other !== armed);
      return { ...armed.spec, fault };
    }
    return null;
  }

  /** The next event up to `now`, if any; call until null. */
  nextEvent(now: number): DueEvent | null {
    if (now < this.#nextEventAt) return null;
    const due = this.#armed.find((armed) => isEvent(armed.spec.fault) && armed.nextAt === this.#nextEventAt);
    if (!due || !isEvent(due.spec.fault)) return null;
    const event = { at: due.nextAt, spec: { ...due.spec, fault: due.spec.fault }, random: due.random };
    due.left -= 1;
    due.nextAt =
      due.spec.perHour === undefined ? due.nextAt : due.nextAt + gapMs(due.spec.perHour, due.random);
    if (due.left <= 0) this.#armed = this.#armed.filter((other) => other !== due);
    this.#scheduleEvents();
    return event;
  }

  #scheduleEvents(): void {
    const events = this.#armed.filter((armed) => isEvent(armed.spec.fault));
    this.#nextEventAt = Math.min(Infinity, ...events.map((armed) => armed.nextAt));
  }
}

const firings = (spec: FaultSpec): number => (spec.perHour === undefined ? 1 : Infinity);

/** Time to the next of events that come `perHour` times an hour without memory. */
function gapMs(perHour: number, random: Random): number {
  return perHour > 0 ? (-Math.log(1 - random()) * hourMs) / perHour : Infinity;
}

function fits(spec: FaultSpec, target: FaultTarget): boolean {
  return (
    (spec.host === undefined || spec.host === target.host) &&
    (spec.operation === undefined || spec.operation === target.operation) &&
    (spec.controller === undefined || spec.controller === target.controller) &&
    (spec.address === undefined || spec.address === target.address)
  );
}
