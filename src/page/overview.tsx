import { type ReadonlySignal, signal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { KeyValue, LimitMarks, Strip, WeatherStrip } from "./actuator-summary.js";
import { bridge, get, link, request, session, view } from "./live.js";
import { Acting, actReason, Alert, Choice, Field } from "./inputs.js";
import {
  Availability,
  AvailabilityBeside,
  Badge,
  Head,
  Icon,
  namesOf,
  Listed,
  Loading,
  Quality,
  useCurves,
} from "./parts.js";
import type { ControllerView, Overview, OverviewRow } from "./protocol.js";
import { errorSentence, phaseText, type Sentence } from "./sentences.js";
import { GroupsSection } from "./groups.js";
import { countBeyond, countOf, isOld, urgency } from "./urgency.js";
import { collator, t, codeText } from "./words.js";

const overview = view<Overview>("overview");
const search = signal("");
const station = signal("");
const grouping = signal<"station" | "none">("station");
type Order = "attention" | "platform" | "name" | "oldest";
const order = signal<Order>("attention");
/** Rows rendered at first and added with scrolling. */
const pageRows = 40;

/** `isMixed`: whether the rows around it belong to several stations. */
type RowProps = Readonly<{ id: string; row: OverviewRow; kinds: Overview["kinds"]; isMixed: boolean }>;

/**
 * One controller. A component that reads a signal is rendered again only if its properties change, so of hundreds only
 * the changed ones are.
 */
function Row({ id, row, kinds, isMixed }: RowProps) {
  const {
    name,
    station: place,
    availability,
    quality,
    readings,
    actuators,
    named,
    last,
    limits,
    problem,
    command,
    alarms,
    worst,
  } = row;
  const isQualityAlone = Object.values(readings).every((one) => one.quality === "good");
  return (
    <li>
      <a class="row" href={link(`controller/${encodeURIComponent(id)}`)}>
        <span class="name">
          <strong>{name}</strong>
          {isMixed && place !== null ? <small class="quiet">{place}</small> : null}
          {availability === "online" ? null : <AvailabilityBeside of={availability} qualities={[quality]} />}
          {quality && quality !== "good" && isQualityAlone ? <Quality of={quality} /> : null}
        </span>
        <span class="keys">
          {kinds.map((kind) => (
            <KeyValue key={kind} kind={kind} of={readings[kind]} controller={id} />
          ))}
        </span>
        <Strip actuators={actuators} named={named} last={last} limits={limits} />
        <span class="marks">
          {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
          {alarms > 0 ? (
            <Badge kind={worst === "error" ? "bad" : "warn"}>
              <Icon name="alarms" />
              {t(alarms === 1 ? "one_alarm" : "count_alarms", { count: alarms })}
            </Badge>
          ) : null}
          <LimitMarks of={limits} />
          {command ? (
            <Badge kind="busy">
              {namesOf(id)?.actuators[command.actuator]?.name ?? command.actuator}: {phaseText(command)}
            </Badge>
          ) : null}
        </span>
        <Icon name="chevron" />
      </a>
    </li>
  );
}

const before = (one: number | null, other: number | null): number =>
  one === other ? 0 : (one ?? Infinity) - (other ?? Infinity);

/** In the order of the configuration file, then in the platform's. */
const byPlace = (one: OverviewRow, other: OverviewRow): number =>
  before(one.place, other.place) || before(one.order, other.order);

/** The sort orders; equal rows are sorted by name. */
const orders: Readonly<Record<Order, (one: OverviewRow, other: OverviewRow) => number>> = {
  attention: (one, other) => urgency(other) - urgency(one) || byPlace(one, other),
  platform: byPlace,
  name: () => 0,
  oldest: (one, other) => collator.compare(one.oldest_reading_at ?? "9", other.oldest_reading_at ?? "9"),
};

type Item = readonly [id: string, row: OverviewRow];

function chooseItems(all: Overview["controllers"]): readonly Item[] {
  const wanted = search.value.trim().toLowerCase();
  const rows = Object.entries(all).filter(
    ([id, row]) =>
      `${row.name} ${id} ${row.station ?? ""}`.toLowerCase().includes(wanted) &&
      (station.value === "" || row.station === station.value),
  );
  return rows.sort(
    ([oneId, one], [otherId, other]) =>
      orders[order.value](one, other) || collator.compare(`${one.name} ${oneId}`, `${other.name} ${otherId}`),
  );
}

/** Rows below one heading. */
interface Block {
  readonly name: string;
  readonly items: readonly Item[];
}

/** Greenhouses by station, ordered by the first of each, then the other devices. */
function blocksOf(items: readonly Item[]): readonly Block[] {
  const greenhouses = items.filter(([, { kind }]) => kind === "greenhouse");
  const isGrouped = grouping.value === "station";
  const stations = isGrouped ? [...new Set(greenhouses.map(([, { station }]) => station))] : [];
  const ofStation = (station: string | null): Block => ({
    name: stations.length > 1 ? (station ?? t("no_station")) : t("greenhouses"),
    items: greenhouses.filter(([, row]) => row.station === station),
  });
  const together = { name: t("greenhouses"), items: isGrouped ? [] : greenhouses };
  const devices = { name: t("devices"), items: items.filter(([, { kind }]) => kind === "device") };
  return [...stations.map(ofStation), together, devices].filter((block) => block.items.length > 0);
}

/** The first `most` rows of all blocks. */
function cut(blocks: readonly Block[], most: number): readonly Block[] {
  let left = most;
  return blocks.flatMap(({ name, items }) => {
    const shown = items.slice(0, Math.max(0, left));
    left -= items.length;
    return shown.length > 0 ? [{ name, items: shown }] : [];
  });
}

/** Rows rendered so far. */
export const shownRows = signal(pageRows);

/** Renders more rows when the end of the list comes near. */
const observer = new IntersectionObserver(
  ([seen]) => {
    if (seen?.isIntersecting) shownRows.value += pageRows;
  },
  { rootMargin: "600px" },
);

function watch(end: HTMLElement | null): void {
  observer.disconnect();
  if (end) observer.observe(end);
}

/** Marks the end of the rendered rows if there are more. */
export const MoreRows = ({ count }: Readonly<{ count: number }>) =>
  shownRows.value < count ? <div key={shownRows.value} ref={watch} /> : null;

/** One line with the state of all controllers. */
function Summary({ rows }: Readonly<{ rows: readonly OverviewRow[] }>) {
  // What the platform said before it became unreachable is outdated.
  const isAway = bridge.value?.platform === "unreachable";
  const sum = (of: (row: OverviewRow) => number) => rows.reduce((all, row) => all + of(row), 0);
  const counts = [
    [
      isAway ? "warn" : "good",
      isAway ? "count_were_online" : "count_online",
      sum(({ availability }) => Number(availability === "online")),
    ],
    ["bad", "count_offline", sum(({ availability }) => Number(availability === "offline"))],
    ["warn", "count_old", sum((row) => Number(isOld(row)))],
    ["bad", "count_alarms", sum(({ alarms }) => alarms)],
    ["warn", "count_beyond", sum(countBeyond)],
    ["warn", "count_guards", sum(({ limits }) => countOf(limits.guards))],
    ["warn", "count_locks", sum(({ limits }) => countOf(limits.locks))],
  ] as const;
  const one = { count_alarms: "one_alarm", count_guards: "one_guard", count_locks: "one_lock" } as const;
  const wordFor = (word: (typeof counts)[number][1], count: number) =>
    count === 1 && word in one ? one[word as keyof typeof one] : word;
  return (
    <p class="truth">
      {counts.map(([kind, word, count]) =>
        count > 0 ? (
          <Badge key={word} kind={kind}>
            {t(wordFor(word, count), { count })}
          </Badge>
        ) : null,
      )}
      {rows.length > 1 ? (
        <a class="badge plain" href={link("wall")}>
          {t("wall")}
        </a>
      ) : null}
    </p>
  );
}

/** Column heads, if there is room for columns. */
const Heads = ({ kinds, name }: Readonly<{ kinds: Overview["kinds"]; name: ComponentChildren }>) => (
  <div class="row heads">
    <h2>{name}</h2>
    <span class="keys" aria-hidden="true">
      {kinds.map((kind) => (
        <span key={kind}>{codeText(kind)}</span>
      ))}
    </span>
    <span aria-hidden="true">{codeText("actuators")}</span>
    <span aria-hidden="true">{t("attention")}</span>
  </div>
);

const Silent = ({ of }: Readonly<{ of: readonly Item[] }>) => (
  <details class="silents">
    <summary>{t("silents", { count: of.length })}</summary>
    <ul>
      {of.map(([id, { name, availability }]) => (
        <li key={id}>
          <a href={link(`controller/${encodeURIComponent(id)}`)}>{name}</a> <Availability of={availability} />
        </li>
      ))}
    </ul>
  </details>
);

/** The stations of the account. */
const stationsOf = (all: Overview["controllers"]): readonly string[] =>
  [...new Set(Object.values(all).flatMap((row) => row.station ?? []))].sort(collator.compare);

const Filters = ({ stations }: Readonly<{ stations: readonly string[] }>) => (
  <>
    <Field label={t("search")} type="search" bound={search} />
    {stations.length > 1 ? (
      <Choice
        label={t("station")}
        bound={station}
        options={[["", t("any")], ...stations.map((name) => [name, name] as const)]}
      />
    ) : null}
    {stations.length > 1 ? (
      <Choice
        label={t("group_by")}
        bound={grouping}
        options={[
          ["station", t("station")],
          ["none", t("group_by_nothing")],
        ]}
      />
    ) : null}
    <Choice
      label={t("order")}
      bound={order}
      options={[
        ["attention", t("order_attention")],
        ["platform", t("order_platform")],
        ["name", t("name")],
        ["oldest", t("oldest")],
      ]}
    />
  </>
);

/** Holds equal lists as one object, so that no row is rendered again because of it. */
const kept = new Map<string, Overview["kinds"]>();

/** Kinds of which at least one row has a reading. */
function kindsOf(kinds: Overview["kinds"], items: readonly Item[]): Overview["kinds"] {
  const found = kinds.filter((kind) => items.some(([, { readings }]) => readings[kind] !== undefined));
  const same = kept.get(found.join()) ?? found;
  kept.set(found.join(), same);
  return same;
}

/** Unlocks everything that this person has locked, in all houses; others' locks stay. */
function UnlockMine({ of }: Readonly<{ of: Overview["controllers"] }>) {
  const said = useSignal<Sentence | null>(null);
  const user = session.value?.user;
  if (!user || actReason() !== null) return null;
  const ids = Object.entries(of).flatMap(([id, { limits }]) => (limits.locks[user] ? [id] : []));
  if (ids.length === 0) return null;
  const unlock = async () => {
    said.value = null;
    for (const controller of ids) said.value = (await unlockIn(controller, user)) ?? said.value;
  };
  return (
    <>
      <Acting label={t("unlock_mine")} act={unlock} /> <Alert said={said} />
    </>
  );
}

/** Why one of the actuators stays locked; null if none does. */
async function unlockIn(controller: string, user: string): Promise<Sentence | null> {
  const { status, body } = await get<ControllerView>(`api/controllers/${encodeURIComponent(controller)}`);
  if (status !== 200) return errorSentence(body);
  let refusal: Sentence | null = null;
  for (const [actuator, { lock }] of Object.entries(body?.actuators ?? {})) {
    if (lock?.by !== user) continue;
    const { status, body } = await request("unlock", { controller, actuator });
    if (status !== 200) refusal = errorSentence(body);
  }
  return refusal;
}

/** The overview for a grower: temperatures, what is open, limits, and what needs attention. */
export function OverviewView() {
  const items: ReadonlySignal<readonly Item[] | null> = useComputed(() =>
    overview.value === null ? null : chooseItems(overview.value.controllers),
  );
  const all = overview.value;
  useCurves();
  if (items.value === null || all === null) return <Loading />;
  const silent = items.value.filter(([, { kind }]) => kind === "silent");
  const blocks = blocksOf(items.value);
  const count = blocks.reduce((sum, block) => sum + block.items.length, 0);
  const shown = cut(blocks, shownRows.value);
  const kinds = kindsOf(
    all.kinds,
    blocks.flatMap((block) => block.items),
  );
  const isFiltered = search.value !== "" || station.value !== "" || grouping.value !== "station";
  return (
    <>
      <Head name={t("overview")}>
        <UnlockMine of={all.controllers} />
        {count > 12 || isFiltered ? <Filters stations={stationsOf(all.controllers)} /> : null}
      </Head>
      <Summary rows={Object.values(all.controllers)} />
      <WeatherStrip of={all.weather} />
      <GroupsSection />
      <Listed of={items.value} none="none_found">
        {shown.map(({ name, items: own }) => {
          const isMixed = new Set(own.map(([, row]) => row.station)).size > 1;
          return (
            <section key={name} class={`block kinds-${kinds.length}`}>
              <Heads kinds={kinds} name={name} />
              <ul class="rows">
                {own.map(([id, row]) => (
                  <Row key={id} id={id} row={row} kinds={kinds} isMixed={isMixed} />
                ))}
              </ul>
            </section>
          );
        })}
      </Listed>
      <MoreRows count={count} />
      {silent.length > 0 ? <Silent of={silent} /> : null}
    </>
  );
}
