import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { type BridgeOptions, loadAhead, runBridge } from "../../src/bridge.js";
import type { Configuration } from "../../src/config/schema.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { Journal } from "../../src/journal/journal.js";
import { createPlatform, type PlatformClient } from "../../src/platform/client.js";
import { type Call, type HostWay, type HttpAnswer, TransportFailure } from "../../src/platform/http.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import { createControl, type SimulatorControl } from "../../src/simulator/control.js";
import { Platform, type PlatformOptions } from "../../src/simulator/platform.js";
import type { PlatformRequest } from "../../src/simulator/call.js";
import { type Decision, respond } from "../../src/simulator/respond.js";
import { loaded } from "../config/loading.js";
import { filesInMemory } from "../simulation/bridge.js";
import { BrokerLink } from "../simulation/broker.js";
import { SimulatedDisk } from "../simulation/disk.js";
import { Chance } from "../simulation/scenario.js";
import { BootClock, settled, WallClock, worldTime } from "../simulation/time.js";
import { silentLog } from "../support/builders.js";

/*
 * The simulated platform and the whole bridge on a virtual clock, without chance and without trouble: what is asked of the platform is
 * kept in the order of the calls.
 */

const epoch = Date.parse("2026-03-01T08:00:00Z");
const latencyMs = 5;
const secondMs = 1_000;

export type Section = Readonly<Record<string, unknown>>;

/** A file of the user that leads to the platform played here. */
export async function configured({ platform = {}, ...more }: Section): Promise<Configuration> {
  const section = {
    platform: {
      ...{ business_url: "https://business.example.com", realtime_url: "https://realtime.example.com" },
      ...{ requests_per_minute: 0, push: { enabled: false } },
      ...("sign_in" in (platform as Section) ? {} : { token: "plain-token" }),
      ...(platform as Section),
    },
    ...{ mqtt: { url: "mqtt://broker.example.com" }, data_dir: "/data", http: false, mirror: "listed" },
    homeassistant: { enabled: false },
    // Nothing but commands is to ask.
    polling: { controllers: "3h", sensors: "3h", running_status: "3h", actuators: "3h", stale_after: "9h" },
    ...more,
  };
  return (await loaded(JSON.stringify(section))).configuration;
}

/** A platform on a virtual clock, whoever answers. */
export abstract class PlayedWorld {
  readonly time = worldTime();
  readonly wall = new WallClock(this.time, epoch);
  readonly clock = new BootClock(this.time, this.wall);
  /** `GET /api/…`, `POST /api/set-value {…}`. */
  readonly log: { readonly call: string; readonly at: number; readonly answer: () => string }[] = [];
  /** Warnings of the program's log. */
  readonly warned: string[] = [];
  readonly logger = pino(
    { level: "warn" },
    { write: (line) => void this.warned.push((JSON.parse(line) as { readonly msg: string }).msg) },
  );
  /** In the data directory beside the journal: the command line uses what the bridge has left there. */
  readonly files = filesInMemory();

  /** What it answers to a request that arrives now. */
  protected abstract reply(
    request: PlatformRequest,
  ): Pick<Decision, "status" | "headers" | "body" | "delayMs">;

  get now(): number {
    return epoch + this.time.now;
  }

  pass(ms: number): Promise<void> {
    return this.time.runUntil(this.time.now + ms);
  }

  /** Time passes until it is there. */
  async during<T>(work: Promise<T>, mostMs = 600_000): Promise<T> {
    const open = Symbol("open");
    for (let passed = 0; passed <= mostMs; passed += secondMs) {
      const ended = await Promise.race([work, settled().then(() => open)]);
      if (ended !== open) return ended as T;
      await this.pass(secondMs);
    }
    throw new Error("not there after all this time");
  }

  readonly way = (address: string, { timeouts, concurrency }: PlatformSettings): HostWay => {
    const url = new URL(address);
    const host = url.hostname.startsWith("business") ? "business" : "realtime";
    return {
      ...{ url, semaphore: new Semaphore(concurrency), deadlineMs: () => timeouts.control },
      exchange: (call, headers) => this.#exchange(host, call, headers),
      preparePost: () => undefined,
      close: () => Promise.resolve(),
    };
  };

  #exchange(host: "business" | "realtime", call: Call, headers: readonly string[]): Promise<HttpAnswer> {
    if (call.mayBegin?.() === false) return Promise.reject(new TransportFailure("withheld", false, 0));
    const { method } = call.operation;
    const parts = [method, call.path, ...(call.body === undefined ? [] : [call.body])];
    let answer = "";
    this.log.push({ call: parts.join(" "), at: this.now, answer: () => answer });
    const url = new URL(call.path, "https://platform");
    const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ""]] : []));
    const request = {
      ...{ host, method, path: url.pathname, query: Object.fromEntries(url.searchParams) },
      ...{ headers: Object.fromEntries(pairs) as Record<string, string>, body: call.body ?? null },
    };
    return new Promise((resolve) => {
      this.time.in(latencyMs, () => {
        const { status, headers: own, body, delayMs } = this.reply(request);
        answer = body;
        this.time.in(delayMs + latencyMs, () => {
          const date = new Date(this.now).toUTCString();
          resolve({ status, headers: { ...own, date }, body: Buffer.from(body) });
        });
      });
    });
  }

  /** The client by itself, as the command line has it. */
  client(configuration: Configuration): PlatformClient {
    return createPlatform(configuration.platform, {
      ...{ clock: this.clock, random: () => 0.5, log: this.logger, dataDir: "/data", files: this.files },
      outside: { way: this.way, deriveKey: () => Promise.resolve(Buffer.alloc(32)) },
    });
  }
}

/** The simulated one. */
export class PlayedPlatform extends PlayedWorld {
  readonly state: Platform;
  readonly control: SimulatorControl;

  constructor(options: PlatformOptions) {
    super();
    this.state = new Platform({ controllers: 1, mix: "C001", ...options }, epoch);
    this.control = createControl(this.state, () => this.now);
  }

  protected override reply(request: PlatformRequest): Decision {
    return respond(this.state, request, this.now);
  }
}

/** The bridge over it, once it has subscribed. */
export class PlayedBridge {
  readonly results: CommandResult[] = [];
  readonly events: BridgeEvent[] = [];
  readonly retained = new Map<string, string>();
  readonly #platform: PlayedWorld;
  readonly #stop = new AbortController();
  readonly #chance = new Chance(1, "played");
  readonly #disk: SimulatedDisk;
  #link: BrokerLink | null = null;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | null = null;

  private constructor(platform: PlayedWorld) {
    this.#platform = platform;
    this.#disk = new SimulatedDisk(platform.time, platform.wall, this.#chance);
  }

  static async started(platform: PlayedWorld, configuration: Configuration): Promise<PlayedBridge> {
    // What is imported later takes real time, in which no virtual time may pass.
    await loadAhead({ configuration });
    const bridge = new PlayedBridge(platform);
    bridge.#running = runBridge(bridge.#options(configuration), bridge.#stop.signal).catch((error: unknown) =>
      bridge.#fail(error),
    );
    await platform.pass(20_000);
    return bridge;
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  #options(configuration: Configuration): BridgeOptions {
    const { clock, files, logger, way } = this.#platform;
    const chance = this.#chance;
    const disk = this.#disk.mount(clock);
    return {
      ...{ configuration, clock, random: chance.random, log: logger, version: "played" },
      setLogLevel: () => undefined,
      loopDelay: { enable: () => true, disable: () => true, reset: () => undefined, percentile: () => 0 },
      openJournal: async () => {
        const known = { clock, log: silentLog, boot: "boot", kernel: "kernel", files: disk };
        const journal = await Journal.open("/data/journal", known);
        return { journal, inPlace: () => Promise.resolve(), close: () => journal.close() };
      },
      outside: {
        files,
        platform: { way, deriveKey: () => Promise.resolve(Buffer.alloc(32)) },
        connect: (settings, { gaps }) =>
          (this.#link = new BrokerLink(
            {
              ...{ clock, chance, retained: this.retained },
              fail: (error) => this.#fail(error),
              ...{ onLinked: () => undefined, onStood: () => undefined, onGroupResult: () => undefined },
              onResult: (result) => {
                this.results.push(result);
                return () => undefined;
              },
            },
            settings,
            gaps,
          )),
        onEvent: (event) => void this.events.push(event),
      },
    };
  }

  send(code: string, actuator: string, payload: Section): void {
    const topic = `greenhouse/${code.toLowerCase()}/actuator/${actuator}/set`;
    const bytes = Buffer.from(JSON.stringify(payload));
    this.#link?.receive({ topic, payload: bytes, retain: false, properties: {} });
  }

  /** The result of a command; time passes until it is there. */
  async command(code: string, actuator: string, command: string, more: Section = {}): Promise<CommandResult> {
    const from = this.results.length;
    this.send(code, actuator, { command, ...more });
    const own = () =>
      this.results
        .slice(from)
        .find((one) => one.actuator === actuator && one.controller === code.toLowerCase());
    for (let passed = 0; passed < 400; passed += 1) {
      await this.#platform.pass(secondMs);
      if (this.#failure !== null) throw this.#failure;
      const result = own();
      if (result !== undefined) return result;
    }
    throw new Error(`${code}/${actuator} ${command} has no result`);
  }

  shown(topic: string): string {
    return this.retained.get(`greenhouse/${topic}`) ?? "";
  }

  /** The files of its journal, as they stand on the disk now, in a real directory. */
  async copyJournal(directory: string): Promise<void> {
    const disk = this.#disk.mount(this.#platform.clock);
    for (const name of await disk.list("/data/journal")) {
      const file = await disk.open(`/data/journal/${name}`, "r");
      const { bytes: length } = await disk.facts(`/data/journal/${name}`);
      const bytes = Buffer.alloc(length);
      await file.read(bytes, 0);
      await writeFile(join(directory, name), bytes);
    }
  }

  /** Whatever went wrong outside of commands is told by it. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#platform.pass(60_000);
    await this.#running;
    this.#platform.clock.kill();
    if (this.#failure !== null) throw this.#failure;
  }
}
