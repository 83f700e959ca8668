import { isDevice } from "./device-types.js";
import { isGuard } from "./limits.js";
import type { Controller, Sensor } from "./model.js";
import type { SensorKind } from "./sensors.js";

/* Sums up the controllers of an account. */

export interface AccountSummary {
  readonly controllers: number;
  readonly online: number;
  readonly offline: number;
  /** Controllers that are not offline but have a reading that is not good. */
  readonly old: number;
  /** Controllers with a target whose newest sent command ended badly. */
  readonly problems: number;
  /** Actuators at which a guard holds, and actuators with a lock. */
  readonly guards: number;
  readonly locks: number;
  /** Of greenhouses whose first thermometer is good; null for none. */
  readonly temperature: Temperatures | null;
  /** The platform's names of their places; the first few. */
  readonly stations: readonly string[];
}

interface Temperatures {
  readonly least: number;
  readonly most: number;
  readonly unit: string | null;
}

/** The main readings of a house: the first sensor of each kind. */
export const keySensors = (
  { sensors }: Pick<Controller, "sensors">,
  kinds: readonly SensorKind[],
): readonly Sensor[] =>
  kinds.flatMap((kind) => {
    const found = [...sensors.values()].find(
      ({ definition }) => definition.kind === kind && definition.average !== true,
    );
    return found === undefined ? [] : [found];
  });

const mostStations = 3;

const none: AccountSummary = {
  controllers: 0,
  online: 0,
  offline: 0,
  old: 0,
  problems: 0,
  guards: 0,
  locks: 0,
  temperature: null,
  stations: [],
};

/** A changed controller is a new object, so thousands of unchanged ones cost little. */
const known = new WeakMap<Controller, AccountSummary>();

export function summaryOf(controllers: Iterable<Controller>): AccountSummary {
  let sum = none;
  for (const controller of controllers) {
    const one = known.get(controller) ?? summaryOfOne(controller);
    known.set(controller, one);
    sum = {
      controllers: sum.controllers + one.controllers,
      online: sum.online + one.online,
      offline: sum.offline + one.offline,
      old: sum.old + one.old,
      problems: sum.problems + one.problems,
      guards: sum.guards + one.guards,
      locks: sum.locks + one.locks,
      temperature: together(sum.temperature, one.temperature),
      stations:
        sum.stations.length < mostStations ? [...new Set([...sum.stations, ...one.stations])] : sum.stations,
    };
  }
  return sum;
}

/** Joins two ranges; degrees of different units are not compared. */
function together(one: Temperatures | null, other: Temperatures | null): Temperatures | null {
  if (one === null || other === null) return one ?? other;
  if (one.unit !== other.unit) return one;
  return { least: Math.min(one.least, other.least), most: Math.max(one.most, other.most), unit: one.unit };
}

function temperatureOf(controller: Controller): Temperatures | null {
  if (isDevice(controller.info.type)) return null;
  const [found] = keySensors(controller, ["temperature"]);
  if (found?.quality !== "good" || typeof found.value !== "number") return null;
  return { least: found.value, most: found.value, unit: found.definition.unit };
}

function summaryOfOne(controller: Controller): AccountSummary {
  const { info, availability, problem, sensors, actuators } = controller;
  const station = info.record?.stationName ?? null;
  const isOld = [...sensors.values()].some(({ quality }) => quality !== "good");
  const limited = [...actuators.values()];
  const holds = limited.filter(({ restrictions }) =>
    restrictions?.allowed.because.some(({ rule }) => isGuard(rule)),
  );
  return {
    controllers: 1,
    online: Number(availability === "online"),
    offline: Number(availability === "offline"),
    old: Number(availability !== "offline" && isOld),
    problems: Number(problem),
    guards: holds.length,
    locks: limited.filter(({ restrictions }) => (restrictions?.lock ?? null) !== null).length,
    temperature: temperatureOf(controller),
    stations: station === null ? [] : [station],
  };
}
