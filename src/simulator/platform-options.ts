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

const usual = {
  controllers: 20,
  mix: "all",
  seed: 1,
  speed: 1,
  profile: "default",
  language: "zh",
  faults: [],
  registerLagMs: 300,
  historyLimit: 1000,
  postLimit: 20_000,
} as const satisfies PlatformOptions;

export type PlatformSettings = ReturnType<typeof settingsOf>;

/** The options with what was left out filled in; `now` is the real instant of the start. */
export function settingsOf(options: PlatformOptions, now: number) {
  const settings: Omit<Required<PlatformOptions>, "dialect" | "auth"> = {
    ...usual,
    startAt: now,
    ...options,
  };
  const dialect: Dialect = { ...profiles[settings.profile], ...options.dialect };
  const auth: AuthRules = { ...plainAuth, ...options.auth };
  return { ...settings, dialect, auth };
}
