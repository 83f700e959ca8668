import { loadAhead } from "../../src/bridge.js";
import type { Configuration } from "../../src/config/schema.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import { createControl, type SimulatorControl } from "../../src/simulator/control.js";
import type { HeldValue } from "../../src/simulator/device.js";
import { Platform } from "../../src/simulator/platform.js";
import { Accidents } from "./accidents.js";
import { Bridge, filesInMemory } from "./bridge.js";
import { Checks } from "./checks.js";
import { SimulatedDisk } from "./disk.js";
import type { Read } from "../judge/history.js";
import { mayTell, sameAs } from "../judge/values.js";
import { Journalist } from "./history.js";
import { Caretaker, WeatherStation } from "./limits/surroundings.js";
import { calmMs, Chance, type Scenario, scenarioOf } from "./scenario.js";
import { settled, WallClock, worldTime } from "./time.js";
import { calmNetwork, Wire } from "./wire.js";
import { Workload } from "./workload.js";

/** The outcome of one seed; plain data, as it travels between processes. */
export interface Run {
  readonly seed: number;
  /** Digest of the whole history: the same seed gives the same one. */
  readonly digest: string;
  readonly lines: number;
  readonly commands: number;
  readonly posts: number;
  readonly boots: number;
  readonly sometimes: Readonly<Record<string, number>>;
  /** What went wrong, as readable text; null for nothing. */
  readonly failure: string | null;
  /** `S4` and the like, or `crash`. */
  readonly invariant: string | null;
}

/** Runs one seed from its start to its end, or to the first broken rule. */
export async function simulate(seed: number, hours: number, onLine?: (line: string) => void): Promise<Run> {
  const scenario = await scenarioOf(seed, hours);
  const world = new World(scenario);
  const { journalist } = world;
  // Late imports take real time, which no virtual clock knows.
  await loadAhead(world);
  if (onLine) journalist.onLine = onLine;
  let error: Error | null = null;
  try {
    await world.run();
  } catch (caught) {
    error = caught instanceof Error ? caught : new Error(String(caught));
  }
  const run = runOf(world, hours, error);
  world.letGo();
  return run;
}

function runOf(
  { scenario, journalist, boots, linesAtFailure }: World,
  hours: number,
  error: Error | null,
): Run {
  const { seed } = scenario;
  const seen = {
    seed,
    digest: journalist.digest,
    lines: journalist.lines,
    commands: journalist.asks.size,
    posts: journalist.posts.length,
    boots,
    sometimes: Object.fromEntries(journalist.sometimes),
  };
  if (error === null) return { ...seen, failure: null, invariant: null };
  const invariant = "invariant" in error ? String(error.invariant) : "crash";
  const failure = [
    `seed ${seed}: ${error.message}`,
    `faults: ${scenario.exists.join(", ")}`,
    `readings: ${scenario.readings.join(", ") || "the usual"}`,
    `replay: node test/simulation/simulate-seeds.mjs --seed ${seed} --hours ${hours}`,
    ...(invariant === "crash" ? [error.stack ?? ""] : []),
    ...linesAtFailure,
  ].join("\n");
  return { ...seen, failure, invariant };
}

const epoch = Date.parse("2026-03-01T08:00:00Z");

/** The time from waking until a question asked then is answered, in ms. */
const provenWithinMs = 2;

/** The simulated world of one seed: time, network, platform, disk, broker, people, and one bridge after the other. */
export class World {
  readonly scenario: Scenario;
  /** The configuration for the next run. */
  configuration: Configuration;
  readonly time = worldTime();
  readonly wall: WallClock;
  readonly journalist: Journalist;
  readonly checks: Checks;
  readonly disk: SimulatedDisk;
  readonly wire: Wire;
  readonly files = filesInMemory();
  readonly platform: Platform;
  readonly control: SimulatorControl;
  readonly bridgeChance: Chance;
  readonly linkChance: Chance;
  /** The broker's retained messages. */
  readonly retained = new Map<string, string>();
  readonly workload: Workload;
  readonly accidents: Accidents;
  readonly #station: WeatherStation | null;
  readonly caretaker: Caretaker;
  /** From this time on every fault is over for good. */
  readonly calmFrom: number;
  bridge: Bridge | null = null;
  readonly #bridges: Bridge[] = [];
  /** When the machine was last stalled, which excuses latencies. */
  lastStallAt = -Infinity;
  /** When the broker's side of a link last came up. */
  linkedAt = -Infinity;
  /** The newest gap of the process that was long enough to be noticed. */
  gap: { readonly from: number; readonly until: number } | null = null;
  /** When the disk became writable again; Infinity while it is not. */
  lastDiskTroubleAt = -Infinity;
  boots = 0;
  linesAtFailure: readonly string[] = [];
  #failure: Error | null = null;

  constructor(scenario: Scenario) {
    const { seed } = scenario;
    this.scenario = scenario;
    this.configuration = scenario.configuration;
    this.calmFrom = scenario.lengthMs - calmMs;
    this.bridgeChance = new Chance(seed, "bridge");
    this.linkChance = new Chance(seed, "link");
    this.wall = new WallClock(this.time, epoch);
    this.journalist = new Journalist(this.time);
    this.disk = new SimulatedDisk(this.time, this.wall, new Chance(seed, "disk"));
    this.platform = platformOf(scenario);
    this.control = createControl(this.platform, () => this.platformNow);
    this.wire = new Wire(this.platform, {
      time: this.time,
      chance: new Chance(seed, "network"),
      names: { chance: new Chance(seed, "names"), troubles: scenario.nameTroubles },
      journalist: this.journalist,
      epoch,
      fail: (violation) => this.fail(violation),
    });
    this.wire.manners = scenario.network;
    this.disk.syncFailure = scenario.syncFailure;
    this.checks = new Checks(this);
    this.workload = new Workload(this);
    this.accidents = new Accidents(this);
    this.#station = scenario.isLimited ? new WeatherStation(this) : null;
    this.caretaker = new Caretaker(this);
  }

  get platformNow(): number {
    return epoch + this.time.now;
  }

  /** The lead of the bridge's machine's clock. */
  get clockOff(): number {
    return this.wall.now() - this.platformNow;
  }

  /** Whether a message that arrives now was sent while the process stood still, and lay in its socket. */
  get isFromSocket(): boolean {
    return this.gap !== null && this.time.due >= this.gap.from && this.time.due < this.gap.until;
  }

  /** Whether the process has just woken, and no broker has proven yet that messages are new. */
  get isUnproven(): boolean {
    return this.gap !== null && this.time.now - this.gap.until <= provenWithinMs;
  }

  get isCalm(): boolean {
    return this.time.now >= this.calmFrom;
  }

  /** Whether the platform shows a window's position while it travels. */
  get showsTravel(): boolean {
    const { profile } = this.scenario;
    return profile === "list" || profile === "text" || this.platform.readings.has("actual_positions");
  }

  /** Runs the seed to its end; throws the first violation. */
  async run(): Promise<void> {
    this.start();
    this.accidents.begin();
    this.workload.begin();
    this.#station?.begin();
    this.caretaker.begin();
    await this.#runUntil(this.calmFrom);
    this.#calmDown();
    await this.#runUntil(this.scenario.lengthMs);
    this.checks.atTheEnd();
    await this.#end();
  }

  /** A promise or callback of the world broke a rule; the run ends with it. */
  fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.linesAtFailure = this.journalist.lastLines(40);
  }

  guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Does it in `ms`. */
  in(ms: number, action: () => void): void {
    this.time.in(ms, () => this.guarded(action));
  }

  /** Starts the program, after the last one has ended. */
  start(): void {
    this.boots += 1;
    const bridge = new Bridge(this, this.boots);
    this.bridge = bridge;
    this.#bridges.push(bridge);
    this.journalist.startedAt.set(bridge.boot, this.time.now);
    this.journalist.note("start", { boot: this.boots });
    bridge.run().catch((error: unknown) => this.fail(error));
    this.accidents.started();
  }

  /** Frees everything; nobody looks at the world any more. */
  letGo(): void {
    for (const bridge of this.#bridges) bridge.letGo();
  }

  /** The bridge has subscribed. */
  linked(bridge: Bridge): void {
    this.linkedAt = this.time.now;
    this.workload.linked(bridge);
    this.#station?.linked();
  }

  /** Whether the read's value differs from everything that the register held while it was under way. */
  isLie(read: Read, raw: RawValue): boolean {
    const number = Number(raw);
    if (this.showsTravel && number >= 0 && number <= 100) return false;
    return !this.heldBetween(read.code, read.address, read.begunAt, this.time.now).some(
      (held) => sameAs(held, raw) || mayTell(this.platform.readings, held, raw),
    );
  }

  /** Every value that a register really held between two instants of the world, newest first. */
  heldBetween(code: string, address: string, from: number, to: number): readonly string[] {
    return this.#held(code, address, from, to).map(({ value }) => value);
  }

  /** Whether somebody or something else set it between two instants of the world. */
  isOverridden(code: string, address: string, from: number, to: number): boolean {
    return this.#held(code, address, from, to).some(
      ({ at, by }) =>
        at - epoch > from && (by === "hand" || by === "storm" || by === "rain" || by === "revert"),
    );
  }

  #held(code: string, address: string, from: number, to: number): readonly HeldValue[] {
    const history = this.control.held(code, address);
    const first = history.findLastIndex(({ at }) => at - epoch <= from);
    const since = history.slice(Math.max(0, first));
    return since.filter(({ at }) => at - epoch <= to).toReversed();
  }

  async #runUntil(end: number): Promise<void> {
    while (this.time.now < end) {
      await this.time.runUntil(Math.min(end, this.time.now + 5_000));
      this.guarded(() => this.checks.limits.look());
      if (this.#failure) throw this.#failure;
    }
  }

  #calmDown(): void {
    this.journalist.note("calm", {});
    void this.control.clearFaults();
    for (const code of this.control.codes()) this.control.setOnline(code, true);
    this.wire.manners = calmNetwork;
    this.disk.full = false;
    this.disk.gone = false;
    this.disk.syncFailure = 0;
    this.wall.setTo(this.platformNow);
    if (this.bridge === null || !this.bridge.clock.isAlive || this.bridge.isStopping) return;
    this.bridge.connect();
  }

  /** A clean stop at the end must leave no timer behind. */
  async #end(): Promise<void> {
    const { bridge } = this;
    if (bridge === null) return;
    const stopped = bridge.stop();
    await this.time.runUntil(this.time.now + 60_000);
    await Promise.race([stopped, settled().then(() => settled())]);
    this.checks.stopped(bridge);
    if (this.#failure) throw this.#failure;
  }
}

function platformOf(scenario: Scenario): Platform {
  const { seed, controllers, profile, registerLagMs, tokenLifetimeMs, platformFaults, unknownRefusal } =
    scenario;
  const refusal = new Chance(seed, "refusal").of([401, 403, "body"] as const);
  const known = { lifetimeMs: tokenLifetimeMs, refusal };
  const unknown = {
    lifetimeMs: 365 * 86_400_000,
    refusal: "body",
    refusalCode: unknownRefusal ?? 401,
  } as const;
  return new Platform(
    {
      controllers,
      mix: "C001",
      seed,
      profile,
      registerLagMs,
      readings: scenario.readings,
      faults: platformFaults,
      auth: {
        tokens: "known",
        checkRealtime: !scenario.isUnchecked,
        ...(unknownRefusal === null ? known : unknown),
      },
    },
    epoch,
  );
}
