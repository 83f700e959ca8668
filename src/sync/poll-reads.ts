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
  /** Called for each answer about a parameter group, with the addresses of that type that it lacks. */
  readonly onGroup?: (code: string, group: ParameterGroup, unlisted: readonly string[]) => void;
  /** Compares the values of groups with those of single addresses. */
  readonly comparison?: ReadComparison;
  /** Called when the group's value no longer counts for an address. */
  readonly onApart?: (found: Compared) => void;
  /** Waits for another request of the budget, for a job of several requests. */
  readonly turn?: (signal: AbortSignal) => Promise<void>;
}

/** What was announced about the value being read, when its answer comes. */
interface Said {
  readonly last: () => string | undefined;
  /** Announced since the read began. */
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
      // A contradiction announced since the read began may be newer than the answer, so that is read once more.
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

/** Reads a list of the whole account. */
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

/** Reads all videos at once; or device by device, where a refusal says that the device code is missing. */
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
    // The entries of a refusing camera stay as they were.
    return Object.assign(answers.flat(), { isPage: failure !== undefined });
  }
}

/** Reads an address from the device itself. If it shows the announced value, the news came from there. */
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

/**
 * Reads registers. Nothing says that a group is read from the device, so it counts as the platform's memory, like a
 * plain read.
 */
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
      // An unreadable address must not keep its neighbours from being read.
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

/** Compares two reads of one address, made one after the other. */
function compare(found: Compared, { store, clock, comparison, onApart }: PollPorts): void {
  const controller = store.get(found.code);
  if (controller === undefined || comparison === undefined) return;
  const isSame = sameValue(textOf(found.group), textOf(found.value));
  if (comparison.onCompared(controller, found.address, isSame, clock.monotonic())) onApart?.(found);
}

/** Compares values that agree with the device's own, and names those that still need a read to compare with. */
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

/**
 * Addresses whose unflushed value, or the previous one, differs from one of the device itself: a cache may be older.
 */
function contradictedAddresses(controller: Controller | undefined, read: RegistersRead): readonly string[] {
  if (controller === undefined || read.fresh) return [];
  return [...read.values].flatMap(([address, raw]) => {
    const register = registerAt(controller, address);
    const differs = register?.fresh === true && !sameValue(textOf(register.raw), textOf(raw));
    return differs || register?.isDoubtful === true ? [address] : [];
  });
}

/** Addresses that are configured for a parameter group but missing in its answer. */
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

/**
 * The register of an address; null before its first read, undefined for an address that the controller does not follow.
 */
export function registerAt(controller: Controller, address: string): Register | null | undefined {
  for (const { settings, registers } of controller.actuators.values())
    if (stateAddresses(settings).includes(address)) return registers[address] ?? null;
  for (const { settings, register } of controller.parameters.values())
    if (settings.address === address) return register;
  return controller.addresses.get(address)?.register;
}

/** Kinds of polls in health and metrics; `register` is one address, `registers` one parameter group of a controller. */
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

/** Calls an hour, by kind. */
export type PollCost = Readonly<Record<PollOperation, number>>;

const hourMs = 3_600_000;

function operationOf(job: PollJob): PollOperation {
  if (job.kind !== "registers") return job.kind;
  return job.read.type === "group" ? "registers" : "register";
}

/** The cost of jobs that each run once in their interval (ms), in whole calls. */
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

/** Whether a request was not sent, as the host is away or asked for a pause. */
export const wasHeld = (error: unknown): boolean =>
  error instanceof PlatformError &&
  (error.facts.kind === "paused" || (error.facts.kind === "throttled" && !error.facts.sent));

/** `held`: not sent, as the host is away or asked for a pause. */
export const pollResults = ["ok", "failed", "held"] as const;
type PollResult = (typeof pollResults)[number];

const key = (operation: PollOperation, code: string | null) => `${operation} ${code ?? ""}`;

/** Counts polls by result, with the times of their last answers; instants are monotonic ms. */
export class PollTally {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #answeredAt = new Map<string, number>();
  #endedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When any read last ended, with whatever result, as a sign that polling goes on. Null before the first. */
  get endedAt(): number | null {
    return this.#endedAt;
  }

  /** When the platform last answered this; null for never. */
  answeredAt(operation: PollOperation, code: string | null): number | null {
    return this.#answeredAt.get(key(operation, code)) ?? null;
  }

  count(operation: PollOperation, result: PollResult): number {
    return this.#counts.get(`${operation} ${result}`) ?? 0;
  }

  forget(code: string): void {
    for (const operation of pollOperations) this.#answeredAt.delete(key(operation, code));
  }

  /** Notes how a read of polling ends. */
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
