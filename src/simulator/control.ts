import type { PlatformHost } from "../greenhouse/ports.js";
import { typeNames } from "./account.js";
import type { PostRecord } from "./call.js";
import type { HeldValue, SimulatedController } from "./device.js";
import type { FaultSpec, Outage, PushMode } from "./faults.js";
import type { OperationName } from "./operations.js";
import type { PlatformState } from "./platform-state.js";

const hostsOf = (host: PlatformHost | "both"): readonly PlatformHost[] =>
  host === "both" ? ["business", "realtime"] : [host];

/** Who is in the account. */
export function accountControl(
  state: PlatformState,
): Controls<"addController" | "removeController" | "renameController" | "emptyList" | "codes"> {
  const known = (code: string) => {
    const device = state.devices.get(code);
    if (!device) throw new Error(`the simulated account has no device ${JSON.stringify(code)}`);
    return device;
  };
  return {
    addController: ({ code, name, type }) => {
      const [station] = state.account.stations;
      if (state.devices.has(code) || !station) throw new Error(`the simulated account already has ${code}`);
      if (type !== undefined && !typeNames.has(type))
        throw new Error(`unknown device type ${JSON.stringify(type)}`);
      const id = 500_000 + state.devices.size;
      state.replaceDevice({
        code,
        id,
        name: name ?? code,
        type: type ?? "C001",
        station,
        isController: true,
      });
    },
    removeController: (code) => {
      state.removeDevice(known(code).code);
    },
    renameController: (code, name) => {
      state.replaceDevice({ ...known(code), name });
    },
    emptyList: (how) => {
      state.listing = how === "null" ? "null" : how ? "empty" : "full";
    },
    codes: () => [...state.devices.keys()],
  };
}

/** What is wrong with the platform, and how its time passes. */
export function hostControl(
  state: PlatformState,
  now: () => number,
): Controls<
  "fault" | "clearFaults" | "hostDown" | "hostUp" | "expireTokens" | "acceptToken" | "push" | "skip"
> {
  return {
    fault: (spec) => {
      state.faults.arm(spec, now());
      state.advance(now());
    },
    clearFaults: () => {
      state.faults.clear();
      state.outages.clear();
      state.setPush("normal", Infinity);
    },
    hostDown: (host, how, forMs) => {
      for (const one of hostsOf(host)) state.outages.set(one, { until: now() + (forMs ?? Infinity), how });
    },
    hostUp: (host) => {
      for (const one of hostsOf(host)) state.outages.delete(one);
    },
    expireTokens: () => {
      state.tokens.expireAll();
    },
    acceptToken: (token) => {
      state.tokens.accept(token);
    },
    push: (mode) => {
      state.setPush(mode, Infinity);
    },
    skip: (ms) => {
      state.advance(now());
      state.timeline.skip(state.now, ms);
    },
  };
}

/** A device brought up to now; throws for a code the account does not have. */
export function controllerOf(state: PlatformState, now: () => number, code: string): SimulatedController {
  state.advance(now());
  const controller = state.controller(code);
  if (!controller) throw new Error(`the simulated account has no device ${JSON.stringify(code)}`);
  return controller;
}

/** What happens to a device and around it. */
export function deviceControl(
  state: PlatformState,
  now: () => number,
): Controls<"setOnline" | "moveByHand" | "storm" | "rain"> {
  const weather = (kind: "storm" | "rain", isOn: boolean) => {
    state.advance(now());
    if (!isOn) {
      state.sky.calm(state.simulatedNow);
      return;
    }
    state.sky.force(kind, state.simulatedNow, Infinity);
    state.protect(kind, null);
  };
  return {
    setOnline: (code, isOnline) => {
      controllerOf(state, now, code).disconnect(isOnline ? -Infinity : Infinity);
    },
    moveByHand: (code, address, value) => {
      const controller = controllerOf(state, now, code);
      if (controller.read(address) === null)
        throw new Error(`${code} has no address ${JSON.stringify(address)}`);
      controller.put(address, value, "hand");
    },
    storm: (isOn) => {
      weather("storm", isOn);
    },
    rain: (isOn) => {
      weather("rain", isOn);
    },
  };
}

/** What the sensors of a device report. */
export function sensorControl(
  state: PlatformState,
  now: () => number,
): Controls<"freezeSensors" | "unfreezeSensors" | "setSensor" | "clearSensor"> {
  const device = (code: string) => controllerOf(state, now, code);
  return {
    freezeSensors: (code) => {
      device(code).freeze(Infinity);
    },
    unfreezeSensors: (code) => {
      device(code).freeze(-Infinity);
    },
    setSensor: (code, sensor, raw) => {
      const controller = device(code);
      const names = controller.sample().items.flatMap((item) => [item.sensor.name, item.sensor.factor]);
      if (!names.includes(sensor)) throw new Error(`${code} has no sensor ${JSON.stringify(sensor)}`);
      controller.breakSensor(sensor, raw, Infinity);
    },
    clearSensor: (code, sensor) => {
      device(code).mendSensor(sensor);
    },
  };
}

/** What is really so at one address, whatever the platform tells. `at` of the values is real epoch ms. */
export interface TrueState {
  readonly value: string;
  /** Where each device behind the address stands, 0 to 1. */
  readonly levels: readonly number[];
  readonly isMoving: boolean;
  readonly isOnline: boolean;
  readonly held: readonly HeldValue[];
}

export interface NewController {
  readonly code: string;
  readonly name?: string;
  readonly type?: string;
}

/** What a person, a demo or a test can do to the simulated platform. Unknown codes throw an error that names them. */
export interface SimulatorControl {
  setOnline(code: string, isOnline: boolean): void;
  freezeSensors(code: string): void;
  unfreezeSensors(code: string): void;
  /** A sensor (name or factor) reports this, written as it stands, until `clearSensor`. */
  setSensor(code: string, sensor: string, raw: string | number | boolean | null): void;
  clearSensor(code: string, sensor: string): void;
  addController(added: NewController): void;
  removeController(code: string): void;
  renameController(code: string, name: string): void;
  emptyList(how: boolean | "null"): void;
  /** Somebody else sets a register, without the device's rules. */
  moveByHand(code: string, address: string, value: string): void;
  storm(isOn: boolean): void;
  rain(isOn: boolean): void;
  fault(spec: FaultSpec): void;
  /** Disarms every fault, brings back both hosts and the push channels; what already happened to devices stays. */
  clearFaults(): void;
  hostDown(host: PlatformHost | "both", how: Outage, forMs?: number): void;
  hostUp(host: PlatformHost | "both"): void;
  expireTokens(): void;
  acceptToken(token: string): void;
  push(mode: PushMode): void;
  /** Lets simulated time pass at once. */
  skip(ms: number): void;
  posts(): readonly PostRecord[];
  requests(): Readonly<Partial<Record<OperationName | "unknown", number>>>;
  trueState(code: string, address: string): TrueState;
  /** Register values with the real instants at which they were put. */
  held(code: string, address: string): readonly HeldValue[];
  codes(): readonly string[];
}

/** Some of the controls. */
export type Controls<Name extends keyof SimulatorControl> = Pick<SimulatorControl, Name>;

/** The controls of a platform; `now` gives real epoch ms. */
export function createControl(state: PlatformState, now: () => number): SimulatorControl {
  return {
    ...deviceControl(state, now),
    ...sensorControl(state, now),
    ...accountControl(state),
    ...hostControl(state, now),
    ...views(state, now),
  };
}

function views(
  state: PlatformState,
  now: () => number,
): Controls<"posts" | "requests" | "trueState" | "held"> {
  const realTimes = (held: readonly HeldValue[]): readonly HeldValue[] =>
    held.map((value) => ({ ...value, at: state.timeline.realAt(value.at) }));
  return {
    posts: () => {
      state.advance(now());
      state.settle();
      return state.posts.list();
    },
    requests: () => Object.fromEntries(state.requests),
    trueState: (code, address) => {
      const controller = controllerOf(state, now, code);
      const value = controller.registers.read(address);
      const position = controller.position(address);
      if (value === null || !position) throw new Error(`${code} has no address ${JSON.stringify(address)}`);
      const held = realTimes(controller.registers.history(address));
      return {
        value,
        levels: position.levels,
        isMoving: position.moving,
        isOnline: controller.isOnline(),
        held,
      };
    },
    held: (code, address) => realTimes(controllerOf(state, now, code).registers.history(address)),
  };
}
