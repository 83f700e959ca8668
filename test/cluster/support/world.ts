import { Answers } from "../../../src/cluster/answers.js";
import { Cluster, leaseMs, type OwnedRun } from "../../../src/cluster/cluster.js";
import { bucketLimits } from "../../../src/cluster/lease.js";
import { memberKey } from "../../../src/cluster/view.js";
import { type FleetFiles, hashOf } from "../../../src/config/fleet.js";
import { Fleet } from "../../../src/fleet/fleet.js";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import { silentLog } from "../../../src/runtime/log.js";
import { loaded, platform } from "../../config/loading.js";
import { SimulatedDisk } from "../../simulation/disk.js";
import { Chance } from "../../simulation/scenario.js";
import { WallClock, worldTime } from "../../simulation/time.js";
import { JetStreamModel } from "./jetstream-model.js";
import { ModelBridge, type Surroundings } from "./model-bridge.js";
import { Process } from "./process.js";

/** Between whom a link may be cut. */
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
  readonly at: number;
  readonly told: Set<string>;
}

/** What the judge has against a history, and how long what was promised took. */
export interface History {
  readonly violations: readonly string[];
  readonly posts: number;
  readonly commands: number;
  readonly takeOvers: number;
  /** Of the last, which nothing disturbs: ms to the first reading and to the first command taken. */
  readonly readingMs: number;
  readonly commandMs: number;
  /** Of one member in a minute, in calm: what it asks of the NATS servers. */
  readonly askedPerMinute: number;
}

export interface Trouble {
  readonly members: number;
  /** Ms in which links are cut, processes stopped and killed, clocks set and servers gone. */
  readonly forMs: number;
  readonly pauses: number;
  readonly cutsPerMinute: number;
  readonly stopsPerMinute: number;
  readonly killsPerMinute: number;
  readonly outagesPerMinute: number;
  readonly jumpsPerMinute: number;
  readonly commandsPerMinute: number;
  /** Owners that are stopped in order while a POST is under way, and an entry on its way to the journal. */
  readonly leavesPerMinute: number;
  /** Owners that sleep before the first byte of a POST, mostly until another member has the account. */
  readonly sleepsPerMinute: number;
  /** Members that are told nothing any more of what others do. */
  readonly deafPerMinute: number;
  /** NATS servers that lose their peers. */
  readonly isolationsPerMinute: number;
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
  };
}

const postError = (kind: "withheld" | "timeout", sent: boolean) =>
  new PlatformError(kind, { kind, host: "realtime", operation: "set-value", sent });

const account = "north";
/** What a member may find in the folder of accounts: the file of one, two contents of it that differ, or nothing. */
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
/** From the end of all trouble: what was open is read back, and one owner is there. */
const calmMs = 240_000;

class World {
  readonly time = worldTime();
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
  /** What the folder of accounts of a member has. */
  readonly #folders = new Map<string, FleetFiles>();
  readonly #overdue = new Set<Process>();
  /** So often the account runs in a process, or stands by. */
  readonly #runs = new Map<Process, number>();
  readonly #shown = new Set<string>();
  /** What the broker holds for the client id of the account. */
  readonly #kept = new Map<string, boolean>();
  #connected: { readonly process: Process; readonly on: Parameters<Surroundings["connect"]>[1] } | null =
    null;
  #started = 0;
  /** To sleep before its next POST. */
  #sleeping: Process | null = null;
  /** To be stopped in order once a POST of it is under way, */
  #leaving: Process | null = null;
  /** and that in the moment in which its next entry is on its way to the journal. */
  #leavingWithEntry: Process | null = null;
  /** Each time that a bridge began to run, which is when its owner may act. */
  readonly begun: { readonly at: number; readonly process: Process }[] = [];
  /** So often an owner gave the account up to a member that reaches more. */
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
    this.#jetStream.onState = (process) => {
      for (const other of this.#processes.values())
        if (other !== process && this.#chance.hits(0.5)) this.time.in(1, () => other.wake());
    };
  }

  #isCut(process: Process, far: Far): boolean {
    return this.#cut.get(process)?.has(far) === true;
  }

  /** A member starts, or starts again on its own disk. */
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
    const answers = new Answers({ clock, onMute: () => this.#jetStream.reconnect(process) });
    const cluster = new Cluster({
      id,
      bucket: answers.bucket(this.#jetStream.bucketOf(process)),
      clock,
      upMs: process.upMs,
      hash: hashOf,
      leaseMs,
      files,
      reaches: async (far) => {
        await clock.wait(50);
        return !this.#isCut(process, far === "broker" ? far : "platform");
      },
      openStream: () => Promise.resolve(answers.stream(this.#jetStream.streamOf(process))),
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
      await new ModelBridge(run, process, files, this.#surroundings).run(dataDir);
    };
    const own = (stop: AbortSignal) => this.#within(process, () => cluster.own(owned, run, stop));
    if (this.#trouble.reloadsPerMinute > 0) this.#startFleet(process, own, end.signal);
    else void own(end.signal);
  }

  /** Where the files are read again the account is one of a fleet. */
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
      noteError: (_, error) => this.violations.push(`${this.time.now}: ${id} fails: ${String(error)}`),
      clock,
      random: () => chance.random(),
      log: {
        ...silentLog,
        error: (...said: unknown[]) => this.#noteOverdue(process, said.at(-1)),
      },
    });
    this.#fleets.set(process, fleet);
    void fleet.run(folder, stop);
  }

  /** It said that it waits no longer for a run that does not end. */
  #noteOverdue(process: Process, said: unknown): void {
    if (typeof said === "string" && said.includes("has not ended in a minute")) this.#overdue.add(process);
  }

  /** An account of a name runs once, but beside a run that was waited for a minute. */
  async #within(process: Process, own: () => Promise<void>): Promise<void> {
    const count = (this.#runs.get(process) ?? 0) + 1;
    this.#runs.set(process, count);
    if (count > 1 && !this.#overdue.has(process))
      this.violations.push(`${this.time.now}: the account runs ${count} times in ${process.id}`);
    try {
      await own();
    } finally {
      this.#runs.set(process, (this.#runs.get(process) ?? 0) - 1);
    }
  }

  /** The account's file changes, or is gone for a while, and each time the member is told to read the files again. */
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
      // Somebody who is not sure whether the signal came.
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
        const isLeaving = process === this.#leaving;
        const isAnswered = !isLeaving && this.#chance.hits(0.9);
        const takesMs = isAnswered ? this.#chance.logUniform(20, 5_000) : controlMs;
        const inMs = isLeaving ? this.#chance.between(5, controlMs) : this.#chance.logUniform(5, takesMs);
        if (isLeaving) this.#leaveWithNextEntry();
        this.#posted(process, id, this.time.now + inMs);
        this.time.in(inMs, () => this.#shown.add(id));
        await process.clock.wait(takesMs);
        if (!isAnswered || this.#isCut(process, "platform")) throw postError("timeout", true);
        return { requestId: null, code: "200" };
      },
    }),
    read: async (process, id) => {
      await process.clock.wait(50);
      return this.#isCut(process, "platform") ? null : this.#shown.has(id);
    },
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
        for (const [id, isStop] of this.#kept) this.#give(id, isStop, true);
      });
    },
    disconnect: (process) => {
      if (this.#connected?.process === process) this.#connected = null;
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

  #posted(process: Process, id: string, carriedOutAt: number): void {
    const { owner } = this;
    if (owner !== process)
      this.violations.push(
        `${this.time.now}: ${process.id} POSTs ${id}, and ${String(owner?.id)} is the owner`,
      );
    // A stop does not wait for the journal, so that its next owner may not know of it.
    const isStop = this.commands.get(id)?.isStop === true;
    if (!isStop && this.posts.some((post) => post.id === id))
      this.violations.push(`${this.time.now}: ${id} is POSTed twice`);
    // A stop that the journal did not take in time the next owner cannot know of.
    const isKnown = (post: Post) => this.commands.get(post.id)?.isStop !== true || this.#isRecorded(post.id);
    const other = this.posts.find(
      (post) => post.by !== process && post.carriedOutAt > this.time.now && isKnown(post),
    );
    if (!isStop && other !== undefined)
      this.violations.push(
        `${this.time.now}: ${id} is POSTed while ${other.id} of ${other.by.id} is under way`,
      );
    this.posts.push({ id, at: this.time.now, by: process, carriedOutAt });
  }

  #told(id: string, outcome: string): void {
    const command = this.commands.get(id);
    if (command === undefined) return;
    command.told.add(outcome);
    if (command.told.size > 1)
      this.violations.push(`${this.time.now}: ${id} ends as ${[...command.told].join(" and as ")}`);
  }

  /** The broker acknowledges it to its sender, and keeps it until whoever runs the account has acknowledged it. */
  send(id: string, isStop: boolean): void {
    this.commands.set(id, { id, isStop, at: this.time.now, told: new Set() });
    this.#kept.set(id, isStop);
    this.#give(id, isStop, false);
  }

  #give(id: string, isStop: boolean, isKept: boolean): void {
    const connected = this.#connected;
    if (connected === null || this.#isCut(connected.process, "broker")) return;
    const acknowledge = () => {
      if (this.#connected === connected && !this.#isCut(connected.process, "broker")) this.#kept.delete(id);
    };
    this.time.in(this.#chance.logUniform(1, 30), () =>
      connected.process.goOn(() => connected.on.command({ id, isStop, isKept, acknowledge })),
    );
  }

  /** Every so often, until `until`. */
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
    this.every(jumpsPerMinute, until, () => one().setWall(chance.between(-100_000, 100_000)));
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

  /** What all watches hang on is gone. */
  deafen(): void {
    for (const process of this.#processes.values()) this.#jetStream.deafen(process);
  }

  /** For good: the link of a process to the broker or the platform. */
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

  /** The NATS server to which these have their links loses its peers, for good. */
  isolateWith(processes: readonly Process[]): void {
    this.#jetStream.isolateWith(processes);
  }

  /** The servers' clock is set back. */
  keepKeys(ms: number): void {
    this.#jetStream.keepKeys(ms);
  }

  #cutFor(process: Process, far: Far, ms: number): void {
    const cut = this.#cut.get(process);
    if (cut === undefined || cut.has(far)) return;
    cut.add(far);
    // Without a network the time server is gone as well.
    if (far === "nats" && this.#chance.hits(0.3)) process.setWall(this.#chance.between(-90_000, 90_000));
    // The broker notices by its keepalive.
    if (far === "broker" && this.#connected?.process === process) this.#drop();
    if (ms === Infinity) return;
    this.time.in(ms, () => {
      cut.delete(far);
      if (far === "nats") this.#jetStream.healed(process);
    });
  }

  /** Its network fails; the broker is back soon, NATS later, and often not before the process dies. */
  #stumble(process: Process, ms: number): void {
    this.#cutFor(process, "nats", ms);
    this.#cutFor(process, "broker", Math.min(ms, this.#chance.between(100, 2_000)));
    if (this.#chance.hits(0.5))
      this.time.in(this.#chance.between(0, 6_000), () => this.#restart(process, 5_000));
  }

  #restart(process: Process, afterMs: number): void {
    if (this.#isLeaving(process)) return;
    // Some of them in order.
    if (this.#chance.hits(0.3)) this.#leave(process, afterMs);
    else this.#killed(process, afterMs);
  }

  #sleep(process: Process): void {
    this.#sleeping = null;
    const other = [...this.#processes.values()].find((one) => one !== process && !this.#isLeaving(one));
    if (other !== undefined && this.#chance.hits(0.3)) this.#nap(process, other);
    else process.stop(this.#chance.between(10_000, 60_000), this.#chance.hits(0.3));
    // The clock of a computer may be set when it wakes.
    if (this.#chance.hits(0.5)) process.setWall(this.#chance.between(-90_000, 0));
  }

  /** Shorter than its lease, of which the servers lose the key; another member starts that never saw it. */
  #nap(process: Process, other: Process): void {
    process.stop(this.#chance.between(3_000, 6_000), false);
    this.#jetStream.forgetKeys();
    this.#killed(other, 10);
  }

  #leaveWithNextEntry(): void {
    const process = this.#leaving;
    this.#leaving = null;
    this.#leavingWithEntry = process;
    // Where there is none.
    this.time.in(5_000, () => {
      if (process !== null && process === this.#leavingWithEntry) this.#leave(process, 5_000);
    });
  }

  #isLeaving(process: Process): boolean {
    return !process.isAlive || this.#ends.get(process)?.signal.aborted === true;
  }

  /** In order: it has some seconds for that. */
  #leave(process: Process, afterMs: number): void {
    this.#leavingWithEntry = null;
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

  /** Who took over last. */
  get owner(): Process | null {
    return this.begun.at(-1)?.process ?? null;
  }

  calm(): void {
    this.#sleeping = null;
    this.#leaving = null;
    this.#leavingWithEntry = null;
    this.#jetStream.isCalm = true;
    for (const process of this.#processes.values()) process.pauses = 0;
  }

  /** No member runs what its folder does not have, and each has what that has. */
  judgeRuns(): void {
    for (const process of this.alive)
      if (this.#runs.get(process) !== 1)
        this.violations.push(
          `the account runs ${this.#runs.get(process) ?? 0} times in ${process.id} after a calm time`,
        );
  }

  /** What a dead member had there vanishes. */
  judgeBucket(dead: Process): void {
    if (this.#jetStream.has(memberKey(dead.id)))
      this.violations.push(`${dead.id} has been dead for minutes, and stands in the bucket`);
  }

  #text(): string {
    return this.#jetStream.entries.map(({ data }) => Buffer.from(data).toString()).join("");
  }

  #isRecorded(id: string): boolean {
    return this.#text().includes(`"id":"${id}"`);
  }

  /** Every command that the broker acknowledged to its sender has one result. */
  judgeTold(): void {
    for (const { id, told, at } of this.commands.values())
      if (told.size === 0) this.violations.push(`${id}, sent at ${at}, has no result`);
  }

  /** Of everything that the journal acknowledged. */
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
      const told = this.commands.get(id)?.told ?? new Set();
      if (told.size === 0) this.violations.push(`the result of ${id}, ${outcomes.join()}, was never told`);
    }
  }
}

/** One history from its seed, and what the judge has against it. */
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
  return {
    ...taken,
    askedPerMinute,
    violations: world.violations,
    posts: world.posts.length,
    commands: world.commands.size,
    takeOvers: world.begun.length,
  };
}

/**
 * An account stays where nobody reaches more than its owner, goes from an owner that alone is cut off to one that is not, and does not go
 * on at once when that one is cut off in its place.
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

/** The owner dies in calm; how long it takes until another reads, and carries out a command. */
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
