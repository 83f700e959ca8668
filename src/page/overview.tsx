import { signal, useComputed } from "@preact/signals";
import { view } from "./live.js";
import { Choice, Field } from "./inputs.js";
import { Age, Availability, Badge, Head, Icon, known, Listed, Loading, Quality } from "./parts.js";
import type { Overview, OverviewRow } from "./protocol.js";
import { phaseText } from "./sentences.js";
import { collator, t } from "./words.js";

const overview = view<Overview>("overview");
const search = signal("");
type Order = "attention" | "name" | "oldest";
const order = signal<Order>("attention");
/** Only rows near the visible part are made; more with scrolling. */
const pageRows = 40;

type RowProps = Readonly<{ id: string; row: OverviewRow }>;

/** One controller. What reads a signal is drawn again only where a property is another: of hundreds those that changed. */
function Row({ id, row }: RowProps) {
  const { name, availability, quality, oldest_reading_at: oldest, problem, command, alarms } = row;
  return (
    <li>
      <a class="row" href={`#/controller/${encodeURIComponent(id)}`}>
        <span class="name">
          <strong>{name}</strong>
          <small>{id}</small>
        </span>
        <Availability of={availability} />
        <Quality of={quality} />
        <span title={t("oldest")}>
          <Age at={oldest} />
        </span>
        <span class="wide">
          {command ? (
            <Badge kind="busy">
              {known(id)?.actuators[command.actuator]?.name ?? command.actuator}: {phaseText(command)}
            </Badge>
          ) : null}
          {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
          {alarms > 0 ? (
            <Badge kind="warn">
              <Icon name="alarms" />
              {alarms}
            </Badge>
          ) : null}
        </span>
        <Icon name="chevron" />
      </a>
    </li>
  );
}

const urgency = ({ availability, problem, alarms, quality }: OverviewRow): number =>
  (problem ? 8 : 0) +
  (availability === "offline" ? 4 : 0) +
  (alarms > 0 ? 2 : 0) +
  (!quality ? -1 : quality === "good" ? 0 : 1);

/** What comes first; where that is the same, the name tells. */
const orders: Readonly<Record<Order, (one: OverviewRow, other: OverviewRow) => number>> = {
  attention: (one, other) => urgency(other) - urgency(one),
  name: () => 0,
  oldest: (one, other) => collator.compare(one.oldest_reading_at ?? "9", other.oldest_reading_at ?? "9"),
};

function chosen(all: Overview["controllers"]): readonly (readonly [string, OverviewRow])[] {
  const wanted = search.value.trim().toLowerCase();
  const rows = Object.entries(all).filter(([id, { name }]) => `${name} ${id}`.toLowerCase().includes(wanted));
  return rows.sort(
    ([oneId, one], [otherId, other]) =>
      orders[order.value](one, other) || collator.compare(`${one.name} ${oneId}`, `${other.name} ${otherId}`),
  );
}

const shownRows = signal(pageRows);

/** Calls for more rows when the end of the list comes near. */
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

/** A row of each controller. */
export function OverviewView() {
  const rows = useComputed(() => (overview.value === null ? null : chosen(overview.value.controllers)));
  if (rows.value === null) return <Loading />;
  const shown = rows.value.slice(0, shownRows.value);
  return (
    <>
      <Head name={t("controllers", { count: Object.keys(overview.value?.controllers ?? {}).length })}>
        <Field label={t("search")} type="search" bound={search} />
        <Choice
          label={t("order")}
          bound={order}
          options={[
            ["attention", t("order_attention")],
            ["name", t("name")],
            ["oldest", t("oldest")],
          ]}
        />
      </Head>
      <Listed of={shown} none="none_found">
        <ul class="rows">
          {shown.map(([id, row]) => (
            <Row key={id} id={id} row={row} />
          ))}
        </ul>
      </Listed>
      {shown.length < rows.value.length ? <div key={shown.length} ref={watch} /> : null}
    </>
  );
}
