import { ignored } from "../runtime/failures.js";
import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { createControl, type SimulatorControl } from "./control.js";
import { advance } from "./events.js";
import { type FaultSpec, parseFaults } from "./faults.js";
import { Port, type PortParts } from "./http.js";
import { Platform, type PlatformOptions } from "./platform.js";
import { printableConfiguration } from "./printable-configuration.js";
import { PushServer } from "./push.js";
export { profileNames } from "./dialects.js";
export { readingNames } from "./readings.js";

export interface SimulatorOptions extends PlatformOptions {
  /** Port of the business host, and of both hosts without `realtimePort`. Default 0: any free one. */
  readonly port?: number;
  /** A separate port for the realtime host; 0: any free one. */
  readonly realtimePort?: number;
  /**
   * Port of the controls under `/_simulator/`; default: the business host's. A port with controls stays open while its
   * host is down, and breaks connections instead of refusing them.
   */
  readonly controlPort?: number;
  /** Pause between looks for changes to push, real ms. Default 250. */
  readonly pushIntervalMs?: number;
  /** A fault file as parsed JSON; its faults are added to those of `faults`. */
  readonly faultFile?: unknown;
}

/** A fault file with mistakes, one a line. */
export class FaultFileError extends Error {
  override name = "FaultFileError" as const;
}

export interface Simulator {
  readonly port: number;
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  /** Where `/_simulator/` is served. */
  readonly controlUrl: string;
  readonly control: SimulatorControl;
  /** The platform itself, for a program that runs it in the same process. */
  readonly state: Platform;
  /**
   * YAML lines for a configuration: addresses, a token that is accepted, and the actuators of the first greenhouses.
   */
  configuration(): string;
  /** The number of open push connections. */
  pushConnections(): number;
  /** Ends every connection; resolves when all ports are free again. */
  close(): Promise<void>;
}

/** Keeps the ports as outages demand, and the push channels going, from `open` to `close`. */
class ServerLife {
  readonly ports: Port[] = [];
  readonly #platform: Platform;
  readonly #push: PushServer;
  readonly #stopped = new AbortController();
  #ticking: Promise<void> = Promise.resolve();
  /** Changes of ports follow each other, or a host could come up while it is still going down. */
  #changing: Promise<void> = Promise.resolve();

  constructor(platform: Platform, push: PushServer) {
    this.#platform = platform;
    this.#push = push;
  }

  /** `tick` runs every `tickMs` from then on. */
  async open(clock: Clock, tickMs: number, tick: () => Promise<void>): Promise<void> {
    try {
      for (const port of this.ports) await port.open();
    } catch (error) {
      await this.close();
      throw error;
    }
    const { signal } = this.#stopped;
    const ticking = async () => {
      for (;;) {
        await clock.wait(tickMs, signal).catch(ignored);
        if (signal.aborted) return;
        await tick();
      }
    };
    this.#ticking = ticking();
  }

  /** Opens and closes ports so that hosts that are down refuse connections. */
  obeyOutages(now: number): Promise<void> {
    const change = this.#changing.then(() => this.#apply(now));
    this.#changing = change.catch(ignored);
    return change;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#ticking;
    await this.#changing;
    this.#push.close();
    for (const port of this.ports) await port.close();
  }

  async #apply(now: number): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const outageOf = (host: PlatformHost) => this.#platform.outageOf(host, now);
    if (outageOf("realtime") !== null) this.#push.drop();
    for (const port of this.ports) {
      const { controls, hosts } = port.parts;
      const isRefused = !controls && hosts.every((host) => outageOf(host) === "refuse");
      await (isRefused ? port.close() : port.open());
    }
  }
}

/**
 * Starts the simulated platform over real HTTP and WebSocket; resolves once both hosts answer. Rejects if a port is
 * taken, or with a FaultFileError.
 */
export async function startSimulator(
  options: SimulatorOptions,
  clock: Clock,
  log?: Logger,
): Promise<Simulator> {
  const now = () => clock.now();
  const faults = [...(options.faults ?? []), ...faultsIn(options.faultFile)];
  const state = new Platform({ ...options, faults }, now());
  const push = new PushServer(state);
  const life = new ServerLife(state, push);
  const obeyOutages = () => life.obeyOutages(now());
  const control = createControl(state, now, { obeyOutages, look: () => push.look() });
  const onFailure = (error: unknown) => log?.error({ err: error }, "the simulator failed to serve a request");
  const served = { platform: state, clock, push, control, onFailure };
  const { business, realtime, controls } = portsFor(options, served);
  life.ports.push(...new Set([business, realtime, controls]));
  const tick = async () => {
    advance(state, now());
    await obeyOutages();
    push.send();
  };
  await life.open(clock, options.pushIntervalMs ?? 250, () => tick().catch(onFailure));
  warnOfStrangers(state, log);
  const businessUrl = business.url;
  const realtimeUrl = realtime.url;
  const { seed, profile } = state.settings;
  log?.info({ seed, profile, url: businessUrl }, "simulated platform started");
  return {
    port: business.port,
    businessUrl,
    realtimeUrl,
    controlUrl: controls.url,
    control,
    state,
    configuration: () => printableConfiguration({ businessUrl, realtimeUrl, state }),
    pushConnections: () => push.count,
    close: () => life.close(),
  };
}

function faultsIn(file: unknown): readonly FaultSpec[] {
  if (file === undefined) return [];
  const { faults, errors } = parseFaults(file);
  if (errors.length > 0) throw new FaultFileError(errors.join("\n"));
  return faults;
}

function portsFor(
  { port = 0, realtimePort, controlPort }: SimulatorOptions,
  served: Omit<PortParts, "hosts" | "controls">,
) {
  const hosts = realtimePort === undefined ? (["business", "realtime"] as const) : (["business"] as const);
  const business = new Port(port, { ...served, hosts, controls: controlPort === undefined });
  const alone = { ...served, hosts: ["realtime"] as const, controls: false };
  const realtime = realtimePort === undefined ? business : new Port(realtimePort, alone);
  const controls =
    controlPort === undefined ? business : new Port(controlPort, { ...served, hosts: [], controls: true });
  return { business, realtime, controls };
}

function warnOfStrangers(state: Platform, log: Logger | undefined): void {
  for (const { controller } of state.settings.faults)
    if (controller !== undefined && !state.devices.has(controller))
      log?.warn(`a fault names ${controller}, which the simulated account does not have; it does nothing`);
}
