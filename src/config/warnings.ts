import { statements } from "../language/lists.js";
import { counted, msg, type Text } from "../language/text.js";
import { digitsSent } from "../greenhouse/command/setpoints.js";
import { contradiction, contradictionRemedy, parameterGroup } from "../greenhouse/device-types.js";
import { formatDuration } from "../runtime/duration.js";
import { isLoopback } from "../runtime/sockets.js";
import { alarmSentences } from "./rules/alarms.js";
import { ageDoubts, leadInDoubts, limitSentences, runningDoubts } from "./rules/limit-rules.js";
import { mirroredActuators } from "../settings/controllers.js";
import { atKey, atValue, type Finding, when } from "../settings/problem.js";
import { allFeatures, type Configuration, type ControllerConfiguration } from "./schema.js";

/** What one sweep over the account reads, beside the controller list. */
interface ReadLoad {
  /** Whether the list of videos is asked for. */
  readonly hasVideos: boolean;
  /** The number of controllers whose averages are read. */
  readonly averages: number;
  readonly controllers: number;
  /** Reads of addresses, each of one address or of one control-parameter type of a controller. */
  readonly addressReads: number;
}

type Intervals = Pick<Configuration["polling"], "controllers" | "sensors" | "running_status" | "actuators">;

const hourMs = 3_600_000;
/** Lists of devices and of videos hardly ever change, so each is read every twelfth time. */
const rareList = 1 / 12;
const deviceLists = 2;

/** Calls an hour that polling at these intervals (ms) takes. */
export function callsPerHourNeeded(intervals: Intervals, load: ReadLoad): number {
  return (
    (1 + rareList * (deviceLists + (load.hasVideos ? 1 : 0) + load.averages)) *
      (hourMs / intervals.controllers) +
    load.controllers * callsPerController(intervals) +
    load.addressReads * (hourMs / intervals.actuators)
  );
}

/** Calls an hour for the readings and running statuses of one controller. */
const callsPerController = (intervals: Intervals): number =>
  hourMs / intervals.sensors + hourMs / intervals.running_status;

/**
 * Says what polling costs with this configuration; an account may have controllers that it does not name. After a start
 * the single-device status of each is asked once, spread over an interval.
 */
export function costSentence(configuration: Configuration): Text {
  const { polling, platform, mirror } = configuration;
  const load = configuredLoad(configuration);
  const calls = Math.round(callsPerHourNeeded(polling, load));
  const budget = platform.requests_per_minute * 60;
  const ofBudget = budget === 0 ? "" : msg` of the budget of ${budget}`;
  const spread = msg`spread over ${formatDuration(polling.controllers)}`;
  const statuses = counted(load.controllers, "single-device status", "single-device statuses");
  const start = load.controllers === 0 ? "" : msg`, and each start ${statuses}, ${spread}`;
  const costs = msg`polling costs ${calls} calls an hour${ofBudget}${start}`;
  if (mirror === "listed") return costs;
  const more = Math.round(callsPerController(polling));
  return msg`${costs}; each controller that is not named here costs ${more} more, and one at each start (\`greenhouse2mqtt doctor\` says the sum)`;
}

/** Plain sentences about what a valid configuration does. */
export const sentencesAbout = (configuration: Configuration): readonly Text[] => [
  ...limitSentences(configuration),
  ...alarmSentences(configuration),
  ...allFeatures.flatMap(({ sentences }) => sentences?.(configuration) ?? []),
];

/** Calls an hour for an account with these controllers. */
export function accountCost(configuration: Configuration, codes: readonly string[]): number {
  const { controllers, mirror, polling } = configuration;
  const load = configuredLoad(configuration);
  const unnamed = mirror === "listed" ? [] : codes.filter((code) => !Object.hasOwn(controllers, code));
  return Math.round(callsPerHourNeeded(polling, { ...load, controllers: load.controllers + unnamed.length }));
}

/** The fewest reads for a controller's addresses: those of one type together, every other one alone. */
function addressReadsOf(controller: ControllerConfiguration): number {
  // A type is a number and an address a text, so they cannot be confused.
  const reads = new Set<string | number>();
  const add = (type: number | undefined, addresses: readonly string[]) => {
    for (const address of addresses) reads.add(type ?? address);
  };
  for (const [, actuator] of mirroredActuators(controller)) {
    const {
      type_id: type,
      address,
      mode_address: mode = address,
      position_address: degree = address,
    } = actuator;
    add(type, [mode, degree]);
  }
  for (const parameter of Object.values(controller.parameters)) add(parameter.type_id, [parameter.address]);
  return reads.size;
}

/** The load of the controllers that a configuration names; an account may have more. */
export function configuredLoad(configuration: Configuration): ReadLoad {
  const mirrored = Object.values(configuration.controllers).filter((controller) => !controller.ignore);
  return {
    hasVideos: mirrored.some(({ stream }) => stream),
    averages: mirrored.filter(({ averages }) => averages).length,
    controllers: mirrored.length,
    addressReads: mirrored.reduce((sum, controller) => sum + addressReadsOf(controller), 0),
  };
}

/** What works but is probably not wanted. `hasBroker`: the file has the section. */
export const doubtsAbout = (configuration: Configuration, hasBroker: boolean): Finding[] => [
  ...platformDoubts(configuration),
  ...reachDoubts(configuration, hasBroker),
  ...pollingDoubts(configuration),
  ...roundingDoubts(configuration),
  ...typeDoubts(configuration),
  ...sensorDoubts(configuration),
  ...ageDoubts(configuration),
  ...runningDoubts(configuration),
  ...leadInDoubts(configuration),
  ...allFeatures.flatMap(({ doubts }) => doubts?.(configuration) ?? []),
];

const advisedControlMs = 30_000;

const platformDoubts = ({ platform }: Configuration): Finding[] => [
  ...when(
    [platform.business_url, platform.realtime_url].some(
      (url) => url.startsWith("http:") && !isLoopback(new URL(url).hostname),
    ),
    ["platform", "allow_insecure"],
    msg`the token travels unencrypted and can be read on the way`,
  ),
  ...when(
    platform.timeouts.control < advisedControlMs,
    ["platform", "timeouts", "control"],
    msg`the platform advises to wait at least ${formatDuration(advisedControlMs)} for a control value; giving up earlier leaves open whether it was done`,
  ),
];

function reachDoubts({ mqtt, mirror, controllers }: Configuration, hasBroker: boolean): Finding[] {
  return [
    ...(mqtt.url !== undefined && hasBroker
      ? [
          atKey(
            ["broker"],
            msg`without effect, because mqtt.url names another broker; the embedded one is not started`,
          ),
        ]
      : []),
    ...when(
      !mqtt.tls.reject_unauthorized,
      ["mqtt", "tls", "reject_unauthorized"],
      msg`the broker's certificate is not verified`,
    ),
    ...when(
      mirror === "listed" && Object.values(controllers).every(({ ignore }) => ignore),
      ["mirror"],
      msg`nothing is mirrored, because no controller is listed below`,
    ),
  ];
}

function pollingDoubts(configuration: Configuration): Finding[] {
  const { polling, platform } = configuration;
  const needed = Math.ceil(callsPerHourNeeded(polling, configuredLoad(configuration)) / 60);
  return [
    ...when(
      polling.controllers < 300_000,
      ["polling", "controllers"],
      msg`the platform asks for 5m or more between controller lists`,
    ),
    ...when(
      polling.stale_after < polling.sensors,
      ["polling", "stale_after"],
      msg`readings would be stale before the next poll (polling.sensors is ${formatDuration(polling.sensors)})`,
    ),
    ...when(
      platform.requests_per_minute > 0 && needed > platform.requests_per_minute,
      ["platform", "requests_per_minute"],
      msg`polling the controllers below takes about ${needed} requests a minute; all intervals will be stretched`,
    ),
  ];
}

/**
 * Kinds that the control-parameter type of their address contradicts; the device's own type is known only at the start.
 */
function typeDoubts({ controllers }: Configuration): Finding[] {
  return Object.entries(controllers).flatMap(([code, section]) =>
    mirroredActuators(section).flatMap(([id, { kind, type_id, accept_type }]) => {
      const group = type_id === undefined ? undefined : parameterGroup(type_id);
      const why = contradiction({ kind, group, acceptType: accept_type }, null);
      const path = ["controllers", code, "actuators", id, "type_id"];
      return why === null ? [] : [atValue(path, statements([why, contradictionRemedy]))];
    }),
  );
}

/** A name that several readings have fits any of them that no other entry names. */
const sensorDoubts = ({ controllers }: Configuration): Finding[] =>
  Object.entries(controllers).flatMap(([code, { sensors }]) =>
    Object.entries(sensors).flatMap(([id, { from }]) => {
      const beside = Object.entries(sensors).find(([, other]) => other.from.startsWith(`${from}@`));
      const path = ["controllers", code, "sensors", id, "from"];
      return beside === undefined
        ? []
        : [
            atValue(
              path,
              msg`sensor ${beside[0]} names one of several of this name; use name@channel here too`,
            ),
          ];
    }),
  );

/** Values that may be set although the platform can only hold others. */
function roundingDoubts({ controllers }: Configuration): Finding[] {
  return Object.entries(controllers).flatMap(([code, { parameters }]) =>
    Object.entries(parameters).flatMap(([id, { scale, writable }]) => {
      if (writable === undefined) return [];
      const { min, step } = writable;
      const candidates = [["min", min] as const, ["step", min + step] as const];
      const rounded = candidates.find(([, wanted]) => heldValue(wanted, scale) !== exact(wanted));
      if (rounded === undefined) return [];
      const [key, wanted] = rounded;
      const told = msg`${exact(wanted)} would be sent as ${digitsSent(wanted, scale)} and read back as ${heldValue(wanted, scale)}`;
      const path = ["controllers", code, "parameters", id, "writable", key];
      return [atValue(path, msg`${told}; expected a multiple of scale (${scale})`)];
    }),
  );
}

/** Drops the noise of binary fractions. */
const exact = (number: number): number => Number(number.toPrecision(12));
const heldValue = (wanted: number, scale: number): number => exact(digitsSent(wanted, scale) * scale);
