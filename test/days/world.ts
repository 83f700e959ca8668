import { type BridgeView, loadAhead, runBridge } from "../../src/bridge.js";
import { loadConfiguration } from "../../src/config/load.js";
import { Journal } from "../../src/journal/journal.js";
import type { FaultSpec } from "../../src/simulator/faults.js";
import { Platform } from "../../src/simulator/platform.js";
import { BrokerLink } from "../simulation/broker.js";
import { filesInMemory } from "../simulation/bridge.js";
import { SimulatedDisk } from "../simulation/disk.js";
import { Chance } from "../simulation/scenario.js";
import { BootClock, WallClock, worldTime } from "../simulation/time.js";
import { calmNetwork, Wire, wayOver } from "../simulation/wire.js";
import { silentLog } from "../support/builders.js";

/*
 * One run of the program for weeks of a virtual clock. Unlike the simulation this world keeps nothing of what happened, so that what grows
 * is the program's. There are faults in it all the time, but in the last hour of each day.
 */

const epoch = Date.parse("2026-03-01T08:00:00Z");
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const calmHours = 1;
/** Small, so that it is full long before the first look. */
const journalBytes = 400_000;

/** What stands at the end of a day. */
export interface Look {
  readonly day: number;
  /** Timers of the program that have not fired. */
  readonly timers: number;
  readonly journal: { readonly bytes: number; readonly most: number };
  readonly retained: number;
  /** Commands that were given, and results that the broker has. */
  readonly asked: number;
  readonly results: number;
}

const faults: readonly FaultSpec[] = [
  { fault: "slow", delay: 4_000, chance: 0.02 },
  { fault: "reset", when: "before", chance: 0.02 },
  { fault: "http_status", status: 503, when: "before", chance: 0.01 },
  { fault: "truncated", chance: 0.005 },
  { fault: "timeout", when: "before", chance: 0.003 },
  { fault: "garbage", chance: 0.005 },
  { fault: "ignore", chance: 0.05 },
  { fault: "late", delay: 20_000, chance: 0.05 },
];

const actuators = {
  roof: "{ kind: skylight, address: 101, travel_time: 60s, settle: 2s }",
  fan: "{ kind: circulation_fan, address: 150, settle: 1s }",
  heater: "{ kind: heating_blower, address: 320, settle: 1s, limits: { for: 5m, at_most: 30m } }",
  mist: "{ kind: mist_cooling, address: 330, settle: 1s }",
};
const words: Readonly<Record<string, readonly string[]>> = {
  roof: ["open", "close", "30", "60"],
  fan: ["on", "off", "auto"],
  heater: ["on", "off"],
  mist: ["on", "off", "auto"],
};
const codes = ["GH-0001", "GH-0002"];

async function configuration() {
  const rows = Object.entries(actuators).map(([id, keys]) => `      ${id}: ${keys}`);
  const text = [
    "platform: { business_url: https://business.example.com, realtime_url: https://realtime.example.com, sign_in: { body: { account: a, password: b1 } }, push: { enabled: false } }",
    "mqtt: { url: mqtt://broker.example.com }",
    "data_dir: /data",
    "http: false",
    "alarms: { temperature: { high: 30, low: 10, deadband: 1, delay: 1m } }",
    "controllers:",
    ...codes.flatMap((code) => [`  ${code}:`, "    actuators:", ...rows]),
    "",
  ].join("\n");
  const loaded = await loadConfiguration("config.yaml", {
    readFile: (path) =>
      Promise.resolve(
        path === "config.yaml"
          ? { ok: true, bytes: new TextEncoder().encode(text), mode: 0o600 }
          : { ok: false, reason: "missing" },
      ),
    env: {},
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.configuration;
}

const nothing = () => undefined;

/** Runs the program for so many days; `onDay` is told at the end of each. */
export async function runDays(
  days: number,
  seed: number,
  onDay: (look: Look) => Promise<void>,
): Promise<void> {
  const world = new Days(await configuration(), seed);
  await loadAhead({ configuration: world.configuration });
  await world.run(days, onDay);
}

class Days {
  readonly configuration: Awaited<ReturnType<typeof configuration>>;
  readonly #time = worldTime();
  readonly #wall = new WallClock(this.#time, epoch);
  readonly #clock = new BootClock(this.#time, this.#wall);
  readonly #stop = new AbortController();
  readonly #retained = new Map<string, string>();
  readonly #chance: Chance;
  readonly #disk: SimulatedDisk;
  #wire: Wire;
  #link: BrokerLink | null = null;
  #journal: Journal | null = null;
  #made: BridgeView | null = null;
  #failure: unknown = null;
  #asked = 0;
  #results = 0;

  constructor(of: Days["configuration"], seed: number) {
    this.configuration = of;
    this.#chance = new Chance(seed, "days");
    this.#disk = new SimulatedDisk(this.#time, this.#wall, new Chance(seed, "disk"));
    this.#wire = this.#platform(seed);
  }

  /** Another one each day: it remembers what registers held and what it was sent, which is not the program's. */
  #platform(seed: number): Wire {
    const auth = { lifetimeMs: 2 * hourMs, refusal: 401, tokens: "known", checkRealtime: true } as const;
    const startAt = epoch + this.#time.now;
    const platform = new Platform({ controllers: codes.length, mix: "C001", seed, faults, auth }, startAt);
    return new Wire(platform, {
      time: this.#time,
      chance: this.#chance,
      names: { chance: this.#chance, troubles: [] },
      journalist: { note: nothing, saw: nothing, wire: () => null, arrived: nothing, answered: nothing },
      epoch,
      fail: this.#fail,
    });
  }

  async run(days: number, onDay: (look: Look) => Promise<void>): Promise<void> {
    const ended = this.#program();
    for (let day = 1; day <= days; day += 1) {
      this.#happenings();
      await this.#pass(dayMs);
      await onDay(this.#look(day));
      this.#wire = this.#platform(day);
      // Only the simulation asks what was written.
      for (const kept of [this.#disk.written, this.#disk.durable]) kept.clear();
    }
    this.#stop.abort();
    await this.#pass(60_000);
    await ended;
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= error;
  };

  async #pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.now + ms);
    if (this.#failure !== null) throw this.#failure as Error;
  }

  /** To the platform that there is when something is asked. */
  readonly #way: ReturnType<typeof wayOver> = (address, settings) => {
    const now = () => wayOver(this.#wire, this.#clock)(address, settings);
    return { ...now(), exchange: (call, headers) => now().exchange(call, headers) };
  };

  #program(): Promise<void> {
    const clock = this.#clock;
    const around = {
      ...{ clock, chance: this.#chance, retained: this.#retained, fail: this.#fail },
      onLinked: nothing,
      onStood: nothing,
      onGroupResult: nothing,
      onResult: () => () => {
        this.#results += 1;
      },
    };
    const running = runBridge(
      {
        ...{ configuration: this.configuration, clock, random: this.#chance.random, log: silentLog },
        ...{ version: "simulated", setLogLevel: nothing },
        loopDelay: { enable: () => true, disable: () => true, reset: nothing, percentile: () => 0 },
        openJournal: () => this.#openJournal(),
        outside: {
          files: filesInMemory(),
          platform: { way: this.#way, deriveKey: () => Promise.resolve(Buffer.alloc(32)) },
          connect: (settings, { gaps }) => (this.#link = new BrokerLink(around, settings, gaps)),
        },
        onMade: (made) => (this.#made = made),
      },
      this.#stop.signal,
    );
    running.catch(this.#fail);
    return running;
  }

  async #openJournal() {
    const journal = await Journal.open("/data/journal", {
      ...{ clock: this.#clock, log: silentLog, boot: "boot", kernel: "power" },
      files: this.#disk.mount(this.#clock),
      limits: { fileBytes: journalBytes / 10, totalBytes: journalBytes, youngMs: hourMs },
    });
    this.#journal = journal;
    return { journal, inPlace: () => Promise.resolve(), close: () => journal.close() };
  }

  /** What goes wrong in a day, and what people do. */
  #happenings(): void {
    const troubledMs = dayMs - calmHours * hourMs;
    const often = (perDay: number, what: () => void) => {
      for (let n = 0; n < perDay; n += 1) this.#time.in(this.#chance.between(0, troubledMs), what);
    };
    this.#wire.manners = { ...calmNetwork, connectFailure: 0.01, lostAnswer: 0.01, straggler: 0.002 };
    this.#time.in(troubledMs, () => (this.#wire.manners = calmNetwork));
    often(150, () => this.#command());
    often(4, () => this.#cutLink());
    often(2, () => this.#say("homeassistant/status", "online"));
    often(4, () => this.#say("greenhouse/bridge/request/health", "{}"));
    often(1, () => this.#say("greenhouse/bridge/request/refresh", "{}"));
    often(1, () => this.#fillDisk());
    often(2, () => this.#time.stall(this.#chance.logUniform(500, 30_000)));
    often(1, () => this.#wall.jump(this.#chance.between(-5_000, 5_000)));
  }

  #say(topic: string, payload: string): void {
    this.#link?.receive({ topic, payload: Buffer.from(payload), retain: false, properties: {} });
  }

  #command(): void {
    if (this.#link?.isLinked !== true) return;
    const id = this.#chance.of(Object.keys(actuators));
    this.#asked += 1;
    const payload = JSON.stringify({
      command: this.#chance.of(words[id] ?? []),
      id: `days-${this.#asked}`,
      by: "a grower",
    });
    this.#say(`greenhouse/${this.#chance.of(codes).toLowerCase()}/actuator/${id}/set`, payload);
  }

  #cutLink(): void {
    this.#link?.disconnect();
    this.#time.in(this.#chance.logUniform(1_000, 600_000), () => this.#link?.connect());
  }

  #fillDisk(): void {
    this.#disk.full = true;
    this.#time.in(this.#chance.logUniform(1_000, 300_000), () => (this.#disk.full = false));
  }

  #look(day: number): Look {
    return {
      day,
      timers: this.#clock.timers,
      journal: { bytes: this.#journal?.facts().bytes ?? 0, most: journalBytes },
      retained: this.#retained.size,
      asked: this.#asked,
      results: this.#results + (this.#made?.commands.outbox.waiting ?? 0),
    };
  }
}
