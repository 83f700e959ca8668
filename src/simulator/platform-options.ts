import type { AccountMix, NameLanguage } from "./account.js";
import { type Dialect, type ProfileName, profiles } from "./dialects.js";
import type { FaultSpec } from "./faults.js";
import { type AuthRules, plainAuth } from "./token-book.js";

export interface PlatformOptions {
  /** Controllers the list of all controllers shows, 1 to 10,000. Default 20. */
  readonly controllers?: number;
  /** Which devices there are; default `all` types of the interface. */
  readonly mix?: AccountMix;
  /** Everything that chance decides repeats with the same seed. Default 1. */
  readonly seed?: number;
  /** How much faster than real time the greenhouses live. Default 1. */
  readonly speed?: number;
  /** Simulated instant of the start, epoch ms; default the real one. */
  readonly startAt?: number;
  readonly profile?: ProfileName;
  /** Of the names of stations, devices and printed actuators; default `zh`, as the platform is. */
  readonly language?: NameLanguage;
  /** Single traits that differ from the profile's. */
  readonly dialect?: Partial<Dialect>;
  readonly faults?: readonly FaultSpec[];
  readonly auth?: Partial<AuthRules>;
  /** From an accepted POST until the register shows the value, simulated ms. Default 300. */
  readonly registerLagMs?: number;
  /** Values remembered for each register, and POSTs remembered in all. */
  readonly historyLimit?: number;
  readonly postLimit?: number;
}

export type PlatformSettings = Required<Omit<PlatformOptions, "dialect" | "auth">> & {
  readonly dialect: Dialect;
  readonly auth: AuthRules;
};

/** The options with what was left out filled in; `now` is the real instant of the start. */
export function settingsOf(options: PlatformOptions, now: number): PlatformSettings {
  const profile = options.profile ?? "default";
  return {
    controllers: options.controllers ?? 20,
    mix: options.mix ?? "all",
    seed: options.seed ?? 1,
    speed: options.speed ?? 1,
    startAt: options.startAt ?? now,
    profile,
    language: options.language ?? "zh",
    dialect: { ...profiles[profile], ...options.dialect },
    faults: options.faults ?? [],
    auth: { ...plainAuth, ...options.auth },
    registerLagMs: options.registerLagMs ?? 300,
    historyLimit: options.historyLimit ?? 1000,
    postLimit: options.postLimit ?? 20_000,
  };
}
