import { useComputed } from "@preact/signals";
import type { BandLimit } from "../greenhouse/bands.js";
import { KeyCurve, KeyValue } from "./actuator-summary.js";
import { link, view } from "./live.js";
import { Age, Availability, Head, Icon, type IconName, Listed, Loading, useCurves } from "./parts.js";
import type { KeyReading, Overview, OverviewRow } from "./protocol.js";
import { stepsBeyond } from "./urgency.js";
import { codeText, collator, roundedText, t } from "./words.js";

/* All houses on one screen: a tile each, coloured by its limits, the worst first. */

const overview = view<Overview>("overview");

/** The main reading of a house: its temperature, else the first of the overview's kinds. */
const mainOf = ({ readings }: OverviewRow, kinds: Overview["kinds"]): KeyReading | undefined =>
  readings.temperature ?? kinds.map((kind) => readings[kind]).find((one) => one !== undefined);

const looks: Readonly<Record<BandLimit, string>> = {
  low_low: "coldest",
  low: "cold",
  high: "warm",
  high_high: "hottest",
};

/** The look of a tile; a value that is not good gets no limit's colour, as it may be outdated. */
function lookOf(row: OverviewRow, reading: KeyReading | undefined): string {
  if (row.availability === "offline" || reading?.quality !== "good") return "away";
  return reading.beyond ? looks[reading.beyond] : "fine";
}

/** Any reading beyond a limit counts, the further the more. */
function rankOf(row: OverviewRow): number {
  const steps = Math.max(0, ...Object.values(row.readings).map(stepsBeyond));
  return (
    (steps === 2 ? 32 : steps * 8) +
    (row.problem || row.worst === "error" ? 32 : row.alarms > 0 ? 16 : 0) +
    (row.availability === "offline" ? 16 : 0) +
    (row.quality !== null && row.quality !== "good" ? 4 : 0)
  );
}

const numberIn = (reading: KeyReading | undefined): number | null =>
  reading?.quality === "good" && typeof reading.value === "number" ? reading.value : null;

function middleOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

type Item = readonly [id: string, row: OverviewRow];

/** The worst first, then those furthest from the median house, then by name. */
function sortHouses({ controllers, kinds }: Overview): readonly Item[] {
  const items = Object.entries(controllers).filter(([, { kind }]) => kind === "greenhouse");
  const values = items.flatMap(([, row]) => numberIn(mainOf(row, kinds)) ?? []);
  const middle = middleOf(values);
  // Differences count in steps of 2, so that tiles do not keep moving.
  const awayOf = (row: OverviewRow) =>
    Math.round(Math.abs((numberIn(mainOf(row, kinds)) ?? middle) - middle) / 2);
  return items.sort(
    ([oneId, one], [otherId, other]) =>
      rankOf(other) - rankOf(one) ||
      awayOf(other) - awayOf(one) ||
      collator.compare(`${one.name} ${oneId}`, `${other.name} ${otherId}`),
  );
}

const countOf = (counts: Readonly<Record<string, number>>): number => Object.keys(counts).length;

/** The kinds beside the main reading, those beyond a limit first, as they explain the order. */
const othersOf = ({ readings }: OverviewRow, kinds: Overview["kinds"], main: KeyReading | undefined) =>
  kinds
    .flatMap((kind) => {
      const reading = readings[kind];
      return reading === undefined || reading === main ? [] : [{ kind, reading }];
    })
    .sort((one, other) => stepsBeyond(other.reading) - stepsBeyond(one.reading));

type Others = ReturnType<typeof othersOf>;

const beyondText = (others: Others): string =>
  others
    .flatMap(({ kind, reading: { beyond } }) => (beyond ? `${codeText(kind)}: ${t(`beyond_${beyond}`)}` : []))
    .join(t("comma"));

/** Signs with a picture and a word, never by colour alone. */
function Signs({ of: { alarms, problem, limits }, others }: Readonly<{ of: OverviewRow; others: Others }>) {
  const signs: readonly (readonly [IconName, boolean, string])[] = [
    [
      "alarms",
      alarms > 0 || problem,
      alarms > 0 ? t(alarms === 1 ? "one_alarm" : "count_alarms", { count: alarms }) : t("problem"),
    ],
    ["bad", beyondText(others) !== "", beyondText(others)],
    ["shield", countOf(limits.guards) > 0, t("limited")],
    ["lock", countOf(limits.locks) > 0, t("lock")],
  ];
  return (
    <span class="signs">
      {signs.map(([icon, isOn, text]) =>
        isOn ? (
          <span key={icon} title={text}>
            <Icon name={icon} />
            <span class="unseen">{text}</span>
          </span>
        ) : null,
      )}
    </span>
  );
}

type TileProps = Readonly<{ id: string; row: OverviewRow; kinds: Overview["kinds"]; hasRoom: boolean }>;

/** `hasRoom`: whether the curve of a day is shown too. */
function Tile({ id, row, kinds, hasRoom }: TileProps) {
  const reading = mainOf(row, kinds);
  const others = othersOf(row, kinds, reading);
  const beyond = reading?.beyond;
  return (
    <li>
      <a
        class={`tile ${lookOf(row, reading)}`}
        href={link(`controller/${encodeURIComponent(id)}`)}
        title={row.name}
      >
        <span class="name">{row.name}</span>
        <span class="main">
          {roundedText(reading?.value ?? null) ?? "–"}
          <small> {reading?.unit}</small>
          {beyond ? <small> {t(`beyond_${beyond}`)}</small> : null}
        </span>
        {reading?.at ? <Age at={reading.at} isOver /> : null}
        {row.availability === "offline" ? <Availability of={row.availability} /> : null}
        <Signs of={row} others={others} />
        {hasRoom && reading ? <KeyCurve controller={id} of={reading} /> : null}
        <span class="keys">
          {others.slice(0, 2).map((one) => (
            <KeyValue key={one.kind} kind={one.kind} of={one.reading} />
          ))}
        </span>
      </a>
    </li>
  );
}

/** With more houses no tile has room for a curve. */
const mostWithCurves = 60;

/** The size of tiles that fits the houses on a wall screen without scrolling. */
const sizeOf = (count: number): string =>
  count <= 24 ? "large" : count <= mostWithCurves ? "usual" : count <= 150 ? "small" : "tiny";

const legend = ["low_low", "low", "high", "high_high"] as const;

export default function Wall() {
  const items = useComputed(() => (overview.value === null ? null : sortHouses(overview.value)));
  useCurves();
  if (items.value === null || overview.value === null) return <Loading />;
  const { kinds } = overview.value;
  return (
    <>
      <Head name={t("wall")}>
        <a class="back" href={link("overview")}>
          <Icon name="back" />
          {t("overview")}
        </a>
        <span class="legend" aria-hidden="true">
          {legend.map((limit) => (
            <span key={limit} class={`tile ${looks[limit]}`}>
              {t(`beyond_${limit}`)}
            </span>
          ))}
          <span class="tile away">{codeText("stale")}</span>
        </span>
      </Head>
      <Listed of={items.value} none="none_found">
        <ul class={`wall ${sizeOf(items.value.length)}`}>
          {items.value.map(([id, row]) => (
            <Tile
              key={id}
              id={id}
              row={row}
              kinds={kinds}
              hasRoom={(items.value?.length ?? 0) <= mostWithCurves}
            />
          ))}
        </ul>
      </Listed>
    </>
  );
}
