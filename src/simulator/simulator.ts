import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { createControl, type SimulatorControl } from "./control.js";
import { Listener, type PortRole, type RouterParts } from "./http.js";
import { type FaultSpec, parseFaults } from "./faults.js";
import { createPlatform } from "./platform-model.js";
import type { PlatformOptions, PlatformState } from "./platform-state.js";
import { printableConfiguration } from "./printable-configuration.js";
import { PushServer } from "./push-server.js";

/** Keeps the ports as the outages want them and the push channels talking, from `open` to `close`. */
class ServerLife {
  readonly #parts: Omit<RouterParts, "control">;
  readonly #tickMs: number;
  readonly #ports: Listener[] = [];
  readonly #stopped = new AbortController();
  #ticking: Promise<void> = Promise.resolve();
  /** Ports change one after the other, or a host could come up while it is still going down. */
  #changing: Promise<void> = Promise.resolve();

  constructor(parts: Omit<RouterParts, "control">, tickMs: number) {
    this.#parts = parts;
    this.#tickMs = tickMs;
  }

  add(port: Listener): Listener {
    this.#ports.push(port);
    return port;
  }

  async open(): Promise<void> {
    try {
      for (const port of this.#ports) await port.open();
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#ticking = this.#tick();
  }

  /** Opens and closes ports so that hosts that are down refuse connections. */
  obeyOutages(): Promise<void> {
    const change = this.#changing.then(() => this.#apply());
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#ticking;
    await this.#changing;
    this.#parts.push.close();
    for (const port of this.#ports) await port.close();
  }

  async #apply(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const { state, clock, push } = this.#parts;
    const outageOf = (host: PlatformHost) => {
      const outage = state.outages.get(host);
      return outage !== undefined && clock.now() < outage.until ? outage.how : null;
    };
    if (outageOf("realtime") !== null) push.drop();
    for (const port of this.#ports) {
      const { hosts, controls } = port.role;
      const isRefused = !controls && hosts.every((host) => outageOf(host) === "refuse");
      await (isRefused ? port.close() : port.open());
    }
  }

  async #tick(): Promise<void> {
    const { state, clock, push, failed } = this.#parts;
    const { signal } = this.#stopped;
    for (;;) {
      await clock.wait(this.#tickMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        state.advance(clock.now());
        await this.obeyOutages();
        push.send();
      } catch (error) {
        failed(error);
      }
    }
  }
}

export interface SimulatorOptions extends PlatformOptions {
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Port of the business host, and of both where `realtimePort` is absent. Default 0: any free one. */
  readonly port?: number;
  /** A port of its own for the realtime host; 0: any free one. */
  readonly realtimePort?: number;
  /**
   * Port of the controls under `/_simulator/`; absent: the business host's port. A port that also serves the controls stays
   * open while its host is down and breaks connections instead of refusing them.
   */
  readonly controlPort?: number;
  /** How often the push channels look for news, real ms. Default 250. */
  readonly pushIntervalMs?: number;
  /** A fault file as parsed JSON; its faults come beside those of `faults`. */
  readonly faultFile?: unknown;
}

/** A fault file that is not right, a line for each mistake. */
export class FaultFileError extends Error {
  override name = "FaultFileError" as const;
}

export interface SimulatorParts {
  readonly clock: Clock;
  readonly log?: Logger;
}

export interface Simulator {
  readonly port: number;
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  /** Where `/_simulator/` is served. */
  readonly controlUrl: string;
  readonly control: SimulatorControl;
  /** The platform itself, for a program that runs it in the same process. */
  readonly state: PlatformState;
  /** Lines of YAML to paste into a configuration: where it is, a token it takes, the actuators of its first greenhouses. */
  configuration(): string;
  /** Push connections that are open now. */
  pushConnections(): number;
  /** Ends every connection; resolves when all ports are free again. */
  close(): Promise<void>;
}

/**
 * Starts the simulated platform over real HTTP and WebSocket; resolves once both hosts answer, rejects when a port is
 * taken, or with a FaultFileError.
 */
export async function startSimulator(options: SimulatorOptions, parts: SimulatorParts): Promise<Simulator> {
  const { clock, log } = parts;
  const faults = [...(options.faults ?? []), ...faultsIn(options.faultFile)];
  const state = createPlatform({ ...options, faults }, clock.now());
  const { seed, profile } = state.settings;
  const push = new PushServer(state);
  const failed = (error: unknown) => log?.error({ err: error }, "the simulator failed to serve a request");
  const life = new ServerLife({ state, clock, push, failed }, options.pushIntervalMs ?? 250);
  const served = { obeyOutages: () => life.obeyOutages(), look: () => push.look() };
  const control = createControl(state, () => clock.now(), served);
  const ports = addPorts(life, options, { state, clock, push, control, failed });
  await life.open();
  warnOfStrangers(state, log);
  const businessUrl = urlOf(ports.business, options);
  const realtimeUrl = urlOf(ports.realtime, options);
  log?.info({ seed, profile, url: businessUrl }, "simulated platform started");
  return {
    port: ports.business.port,
    businessUrl,
    realtimeUrl,
    controlUrl: urlOf(ports.controls, options),
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

const usualAddress = "127.0.0.1";

function addPorts(life: ServerLife, options: SimulatorOptions, parts: RouterParts) {
  const { controlPort, realtimePort } = options;
  const port = (number: number, role: PortRole): Listener =>
    life.add(new Listener(options.host ?? usualAddress, number, role, parts));
  const business = port(options.port ?? 0, {
    hosts: realtimePort === undefined ? ["business", "realtime"] : ["business"],
    controls: controlPort === undefined,
  });
  const realtime =
    realtimePort === undefined ? business : port(realtimePort, { hosts: ["realtime"], controls: false });
  const controls = controlPort === undefined ? business : port(controlPort, { hosts: [], controls: true });
  return { business, realtime, controls };
}

function urlOf(listener: Listener, options: SimulatorOptions): string {
  const address = options.host ?? usualAddress;
  return `http://${address.includes(":") ? `[${address}]` : address}:${listener.port}`;
}

function warnOfStrangers(state: PlatformState, log: Logger | undefined): void {
  for (const { controller } of state.settings.faults)
    if (controller !== undefined && !state.devices.has(controller))
      log?.warn(`a fault names ${controller}, which the simulated account does not have; it does nothing`);
}
