import type { PlatformHost } from "../greenhouse/ports.js";
import { deviceTypes } from "./account.js";
import type { HeldValue, SimulatedController } from "./device.js";
import { advance, wholeStation } from "./events.js";
import {
  fail,
  type FaultSpec,
  number,
  type Outage,
  outages,
  parseFault,
  type PushMode,
  pushModes,
  type Reader,
  scalar,
  text,
  word,
} from "./faults.js";
import type { OperationName } from "./operations.js";
import type { Platform, PostRecord } from "./platform.js";
import { sensorTable, type StationMessage, stationMessages } from "./sensors.js";
import { isFields } from "./shapes.js";

/** What a platform that is served does after a control was used. */
interface Served {
  /** Opens and closes ports after a change of outages; resolves when that is done. */
  readonly obeyOutages: () => Promise<void>;
  /** Pushes what has changed since the last call. */
  readonly look: () => void;
}

const unserved: Served = { obeyOutages: () => Promise.resolve(), look: () => undefined };

const hosts = ["both", "business", "realtime"] as const;
type Hosts = (typeof hosts)[number];

const hostsOf = (host: Hosts): readonly PlatformHost[] =>
  host === "both" ? ["business", "realtime"] : [host];

const noDevice = (code: string) => new Error(`the simulated account has no device ${JSON.stringify(code)}`);

/** What a person, a demo or a test can do to the simulated platform. Unknown codes throw an error that names them. */
export type SimulatorControl = ReturnType<typeof createControl>;

/** The controls of a platform; `now` returns real epoch ms. */
export function createControl(platform: Platform, now: () => number, served = unserved) {
  /** The platform, advanced to now. */
  const current = (): Platform => {
    advance(platform, now());
    return platform;
  };
  const device = (code: string): SimulatedController => {
    const controller = current().controller(code);
    if (!controller) throw noDevice(code);
    return controller;
  };
  return {
    ...accountControl(platform),
    ...deviceControl(device, served),
    ...platformControl(platform, current, served),
    ...views(current, device),
  };
}

/** Controls for the devices of the account. */
function accountControl(platform: Platform) {
  const { account, devices } = platform;
  const deviceOf = (code: string) => {
    const device = devices.get(code);
    if (!device) throw noDevice(code);
    return device;
  };
  return {
    addController: (code: string, name = code, type = "C001"): void => {
      const [station] = account.stations;
      if (devices.has(code) || !station) throw new Error(`the simulated account already has ${code}`);
      if (!deviceTypes.has(type)) throw new Error(`unknown device type ${JSON.stringify(type)}`);
      devices.set(code, { code, id: 500_000 + devices.size, name, type, station, isController: true });
    },
    removeController: (code: string): void => platform.removeDevice(deviceOf(code).code),
    renameController: (code: string, name: string) => void devices.set(code, { ...deviceOf(code), name }),
    emptyList: (how: boolean | "null"): void => {
      platform.listing = how === "null" ? "null" : how ? "empty" : "full";
    },
    codes: (): readonly string[] => [...devices.keys()],
  };
}

/** Controls for a device and its sensors. */
function deviceControl(device: (code: string) => SimulatedController, { look }: Served) {
  /** Pushes the state before and after: of two changes between two looks, the second could undo the first. */
  const change = (code: string, make: (controller: SimulatedController) => void): void => {
    const controller = device(code);
    look();
    make(controller);
    look();
  };
  return {
    setOnline: (code: string, isOnline: boolean): void =>
      change(code, (controller) => controller.disconnect(isOnline ? -Infinity : Infinity)),
    /** Sets a register as from elsewhere, without the device's rules. */
    moveByHand: (code: string, address: string, value: string): void =>
      change(code, (controller) => {
        if (!controller.table.has(address)) throw noAddress(code, address);
        controller.put(address, value, "hand");
      }),
    freezeSensors: (code: string): void => device(code).freeze(Infinity),
    unfreezeSensors: (code: string): void => device(code).freeze(-Infinity),
    /** Makes a sensor (name or factor) report this value, unchanged, until `clearSensor`. */
    setSensor: (code: string, sensor: string, raw: string | number | boolean | null): void => {
      const controller = device(code);
      if (
        !sensorTable(controller.device.type).some(({ name, factor }) => sensor === name || sensor === factor)
      )
        throw new Error(`${code} has no sensor ${JSON.stringify(sensor)}`);
      controller.breakSensor(sensor, raw, Infinity);
    },
    clearSensor: (code: string, sensor: string): void => device(code).mendSensor(sensor),
  };
}

const noAddress = (code: string, address: string) =>
  new Error(`${code} has no address ${JSON.stringify(address)}`);

/** Controls for the platform's faults, its weather, and how its time passes. */
function platformControl(platform: Platform, current: () => Platform, { obeyOutages }: Served) {
  const { faults, outages: down, silent, sky, timeline, tokens } = platform;
  const weather = (kind: "storm" | "rain") => (isOn: boolean) => {
    const { simulatedNow } = current();
    if (isOn) {
      sky.force(kind, simulatedNow, Infinity);
      platform.protect(kind);
    } else sky.calm(simulatedNow);
  };
  return {
    storm: weather("storm"),
    rain: weather("rain"),
    fault: (spec: FaultSpec): void => {
      faults.arm(spec, current().now);
      current();
    },
    /** Disarms every fault and restores both hosts and the push channels; what has happened to devices stays. */
    clearFaults: (): Promise<void> => {
      for (const gone of [faults, down, silent]) gone.clear();
      platform.setPush("normal", Infinity);
      return obeyOutages();
    },
    hostDown: (host: Hosts, how: Outage, forMs = Infinity): Promise<void> => {
      const until = current().now + forMs;
      for (const one of hostsOf(host)) down.set(one, { until, how });
      return obeyOutages();
    },
    hostUp: (host: Hosts): Promise<void> => {
      for (const one of hostsOf(host)) down.delete(one);
      return obeyOutages();
    },
    expireTokens: (): void => tokens.expireAll(),
    acceptToken: (token: string): void => tokens.accept(token),
    push: (mode: PushMode): void => platform.setPush(mode, Infinity),
    /** Lets simulated time pass at once. */
    skip: (ms: number): void => timeline.skip(current().now, ms),
  };
}

function views(current: () => Platform, device: (code: string) => SimulatedController) {
  /** Values of a register with the real times at which they were set. */
  const heldValues = (code: string, address: string): readonly HeldValue[] => {
    const history = device(code).history(address);
    return history.map((value) => ({ ...value, at: current().timeline.realAt(value.at) }));
  };
  return {
    held: heldValues,
    posts: (): readonly PostRecord[] => {
      const platform = current();
      platform.settle();
      return [...platform.posts];
    },
    /** The present messages of the weather station. */
    weather: (): readonly StationMessage[] => {
      const { now, silent, simulatedNow, sky } = current();
      const isSilent = (sensor: string) =>
        [sensor, wholeStation].some((one) => now < (silent.get(one) ?? -Infinity));
      return stationMessages(sky.felt(simulatedNow), isSilent);
    },
    requests: (): Readonly<Partial<Record<OperationName | "unknown", number>>> =>
      Object.fromEntries(current().requests),
    /** The true state at an address, whatever the platform shows. */
    trueState: (code: string, address: string) => {
      const controller = device(code);
      const value = controller.register(address);
      const row = controller.table.get(address);
      if (value === null || !row) throw noAddress(code, address);
      const isOnline = controller.isOnline();
      return { value, ...controller.position(row), isOnline, held: heldValues(code, address) };
    },
  };
}

export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

const flag: Reader<boolean> = (value) => (typeof value === "boolean" ? value : fail("true or false"));
const listing: Reader<unknown> = (value) =>
  value === "null" || typeof value === "boolean" ? value : fail("true, false or null");
const spec: Reader<FaultSpec> = (value) => {
  const { faults, errors } = parseFault(value, "fault");
  return faults[0] ?? fail(`a fault: ${errors.join("; ")}`);
};
/** Reads a field that may be missing. */
const optional =
  (read: Reader<unknown>, usual?: unknown): Reader<unknown> =>
  (value) =>
    value === undefined ? usual : read(value);
const anyNumber = number(0, Number.MAX_SAFE_INTEGER);

type Field = readonly [name: string, read: Reader<unknown>];

const controller: Field = ["controller", text];
const sensor: Field = ["sensor", text];
const on: Field = ["on", flag];
const host: Field = ["host", optional(word(hosts), "both")];

/** The values of `do` in a request: each control with its arguments in order. */
const actions: Readonly<Record<string, readonly [control: keyof SimulatorControl, ...fields: Field[]]>> = {
  set_online: ["setOnline", controller, ["online", flag]],
  freeze_sensors: ["freezeSensors", controller],
  unfreeze_sensors: ["unfreezeSensors", controller],
  set_sensor: ["setSensor", controller, sensor, ["value", scalar]],
  clear_sensor: ["clearSensor", controller, sensor],
  add_controller: ["addController", controller, ["name", optional(text)], ["type", optional(text)]],
  remove_controller: ["removeController", controller],
  rename_controller: ["renameController", controller, ["name", text]],
  empty_list: ["emptyList", ["list", listing]],
  move_by_hand: ["moveByHand", controller, ["address", text], ["value", text]],
  storm: ["storm", on],
  rain: ["rain", on],
  fault: ["fault", ["fault", spec]],
  clear_faults: ["clearFaults"],
  host_down: ["hostDown", host, ["how", optional(word(outages), "refuse")], ["for_ms", optional(anyNumber)]],
  host_up: ["hostUp", host],
  expire_tokens: ["expireTokens"],
  accept_token: ["acceptToken", ["token", text]],
  push: ["push", ["mode", word(pushModes)]],
  skip: ["skip", ["ms", optional(anyNumber, 0)]],
};

export const controlWords: readonly string[] = Object.keys(actions);

/** Performs `{"do": "...", ...}`; answers a mistake in it with 400 and what was expected. */
export async function performControl(control: SimulatorControl, json: unknown): Promise<ControlReply> {
  try {
    if (!isFields(json)) throw new Error("expected a JSON object");
    const wanted = String(json["do"]);
    const action = Object.hasOwn(actions, wanted) ? actions[wanted] : undefined;
    if (!action) throw new Error(`"do" must be one of ${controlWords.join(", ")}`);
    const [name, ...fields] = action;
    const given = fields.map(([key, read]) => {
      try {
        return read(json[key]);
      } catch (error) {
        throw new Error(`"${key}" must be ${messageOf(error)}`, { cause: error });
      }
    });
    // The readers of the fields guarantee the types of the arguments.
    const perform = control[name] as (...given: unknown[]) => unknown;
    await perform(...given);
    return { status: 200, body: { ok: true } };
  } catch (error) {
    return wrong(error);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const wrong = (error: unknown): ControlReply => ({
  status: 400,
  body: { ok: false, message: messageOf(error) },
});

/** Answers `GET /_simulator/<view>`; null for an unknown view. */
export function controlView(
  control: SimulatorControl,
  view: string,
  { since = "0", controller: code = "", address = "" }: Readonly<Record<string, string>>,
): ControlReply | null {
  const shown = new Map<string, () => unknown>([
    ["posts", () => control.posts().filter((post) => post.at >= Number(since))],
    ["weather", () => control.weather()],
    ["requests", () => control.requests()],
    ["controllers", () => control.codes()],
    ["state", () => control.trueState(code, address)],
  ]).get(view);
  try {
    return shown === undefined ? null : { status: 200, body: shown() };
  } catch (error) {
    return wrong(error);
  }
}
