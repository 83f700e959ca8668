import type { PlatformHost } from "../greenhouse/ports.js";
import { typeNames } from "./account.js";
import type { PostRecord } from "./call.js";
import type { HeldValue, SimulatedController } from "./device.js";
import {
  type FaultSpec,
  number,
  type Outage,
  outages,
  parseFault,
  plainly,
  type PushMode,
  pushModes,
  type Reader,
  scalar,
  text,
  word,
} from "./faults.js";
import { wholeStation } from "./happenings.js";
import type { OperationName } from "./operations.js";
import type { PlatformState } from "./platform-state.js";
import { isFields } from "./register-shapes.js";
import { type StationMessage, stationMessages } from "./sensors.js";

/** What is really so at one address, whatever the platform tells. `at` of the values is real epoch ms. */
interface TrueState {
  readonly value: string;
  /** Where each device behind the address stands, 0 to 1. */
  readonly levels: readonly number[];
  /** How often the motor of each began to run or turned round since the start. */
  readonly starts: readonly number[];
  readonly isMoving: boolean;
  readonly isOnline: boolean;
  readonly held: readonly HeldValue[];
}

/** What a person, a demo or a test can do to the simulated platform. Unknown codes throw an error that names them. */
export type SimulatorControl = ReturnType<typeof createControl>;

/** What a platform that is served does about its controls. */
interface Served {
  /** Opens and closes ports after a change of the outages, and resolves when that is done. */
  readonly obeyOutages: () => Promise<void>;
  /** Pushes what changed since the last look. */
  readonly look: () => void;
}

const unserved: Served = { obeyOutages: () => Promise.resolve(), look: () => undefined };

const unknownDevice = (code: string) =>
  new Error(`the simulated account has no device ${JSON.stringify(code)}`);

/** The controls of a platform; `now` gives real epoch ms. */
export function createControl(state: PlatformState, now: () => number, served = unserved) {
  /** A device brought up to now. */
  const device = (code: string): SimulatedController => {
    state.advance(now());
    const controller = state.controller(code);
    if (!controller) throw unknownDevice(code);
    return controller;
  };
  return {
    ...accountControl(state),
    ...deviceControl(device, served),
    ...platformControl(state, now, served),
    ...views(state, now, device),
  };
}

/** Who is in the account. */
function accountControl(state: PlatformState) {
  const known = (code: string) => {
    const device = state.devices.get(code);
    if (!device) throw unknownDevice(code);
    return device;
  };
  return {
    addController: (code: string, name = code, type = "C001"): void => {
      const [station] = state.account.stations;
      if (state.devices.has(code) || !station) throw new Error(`the simulated account already has ${code}`);
      if (!typeNames.has(type)) throw new Error(`unknown device type ${JSON.stringify(type)}`);
      const id = 500_000 + state.devices.size;
      state.devices.set(code, { code, id, name, type, station, isController: true });
    },
    removeController: (code: string): void => state.removeDevice(known(code).code),
    renameController: (code: string, name: string) => void state.devices.set(code, { ...known(code), name }),
    emptyList: (how: boolean | "null"): void => {
      state.listing = how === "null" ? "null" : how ? "empty" : "full";
    },
    codes: (): readonly string[] => [...state.devices.keys()],
  };
}

/** What happens to a device and its sensors. */
function deviceControl(device: (code: string) => SimulatedController, { look }: Served) {
  /** Pushes what is so before and after: of two changes between two looks the second could undo the first. */
  const change = (code: string, make: (controller: SimulatedController) => void): void => {
    const controller = device(code);
    look();
    make(controller);
    look();
  };
  return {
    setOnline: (code: string, isOnline: boolean): void =>
      change(code, (controller) => controller.disconnect(isOnline ? -Infinity : Infinity)),
    /** A register is set elsewhere, without the device's rules. */
    moveByHand: (code: string, address: string, value: string): void =>
      change(code, (controller) => {
        if (controller.read(address) === null)
          throw new Error(`${code} has no address ${JSON.stringify(address)}`);
        controller.put(address, value, "hand");
      }),
    freezeSensors: (code: string): void => device(code).freeze(Infinity),
    unfreezeSensors: (code: string): void => device(code).freeze(-Infinity),
    /** A sensor (name or factor) reports this, written as it stands, until `clearSensor`. */
    setSensor: (code: string, sensor: string, raw: string | number | boolean | null): void => {
      const controller = device(code);
      const names = controller.sample().items.flatMap((item) => [item.sensor.name, item.sensor.factor]);
      if (!names.includes(sensor)) throw new Error(`${code} has no sensor ${JSON.stringify(sensor)}`);
      controller.breakSensor(sensor, raw, Infinity);
    },
    clearSensor: (code: string, sensor: string): void => device(code).mendSensor(sensor),
  };
}

/** What is wrong with the platform, its weather, and how its time passes. */
function platformControl(state: PlatformState, now: () => number, { obeyOutages }: Served) {
  const weather = (kind: "storm" | "rain") => (isOn: boolean) => {
    state.advance(now());
    if (isOn) {
      state.sky.force(kind, state.simulatedNow, Infinity);
      state.protect(kind, null);
    } else state.sky.calm(state.simulatedNow);
  };
  return {
    storm: weather("storm"),
    rain: weather("rain"),
    fault: (spec: FaultSpec): void => {
      state.faults.arm(spec, now());
      state.advance(now());
    },
    /** Disarms every fault, brings back both hosts and the push channels; what already happened to devices stays. */
    clearFaults: (): Promise<void> => {
      for (const gone of [state.faults, state.outages, state.silent]) gone.clear();
      state.setPush("normal", Infinity);
      return obeyOutages();
    },
    hostDown: (host: PlatformHost | "both", how: Outage, forMs = Infinity): Promise<void> => {
      for (const one of hostsOf(host)) state.outages.set(one, { until: now() + forMs, how });
      return obeyOutages();
    },
    hostUp: (host: PlatformHost | "both"): Promise<void> => {
      for (const one of hostsOf(host)) state.outages.delete(one);
      return obeyOutages();
    },
    expireTokens: (): void => state.tokens.expireAll(),
    acceptToken: (token: string): void => state.tokens.accept(token),
    push: (mode: PushMode): void => state.setPush(mode, Infinity),
    /** Lets simulated time pass at once. */
    skip: (ms: number): void => {
      state.advance(now());
      state.timeline.skip(state.now, ms);
    },
  };
}

const hosts = ["both", "business", "realtime"] as const;

const hostsOf = (host: PlatformHost | "both"): readonly PlatformHost[] =>
  host === "both" ? ["business", "realtime"] : [host];

function views(state: PlatformState, now: () => number, device: (code: string) => SimulatedController) {
  /** Register values with the real instants at which they were put. */
  const held = (code: string, address: string): readonly HeldValue[] =>
    device(code)
      .registers.history(address)
      .map((value) => ({ ...value, at: state.timeline.realAt(value.at) }));
  return {
    held,
    posts: (): readonly PostRecord[] => {
      state.advance(now());
      state.settle();
      return [...state.posts];
    },
    /** What the weather station says now. */
    weather: (): readonly StationMessage[] => {
      state.advance(now());
      const isSilent = (sensor: string) =>
        [sensor, wholeStation].some((one) => state.now < (state.silent.get(one) ?? -Infinity));
      return stationMessages(state.sky.felt(state.simulatedNow), isSilent);
    },
    requests: (): Readonly<Partial<Record<OperationName | "unknown", number>>> =>
      Object.fromEntries(state.requests),
    trueState: (code: string, address: string): TrueState => {
      const controller = device(code);
      const value = controller.registers.read(address);
      const position = controller.position(address);
      if (value === null || !position) throw new Error(`${code} has no address ${JSON.stringify(address)}`);
      const { levels, starts, moving: isMoving } = position;
      return { value, levels, starts, isMoving, isOnline: controller.isOnline(), held: held(code, address) };
    },
  };
}

export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

type Field = readonly [name: string, read: Reader, usual?: unknown];

const anyNumber = number(0, Number.MAX_SAFE_INTEGER);
const flag = plainly("true or false", (value) => typeof value === "boolean");
const list = plainly("true, false or null", (value) => value === "null" || typeof value === "boolean");
const one: Reader = (value) => {
  const { faults, errors } = parseFault(value, "fault");
  return errors.length > 0 ? { expected: `a fault: ${errors.join("; ")}` } : { value: faults[0] };
};

const controller: Field = ["controller", text];
const sensor: Field = ["sensor", text];
const on: Field = ["on", flag];
const host: Field = ["host", word(hosts), "both"];

/** What a request may carry in `do`: the control and its arguments in their order. */
const actions: Readonly<Record<string, readonly [control: keyof SimulatorControl, ...fields: Field[]]>> = {
  set_online: ["setOnline", controller, ["online", flag]],
  freeze_sensors: ["freezeSensors", controller],
  unfreeze_sensors: ["unfreezeSensors", controller],
  set_sensor: ["setSensor", controller, sensor, ["value", scalar]],
  clear_sensor: ["clearSensor", controller, sensor],
  add_controller: ["addController", controller, ["name", text, undefined], ["type", text, undefined]],
  remove_controller: ["removeController", controller],
  rename_controller: ["renameController", controller, ["name", text]],
  empty_list: ["emptyList", ["list", list]],
  move_by_hand: ["moveByHand", controller, ["address", text], ["value", text]],
  storm: ["storm", on],
  rain: ["rain", on],
  fault: ["fault", ["fault", one]],
  clear_faults: ["clearFaults"],
  host_down: ["hostDown", host, ["how", word(outages), "refuse"], ["for_ms", anyNumber, undefined]],
  host_up: ["hostUp", host],
  expire_tokens: ["expireTokens"],
  accept_token: ["acceptToken", ["token", text]],
  push: ["push", ["mode", word(pushModes)]],
  skip: ["skip", ["ms", anyNumber, 0]],
};

export const controlWords: readonly string[] = Object.keys(actions);

/** Performs `{"do": "...", ...}`; a mistake in it is answered with 400 and what was expected. */
export async function performControl(control: SimulatorControl, json: unknown): Promise<ControlReply> {
  try {
    if (!isFields(json)) throw new Error("expected a JSON object");
    const word = String(json["do"]);
    const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
    if (!action) throw new Error(`"do" must be one of ${controlWords.join(", ")}`);
    const [name, ...fields] = action;
    const given = fields.map((field) => {
      const [key, read, usual] = field;
      if (json[key] === undefined && field.length === 3) return usual;
      const result = read(json[key]);
      if ("value" in result) return result.value;
      throw new Error(`"${key}" must be ${result.expected}`);
    });
    // The readers of its fields stand for the types of its arguments.
    const perform = control[name] as (...given: unknown[]) => unknown;
    await perform(...given);
    return { status: 200, body: { ok: true } };
  } catch (error) {
    return wrong(error);
  }
}

const wrong = (error: unknown): ControlReply => ({
  status: 400,
  body: { ok: false, message: error instanceof Error ? error.message : String(error) },
});

/** Answers `GET /_simulator/<view>`; null for a view there is not. */
export function controlView(
  control: SimulatorControl,
  view: string,
  { since = "0", controller = "", address = "" }: Readonly<Record<string, string>>,
): ControlReply | null {
  const views = new Map<string, () => unknown>([
    ["posts", () => control.posts().filter((post) => post.at >= Number(since))],
    ["weather", () => control.weather()],
    ["requests", () => control.requests()],
    ["controllers", () => control.codes()],
    ["state", () => control.trueState(controller, address)],
  ]);
  try {
    const show = views.get(view);
    return show === undefined ? null : { status: 200, body: show() };
  } catch (error) {
    return wrong(error);
  }
}
