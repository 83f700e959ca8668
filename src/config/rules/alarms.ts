import { clauses } from "../../language/lists.js";
import { msg, type Text } from "../../language/text.js";
import {
  bandLimits,
  type BandLimit,
  bandsOf,
  type BandSettings,
  roomBetween,
} from "../../greenhouse/bands.js";
import { recogniseSensor } from "../../greenhouse/sensor-names.js";
import { type SensorKind, sensorKinds } from "../../greenhouse/sensors.js";
import { formatDuration } from "../../runtime/duration.js";
import { atValue, type Finding, type Path } from "../../settings/problem.js";
import type { Configuration } from "../schema.js";
import {
  type Draft,
  isDraft,
  isGiven,
  numberOf,
  sectionOf,
  sectionsAt,
  textOf,
} from "../../settings/draft.js";

/* Rules of `alarms` and `sensors.<s>.alarm`. Limits in an impossible order would never do what their author meant. */

/** What a sensor measures, as far as the configuration alone says. */
export function kindOf(sensor: Draft): SensorKind | null {
  const written = sensorKinds.find((known) => known === sensor.kind);
  const from = textOf(sensor, "from");
  if (written !== undefined || from === null) return written ?? null;
  const [name = ""] = from.split(/[@#]/);
  const { kind } = recogniseSensor({ name, factor: name, unit: null });
  return kind === "other" ? null : kind;
}

/** A section, and the more general one that it adds to. */
interface Merged {
  readonly path: Path;
  readonly own: Draft;
  readonly further: Draft;
}

function mergedIn(root: Draft): readonly Merged[] {
  const byKind = sectionOf(root, "alarms");
  const ofKinds = Object.keys(byKind).map((kind) => ({
    ...{ path: ["alarms", kind], own: sectionOf(byKind, kind), further: {} },
  }));
  const ofSensors = sectionsAt(root, "controllers.*.sensors.*").flatMap(({ path, section }) =>
    isDraft(section.alarm)
      ? [{ path: [...path, "alarm"], own: section.alarm, further: sectionOf(byKind, kindOf(section) ?? "") }]
      : [],
  );
  return [...ofKinds, ...ofSensors];
}

/** Each of `low_low`, `low`, `high` and `high_high` has to be above the one before. */
export const orderedBands = (root: Draft): Finding[] =>
  mergedIn(root).flatMap(({ path, own, further }) => {
    const limits = bandLimits.flatMap((key) => {
      const isOwn = isGiven(own, key);
      const value = numberOf(isOwn ? own : further, key);
      return value === null ? [] : [{ key, value, isOwn }];
    });
    const wrong = limits.flatMap((one, at) => {
      const before = limits[at - 1];
      if (before === undefined || before.value < one.value || (!one.isOwn && !before.isOwn)) return [];
      const [at0, message] = one.isOwn
        ? [one.key, msg`expected a number above ${before.key} (${before.value})`]
        : [before.key, msg`expected a number below ${one.key} (${one.value})`];
      return [atValue([...path, at0], message)];
    });
    return wrong.length > 0 ? wrong : roomyDeadband(own, path, limits);
  });

/** Refuses a deadband so wide that a value that was too low counts as normal again only when it is too high. */
function roomyDeadband(
  own: Draft,
  path: Path,
  limits: readonly { readonly key: BandLimit; readonly value: number }[],
): Finding[] {
  const deadband = numberOf(own, "deadband");
  const room = roomBetween(Object.fromEntries(limits.map(({ key, value }) => [key, value])));
  if (deadband === null || deadband <= room) return [];
  return [atValue([...path, "deadband"], msg`expected at most ${room}, what lies between low and high`)];
}

/** A plain sentence for each section about what its limits mean. */
export function alarmSentences({ alarms, controllers }: Configuration): readonly Text[] {
  const ofKinds = Object.entries(alarms).map(([kind, settings]) =>
    bandSentence(`alarms.${kind}`, { kind: kindNamed(kind), unit: null }, settings, {}),
  );
  const ofSensors = Object.entries(controllers).flatMap(([code, { sensors, ignore }]) =>
    Object.entries(ignore ? {} : sensors).flatMap(([id, sensor]) => {
      if (sensor.alarm === undefined || sensor.ignore) return [];
      const about = { kind: kindOf({ ...sensor }) ?? ("other" as const), unit: sensor.unit ?? null };
      const where = `controllers.${code}.sensors.${id}.alarm`;
      return [bandSentence(where, about, sensor.alarm, alarms)];
    }),
  );
  return [...ofKinds, ...ofSensors];
}

const kindNamed = (kind: string): SensorKind => sensorKinds.find((known) => known === kind) ?? "other";

/** What each limit does. */
export const limitTexts: readonly (readonly [key: BandLimit, text: (limit: string) => Text])[] = [
  ["low", (limit) => msg`below ${limit} a warning`],
  ["low_low", (limit) => msg`below ${limit} an error`],
  ["high", (limit) => msg`above ${limit} a warning`],
  ["high_high", (limit) => msg`above ${limit} an error`],
];

function bandSentence(
  where: string,
  about: { readonly kind: SensorKind; readonly unit: string | null },
  own: BandSettings,
  byKind: Configuration["alarms"],
): Text {
  const bands = bandsOf(about, own, byKind);
  if (bands === null) return msg`${where}: ${msg`no alarm`}.`;
  const unit = about.unit === null ? "" : ` ${about.unit}`;
  const limits = limitTexts.flatMap(([key, text]) => {
    const limit = bands.limits[key];
    return limit === undefined ? [] : [text(`${limit}${unit}`)];
  });
  const lasts = msg`after ${formatDuration(bands.delayMs)}`;
  const over = msg`ends ${`${bands.deadband}${unit}`} inside the limit`;
  return msg`${where}: ${clauses([...limits, lasts, over])}.`;
}
