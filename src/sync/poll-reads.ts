import { sameValue, textOf } from "../greenhouse/actuator-kinds.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import type { ControllerEvent } from "../greenhouse/events.js";
import type { Controller, Register } from "../greenhouse/model.js";
import { PlatformError, type PlatformReader, type RawValue } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Inventory } from "./inventory.js";
import {
  operationOf,
  type PollJob,
  type PollOperation,
  pollOperations,
  type RegisterRead,
} from "./poll-plan.js";
import type { GreenhouseStore } from "./store.js";

export interface PollPorts {
  readonly platform: PlatformReader;
  readonly store: GreenhouseStore;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly tally: PollTally;
  /** Waits until the budget has another request, for a job that needs more than one. */
  readonly turn?: (signal: AbortSignal) => Promise<void>;
}

/** Performs one job: asks the platform and folds the answer. Rejects with the PlatformError of a failed request. */
export async function perform(job: PollJob, ports: PollPorts, signal: AbortSignal): Promise<void> {
  const { platform, store, inventory, clock, tally } = ports;
  const code = "code" in job ? job.code : null;
  const answer = <Answer>(read: Promise<Answer>) => tally.noted(operationOf(job), code, read);
  switch (job.kind) {
    case "controllers":
      inventory.controllersListed(await answer(platform.controllers(signal)), clock.monotonic());
      return;
    case "devices":
      inventory.devicesListed(await answer(platform.devices(job.dataType, signal)), job.dataType);
      return;
    case "connection": {
      const status = await answer(platform.connection(job.code, signal, "polled"));
      store.dispatch(job.code, { type: "connection", status });
      return;
    }
    case "sensors": {
      const items = await answer(platform.sensors(job.code, signal));
      inventory.readingsAnswered(job.code, items.length);
      store.dispatch(job.code, { type: "sensors_read", items, receivedAt: clock.now(), source: "poll" });
      return;
    }
    case "running_status": {
      const items = await answer(platform.runningStatuses(job.code, signal));
      store.dispatch(job.code, { type: "statuses_read", items, receivedAt: clock.now() });
      return;
    }
    case "registers":
      await readRegisters(job.code, job.read, ports, signal);
  }
}

/** Nothing says that a group is read from the device, so it counts as the platform's memory, as a plain read does. */
async function readRegisters(
  code: string,
  read: RegisterRead,
  ports: PollPorts,
  signal: AbortSignal,
): Promise<void> {
  const { platform, store, tally } = ports;
  const one = async (address: string, fresh: boolean) => {
    const raw = await tally.noted("register", code, platform.value(code, address, fresh, signal, "polled"));
    return new Map(raw === null ? [] : [[address, raw] as const]);
  };
  const first = await registersEvent(ports, false, () =>
    read.type === "group"
      ? tally.noted("registers", code, platform.values(code, read.group, signal))
      : one(read.address, false),
  );
  const doubtful = contradicted(store.get(code), first);
  store.dispatch(code, { ...first, values: without(first.values, doubtful) });
  let failure: PlatformError | null = null;
  for (const address of doubtful) {
    await ports.turn?.(signal);
    try {
      store.dispatch(code, await registersEvent(ports, true, () => one(address, true)));
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

const without = (values: ReadonlyMap<string, RawValue>, left: readonly string[]) =>
  new Map([...values].filter(([address]) => !left.includes(address)));

/** Addresses whose unflushed value differs from one the device itself gave: a cache may be older than that. */
function contradicted(controller: Controller | undefined, read: RegistersRead): readonly string[] {
  if (controller === undefined || read.fresh) return [];
  return [...read.values].flatMap(([address, raw]) => {
    const register = registerAt(controller, address);
    const differs = register?.fresh === true && !sameValue(textOf(register.raw), textOf(raw));
    return differs ? [address] : [];
  });
}

/** What is shown of one address, null while it was not read; undefined for an address that nothing of the controller follows. */
export function registerAt(controller: Controller, address: string): Register | null | undefined {
  for (const { settings, registers } of controller.actuators.values())
    if (stateAddresses(settings).includes(address)) return registers[address] ?? null;
  for (const { settings, register } of controller.parameters.values())
    if (settings.address === address) return register;
  return controller.addresses.get(address)?.register;
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
  async noted<T>(operation: PollOperation, code: string | null, read: Promise<T>): Promise<T> {
    try {
      const answer = await read;
      this.#answeredAt.set(key(operation, code), this.#clock.monotonic());
      this.#ended(operation, "ok");
      return answer;
    } catch (error) {
      this.#ended(operation, wasHeld(error) ? "held" : "failed");
      throw error;
    }
  }

  #ended(operation: PollOperation, result: PollResult): void {
    this.#endedAt = this.#clock.monotonic();
    const counted = `${operation} ${result}`;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }
}
