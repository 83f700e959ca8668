import { ofNames } from "../greenhouse/labels.js";
import { labelOf } from "./actuator-summary.js";
import { Button } from "./inputs.js";
import { Age, Badge, Beyond, Quality, Value } from "./parts.js";
import type { ControllerView, Trends } from "./protocol.js";
import { drawnSpan } from "./span.js";
import { collator, language, t, codeText, wordLabel } from "./words.js";

/* What a controller measures, and what it says of its machines. */

/** Fewer points than this are no line yet. */
const leastPoints = 5;

/** A day in the size of a word: lines between neighbours, gaps where nothing good was known. */
function Spark({ points: all, least }: Readonly<{ points: readonly (number | null)[]; least: number }>) {
  // From where something is known on, so that a young bridge shows no stroke at the edge.
  const points = all.slice(
    Math.max(
      0,
      all.findIndex((point) => point !== null),
    ),
  );
  const span = drawnSpan(points, least);
  if (span === null || points.filter((point) => point !== null).length < leastPoints) return null;
  const [from, to] = span;
  let path = "";
  for (const [at, point] of points.entries()) {
    if (point === null) continue;
    const joins = typeof points[at - 1] === "number";
    const x = ((at / Math.max(1, points.length - 1)) * 96).toFixed(1);
    const y = (22 - ((point - from) / (to - from)) * 20).toFixed(1);
    path += joins ? `L${x} ${y}` : `M${x} ${y}h.1`;
  }
  return (
    <svg class="sparkline" viewBox="0 0 96 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

const beyondClass = (limit: string | null | undefined): string =>
  limit ? `beyond ${limit.includes("_") ? "bad" : "warn"}` : "";

type ReadingsProps = Pick<ControllerView, "sensors"> &
  Readonly<{ trends: Trends | null; onPlot: (sensor: string) => unknown }>;

export const Readings = ({ sensors, trends, onPlot }: ReadingsProps) => (
  <ul class="readings">
    {Object.entries(sensors).map(([id, sensor]) => (
      <li key={id} class={beyondClass(sensor.beyond)}>
        <span class="label">{labelOf(sensor)}</span>
        <span class={sensor.quality === "good" ? "reading" : "reading old"}>
          <Value value={sensor.value} unit={sensor.unit} />
        </span>
        <span class="meta">
          {sensor.quality === "good" ? null : <Quality of={sensor.quality} />} <Beyond of={sensor.beyond} />{" "}
          <Age at={sensor.measured_at ?? sensor.received_at} />
        </span>
        {typeof sensor.value === "number" ? (
          <Button class="spark" aria-label={t("trend_of", { name: labelOf(sensor) })} act={() => onPlot(id)}>
            <Spark points={trends?.sensors[id] ?? []} least={sensor.least_span} />
          </Button>
        ) : null}
      </li>
    ))}
  </ul>
);

/** What the controller says of its machines; what runs is counted, the rest opens. */
export function Statuses({ status }: Pick<ControllerView, "status">) {
  const all = Object.entries(status).sort(([one], [other]) => collator.compare(one, other));
  if (all.length === 0) return null;
  const count = all.filter(([, { state }]) => state === "on").length;
  return (
    <details class="statuses" open={matchMedia("(min-width: 75rem)").matches}>
      <summary>{t("status_on", { count })}</summary>
      <ul>
        {all.map(([id, { label, quality, state, changed_at: at }]) => (
          <li key={id}>
            <span>{label[ofNames(language.value)]}</span>
            <Badge kind={quality !== "good" ? "warn" : state === "on" ? "busy" : "plain"}>
              {quality === "good" ? wordLabel(state) : codeText("stale")}
            </Badge>
            <Age at={at} />
          </li>
        ))}
      </ul>
    </details>
  );
}
