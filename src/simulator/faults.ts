import type { PlatformHost } from "../greenhouse/ports.js";
import { parseDuration } from "../runtime/duration.js";
import { type Random, seededRandom } from "../runtime/random.js";
import { type OperationName, operationNames } from "./operations.js";
import { isFields } from "./register-shapes.js";
import { mix } from "./weather.js";

/** Spoil the answer of any operation. */
export const answerFaults = [
  ...(["slow", "timeout", "reset", "truncated", "empty", "garbage"] as const),
  ...(["html", "http_status", "body_code", "throttle", "unauthorized", "redirect"] as const),
] as const;

/** Spoil what a POST does; the answer stays a success. */
export const effectFaults = ["ignore", "late", "twice", "revert", "offline_at_post"] as const;

/** Spoil what reading a register shows. */
export const readFaults = ["wrong_read_back", "stale_read_back", "no_value"] as const;

/** Spoil a read of registers as a whole: `get-value` refused by a busy device, a group from the platform's memory. */
const requestFaults = ["busy", "stale_group"] as const;

/** Spoil the lists of the account: a page instead of all of it, a flag that is older than the device's own status. */
const listFaults = ["paged", "listed_offline"] as const;

/** Happen by themselves at a time. */
const eventFaults = [
  ...(["offline", "freeze_sensors", "bad_sensor", "moved_by_hand", "somebody"] as const),
  ...(["storm", "rain", "showers", "gusts", "station_silent"] as const),
  ...(["host_down", "expire_tokens", "push"] as const),
] as const;

export const faultNames = [
  ...answerFaults,
  ...effectFaults,
  ...readFaults,
  ...requestFaults,
  ...listFaults,
  ...eventFaults,
] as const;

export type AnswerFault = (typeof answerFaults)[number];
export type EffectFault = (typeof effectFaults)[number];
export type EventFault = (typeof eventFaults)[number];
export type FaultName = (typeof faultNames)[number];

/** Whether a fault is one of these names. */
const isOneOf = <Name extends FaultName>(names: readonly Name[], fault: FaultName): fault is Name =>
  names.some((name) => name === fault);

const isEvent = (fault: FaultName): fault is EventFault => isOneOf(eventFaults, fault);

export const pushModes = ["normal", "silent", "garbled", "black_hole", "refuse", "drop"] as const;
export type PushMode = (typeof pushModes)[number];

export const outages = ["refuse", "hang"] as const;
export type Outage = (typeof outages)[number];

/**
 * One thing that goes wrong. Durations are real ms. Answer, effect and read faults wait for a request that fits and are
 * used up by `count` of them (default 1; endless with `chance` or `forMs`). Events happen at `atMs`, or `perHour` times
 * an hour.
 */
export interface FaultSpec {
  readonly fault: FaultName;
  /** Counted from the moment the fault is armed; 0 without it. */
  readonly atMs?: number;
  /** How long the fault stays armed or, for an event, how long its condition lasts. */
  readonly forMs?: number;
  readonly count?: number;
  /** 0 to 1: hits this share of the requests that fit. */
  readonly chance?: number;
  readonly perHour?: number;
  readonly host?: PlatformHost;
  readonly operation?: OperationName;
  readonly controller?: string;
  readonly address?: string;
  /** Whether the request was carried out before its answer was spoilt. */
  readonly when?: "before" | "after";
  /**
   * `slow`, `late`: how much later; `twice`: when again; `revert`: how much later; `stale_read_back`, `stale_group`: how old;
   * `somebody`: from one switch to the next.
   */
  readonly delayMs?: number;
  readonly status?: number;
  readonly code?: number;
  readonly message?: string;
  readonly retryAfterMs?: number;
  /** What is read back, shown by a sensor or set by hand; `paged`: how many a page has; `gusts`: m/s. */
  readonly value?: string | number | boolean | null;
  readonly sensor?: string;
  readonly how?: Outage | PushMode;
}

/** A fault that is one of some. */
export type FaultOf<Name extends FaultName> = FaultSpec & { readonly fault: Name };

/** What a request is about, as far as faults care. */
export interface FaultTarget {
  readonly host: PlatformHost;
  readonly operation: OperationName;
  readonly controller: string;
  readonly address: string;
}

interface Armed {
  readonly spec: FaultSpec;
  /** Each fault draws from its own sequence, so that arming another one changes nothing for it. */
  readonly random: Random;
  readonly from: number;
  readonly until: number;
  left: number;
  /** Of events. */
  nextAt: number;
}

export interface DueEvent {
  readonly at: number;
  readonly spec: FaultOf<EventFault>;
  readonly random: Random;
}

const hourMs = 3_600_000;

/** The faults that are armed; instants are real epoch ms. */
export class FaultPlan {
  readonly #seed: number;
  #armed: readonly Armed[] = [];
  #count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  arm(spec: FaultSpec, now: number): void {
    const random = seededRandom(mix(this.#seed, ++this.#count));
    const from = now + (spec.atMs ?? 0);
    const isAnEvent = isEvent(spec.fault);
    const isEndless =
      spec.perHour !== undefined || (!isAnEvent && (spec.chance !== undefined || spec.forMs !== undefined));
    const armed: Armed = {
      ...{ spec, random, from },
      until: from + (isAnEvent ? Infinity : (spec.forMs ?? Infinity)),
      left: spec.count ?? (isEndless ? Infinity : 1),
      nextAt: from + (spec.perHour === undefined ? 0 : gapMs(spec.perHour, random)),
    };
    this.#armed = [...this.#armed, armed];
  }

  clear(): void {
    this.#armed = [];
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
      this.#use(armed);
      return { ...armed.spec, fault };
    }
    return null;
  }

  /** The next event up to `now`, if any; call until null. */
  nextEvent(now: number): DueEvent | null {
    let next: Armed | null = null;
    for (const armed of this.#armed)
      if (isEvent(armed.spec.fault) && armed.nextAt <= now && armed.nextAt < (next?.nextAt ?? Infinity))
        next = armed;
    if (next === null || !isEvent(next.spec.fault)) return null;
    const { spec, random, nextAt: at } = next;
    if (spec.perHour !== undefined) next.nextAt += gapMs(spec.perHour, random);
    this.#use(next);
    return { at, spec: { ...spec, fault: next.spec.fault }, random };
  }

  #use(armed: Armed): void {
    armed.left -= 1;
    if (armed.left <= 0) this.#armed = this.#armed.filter((other) => other !== armed);
  }
}

/** Time to the next of events that come `perHour` times an hour without memory. */
function gapMs(perHour: number, random: Random): number {
  return perHour > 0 ? (-Math.log(1 - random()) * hourMs) / perHour : Infinity;
}

const traits = ["host", "operation", "controller", "address"] as const;

const fits = (spec: FaultSpec, target: FaultTarget): boolean =>
  traits.every((trait) => spec[trait] === undefined || spec[trait] === target[trait]);

export interface ParsedFaults {
  readonly faults: readonly FaultSpec[];
  /** One sentence for each thing that is wrong, with its place. */
  readonly errors: readonly string[];
}

/** Gives the value the program works with, or what was expected instead. */
export type Reader = (value: unknown) => { readonly value: unknown } | { readonly expected: string };

/** A value that is as it should be stays as it is. */
export const plainly =
  (expected: string, isFit: (value: unknown) => boolean): Reader =>
  (value) =>
    isFit(value) ? { value } : { expected };

export const number = (low: number, high: number): Reader =>
  plainly(
    `a number from ${low} to ${high}`,
    (value) => typeof value === "number" && value >= low && value <= high,
  );

export const word = (words: readonly unknown[]): Reader =>
  plainly(`one of ${words.join(", ")}`, (value) => words.includes(value));

export const text: Reader = (value) =>
  typeof value === "string" || typeof value === "number" ? { value: String(value) } : { expected: "a text" };

export const scalar = plainly(
  "a text, number, boolean or null",
  (value) => value === null || ["string", "number", "boolean"].includes(typeof value),
);

const duration: Reader = (given) => {
  const value = typeof given === "string" ? parseDuration(given) : given;
  return typeof value === "number" && value >= 0
    ? { value }
    : { expected: "a duration such as 30s, 5m or milliseconds as a number" };
};

/** What a file calls otherwise. */
const renamed: Readonly<Record<string, keyof FaultSpec>> = {
  ...{ at: "atMs", for: "forMs", per_hour: "perHour", delay: "delayMs", retry_after: "retryAfterMs" },
};

/** How each key of a file is read. */
const keys = new Map<string, Reader>(
  Object.entries({
    fault: word(faultNames),
    at: duration,
    for: duration,
    count: number(1, 1_000_000),
    chance: number(0, 1),
    per_hour: number(0, 3600),
    host: word(["business", "realtime"]),
    operation: word(operationNames),
    controller: text,
    address: text,
    when: word(["before", "after"]),
    delay: duration,
    retry_after: duration,
    status: number(100, 599),
    code: number(-1_000_000, 1_000_000),
    message: text,
    value: scalar,
    sensor: text,
    how: word([...outages, ...pushModes]),
  }),
);

/** Reads a parsed fault file: `{"faults": [...]}` or the bare array. Nothing of it counts unless all of it is right. */
export function parseFaults(json: unknown): ParsedFaults {
  const list = isFields(json) ? json.faults : json;
  if (!Array.isArray(list)) return { faults: [], errors: ['expected {"faults": [...]}'] };
  const parsed = list.map((item: unknown, index) => parseFault(item, `faults[${index}]`));
  const errors = parsed.flatMap((one) => one.errors);
  return { faults: errors.length > 0 ? [] : parsed.flatMap((one) => one.faults), errors };
}

/** Reads one fault; `place` begins every error. */
export function parseFault(json: unknown, place: string): ParsedFaults {
  if (!isFields(json)) return { faults: [], errors: [`${place}: expected an object`] };
  const spec: Partial<Record<keyof FaultSpec, unknown>> = {};
  const errors: string[] = [];
  for (const [key, value] of Object.entries({ fault: undefined, ...json })) {
    const result = keys.get(key)?.(value) ?? { expected: `one of the keys ${[...keys.keys()].join(", ")}` };
    if ("expected" in result) errors.push(`${place}.${key}: expected ${result.expected}`);
    else spec[renamed[key] ?? (key as keyof FaultSpec)] = result.value;
  }
  // Every key was read by its reader above, so this is the one place where a file becomes a typed fault.
  return { faults: errors.length > 0 ? [] : [spec as FaultSpec], errors };
}
