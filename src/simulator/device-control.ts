import type { Controls } from "./control.js";
import type { PlatformState } from "./platform-state.js";
import type { SimulatedController } from "./simulated-controller.js";

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
