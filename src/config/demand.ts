import type { Configuration, ControllerConfiguration } from "./schema.js";

type ActuatorConfiguration = ControllerConfiguration["actuators"][string];

/** What one sweep over the account reads, besides the controller list. */
export interface ReadLoad {
  readonly controllers: number;
  /** Reads of addresses, each of one address or of one control-parameter type of a controller. */
  readonly addressReads: number;
}

type Intervals = Pick<Configuration["polling"], "controllers" | "sensors" | "running_status" | "actuators">;

const hourMs = 3_600_000;
/** Both lists of devices hardly ever change, so they are asked for once in twelve times. */
const deviceLists = 2 / 12;

/** Calls an hour that polling at these intervals (ms) takes. */
export function callsPerHourNeeded(intervals: Intervals, load: ReadLoad): number {
  return (
    (1 + deviceLists) * (hourMs / intervals.controllers) +
    load.controllers * callsPerController(intervals) +
    load.addressReads * (hourMs / intervals.actuators)
  );
}

/** Calls an hour for the readings and running statuses of one controller. */
export const callsPerController = (intervals: Intervals): number =>
  hourMs / intervals.sensors + hourMs / intervals.running_status;

/** Requests a minute that polling at these intervals (ms) takes. */
export const requestsPerMinuteNeeded = (intervals: Intervals, load: ReadLoad): number =>
  callsPerHourNeeded(intervals, load) / 60;

/** What polling costs by this configuration, in a sentence; an account may hold controllers it does not name. */
export function costSentence(configuration: Configuration): string {
  const { polling, platform, mirror } = configuration;
  const calls = Math.round(callsPerHourNeeded(polling, configuredLoad(configuration)));
  const budget = platform.requests_per_minute * 60;
  const costs = `polling costs ${calls} calls an hour${budget === 0 ? "" : ` of the budget of ${budget}`}`;
  if (mirror === "listed") return costs;
  return `${costs}; each controller that is not named here costs ${Math.round(callsPerController(polling))} more`;
}

/** Fewest reads for the addresses of a controller: those with a type together, every other one alone. */
export function addressReadsOf(controller: ControllerConfiguration): number {
  const reads = new Set<string>();
  const add = (type: number | undefined, addresses: readonly string[]) => {
    for (const address of addresses) reads.add(type === undefined ? `address ${address}` : `type ${type}`);
  };
  for (const actuator of Object.values(controller.actuators)) add(actuator.type_id, stateAddresses(actuator));
  for (const parameter of Object.values(controller.parameters)) add(parameter.type_id, [parameter.address]);
  return reads.size;
}

/** Where an actuator's state is read; one without addresses of its own for mode and position has a single one. */
const stateAddresses = ({
  address,
  mode_address: mode = address,
  position_address: position = address,
}: ActuatorConfiguration): readonly string[] => [mode, position];

/** The load of the controllers a configuration names; an account may hold more. */
export function configuredLoad(configuration: Configuration): ReadLoad {
  const mirrored = Object.values(configuration.controllers).filter((controller) => !controller.ignore);
  return {
    controllers: mirrored.length,
    addressReads: mirrored.reduce((sum, controller) => sum + addressReadsOf(controller), 0),
  };
}
