import type { PlatformHost } from "../greenhouse/platform-error.js";
import { accountOf, type Account, type Device } from "./account.js";
import { fireEvent } from "./events.js";
import { FaultBook } from "./fault-book.js";
import type { Outage, PushMode } from "./faults.js";
import { mix, uuidAt } from "./noise.js";
import type { OperationName } from "./operations.js";
import type { PlatformSettings } from "./platform-options.js";
import { PostLog } from "./post-log.js";
import type { HeldValue } from "./registers.js";
import { SimulatedController } from "./simulated-controller.js";
import { Timeline } from "./timeline.js";
import { TokenBook } from "./token-book.js";
import { Sky } from "./weather.js";

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
  readonly posts: PostLog;
  readonly requests = new Map<OperationName | "unknown", number>();
  readonly outages = new Map<PlatformHost, { readonly until: number; readonly how: Outage }>();
  readonly startedAt: number;
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
    this.posts = new PostLog(settings.postLimit);
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
      changed: (changed, address, held) => {
        this.#note({ device: changed, address, held });
      },
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
