import type { PlatformHost } from "../greenhouse/ports.js";
import { parseDuration } from "../runtime/duration.js";
import type { Random } from "../runtime/clock.js";
import { type OperationName, operationNames } from "./operations.js";
import { isFields } from "./shapes.js";
import { mix } from "./weather.js";

/** mulberry32: small, fast and the same on every machine; not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** All faults, by what they affect. */
export const faults = {
  /** They spoil the answer of any operation. */
  answer: [
    ...(["slow", "timeout", "reset", "truncated", "empty", "garbage"] as const),
    ...(["html", "http_status", "body_code", "throttle", "unauthorized", "redirect"] as const),
  ],
  /** A controller is slow, or never answers while its connections stay open, until the fault is over. */
  controller: ["slow_controller", "silent_controller"],
  /** They change what a POST does; its answer stays a success. */
  effect: ["ignore", "late", "twice", "revert", "offline_at_post"],
  /** They change what a read of a register shows. */
  reading: ["wrong_read_back", "stale_read_back", "no_value"],
  /** They affect whole reads of registers: `get-value` refused by a busy device, a group from the platform's memory. */
  request: ["busy", "stale_group"],
  /** They affect the account's lists: a page instead of all, a flag older than the device's own status. */
  list: ["paged", "listed_offline"],
  /** They need no request and happen at a time. */
  event: [
    ...(["offline", "freeze_sensors", "bad_sensor", "moved_by_hand", "somebody"] as const),
    ...(["storm", "rain", "showers", "gusts", "station_silent"] as const),
    ...(["host_down", "expire_tokens", "push"] as const),
  ],
} as const;

export type FaultName<Sort extends keyof typeof faults = keyof typeof faults> = (typeof faults)[Sort][number];

export const faultNames: readonly FaultName[] = Object.values(faults).flat();

export const pushModes = ["normal", "silent", "garbled", "black_hole", "refuse", "drop"] as const;
export type PushMode = (typeof pushModes)[number];

export const outages = ["refuse", "hang"] as const;
export type Outage = (typeof outages)[number];

/** Returns the value for the program, or throws an error that says what was expected. */
export type Reader<Value> = (value: unknown) => Value;

export function fail(what: string): never {
  throw new Error(what);
}

export const number =
  (low: number, high: number): Reader<number> =>
  (value) =>
    typeof value === "number" && value >= low && value <= high
      ? value
      : fail(`a number from ${low} to ${high}`);

export const word =
  <Word>(words: readonly Word[]): Reader<Word> =>
  (value) =>
    words.find((one) => one === value) ?? fail(`one of ${words.join(", ")}`);

export const text: Reader<string> = (value) =>
  typeof value === "string" || typeof value === "number" ? String(value) : fail("a text");

export const scalar: Reader<string | number | boolean | null> = (value) =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : fail("a text, number, boolean or null");

/** Real ms. */
const duration: Reader<number> = (given) => {
  const value = typeof given === "string" ? parseDuration(given) : given;
  return typeof value === "number" && value >= 0
    ? value
    : fail("a duration such as 30s, 5m or milliseconds as a number");
};

/** The keys of a fault, with their readers, as in a fault file; docs/inside/simulator.md explains them. */
const keys = {
  fault: word(faultNames),
  /** Counted from the arming of the fault; default 0. */
  at: duration,
  /** How long the fault stays armed; for an event, how long its condition lasts. */
  for: duration,
  /** How many requests use the fault up; default 1, or endless with `chance` or `for`. */
  count: number(1, 1_000_000),
  /** The share of matching requests that is hit. */
  chance: number(0, 1),
  per_hour: number(0, 3600),
  host: word(["business", "realtime"]),
  operation: word(operationNames),
  controller: text,
  address: text,
  /** The requests that a slow or silent controller affects; default all. */
  requests: word(["reads", "posts"]),
  /** Whether the request is carried out before its answer is spoilt. */
  when: word(["before", "after"]),
  /**
   * `slow`, `slow_controller`, `late`, `revert`: how much later; `twice`: when again; `stale_read_back`, `stale_group`:
   * how old; `somebody`: from one switch to the next.
   */
  delay: duration,
  retry_after: duration,
  status: number(100, 599),
  code: number(-1_000_000, 1_000_000),
  message: text,
  /** The value that is read back, shown by a sensor, or set by hand; `paged`: items of a page; `gusts`: m/s. */
  value: scalar,
  sensor: text,
  how: word([...outages, ...pushModes]),
} as const;

type Keys = { readonly [Key in Exclude<keyof typeof keys, "fault">]?: ReturnType<(typeof keys)[Key]> };

/** One thing that goes wrong. Faults of requests wait for a matching request; events happen by themselves. */
export type FaultSpec<Name extends FaultName = FaultName> = Keys & { readonly fault: Name };

export interface ParsedFaults {
  readonly faults: readonly FaultSpec[];
  /** A sentence for each mistake, with its place. */
  readonly errors: readonly string[];
}

/** Reads a parsed fault file: `{"faults": [...]}` or the bare array. With any mistake, none of its faults count. */
export function parseFaults(json: unknown): ParsedFaults {
  const list = isFields(json) ? json.faults : json;
  if (!Array.isArray(list)) return { faults: [], errors: ['expected {"faults": [...]}'] };
  const parsed = list.map((item: unknown, index) => parseFault(item, `faults[${index}]`));
  const errors = parsed.flatMap((one) => one.errors);
  return { faults: errors.length > 0 ? [] : parsed.flatMap((one) => one.faults), errors };
}

/** Reads one fault; every error begins with `place`. */
export function parseFault(json: unknown, place: string): ParsedFaults {
  if (!isFields(json)) return { faults: [], errors: [`${place}: expected an object`] };
  const errors: string[] = [];
  const readers = new Map<string, Reader<unknown>>(Object.entries(keys));
  const read = Object.entries({ fault: undefined, ...json }).map(([key, given]) => {
    try {
      const reader = readers.get(key) ?? fail(`one of the keys ${[...readers.keys()].join(", ")}`);
      return [key, reader(given)];
    } catch (error) {
      errors.push(`${place}.${key}: expected ${error instanceof Error ? error.message : String(error)}`);
      return [];
    }
  });
  // Each key was read by its reader, so here alone a file becomes a typed fault.
  return { faults: errors.length > 0 ? [] : [Object.fromEntries(read) as FaultSpec], errors };
}

/** The facts about a request that faults look at; controller and address are empty if it names none. */
export interface FaultTarget {
  readonly host: PlatformHost;
  readonly operation: OperationName;
  readonly controller: string;
  readonly address: string;
}

const isOneOf = <Name extends FaultName>(names: readonly Name[], spec: FaultSpec): spec is FaultSpec<Name> =>
  names.some((name) => name === spec.fault);

interface Armed {
  readonly spec: FaultSpec;
  /** Each fault has its own random sequence, so that arming another one does not change it. */
  readonly random: Random;
  readonly from: number;
  readonly until: number;
  left: number;
  /** For events: when the next one happens. */
  nextAt: number;
}

export interface DueEvent {
  readonly at: number;
  readonly spec: FaultSpec<FaultName<"event">>;
  readonly random: Random;
}

const hourMs = 3_600_000;

/** The armed faults. Times are real epoch ms. */
export class FaultPlan {
  readonly #seed: number;
  #armed: readonly Armed[] = [];
  #count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  arm(spec: FaultSpec, now: number): void {
    const { at = 0, chance, count, for: forMs, per_hour: perHour } = spec;
    const random = seededRandom(mix(this.#seed, ++this.#count));
    const from = now + at;
    const isEvent = isOneOf(faults.event, spec);
    const isTrait = isOneOf(faults.controller, spec);
    const isLasting = isTrait || chance !== undefined || forMs !== undefined;
    const isEndless = perHour !== undefined || (!isEvent && isLasting);
    const armed: Armed = {
      spec,
      random,
      from,
      until: from + (isEvent ? Infinity : (forMs ?? Infinity)),
      left: count ?? (isEndless ? Infinity : 1),
      nextAt: from + (perHour === undefined ? 0 : gapMs(perHour, random)),
    };
    this.#armed = [...this.#armed, armed];
  }

  clear(): void {
    this.#armed = [];
  }

  /** The first armed fault with one of these names that hits this request; counts as a use. */
  take<Name extends FaultName>(
    names: readonly Name[],
    target: FaultTarget,
    now: number,
  ): FaultSpec<Name> | null {
    for (const armed of this.#armed) {
      const { spec, from, until } = armed;
      if (!isOneOf(names, spec) || now < from || now >= until || !fits(spec, target)) continue;
      if (spec.chance !== undefined && armed.random() >= spec.chance) continue;
      this.#use(armed);
      return spec;
    }
    return null;
  }

  /** The next event up to `now`; call until null. */
  nextEvent(now: number): DueEvent | null {
    let due: (DueEvent & { readonly armed: Armed }) | null = null;
    for (const armed of this.#armed) {
      const { spec, random, nextAt: at } = armed;
      if (isOneOf(faults.event, spec) && at <= now && at < (due?.at ?? Infinity))
        due = { at, spec, random, armed };
    }
    if (due === null) return null;
    const { armed, spec, random } = due;
    if (spec.per_hour !== undefined) armed.nextAt += gapMs(spec.per_hour, random);
    this.#use(armed);
    return due;
  }

  #use(armed: Armed): void {
    armed.left -= 1;
    if (armed.left <= 0) this.#armed = this.#armed.filter((other) => other !== armed);
  }
}

/** Random time to the next event, with `perHour` of them an hour on average (a Poisson process). */
const gapMs = (perHour: number, random: Random): number =>
  perHour > 0 ? (-Math.log(1 - random()) * hourMs) / perHour : Infinity;

const traits = ["host", "operation", "controller", "address"] as const;

function fits(spec: FaultSpec, target: FaultTarget): boolean {
  const requests = target.operation === "set-value" ? "posts" : "reads";
  if (spec.requests !== undefined && spec.requests !== requests) return false;
  if (isOneOf(faults.controller, spec) && target.controller === "") return false;
  return traits.every((trait) => spec[trait] === undefined || spec[trait] === target[trait]);
}
