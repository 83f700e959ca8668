import type { Configuration, ControllerConfiguration } from "./schema.js";

/** What one sweep over the account reads, besides the controller list. */
export interface ReadLoad {
  readonly controllers: number;
  /** Reads of addresses, each of one address or of one control-parameter type of a controller. */
  readonly addressReads: number;
}

type Intervals = Pick<Configuration["polling"], "controllers" | "sensors" | "running_status" | "actuators">;

const minuteMs = 60_000;

/** Requests a minute that polling at these intervals (ms) takes. */
export function requestsPerMinuteNeeded(intervals: Intervals, load: ReadLoad): number {
  return (
    minuteMs / intervals.controllers +
    load.controllers * (minuteMs / intervals.sensors + minuteMs / intervals.running_status) +
    load.addressReads * (minuteMs / intervals.actuators)
  );
}

/** Fewest reads for the addresses of a controller: those with a type together, every other one alone. */
export function addressReadsOf(controller: ControllerConfiguration): number {
  const reads = new Set<string>();
  const add = (type: number | undefined, addresses: readonly (string | undefined)[]) => {
    for (const address of addresses)
      if (address !== undefined) reads.add(type === undefined ? `address ${address}` : `type ${type}`);
  };
  for (const actuator of Object.values(controller.actuators))
    add(actuator.type_id, [actuator.address, actuator.mode_address, actuator.position_address]);
  for (const parameter of Object.values(controller.parameters)) add(parameter.type_id, [parameter.address]);
  return reads.size;
}

/** The load of the controllers a configuration names; an account may hold more. */
export function configuredLoad(configuration: Configuration): ReadLoad {
  const mirrored = Object.values(configuration.controllers).filter((controller) => !controller.ignore);
  return {
    controllers: mirrored.length,
    addressReads: mirrored.reduce((sum, controller) => sum + addressReadsOf(controller), 0),
  };
}
