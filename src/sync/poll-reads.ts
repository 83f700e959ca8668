import { sameValue, stateAddresses, textOf } from "../greenhouse/actuator-kinds.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { ControllerEvent } from "../greenhouse/events.js";
import type { Controller, Register } from "../greenhouse/model.js";
import {
  type DeviceList,
  missesDeviceCode,
  PlatformError,
  type PlatformReader,
  type RawValue,
} from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Inventory } from "./inventory.js";
import type { PollJob, RegisterRead } from "./poll-plan.js";
import type { Compared, ReadComparison } from "./read-comparison.js";
import type { GreenhouseStore } from "./store.js";

export interface PollPorts {
  readonly platform: PlatformReader;
  readonly store: GreenhouseStore;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly tally: PollTally;
  /** Told of each answer about a parameter group which addresses of that type it left out. */
  readonly onGroup?: (code: string, group: ParameterGroup, unlisted: readonly string[]) => void;
  /** What a group tells of an address, against what the address itself does. */
  readonly comparison?: ReadComparison;
  /** From now on the group is passed over for this address. */
  readonly onApart?: (found: Compared) => void;
  /** Waits until the budget has another request, for a job that needs more than one. */
  readonly turn?: (signal: AbortSignal) => Promise<void>;
}

/** What something has said of what is read, by the time the answer is there. */
interface Said {
  readonly last: () => string | undefined;
  /** Since the read began. */
  readonly meanwhile: () => string | undefined;
}

const silence: Said = { last: () => undefined, meanwhile: () => undefined };

/** Performs one job: asks the platform and folds the answer. Rejects with the PlatformError of a failed request. */
export async function perform(
  job: PollJob,
  ports: PollPorts,
  signal: AbortSignal,
  saidOf: Said = silence,
): Promise<void> {
  if (!("code" in job)) return readList(job, ports, signal);
  const { platform, store, inventory, clock, tally } = ports;
  const answer = <Answer>(read: Promise<Answer>) => tally.track(operationOf(job), job.code, read);
  switch (job.kind) {
    case "connection": {
      const status = await answer(platform.connection(job.code, signal, "polled"));
      const said = saidOf.meanwhile();
      // What was said since says otherwise than the answer, which may be older: it is read once more. What was said before is older.
      if (said === undefined || said === status.state)
        store.dispatch(job.code, { type: "connection", status });
      return;
    }
    case "sensors": {
      const items = await answer(platform.sensors(job.code, signal));
      inventory.onReadings(job.code, items.length);
      store.dispatch(job.code, { type: "sensors_read", items, receivedAt: clock.now(), source: "poll" });
      return;
    }
    case "averages": {
      const items = await answer(platform.averages(job.code, signal));
      const read = { items, receivedAt: clock.now(), source: "poll" } as const;
      store.dispatch(job.code, { type: "sensors_read", ...read, part: "averages" });
      return;
    }
    case "running_status": {
      const items = await answer(platform.runningStatuses(job.code, signal));
      store.dispatch(job.code, { type: "statuses_read", items, receivedAt: clock.now() });
      return;
    }
    case "registers":
      if (job.read.type === "fresh") await readFresh(job.code, job.read.address, ports, signal, saidOf.last);
      else await readRegisters(job.code, job.read, ports, signal);
  }
}

/** A list of the whole account. */
async function readList(
  job: Exclude<PollJob, { readonly code: string }>,
  ports: PollPorts,
  signal: AbortSignal,
): Promise<void> {
  const { platform, inventory, clock, tally } = ports;
  const answer = <Answer>(read: Promise<Answer>) => tally.track(operationOf(job), null, read);
  switch (job.kind) {
    case "controllers":
      inventory.onControllers(await answer(platform.controllers(signal)), clock.monotonic());
      return;
    case "devices":
      inventory.onDevices(await answer(platform.devices(job.dataType, signal)), job.dataType);
      return;
    case "videos":
      inventory.onVideos(await answer(readVideos(ports, signal)));
      return;
  }
}

/** All videos at once; a device each, where a refusal names the device code that it misses. */
async function readVideos({ platform, store, turn }: PollPorts, signal: AbortSignal): Promise<DeviceList> {
  try {
    return await platform.videos(signal);
  } catch (error) {
    if (!missesDeviceCode(error)) throw error;
    const answers: DeviceList[] = [];
    const failures: PlatformError[] = [];
    for (const { info, settings } of store.controllers()) {
      if (settings?.stream !== true) continue;
      await turn?.(signal);
      try {
        answers.push(await platform.videos(signal, info.code));
      } catch (problem) {
        // One camera must not keep the others from being read.
        if (!(problem instanceof PlatformError) || signal.aborted) throw problem;
        failures.push(problem);
      }
    }
    const [failure] = failures;
    if (failure !== undefined && answers.length === 0) throw failure;
    // The list of a camera that refused stays as it was.
    return Object.assign(answers.flat(), { isPage: failure !== undefined });
  }
}

/** One address as the device itself has it. Where it shows what was said of it, the news came from there. */
async function readFresh(
  code: string,
  address: string,
  ports: PollPorts,
  signal: AbortSignal,
  saidOf: Said["last"],
): Promise<RawValue | undefined> {
  const event = await registersEvent(ports, true, () => readOne(code, address, true, ports, signal));
  const raw = event.values.get(address);
  const said = saidOf();
  const isNews = raw !== undefined && said !== undefined && sameValue(said, textOf(raw));
  ports.store.dispatch(code, { ...event, source: isNews ? "push" : "poll" });
  return raw;
}

async function readOne(
  code: string,
  address: string,
  fresh: boolean,
  { platform, tally }: PollPorts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RawValue>> {
  const raw = await tally.track("register", code, platform.value(code, address, fresh, signal, "polled"));
  return new Map(raw === null ? [] : [[address, raw]]);
}

/** Nothing says that a group is read from the device, so it counts as the platform's memory, as a plain read does. */
async function readRegisters(
  code: string,
  read: RegisterRead,
  ports: PollPorts,
  signal: AbortSignal,
): Promise<void> {
  const { platform, store, tally, comparison } = ports;
  const answer = await registersEvent(ports, false, () =>
    read.type === "group"
      ? tally.track("registers", code, platform.values(code, read.group, signal))
      : readOne(code, read.address, false, ports, signal),
  );
  const apart = read.type === "group" ? (comparison?.apart.get(code) ?? nothing) : nothing;
  const listed = read.type === "group" ? { listed: { group: read.group, values: answer.values } } : {};
  const first = { ...answer, ...listed, values: without(answer.values, apart) };
  const controller = store.get(code);
  if (read.type === "group" && controller !== undefined)
    ports.onGroup?.(code, read.group, unlistedIn(controller, read.group, answer.values));
  const doubtful = contradictedAddresses(controller, first);
  if (read.type === "group" && controller !== undefined)
    compareAgreeing(controller, read.group, first.values, doubtful, ports);
  store.dispatch(code, { ...first, values: without(first.values, new Set(doubtful)) });
  let failure: PlatformError | null = null;
  for (const address of doubtful) {
    await ports.turn?.(signal);
    try {
      const value = await readFresh(code, address, ports, signal, () => undefined);
      const group = first.values.get(address);
      if (read.type === "group" && group !== undefined && value !== undefined)
        compare({ code, address, group, value }, ports);
    } catch (error) {
      // An address that cannot be read must not keep its neighbours from being read.
      if (!(error instanceof PlatformError) || signal.aborted) throw error;
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
}

type RegistersRead = Extract<ControllerEvent, { type: "registers_read" }>;

async function registersEvent(
  { clock }: PollPorts,
  fresh: boolean,
  ask: () => Promise<ReadonlyMap<string, RawValue>>,
): Promise<RegistersRead> {
  const startedAt = clock.monotonic();
  const values = await ask();
  return { type: "registers_read", values, startedAt, readAt: clock.now(), fresh, source: "poll" };
}

const nothing: ReadonlySet<string> = new Set();

const without = (values: ReadonlyMap<string, RawValue>, left: ReadonlySet<string>) =>
  left.size === 0 ? values : new Map([...values].filter(([address]) => !left.has(address)));

/** Both reads of one address, one after the other. */
function compare(found: Compared, { store, clock, comparison, onApart }: PollPorts): void {
  const controller = store.get(found.code);
  if (controller === undefined || comparison === undefined) return;
  const isSame = sameValue(textOf(found.group), textOf(found.value));
  if (comparison.onCompared(controller, found.address, isSame, clock.monotonic())) onApart?.(found);
}

/** What agrees with a value that the device itself gave, and what has none to be compared with yet. */
function compareAgreeing(
  controller: Controller,
  group: ParameterGroup,
  values: ReadonlyMap<string, RawValue>,
  doubtful: readonly string[],
  { comparison, clock }: PollPorts,
): void {
  if (comparison === undefined) return;
  const unread: string[] = [];
  for (const address of values.keys()) {
    const register = registerAt(controller, address);
    if (register === undefined || doubtful.includes(address)) continue;
    if (register?.fresh === true) comparison.onCompared(controller, address, true, clock.monotonic());
    else unread.push(address);
  }
  if (controller.availability !== "offline") comparison.onAnswer(controller, group, unread);
}

/** Addresses whose unflushed value, or the one before it, differs from one the device itself gave: a cache may be older than that. */
function contradictedAddresses(controller: Controller | undefined, read: RegistersRead): readonly string[] {
  if (controller === undefined || read.fresh) return [];
  return [...read.values].flatMap(([address, raw]) => {
    const register = registerAt(controller, address);
    const differs = register?.fresh === true && !sameValue(textOf(register.raw), textOf(raw));
    return differs || register?.isDoubtful === true ? [address] : [];
  });
}

/** Addresses that the configuration says to be of a parameter group, and that its answer does not hold. */
function unlistedIn(
  { actuators, parameters }: Pick<Controller, "actuators" | "parameters">,
  group: ParameterGroup,
  values: ReadonlyMap<string, RawValue>,
): readonly string[] {
  const ofGroup = [
    ...[...actuators.values()].flatMap(({ settings }) =>
      settings.group === group ? stateAddresses(settings) : [],
    ),
    ...[...parameters.values()].flatMap(({ settings }) =>
      settings.group === group ? [settings.address] : [],
    ),
  ];
  return [...new Set(ofGroup)].filter((address) => !values.has(address));
}

/** What is shown of one address, null while it was not read; undefined for an address that nothing of the controller follows. */
export function registerAt(controller: Controller, address: string): Register | null | undefined {
  for (const { settings, registers } of controller.actuators.values())
    if (stateAddresses(settings).includes(address)) return registers[address] ?? null;
  for (const { settings, register } of controller.parameters.values())
    if (settings.address === address) return register;
  return controller.addresses.get(address)?.register;
}

export type Registers = ReadonlyMap<string, Register | null>;

/** Every address that something of the controller follows, with what is held of it. */
export function registersOf({ actuators, parameters, addresses }: Controller): Registers {
  const found = new Map<string, Register | null>();
  for (const [address, { register }] of addresses) found.set(address, register);
  for (const { settings, register } of parameters.values()) found.set(settings.address, register);
  for (const { settings, registers } of actuators.values())
    for (const address of stateAddresses(settings)) found.set(address, registers[address] ?? null);
  return found;
}

/** Reads that polling makes, in the words of health and metrics; `register` is one address, `registers` one parameter group of a controller. */
export const pollOperations = [
  "controllers",
  "devices",
  "videos",
  "connection",
  "sensors",
  "averages",
  "running_status",
  "register",
  "registers",
] as const;

export type PollOperation = (typeof pollOperations)[number];

/** Calls an hour, by operation. */
export type PollCost = Readonly<Record<PollOperation, number>>;

const hourMs = 3_600_000;

function operationOf(job: PollJob): PollOperation {
  if (job.kind !== "registers") return job.kind;
  return job.read.type === "group" ? "registers" : "register";
}

/** What these jobs cost when each is asked for once in its interval (ms), as whole calls. */
export function callsPerHour(jobs: Iterable<PollJob>, intervalMs: (job: PollJob) => number): PollCost {
  const cost = {
    controllers: 0,
    devices: 0,
    videos: 0,
    connection: 0,
    sensors: 0,
    averages: 0,
    running_status: 0,
    register: 0,
    registers: 0,
  };
  for (const job of jobs) cost[operationOf(job)] += hourMs / intervalMs(job);
  const whole = pollOperations.map((operation) => [operation, Math.round(cost[operation])] as const);
  return { ...cost, ...Object.fromEntries(whole) };
}

/** Not sent: the host is away, or asked to be left alone for a while. */
export const wasHeld = (error: unknown): boolean =>
  error instanceof PlatformError &&
  (error.facts.kind === "paused" || (error.facts.kind === "throttled" && !error.facts.sent));

/** `held`: not sent, because the host is away or asked for a pause. */
export const pollResults = ["ok", "failed", "held"] as const;
type PollResult = (typeof pollResults)[number];

const key = (operation: PollOperation, code: string | null) => `${operation} ${code ?? ""}`;

/** What polling asked, how that ended, and when it was last answered; instants are monotonic ms. */
export class PollTally {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #answeredAt = new Map<string, number>();
  #endedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When any read ended, well or not: the sign that polling goes on. Null before the first. */
  get endedAt(): number | null {
    return this.#endedAt;
  }

  /** When the platform last answered this; null while it has not. */
  answeredAt(operation: PollOperation, code: string | null): number | null {
    return this.#answeredAt.get(key(operation, code)) ?? null;
  }

  count(operation: PollOperation, result: PollResult): number {
    return this.#counts.get(`${operation} ${result}`) ?? 0;
  }

  forget(code: string): void {
    for (const operation of pollOperations) this.#answeredAt.delete(key(operation, code));
  }

  /** Notes how a read ends that polling makes. */
  async track<T>(operation: PollOperation, code: string | null, read: Promise<T>): Promise<T> {
    try {
      const answer = await read;
      this.#answeredAt.set(key(operation, code), this.#clock.monotonic());
      this.#onEnd(operation, "ok");
      return answer;
    } catch (error) {
      this.#onEnd(operation, wasHeld(error) ? "held" : "failed");
      throw error;
    }
  }

  #onEnd(operation: PollOperation, result: PollResult): void {
    this.#endedAt = this.#clock.monotonic();
    const counted = `${operation} ${result}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}
