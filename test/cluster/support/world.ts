import { ServerWatchdog } from "../../../src/cluster/server-watchdog.js";
import { Cluster, leaseMs, type OwnedRun } from "../../../src/cluster/cluster.js";
import { bucketLimits } from "../../../src/cluster/lease.js";
import { memberKey, ownerKey } from "../../../src/cluster/membership-view.js";
import { hashOf } from "../../../src/runtime/hash.js";
import type { FleetFiles } from "../../../src/config/fleet.js";
import { Fleet } from "../../../src/fleet/fleet.js";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import { silentLog } from "../../../src/runtime/log.js";
import { loaded, platform } from "../../config/loading.js";
import { alwaysThere, SimulatedDisk } from "../../simulation/disk.js";
import { Chance } from "../../simulation/scenario.js";
import { VirtualTime } from "../../support/virtual-clock.js";
import { WallClock } from "../../simulation/time.js";
import { JetStreamModel } from "./jetstream-model.js";
import { LeaseJudge } from "./lease-judge.js";
import { ModelBridge, type ModelLease, type Surroundings } from "./model-bridge.js";
import { endOf, valveOf } from "./model-leases.js";
import { epochMs, Process } from "./process.js";

/** The far ends of links that may be cut. */
type Far = "nats" | "broker" | "platform";

interface Post {
  readonly id: string;
  readonly at: number;
  readonly by: Process;
  readonly carriedOutAt: number;
}

interface Command {
  readonly id: string;
  readonly isStop: boolean;
  readonly lease: ModelLease | null;
  readonly at: number;
  readonly told: Set<string>;
}

/** The judge's violations of a history, and how long the promised actions took. */
export interface History {
  readonly violations: readonly string[];
  readonly posts: number;
  readonly commands: number;
  readonly takeOvers: number;
  /** Commands that were carried out and had to end by themselves. */
  readonly leases: number;
  /** For the last take-over, which is undisturbed: ms to the first reading and to the first accepted command. */
  readonly readingMs: number;
  readonly commandMs: number;
  /** Requests of one member to the NATS servers in a minute of calm. */
  readonly askedPerMinute: number;
}

export interface Trouble {
  readonly members: number;
  /** Ms in which links are cut, processes stopped and killed, clocks set, and servers fail. */
  readonly forMs: number;
  readonly pauses: number;
  readonly cutsPerMinute: number;
  readonly stopsPerMinute: number;
  readonly killsPerMinute: number;
  readonly outagesPerMinute: number;
  readonly jumpsPerMinute: number;
  readonly commandsPerMinute: number;
  /** Owners that are stopped cleanly while a POST is in progress, and an entry on its way to the journal. */
  readonly leavesPerMinute: number;
  /** Owners that sleep before the first byte of a POST, mostly until another member has the account. */
  readonly sleepsPerMinute: number;
  /** Members that no longer hear what others do. */
  readonly deafPerMinute: number;
  /** NATS servers that lose their peers. */
  readonly isolationsPerMinute: number;
  /** Commands that end by themselves, each to an actuator of its own. */
  readonly leasesPerMinute: number;
  /** Clocks of all standby members are wrong by an hour for a while, as the owner dies. */
  readonly wrongClocksPerMinute: number;
  /** SIGHUPs, one or two together, around a change of the account's file. */
  readonly reloadsPerMinute: number;
}

export function troubleOf(seed: number): Trouble {
  const chance = new Chance(seed, "trouble");
  return {
    members: chance.whole(2, 5),
    forMs: 240_000,
    pauses: chance.of([0, 0, 0.000_5, 0.002]),
    cutsPerMinute: chance.of([0, 1, 3, 6]),
    stopsPerMinute: chance.of([0, 1, 2]),
    killsPerMinute: chance.of([0, 0.5, 1]),
    outagesPerMinute: chance.of([0, 0, 0.5]),
    jumpsPerMinute: chance.of([0, 1, 3]),
    commandsPerMinute: chance.of([10, 30]),
    leavesPerMinute: chance.of([0, 1, 2]),
    deafPerMinute: chance.of([0, 0, 1]),
    sleepsPerMinute: chance.of([0, 1, 2]),
    isolationsPerMinute: chance.of([0, 0, 1]),
    reloadsPerMinute: 0,
    leasesPerMinute: chance.of([2, 6]),
    wrongClocksPerMinute: chance.of([0, 0.25]),
  };
}

const postError = (kind: "withheld" | "timeout", sent: boolean) =>
  new PlatformError(kind, { kind, host: "realtime", operation: "set-value", sent });

const account = "north";
/** What a member may find in the folder of accounts: nothing, or one of two versions of the account's file. */
const folders = await Promise.all(
  [null, "", "mqtt: { client_id: another }\n"].map(async (text): Promise<FleetFiles> => {
    const found = text === null ? [] : [{ ...(await loaded(platform + text)), account }];
    const fleet = { shard: null } as FleetFiles["fleet"];
    const accounts = new Map(found.map((one) => [one.account, one]));
    return { fleet, accounts, refused: [], problems: [], warnings: [] };
  }),
);
const emptyFolder = folders[0] as FleetFiles;
const fullFolders = folders.slice(1);
const controlMs = 30_000;
/** From the end of all trouble until open commands are read back and there is one owner. */
const calmMs = 240_000;

class World {
  readonly time = new VirtualTime();
  readonly violations: string[] = [];
  readonly posts: Post[] = [];
  readonly commands = new Map<string, Command>();
  readonly #chance: Chance;
  readonly #trouble: Trouble;
  readonly #jetStream: JetStreamModel;
  readonly #cut = new Map<Process, Set<Far>>();
  readonly #disks = new Map<string, SimulatedDisk>();
  readonly #processes = new Map<string, Process>();
  readonly #ends = new Map<Process, AbortController>();
  readonly #fleets = new Map<Process, Fleet>();
  /** The content of each member's folder of accounts. */
  readonly #folders = new Map<string, FleetFiles>();
  /** How often the account runs in a process, or stands by. */
  readonly #runs = new Map<Process, number>();
  readonly #shown = new Set<string>();
  /** The commands of which a process has written something to the journal. */
  readonly #recorded = new Map<Process, Set<string>>();
  /** What the broker holds for the client id of the account. */
  readonly #kept = new Map<string, Command>();
  readonly #leases = new LeaseJudge();
  /** Commands that were acknowledged to the broker only for lack of room. */
  readonly #roomMade = new Set<string>();
  #ids = 0;
  #connected: { readonly process: Process; readonly on: Parameters<Surroundings["connect"]>[1] } | null =
    null;
  #started = 0;
  #stops = 0;
  /** The process that is to sleep before its next POST. */
  #sleeping: Process | null = null;
  /** The process to be stopped cleanly once it has a POST in progress. */
  #leaving: Process | null = null;
  /** The same process, once its next entry is on its way to the journal. */
  #leavingWithEntry: Process | null = null;
  /** The process to be stopped cleanly once it has a POST in progress that the journal does not have. */
  #leavingWithStop: Process | null = null;
  /** Each start of a bridge, from which its owner may act. */
  readonly begun: { readonly at: number; readonly process: Process }[] = [];
  /** How often an owner gave the account to a member that reaches more. */
  moves = 0;

  constructor(seed: number, trouble: Trouble) {
    this.#chance = new Chance(seed, "world");
    this.#trouble = trouble;
    this.#jetStream = new JetStreamModel(this.time, new Chance(seed, "jetstream"), {
      ttlMs: bucketLimits(leaseMs).ttl,
      isCut: (process) => this.#isCut(process, "nats"),
    });
    this.#jetStream.onAppend = (process) => {
      if (process === this.#leavingWithEntry) this.#leave(process, this.#chance.logUniform(500, 40_000));
    };
    this.#jetStream.onKept = (process, data) => {
      for (const [, id = ""] of Buffer.from(data)
        .toString()
        .matchAll(/"id":"([^"]+)"/g))
        this.#recorded.set(process, (this.#recorded.get(process) ?? new Set()).add(id));
    };
    this.#jetStream.onMark = (process, key) => {
      if (key === ownerKey(account)) this.#judgeMark(process);
    };
    this.#jetStream.onState = (process) => {
      for (const other of this.#processes.values())
        if (other !== process && this.#chance.hits(0.5)) this.time.in(1, () => other.wake());
    };
  }

  #isCut(process: Process, far: Far): boolean {
    return this.#cut.get(process)?.has(far) === true;
  }

  /** Starts a member, or starts it again on its own disk. */
  start(id: string): void {
    this.#started += 1;
    const process = new Process(id, this.time, new Chance(this.#started, `${id} ${this.#chance.random()}`));
    process.pauses = this.#jetStream.isCalm ? 0 : this.#trouble.pauses;
    this.#processes.set(id, process);
    this.#cut.set(process, new Set());
    const disk =
      this.#disks.get(id) ??
      new SimulatedDisk(this.time, new WallClock(this.time, 0), new Chance(this.#started, "disk"));
    this.#disks.set(id, disk);
    const files = disk.mount(process.clock);
    const { clock } = process;
    const watchdog = new ServerWatchdog(clock, () => this.#jetStream.reconnect(process));
    const cluster = new Cluster({
      id,
      bucket: watchdog.bucket(this.#jetStream.bucketOf(process)),
      clock,
      upMs: process.upMs,
      hash: hashOf,
      files,
      placeOf: () => alwaysThere,
      reaches: async (far) => {
        await clock.wait(50);
        return !this.#isCut(process, far === "broker" ? far : "platform");
      },
      lostMs: () => 0,
      openStream: () => Promise.resolve(watchdog.stream(this.#jetStream.streamOf(process))),
    });
    const end = new AbortController();
    this.#ends.set(process, end);
    const dataDir = `/${id}`;
    const owned = {
      account,
      dataDir,
      controlMs,
      identity: account,
      hosts: { broker: ["broker"], platform: ["platform"] },
      log: { ...silentLog, warn: (...said: unknown[]) => this.#noteMove(said.at(-1)) },
      onStandby: () => undefined,
    };
    void cluster.run(end.signal);
    const run = async (run: OwnedRun) => {
      this.begun.push({ at: this.time.now, process });
      this.#leases.begins(process);
      await new ModelBridge(run, process, files, this.#surroundings).run(dataDir);
    };
    const own = (stop: AbortSignal) => this.#within(process, () => cluster.own(owned, run, stop));
    if (this.#trouble.reloadsPerMinute > 0) this.#startFleet(process, own, end.signal);
    else void own(end.signal);
  }

  /** Where files are reloaded, the account is one of a fleet. */
  #startFleet(process: Process, own: (stop: AbortSignal) => Promise<void>, stop: AbortSignal): void {
    const { id, clock } = process;
    const chance = new Chance(this.#started, `fleet ${id}`);
    const folder = this.#folders.get(id) ?? chance.of(fullFolders);
    this.#folders.set(id, folder);
    const fleet = new Fleet({
      read: async () => {
        const found = this.#folders.get(id) ?? folder;
        await clock.wait(chance.logUniform(5, 400));
        return found;
      },
      start: (run) => own(run.stop),
      onRead: () => Promise.resolve(),
      onTaken: () => Promise.resolve(),
      onRemoved: () => undefined,
      onMistaken: () => undefined,
      noteError: (_, error) => this.violations.push(`${this.time.now}: ${id} fails: ${String(error)}`),
      clock,
      random: () => chance.random(),
      log: silentLog,
    });
    this.#fleets.set(process, fleet);
    void fleet.run(folder, stop);
  }

  /** Checks that an account runs only once. */
  async #within(process: Process, own: () => Promise<void>): Promise<void> {
    const count = (this.#runs.get(process) ?? 0) + 1;
    this.#runs.set(process, count);
    if (count > 1) this.violations.push(`${this.time.now}: the account runs ${count} times in ${process.id}`);
    try {
      await own();
    } finally {
      this.#runs.set(process, (this.#runs.get(process) ?? 0) - 1);
    }
  }

  /**
   * The account's file changes, or is missing for a while, and each time the member is told to read the files again.
   */
  #reload(process: Process, goneMs: number): void {
    const { id } = process;
    const isGone = this.#chance.hits(0.5);
    const change = (folder: FleetFiles) => {
      this.#folders.set(id, folder);
      void this.#fleets.get(process)?.reload();
    };
    change(isGone ? emptyFolder : this.#chance.of(fullFolders));
    this.time.in(this.#chance.of([this.#chance.between(1, 200), goneMs]), () => {
      change(this.#chance.of(fullFolders));
      // Like somebody who is not sure whether the signal arrived.
      if (this.#chance.hits(0.5))
        this.time.in(this.#chance.between(1, 100), () => change(this.#chance.of(fullFolders)));
    });
  }

  #noteMove(said: unknown): void {
    if (typeof said === "string" && said.endsWith("the account goes there")) this.moves += 1;
  }

  readonly #surroundings: Surroundings = {
    platformOf: (process) => ({
      write: async (_code, _address, id, _signal, { mayPost } = {}) => {
        if (process === this.#sleeping) this.#sleep(process);
        await process.clock.wait(this.#chance.logUniform(5, 3_000));
        if (this.#isCut(process, "platform") || mayPost?.() === false) throw postError("withheld", false);
        const isLeaving = process === this.#leaving || process === this.#leavingWithStop;
        const isAnswered = !isLeaving && this.#chance.hits(0.9);
        const takesMs = isAnswered ? this.#chance.logUniform(20, 5_000) : controlMs;
        const inMs = isLeaving ? this.#chance.between(5, controlMs) : this.#chance.logUniform(5, takesMs);
        if (process === this.#leavingWithStop) this.#leave(process, this.#chance.logUniform(500, 40_000));
        else if (isLeaving) this.#leaveWithNextEntry();
        this.#posted(process, id, this.time.now + inMs);
        this.time.in(inMs, () => this.#carriedOut(id));
        await process.clock.wait(takesMs);
        if (!isAnswered || this.#isCut(process, "platform")) throw postError("timeout", true);
        return { requestId: null, code: "200" };
      },
    }),
    read: async (process, id) => {
      await process.clock.wait(50);
      return this.#isCut(process, "platform") ? null : this.#shown.has(id);
    },
    newId: () => `end-${(this.#ids += 1)}`,
    shows: (process, actuator) => {
      if (this.#isCut(process, "platform")) return null;
      const id = this.#leases.commandOf(actuator);
      return id !== null && this.#shown.has(id) && !this.#shown.has(endOf(id)) ? "on" : "off";
    },
    ended: (id) => this.#leases.recorded(id),
    date: (process) =>
      this.#isCut(process, "platform") ? null : new Date(epochMs + this.time.now).toUTCString(),
    lacks: (process) => [
      ...(this.#connected?.process === process ? [] : (["broker"] as const)),
      ...(this.#isCut(process, "platform") ? (["platform"] as const) : []),
    ],
    connect: (process, on) => {
      this.time.in(20, () => {
        if (!process.isAlive || this.#isCut(process, "broker")) {
          process.goOn(on.lost);
          return;
        }
        this.#drop();
        this.#connected = { process, on };
        for (const command of this.#kept.values()) this.#give(command, true);
      });
    },
    disconnect: (process) => {
      if (this.#connected?.process === process) this.#connected = null;
    },
    madeRoom: (id) => {
      this.#roomMade.add(id);
    },
    tell: (process, id, outcome) => {
      if (this.#connected?.process !== process || this.#isCut(process, "broker")) return false;
      this.#told(id, outcome);
      return true;
    },
  };

  #drop(): void {
    const dropped = this.#connected;
    this.#connected = null;
    if (dropped !== null) this.time.in(10, () => dropped.process.goOn(dropped.on.lost));
  }

  #carriedOut(id: string): void {
    this.#shown.add(id);
    const lease = this.commands.get(id)?.lease ?? null;
    if (lease !== null) this.#leases.carriedOut(id);
  }

  #posted(process: Process, id: string, carriedOutAt: number): void {
    const { owner } = this;
    if (owner !== process)
      this.violations.push(
        `${this.time.now}: ${process.id} POSTs ${id}, and ${String(owner?.id)} is the owner`,
      );
    const of = this.#leases.leaseOfEnd(id);
    if (of !== null) {
      const problem = this.#leases.ends(of, process, this.time.now);
      if (problem !== null) this.violations.push(`${this.time.now}: ${process.id} ${problem}`);
      return;
    }
    // A stop does not wait for the journal, so that its next owner may not know of it.
    const isStop = this.commands.get(id)?.isStop === true;
    if (!isStop && this.posts.some((post) => post.id === id))
      this.violations.push(`${this.time.now}: ${id} is POSTed twice`);
    // The next owner cannot know of a stop that the journal did not accept in time.
    const isKnown = (post: Post) => this.commands.get(post.id)?.isStop !== true || this.#isRecorded(post);
    const other = this.posts.find(
      (post) =>
        post.by !== process &&
        post.carriedOutAt > this.time.now &&
        isKnown(post) &&
        this.#isBeside(post.id, id),
    );
    if (!isStop && other !== undefined)
      this.violations.push(
        `${this.time.now}: ${id} is POSTed while ${other.id} of ${other.by.id} is under way`,
      );
    this.posts.push({ id, at: this.time.now, by: process, carriedOutAt });
  }

  /** Whether both go to the same actuator. */
  #isBeside(one: string, other: string): boolean {
    return this.commands.get(one)?.lease?.actuator === this.commands.get(other)?.lease?.actuator;
  }

  /**
   * An owner that finds the mark waits only for what the journal lists as in progress. The clock by which an owner
   * waits for a POST may run fast.
   */
  #judgeMark(process: Process): void {
    const isOver = ({ carriedOutAt }: Post) => carriedOutAt <= this.time.now + controlMs * 0.03;
    const unknown = this.posts.find(
      (post) => post.by === process && !isOver(post) && !this.#isRecorded(post),
    );
    if (unknown !== undefined)
      this.violations.push(
        `${this.time.now}: ${process.id} gives the account up while ${unknown.id} is under way, which the journal does not have`,
      );
  }

  #told(id: string, outcome: string): void {
    const command = this.commands.get(id);
    if (command === undefined) return;
    command.told.add(outcome);
    if (command.told.size > 1)
      this.violations.push(`${this.time.now}: ${id} ends as ${[...command.told].join(" and as ")}`);
  }

  /** The broker acknowledges it to its sender, and keeps it until the account's owner has acknowledged it. */
  send(id: string, isStop: boolean, lease: ModelLease | null = null): void {
    const command = { id, isStop, lease, at: this.time.now, told: new Set<string>() };
    this.commands.set(id, command);
    this.#kept.set(id, command);
    this.#give(command, false);
  }

  /** Sends a command that ends by itself, to an actuator that has no other. */
  sendLease(place: number): void {
    const chance = this.#chance;
    // Some leases end within one owner's time, and some outlast several owners.
    const forMs = chance.hits(0.5) ? chance.logUniform(5_000, 100_000) : chance.between(200_000, 700_000);
    const lease = { actuator: valveOf(place), forMs };
    const id = `lease-${place}`;
    this.#leases.sent(id, lease, this.time.now);
    this.send(id, false, lease);
  }

  #give({ id, isStop, lease }: Command, isKept: boolean): void {
    const connected = this.#connected;
    if (connected === null || this.#isCut(connected.process, "broker")) return;
    const acknowledge = () => {
      if (this.#connected === connected && !this.#isCut(connected.process, "broker")) this.#kept.delete(id);
    };
    this.time.in(this.#chance.logUniform(1, 30), () =>
      connected.process.goOn(() => connected.on.command({ id, isStop, lease, isKept, acknowledge })),
    );
  }

  /** Repeats at random intervals until `until`. */
  every(perMinute: number, until: number, what: () => void): void {
    if (perMinute === 0) return;
    const next = this.#chance.gap(60_000 / perMinute);
    if (this.time.now + next >= until) return;
    this.time.in(next, () => {
      what();
      this.every(perMinute, until, what);
    });
  }

  disturb(until: number): void {
    const { cutsPerMinute, stopsPerMinute, killsPerMinute, outagesPerMinute, jumpsPerMinute } = this.#trouble;
    const { leavesPerMinute, deafPerMinute, sleepsPerMinute, isolationsPerMinute, reloadsPerMinute } =
      this.#trouble;
    const { wrongClocksPerMinute } = this.#trouble;
    const chance = this.#chance;
    const upTo = () => Math.min(chance.logUniform(300, 60_000), until - this.time.now);
    const one = () => chance.of([...this.#processes.values()]);
    this.every(cutsPerMinute, until, () =>
      this.#cutFor(one(), chance.of(["nats", "nats", "broker", "platform"]), upTo()),
    );
    this.every(cutsPerMinute / 3, until, () => this.#stumble(this.owner ?? one(), upTo()));
    const aWhile = () => Math.min(chance.between(300, 60_000), until - this.time.now);
    this.every(stopsPerMinute, until, () => one().stop(aWhile(), chance.hits(0.3)));
    this.every(killsPerMinute, until, () => this.#restart(one(), chance.logUniform(500, 40_000)));
    this.every(jumpsPerMinute, until, () => this.#setWall(one(), chance.between(-100_000, 100_000)));
    this.every(wrongClocksPerMinute, until, () => this.#wrongClocks(until));
    this.every(outagesPerMinute, until, () => {
      this.#jetStream.isDown = true;
      this.time.in(upTo(), () => {
        this.#jetStream.isDown = false;
        for (const process of this.#processes.values()) this.#jetStream.healed(process);
      });
    });
    this.every(leavesPerMinute, until, () => {
      this.#leaving = this.owner;
    });
    this.every(leavesPerMinute, until, () => this.#leaveWithStop());
    this.every(sleepsPerMinute, until, () => {
      this.#sleeping = this.owner;
    });
    this.every(isolationsPerMinute, until, () => {
      this.#jetStream.isolate(chance.whole(0, 2));
      this.time.in(upTo(), () => this.#jetStream.join());
    });
    this.every(reloadsPerMinute, until, () => this.#reload(one(), upTo()));
    this.every(deafPerMinute, until, () => this.#jetStream.deafen(one()));
    this.every(jumpsPerMinute / 3, until, () => this.#jetStream.forgetKeys());
    this.every(jumpsPerMinute / 3, until, () => this.keepKeys(upTo()));
  }

  /** Ends all watches. */
  deafen(): void {
    for (const process of this.#processes.values()) this.#jetStream.deafen(process);
  }

  /** Cuts the links of processes to the broker or the platform for good. */
  cut(processes: readonly Process[], far: Far): void {
    for (const process of processes) this.#cutFor(process, far, Infinity);
  }

  mend(far: Far): void {
    for (const cut of this.#cut.values()) cut.delete(far);
  }

  get alive(): readonly Process[] {
    return [...this.#processes.values()].filter(({ isAlive }) => isAlive);
  }

  get asked(): number {
    return this.#jetStream.asked;
  }

  /** The NATS server to which these are connected loses its peers for good. */
  isolateWith(processes: readonly Process[]): void {
    this.#jetStream.isolateWith(processes);
  }

  /** Sets the servers' clock back. */
  keepKeys(ms: number): void {
    this.#jetStream.keepKeys(ms);
  }

  #cutFor(process: Process, far: Far, ms: number): void {
    const cut = this.#cut.get(process);
    if (cut === undefined || cut.has(far)) return;
    cut.add(far);
    // Without a network the time server is gone as well.
    if (far === "nats" && this.#chance.hits(0.3))
      this.#setWall(process, this.#chance.between(-90_000, 90_000));
    // The broker notices by its keepalive.
    if (far === "broker" && this.#connected?.process === process) this.#drop();
    if (ms === Infinity) return;
    this.time.in(ms, () => {
      cut.delete(far);
      if (far === "nats") this.#jetStream.healed(process);
    });
  }

  #setWall(process: Process, byMs: number): void {
    this.#leases.look();
    process.setWall(byMs);
    this.#leases.look();
  }

  /** Standby members start without a time server, mostly ahead. The owner dies, and the clocks are set right later. */
  #wrongClocks(until: number): void {
    const chance = this.#chance;
    const { owner } = this;
    const byMs = chance.of([3_600_000, 3_600_000, 600_000, -3_600_000]);
    const wrong = this.alive.filter((one) => one !== owner);
    const rightAfterMs = chance.of([
      chance.between(10_000, 30_000),
      chance.between(0, until - this.time.now),
    ]);
    for (const process of wrong) {
      this.#setWall(process, byMs);
      this.time.in(rightAfterMs, () => this.#setWall(process, -byMs));
      // The platform tells the time before or after the clock is set right.
      this.#cutFor(process, "platform", chance.between(0, 40_000));
    }
    if (owner !== null && chance.hits(0.8))
      this.time.in(chance.between(0, 3_000), () => this.#restart(owner, 60_000));
  }

  /** Its network fails: the broker returns soon, NATS later, and often not before the process dies. */
  #stumble(process: Process, ms: number): void {
    this.#cutFor(process, "nats", ms);
    this.#cutFor(process, "broker", Math.min(ms, this.#chance.between(100, 2_000)));
    if (this.#chance.hits(0.5))
      this.time.in(this.#chance.between(0, 6_000), () => this.#restart(process, 5_000));
  }

  #restart(process: Process, afterMs: number): void {
    if (this.#isLeaving(process)) return;
    // Some of them end cleanly.
    if (this.#chance.hits(0.3)) this.#leave(process, afterMs);
    else this.#killed(process, afterMs);
  }

  #sleep(process: Process): void {
    this.#sleeping = null;
    const other = [...this.#processes.values()].find((one) => one !== process && !this.#isLeaving(one));
    if (other !== undefined && this.#chance.hits(0.3)) this.#nap(process, other);
    else process.stop(this.#chance.between(10_000, 60_000), this.#chance.hits(0.3));
    // The clock of a computer may be set when it wakes.
    if (this.#chance.hits(0.5)) this.#setWall(process, this.#chance.between(-90_000, 0));
  }

  /** A sleep shorter than its lease, whose key the servers lose, while another member starts that never saw it. */
  #nap(process: Process, other: Process): void {
    process.stop(this.#chance.between(3_000, 6_000), false);
    this.#jetStream.forgetKeys();
    this.#killed(other, 10);
  }

  #leaveWithNextEntry(): void {
    const process = this.#leaving;
    this.#leaving = null;
    this.#leavingWithEntry = process;
    // In case there is none.
    this.time.in(5_000, () => {
      if (process !== null && process === this.#leavingWithEntry) this.#leave(process, 5_000);
    });
  }

  /** The journal is slow, and a stop does not wait for it. */
  #leaveWithStop(): void {
    const { owner } = this;
    if (owner === null) return;
    this.#leavingWithStop = owner;
    this.#jetStream.holdUp(owner, this.#chance.between(500, 8_000));
    this.#stops += 1;
    this.send(`stop-${this.#stops}`, true);
  }

  #isLeaving(process: Process): boolean {
    return !process.isAlive || this.#ends.get(process)?.signal.aborted === true;
  }

  /** Stops the process cleanly, for which it has some seconds. */
  #leave(process: Process, afterMs: number): void {
    this.#leavingWithEntry = null;
    this.#leavingWithStop = null;
    if (this.#isLeaving(process)) return;
    this.#ends.get(process)?.abort();
    this.time.in(9_000, () => this.#killed(process, afterMs));
  }

  #killed(process: Process, afterMs: number): void {
    this.kill(process);
    this.time.in(afterMs, () => this.start(process.id));
  }

  kill(process: Process): void {
    process.kill();
    if (this.#connected?.process === process) this.#connected = null;
  }

  /** The process that took over last. */
  get owner(): Process | null {
    return this.begun.at(-1)?.process ?? null;
  }

  calm(): void {
    this.#sleeping = null;
    this.#leaving = null;
    this.#leavingWithEntry = null;
    this.#leavingWithStop = null;
    this.#jetStream.isCalm = true;
    for (const process of this.#processes.values()) process.pauses = 0;
  }

  /** No member runs an account that its folder does not have, and each runs all that it has. */
  judgeRuns(): void {
    for (const process of this.alive)
      if (this.#runs.get(process) !== 1)
        this.violations.push(
          `the account runs ${this.#runs.get(process) ?? 0} times in ${process.id} after a calm time`,
        );
  }

  /** The entry of a dead member must vanish from the bucket. */
  judgeBucket(dead: Process): void {
    if (this.#jetStream.has(memberKey(dead.id)))
      this.violations.push(`${dead.id} has been dead for minutes, and stands in the bucket`);
  }

  #text(): string {
    return this.#jetStream.entries.map(({ data }) => Buffer.from(data).toString()).join("");
  }

  /** The next owner gets the stop from the broker as well, and records it again. */
  #isRecorded({ id, by }: Post): boolean {
    return this.#recorded.get(by)?.has(id) === true;
  }

  /** Every due lease has ended. */
  judgeLeases(): void {
    this.violations.push(...this.#leases.missing(this.time.now));
  }

  get leases(): number {
    return this.#leases.count;
  }

  /**
   * Every command that the broker acknowledged to its sender has one result, as long as the broker has room for those
   * waiting.
   */
  judgeTold(): void {
    for (const { id, told, at } of this.commands.values())
      if (told.size === 0 && !this.#roomMade.has(id))
        this.violations.push(`${id}, sent at ${at}, has no result`);
  }

  /** Judges everything that the journal acknowledged. */
  judgeJournal(): void {
    const text = this.#text();
    const results = new Map<string, string[]>();
    for (const [, id = "", outcome = ""] of text.matchAll(/"result":\{"id":"([^"]+)","outcome":"([^"]+)"/g))
      results.set(id, [...(results.get(id) ?? []), outcome]);
    for (const [id, outcomes] of results)
      if (outcomes.length > 1) this.violations.push(`the journal ends ${id} as ${outcomes.join(" and as ")}`);
    for (const { id } of this.posts)
      if (!results.has(id) && text.includes(`"id":"${id}"`))
        this.violations.push(`${id} was POSTed, and the journal has no result of it`);
    for (const [id, outcomes] of results) {
      const told = this.commands.get(id)?.told;
      if (told?.size === 0) this.violations.push(`the result of ${id}, ${outcomes.join()}, was never told`);
    }
  }
}

/** Runs one history from its seed, and returns the judge's findings. */
export async function historyOf(seed: number, trouble: Trouble = troubleOf(seed)): Promise<History> {
  const world = new World(seed, trouble);
  const chance = new Chance(seed, "sender");
  const ids = Array.from({ length: trouble.members }, (_, n) => `member-${n + 1}`);
  for (const id of ids) world.time.in(chance.between(1, 5_000), () => world.start(id));
  await world.time.runUntil(60_000);
  const until = 60_000 + trouble.forMs;
  let count = 0;
  world.every(trouble.commandsPerMinute, until + calmMs, () => {
    count += 1;
    const id = `c${count}`;
    world.send(id, chance.hits(0.2));
  });
  let place = 0;
  world.every(trouble.leasesPerMinute, until, () => {
    place += 1;
    world.sendLease(place);
  });
  world.disturb(until);
  await world.time.runUntil(until + 1_000);
  world.calm();
  await world.time.runUntil(until + calmMs - 60_000);
  if (chance.hits(0.5)) world.deafen();
  world.judgeRuns();
  const asked = world.asked;
  await world.time.runUntil(until + calmMs);
  const askedPerMinute = (world.asked - asked) / trouble.members;
  await reachMoves(world, chance.of(["broker", "platform"]));
  const taken = await takeOver(world, chance.of(["quiet", "quiet", "quiet", "set back", "isolated"]));
  world.judgeJournal();
  world.judgeTold();
  world.judgeLeases();
  return {
    ...taken,
    askedPerMinute,
    violations: world.violations,
    posts: world.posts.length,
    commands: world.commands.size,
    takeOvers: world.begun.length,
    leases: world.leases,
  };
}

/**
 * An account stays if nobody reaches more than its owner. It leaves an owner that alone is cut off for one that is not,
 * and does not move again at once when that one is cut off instead.
 */
async function reachMoves(world: World, far: "broker" | "platform"): Promise<void> {
  const after = (ms: number) => world.time.runUntil(world.time.now + ms);
  const moves = world.moves;
  world.cut(world.alive, far);
  await after(100_000);
  if (world.moves > moves) world.violations.push(`given up where nobody reaches the ${far}`);
  world.mend(far);
  await after(30_000);
  const first = world.owner;
  if (first === null) return;
  world.cut([first], far);
  await after(100_000);
  const second = world.owner;
  if (second === null || second === first) {
    world.violations.push(`an owner that alone is cut from the ${far} keeps the account`);
    world.mend(far);
    return;
  }
  world.mend(far);
  const isMoved = world.moves > moves;
  world.cut([second], far);
  await after(100_000);
  if (isMoved && world.owner !== second)
    world.violations.push(`the account goes on within five minutes, for the ${far}`);
  world.mend(far);
  // Then it may go back to the first in order.
  await after(300_000);
}

type Ending = "quiet" | "set back" | "isolated";

/** The owner dies in calm. Measures the time until another one reads, and carries out a command. */
async function takeOver(world: World, ending: Ending): Promise<Pick<History, "readingMs" | "commandMs">> {
  const { owner } = world;
  if (owner === null) {
    world.violations.push("nobody owns the account after a calm time");
    return { readingMs: Infinity, commandMs: Infinity };
  }
  const from = world.time.now;
  if (ending === "isolated") world.isolateWith(world.alive.filter((one) => one !== owner));
  world.kill(owner);
  if (ending === "set back") world.keepKeys(200_000);
  let n = 0;
  world.every(120, from + 90_000, () => {
    n += 1;
    world.send(`probe-${n}`, false);
  });
  await world.time.runUntil(from + 240_000);
  if (ending !== "set back") world.judgeBucket(owner);
  const reading = world.begun.find(({ at }) => at > from);
  const first = world.posts.find(({ id, at }) => at > from && id.startsWith("probe-"));
  const readingMs = (reading?.at ?? Infinity) - from;
  const commandMs = (first?.at ?? Infinity) - from;
  if (readingMs > 30_000) world.violations.push(`${ending}: the first reading after ${readingMs} ms`);
  if (commandMs > 60_000) world.violations.push(`${ending}: the first command after ${commandMs} ms`);
  return { readingMs, commandMs };
}
