import { signal, useSignal } from "@preact/signals";
import { Card, type Commandable } from "./command.js";
import { missing, useAnswer, view } from "./live.js";
import { Asking, Button } from "./inputs.js";
import { Age, Badge, Availability, Columns, Head, Loading, Quality, Section, Value } from "./parts.js";
import type { Plot } from "./plot.js";
import type { ControllerView, SensorView, Trends } from "./protocol.js";
import { collator, language, t, told } from "./words.js";
import { wordLabel } from "../greenhouse/labels.js";

const plot = signal<typeof Plot | null>(null);

/** One controller: what it measures, what can be moved, and what became of it. */
export function ControllerPage({ id }: { readonly id: string }) {
  const name = `controller/${id}`;
  const shown = view<ControllerView>(name).value;
  const trends = useAnswer<Trends>(`api/trends/${encodeURIComponent(id)}`, 300_000).value;
  const plotted = useSignal("");
  if (shown === null) return missing.value.has(name) ? <p class="quiet">{t("gone")}</p> : <Loading />;
  const { sensors, status, actuators, parameters } = shown;
  const isKnown = Object.keys({ ...sensors, ...status, ...actuators, ...parameters }).length > 0;
  const sensor = sensors[plotted.value];
  const onPlot = async (one: string) => {
    plot.value = (await import("./plot.js")).Plot;
    plotted.value = one;
  };
  const Shown = plot.value;
  return (
    <>
      <Title of={shown} />
      {isKnown ? null : <p class="quiet">{t("nothing_known")}</p>}
      <div class="columns">
        <div>
          <Section name={told("sensors")} of={sensors}>
            <Readings {...{ sensors, trends, onPlot }} />
          </Section>
          <Section name={told("running_status")} of={status}>
            <Statuses status={status} />
          </Section>
        </div>
        <div id="actuators">
          {(["actuators", "parameters"] as const).map((kind) => (
            <Section key={kind} name={told(kind)} of={shown[kind]}>
              {Object.entries<Commandable>(shown[kind]).map(([id, one]) => (
                <Card key={id} controller={shown} id={id} of={one} />
              ))}
            </Section>
          ))}
        </div>
      </div>
      {sensor && Shown ? (
        <Shown
          {...{ controller: shown.id, sensor: plotted.value, unit: sensor.unit, name: labelOf(sensor) }}
          onClose={() => (plotted.value = "")}
        />
      ) : null}
    </>
  );
}

const Title = ({ of: { id, name, code, availability, problem } }: { readonly of: ControllerView }) => (
  <Head name={name}>
    <Availability of={availability} />
    {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
    {problem ? <Asking label={t("acknowledge")} name="acknowledge" fields={{ controller: id }} /> : null}
    <small class="quiet">{code}</small>
    <Button class="jump" act={() => document.getElementById("actuators")?.scrollIntoView()}>
      {told("actuators")}
    </Button>
  </Head>
);

const labelOf = ({ label }: Pick<SensorView, "label">): string => label[language.value];

/** A day in the size of a word: lines between neighbours, gaps where nothing good was known. */
function Spark({ points }: { readonly points: readonly (number | null)[] }) {
  const known = points.filter((point) => point !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const span = most - least || 1;
  let path = "";
  for (const [at, point] of points.entries()) {
    if (point === null) continue;
    const joins = typeof points[at - 1] === "number";
    const x = ((at / Math.max(1, points.length - 1)) * 96).toFixed(1);
    const y = (22 - ((point - least) / span) * 20).toFixed(1);
    path += joins ? `L${x} ${y}` : `M${x} ${y}h.1`;
  }
  return (
    <svg {...{ class: "sparkline", viewBox: "0 0 96 24", preserveAspectRatio: "none" }} aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

type ReadingsProps = Pick<ControllerView, "sensors"> &
  Readonly<{ trends: Trends | null; onPlot: (sensor: string) => unknown }>;

const Readings = ({ sensors, trends, onPlot }: ReadingsProps) => (
  <table class="readings">
    <Columns of={["name", "value", "quality", "trend"]} />
    <tbody>
      {Object.entries(sensors).map(([id, sensor]) => (
        <tr key={id}>
          <th scope="row">{labelOf(sensor)}</th>
          <td class="reading">
            <Value value={sensor.value} unit={sensor.unit} />
          </td>
          <td class="meta">
            <Quality of={sensor.quality} /> <Age at={sensor.measured_at ?? sensor.received_at} />
          </td>
          <td class="day">
            {typeof sensor.value === "number" ? (
              <Button
                class="spark"
                aria-label={t("trend_of", { name: labelOf(sensor) })}
                act={() => onPlot(id)}
              >
                <Spark points={trends?.sensors[id] ?? []} />
              </Button>
            ) : null}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const Statuses = ({ status }: Pick<ControllerView, "status">) => (
  <ul class="statuses">
    {Object.entries(status)
      .sort(([one], [other]) => collator.compare(one, other))
      .map(([id, { label, quality, state, changed_at: at }]) => (
        <li key={id}>
          <span>{label[language.value]}</span>
          <Badge kind={quality === "good" ? "plain" : "warn"}>
            {quality === "good" ? wordLabel(language.value, state) : told("stale")}
          </Badge>
          <Age at={at} />
        </li>
      ))}
  </ul>
);
