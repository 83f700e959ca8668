import { msg, type Text } from "../../language/text.js";
import { recogniseSensor } from "../../greenhouse/sensor-names.js";
import { quantities, type SensorKind } from "../../greenhouse/sensors.js";
import { knownUnit, normaliseUnit } from "../../greenhouse/units.js";
import { suggestion } from "../../runtime/similar-words.js";
import { atValue, type Finding, type Path } from "../../settings/problem.js";
import { kindOf } from "./alarms.js";
import {
  asDraft,
  type Draft,
  isDraft,
  isGiven,
  numberOf,
  sectionOf,
  sectionsAt,
  textOf,
} from "../../settings/draft.js";
import { judgedNumbers } from "./limit-rules.js";

/*
 * Checks units of measured values. A number in another unit than its author thinks moves a guard or an alarm: 12 km/h
 * are 3.3 m/s.
 */

/** A unit in the file, and what is measured in it; null if the configuration does not say. */
interface Unit {
  readonly path: Path;
  readonly text: string;
  readonly kind: SensorKind | null;
  /** Whether a guard or an alarm judges the value. */
  readonly isJudged: boolean;
}

function unitsIn(root: Draft): readonly Unit[] {
  const judged = new Set(judgedNumbers(root).map(({ input }) => input));
  const byKind = sectionOf(root, "alarms");
  const ofWeather = sectionsAt(root, "weather.*").flatMap(({ path, section }) => {
    const text = textOf(section, "unit");
    const name = String(path[1]);
    const isJudged = judged.has(`weather/${name}`);
    return text === null ? [] : [{ path: [...path, "unit"], text, kind: kindNamed(name), isJudged }];
  });
  const ofSensors = sectionsAt(root, "controllers.*.sensors.*").flatMap(({ path, section }) => {
    const text = textOf(section, "unit");
    if (text === null || section.ignore === true) return [];
    const kind = kindOf(section);
    const hasAlarm = isDraft(section.alarm) || (section.alarm !== false && isDraft(byKind[kind ?? ""]));
    const isJudged = hasAlarm || judged.has(`${String(path[1])}/${String(path[3])}`);
    return [{ path: [...path, "unit"], text, kind, isJudged }];
  });
  return [...ofWeather, ...ofSensors];
}

/** What a `weather` topic is about, by the name that the user gave it. */
function kindNamed(name: string): SensorKind | null {
  // In names of the platform's sensors `wind` alone says too little: it is a direction as often.
  if (/^(?:wind|gusts?)(?:_speed)?$/.test(name)) return "wind_speed";
  const { kind } = recogniseSensor({ name: name.replaceAll("_", " "), factor: name, unit: null });
  return kind === "other" ? null : kind;
}

/** Why a unit does not fit its kind; null if it does, or nobody can tell. */
function unitProblem({ text, kind }: Unit): Text | null {
  const unit = normaliseUnit(text);
  if (unit === null || kind === "other") return null;
  if (kind === null)
    return knownUnit(text) === null ? msg`unknown unit: nothing checks whether it is right` : null;
  const { units } = quantities[kind];
  if (units.length === 0 || units.includes(unit)) return null;
  const nearest = suggestion(text, units);
  return msg`no unit of ${kind}; expected one of ${units.join(", ")}${nearest}`;
}

/** Limits on a value in a unit that it cannot have would mean something else. */
export const judgedUnits = (root: Draft): Finding[] =>
  unitsIn(root).flatMap((unit) => {
    const problem = unit.isJudged && unit.kind !== null ? unitProblem(unit) : null;
    return problem === null ? [] : [atValue(unit.path, problem)];
  });

/** Doubts about units of values that nothing judges, and about spellings that are read as another unit. */
export function unitDoubts(read: unknown): Finding[] {
  const root = asDraft(read);
  const spelt = unitsIn(root).flatMap((unit) => {
    const { path, text, isJudged, kind } = unit;
    const problem = unitProblem(unit);
    if (problem !== null) return isJudged && kind !== null ? [] : [atValue(path, problem)];
    const known = knownUnit(text);
    return known === null || known === text.trim()
      ? []
      : [atValue(path, msg`understood as ${known}; write that`)];
  });
  return [...spelt, ...faintWinds(root)];
}

/** Factors to m/s. */
const windFactors: Readonly<Record<string, number>> = {
  "km/h": 1 / 3.6,
  mph: 0.44704,
  kn: 0.514444,
  "ft/s": 0.3048,
};
/** A gentle breeze, m/s; nobody closes a window for less. */
const faintest = 5.5;

/** Doubts about limits that were probably meant in m/s. */
function faintWinds(root: Draft): Finding[] {
  return judgedNumbers(root).flatMap(({ guard, path, input }) => {
    const above = numberOf(guard, "above");
    const unit = unitOfWind(root, input);
    const factor = windFactors[unit ?? ""];
    if (above === null || unit === null || factor === undefined || above * factor >= faintest) return [];
    const meant = Number((above / factor).toPrecision(2));
    const message = msg`${above} ${unit} is ${(above * factor).toFixed(1)} m/s, which is hardly any wind; where m/s is meant, write ${meant}`;
    return [atValue([...path, "above"], message)];
  });
}

function unitOfWind(root: Draft, input: string): string | null {
  const [controller = "", id = ""] = input.split("/");
  if (controller === "weather") {
    const section = sectionOf(sectionOf(root, "weather"), id);
    return kindNamed(id) === "wind_speed" ? normaliseUnit(textOf(section, "unit")) : null;
  }
  const sensor = sectionOf(sectionOf(sectionOf(sectionOf(root, "controllers"), controller), "sensors"), id);
  return isGiven(sensor, "unit") && kindOf(sensor) === "wind_speed"
    ? normaliseUnit(textOf(sensor, "unit"))
    : null;
}
