import { kindRows } from "../greenhouse/actuator-kinds.js";
import type { PlatformHost } from "../greenhouse/ports.js";
import type { Random } from "../runtime/random.js";
import { type Account, accountOf, type Device } from "./account.js";
import type { AddressRow } from "./address-table.js";
import type { PostRecord } from "./call.js";
import { type HeldValue, SimulatedController } from "./device.js";
import {
  type DueEvent,
  type EventFault,
  FaultBook,
  type FaultName,
  type FaultOf,
  type FaultSpec,
  type FaultTarget,
  type Outage,
  outages,
  type PushMode,
  pushModes,
} from "./faults.js";
import type { OperationName } from "./operations.js";
import type { PlatformSettings } from "./platform-options.js";
import { TokenBook } from "./token-book.js";
import { mix, Sky, uuidAt } from "./weather.js";

const minuteMs = 60_000;

type Happening = (state: PlatformState, spec: FaultSpec, random: Random) => void;

/** In `silent`: all that the station measures. */
export const wholeStation = "";

const usualGustMs = 16;
const switchGapMs = 30_000;
const mostSwitches = 1_000;

/** How long a condition lasts when the fault does not say. */
const lastingMs = {
  offline: 10 * minuteMs,
  freeze_sensors: 30 * minuteMs,
  bad_sensor: 10 * minuteMs,
  storm: 20 * minuteMs,
  rain: 20 * minuteMs,
  showers: 20 * minuteMs,
  gusts: 2 * minuteMs,
  station_silent: 2 * minuteMs,
  somebody: 3 * minuteMs,
  host_down: minuteMs,
  push: minuteMs,
} as const;

/** Weather that the local controllers do not close for. */
const roughWeather =
  (kind: "showers" | "gusts"): Happening =>
  (state, spec) => {
    const from = state.simulatedNow;
    const windMs = kind === "gusts" ? Number(spec.value ?? usualGustMs) : 0;
    state.sky.force(kind, from, endOf(state, spec, lastingMs[kind]), windMs);
  };

const badWeather =
  (kind: "storm" | "rain"): Happening =>
  (state, spec) => {
    const from = state.simulatedNow;
    const forMs = (spec.forMs ?? lastingMs[kind]) * state.timeline.speed;
    if (spec.controller === undefined) state.sky.force(kind, from, from + forMs);
    state.protect(kind, spec.controller ?? null);
  };

const happenings: Record<EventFault, Happening> = {
  offline: (state, spec, random) =>
    picked(state, spec, random)?.disconnect(endOf(state, spec, lastingMs.offline)),
  freeze_sensors: (state, spec, random) =>
    picked(state, spec, random)?.freeze(endOf(state, spec, lastingMs.freeze_sensors)),
  bad_sensor: (state, spec, random) => {
    const controller = picked(state, spec, random);
    const items = controller?.sample().items ?? [];
    const sensor = spec.sensor ?? items[Math.floor(random() * items.length)]?.sensor.factor;
    if (sensor === undefined) return;
    controller?.breakSensor(
      sensor,
      spec.value === undefined ? "--" : spec.value,
      endOf(state, spec, lastingMs.bad_sensor),
    );
  },
  moved_by_hand: (state, spec, random) => {
    const controller = picked(state, spec, random);
    if (!controller) return;
    const row = rowOf(controller, spec, random);
    const values = row ? handValues(row) : [];
    const value = typeof spec.value === "string" ? spec.value : values[Math.floor(random() * values.length)];
    if (row && value !== undefined) controller.put(row.address, value, "hand");
  },
  somebody: (state, spec, random) => {
    const controller = spec.controller ?? picked(state, spec, random)?.device.code;
    const gapMs = Math.max(1_000, spec.delayMs ?? switchGapMs);
    const times = Math.min(mostSwitches, Math.ceil((spec.forMs ?? lastingMs.somebody) / gapMs));
    const { address, value } = spec;
    for (let nth = 0; nth < times; nth++)
      state.faults.arm(
        {
          ...{ fault: "moved_by_hand", atMs: nth * gapMs },
          ...(controller !== undefined && { controller }),
          ...(address !== undefined && { address }),
          ...(value !== undefined && { value }),
        },
        state.now,
      );
  },
  storm: badWeather("storm"),
  rain: badWeather("rain"),
  showers: roughWeather("showers"),
  gusts: roughWeather("gusts"),
  station_silent: (state, spec) => {
    const until = state.now + (spec.forMs ?? lastingMs.station_silent);
    state.silent.set(spec.sensor ?? wholeStation, until);
  },
  host_down: (state, spec) => {
    const how = outages.find((outage) => outage === spec.how) ?? "refuse";
    const until = state.now + (spec.forMs ?? lastingMs.host_down);
    for (const host of ["business", "realtime"] as const)
      if (spec.host === undefined || spec.host === host) state.outages.set(host, { until, how });
  },
  expire_tokens: (state) => state.tokens.expireAll(),
  push: (state, spec) => {
    const mode = pushModes.find((one) => one === spec.how) ?? "drop";
    state.setPush(mode, mode === "drop" ? Infinity : state.now + (spec.forMs ?? lastingMs.push));
  },
};

/** Lets one event of the fault book happen at the platform's present instant. */
function fireEvent(state: PlatformState, event: DueEvent): void {
  happenings[event.spec.fault](state, event.spec, event.random);
}

const endOf = (state: PlatformState, spec: FaultSpec, usualMs: number): number =>
  state.simulatedNow + (spec.forMs ?? usualMs) * state.timeline.speed;

/** The controller the fault names, else any controller of the account. */
function picked(state: PlatformState, spec: FaultSpec, random: Random): SimulatedController | null {
  if (spec.controller !== undefined) return state.controller(spec.controller);
  const codes = [...state.devices.values()]
    .filter((device) => device.isController)
    .map((device) => device.code);
  return state.controller(codes[Math.floor(random() * codes.length)] ?? "");
}

function rowOf(controller: SimulatedController, spec: FaultSpec, random: Random): AddressRow | null {
  const { table } = controller.registers;
  if (spec.address !== undefined) return table.get(spec.address) ?? null;
  const rows = [...table.values()].filter((row) => handValues(row).length > 0);
  return rows[Math.floor(random() * rows.length)] ?? null;
}

/** Values somebody at a wall switch or another screen could choose. */
export function handValues(row: AddressRow): readonly string[] {
  if (row.kind === "mode" || row.kind === "position" || row.kind === "parameter" || row.kind === "reading")
    return [];
  const kind = kindRows[row.kind];
  const degrees = kind.positionMode === null ? [] : ["25", "60"];
  const custom = row.kind === "custom" ? ["0110", "1001"] : [];
  return [...Object.values(kind.values), ...degrees, ...custom];
}

interface Stretch {
  readonly real: number;
  readonly simulated: number;
  readonly speed: number;
}

/**
 * Real instants (what requests, time stamps and faults count in) against simulated ones (what the greenhouses live in).
 * Both are epoch ms; simulated time runs `speed` times as fast,
 * which can change, and can be skipped ahead.
 */
export class Timeline {
  #newest: Stretch;
  #stretches: readonly Stretch[];

  constructor(speed: number, realStart: number, simulatedStart: number) {
    this.#newest = { real: realStart, simulated: simulatedStart, speed };
    this.#stretches = [this.#newest];
  }

  /** How many times as fast as real time simulated time runs now. */
  get speed(): number {
    return this.#newest.speed;
  }

  simulatedAt(real: number): number {
    const { simulated, real: since, speed } = this.#newest;
    return simulated + (real - since) * speed;
  }

  /** When a simulated instant was, for instants that are not in the future. */
  realAt(simulated: number): number {
    let limit = Infinity;
    for (let n = this.#stretches.length - 1; n >= 0; n--) {
      const stretch = this.#stretches[n];
      if (!stretch) break;
      const real = stretch.real + (simulated - stretch.simulated) / stretch.speed;
      if (simulated >= stretch.simulated || n === 0) return Math.min(real, limit);
      limit = stretch.real;
    }
    return simulated;
  }

  /** Lets `ms` of simulated time pass at once. */
  skip(real: number, ms: number): void {
    this.#begin({ real, simulated: this.simulatedAt(real) + ms, speed: this.speed });
  }

  /** From now on simulated time runs so many times as fast as real time. */
  setSpeed(real: number, speed: number): void {
    this.#begin({ real, simulated: this.simulatedAt(real), speed });
  }

  #begin(stretch: Stretch): void {
    this.#newest = stretch;
    this.#stretches = [...this.#stretches.slice(-31), stretch];
  }
}

export interface RegisterChange {
  readonly device: Device;
  readonly address: string;
  readonly held: HeldValue;
}

interface Protection {
  readonly at: number;
  readonly kind: "storm" | "rain";
}

const mostChanges = 1000;

/** Everything the simulated platform is: account, devices, faults, tokens and records. `now` is real epoch ms. */
export class PlatformState {
  readonly settings: PlatformSettings;
  readonly account: Account;
  readonly devices: Map<string, Device>;
  readonly timeline: Timeline;
  readonly sky: Sky;
  readonly faults: FaultBook;
  readonly tokens: TokenBook;
  /** The newest ones. */
  readonly posts: PostRecord[] = [];
  readonly requests = new Map<OperationName | "unknown", number>();
  readonly outages = new Map<PlatformHost, { readonly until: number; readonly how: Outage }>();
  readonly startedAt: number;
  /** Until when (real ms) a sensor of the weather station says nothing. */
  readonly silent = new Map<string, number>();
  /** What the lists of the account show. */
  listing: "full" | "empty" | "null" = "full";
  #push: { readonly mode: PushMode; readonly until: number } = { mode: "normal", until: Infinity };
  now: number;
  #controllers = new Map<string, SimulatedController>();
  #protections: readonly Protection[] = [];
  #changes: RegisterChange[] = [];
  #requestIds = 0;

  constructor(settings: PlatformSettings, now: number) {
    this.settings = settings;
    this.account = accountOf(settings.controllers, settings.mix, settings.language);
    this.devices = new Map(this.account.devices);
    this.timeline = new Timeline(settings.speed, now, settings.startAt);
    this.sky = new Sky(settings.seed);
    this.faults = new FaultBook(mix(settings.seed, 500));
    this.tokens = new TokenBook(settings.auth, settings.seed);
    this.startedAt = now;
    this.now = now;
    for (const fault of settings.faults) this.faults.arm(fault, now);
  }

  /** Lets events happen up to a real instant; an earlier one changes nothing. */
  advance(now: number): void {
    for (let event = this.faults.nextEvent(now); event !== null; event = this.faults.nextEvent(now)) {
      this.now = Math.max(this.now, event.at);
      fireEvent(this, event);
    }
    this.now = Math.max(this.now, now);
  }

  /** How the push channels behave now. */
  get pushMode(): PushMode {
    return this.now < this.#push.until ? this.#push.mode : "normal";
  }

  /** What changed while the channels were not normal is lost to them for good. */
  setPush(mode: PushMode, until: number): void {
    this.settle();
    if (this.pushMode !== "normal") this.takeChanges();
    this.#push = { mode, until };
  }

  get simulatedNow(): number {
    return this.timeline.simulatedAt(this.now);
  }

  /** The device with its greenhouse, brought up to now; null for an unknown code. */
  controller(code: string): SimulatedController | null {
    const device = this.devices.get(code);
    if (!device) return null;
    const known = this.#controllers.get(code);
    const controller = known ?? this.#create(device);
    controller.advance(this.simulatedNow);
    return controller;
  }

  /** The device as it was last seen, brought up to now; null while nobody has looked at it. */
  known(code: string): SimulatedController | null {
    return this.#controllers.has(code) ? this.controller(code) : null;
  }

  /** Those that somebody has looked at or moved. */
  touched(): readonly SimulatedController[] {
    return [...this.#controllers.values()];
  }

  /** Lets every value take effect that has arrived at its device by now. */
  settle(): void {
    for (const controller of this.#controllers.values())
      if (controller.hasDue(this.simulatedNow)) controller.advance(this.simulatedNow);
  }

  replaceDevice(device: Device): void {
    this.devices.set(device.code, device);
  }

  removeDevice(code: string): void {
    this.devices.delete(code);
    this.#controllers.delete(code);
  }

  /** The local controllers close their roofs against bad weather. */
  protect(kind: "storm" | "rain", code: string | null): void {
    const protection = { at: this.simulatedNow, kind };
    if (code !== null) {
      const only = this.controller(code);
      if (only) closeRoof(only, kind);
      return;
    }
    this.#protections = [...this.#protections.slice(-255), protection];
    for (const controller of this.#controllers.values()) {
      controller.advance(protection.at);
      closeRoof(controller, kind);
    }
  }

  /** The first armed fault of these names that hits this request now; using it counts. */
  fault<Name extends FaultName>(names: readonly Name[], target: FaultTarget): FaultOf<Name> | null {
    return this.faults.take(names, target, this.now);
  }

  notePost(record: PostRecord): PostRecord {
    if (this.posts.push(record) > this.settings.postLimit) this.posts.shift();
    return record;
  }

  nextRequestId(): string {
    return uuidAt(mix(this.settings.seed, 600), ++this.#requestIds);
  }

  count(operation: OperationName | "unknown"): void {
    this.requests.set(operation, (this.requests.get(operation) ?? 0) + 1);
  }

  /** Register changes since the last call, for the push channels. */
  takeChanges(): readonly RegisterChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  #create(device: Device): SimulatedController {
    const controller = new SimulatedController(device, {
      seed: this.settings.seed,
      startAt: this.settings.startAt,
      sky: this.sky,
      manners: this.settings.dialect,
      historyLimit: this.settings.historyLimit,
      changed: (changed, address, held) => this.#note({ device: changed, address, held }),
    });
    for (const protection of this.#protections) {
      controller.advance(protection.at);
      closeRoof(controller, protection.kind);
    }
    this.#controllers.set(device.code, controller);
    return controller;
  }

  #note(change: RegisterChange): void {
    if (this.#changes.length >= mostChanges) this.#changes.shift();
    this.#changes.push(change);
  }
}

const closedIn = { storm: ["101", "103", "104"], rain: ["101", "103"] } as const;

/** Windows left to the automatic close by its own rule, so their register keeps saying "automatic". */
function closeRoof(controller: SimulatedController, kind: "storm" | "rain"): void {
  for (const address of closedIn[kind]) {
    const value = controller.registers.read(address);
    if (value !== null && value !== "11000" && value !== "10001") controller.put(address, "10001", kind);
  }
}
