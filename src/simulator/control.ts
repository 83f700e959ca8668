import type { PlatformHost } from "../greenhouse/platform-error.js";
import { accountControl, hostControl } from "./account-control.js";
import { controllerOf, deviceControl, sensorControl } from "./device-control.js";
import type { FaultSpec, Outage, PushMode } from "./faults.js";
import type { OperationName } from "./operations.js";
import type { PlatformState } from "./platform-state.js";
import type { PostRecord } from "./post-log.js";
import type { HeldValue } from "./registers.js";

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
