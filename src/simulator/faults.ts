import type { PlatformHost } from "../greenhouse/platform-error.js";
import type { OperationName } from "./operations.js";

/** Spoil the answer of any operation. */
export const answerFaults = [
  "slow",
  "timeout",
  "reset",
  "truncated",
  "empty",
  "garbage",
  "html",
  "http_status",
  "body_code",
  "throttle",
  "unauthorized",
  "redirect",
] as const;

/** Spoil what a POST does; the answer stays a success. */
export const effectFaults = ["ignore", "late", "twice", "revert", "offline_at_post"] as const;

/** Spoil what reading a register shows. */
export const readFaults = ["wrong_read_back", "stale_read_back", "no_value"] as const;

/** Spoil a read of registers as a whole: `get-value` refused by a busy device, a group from the platform's memory. */
export const requestFaults = ["busy", "stale_group"] as const;

/** Spoil the lists of the account: a page instead of all of it, a flag that is older than the device's own status. */
export const listFaults = ["paged", "listed_offline"] as const;

/** Happen by themselves at a time. */
export const eventFaults = [
  "offline",
  "freeze_sensors",
  "bad_sensor",
  "moved_by_hand",
  "storm",
  "rain",
  "host_down",
  "expire_tokens",
  "push",
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
export type ReadFault = (typeof readFaults)[number];
export type RequestFault = (typeof requestFaults)[number];
export type EventFault = (typeof eventFaults)[number];
export type FaultName = (typeof faultNames)[number];

/** Whether a fault is one of these names. */
export const isOneOf = <Name extends FaultName>(names: readonly Name[], fault: FaultName): fault is Name =>
  names.some((name) => name === fault);

export const isEvent = (fault: FaultName): fault is EventFault => isOneOf(eventFaults, fault);

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
  /** `slow`, `late`: how much later; `twice`: when again; `revert`: how much later; `stale_read_back`, `stale_group`: how old. */
  readonly delayMs?: number;
  readonly status?: number;
  readonly code?: number;
  readonly message?: string;
  readonly retryAfterMs?: number;
  /** What is read back, shown by a sensor or set by hand; `paged`: how many a page has. */
  readonly value?: string | number | boolean | null;
  readonly sensor?: string;
  readonly how?: Outage | PushMode;
}

/** A fault that is one of some. */
export type FaultOf<Name extends FaultName> = FaultSpec & { readonly fault: Name };
