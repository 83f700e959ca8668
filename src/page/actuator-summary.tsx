import { ofNames } from "../greenhouse/labels.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { Age, Badge, Beyond, beyondClass, curves, Icon, type IconName, Quality, Value } from "./parts.js";
import type { ActuatorFamily } from "../greenhouse/actuator-kinds.js";
import type { KeyReading, LastSeen, OverviewRow, Weather } from "./protocol.js";
import { whoText } from "./sentences.js";
import { now } from "./live.js";
import { countOf } from "./urgency.js";
import {
  clockText,
  collator,
  weatherText,
  language,
  roundedText,
  stateWordText,
  t,
  codeText,
} from "./words.js";

/* A controller at a glance: key readings, what is open or runs, limits, and the weather. */

export const actuatorGroups: readonly ActuatorFamily[] = [
  "vents",
  "curtains",
  "fans",
  "climate",
  "water",
  "light",
  "others",
];

/** `controller`: the one whose day is drawn below the value; absent for no curve. */
type KeyValueProps = Readonly<{ kind: SensorKind; of: KeyReading | undefined; controller?: string }>;

/** A reading of a kind; its quality is shown only if it is not good. */
export const KeyValue = ({ kind, of, controller }: KeyValueProps) => (
  <span class={of === undefined ? "key none" : `key ${beyondClass(of.beyond)}`}>
    <small>{codeText(kind)}</small>
    {of === undefined ? (
      "–"
    ) : (
      <span class={of.quality === "good" ? "" : "old"}>
        <Value value={roundedText(of.value)} unit={of.unit} />
        {of.quality === "good" ? null : <Quality of={of.quality} />}
        {of.at ? <Age at={of.at} isOver /> : null}
        <Beyond of={of.beyond} />
        {controller === undefined || typeof of.value !== "number" ? null : (
          <KeyCurve controller={controller} of={of} />
        )}
      </span>
    )}
  </span>
);

/** The curve of a day below the value. */
export function KeyCurve({ controller, of }: Readonly<{ controller: string; of: KeyReading }>) {
  const Shown = curves.value?.KeyCurve;
  return <span class="curve">{Shown ? <Shown controller={controller} sensor={of.sensor} /> : null}</span>;
}

const resting: ReadonlySet<string> = new Set(["closed", "off", "0"]);

/** Order of states: what is open or runs, then automatic, what rests, and what is unknown. */
function rank(state: string): number {
  if (state === "stale" || state === "uncertain") return 3;
  if (resting.has(state)) return 2;
  return state === "auto" ? 1 : 0;
}

const orderOf = (one: string, other: string) => rank(one) - rank(other) || collator.compare(other, one);

type Counts = Readonly<Record<string, number>>;

/** `1 on until 15:57, 4 off`; if all are in one state, without the number. What runs comes first, with its end. */
function countsText(counts: Counts, end: string): string {
  const states = Object.keys(counts).sort(orderOf);
  const text = (state: string) =>
    state === "stale" ? t("not_known") : state === "uncertain" ? codeText(state) : stateWordText(state);
  const countText = (state: string) => t("count_of", { count: counts[state], what: text(state) });
  const [first = "", ...others] = states.map(states.length === 1 ? text : countText);
  return [first + end, ...others].join(t("comma"));
}

const isAtRest = (counts: Counts): boolean => Object.keys(counts).every((state) => resting.has(state));

const alwaysTold: ReadonlySet<ActuatorFamily> = new Set(["vents", "curtains", "fans", "water"]);

/** Whether a group is shown: those a grower always asks for, and of the others what runs. */
function isTold(group: ActuatorFamily, counts: Counts | undefined): boolean {
  if (counts === undefined) return false;
  return (
    alwaysTold.has(group) || (group !== "others" && Object.keys(counts).some((state) => rank(state) === 0))
  );
}

type StripProps = Pick<OverviewRow, "actuators" | "named" | "last" | "limits">;

/** The single running state of a group, with its own name; null for several, for none, or without a name. */
function namedIn(names: Readonly<Record<string, string>> | undefined, counts: Counts) {
  const [state, ...others] = Object.keys(counts).filter((one) => rank(one) === 0);
  const name = state === undefined || others.length > 0 ? undefined : names?.[state];
  return name === undefined || state === undefined ? null : { name, counts: { [state]: counts[state] ?? 0 } };
}

/** Counts by state. Of the unknown ones only those count that were not seen before the outage. */
function knownOf(counts: Counts, last: LastSeen | undefined): Counts {
  const unseen = (counts["stale"] ?? 0) - countOf(last?.states ?? {});
  const known = Object.entries(counts).filter(([state]) => state !== "stale");
  return Object.fromEntries(unseen > 0 ? [...known, ["stale", unseen]] : known);
}

/** `1 at 45 %, 2 min ago`. */
const Last = ({ of: { states, read_at: at } }: Readonly<{ of: LastSeen }>) => (
  <span class="last">
    {countsText(states, "")}
    {t("comma")}
    <Age at={at} isOver />
  </span>
);

/** One line of all actuators; a command that ends by itself shows when. */
export function Strip({ actuators, named, last, limits }: StripProps) {
  const groups = actuatorGroups.filter(
    (group) => isTold(group, actuators[group]) || isTold(group, last[group]?.states),
  );
  const ends = (group: ActuatorFamily) =>
    Object.values(limits.leases)
      .filter((lease) => lease.group === group)
      .map(({ until }) => until)
      .sort()
      .slice(0, 1)
      .map((until) => ` ${t("until", { time: clockText(until, now.peek()) })}`)
      .join("");
  return (
    <span class="strip">
      {groups.map((group) => {
        const seen = last[group];
        const known = knownOf(actuators[group] ?? {}, seen);
        const only = namedIn(named[group], known);
        return (
          <span key={group} class={!seen && isAtRest(known) ? "part rests" : "part"}>
            <Icon name={group} />
            <span>
              <small>{only?.name ?? codeText(group)}</small> {countsText(only?.counts ?? known, ends(group))}{" "}
              {seen ? <Last of={seen} /> : null}
            </span>
          </span>
        );
      })}
    </span>
  );
}

/** The number, left out for one. */
const times = (count: number) => (count > 1 ? ` ${count}` : "");

type NoticeProps = Readonly<{ kind: string; icon: IconName; text: string }>;

const Mark = ({ kind, icon, text }: NoticeProps) => (
  <Badge kind={kind}>
    <Icon name={icon} />
    {text}
  </Badge>
);

/** Marks for guards, locks and holds of a controller. */
export const LimitMarks = ({ of: { guards, locks, holds } }: Readonly<{ of: OverviewRow["limits"] }>) => (
  <>
    {Object.entries(guards).map(([name, count]) => (
      <Mark
        key={name}
        kind="warn"
        icon="shield"
        text={t("guard_holds", { name: codeText(name), times: times(count) })}
      />
    ))}
    {Object.entries(locks).map(([by, count]) => (
      <Mark key={by} kind="warn" icon="lock" text={t("locked_by", { by, times: times(count) })} />
    ))}
    {Object.entries(holds).map(([by, count]) => (
      <Mark key={by} kind="plain" icon="hold" text={t("held_by", { by: whoText(by), times: times(count) })} />
    ))}
  </>
);

/** The values of the weather topics, with age and quality. */
export const WeatherStrip = ({ of }: Readonly<{ of: Weather }>) =>
  Object.keys(of).length === 0 ? null : (
    <section class="weather" aria-label={t("weather")}>
      {Object.entries(of).map(([name, { value, unit, quality, received_at: at }]) => (
        <span key={name} class={quality === "good" ? "" : "old"}>
          <small>{name === "temperature" ? t("outside") : codeText(name)}</small>{" "}
          {typeof value === "number" || value === null ? (
            <Value value={value === null ? null : roundedText(value)} unit={unit} />
          ) : (
            <Value value={weatherText(name, String(value))} />
          )}{" "}
          {quality === "good" ? null : <Quality of={quality} />} <Age at={at} />
        </span>
      ))}
    </section>
  );

/** A platform's name in the language of the page. */
export const labelOf = ({ label }: Readonly<{ label: Readonly<{ en: string; zh: string }> }>): string =>
  label[ofNames(language.value)];
