import type { PlatformHost } from "../greenhouse/ports.js";
import { typeNames } from "./account.js";
import type { PostRecord } from "./call.js";
import type { HeldValue, SimulatedController } from "./device.js";
import { type FaultSpec, type Outage, outages, parseFault, type PushMode, pushModes } from "./faults.js";
import type { OperationName } from "./operations.js";
import type { PlatformState } from "./platform-state.js";

/** What is really so at one address, whatever the platform tells. `at` of the values is real epoch ms. */
interface TrueState {
  readonly value: string;
  /** Where each device behind the address stands, 0 to 1. */
  readonly levels: readonly number[];
  readonly isMoving: boolean;
  readonly isOnline: boolean;
  readonly held: readonly HeldValue[];
}

/** What a person, a demo or a test can do to the simulated platform. Unknown codes throw an error that names them. */
export type SimulatorControl = ReturnType<typeof createControl>;

/**
 * The controls of a platform; `now` gives real epoch ms. `obeyOutages` opens and closes ports after a change of the
 * outages, and those controls resolve when that is done.
 */
export function createControl(
  state: PlatformState,
  now: () => number,
  obeyOutages: () => Promise<void> = () => Promise.resolve(),
) {
  /** A device brought up to now. */
  const device = (code: string): SimulatedController => {
    state.advance(now());
    const controller = state.controller(code);
    if (!controller) throw new Error(`the simulated account has no device ${JSON.stringify(code)}`);
    return controller;
  };
  return {
    ...accountControl(state),
    ...deviceControl(device),
    ...platformControl(state, now, obeyOutages),
    ...views(state, now, device),
  };
}

/** Who is in the account. */
function accountControl(state: PlatformState) {
  const known = (code: string) => {
    const device = state.devices.get(code);
    if (!device) throw new Error(`the simulated account has no device ${JSON.stringify(code)}`);
    return device;
  };
  return {
    addController: (added: {
      readonly code: string;
      readonly name?: string;
      readonly type?: string;
    }): void => {
      const { code, name = code, type = "C001" } = added;
      const [station] = state.account.stations;
      if (state.devices.has(code) || !station) throw new Error(`the simulated account already has ${code}`);
      if (!typeNames.has(type)) throw new Error(`unknown device type ${JSON.stringify(type)}`);
      const id = 500_000 + state.devices.size;
      state.replaceDevice({ code, id, name, type, station, isController: true });
    },
    removeController: (code: string): void => state.removeDevice(known(code).code),
    renameController: (code: string, name: string): void => state.replaceDevice({ ...known(code), name }),
    emptyList: (how: boolean | "null"): void => {
      state.listing = how === "null" ? "null" : how ? "empty" : "full";
    },
    codes: (): readonly string[] => [...state.devices.keys()],
  };
}

/** What happens to a device and its sensors. */
function deviceControl(device: (code: string) => SimulatedController) {
  return {
    setOnline: (code: string, isOnline: boolean): void =>
      device(code).disconnect(isOnline ? -Infinity : Infinity),
    /** Somebody else sets a register, without the device's rules. */
    moveByHand: (code: string, address: string, value: string): void => {
      const controller = device(code);
      if (controller.read(address) === null)
        throw new Error(`${code} has no address ${JSON.stringify(address)}`);
      controller.put(address, value, "hand");
    },
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
function platformControl(state: PlatformState, now: () => number, obeyOutages: () => Promise<void>) {
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
      state.faults.clear();
      state.outages.clear();
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
      return state.posts.list();
    },
    requests: (): Readonly<Partial<Record<OperationName | "unknown", number>>> =>
      Object.fromEntries(state.requests),
    trueState: (code: string, address: string): TrueState => {
      const controller = device(code);
      const value = controller.registers.read(address);
      const position = controller.position(address);
      if (value === null || !position) throw new Error(`${code} has no address ${JSON.stringify(address)}`);
      const { levels, moving: isMoving } = position;
      return { value, levels, isMoving, isOnline: controller.isOnline(), held: held(code, address) };
    },
  };
}

export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

/** A field of a control request, or an error that says what it should be. */
type Fields = Readonly<Record<string, unknown>>;
type Action = (control: SimulatorControl, fields: Fields) => void | Promise<void>;

const wanted = (name: string, what: string) => new Error(`"${name}" must be ${what}`);

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || value === "") throw wanted(name, "a text");
  return value;
}

const optionalText = (fields: Fields, name: string): string | undefined =>
  name in fields ? text(fields, name) : undefined;

function flag(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== "boolean") throw wanted(name, "true or false");
  return value;
}

function optionalNumber(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value !== undefined && typeof value !== "number") throw wanted(name, "a number");
  return value;
}

function scalar(fields: Fields, name: string): string | number | boolean | null {
  const value = fields[name];
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  throw wanted(name, "a text, number, boolean or null");
}

function oneOf<Word extends string>(
  fields: Fields,
  name: string,
  words: readonly Word[],
  usual?: Word,
): Word {
  const value = fields[name];
  const found = words.find((word) => word === value) ?? (value === undefined ? usual : undefined);
  if (found === undefined) throw wanted(name, `one of ${words.join(", ")}`);
  return found;
}

/** What a request may carry in `do`. */
const actions: Readonly<Record<string, Action>> = {
  set_online: (control, of) => control.setOnline(text(of, "controller"), flag(of, "online")),
  freeze_sensors: (control, of) => control.freezeSensors(text(of, "controller")),
  unfreeze_sensors: (control, of) => control.unfreezeSensors(text(of, "controller")),
  set_sensor: (control, of) =>
    control.setSensor(text(of, "controller"), text(of, "sensor"), scalar(of, "value")),
  clear_sensor: (control, of) => control.clearSensor(text(of, "controller"), text(of, "sensor")),
  add_controller: (control, of) =>
    control.addController({
      code: text(of, "controller"),
      name: optionalText(of, "name"),
      type: optionalText(of, "type"),
    }),
  remove_controller: (control, of) => control.removeController(text(of, "controller")),
  rename_controller: (control, of) => control.renameController(text(of, "controller"), text(of, "name")),
  empty_list: (control, of) => control.emptyList(of["list"] === "null" ? "null" : flag(of, "list")),
  move_by_hand: (control, of) =>
    control.moveByHand(text(of, "controller"), text(of, "address"), text(of, "value")),
  storm: (control, of) => control.storm(flag(of, "on")),
  rain: (control, of) => control.rain(flag(of, "on")),
  fault: (control, of) => {
    const { faults, errors } = parseFault(of["fault"], "fault");
    if (errors.length > 0) throw new Error(errors.join("; "));
    for (const spec of faults) control.fault(spec);
  },
  clear_faults: (control) => control.clearFaults(),
  host_down: (control, of) =>
    control.hostDown(
      oneOf(of, "host", hosts, "both"),
      oneOf(of, "how", outages, "refuse"),
      optionalNumber(of, "for_ms"),
    ),
  host_up: (control, of) => control.hostUp(oneOf(of, "host", hosts, "both")),
  expire_tokens: (control) => control.expireTokens(),
  accept_token: (control, of) => control.acceptToken(text(of, "token")),
  push: (control, of) => control.push(oneOf(of, "mode", pushModes)),
  skip: (control, of) => control.skip(optionalNumber(of, "ms") ?? 0),
};

export const controlWords: readonly string[] = Object.keys(actions);

/** Performs `{"do": "...", ...}`; a mistake in it is answered with 400 and what was expected. */
export async function performControl(control: SimulatorControl, json: unknown): Promise<ControlReply> {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return wrong(new Error("expected a JSON object"));
  const fields: Fields = { ...json };
  const word = String(fields["do"]);
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (!action) return wrong(wanted("do", `one of ${controlWords.join(", ")}`));
  try {
    await action(control, fields);
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
  switch (view) {
    case "posts":
      return { status: 200, body: control.posts().filter((post) => post.at >= Number(since)) };
    case "requests":
      return { status: 200, body: control.requests() };
    case "controllers":
      return { status: 200, body: control.codes() };
    case "state":
      try {
        return { status: 200, body: control.trueState(controller, address) };
      } catch (error) {
        return wrong(error);
      }
    default:
      return null;
  }
}
