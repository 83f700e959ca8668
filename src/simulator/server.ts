import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlatformHost } from "../greenhouse/platform-error.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";
import { parseJson } from "./call.js";
import { controlView, performControl, type ControlReply, type ServerControl } from "./control-requests.js";
import { createControl } from "./control.js";
import { answer, perform } from "./http-exchange.js";
import { bodyOf, targetOf, type Target } from "./http-request.js";
import { Listener } from "./listener.js";
import { hostOf } from "./operations.js";
import { createPlatform, respond } from "./platform-model.js";
import type { PlatformOptions } from "./platform-options.js";
import type { PlatformState } from "./platform-state.js";
import { PushServer } from "./push-server.js";

export interface SimulatorOptions extends PlatformOptions {
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Port of the business host, and of both where `realtimePort` is absent. Default 0: any free one. */
  readonly port?: number;
  /** A port of its own for the realtime host; 0: any free one. */
  readonly realtimePort?: number;
  /**
   * Port of the controls under `/_simulator/`; absent: the same port as the platform, null: none. With a port of their
   * own (or two platform ports) a host that is down really refuses connections.
   */
  readonly controlPort?: number | null;
  /** How often the push channels look for news, real ms. Default 250. */
  readonly pushIntervalMs?: number;
}

export interface SimulatorParts {
  readonly clock: Clock;
  /** Chooses the seed when none is given. */
  readonly random?: Random;
  readonly log?: Logger;
}

export interface Simulator {
  readonly port: number;
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  /** Where `/_simulator/` is served; null when it is not. */
  readonly controlUrl: string | null;
  readonly control: ServerControl;
  /** The platform itself, for whoever runs it in the same process. */
  readonly state: PlatformState;
  /** Push connections that are open now. */
  pushConnections(): number;
  close(): Promise<void>;
}

/**
 * Starts the simulated platform over real HTTP and WebSocket. Rejects when a port is taken. The promise resolves once
 * both hosts answer.
 */
export async function startSimulator(options: SimulatorOptions, parts: SimulatorParts): Promise<Simulator> {
  const seed = options.seed ?? (parts.random ? Math.floor(parts.random() * 2 ** 31) : 1);
  const state = createPlatform({ ...options, seed }, parts.clock.now());
  const running = new RunningSimulator(state, options, parts);
  await running.open();
  parts.log?.info({ seed, profile: state.settings.profile }, `simulated platform at ${running.businessUrl}`);
  return running;
}

class RunningSimulator implements Simulator {
  readonly state: PlatformState;
  readonly control: ServerControl;
  readonly #clock: Clock;
  readonly #log: Logger | undefined;
  readonly #push: PushServer;
  readonly #pushIntervalMs: number;
  readonly #address: string;
  readonly #platform: Listener;
  readonly #realtime: Listener | null;
  readonly #controls: Listener | null;
  readonly #servesControls: boolean;
  readonly #stopped = new AbortController();
  #ticking: Promise<void> = Promise.resolve();

  constructor(state: PlatformState, options: SimulatorOptions, parts: SimulatorParts) {
    this.state = state;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#push = new PushServer(state);
    this.#pushIntervalMs = options.pushIntervalMs ?? 250;
    this.#address = options.host ?? "127.0.0.1";
    const isSplit = options.realtimePort !== undefined;
    this.#servesControls = options.controlPort === undefined;
    this.#platform = this.#listener(options.port ?? 0, isSplit ? "business" : null);
    this.#realtime = isSplit ? this.#listener(options.realtimePort, "realtime") : null;
    this.#controls = typeof options.controlPort === "number" ? this.#listener(options.controlPort, "controls") : null;
    this.control = this.#serverControl();
  }
