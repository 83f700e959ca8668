import { signal, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { view } from "./live.js";
import { Choice, Field } from "./inputs.js";
import { Age, Availability, Badge, Head, Icon, Listed, Loading, Quality, Steady } from "./parts.js";
import type { Overview, OverviewRow } from "./protocol.js";
import { phaseText } from "./sentences.js";
import { t } from "./words.js";

const overview = view<Overview>("overview");
const search = signal("");
const order = signal<"name" | "attention" | "oldest">("attention");
/** Only rows that somebody may see are made; more as he scrolls. */
const pageRows = 40;

type RowProps = Readonly<{ id: string; row: OverviewRow }>;

/** One controller. */
class Row extends Steady<RowProps> {
  override render({ id, row }: RowProps) {
    const { name, availability, quality, oldest_reading_at: oldest, problem, command, alarms } = row;
    return (
      <li>
        <a class="row" href={`#/controller/${encodeURIComponent(id)}`}>
          <span class="name">
            <strong>{name}</strong>
            <small>{id}</small>
          </span>
          <span class="cell">
            <Availability of={availability} />
          </span>
          <span class="cell">
            <Quality of={quality} />
          </span>
          <span class="cell" data-label={t("oldest")}>
            <Age at={oldest} />
          </span>
          <span class="cell wide">
            {command ? (
              <Badge kind="busy">
                {command.actuator}: {phaseText(command)}
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
}

const urgency = ({ availability, problem, alarms, quality }: OverviewRow): number =>
  (problem ? 8 : 0) +
  (availability === "offline" ? 4 : 0) +
  (alarms > 0 ? 2 : 0) +
  (!quality ? -1 : quality === "good" ? 0 : 1);

const before = (one: string | null | undefined, other: string | null | undefined) =>
  (one ?? "9").localeCompare(other ?? "9");

function chosen(all: Overview["controllers"]): readonly (readonly [string, OverviewRow])[] {
  const wanted = search.value.trim().toLowerCase();
  const rows = Object.entries(all).filter(([id, { name }]) => `${name} ${id}`.toLowerCase().includes(wanted));
  const collator = new Intl.Collator(undefined, { numeric: true });
  return rows.sort(([oneId, one], [otherId, other]) => {
    const byName = collator.compare(`${one.name} ${oneId}`, `${other.name} ${otherId}`);
    if (order.value === "oldest") return before(one.oldest_reading_at, other.oldest_reading_at) || byName;
    return (order.value === "attention" ? urgency(other) - urgency(one) : 0) || byName;
  });
}

const shownRows = signal(pageRows);

/** Calls for more rows when the end of the list comes near. */
function End() {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting) shownRows.value += pageRows;
      },
      { rootMargin: "600px" },
    );
    if (end.current) observer.observe(end.current);
    return () => observer.disconnect();
  });
  return <div ref={end} />;
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
      {shown.length < rows.value.length ? <End key={shown.length} /> : null}
    </>
  );
}
