import type { RawValue } from "../../src/greenhouse/ports.js";
import { createControl, type SimulatorControl } from "../../src/simulator/control.js";
import { createPlatform } from "../../src/simulator/platform-model.js";
import type { PlatformState } from "../../src/simulator/platform-state.js";
import { Bridge } from "./bridge.js";
import { Chance } from "./chance.js";
import { Checks } from "./checks.js";
import { filesInMemory } from "./client.js";
import { SimulatedDisk } from "./disk.js";
import { Journalist, type Read } from "./history.js";
import { calmMs, type Scenario } from "./scenario.js";
import { settled, WallClock, WorldTime } from "./time.js";
import { calmNetwork, Wire } from "./wire.js";
import { Workload } from "./workload.js";

const hourMs = 3_600_000;
const epoch = Date.parse("2026-03-01T08:00:00Z");

/** The simulated world of one seed: time, network, platform, disk, broker, people, and one bridge after the other. */
export class World {
  readonly scenario: Scenario;
  readonly time = new WorldTime();
  readonly wall: WallClock;
  readonly journalist: Journalist;
  readonly checks: Checks;
  readonly disk: SimulatedDisk;
  readonly wire: Wire;
  readonly files = filesInMemory();
  readonly platform: PlatformState;
  readonly control: SimulatorControl;
  readonly chances;
  readonly linkChance: Chance;
  readonly #workload: Workload;
  readonly #phaseTwoAt: number;
  bridge: Bridge | null = null;
  /** Until when the machine is stalled or was, for what a latency may be judged by. */
  lastStallAt = -Infinity;
  lastDiskTroubleAt = -Infinity;
  linesAtFailure: readonly string[] = [];
  #boots = 0;
  #crashSoonAfterAsk = false;
  #jumpSoonAfterAsk = false;
  #failure: Error | null = null;

  constructor(scenario: Scenario) {
    const { seed } = scenario;
    this.scenario = scenario;
    this.#phaseTwoAt = scenario.lengthMs - calmMs;
    this.chances = {
      bridge: new Chance(seed, "bridge"),
      life: new Chance(seed, "life"),
      crash: new Chance(seed, "crash"),
      jump: new Chance(seed, "jump"),
    };
    this.linkChance = new Chance(seed, "link");
    this.wall = new WallClock(this.time, epoch);
    this.journalist = new Journalist(this.time);
    this.disk = new SimulatedDisk(this.time, this.wall, new Chance(seed, "disk"));
    const { controllers, profile, registerLagMs, tokenLifetimeMs, platformFaults } = scenario;
    this.platform = createPlatform(
      {
        controllers,
        mix: "C001",
        seed,
        profile,
        registerLagMs,
        faults: platformFaults,
        auth: {
          tokens: "known",
          checkRealtime: true,
          lifetimeMs: tokenLifetimeMs,
          refusal: new Chance(seed, "refusal").of([401, 403, "body"] as const),
        },
      },
      epoch,
    );
    this.control = createControl(this.platform, () => this.platformNow);
    this.wire = new Wire(this.platform, {
      time: this.time,
      chance: new Chance(seed, "network"),
      journalist: this.journalist,
      epoch,
    });
    this.wire.manners = scenario.network;
    this.disk.syncFailure = scenario.syncFailure;
    this.checks = new Checks(this);
    this.#workload = new Workload(this);
  }

  get platformNow(): number {
    return epoch + this.time.now;
  }

  get isCalm(): boolean {
    return this.time.now >= this.#phaseTwoAt;
  }

  get calmFrom(): number {
    return this.#phaseTwoAt;
  }

  /** Runs the seed to its end; throws the first violation. */
  async run(): Promise<void> {
    this.#start();
    this.#live();
    this.#workload.begin();
    await this.#runUntil(this.#phaseTwoAt);
    this.#calmDown();
    await this.#runUntil(this.scenario.lengthMs);
    this.checks.atTheEnd();
    await this.#end();
  }

  /** Something in a promise or a callback of the world broke a rule; the run ends with it. */
  fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.linesAtFailure = this.journalist.lastLines(40);
  }

  /** A command goes out to the bridge: half of the crashes wait for one, for they matter most while it runs. */
  asking(): void {
    if (this.isCalm) return;
    if (this.#jumpSoonAfterAsk) {
      this.#jumpSoonAfterAsk = false;
      const chance = this.chances.jump;
      this.time.in(chance.logUniform(1, 60_000), () => {
        if (!this.isCalm) this.#jump(chance);
      });
    }
    if (!this.#crashSoonAfterAsk) return;
    this.#crashSoonAfterAsk = false;
    this.time.in(this.chances.crash.logUniform(1, 60_000), () => {
      if (!this.isCalm) this.#crash();
    });
  }

  linked(bridge: Bridge): void {
    this.#workload.linked(bridge);
  }

  /** Whether no value that the register held while the read was under way is what the read says. */
  isLie(read: Read, raw: RawValue): boolean {
    if (this.scenario.profile === "list" || this.scenario.profile === "text") {
      // These show where a window is while it travels.
      const number = Number(raw);
      if (number >= 0 && number <= 100) return false;
    }
    return !this.heldBetween(read.code, read.address, read.begunAt, this.time.now).some((held) =>
      sameAs(held, raw),
    );
  }

  /** Every value a register really held between two instants of the world. */
  heldBetween(code: string, address: string, from: number, to: number): readonly string[] {
    const history = this.control.held(code, address);
    const held: string[] = [];
    for (let at = history.length - 1; at >= 0; at -= 1) {
      const one = history[at];
      if (one === undefined) break;
      if (one.at - epoch <= to) held.push(one.value);
      if (one.at - epoch <= from) break;
    }
    return held;
  }

  #start(): void {
    this.#boots += 1;
    const bridge = new Bridge(this, this.#boots);
    this.bridge = bridge;
    this.journalist.note("start", { boot: this.#boots });
    bridge.run().catch((error: unknown) => {
      this.fail(error);
    });
  }

  async #runUntil(end: number): Promise<void> {
    while (this.time.now < end) {
      await this.time.runUntil(Math.min(end, this.time.now + 5_000));
      if (this.#failure) throw this.#failure;
    }
  }

  #calmDown(): void {
    this.journalist.note("calm", {});
    this.control.clearFaults();
    for (const code of this.control.codes()) this.control.setOnline(code, true);
    this.wire.manners = calmNetwork;
    this.disk.full = false;
    this.disk.syncFailure = 0;
    this.wall.setTo(this.platformNow);
    if (this.bridge === null || !this.bridge.clock.isAlive || this.bridge.isStopping) return;
    this.bridge.connect();
  }

  /** A clean stop at the very end leaves no timer and no listener behind. */
  async #end(): Promise<void> {
    const { bridge } = this;
    if (bridge === null) return;
    const stopped = bridge.stop();
    await this.time.runUntil(this.time.now + 60_000);
    await Promise.race([stopped, settled().then(() => settled())]);
    this.checks.stopped(bridge);
    if (this.#failure) throw this.#failure;
  }

  #live(): void {
    const { linkCutsPerHour, crashesPerHour, fullDisksPerHour, clockJumpsPerHour, stallsPerHour } =
      this.scenario;
    this.#often(linkCutsPerHour, "link", (chance) => {
      this.#cutLink(chance);
    });
    this.#often(crashesPerHour, "crash", (chance) => {
      if (chance.hits(0.5)) this.#crash();
      else this.#crashSoonAfterAsk = true;
    });
    this.#often(fullDisksPerHour, "full disk", (chance) => {
      this.#fillDisk(chance);
    });
    this.#often(clockJumpsPerHour, "clock", (chance) => {
      if (chance.hits(0.3)) this.#jump(chance);
      else this.#jumpSoonAfterAsk = true;
    });
    this.#often(stallsPerHour, "stall", (chance) => {
      const ms = chance.logUniform(50, 30_000);
      this.journalist.note("stall", { ms: Math.round(ms) });
      this.time.stall(ms);
      this.lastStallAt = this.time.now;
    });
  }

  #often(perHour: number, concern: string, happen: (chance: Chance) => void): void {
    if (perHour <= 0) return;
    const chance = new Chance(this.scenario.seed, concern);
    const next = () => {
      this.time.in(chance.gap(hourMs / perHour), () => {
        if (this.isCalm) return;
        try {
          happen(chance);
        } catch (error) {
          this.fail(error);
        }
        next();
      });
    };
    next();
  }

  #cutLink(chance: Chance): void {
    const { bridge } = this;
    if (bridge === null || !bridge.isLinked) return;
    bridge.disconnect();
    this.journalist.note("link", { up: false });
    this.time.in(chance.logUniform(100, 120_000), () => {
      if (this.bridge === bridge && bridge.clock.isAlive && !bridge.isStopping) bridge.connect();
    });
  }

  #crash(): void {
    const chance = this.chances.crash;
    const { bridge } = this;
    if (bridge === null || !bridge.clock.isAlive || bridge.isStopping) return;
    const isClean = chance.hits(this.scenario.cleanStops);
    const downMs = chance.logUniform(500, 300_000);
    if (isClean) {
      this.journalist.note("stop", {});
      this.journalist.saw("stopped cleanly");
      void bridge.stop().then(
        () => {
          this.journalist.note("stopped", {});
          this.time.in(downMs, () => {
            this.#start();
          });
        },
        (error: unknown) => {
          this.fail(error);
        },
      );
      return;
    }
    const isPowerCut = chance.hits(this.scenario.powerCut);
    this.checks.crashing(bridge, isPowerCut);
    bridge.kill();
    const { torn } = this.disk.crash(isPowerCut);
    if (torn) this.journalist.saw("a torn tail of the journal");
    this.journalist.note("crash", { isPowerCut, torn });
    this.time.in(downMs, () => {
      this.#start();
    });
  }

  #fillDisk(chance: Chance): void {
    if (this.disk.full) return;
    this.disk.full = true;
    this.lastDiskTroubleAt = Infinity;
    this.journalist.note("disk", { full: true });
    this.time.in(chance.logUniform(1_000, 600_000), () => {
      this.disk.full = false;
      this.lastDiskTroubleAt = this.time.now;
      this.journalist.note("disk", { full: false });
    });
  }

  #jump(chance: Chance): void {
    const isBack = this.wall.now() !== this.platformNow && chance.hits(0.6);
    if (isBack) this.wall.setTo(this.platformNow);
    else this.wall.jump((chance.hits(0.5) ? 1 : -1) * chance.logUniform(1_000, 10 * 365 * 24 * hourMs));
    this.journalist.note("clock", { off: Math.round(this.wall.now() - this.platformNow) });
    this.checks.clockJumped();
  }
}

/** Equal as the platform may write a value: as text or as a number that lost its leading zeros. */
export function sameAs(value: string, raw: RawValue): boolean {
  const text = String(raw).trim();
  return text === value || (/^\d+$/.test(text) && /^\d+$/.test(value) && Number(text) === Number(value));
}
