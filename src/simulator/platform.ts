import type { PlatformHost } from "../greenhouse/ports.js";
import { type Account, type AccountMix, accountOf, type Device, type NameLanguage } from "./account.js";
import { addressTables, type AddressTable, type Ignored } from "./addresses.js";
import { type HeldValue, SimulatedController } from "./device.js";
import { type Dialect, type ProfileName, profiles } from "./dialects.js";
import {
  type FaultName,
  FaultPlan,
  type FaultSpec,
  type FaultTarget,
  type Outage,
  type PushMode,
} from "./faults.js";
import type { OperationName } from "./operations.js";
import { type Behaviours, behavioursOf, dialectOf, type ReadingName, type Readings } from "./readings.js";
import { type AuthRules, plainAuth, TokenStore } from "./tokens.js";
import { mix, Sky, uuidAt } from "./weather.js";

export interface PlatformOptions {
  /** How many controllers the list of all controllers shows, 1 to 10,000. Default 20. */
  readonly controllers?: number;
  /** Which types of devices there are; default `all` types of the interface. */
  readonly mix?: AccountMix;
  /** Everything random repeats with the same seed. Default 1. */
  readonly seed?: number;
  /** How much faster than real time the greenhouses run. Default 1. */
  readonly speed?: number;
  /** Simulated time of the start, epoch ms; default the real time. */
  readonly startAt?: number;
  readonly profile?: ProfileName;
  /** The language for names of stations, devices and printed actuators; default `zh`, as on the platform. */
  readonly language?: NameLanguage;
  /** Single traits that differ from the profile's. */
  readonly dialect?: Partial<Dialect>;
  /** Other readings of the interface's words; default none. */
  readonly readings?: readonly ReadingName[];
  readonly faults?: readonly FaultSpec[];
  readonly auth?: Partial<AuthRules>;
  /** Time from an accepted POST until the register shows the value, simulated ms. Default 300. */
  readonly registerLagMs?: number;
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
} as const satisfies PlatformOptions;

/** The options with defaults for missing or undefined ones; `now`: the real time of the start. */
function settingsOf(options: PlatformOptions, now: number) {
  const settings: Omit<Required<PlatformOptions>, "dialect" | "auth" | "readings"> = {
    ...usual,
    startAt: now,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  };
  const auth: AuthRules = { ...plainAuth, ...options.auth };
  const readings: Readings = new Set(options.readings);
  const dialect: Dialect = { ...profiles[settings.profile], ...options.dialect, ...dialectOf(readings) };
  return { ...settings, dialect, auth, readings };
}

/** From the time `real` on, simulated time starts at `simulated` and runs `speed` times as fast. */
interface Stretch {
  readonly real: number;
  readonly simulated: number;
  readonly speed: number;
}

/**
 * Maps real time (of requests, time stamps and faults) to simulated time (of the greenhouses), both epoch ms. Simulated
 * time runs `speed` times as fast, which can change, and can be skipped ahead.
 */
class Timeline {
  #newest: Stretch;
  /** Newest first. */
  #stretches: readonly Stretch[] = [];

  constructor(speed: number, real: number, simulated: number) {
    this.#newest = this.#begin({ real, simulated, speed });
  }

  get speed(): number {
    return this.#newest.speed;
  }

  simulatedAt(real: number): number {
    return this.#newest.simulated + (real - this.#newest.real) * this.speed;
  }

  /** The real time of a simulated time that is not in the future; for a skipped time, that of the skip. */
  realAt(simulated: number): number {
    let skippedAt = Infinity;
    for (const stretch of this.#stretches) {
      const real = stretch.real + (simulated - stretch.simulated) / stretch.speed;
      if (simulated >= stretch.simulated) return Math.min(real, skippedAt);
      skippedAt = stretch.real;
    }
    return skippedAt;
  }

  /** Lets `ms` of simulated time pass at once. */
  skip(real: number, ms: number): void {
    this.#begin({ real, simulated: this.simulatedAt(real) + ms, speed: this.speed });
  }

  /** From `real` on, simulated time runs `speed` times as fast. */
  setSpeed(real: number, speed: number): void {
    this.#begin({ real, simulated: this.simulatedAt(real), speed });
  }

  #begin(stretch: Stretch): Stretch {
    this.#newest = stretch;
    this.#stretches = [stretch, ...this.#stretches.slice(0, 31)];
    return stretch;
  }
}

/**
 * What the device did with a POST. `waiting`: the value has not arrived yet; `taken`: the register holds it;
 * `ignored_by_fault` and the other `ignored_…`: it never will; `offline`: the device was not there; `not_processed`:
 * the platform did not accept the request.
 */
type PostEffect = "waiting" | "taken" | "ignored_by_fault" | "offline" | "not_processed" | Ignored;

/** One `POST /api/set-value` as it reached the platform; `at`: real epoch ms. */
export interface PostRecord {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly requestId: string;
  /** The platform carried it out or passed it on, whatever its answer. */
  accepted: boolean;
  effect: PostEffect;
}

export interface RegisterChange {
  readonly device: Device;
  readonly address: string;
  readonly held: HeldValue;
}

const mostChanges = 1_000;
const mostPosts = 20_000;

/** The whole simulated platform: account, devices, faults, tokens and records. `now`: real epoch ms. */
export class Platform {
  readonly settings: ReturnType<typeof settingsOf>;
  readonly account: Account;
  readonly devices: Map<string, Device>;
  readonly timeline: Timeline;
  readonly sky: Sky;
  readonly faults: FaultPlan;
  readonly tokens: TokenStore;
  /** The memory of other readings. */
  readonly behaviours: Behaviours;
  /** The newest POSTs. */
  readonly posts: PostRecord[] = [];
  /** How often each operation was called. */
  readonly requests = new Map<OperationName | "unknown", number>();
  readonly outages = new Map<PlatformHost, { readonly until: number; readonly how: Outage }>();
  readonly startedAt: number;
  /** Until when each sensor of the weather station is silent, real ms. */
  readonly silent = new Map<string, number>();
  /** What the lists of the account show. */
  listing: "full" | "empty" | "null" = "full";
  now: number;
  readonly #addresses: (type: string) => AddressTable;
  #push: { readonly mode: PushMode; readonly until: number } = { mode: "normal", until: Infinity };
  #controllers = new Map<string, SimulatedController>();
  #protections: readonly { readonly at: number; readonly kind: "storm" | "rain" }[] = [];
  #changes: RegisterChange[] = [];
  #requestIds = 0;

  constructor(options: PlatformOptions, now: number) {
    const settings = settingsOf(options, now);
    this.settings = settings;
    this.account = accountOf(settings.controllers, settings.mix, settings.language);
    this.devices = new Map(this.account.devices);
    this.timeline = new Timeline(settings.speed, now, settings.startAt);
    this.sky = new Sky(settings.seed);
    this.faults = new FaultPlan(mix(settings.seed, 500));
    this.tokens = new TokenStore(settings.auth, settings.seed);
    this.behaviours = behavioursOf(settings.readings);
    this.#addresses = addressTables({ inType: settings.dialect.inType, readings: settings.readings });
    this.startedAt = now;
    this.now = now;
    for (const fault of settings.faults) this.faults.arm(fault, now);
  }

  get dialect(): Dialect {
    return this.settings.dialect;
  }

  /** The words of the interface that it reads in another way. */
  get readings(): Readings {
    return this.settings.readings;
  }

  get simulatedNow(): number {
    return this.timeline.simulatedAt(this.now);
  }

  /** How a host is down at this time; null if it is up. */
  outageOf(host: PlatformHost, now = this.now): Outage | null {
    const outage = this.outages.get(host);
    return outage !== undefined && now < outage.until ? outage.how : null;
  }

  /** The present mode of the push channels. */
  get pushMode(): PushMode {
    return this.now < this.#push.until ? this.#push.mode : "normal";
  }

  /** Sets the mode; changes while channels were not normal are lost to them for good. */
  setPush(mode: PushMode, until: number): void {
    this.settle();
    if (this.pushMode !== "normal") this.takeChanges();
    this.#push = { mode, until };
  }

  /** A device with its greenhouse, advanced to now; null for an unknown code. */
  controller(code: string): SimulatedController | null {
    const device = this.devices.get(code);
    if (!device) return null;
    const controller = this.#controllers.get(code) ?? this.#create(device);
    controller.advance(this.simulatedNow);
    return controller;
  }

  /**
   * Whether a device is connected. Makes no greenhouse for a device that was never looked at, as it never went offline.
   */
  isOnline(code: string): boolean {
    return !this.#controllers.has(code) || this.controller(code)?.isOnline() !== false;
  }

  /** Devices that were looked at or moved. */
  touchedControllers(): readonly SimulatedController[] {
    return [...this.#controllers.values()];
  }

  /** Applies every value that has arrived at its device. */
  settle(): void {
    for (const controller of this.#controllers.values())
      if (controller.hasDue(this.simulatedNow)) controller.advance(this.simulatedNow);
  }

  removeDevice(code: string): void {
    this.devices.delete(code);
    this.#controllers.delete(code);
  }

  /** Lets the local controllers close their roofs against bad weather; without a code, those of the whole account. */
  protect(kind: "storm" | "rain", code?: string): void {
    const protection = { at: this.simulatedNow, kind };
    const only = code === undefined ? null : this.controller(code);
    if (only) closeRoof(only, protection);
    if (code !== undefined) return;
    this.#protections = [...this.#protections.slice(-255), protection];
    for (const controller of this.#controllers.values()) closeRoof(controller, protection);
  }

  /** The first armed fault with one of these names that hits this request now; counts as a use. */
  fault<Name extends FaultName>(names: readonly Name[], target: FaultTarget): FaultSpec<Name> | null {
    return this.faults.take(names, target, this.now);
  }

  notePost(record: PostRecord): PostRecord {
    if (this.posts.push(record) > mostPosts) this.posts.shift();
    return record;
  }

  nextRequestId(): string {
    return uuidAt(mix(this.settings.seed, 600), ++this.#requestIds);
  }

  /** Register changes since the last call, for the push channels. */
  takeChanges(): readonly RegisterChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  #create(device: Device): SimulatedController {
    const { seed, startAt, dialect } = this.settings;
    const controller = new SimulatedController(device, {
      seed,
      startAt,
      sky: this.sky,
      manners: dialect,
      addresses: this.#addresses,
      readings: this.readings,
      onChange: (changed, address, held) => {
        if (this.#changes.push({ device: changed, address, held }) > mostChanges) this.#changes.shift();
      },
    });
    for (const protection of this.#protections) closeRoof(controller, protection);
    this.#controllers.set(device.code, controller);
    return controller;
  }
}

const closedIn = { storm: ["101", "103", "104"], rain: ["101", "103"] } as const;

/** Windows in automatic close by their own rule, so their register keeps saying "automatic". */
function closeRoof(
  controller: SimulatedController,
  { at, kind }: { at: number; kind: keyof typeof closedIn },
) {
  controller.advance(at);
  for (const address of closedIn[kind]) {
    const value = controller.register(address);
    if (value !== null && value !== "11000" && value !== "10001") controller.put(address, "10001", kind);
  }
}
