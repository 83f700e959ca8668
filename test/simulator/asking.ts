import { expect } from "vitest";
import type { PlatformRequest } from "../../src/simulator/call.js";
import { createControl, type SimulatorControl } from "../../src/simulator/control.js";
import { hostOf } from "../../src/simulator/operations.js";
import { Platform, type PlatformOptions } from "../../src/simulator/platform.js";
import { type Decision, respond } from "../../src/simulator/respond.js";

/** A fixed day in May: 08:00 in Shanghai. */
const morning = Date.UTC(2026, 4, 10, 0, 0, 0);
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;

export type Json = Record<string, unknown>;

/** A platform in memory with a clock that is moved by hand. */
export class Asking {
  readonly state: Platform;
  readonly control: SimulatorControl;
  now: number;

  constructor(options: PlatformOptions = {}, now = morning) {
    this.now = now;
    this.state = new Platform({ registerLagMs: 0, ...options }, now);
    this.control = createControl(this.state, () => this.now);
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  decide(request: Partial<PlatformRequest> & { readonly path: string }): Decision {
    const whole: PlatformRequest = {
      host: hostOf(request.path),
      method: "GET",
      query: {},
      headers: { authorization: "Bearer t", "content-type": "application/json" },
      body: null,
      ...request,
    };
    return respond(this.state, whole, this.now);
  }

  get(path: string, query: Record<string, string> = {}): Json {
    return json(this.decide({ path, query }).body);
  }

  post(code: string, address: string | number, value: string): Decision {
    const body = JSON.stringify({ address, value, deviceCode: code });
    return this.decide({ path: "/api/set-value", method: "POST", body });
  }

  /** What the platform shows for an address (`flush=1` unless told otherwise). */
  read(code: string, address: string, flush = "1"): unknown {
    const { data } = this.get("/api/get-value", { deviceCode: code, address, flush });
    return object(data)[address];
  }

  /** Readings of the default profile by factor code. */
  readings(code: string): Record<string, unknown> {
    const { data } = this.get("/api/sensor-data", { deviceCode: code });
    return Object.fromEntries(list(data).map((item) => [String(item.factor), item.value]));
  }

  /** When the sensors of a device say that they were read. */
  sampledAt(code: string): number {
    const [item] = list(this.get("/api/sensor-data", { deviceCode: code }).data);
    return Date.parse(`${String(item?.dateTime).replace(" ", "T")}+08:00`);
  }

  number(code: string, factor: string): number {
    return Number(this.readings(code)[factor]);
  }

  level(code: string, address: string): number {
    return this.control.trueState(code, address).levels[0] ?? NaN;
  }
}

export const json = (text: string): Json => object(JSON.parse(text));

export function object(value: unknown): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`not an object: ${JSON.stringify(value)}`);
  return Object.fromEntries(Object.entries(value));
}

export function list(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) throw new Error(`not an array: ${JSON.stringify(value)}`);
  return value.map(object);
}

/* Vitest's asymmetric matchers are typed `any`; these are not. */
export const anyText: unknown = expect.any(String);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
