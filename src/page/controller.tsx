import { signal, useSignal } from "@preact/signals";
import { Card, type Commandable } from "./command.js";
import { missing, view } from "./live.js";
import { Asking, Button, roleReason } from "./inputs.js";
import {
  Age,
  Badge,
  Availability,
  Columns,
  Head,
  Loading,
  Quality,
  Section,
  Spark,
  useAnswer,
  Value,
} from "./parts.js";
import type { Plot } from "./plot.js";
import type { ControllerView, SensorView, Trends } from "./protocol.js";
import { language, t, told, type Word } from "./words.js";
import { wordLabel } from "../greenhouse/labels.js";

const plot = signal<typeof Plot | null>(null);

const loadPlot = async () => (plot.value = (await import("./plot.js")).Plot);

/** One controller: what it measures, what can be moved, and what became of it. */
export function ControllerPage({ id }: { readonly id: string }) {
  const name = `controller/${id}`;
  const shown = view<ControllerView>(name).value;
  const trends = useAnswer<Trends>(`api/trends/${encodeURIComponent(id)}`, 300_000).value;
  const plotted = useSignal("");
  if (shown === null) return missing.value.has(name) ? <p class="quiet">{t("gone")}</p> : <Loading />;
  const { sensors, status, parameters } = shown;
  const sensor = sensors[plotted.value];
  const onPlot = (one: string) => void loadPlot().then(() => (plotted.value = one));
  const Shown = plot.value;
  return (
    <>
      <Title of={shown} />
      <div class="columns">
        <div>
          <Section name={t("readings")}>
            <Readings {...{ sensors, trends, onPlot }} />
          </Section>
          {Object.keys(status).length > 0 ? <Statuses status={status} /> : null}
        </div>
        <div id="actuators">
          <Cards name="actuators" of={shown.actuators} controller={shown} />
          {Object.keys(parameters).length > 0 ? (
            <Cards name="parameters" of={parameters} controller={shown} />
          ) : null}
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

type CardsProps = Readonly<{
  name: Word;
  controller: ControllerView;
  of: Readonly<Record<string, Commandable>>;
}>;

const Cards = ({ name, controller, of }: CardsProps) => (
  <Section name={t(name)}>
    {Object.entries(of).map(([id, one]) => (
      <Card key={id} controller={controller} id={id} of={one} />
    ))}
  </Section>
);

const Title = ({ of: { id, name, code, availability, problem } }: { readonly of: ControllerView }) => (
  <Head name={name}>
    <Availability of={availability} />
    {problem ? <Badge kind="bad">{t("problem")}</Badge> : null}
    {problem && roleReason() === null ? (
      <Asking label={t("acknowledge")} name="acknowledge" fields={{ controller: id }} />
    ) : null}
    <small class="quiet">{code}</small>
    <Button class="jump" act={() => document.getElementById("actuators")?.scrollIntoView()}>
      {t("actuators")}
    </Button>
  </Head>
);

const labelOf = ({ label }: Pick<SensorView, "label">): string => label[language.value];

type ReadingsProps = Pick<ControllerView, "sensors"> &
  Readonly<{ trends: Trends | null; onPlot: (sensor: string) => void }>;

const Readings = ({ sensors, trends, onPlot }: ReadingsProps) => (
  <table class="readings">
    <thead class="unseen">
      <Columns of={["name", "value", "quality", "trend"]} />
    </thead>
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
  <Section name={t("status")}>
    <ul class="statuses">
      {Object.entries(status).map(([id, { label, quality, state, changed_at: at }]) => (
        <li key={id}>
          <span>{label[language.value]}</span>
          <Badge kind={quality === "good" ? "plain" : "warn"}>
            {quality === "good" ? wordLabel(language.value, state) : told("stale")}
          </Badge>
          <Age at={at} />
        </li>
      ))}
    </ul>
  </Section>
);
