import { sameValue, textOf } from "../greenhouse/actuator-values.js";
import type { ControllerEvent } from "../greenhouse/events.js";
import type { Controller, Register } from "../greenhouse/model.js";
import { PlatformError, type PlatformReader, type RawValue } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Inventory } from "./inventory.js";
import type { PollJob, RegisterRead } from "./poll-plan.js";
import type { GreenhouseStore } from "./store.js";

export interface PollPorts {
  readonly platform: PlatformReader;
  readonly store: GreenhouseStore;
  readonly inventory: Inventory;
  readonly clock: Clock;
  /** Waits until the budget has another request, for a job that needs more than one. */
  readonly turn?: () => Promise<void>;
}

/** Performs one job: asks the platform and folds the answer. Rejects with the PlatformError of a failed request. */
export async function perform(job: PollJob, ports: PollPorts, signal: AbortSignal): Promise<void> {
  const { platform, store, inventory, clock } = ports;
  switch (job.kind) {
    case "controllers":
      inventory.controllersListed(await platform.controllers(signal), clock.monotonic());
      return;
    case "devices":
      inventory.devicesListed(await platform.devices(job.dataType, signal), job.dataType);
      return;
    case "connection":
      store.dispatch(job.code, {
        type: "connection",
        status: await platform.connection(job.code, signal, "polled"),
      });
      return;
    case "sensors": {
      const items = await platform.sensors(job.code, signal);
      inventory.readingsAnswered(job.code, items.length);
      store.dispatch(job.code, { type: "sensors_read", items, receivedAt: clock.now(), source: "poll" });
      return;
    }
    case "running_status": {
      const items = await platform.runningStatuses(job.code, signal);
      store.dispatch(job.code, { type: "statuses_read", items, receivedAt: clock.now(), source: "poll" });
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
  const { platform, store } = ports;
  const first = await registersEvent(ports, false, async () =>
    read.type === "group"
      ? platform.values(code, read.group, signal)
      : single(read.address, await platform.value(code, read.address, false, signal)),
  );
  const doubtful = contradicted(store.get(code), first);
  store.dispatch(code, { ...first, values: without(first.values, doubtful) });
  let failure: PlatformError | null = null;
  for (const address of doubtful) {
    await ports.turn?.();
    try {
      const again = await registersEvent(ports, true, async () =>
        single(address, await platform.value(code, address, true, signal)),
      );
      store.dispatch(code, again);
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

const single = (address: string, raw: RawValue | null): ReadonlyMap<string, RawValue> =>
  new Map(raw === null ? [] : [[address, raw]]);

const without = (values: ReadonlyMap<string, RawValue>, left: readonly string[]) =>
  new Map([...values].filter(([address]) => !left.includes(address)));

/** Addresses whose unflushed value differs from one the device itself gave: a cache may be older than that. */
function contradicted(controller: Controller | undefined, read: RegistersRead): readonly string[] {
  if (controller === undefined || read.fresh) return [];
  const held = (address: string): Register | null => {
    for (const actuator of controller.actuators.values()) {
      const register = actuator.registers[address];
      if (register) return register;
    }
    const parameter = [...controller.parameters.values()].find((one) => one.settings.address === address);
    return parameter?.register ?? controller.addresses.get(address)?.register ?? null;
  };
  return [...read.values].flatMap(([address, raw]) => {
    const register = held(address);
    const differs = register?.fresh === true && !sameValue(textOf(register.raw), textOf(raw));
    return differs ? [address] : [];
  });
}
