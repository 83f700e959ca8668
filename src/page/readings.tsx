import { ofNames } from "../greenhouse/labels.js";
import { labelOf } from "./actuator-summary.js";
import { Button } from "./inputs.js";
import { Age, Badge, Beyond, beyondClass, curves, Quality, Value } from "./parts.js";
import type { ControllerView, Trends } from "./protocol.js";
import { collator, language, t, codeText, wordLabel } from "./words.js";

/* A controller's readings, and the running statuses of its machines. */

type ReadingsProps = Pick<ControllerView, "sensors"> &
  Readonly<{ trends: Trends | null; onPlot: (sensor: string) => unknown }>;

export function Readings({ sensors, trends, onPlot }: ReadingsProps) {
  const Shown = curves.value?.Curve;
  return (
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
            <Button
              class="spark"
              aria-label={t("trend_of", { name: labelOf(sensor) })}
              act={() => onPlot(id)}
            >
              {Shown ? (
                <Shown of={{ points: trends?.sensors[id] ?? [], least_span: sensor.least_span }} />
              ) : null}
            </Button>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

/** The running statuses; running ones are counted, the list opens. */
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
