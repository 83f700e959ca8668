import type { Bridge } from "./bridge.js";
import type { Ask } from "../judge/history.js";
import { Chance } from "./scenario.js";
import type { World } from "./world.js";

const hourMs = 3_600_000;
const longestStallMs = 150_000;
/** The process checks the clock once a second, and takes more than 2.5 s between two checks for a gap. */
const neverNoticedMs = 1_400;
const surelyNoticedMs = 2_600;
/** A crash or jump that waits for a command comes within this time of it. */
const soonMs = 60_000;

/** The event that a crash waits for, where it matters most. */
type Occasion = "command" | "POST" | "second POST" | "takeover";
const occasions: readonly Occasion[] = [
  ...(["command", "command", "command", "POST", "POST"] as const),
  ...(["second POST", "takeover", "takeover"] as const),
];

/** Accidents of the bridge and its machine: crashes, stops, cut links, full and vanished disks, set clocks, stalls. */
export class Accidents {
  readonly #world: World;
  readonly #crashChance: Chance;
  readonly #jumpChance: Chance;
  readonly #moveChance: Chance;
  readonly #heirChance: Chance;
  #crashAt: Occasion | null = null;
  #jumpAt: "command" | "check" | null = null;

  constructor(world: World) {
    this.#world = world;
    this.#crashChance = new Chance(world.scenario.seed, "crash");
    this.#jumpChance = new Chance(world.scenario.seed, "jump");
    this.#moveChance = new Chance(world.scenario.seed, "move");
    this.#heirChance = new Chance(world.scenario.seed, "heir");
  }

  begin(): void {
    const { scenario } = this.#world;
    this.#often(scenario.linkCutsPerHour, "link", (chance) => this.#cutLink(chance));
    this.#often(scenario.crashesPerHour, "crash", (chance) => {
      if (chance.hits(0.5)) this.#crash();
      else this.#crashAt = chance.of(occasions);
    });
    this.#often(scenario.fullDisksPerHour, "full disk", (chance) => this.#fillDisk(chance));
    this.#often(scenario.goneDisksPerHour, "gone disk", (chance) => this.#takeDiskAway(chance));
    this.#often(scenario.clockJumpsPerHour, "clock", (chance) => {
      if (chance.hits(0.3)) this.#jump();
      else this.#jumpAt = chance.hits(0.5) ? "command" : "check";
    });
    this.#often(scenario.stallsPerHour, "stall", (chance) => this.#stall(chance));
  }

  /** A command is sent to the bridge. */
  asking(): void {
    if (this.#jumpAt === "command") this.#jumpSoon(soonMs);
    if (this.#crashAt === "command") this.#crashSoon(soonMs);
  }

  /** A command begins its checks, which last until its POST. */
  checking(): void {
    if (this.#jumpAt === "check") this.#jumpSoon(1_000);
  }

  #jumpSoon(withinMs: number): void {
    this.#jumpAt = null;
    this.#later(this.#jumpChance.logUniform(1, withinMs), () => this.#jump());
  }

  /** A POST begins. */
  posting(isSecond: boolean): void {
    if (this.#crashAt === "POST" || (this.#crashAt === "second POST" && isSecond)) this.#crashSoon(2_000);
  }

  /** An equal command takes over read-backs: some crashes come while it waits for them, after the disk had time. */
  takingOver(): void {
    if (this.#crashAt === "takeover") this.#crashSoon(soonMs);
    if (this.#world.scenario.crashesPerHour === 0 || !this.#heirChance.hits(0.5)) return;
    this.#later(this.#heirChance.logUniform(2_000, 10_000), () => this.#crash());
  }

  /** A command was sent and is read back: somebody may want the same again before it shows. */
  confirming(ask: Ask): void {
    const { scenario, workload } = this.#world;
    if (scenario.crashesPerHour === 0 || ask.donor !== null || !this.#heirChance.hits(0.15)) return;
    this.#later(this.#heirChance.logUniform(100, 3_000), () => workload.wantTheSame(ask));
  }

  /** A confirmed command still moves: some crashes come then, and somebody commands it again when a bridge runs. */
  moving(ask: Ask): void {
    const { scenario, workload } = this.#world;
    if (scenario.crashesPerHour === 0 || !this.#moveChance.hits(0.4)) return;
    this.#later(this.#moveChance.logUniform(1, 5_000), () => {
      this.#world.journalist.saw("a crash while something moves that has to rest");
      workload.wantAgain(ask);
      this.#crash();
    });
  }

  #crashSoon(withinMs: number): void {
    this.#crashAt = null;
    this.#later(this.#crashChance.logUniform(1, withinMs), () => this.#crash());
  }

  /** Some crashes come right after a start, while the bridge reads and repairs. */
  started(): void {
    const { bridge, scenario } = this.#world;
    if (scenario.crashesPerHour === 0 || bridge === null || !this.#crashChance.hits(0.3)) return;
    this.#later(this.#crashChance.logUniform(0.1, 30_000), () => {
      if (this.#world.bridge === bridge && bridge.clock.isAlive) this.#kill(bridge);
    });
  }

  #often(perHour: number, concern: string, happen: (chance: Chance) => void): void {
    if (perHour <= 0) return;
    const chance = new Chance(this.#world.scenario.seed, concern);
    const next = () =>
      this.#later(chance.gap(hourMs / perHour), () => {
        happen(chance);
        next();
      });
    next();
  }

  /** Does it in `ms`, unless every fault is over by then. */
  #later(ms: number, happen: () => void): void {
    this.#world.time.in(ms, () => {
      if (!this.#world.isCalm) this.#world.guarded(happen);
    });
  }

  #cutLink(chance: Chance): void {
    const { bridge } = this.#world;
    if (bridge === null || !bridge.isLinked) return;
    bridge.disconnect();
    this.#world.journalist.note("link", { up: false });
    this.#world.time.in(chance.logUniform(100, 120_000), () => {
      if (this.#world.bridge === bridge && bridge.clock.isAlive && !bridge.isStopping) bridge.connect();
    });
  }

  #crash(): void {
    const { bridge, scenario } = this.#world;
    if (bridge === null || !bridge.clock.isAlive || bridge.isStopping) return;
    if (this.#crashChance.hits(scenario.cleanStops)) this.#stop(bridge);
    else this.#kill(bridge);
  }

  #stop(bridge: Bridge): void {
    const { journalist } = this.#world;
    journalist.note("stop", {});
    journalist.saw("stopped cleanly");
    bridge.stop().then(
      () => {
        journalist.note("stopped", {});
        this.#world.checks.limits.crashing(false);
        this.#startLater();
      },
      (error: unknown) => this.#world.fail(error),
    );
    this.#later(this.#crashChance.between(0, 50), () => this.#world.workload.send());
    // Somebody loses patience and kills it.
    if (!this.#crashChance.hits(0.2)) return;
    this.#later(this.#crashChance.logUniform(1, 5_000), () => {
      if (this.#world.bridge === bridge && bridge.clock.isAlive) this.#kill(bridge);
    });
  }

  #kill(bridge: Bridge): void {
    const { checks, disk, journalist, scenario } = this.#world;
    const isPowerCut = this.#crashChance.hits(scenario.powerCut);
    checks.crashing(bridge, isPowerCut);
    bridge.kill();
    if (isPowerCut) journalist.endedWithMachine.add(bridge.boot);
    const { torn } = disk.crash(isPowerCut);
    if (torn) journalist.saw("a torn tail of the journal");
    journalist.note("crash", { isPowerCut, torn });
    // A power cut may also cut the way to the platform.
    if (this.#crashChance.hits(0.05)) void this.#world.control.hostDown("both", "hang", 20 * 60_000);
    this.#startLater();
  }

  #startLater(): void {
    this.#world.time.in(this.#crashChance.logUniform(500, 300_000), () => {
      // Whoever starts it also repairs the disk.
      this.#putDiskBack();
      this.#world.start();
    });
  }

  #fillDisk(chance: Chance): void {
    const { disk, journalist, time } = this.#world;
    if (disk.full) return;
    disk.full = true;
    this.#world.lastDiskTroubleAt = Infinity;
    journalist.note("disk", { full: true });
    time.in(chance.logUniform(1_000, 600_000), () => {
      disk.full = false;
      if (!disk.gone) this.#world.lastDiskTroubleAt = time.now;
      journalist.note("disk", { full: false });
    });
  }

  /** The directory is renamed or its disk unmounted for a while, then put back unchanged. */
  #takeDiskAway(chance: Chance): void {
    const { disk, journalist, time } = this.#world;
    if (disk.gone) return;
    disk.gone = true;
    this.#world.lastDiskTroubleAt = Infinity;
    journalist.note("disk", { gone: true });
    journalist.saw("the data directory gone");
    time.in(chance.logUniform(500, 600_000), () => this.#putDiskBack());
  }

  #putDiskBack(): void {
    const { disk, journalist, time } = this.#world;
    if (!disk.gone) return;
    disk.gone = false;
    if (!disk.full) this.#world.lastDiskTroubleAt = time.now;
    journalist.note("disk", { gone: false });
  }

  #jump(): void {
    const { checks, journalist, platformNow, wall } = this.#world;
    const chance = this.#jumpChance;
    const isBack = wall.now() !== platformNow && chance.hits(0.6);
    if (isBack) wall.setTo(platformNow);
    else wall.jump((chance.hits(0.5) ? 1 : -1) * chance.logUniform(1_000, 10 * 365 * 24 * hourMs));
    journalist.note("clock", { off: Math.round(wall.now() - platformNow) });
    checks.clockJumped();
  }

  /**
   * The process stands still: its event loop is blocked, it is stopped or frozen, or its computer is suspended, in
   * which case Node's clock stands still too. Others go on, and what they send lies in its sockets.
   */
  #stall(chance: Chance): void {
    const { bridge, checks, journalist, time } = this.#world;
    const drawn = chance.logUniform(50, longestStallMs);
    const isSleep = drawn >= surelyNoticedMs && chance.hits(0.5);
    // For durations in between, the time of the last check decides whether the gap is noticed.
    const ms = drawn >= surelyNoticedMs ? drawn : Math.min(drawn, neverNoticedMs);
    journalist.note("stall", { ms: Math.round(ms), isSleep });
    const from = time.now;
    if (isSleep) {
      bridge?.clock.slept(ms);
      journalist.saw("the computer is suspended");
    }
    checks.limits.limits.lose(from);
    time.stall(ms);
    this.#world.lastStallAt = time.now;
    if (ms < surelyNoticedMs) return;
    journalist.saw("the process stands still for long");
    this.#world.gap = { from, until: time.now };
    checks.limits.limits.unwatched(from);
  }
}
